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
  request <- rho_http_request("POST", url, headers = cookie, body = value)
  shown <- paste(format(request), collapse = "\n")
  expect_no_match(shown, "abcdef")
  expect_no_match(shown, value, fixed = TRUE)
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
