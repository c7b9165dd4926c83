# Credentials in requests of httr2, put in when httr2 sends them.

#' @include exchange.R
NULL

#' Credentials for httr2
#'
#' Adds credentials to a request of httr2. The request holds the auth, and a reference that httr2
#' shows as `<REDACTED>`; the value is put in when httr2 sends, into a copy that nothing keeps, for
#' `req_perform()` and its siblings. So printing, saving or keeping the request, its response or
#' `httr2::last_request()` does not show it.
#'
#' Redirections are not followed, because another host may stand behind one. Dry runs and
#' translations to a command line of curl show `<REDACTED>` too, and with `redact_headers = FALSE`
#' the reference. What httr2 tells of a request while it
#' sends (`httr2::req_verbose()`, also with `redact_headers = FALSE`; a `debugfunction` of your own)
#' is masked.
#'
#' @details
#' Options of curl that take the credential elsewhere, or let others read it, are refused when the
#' request is sent: another address, port, socket or proxy, servers that are not verified, lines of
#' one's own. What is not known to be harmless is refused too. A proxy is allowed for https, where
#' it passes on what it cannot read; what this machine is asked over http goes through none.
#'
#' @section What is not masked:
#' The response is httr2's, which has no place where it can be changed before you get it. A server
#' that sends the credential back, in the body or in a header, gives it to you, to
#' `httr2::last_response()`, to the condition of a failed request, and, with `body_resp = TRUE` or
#' `verbosity = 2`, to who sees what httr2 prints. The value is known to the
#' redactor from then on: [rho_redact()] masks the body as text, [rho_sanitize()] the condition, and
#' `rho_with_redaction(httr2::req_perform(req))` what is printed and signalled, but not the response
#' that it gives. [rho_curl_fetch()] and [rho_ncurl()] give answers that are masked.
#'
#' @param req A request made by `httr2::request()`.
#' @param auth A [rho_model_auth()], whose own headers are added too, a credential, or what
#'   [rho_basic()] or [rho_bearer()] gives.
#' @param header The name of the header. Under `Authorization` a bare key is sent as a bearer token,
#'   under any other name as it is.
#' @return `req` with the credentials.
#' @section Errors:
#' A credential that may not go where the request goes is a `rhocap_error_reference` when it is
#' sent, see [rho_model_auth()]; so is an option that is refused, with the `code` `"option"` or
#' `"redirect"`. Before that: `rhocap_error_missing` and `rhocap_error_type` for a wrong argument,
#' `rhocap_error_purpose` for a secret that is bound to no hosts, `rhocap_error_header` for a name
#' that no header can have, `rhocap_error_value` for a request with another authentication, and
#' `rhocap_error_missing_package` without httr2.
#' @family requests
#' @examples
#' if (requireNamespace("httr2", quietly = TRUE)) {
#'   secret <- rho_secret_literal(paste(c("httr2-", sample(letters, 20)), collapse = ""))
#'   key <- rho_provider_credential(secret, hosts = "api.example.org")
#'   rho_httr2_auth(httr2::request("https://api.example.org"), key)
#' }
#' @export
rho_httr2_auth <- function(req, auth, header = "Authorization") {
  if (missing(req)) {
    abort_missing("req", "a request made by httr2::request()")
  }
  if (missing(auth)) {
    abort_missing("auth", "made by rho_model_auth() or rho_provider_credential()")
  }
  header <- check_text(check_string(header, "header", empty = FALSE), "header")
  check_package("httr2", "rho_httr2_auth()")
  if (!inherits(req, "httr2_request") || !is.list(req) || !is.environment(req$state)) {
    abort_type(req, "req", "a request made by httr2::request()")
  }
  # The headers by which a request would be sent with it. The references live as long as this does.
  bearer <- identical(tolower_ascii(header), "authorization")
  holder <- if (S7::S7_inherits(auth, RhoModelAuth)) {
    auth
  } else {
    value <- if (bearer && S7::S7_inherits(auth, RhoProviderCredential)) rho_bearer(auth) else auth
    if (!S7::S7_inherits(value, RhoHidden) || S7::S7_inherits(value, RhoHttpRequest)) {
      abort_type(auth, "auth", auth_wanted)
    }
    # Told here, where the argument has the name that the caller gave it.
    if (!S7::S7_inherits(value, RhoHeaderCredential)) {
      credential_handle(value, "auth")
    }
    headers <- stats::setNames(list(value), header)
    rho_http_request("GET", reference_url, headers = headers)
  }
  headers <- attr(holder, "headers", exact = TRUE)
  if (S7::S7_inherits(auth, RhoModelAuth)) {
    key <- attr(auth, "api_key", exact = TRUE)
    check_boundary(core_auth_shown(auth_handle(auth)))
    key <- stats::setNames(list(if (bearer) paste("Bearer", key) else key), header)
    headers <- c(key[!tolower_ascii(header) %in% tolower_ascii(names(headers))], headers)
  }
  req <- do.call(httr2::req_headers_redacted, c(list(req), headers))
  req <- httr2::req_options(req, followlocation = FALSE)
  # httr2 calls this between preparing a request and sending it. What it is given holds handles.
  previous <- req$policies$auth_sign
  if (!is.null(previous) && !identical(previous$fun, httr2_sign)) {
    abort(
      "value",
      "`req` has another authentication (httr2::req_oauth() or the like). Use one of the two.",
      argument = "req"
    )
  }
  holders <- c(previous$params$holders, list(holder))
  lines <- c(previous$params$lines, headers)
  lines <- lines[!duplicated(tolower_ascii(names(lines)), fromLast = TRUE)]
  req$policies$auth_sign <- list(
    fun = httr2_sign,
    params = list(holders = holders, lines = lines),
    cache = NULL
  )
  req
}

