# Values that nobody knows, and the search for them in all that came out.

# A value that no source holds and no other test has.
canary <- function() {
  paste0("cN", paste(sample(c(letters, LETTERS, 0:9), 30L, replace = TRUE), collapse = ""))
}

# The value, in hexadecimal digits, and in base64 at the three places it can start; of the last the
# characters that its neighbours decide are left out.
encodings <- function(value) {
  bytes <- charToRaw(value)
  base64 <- vapply(0:2, function(before) {
    text <- jsonlite::base64_enc(c(raw(before), bytes))
    substr(text, c(1L, 3L, 4L)[[before + 1L]], 4L * ((before + length(bytes)) %/% 3L))
  }, "")
  hex <- paste(bytes, collapse = "")
  unique(c(value, paste(rev(strsplit(value, "")[[1L]]), collapse = ""), hex, toupper(hex), base64))
}

# Whether text or bytes hold a value in any encoding.
holds_value <- function(given, value) {
  bytes <- if (is.raw(given)) given else charToRaw(paste(given, collapse = "\n"))
  any(vapply(encodings(value), function(form) length(grepRaw(form, bytes, fixed = TRUE)) > 0L, NA))
}

expect_hidden <- function(given, value, label = "the output") {
  testthat::expect(!holds_value(given, value), sprintf("%s holds the value.", label))
}

# Everything that an expression prints, signals or gives, as one raw vector.
all_that_comes <- function(code) {
  said <- character()
  note <- function(cnd) {
    said <<- c(said, conditionMessage(cnd))
    # R 4.2 cannot deparse an S7 value.
    said <<- c(said, tryCatch(deparse(conditionCall(cnd)), error = conditionMessage))
    said <<- c(said, utils::capture.output(try(utils::str(unclass(cnd)), silent = TRUE)))
  }
  value <- NULL
  printed <- utils::capture.output(
    value <- withCallingHandlers(
      tryCatch(code(), error = function(cnd) {
        note(cnd)
        cnd
      }),
      warning = function(cnd) {
        note(cnd)
        invokeRestart("muffleWarning")
      },
      message = function(cnd) {
        note(cnd)
        invokeRestart("muffleMessage")
      }
    )
  )
  shown <- utils::capture.output(try(print(value), silent = TRUE))
  c(
    charToRaw(paste(c(said, printed, shown), collapse = "\n")),
    serialize(value, NULL),
    serialize(value, NULL, ascii = TRUE)
  )
}

# A secret of a fresh value, made without a warning.
new_secret_of <- function(value) rho_secret_literal(value)

credential_of <- function(secret) rho_provider_credential(secret, "api.example.org")

# One of each class that hides a value, each with a value of its own.
hidden_values <- function() {
  made <- function(make) {
    value <- canary()
    list(value = value, object = make(new_secret_of(value)))
  }
  list(
    RhoSecret = made(identity),
    RhoProviderCredential = made(credential_of),
    RhoEnvSecret = made(rho_env_secret),
    RhoModelAuth = made(function(secret) rho_model_auth(credential_of(secret))),
    RhoHeaderCredential = made(function(secret) rho_basic("ada", credential_of(secret))),
    RhoHttpRequest = made(function(secret) {
      key <- credential_of(secret)
      rho_http_request(
        "POST",
        "https://api.example.org/v1",
        headers = list(Authorization = rho_bearer(key), `x-api-key` = key),
        body = list(token = key),
        query = list(key = key)
      )
    })
  )
}
