# Requests: what they hold and what they show.

key_for <- function(value, hosts = "api.example.org") {
  rho_provider_credential(rho_secret_literal(value), hosts)
}

test_that("a request has Rho's formals, and an auth and a query after them", {
  expect_identical(
    names(formals(rho_http_request)),
    c(
      "method", "url", "headers", "body", "timeout_ms", "response_headers", "convert", "auth",
      "query"
    )
  )
  request <- rho_http_request("post", "https://api.example.org/v1")
  expect_identical(request@method, "POST")
  expect_identical(request@url, "https://api.example.org/v1")
  expect_identical(request@timeout_ms, 30000L)
  expect_identical(request@headers, list())
  expect_null(request@body)
  expect_true(request@convert)
})

test_that("credentials stand in headers and declared fields", {
  value <- canary()
  key <- key_for(value)
  request <- rho_http_request(
    "POST",
    "https://api.example.org/v1?a=b#f",
    headers = list(`x-api-key` = key, Accept = "text/plain"),
    body = list(n = 1, list = list("a", NULL, TRUE), array = I("x"), token = key),
    query = list(key = key, page = 2, q = "a b")
  )
  reference <- "rhocap-ref-[0-9a-f]{32}"
  before <- "^https://api.example.org/v1\\?a=b&key="
  expect_match(request@url, paste0(before, reference, "&page=2&q=a%20b#f$"))
  expect_match(request@headers[["x-api-key"]], paste0("^", reference, "$"))
  expect_identical(request@headers[["Content-Type"]], "application/json")
  expect_match(
    request@body,
    paste0(
      "^\\{\"n\":1,\"list\":\\[\"a\",null,true\\],\"array\":\\[\"x\"\\],\"token\":\"",
      reference,
      "\"\\}$"
    )
  )
  expect_identical(
    format(request),
    c(
      paste0(
        "<RhoHttpRequest> POST https://api.example.org/v1",
        "?a=b&key=[credential literal]&page=2&q=a%20b#f"
      ),
      "  x-api-key: [credential literal]",
      "  Accept: text/plain",
      "  Content-Type: application/json",
      "  body: JSON, 55 bytes and a credential"
    )
  )
  expect_hidden(all_that_comes(function() list(request, S7::props(request))), value)
})

test_that("a form", {
  value <- canary()
  request <- rho_http_request(
    "POST",
    "https://api.example.org/token",
    headers = list(`content-type` = "application/x-www-form-urlencoded; charset=utf-8"),
    body = list(grant = "a b", secret = key_for(value))
  )
  expect_match(request@body, "^grant=a%20b&secret=rhocap-ref-[0-9a-f]{32}$")
  expect_length(request@headers, 1L)
  expect_hidden(all_that_comes(function() request), value)
})

test_that("an auth fills a request", {
  value <- canary()
  auth <- rho_model_auth(
    key_for(value),
    headers = list(`x-version` = "2"),
    base_url = "https://api.example.org/v1/"
  )
  request <- rho_http_request("GET", "/models", auth = auth)
  expect_identical(request@url, "https://api.example.org/v1/models")
  expect_identical(request@headers$Authorization, paste("Bearer", auth@api_key))
  expect_identical(request@headers[["x-version"]], "2")
  own <- rho_http_request("GET", "/models", auth = auth, headers = list(`X-Version` = "3"))
  expect_identical(own@headers[["X-Version"]], "3")
  expect_null(own@headers[["x-version"]])
  for (sender in list(key_for(value), rho_basic("ada", key_for(value)))) {
    request <- rho_http_request("GET", "https://api.example.org", auth = sender)
    expect_match(request@headers$Authorization, "^rhocap-ref-")
  }
})

