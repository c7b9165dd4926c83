fresh_key <- function() canary()
key_marker <- "[redacted by rhocap]"

# All bytes that R would write of a value, and all that it shows.
shows <- function(x, key) {
  text <- c(
    utils::capture.output(print(x)),
    utils::capture.output(utils::str(x, nchar.max = 1e6)),
    tryCatch(deparse(x), error = function(cnd) "")
  )
  any(grepl(key, text, fixed = TRUE)) ||
    length(grepRaw(key, serialize(x, NULL), fixed = TRUE)) > 0L ||
    length(grepRaw(key, serialize(x, NULL, ascii = TRUE), fixed = TRUE)) > 0L
}

test_that("a known value is masked wherever a condition can hold it", {
  key <- fresh_key()
  secret <- rho_secret_literal(key)
  env <- new.env()
  env$anything <- key
  holder <- eval(call("function", as.pairlist(list(argument = key)), call("c", key)))
  condition <- structure(
    class = c("odd", "error", "condition"),
    list(
      message = paste("no", key),
      call = as.call(list(quote(f), key, x = quote(y), as.call(list(quote(g), key)))),
      text = c(stats::setNames("a", key), b = key),
      bytes = charToRaw(paste("body", key)),
      nested = list(1, list(list(deep = key)), NULL, NA),
      frame = data.frame(a = c(key, "x")),
      named = stats::setNames(list(1), key),
      env = env,
      fun = holder,
      formula = stats::as.formula(paste("y ~", key)),
      expression = as.expression(list(key, quote(f(1)))),
      symbol = as.name(key),
      factor = factor(c(key, "b")),
      pairs = pairlist(a = key),
      parent = simpleError(paste("parent", key), call("h", key))
    )
  )
  attr(condition, "extra") <- list(key)
  expect_true(shows(condition, key))
  safe <- rho_sanitize(condition)
  expect_s3_class(safe, c("odd", "error", "condition"), exact = TRUE)
  expect_false(shows(safe, key))
  expect_identical(names(safe), names(condition))
  expect_identical(conditionMessage(safe), paste("no", key_marker))
  expect_identical(
    deparse(conditionCall(safe), 500L),
    sprintf("f(\"%s\", x = y, g(\"%s\"))", key_marker, key_marker)
  )
  expect_identical(safe$nested, list(1, list(list(deep = key_marker)), NULL, NA))
  expect_identical(rawToChar(safe$bytes), paste("body", key_marker))
  expect_identical(safe$frame, data.frame(a = c(key_marker, "x")))
  expect_identical(names(formals(safe$fun)), "argument")
  expect_length(ls(safe$env), 0L)
  expect_identical(env$anything, key)
  rho_forget(secret)
})

test_that("a key that nobody told of is masked by its name, there and elsewhere in the condition", {
  key <- fresh_key()
  condition <- structure(
    class = c("client_error", "error", "condition"),
    list(
      message = sprintf("The service did not accept %s.", key),
      call = NULL,
      request = list(
        headers = list(`Content-Type` = "text/plain", `X-Custom` = key, Authorization = key),
        options = list(api_key = key, retries = 3)
      ),
      body = charToRaw(key)
    )
  )
  safe <- rho_sanitize(condition)
  expect_false(shows(safe, key))
  expect_identical(safe$request$headers$`Content-Type`, "text/plain")
  expect_identical(safe$request$options, list(api_key = key_marker, retries = 3))
  expect_identical(conditionMessage(safe), sprintf("The service did not accept %s.", key_marker))
})

test_that("literals in calls are left out, also when nobody knows them", {
  key <- fresh_key()
  f <- function(x) stop("no")
  condition <- tryCatch(eval(call("f", key)), error = identity)
  expect_true(shows(condition, key))
  expect_false(shows(rho_sanitize(condition), key))
  condition <- tryCatch(do.call(f, list(list(a = key))), error = identity)
  expect_false(shows(rho_sanitize(condition), key))
  g <- function(...) stop("no")
  condition <- tryCatch(do.call(g, list(quote(expr = ), 1)), error = identity)
  expect_s3_class(rho_sanitize(condition), "simpleError")
})

