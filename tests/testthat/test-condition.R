test_that("each kind of bad path is a classed condition that says what to do", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  cases <- list(
    list(quote(rho_read(capability)), "missing", "was not given"),
    list(quote(rho_read(capability, NULL)), "type", "not NULL"),
    list(quote(rho_read(capability, NA)), "type", "not NA"),
    list(quote(rho_read(capability, NA_character_)), "value", "is NA"),
    list(quote(rho_read(capability, character())), "type", "not 0"),
    list(quote(rho_read(capability, c("f", "a"))), "type", "Call the verb once for each path"),
    list(quote(rho_read(capability, 1)), "type", "not a double value"),
    list(quote(rho_read(capability, list("f"))), "type", "class \"list\""),
    list(quote(rho_read(capability, identity)), "type", "class \"function\""),
    list(quote(rho_read(capability, "f", lines = "a")), "type", "c\\(first, last\\)"),
    list(quote(rho_read(capability, "f", lines = c(3, 1))), "value", "c\\(first, last\\)"),
    list(quote(rho_read(capability, "f", lines = 0)), "value", "counted from 1"),
    list(quote(rho_read(capability, "f", limit = -1)), "value", "between 0"),
    list(quote(rho_write(capability, "f", c("a", "b"))), "type", "paste\\(lines"),
    list(quote(rho_write(capability, "f", "a", append = NA)), "type", "TRUE or FALSE"),
    list(quote(rho_edit(capability, "f", "", "x")), "value", "is empty"),
    list(quote(rho_edit(capability, "f", "I", "x", count = 0)), "value", "between 1"),
    list(quote(rho_admit(capability, "f", access = "execute")), "value", "\"read\", \"write\""),
    list(quote(rho_read("capability", "f")), "type", "rho_host_capability"),
    list(quote(rho_read(path = "f")), "missing", "`capability` was not given")
  )
  for (case in cases) {
    cnd <- tryCatch(eval(case[[1]]), error = identity)
    expect_s3_class(
      cnd,
      c(paste0("rhocap_error_", case[[2]]), "rhocap_error", "error"),
      exact = FALSE
    )
    expect_match(conditionMessage(cnd), case[[3]])
    expect_null(conditionCall(cnd))
  }
})

test_that("NULL and unknown arguments are answered with what is right for the argument", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  cases <- list(
    list(quote(tree_capability(tree, deny = NULL)), "carve-outs.*rho_deny_defaults.. leave it out"),
    list(quote(tree_capability(tree, protect = NULL)), "for rho_protect_defaults.. leave it out"),
    list(quote(rho_host_capability(read = NULL, cwd = "/")), "To allow nothing"),
    list(quote(rho_narrow(capability, write = NULL)), "To keep none.*to keep all leave it out"),
    list(quote(rho_narrow(capability, deny = NULL)), "To add none leave it out"),
    list(quote(rho_environment(hooks = NULL)), "For none write"),
    list(quote(rho_host_capability(read = tree$root)), "`cwd` was not given.*where relative paths"),
    list(quote(rho_narrow(capability, "R")), "by its name. There are: capability, read"),
    list(quote(rho_narrow(capability, raed = "R")), "no argument `raed` here. There are: capab"),
    list(quote(rho_limits(nproc = 2)), "no argument `nproc` here. There are: timeout, grace"),
    list(quote(rho_project_capability(tree$root, "x")), "by its name. There are: environment")
  )
  for (case in cases) {
    cnd <- tryCatch(eval(case[[1]]), error = identity)
    expect_s3_class(cnd, "rhocap_error")
    expect_match(conditionMessage(cnd), case[[2]])
  }
})

test_that("a condition never shows what was given", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  cnd <- tryCatch(rho_read(capability, c("sk-secret-1", "sk-secret-2")), error = identity)
  expect_no_match(paste(conditionMessage(cnd), collapse = " "), "sk-secret")
  cnd <- tryCatch(rho_read("sk-secret-1", "f"), error = identity)
  expect_no_match(conditionMessage(cnd), "sk-secret")
})

test_that("a format directive or NUL in a message reaches R as text", {
  cnd <- tryCatch(
    check_boundary(list(rhocap_misuse = "type", message = "100 %s %n", fields = list(a = "b"))),
    error = identity
  )
  expect_identical(conditionMessage(cnd), "100 %s %n")
  expect_identical(cnd$a, "b")
  tree <- new_tree()
  denied <- rho_read(tree_capability(tree), "/%s%s%n")
  expect_match(denied@message, "/%s%s%n", fixed = TRUE)
})

test_that("strings are converted once, or refused", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  put(file.path(tree$root, "caf\u00e9"), "IN")
  latin1 <- iconv("caf\u00e9", "UTF-8", "latin1")
  expect_identical(Encoding(latin1), "latin1")
  expect_outcome(rho_read(capability, latin1), RhoText)
  for (invalid in invalid_strings()) {
    expect_error(
      rho_host_capability(cwd = tree$root, deny = invalid),
      class = "rhocap_error_encoding"
    )
    expect_error(
      rho_write(capability, "f", "x", expected = invalid),
      class = "rhocap_error_encoding"
    )
    expect_error(
      rho_environment(A = invalid),
      class = "rhocap_error_encoding"
    )
  }
  # The bytes themselves are a name.
  put(paste0(tree$root, "/", rawToChar(as.raw(c(0x63, 0xe9)))), "RAW")
  expect_identical(rho_read(capability, as.raw(c(0x63, 0xe9)))@text, "RAW")
})

test_that("every kind of condition is documented", {
  root <- test_path("..", "..")
  skip_if_not(file.exists(file.path(root, "R", "condition.R")), "the sources are not here")
  text_of <- function(files) {
    paste(unlist(lapply(files, readLines, encoding = "UTF-8")), collapse = "\n")
  }
  kinds <- function(text, pattern) {
    found <- regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]]
    unique(gsub(".*\"([a-z_]+)\"$", "\\1", gsub("\n", " ", found)))
  }
  rust <- list.files(file.path(root, "src/rust"), "[.]rs$", full.names = TRUE, recursive = TRUE)
  rust <- grep("/src/rust/(core|binding)/src/", rust, value = TRUE)
  used <- c(
    kinds(text_of(list.files(file.path(root, "R"), full.names = TRUE)), "abort\\(\\s*\"[a-z_]+\""),
    kinds(text_of(rust), "Misuse::new\\(\\s*\"[a-z_]+\"")
  )
  topic <- text_of(file.path(root, "R", "condition.R"))
  documented <- kinds(topic, "rhocap_error_[a-z_]+(?=` \\||`, `rhocap_error_cwd)")
  documented <- sub("^rhocap_error_", "", documented)
  expect_gt(length(used), 10)
  expect_identical(setdiff(used, documented), character())
})

test_that("a defect in the core becomes a condition", {
  expect_error(check_boundary(core_json_value(1)), class = "rhocap_error_type")
  capability <- tree_capability(new_tree())
  handle <- attr(capability, "handle")
  for (call in list(
    quote(core_admit(handle, "rho_admit", "user", "f", "execute")),
    quote(core_list(handle, "rho_list", "nobody", "f", FALSE)),
    quote(core_reject(handle, "read", list(), "Escape", "x"))
  )) {
    expect_error(check_boundary(eval(call)), class = "rhocap_error_value")
  }
  expect_error(check_boundary(core_capability_new(list(1))), class = "rhocap_error_type")
  spec <- list(read = "/")
  expect_error(check_boundary(core_capability_new(spec)), class = "rhocap_error_missing")
})