test_that("what is printed of a request has no userinfo, no secret fields and no content", {
  value <- canary()
  url <- "https://api.example.org/x?access_token=abcdef&page=1"
  cookie <- list(Cookie = paste0("s=", value))
  # What is secret in the cookie is no text of the body.
  expect_error(
    rho_http_request("POST", url, headers = cookie, body = value),
    class = "rhocap_error_value"
  )
  content <- canary()
  request <- rho_http_request("POST", url, headers = cookie, body = content)
  shown <- paste(format(request), collapse = "\n")
  expect_no_match(shown, "abcdef")
  expect_no_match(shown, value, fixed = TRUE)
  expect_no_match(shown, content, fixed = TRUE)
  expect_match(shown, "page=1", fixed = TRUE)
  expect_match(shown, "body: text, 32 bytes", fixed = TRUE)
  expect_error(rho_http_request("GET", "https://u:p@api.example.org"), class = "rhocap_error_url")
})

test_that("what cannot be sent is refused", {
  url <- "https://api.example.org"
  expect_error(rho_http_request("CONNECT", url), class = "rhocap_error_value")
  expect_error(rho_http_request("GET"), class = "rhocap_error_missing")
  expect_error(rho_http_request(url = url), class = "rhocap_error_missing")
  for (bad in c("/x", "api.example.org", "file:///etc/passwd", "https://a b", "https://a\\b")) {
    expect_error(rho_http_request("GET", bad), class = "rhocap_error_url")
  }
  for (bad in list(1, TRUE, quote(x), new.env(), Sys.time(), data.frame(a = 1), c("a", "b"))) {
    expect_error(rho_http_request("POST", url, body = bad), class = "rhocap_error_type")
  }
  for (bad in list(list(a = identity), list(a = 1i), list(a = Sys.time()), list(a = new.env()))) {
    expect_error(rho_http_request("POST", url, body = bad), class = "rhocap_error_type")
  }
  deep <- list()
  for (level in 1:500) deep <- list(deep)
  expect_error(rho_http_request("POST", url, body = deep), class = "rhocap_error_value")
  bytes <- "\xff"
  Encoding(bytes) <- "bytes"
  for (bad in list("\xff", bytes)) {
    expect_error(rho_http_request(bad, url), class = "rhocap_error_encoding")
    expect_error(rho_http_request("GET", bad), class = "rhocap_error_encoding")
    expect_error(rho_http_request("POST", url, body = bad), class = "rhocap_error_encoding")
    headers <- list(a = bad)
    expect_error(rho_http_request("POST", url, headers = headers), class = "rhocap_error_encoding")
  }
})

test_that("numbers and flags of a query or a form are written as in JSON", {
  url <- "https://api.example.org/"
  before <- options(OutDec = ",", scipen = -10, digits = 3L)
  defer(function() options(before), environment())
  fields <- list(
    a = 100000, b = 100000L, c = 0.1, d = 1.5, e = TRUE, f = FALSE, g = 123456789.123, h = -0.25,
    i = 2^52
  )
  written <- paste0(
    "a=100000&b=100000&c=0.1&d=1.5&e=true&f=false&g=123456789.123&h=-0.25&i=4503599627370496"
  )
  expect_identical(rho_http_request("GET", url, query = fields)@url, paste0(url, "?", written))
  headers <- list(`Content-Type` = "application/x-www-form-urlencoded")
  form <- rho_http_request("POST", url, headers = headers, body = fields)
  expect_identical(form@body, written)
  for (bad in list(NA, NA_real_, NA_integer_, NA_character_, NaN, Inf, -Inf)) {
    cnd <- tryCatch(rho_http_request("GET", url, query = list(limit = bad)), error = identity)
    expect_s3_class(cnd, "rhocap_error_value")
    expect_match(conditionMessage(cnd), "`query$limit`", fixed = TRUE)
    cnd <- tryCatch(
      rho_http_request("POST", url, headers = headers, body = list(limit = bad)),
      error = identity
    )
    expect_s3_class(cnd, "rhocap_error_value")
    expect_match(conditionMessage(cnd), "`body$limit`", fixed = TRUE)
  }
  wrong <- list(Sys.Date(), Sys.time(), factor("a"), as.difftime(1, units = "secs"), 1:2, list(1))
  for (bad in c(wrong, list(numeric(), NULL, 1i))) {
    cnd <- tryCatch(rho_http_request("GET", url, query = list(limit = bad)), error = identity)
    expect_s3_class(cnd, "rhocap_error_type")
    expect_match(conditionMessage(cnd), "`query$limit`", fixed = TRUE)
  }
})

