# Sending with nanonext.

#' @include exchange.R
NULL

#' @rdname rho_curl_fetch
#' @param tls For https: what `nanonext::tls_config(client =)` gives. `NULL` verifies with the
#'   system's certificates. A configuration that does not verify the server is refused, because
#'   nobody knows then who gets the credential.
#' @export
rho_ncurl <- function(request, tls = NULL) {
  check_request(request)
  check_package("nanonext", "rho_ncurl()")
  url <- attr(request, "url", exact = TRUE)
  if (!is.null(tls)) {
    check_tls(tls)
  }
  tls <- if (startsWith(tolower_ascii(url), "https:")) verifying_tls(tls)
  sent <- ncurl_send(request, tls)
  answer <- sent$answer
  if (inherits(answer$data, "errorValue") || inherits(answer$status, "errorValue")) {
    return(new_failure(request, sent$echo, nng_message(answer)))
  }
  new_answer(request, sent$echo, answer$status, answer$headers, answer$data)
}

# Holds values while nanonext sends them.
ncurl_send <- function(request, tls) {
  wire <- exchange_request(request)
  wanted <- attr(request, "response_headers", exact = TRUE)
  answer <- nanonext::ncurl(
    wire$url,
    convert = FALSE,
    follow = FALSE,
    method = attr(request, "method", exact = TRUE),
    headers = if (length(wire$headers) > 0L) wire$headers,
    data = wire$body,
    response = if (length(wanted) > 0L) wanted else TRUE,
    timeout = attr(request, "timeout_ms", exact = TRUE),
    tls = tls
  )
  list(answer = unclass(answer), echo = wire$echo)
}

nng_message <- function(answer) {
  code <- if (inherits(answer$data, "errorValue")) answer$data else answer$status
  nanonext::nng_error(unclass(code))
}

# A configuration that verifies servers.
verifying_tls <- function(tls) {
  if (is.null(tls)) {
    bundle <- certificate_bundle()
    if (is.null(bundle)) {
      abort(
        "value",
        paste(
          "The system's certificates were not found. Give their file:",
          "tls = nanonext::tls_config(client = path)."
        ),
        argument = "tls"
      )
    }
    return(nanonext::tls_config(client = bundle))
  }
  check_tls(tls)
  if (!identical(attr(tls, "mode", exact = TRUE), "required")) {
    abort(
      "value",
      paste(
        "`tls` does not verify the server, so nobody knows who would get the credential.",
        "Give nanonext::tls_config(client = path) with the certificates that are trusted, or NULL."
      ),
      argument = "tls"
    )
  }
  tls
}

check_tls <- function(tls) {
  if (!inherits(tls, "tlsConfig") || !identical(typeof(tls), "externalptr")) {
    abort_type(tls, "tls", "made by nanonext::tls_config(client =), or NULL")
  }
}

# Where systems keep the certificates that are trusted.
certificate_bundle <- function() {
  known <- c(
    Sys.getenv("SSL_CERT_FILE"),
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem"
  )
  known <- known[nzchar(known) & file.exists(known)]
  if (length(known) > 0L) known[[1L]]
}
