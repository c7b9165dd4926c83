# The table of ways out of R: no verb shows what a class hides. Its rows are those of the list that
# the design keeps, by their numbers there.

# Expressions of `x`, and what must come of each: a class of condition, or nothing in particular.
ways_out <- list(
  "1 print" = quote(print(x)),
  "1 auto-print" = quote(x),
  "2 in a list" = quote(print(list(x, list(a = x)))),
  "3 str" = quote(utils::str(x)),
  "3 str in a list" = quote(utils::str(list(x, b = list(x)))),
  "3 ls.str" = quote(utils::ls.str(list2env(list(x = x)))),
  "6 properties" = quote(S7::props(x)),
  "6 attributes" = quote(attributes(x)),
  "7 unclass" = quote(print(unclass(x))),
  "8 format" = quote(format(x)),
  "10 list column" = quote(print(tibble::tibble(c = list(x)))),
  "10 glimpse" = quote(pillar::glimpse(tibble::tibble(c = list(x)))),
  "10 data frame" = quote(print(data.frame(a = 1, b = I(list(x))))),
  "11 as.character" = quote(as.character(x)),
  "11 paste" = quote(paste(x)),
  "11 paste0" = quote(paste0("Bearer ", x)),
  "11 sprintf" = quote(sprintf("%s", x)),
  "11 message" = quote(message(x)),
  "11 warning" = quote(warning(x)),
  "11 stop" = quote(stop(x)),
  "11 format in a list" = quote(format(list(x))),
  "11 nchar" = quote(nchar(x)),
  "11 encodeString" = quote(encodeString(x)),
  "11 toupper" = quote(toupper(x)),
  "11 as.vector" = quote(as.vector(x, "character")),
  "11 unlist" = quote(unlist(list(x, x))),
  "12 cat" = quote(cat(x)),
  "12 writeLines" = quote(writeLines(x)),
  "12 write" = quote(write(x, tempfile())),
  "12 charToRaw" = quote(charToRaw(x)),
  "13 toString" = quote(toString(x)),
  "13 summary" = quote(print(summary(x))),
  "14 dput" = quote(dput(x)),
  "14 deparse" = quote(deparse(x)),
  "14 dput of a list" = quote(dput(list(x))),
  "15 call" = quote(print(bquote(f(.(x))))),
  "15 error of a call" = quote(do.call(function(x) stop("it failed"), list(x))),
  "17 warning of a call" = quote(do.call(function(x) warning("it warns"), list(x))),
  "18 sys.calls" = quote(do.call(function(x) print(sys.calls()), list(x))),
  "19 match.call" = quote(print((function(x) match.call())(x))),
  "20 frames" = quote(print(lapply(sys.frames(), as.list))),
  "23 field of a condition" = quote(stop(structure(
    class = c("odd", "error", "condition"), list(message = "m", call = NULL, credential = x)
  ))),
  "25 serialize" = quote(serialize(x, NULL)),
  "28 identical" = quote(identical(x, x)),
  "32 JSON" = quote(jsonlite::toJSON(list(x), force = TRUE)),
  "32 serializeJSON" = quote(jsonlite::serializeJSON(x)),
  "35 function" = quote(print(eval(bquote(function() .(x))))),
  "36 environment" = quote(as.list(list2env(list(x = x)))),
  "knitr" = quote(knitr::knit_print(x)),
  "pillar" = quote(list(pillar::obj_sum(x), pillar::type_sum(x))),
  "waldo" = quote(print(waldo::compare(x, other))),
  "not ==" = quote(x == other),
  "not all.equal" = quote(all.equal(x, other)),
  "capture" = quote(utils::capture.output(print(x))),
  "object.size" = quote(print(utils::object.size(x))),
  "Reduce" = quote(Reduce(c, list(x, x))),
  "ifelse" = quote(ifelse(TRUE, x, x)),
  "switch" = quote(switch(x,
    a = 1
  )),
  "matrix" = quote(matrix(list(x))),
  "as.numeric" = quote(as.numeric(x)),
  "validate" = quote(S7::validate(x)),
  "dead" = quote(print(unserialize(serialize(x, NULL))))
)

