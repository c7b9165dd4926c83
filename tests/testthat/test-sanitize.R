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

# A condition of these fields.
condition_of <- function(..., message = "m", class = c("odd", "error")) {
  structure(class = c(class, "condition"), list(message = message, call = NULL, ...))
}

test_that("a value is masked for the name that stands beside it", {
  odd <- function(key) {
    list(
      pair = list(name = "Authorization", value = key),
      pair_of_header = list(header = "x-api-key", value = key),
      pair_of_bytes = list(key = "password", value = charToRaw(key)),
      pair_nested = list(list(field = "token", content = list(key, "b"))),
      pairs = list(list(name = "a", value = "b"), list(name = "client_secret", value = key)),
      columns = list(name = c("Accept", "Authorization"), value = c("b", key)),
      unnamed = list("Authorization", key),
      strings = c("password", key),
      headers = list(
        headers = list(list(name = "X-Own", value = key), list(name = "Date", value = "b"))
      ),
      headers_frame = list(headers = data.frame(name = c("X-Own", "Date"), value = c(key, "b"))),
      frame = data.frame(name = c("Accept", "Authorization"), value = c("b", key)),
      frame_of_other_names = data.frame(h = c("Accept", "cookie"), n = 1:2, v = c("b", key)),
      frame_of_factors = data.frame(
        name = factor(c("b", "api_key")), value = factor(c("b", key))
      ),
      frame_of_lists = {
        frame <- data.frame(name = c("b", "secret"))
        frame$value <- list("b", list(key))
        frame
      },
      frame_rows = data.frame(value = c("b", key), row.names = c("Accept", "Authorization")),
      frame_column = data.frame(a = "b", password = key),
      matrix = cbind(c("Accept", "Authorization"), c("b", key)),
      matrix_wide = rbind(c("Accept", "x-api-key"), c("b", key)),
      matrix_rows = matrix(c("b", key), 2, 1, dimnames = list(c("Accept", "Authorization"), NULL)),
      matrix_columns = matrix(c("b", key), 1, 2, dimnames = list(NULL, c("a", "password"))),
      factor = list(password = factor(c(key, "b"))),
      attribute = structure("b", token = key),
      colon = list(name = "Authorization:", value = key),
      named = c(a = "b", api_key = key)
    )
  }
  # Also where it has no shape, and is too short to be told from other text.
  for (make in list(fresh_key, function() "swordfish", function() "zq9")) {
    key <- make()
    for (what in names(odd(key))) {
      if (what == "strings" && nchar(key) < 20) next
      safe <- rho_sanitize(condition_of(field = odd(key)[[what]]))
      expect_false(shows(safe, key), label = paste(what, key))
      expect_s3_class(safe, c("odd", "error", "condition"), exact = TRUE)
      # What stands beside others stays.
      text <- paste(utils::capture.output(utils::str(unclass(safe)$field)), collapse = " ")
      if (grepl("b", paste(deparse(odd("K")[[what]]), collapse = ""))) {
        expect_match(text, "b", fixed = TRUE, label = what)
      }
    }
  }
  ordinary <- list(
    list(name = "Accept", value = "text/plain"),
    data.frame(name = c("a", "b"), value = c("c", "d")),
    matrix(letters[1:4], 2, dimnames = list(NULL, c("a", "b"))),
    c("password", "token"),
    c("api_key", "retries"),
    list("a", "b"),
    list(name = character(), value = character()),
    data.frame(),
    matrix(character(), 0, 2),
    factor(c("a", "b")),
    list(name = NA_character_, value = "b")
  )
  for (field in ordinary) {
    expect_identical(rho_sanitize(condition_of(field = field))$field, field)
  }
})

test_that("a frame of headers keeps their names", {
  key <- fresh_key()
  names <- c("Authorization", "Accept", "X-Kind")
  frame <- data.frame(name = names, value = c(key, "text/plain", "Accept"))
  for (field in list(frame, list(headers = frame), list(headers = frame[1:2, ]))) {
    safe <- rho_sanitize(condition_of(field = field))
    expect_false(shows(safe, key))
    found <- if (is.data.frame(field)) safe$field else safe$field$headers
    expect_identical(found$name, names[seq_len(nrow(found))])
    expect_identical(found$value[[2L]], "text/plain")
  }
  # Where no column says that it holds names, any may.
  frame <- data.frame(a = c("Authorization", "Accept"), b = c(key, "x"))
  expect_false(shows(rho_sanitize(condition_of(field = frame)), key))
})

