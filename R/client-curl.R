# Sending with curl.

#' @include exchange.R
NULL

#' Send a request with curl or nanonext
#'
#' @description
#' `rho_curl_fetch()` sends with the package curl, `rho_ncurl()` with nanonext. The credentials of
#' the request are strings of R's only as arguments of that package's own function, while it runs:
#' these packages take nothing else. Redirections are not followed, because another host may stand
#' behind one: the answer has their status and `location`.
#'
#' @param request A request made by [rho_http_request()].
#' @return A value of class [RhoHttpResponse], whatever its status, or [RhoHttpFailure].
#' @section Errors:
#' A credential that may not go where the request goes is a `rhocap_error_reference`, see
#' [rho_model_auth()]; nothing is sent then.
#' @family requests
#' @examples
#' # The port of this machine at which nobody listens.
#' if (requireNamespace("curl", quietly = TRUE)) {
#'   rho_curl_fetch(rho_http_request("GET", "http://127.0.0.1:1/", timeout_ms = 1000))
#' }
#' @export
rho_curl_fetch <- function(request) {
  check_request(request)
  check_package("curl", "rho_curl_fetch()")
  sent <- curl_send(request)
  if (is.null(sent$answer)) {
    return(new_failure(request, sent$echo, sent$message))
  }
  headers <- curl::parse_headers_list(sent$answer$headers)
  new_answer(request, sent$echo, sent$answer$status_code, headers, sent$answer$content)
}

# Holds values while curl sends them.
curl_send <- function(request) {
  wire <- exchange_request(request)
  handle <- curl::new_handle(
    followlocation = FALSE,
    timeout_ms = attr(request, "timeout_ms", exact = TRUE)
  )
  # What this machine is asked over http goes through no proxy, which would read it. For https the
  # environment says what does (`NO_PROXY`), as long as the option is not set.
  if (is_plain_http(wire$url)) {
    curl::handle_setopt(handle, noproxy = "*")
  }
  method <- attr(request, "method", exact = TRUE)
  if (identical(method, "HEAD")) {
    curl::handle_setopt(handle, nobody = TRUE)
  } else {
    curl::handle_setopt(handle, customrequest = method)
  }
  if (!is.null(wire$body)) {
    body <- if (is.raw(wire$body)) wire$body else charToRaw(wire$body)
    curl::handle_setopt(handle, post = TRUE, postfieldsize = length(body), postfields = body)
    curl::handle_setopt(handle, customrequest = method)
  }
  curl::handle_setheaders(handle, .list = as.list(wire$headers))
  answer <- tryCatch(curl::curl_fetch_memory(wire$url, handle), error = curl_message)
  if (is.character(answer)) {
    return(list(answer = NULL, message = answer, echo = wire$echo))
  }
  list(answer = answer[c("status_code", "headers", "content")], echo = wire$echo)
}

is_plain_http <- function(url) startsWith(tolower_ascii(url), "http:")

# The text alone: the condition keeps the call.
curl_message <- function(cnd) conditionMessage(cnd)[[1L]]