test_that("no verb of R shows the value, of any class", {
  for (package in c("jsonlite", "tibble", "pillar", "knitr", "waldo")) needs(package)
  for (class in names(hidden_values())) {
    made <- hidden_values()[[class]]
    other <- hidden_values()[[class]]
    # Where this looks, a value that is there is found.
    expect_true(holds_value(serialize(list(made$value), NULL), made$value))
    scope <- list(x = made$object, other = other$object)
    for (way in names(ways_out)) {
      came <- all_that_comes(function() eval(ways_out[[way]], scope, globalenv()))
      expect_hidden(came, made$value, paste(class, way))
      expect_hidden(came, other$value, paste(class, way))
    }
  }
})

test_that("what it is encoded as is found", {
  needs("jsonlite")
  value <- canary()
  for (before in 0:2) {
    text <- jsonlite::base64_enc(charToRaw(paste0(strrep("u", before), value, ":more")))
    expect_true(holds_value(text, value))
  }
  expect_true(holds_value(paste(charToRaw(value), collapse = ""), value))
  expect_false(holds_value(canary(), value))
})

test_that("a hidden value is one value, and no text", {
  refused <- list(
    secret_text = alist(
      as.character(x), paste(x), paste0("Bearer ", x), sprintf("%s", x), message(x),
      as.vector(x, "character"), paste(list("a", x)[[2]])
    ),
    secret_structure = alist(
      c(x), c(x, 1), rep(x, 2), x[1], x[[1]], x$a, x$value, as.list(x), as.data.frame(x),
      data.frame(x), as.vector(x), lapply(x, identity), x[1] <- 1, x[["a"]] <- 1, x$a <- 1
    )
  )
  for (made in hidden_values()) {
    for (kind in names(refused)) {
      for (code in refused[[kind]]) {
        scope <- list2env(list(x = made$object), parent = globalenv())
        cnd <- expect_error(eval(code, scope), class = paste0("rhocap_error_", kind))
        expect_null(conditionCall(cnd))
      }
    }
  }
  cnd <- expect_error(paste(made$object), class = "rhocap_error_secret_text")
  expect_match(conditionMessage(cnd), "rho_bearer(credential)", fixed = TRUE)
  expect_match(conditionMessage(cnd), "rho_reveal(secret)", fixed = TRUE)
})

test_that("each class says in one line what it is", {
  values <- hidden_values()
  for (class in names(values)) {
    x <- values[[class]]$object
    line <- paste0("^<", class, ">")
    expect_match(format(x)[[1L]], line)
    expect_identical(toString(x), format(x)[[1L]])
    expect_identical(summary(x), format(x)[[1L]])
    expect_identical(utils::capture.output(print(x)), format(x))
    expect_identical(utils::capture.output(utils::str(x)), paste0(" ", format(x)[[1L]]))
  }
  expect_match(format(values$RhoProviderCredential$object), "for api.example.org", fixed = TRUE)
})

test_that("equality is that of the values", {
  makers <- list(
    identity,
    function(secret) rho_provider_credential(secret, "api.example.org"),
    function(secret) rho_env_secret(secret, shared = TRUE)
  )
  value <- canary()
  for (make in makers) {
    one <- make(new_secret_of(value))
    same <- make(new_secret_of(value))
    other <- make(new_secret_of(canary()))
    expect_true(one == same)
    expect_false(one != same)
    expect_false(one == other)
    expect_true(one != other)
    expect_true(all.equal(one, same))
    expect_match(all.equal(one, other), "differ")
    for (foreign in list(value, NULL, 1, RhoSecret, rho_limits(), list(one))) {
      expect_false(suppressWarnings(isTRUE(one == foreign)))
      expect_false(isTRUE(all.equal(one, foreign)))
      expect_false(isTRUE(all.equal(foreign, one)))
    }
    # Their public names differ, so that hashes do.
    expect_false(identical(one@id, same@id))
    expect_false(identical(one, same))
    if (requireNamespace("waldo", quietly = TRUE)) {
      expect_length(waldo::compare(one, same), 0L)
      expect_gt(length(waldo::compare(one, other)), 0L)
    }
  }
  secret <- new_secret_of(canary())
  expect_false(secret == rho_env_secret(secret))
})

