test_that("text is byte-exact", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  texts <- c("", "x", "x\n", "\n\n", "a\r\nb\r\n", "caf\u00e9 \U0001f600", "\ufeffbom", "a\tb ")
  for (text in texts) {
    put(file.path(tree$root, "text"), enc2utf8(text))
    read <- rho_read(capability, "text")
    expect_identical(read@text, enc2utf8(text))
    expect_identical(read@bytes, as.double(nchar(text, "bytes")))
    expect_identical(read@total_bytes, read@bytes)
    expect_false(read@truncated)
  }
})

test_that("what is no text is a typed outcome", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  bad <- list(as.raw(c(0x61, 0xff)), as.raw(c(0x61, 0x00, 0x62)), as.raw(c(0xc3)))
  for (bytes in bad) {
    writeBin(bytes, file.path(tree$root, "binary"))
    expect_outcome(rho_read(capability, "binary"), RhoFailed, "NotText")
  }
})

test_that("lines select a range", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  put(file.path(tree$root, "text"), "one\ntwo\nthree")
  cases <- list(
    list(1, "one\n"),
    list(c(1, 2), "one\ntwo\n"),
    list(2:3, "two\nthree"),
    list(c(2, Inf), "two\nthree"),
    list(c(3, 9), "three"),
    list(c(7, 9), "")
  )
  for (case in cases) {
    read <- rho_read(capability, "text", lines = case[[1]])
    expect_identical(read@text, case[[2]])
    expect_identical(read@first_line, as.double(case[[1]][[1]]))
    expect_identical(read@total_lines, 3)
  }
})

test_that("limit cuts between characters", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  put(file.path(tree$root, "text"), enc2utf8(strrep("\u00e9", 60000)))
  read <- rho_read(capability, "text")
  expect_identical(read@bytes, 51200)
  expect_true(read@truncated)
  expect_identical(read@total_bytes, 120000)
  expect_identical(rho_read(capability, "text", limit = 3)@text, "\u00e9")
  expect_identical(rho_read(capability, "text", limit = 0)@text, "")
  expect_identical(rho_read(capability, "text", limit = Inf)@bytes, 120000)
})

test_that("the capability's read limit is checked before reading", {
  tree <- new_tree()
  capability <- tree_capability(tree, limits = rho_limits(read_bytes = 10))
  put(file.path(tree$root, "text"), strrep("x", 11))
  expect_outcome(rho_read(capability, "text"), RhoDenied, "TooLarge")
  put(file.path(tree$root, "text"), strrep("x", 10))
  expect_identical(rho_read(capability, "text", limit = Inf)@bytes, 10)
})

test_that("a long file is read by a job and gives the same value", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  text <- strrep("0123456789abcde\n", 2^20 / 2)
  put(file.path(tree$root, "long"), text)
  read <- rho_read(capability, "long", limit = Inf)
  expect_identical(read@text, text)
  expect_identical(read@lines, 2^19)
})

test_that("print shows the start, escaped", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  put(file.path(tree$root, "text"), "a\033[31mb\nline\n")
  shown <- format(rho_read(capability, "text"))
  expect_identical(shown[[2]], "  a\\u{1b}[31mb")
  put(file.path(tree$root, "many"), paste(seq_len(100), collapse = "\n"))
  shown <- format(rho_read(capability, "many"))
  expect_length(shown, 13)
  expect_match(shown[[13]], "rho_unwrap() gives the text", fixed = TRUE)
  put(file.path(tree$root, "wide"), strrep("x", 101))
  expect_identical(format(rho_read(capability, "wide"))[[2]], paste0("  ", strrep("x", 100), "..."))
  expect_match(
    format(rho_read(capability, "many", lines = c(3, 4)))[[1]],
    "4 bytes of 291 bytes, from line 3"
  )
})

test_that("a text that is cut says so, and how to read all", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  put(file.path(tree$root, "long"), strrep("0123456789abcde\n", 5000))
  cut <- rho_read(capability, "long")
  shown <- format(cut)
  expect_match(shown[[1]], "50 KiB of 78.1 KiB, from line 1, cut", fixed = TRUE)
  expect_match(shown[[length(shown)]], "Cut at 50 KiB: rho_read(limit = Inf)", fixed = TRUE)
  cnd <- tryCatch(rho_unwrap(cut), warning = identity)
  classes <- c("rhocap_warning_truncated", "rhocap_warning", "warning", "condition")
  expect_s3_class(cnd, classes, exact = TRUE)
  expect_match(conditionMessage(cnd), "limit = Inf", fixed = TRUE)
  expect_null(conditionCall(cnd))
  expect_identical(cnd$outcome, cut)
  expect_identical(suppressWarnings(rho_unwrap(cut)), cut@text)
  # Some lines are what was asked for.
  expect_silent(rho_unwrap(rho_read(capability, "long", lines = 1:2)))
  expect_silent(rho_unwrap(rho_read(capability, "long", limit = Inf)))
})

test_that("a directory is said to be one", {
  tree <- new_tree()
  denied <- rho_read(tree_capability(tree), "a")
  expect_outcome(denied, RhoDenied, "NotRegular")
  expect_match(denied@message, "rho_list()", fixed = TRUE)
})
