# Auths and header values: references in R, values in Rust.

key_for <- function(value, hosts = "api.example.org") {
  rho_provider_credential(rho_secret_literal(value), hosts)
}

test_that("an auth holds a reference", {
  value <- canary()
  auth <- rho_model_auth(
    key_for(value),
    headers = list(`x-version` = "2", `x-api-key` = key_for(value)),
    base_url = "https://api.example.org/v1",
    metadata = list(account = "a", n = 1)
  )
  expect_match(auth@api_key, "^rhocap-ref-[0-9a-f]{32}$")
  expect_identical(auth@headers[["x-version"]], "2")
  expect_match(auth@headers[["x-api-key"]], "^rhocap-ref-[0-9a-f]{32}$")
  expect_identical(auth@base_url, "https://api.example.org/v1")
  expect_identical(auth@metadata, list(account = "a", n = 1))
  expect_identical(auth@hosts, "api.example.org")
  expect_identical(
    format(auth),
    c(
      "<RhoModelAuth> literal, for api.example.org",
      "  base_url: https://api.example.org/v1",
      "  x-version: 2",
      "  x-api-key: [credential literal]",
      "  metadata: account, n"
    )
  )
  expect_hidden(all_that_comes(function() list(auth, S7::props(auth))), value)
})

test_that("references are random", {
  value <- canary()
  one <- rho_model_auth(key_for(value))
  other <- rho_model_auth(key_for(value))
  expect_false(one@api_key == other@api_key)
  expect_false(one@id == other@id)
  expect_true(one == other)
  expect_true(isTRUE(all.equal(one, other)))
  expect_false(one == rho_model_auth(key_for(canary())))
  expect_false(one == rho_model_auth(key_for(value), base_url = "https://api.example.org"))
  expect_false(one == rho_model_auth(key_for(value), metadata = list(a = 1)))
})

test_that("a string under a name that carries credentials is taken for one", {
  value <- canary()
  auth <- rho_model_auth(key_for(canary()), headers = list(Authorization = paste("Bearer", value)))
  expect_match(auth@headers$Authorization, "^Bearer rhocap-ref-")
  expect_hidden(all_that_comes(function() auth), value)
})

test_that("an auth takes credentials for providers and nothing else", {
  secret <- rho_secret_literal(canary())
  expect_error(rho_model_auth(secret), class = "rhocap_error_purpose")
  expect_error(rho_model_auth(rho_env_secret(secret)), class = "rhocap_error_purpose")
  expect_error(rho_model_auth(), class = "rhocap_error_missing")
  expect_error(rho_bearer(secret), class = "rhocap_error_purpose")
  value <- canary()
  said <- all_that_comes(function() rho_model_auth(value))
  expect_hidden(said, value)
  expect_error(rho_model_auth(value), class = "rhocap_error_type")
})

test_that("the key does not stand in what is shown", {
  value <- canary()
  key <- key_for(value)
  within <- list(a = list(b = value))
  expect_error(rho_model_auth(key, metadata = within), class = "rhocap_error_value")
  expect_error(
    rho_model_auth(key, base_url = paste0("https://api.example.org/", value)),
    class = "rhocap_error_value"
  )
  expect_error(rho_model_auth(key, base_url = "https://u:p@a.example"), class = "rhocap_error_url")
  expect_error(rho_model_auth(key, base_url = "api.example.org"), class = "rhocap_error_url")
  expect_error(rho_model_auth(key, metadata = list(new.env())), class = "rhocap_error_type")
})

test_that("no known secret stands in what goes with a key", {
  needs("jsonlite")
  key <- key_for(canary())
  value <- canary()
  secret <- rho_secret_literal(value)
  auth <- function(...) rho_model_auth(key, ...)
  base <- "https://api.example.org/"
  base64 <- jsonlite::base64_enc(value)
  noted <- structure(1, note = value)
  refused <- alist(
    auth(base_url = paste0(base, value)),
    auth(base_url = paste0(base, "?key=", base64)),
    auth(base_url = paste0(base, "#", paste0("%", charToRaw(value), collapse = ""))),
    auth(headers = list(`X-Custom` = value)),
    auth(headers = stats::setNames(list("v"), value)),
    auth(metadata = list(a = value)),
    auth(metadata = list(a = list(b = c("x", base64)))),
    auth(metadata = stats::setNames(list(1), value)),
    auth(metadata = list(a = charToRaw(value))),
    auth(metadata = list(a = c(as.raw(0L), charToRaw(base64)))),
    auth(metadata = list(list(structure(as.raw(1L), names = value)))),
    auth(metadata = list(a = noted)),
    auth(metadata = list(a = factor(value))),
    auth(metadata = structure(list(1), note = value))
  )
  for (code in refused) {
    cnd <- expect_error(eval(code), class = "rhocap_error_value", label = deparse(code)[[1L]])
    expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE))
    expect_match(conditionMessage(cnd), "as text")
  }
  fine <- list(
    text = "x", missing = NA_character_, number = 1:3, bytes = as.raw(0:255), flag = TRUE,
    level = factor("a"), nothing = NULL, day = as.Date("2024-01-01")
  )
  expect_identical(auth(metadata = fine)@metadata, fine)
})

test_that("a header that begins another one is refused", {
  key <- key_for(canary())
  bad <- list(list(a = "b\r\nHost: evil"), list(`a b` = "c"), list(`a:` = "c"), list("c"))
  for (headers in bad) {
    expect_error(rho_model_auth(key, headers = headers), class = "rhocap_error")
  }
  expect_error(rho_basic("a:b", key), class = "rhocap_error_value")
})

test_that("a dead auth says how to make another", {
  auth <- rho_model_auth(key_for(canary()))
  dead <- unserialize(serialize(auth, NULL))
  expect_match(format(dead), "no longer usable")
  expect_error(dead == auth, class = "rhocap_error_stale_handle")
  expect_error(
    rho_http_request("GET", "https://api.example.org", auth = dead),
    "rho_model_auth\\(\\)",
    class = "rhocap_error_stale_handle"
  )
})

test_that("an auth does not work in a fork", {
  skip_on_os("windows")
  auth <- rho_model_auth(key_for(canary()))
  came <- parallel::mclapply(1:2, function(index) {
    tryCatch(
      rho_http_request("GET", "https://api.example.org", auth = auth),
      rhocap_error_forked = function(cnd) "forked"
    )
  }, mc.cores = 2L)
  expect_identical(came, list("forked", "forked"))
  # And goes on to work here.
  request <- rho_http_request("GET", "https://api.example.org", auth = auth)
  expect_identical(request@headers$Authorization, paste("Bearer", auth@api_key))
})

test_that("a collected auth's reference is not exchanged any more", {
  needs("curl")
  value <- canary()
  auth <- rho_model_auth(key_for(value, "127.0.0.1:1"))
  reference <- auth@api_key
  rm(auth)
  gc()
  request <- rho_http_request("GET", "http://127.0.0.1:1/", headers = list(`x-api-key` = reference))
  expect_error(rho_curl_fetch(request), class = "rhocap_error_stale_handle")
})