test_that("what JSON would lose is refused, and named", {
  url <- "https://api.example.org/"
  body <- function(...) rho_http_request("POST", url, body = list(...))@body
  for (bad in list(NaN, Inf, c(1, -Inf), c(a = 1, b = 2), matrix(1:4, 2), c(a = "x", b = "y"))) {
    cnd <- tryCatch(body(x = list(1, y = bad)), error = identity)
    expect_s3_class(cnd, "rhocap_error_value")
    cnd <- tryCatch(body(x = list(y = list(1, bad))), error = identity)
    expect_s3_class(cnd, "rhocap_error_value")
    expect_match(conditionMessage(cnd), "`body$x$y[[2]]`", fixed = TRUE)
  }
  cnd <- tryCatch(body(x = list(y = Sys.time())), error = identity)
  expect_match(conditionMessage(cnd), "`body$x$y`", fixed = TRUE)
  wanted <- "{\"a\":null,\"b\":[1,null],\"c\":1,\"d\":100000,\"e\":0.1}"
  expect_identical(body(a = NA_real_, b = c(1, NA), c = c(z = 1), d = 1e5, e = 0.1), wanted)
})

test_that("an error names the field, or the part of the URL", {
  said <- function(...) conditionMessage(tryCatch(rho_http_request("GET", ...), error = identity))
  url <- "https://api.example.org/"
  expect_match(said(url, headers = list(a = "b", `X-N` = 1)), "`headers$X-N`", fixed = TRUE)
  secret <- rho_secret_literal(canary())
  expect_match(said(url, headers = list(`X-N` = secret)), "`headers$X-N`", fixed = TRUE)
  expect_match(said(url, query = list(q = secret)), "`query$q`", fixed = TRUE)
  expect_match(said("https://127.1/"), "four numbers")
  expect_match(said("https://a:99999/"), "port")
  expect_match(said("https://b\u00fccher.example/"), "xn--", fixed = TRUE)
  expect_match(said("/x"), "scheme")
  auth <- rho_model_auth(key_for(canary()))
  expect_match(said("/x", auth = auth), "base URL")
  expect_error(rho_http_request("GET", "/x", auth = auth), class = "rhocap_error_url")
  expect_error(rho_model_auth(key_for(canary()), base_url = "https://a:0/"), "port")
})

# The value in a text, in the forms in which it would be told.
text_forms <- function(value) {
  percent <- paste0("%", charToRaw(value), collapse = "")
  base64 <- jsonlite::base64_enc(value)
  list(
    plain = value,
    percent = percent,
    twice = gsub("%", "%25", percent, fixed = TRUE),
    one_letter = paste0("%", charToRaw(value)[[1L]], substring(value, 2L)),
    base64 = base64,
    base64_percent = utils::URLencode(base64, reserved = TRUE),
    basic = jsonlite::base64_enc(paste0("user:", value))
  )
}