test_that("rlang's conditions keep parent and trace, masked", {
  skip_if_not_installed("rlang")
  key <- fresh_key()
  inner <- function(x) rlang::abort(paste("inner", x), class = "inner", token = x)
  outer <- function(x) {
    tryCatch(inner(x), error = function(cnd) {
      rlang::abort(paste("outer", x), parent = cnd, body = function(cnd) paste("body", x))
    })
  }
  secret <- rho_secret_literal(key)
  condition <- tryCatch(eval(call("outer", key)), error = identity)
  safe <- rho_sanitize(condition)
  expect_identical(class(safe), class(condition))
  expect_s3_class(safe$parent, "inner")
  # rlang keeps one trace, here or there.
  traces <- list(safe$trace, safe$parent$trace)
  expect_true(any(vapply(traces, inherits, NA, "rlang_trace")))
  given <- list(condition$trace, condition$parent$trace)
  expect_identical(lapply(traces, class), lapply(given, class))
  expect_false(shows(safe, key))
  expect_match(conditionMessage(safe), "body", fixed = TRUE)
  rho_forget(secret)
})

test_that("httr2's conditions hold no key of the request or the answer", {
  skip_if_not_installed("httr2")
  key <- fresh_key()
  request <- httr2::request("http://127.0.0.1:1/")
  request <- httr2::req_headers(request, Authorization = paste("Bearer", key), `X-Key` = key)
  request <- httr2::req_body_json(request, list(password = key))
  response <- httr2::response(401, headers = list(`Set-Cookie` = key), body = charToRaw(key))
  condition <- structure(
    class = c("httr2_http_401", "httr2_http", "httr2_error", "rlang_error", "error", "condition"),
    list(
      message = "HTTP 401", trace = NULL, parent = NULL, call = NULL, status = 401,
      resp = response, request = request
    )
  )
  safe <- rho_sanitize(condition)
  expect_identical(class(safe), class(condition))
  expect_false(shows(safe, key))
  expect_false(shows(safe$request, key))
  expect_false(shows(safe$resp, key))
})

test_that("it never fails", {
  key <- fresh_key()
  secret <- rho_secret_literal(key)
  deep <- list(key)
  for (index in 1:20000) deep <- list(deep)
  odd <- list(
    structure(class = c("a", "condition"), list(message = paste(key), call = NULL, deep = deep)),
    structure(class = c("b", "condition"), list()),
    structure(class = c("c", "condition"), list(message = NULL)),
    structure(class = c("d", "condition"), list(message = 1, call = key)),
    structure(class = c("e", "condition"), new.env()),
    structure(class = c("f", "condition"), function(x) key),
    structure(class = c("h", "condition"), list(message = "m", big = as.list(seq_len(2e5))))
  )
  loop <- new.env()
  loop$token <- key
  loop$self <- loop
  looped <- structure(class = c("g", "condition"), list(message = "m", call = NULL, x = loop))
  odd <- c(odd, list(looped))
  for (condition in odd) {
    safe <- rho_sanitize(condition)
    expect_identical(class(safe), class(condition))
    expect_length(grepRaw(key, serialize(unclass(safe)$message, NULL), fixed = TRUE), 0L)
    expect_type(conditionMessage(safe), "character")
  }
  for (given in list(NULL, 1, "x", list(message = "x"), quote(x))) {
    expect_error(rho_sanitize(given), class = "rhocap_error_type")
  }
  expect_error(rho_sanitize(), class = "rhocap_error_missing")
  rho_forget(secret)
})

test_that("nothing is evaluated, and the condition given stays as it is", {
  env <- new.env()
  delayedAssign("token", stop("was evaluated"), assign.env = env)
  makeActiveBinding("key", function() stop("was called"), env)
  condition <- structure(class = c("a", "condition"), list(message = "m", call = NULL, env = env))
  expect_identical(conditionMessage(rho_sanitize(condition)), "m")
  expect_true(exists("token", env, inherits = FALSE))
})