test_that("a value that was saved is a dead one that tells how to make it again", {
  variable <- "RHOCAP_TEST_CANARY"
  do.call(Sys.setenv, stats::setNames(list(canary()), variable))
  on.exit(Sys.unsetenv(variable))
  secret <- rho_secret_env(variable)
  values <- list(
    secret,
    rho_provider_credential(secret, "api.example.org"),
    rho_env_secret(secret, shared = TRUE)
  )
  for (x in values) {
    file <- tempfile()
    saveRDS(x, file)
    dead <- readRDS(file)
    unlink(file)
    expect_match(format(dead), "no longer usable")
    cnd <- expect_error(rho_reveal(dead), class = "rhocap_error_stale_handle")
    expect_match(conditionMessage(cnd), sprintf("rho_secret_env(\"%s\")", variable), fixed = TRUE)
    expect_error(dead == x, class = "rhocap_error_stale_handle")
  }
  dead <- lapply(values, function(x) unserialize(serialize(x, NULL)))
  expect_error(rho_provider_credential(dead[[1]], "a.b"), class = "rhocap_error_stale_handle")
  expect_error(rho_env_secret(dead[[1]]), class = "rhocap_error_stale_handle")
  expect_error(rho_environment(A = dead[[3]]), class = "rhocap_error_stale_handle")
})

test_that("a forked R has the values of its parent as what must not be shown, not as its own", {
  skip_on_os("windows")
  value <- canary()
  secret <- new_secret_of(value)
  credential <- rho_provider_credential(secret, "api.example.org")
  came <- parallel::mclapply(1:2, function(index) {
    class_of <- function(code) tryCatch(code, error = function(cnd) class(cnd)[[1L]])
    list(
      class_of(rho_reveal(secret)),
      class_of(secret == secret),
      format(credential),
      # The credential of the parent is alive.
      class_of(rho_env_secret(rho_secret_literal(value))),
      class_of(format(rho_env_secret(rho_secret_literal(value), shared = TRUE)))
    )
  }, mc.cores = 2)
  for (child in came) {
    expect_identical(child[[1]], "rhocap_error_forked")
    expect_identical(child[[2]], "rhocap_error_forked")
    expect_match(child[[3]], "no longer usable")
    expect_identical(child[[4]], "rhocap_error_purpose")
    expect_match(child[[5]], "^<RhoEnvSecret>")
  }
  # Still alive here: a child's end has not taken it away.
  expect_identical(rho_reveal(secret), value)
})

test_that("methods are there without R's default packages, and whoever is loaded first", {
  for (package in c("knitr", "pillar")) needs(package)
  run <- function(code, packages) {
    script <- tempfile(fileext = ".R")
    on.exit(unlink(script))
    writeLines(code, script)
    output <- tempfile()
    status <- system2(
      file.path(R.home("bin"), "Rscript"),
      shQuote(script),
      stdout = output,
      stderr = output,
      env = c(
        paste0("R_DEFAULT_PACKAGES=", packages),
        paste0("R_LIBS=", paste(.libPaths(), collapse = ":"))
      )
    )
    expect_identical(status, 0L)
    readLines(output)
  }
  code <- c(
    "suppressMessages(library(rhocap))",
    "x <- rho_secret_literal(paste(sample(letters, 20), collapse = ''))",
    "print(x)", "x", "utils::str(x)", "print(list(x)[[1L]])",
    "stopifnot(x == x, inherits(try(paste(x), silent = TRUE), 'try-error'))",
    "knitr::knit_print(x)", "writeLines(pillar::obj_sum(x))"
  )
  lines <- run(code, "base")
  expect_identical(sum(grepl("<RhoSecret> literal", lines, fixed = TRUE)), 5L)
  expect_match(lines, "^RhoSecret$", all = FALSE)
  before <- c("invisible(lapply(c('knitr', 'pillar'), loadNamespace))", code)
  expect_identical(run(before, "base"), lines)
})