test_that("the value of a known secret is no text of a request, wherever it stands", {
  needs("jsonlite")
  url <- "https://api.example.org/"
  value <- canary()
  # Whatever it is for.
  holders <- list(
    rho_secret_literal(value),
    rho_env_secret(rho_secret_literal(value), shared = TRUE),
    key_for(value)
  )
  get <- function(...) rho_http_request("GET", ...)
  post <- function(body, headers = list()) rho_http_request("POST", url, headers, body)
  as_form <- list(`Content-Type` = "application/x-www-form-urlencoded")
  named <- function(x, name) stats::setNames(list(x), name)
  places <- list(
    path = function(text) get(paste0(url, text, "/x")),
    query = function(text) get(paste0(url, "?api_key=", text)),
    name = function(text) get(paste0(url, "?", text, "=1")),
    fragment = function(text) get(paste0(url, "#", text)),
    field = function(text) get(url, query = list(k = text)),
    field_name = function(text) get(url, query = named("v", text)),
    header = function(text) get(url, headers = list(`X-Custom` = paste("Bearer", text))),
    vector = function(text) get(url, headers = c(`X-Custom` = text)),
    beside = function(text) {
      holder <- rho_model_auth(key_for(canary()))
      get(url, headers = list(Authorization = paste(holder@api_key, text)))
    },
    wanted = function(text) get(url, response_headers = text),
    text = function(text) post(paste("say", text)),
    raw = function(text) post(c(as.raw(c(0L, 255L)), charToRaw(text))),
    json = function(text) post(list(a = list(list(b = c("x", text))))),
    json_name = function(text) post(list(named(1, text))),
    form = function(text) post(list(a = text), as_form),
    form_name = function(text) post(named("a", text), as_form)
  )
  for (holder in holders) {
    for (place in names(places)) {
      cnd <- expect_error(places[[place]](value), class = "rhocap_error_value", label = place)
      expect_match(conditionMessage(cnd), "rho_provider_credential", label = place)
      expect_match(conditionMessage(cnd), "`literal`", fixed = TRUE, label = place)
      expect_null(conditionCall(cnd))
      expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE), label = place)
    }
  }
  forms <- text_forms(value)
  for (form in names(forms)) {
    for (place in names(places)) {
      label <- paste(place, form)
      cnd <- expect_error(
        places[[place]](forms[[form]]),
        class = "rhocap_error_value", label = label
      )
      expect_match(conditionMessage(cnd), "as text", label = label)
    }
  }
  # As the name of a header, as a method and before the host.
  expect_error(get(url, headers = named("v", value)), "as text", class = "rhocap_error_value")
  expect_error(rho_http_request(value, url), class = "rhocap_error_value")
  cnd <- expect_error(get(sprintf("https://%s:x@api.example.org", value)), class = "rhocap_error")
  expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE))
  # Another value is text like any other.
  other <- canary()
  for (place in setdiff(names(places), "beside")) {
    expect_s3_class(places[[place]](other), "rhocap::RhoHttpRequest")
  }
})

test_that("a known secret has its place in headers that carry one and in declared fields", {
  url <- "https://api.example.org/"
  value <- canary()
  secret <- rho_secret_literal(value)
  for (name in c("Authorization", "X-Auth", "x-api-key", "Cookie", "X-Auth-Token")) {
    headers <- stats::setNames(list(paste("Bearer", value)), name)
    request <- rho_http_request("GET", url, headers = headers)
    expect_match(request@headers[[name]], "^Bearer rhocap-ref-", label = name)
    expect_hidden(all_that_comes(function() list(request, S7::props(request))), value, name)
  }
  # It is known from then on in the same call as well.
  for (known in list(value, canary())) {
    expect_error(
      rho_http_request(
        "GET", paste0(url, "?k=", known),
        headers = list(Authorization = paste("Bearer", known))
      ),
      class = "rhocap_error_value"
    )
  }
})

test_that("a short literal of a header warns, and errors name the header", {
  url <- "https://api.example.org/"
  key <- key_for(canary())
  short <- substring(canary(), 1L, 6L)
  made <- list(
    request = function(headers) rho_http_request("GET", url, headers = headers),
    auth = function(headers) rho_model_auth(key, headers = headers)
  )
  for (make in made) {
    warned <- character()
    object <- withCallingHandlers(
      make(list(`X-Api-Key` = short, Cookie = substring(canary(), 1L, 6L), Accept = "x")),
      rhocap_warning_short_secret = function(cnd) {
        warned <<- c(warned, conditionMessage(cnd))
        invokeRestart("muffleWarning")
      }
    )
    expect_length(warned, 2L)
    expect_match(warned[[1L]], "X-Api-Key")
    expect_match(warned[[2L]], "Cookie")
    expect_no_warning(make(list(`X-Api-Key` = canary())))
    for (bad in list(list("abc", "short_secret"), list("password", "ordinary_secret"))) {
      cnd <- expect_error(
        make(list(`X-Api-Key` = bad[[1L]])),
        class = paste0("rhocap_error_", bad[[2L]])
      )
      expect_match(conditionMessage(cnd), "`X-Api-Key`", fixed = TRUE)
      expect_identical(cnd$header, "X-Api-Key")
    }
  }
})