test_that("many texts and many values are no matter", {
  texts <- as.list(paste("text", seq_len(40000)))
  expect_identical(rho_sanitize(condition_of(field = texts))$field, texts)
  keys <- as.list(paste0("zq", seq_len(20000), "x"))
  names(keys) <- rep("password", length(keys))
  safe <- rho_sanitize(condition_of(field = keys))
  expect_false(shows(safe, "zq77x"))
  expect_s3_class(safe, c("odd", "error", "condition"), exact = TRUE)
})

test_that("what is masked in one place is masked in all of the condition", {
  carriers <- function(key) {
    list(
      name = list(api_key = key),
      pair = list(name = "Authorization", value = key),
      header = list(headers = list(`X-Own` = key)),
      text = paste0("password=", key),
      header_text = paste0("GET / HTTP/1.1\r\nAuthorization: Bearer ", key, "\r\n"),
      url = paste0("https://me:", key, "@example.org/"),
      bytes = charToRaw(paste0("{\"client_secret\": \"", key, "\"}")),
      frame = data.frame(name = "token", value = key),
      matrix = cbind("token", key),
      factor = list(password = factor(key)),
      environment = list2env(list(token = key)),
      closure = local({
        token <- key
        function() 1
      }),
      call = call("f", password = key),
      parent = condition_of(message = paste0("token: ", key)),
      attribute = structure(1, secret = key),
      names = stats::setNames(1, paste0("password=", key))
    )
  }
  for (what in names(carriers("k"))) {
    key <- fresh_key()
    condition <- condition_of(
      carrier = carriers(key)[[what]],
      other = list(1, c("a", paste("see", key))),
      names = stats::setNames(list(1), key),
      levels = factor(key),
      bytes = charToRaw(key),
      symbol = as.name(key),
      fun = eval(call("function", as.pairlist(stats::setNames(list(1), key)), NULL)),
      parent = simpleError(paste("parent", key), call("h", as.name(key))),
      message = paste("not", key),
      class = c(paste0("status_", key), "error")
    )
    attr(condition, "extra") <- key
    condition$call <- call("f", as.name(key))
    safe <- rho_sanitize(condition)
    expect_false(shows(safe, key), label = what)
    expect_identical(conditionMessage(safe), paste("not", key_marker), label = what)
    expect_s3_class(safe, c(paste0("status_", key_marker), "error", "condition"), exact = TRUE)
  }
})

test_that("a method of a class that needs what is gone, or says what it must not, is no failure", {
  key <- fresh_key()
  secret <- rho_secret_literal(key)
  methods <- list(
    rhocap_test_env = function(c) paste("env", get("text", envir = c$env)),
    rhocap_test_fun = function(c) c$fun(),
    rhocap_test_stop = function(c) stop("no message, ", c$key),
    rhocap_test_number = function(c) 1,
    rhocap_test_none = function(c) character(),
    rhocap_test_na = function(c) NA_character_,
    rhocap_test_two = function(c) c("one", paste("two", c$key)),
    rhocap_test_halves = function(c) substring(rev(strsplit(c$held, "")[[1]])[1], 1),
    rhocap_test_known = function(c) paste("said", key)
  )
  env <- list2env(list(text = paste("held", key)))
  for (class in names(methods)) {
    registerS3method("conditionMessage", class, methods[[class]], envir = baseenv())
    condition <- structure(
      class = c(class, "below", "error", "condition"),
      list(
        message = "m",
        call = NULL,
        env = env,
        fun = function() paste("made", key),
        key = key,
        held = "ab"
      )
    )
    safe <- rho_sanitize(condition)
    expect_s3_class(safe, "error")
    expect_s3_class(safe, "below")
    said <- conditionMessage(safe)
    expect_type(said, "character")
    expect_true(all(nzchar(said)) && length(said) > 0L, label = class)
    expect_false(shows(safe, key), label = class)
    # Of these R itself makes another error.
    if (!class %in% c("rhocap_test_stop")) {
      expect_error(rho_with_redaction(stop(condition)), class = "below")
    }
  }
  made <- function(class) {
    rho_sanitize(structure(
      class = c(class, "error", "condition"),
      list(message = "m", call = NULL, env = env, fun = function() paste("made", key), key = key)
    ))
  }
  expect_identical(conditionMessage(made("rhocap_test_env")), paste("env held", key_marker))
  expect_identical(conditionMessage(made("rhocap_test_fun")), paste("made", key_marker))
  rho_forget(secret)
})