# Any URL serves to hold the references; that of the request is known only when it is sent.
reference_url <- "https://reference.invalid/"

# The copy of a request that httr2 sends. It has a state of its own, so that what httr2 notes in it
# goes with it; what the request's own state says is which headers are not to be shown.
httr2_sign <- function(req, cache, holders, lines) {
  if (!httr2_is_sending()) {
    return(req)
  }
  if (!identical(req$options$followlocation, FALSE)) {
    abort(
      "reference",
      paste(
        "The request follows redirections, and curl sends headers to whoever stands behind one.",
        "Leave out httr2::req_options(followlocation =)."
      ),
      code = "redirect"
    )
  }
  check_httr2_options(req)
  handle <- httr2_handle()
  if (is_plain_http(req$url)) {
    curl::handle_setopt(handle, noproxy = "*")
  }
  req$state$headers <- req$headers
  plain <- httr2::req_get_headers(req, "drop")
  plain <- plain[!tolower_ascii(names(plain)) %in% tolower_ascii(names(lines))]
  wire <- exchange(req$url, c(plain, lines))
  mask_debugging(handle, req$options, wire$echo)
  req$state <- new.env(parent = emptyenv())
  secret <- wire$headers[names(wire$headers) %in% names(lines)]
  # By name: what is in a call is seen by whoever looks at the calls.
  values <- lapply(names(secret), function(name) call("[[", quote(secret), name))
  names(values) <- names(secret)
  eval(as.call(c(quote(httr2::req_headers_redacted), quote(req), values)))
}

# What curl may be told: nothing that says where a request goes or who reads it, and nothing that
# writes lines of its own.
httr2_options <- c(
  "followlocation", "timeout", "timeout_ms", "connecttimeout", "connecttimeout_ms", "useragent",
  "http_version", "sslversion", "cainfo", "capath", "accept_encoding", "nosignal", "tcp_nodelay",
  "tcp_keepalive", "low_speed_limit", "low_speed_time", "noprogress", "progressfunction",
  "xferinfofunction", "verbose", "debugfunction",
  # Those of its method and its body, which httr2 has set by now.
  "customrequest", "nobody", "httpget", "post", "postfields", "postfieldsize",
  "postfieldsize_large", "readfunction", "seekfunction", "upload", "infilesize", "infilesize_large"
)

# A proxy passes on what TLS hides from it.
httr2_proxy_options <- c("proxy", "proxyport", "proxyuserpwd", "proxyauth")

check_httr2_options <- function(req) {
  allowed <- c(httr2_options, if (!is_plain_http(req$url)) httr2_proxy_options)
  foreign <- setdiff(names(req$options), allowed)
  if (length(foreign) > 0L) {
    abort(
      "reference",
      sprintf(
        paste(
          "The request's curl option `%s` is not known to be harmless to a credential. Leave it",
          "out of httr2::req_options() or its like. Allowed are: %s."
        ),
        shown(foreign[[1L]]),
        paste(sort(allowed), collapse = ", ")
      ),
      code = "option"
    )
  }
  methods <- c(req$method, req$options$customrequest)
  if (any(grepl("[^A-Za-z]", methods)) || any(grepl("[[:cntrl:]]", req$options$useragent))) {
    abort(
      "reference",
      "The request's method or user agent holds what would begin another line. Give plain ones.",
      code = "option"
    )
  }
}

# Whether httr2 itself is about to send: not a dry run, a translation, or somebody's own call.
httr2_is_sending <- function() {
  any(frames_of_httr2("handle_preflight")) &&
    !any(frames_of_httr2(c("req_dry_run", "httr2_translate")))
}

# Which of the calls that led here are of functions of httr2's.
frames_of_httr2 <- function(names) {
  namespace <- asNamespace("httr2")
  wanted <- lapply(names, get0, envir = namespace, mode = "function", inherits = FALSE)
  is_wanted <- function(fun) any(vapply(wanted, identical, NA, fun))
  vapply(lapply(seq_len(sys.nframe()), sys.function), is_wanted, NA)
}

# The handle with which httr2 is about to send. It is told here what no option of a request says.
httr2_handle <- function() {
  for (index in rev(which(frames_of_httr2("handle_preflight")))) {
    handle <- get0("handle", sys.frame(index), inherits = FALSE)
    if (inherits(handle, "curl_handle")) {
      return(handle)
    }
  }
  abort(
    "missing_package",
    "This version of httr2 is not known to rhocap: rho_httr2_auth() cannot guard its requests.",
    package = "httr2"
  )
}

# curl tells a `debugfunction` all that it sends, over HTTP/2 also in lines of information, and
# without one writes it to standard error.
mask_debugging <- function(handle, options, echo) {
  told <- options$debugfunction
  if (is.null(echo) || (is.null(told) && !isTRUE(as.logical(options$verbose)))) {
    return(invisible())
  }
  if (is.null(told)) {
    told <- function(type, msg) {
      if (type < 3L) cat(rawToChar(msg[msg != 0L]), file = stderr(), sep = "")
    }
  }
  curl::handle_setopt(handle, debugfunction = function(type, msg) {
    told(type, redact_raw(mask_echo(echo, msg)))
  })
}