test_that("what a header was given as text is forgotten with its request", {
  url <- "https://api.example.org/"
  masked <- function(value) !identical(rho_redact(value), value)
  made <- list(
    request = function(headers, key) rho_http_request("GET", url, headers = headers, auth = key),
    auth = function(headers, key) rho_model_auth(key, headers = headers)
  )
  for (make in made) {
    # By the value: it cannot be used any more.
    value <- canary()
    own <- canary()
    key <- key_for(own)
    object <- make(list(`X-Api-Key` = value, Cookie = canary()), key)
    expect_true(masked(value))
    expect_true(rho_forget(object))
    expect_false(masked(value))
    expect_true(masked(own))
    expect_match(format(object), "no longer usable", all = FALSE)
    expect_error(object == object, class = "rhocap_error_forgotten")
    expect_error(rho_forget(object), class = "rhocap_error_forgotten")
    # By its id, while it is there and afterwards.
    object <- make(list(`X-Api-Key` = value), key)
    id <- object@id
    expect_false(rho_forget(id))
    expect_true(masked(value))
    rm(object)
    invisible(gc())
    expect_true(rho_forget(id))
    expect_false(masked(value))
    expect_true(masked(own))
  }
})

test_that("a short cookie is not told to be longer", {
  cnd <- tryCatch(
    rho_http_request("GET", "https://api.example.org", headers = list(Cookie = "a=1")),
    error = identity
  )
  expect_s3_class(cnd, "rhocap_error_short_secret")
  expect_match(conditionMessage(cnd), "`Cookie`.*Leave it out")
  expect_no_match(conditionMessage(cnd), "longer")
})

test_that("a literal that was sent is known until it is forgotten by the request's id", {
  needs("curl")
  value <- canary()
  masked <- function() !identical(rho_redact(value), value)
  request <- rho_http_request(
    "GET", "http://127.0.0.1:1/",
    headers = list(`X-Api-Key` = value), timeout_ms = 1000
  )
  rho_curl_fetch(request)
  id <- request@id
  rm(request)
  invisible(gc())
  expect_true(masked())
  expect_true(rho_forget(id))
  expect_false(masked())
})

test_that("headers by which another request could be hidden are refused", {
  url <- "https://api.example.org/"
  chunked <- list(`Transfer-Encoding` = "chunked")
  size <- function(n) list(`Content-Length` = n)
  refused <- list(
    c(chunked, size("3")), c(size("3"), chunked), size("4"), size("3, 3"), size("+3"),
    c(size("3"), size("3")), c(chunked, chunked), list(`transfer-encoding` = "gzip"),
    list(Connection = "X-Api-Key"), list(connection = "close, Authorization"),
    list(Upgrade = "h2c"), list(`HTTP2-Settings` = "AAMAAABk"), list(content_length = "4")
  )
  for (headers in refused) {
    expect_error(
      rho_http_request("POST", url, headers = headers, body = "abc"),
      class = "rhocap_error_header"
    )
  }
  for (headers in list(size("3"), chunked, list(Connection = "close"), list(TE = "trailers"))) {
    request <- rho_http_request("POST", url, headers = headers, body = "abc")
    expect_s3_class(request, "rhocap::RhoHttpRequest")
  }
  key <- key_for(canary())
  expect_error(
    rho_model_auth(key, headers = c(chunked, size("3"))),
    class = "rhocap_error_header"
  )
})

test_that("equality is that of what is sent", {
  value <- canary()
  made <- function(value) {
    key <- key_for(value)
    rho_http_request("GET", "https://api.example.org", auth = key, query = list(k = key))
  }
  expect_true(made(value) == made(value))
  expect_false(made(value) == made(canary()))
})

test_that("a dead request says how to make another", {
  request <- rho_http_request("GET", "https://api.example.org", auth = key_for(canary()))
  dead <- unserialize(serialize(request, NULL))
  expect_match(format(dead), "no longer usable")
  needs("curl")
  expect_error(rho_curl_fetch(dead), "rho_http_request\\(\\)", class = "rhocap_error_stale_handle")
})