test_that("a message of several strings becomes one, masked as it is read", {
  key <- fresh_key()
  secret <- rho_secret_literal(key)
  halves <- c(substr(key, 1, 16), substr(key, 17, 32))
  for (message in list(c("one", key), halves, c(a = "one", b = "two"), c("password:", "q7"))) {
    safe <- rho_sanitize(condition_of(message = message))
    expect_length(conditionMessage(safe), 1L)
    expect_false(any(vapply(c(key, halves), shows, NA, x = safe)))
    signalled <- tryCatch(rho_with_redaction(stop(condition_of(message = message))), odd = identity)
    expect_identical(conditionMessage(signalled), conditionMessage(safe))
  }
  expect_identical(conditionMessage(rho_sanitize(condition_of(message = c("a", "b")))), "a\nb")
  rho_forget(secret)
})

# Here, because a class keeps the environment in which it is made.
sanitize_test_class <- S7::new_class(
  "SanitizeTest",
  package = NULL,
  properties = list(
    api_key = S7::class_character, text = S7::class_character, any = S7::class_any
  )
)

test_that("fields of S7, S4, R6 and reference classes, and conditions of them", {
  key <- fresh_key()
  # The class keeps the source of this file.
  word <- paste0("swordfish", 9)
  secret <- rho_secret_literal(key)
  s4 <- methods::setClass("SanitizeTest4", representation(token = "character", text = "character"))
  defer(function() methods::removeClass("SanitizeTest4"), environment())
  fields <- list(
    s7 = sanitize_test_class(api_key = word, text = paste("see", key), any = list(key)),
    s4 = s4(token = word, text = paste("see", key)),
    environment = list2env(list(key = key))
  )
  if (requireNamespace("R6", quietly = TRUE)) {
    r6 <- R6::R6Class("SanitizeTest6", public = list(key = NULL, text = "t"))
    fields$r6 <- r6$new()
    fields$r6$key <- key
  }
  for (what in names(fields)) {
    safe <- rho_sanitize(condition_of(field = fields[[what]], message = paste("not", word)))
    bytes <- serialize(unclass(safe)$field, NULL)
    expect_length(grepRaw(key, bytes, fixed = TRUE), 0L)
    expect_length(grepRaw(word, bytes, fixed = TRUE), 0L)
    if (what %in% c("s7", "s4")) {
      expect_identical(conditionMessage(safe), paste("not", key_marker))
    }
  }
  environment <- structure(
    class = c("of_environment", "error", "condition"),
    list2env(list(message = paste("m", key), call = NULL))
  )
  safe <- rho_sanitize(environment)
  expect_s3_class(safe, "of_environment")
  expect_identical(conditionMessage(safe), paste("m", key_marker))
  rho_forget(secret)
})

test_that("a real failure of curl and httr2 against a server that echoes", {
  needs("httr2")
  server <- local_server()
  key <- fresh_key()
  req <- httr2::req_headers(httr2::request(server$url("/denied")), `x-api-key` = key)
  condition <- tryCatch(httr2::req_perform(req), error = identity)
  expect_true(shows(condition, key))
  safe <- rho_sanitize(condition)
  expect_identical(class(safe), class(condition))
  expect_false(shows(safe, key))
  expect_match(conditionMessage(safe), "401", fixed = TRUE)
  needs("curl")
  url <- sprintf("http://me:%s@127.0.0.1:1/?api_key=%s", key, key)
  condition <- tryCatch(curl::curl_fetch_memory(url), error = identity)
  safe <- rho_sanitize(condition)
  expect_identical(class(safe), class(condition))
  expect_false(shows(safe, key))
})
