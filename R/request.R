# A request whose credentials R does not see.

#' @include auth.R
NULL

#' An HTTP request
#'
#' @description
#' A request with credentials in it that print, `str()` and errors do not show. Credentials stand in
#' values of `headers`, in fields of `query`, and in fields of a `body` that is a list; what R holds
#' in their places are references, see [rho_model_auth()]. Send it with [rho_curl_fetch()] or
#' [rho_ncurl()], or, where rho.http is installed, with a client of [rho_secret_http_client()]: the
#' value is then one of rho.http's `RhoHttpRequest` too.
#'
#' The value of a secret that is known is refused as text anywhere else: in the URL, in fields of
#' the query, in names of headers and values of other ones, in the body, raw bytes included, also
#' encoded. A string under the name of a header that carries credentials goes with the request:
#' [rho_forget()] of the request, or of its `id`, forgets it.
#'
#' Printed are the URL without a user and without values of fields that carry credentials, the
#' headers without credentials, and of the body its kind and size.
#'
#' @param method `"GET"`, `"POST"`, `"PUT"`, `"PATCH"`, `"DELETE"` or `"HEAD"`.
#' @param url An absolute URL that names no user; or, with an `auth` that has a base URL, what
#'   follows that, beginning with a slash.
#' @param headers Headers: a list with names, of strings, credentials and what [rho_bearer()] and
#'   [rho_basic()] give. A string under a name that carries credentials is taken for one, bound to
#'   the URL's host.
#' @param body `NULL`, raw bytes, one string, or a list, which is sent as JSON, or, under a
#'   `Content-Type` of `application/x-www-form-urlencoded`, as a form. A credential in a list is
#'   sent as the string that it is.
#' @param timeout_ms How long the request may take, in milliseconds.
#' @param response_headers Names of headers of the answer that are wanted; none are named for all.
#' @param convert Whether the answer is text. With `FALSE` its bytes are kept.
#' @param auth Who sends it: a [rho_model_auth()], whose key becomes `Authorization: Bearer` beside
#'   its own headers, a credential, which becomes the same, or what [rho_bearer()] or [rho_basic()]
#'   gives. `headers` take the place of headers of the same name.
#' @param query Fields to add to the URL: a list with names, of strings and credentials. A
#'   credential is better in a header: URLs stand in the logs of servers.
#' @return A value of class `RhoHttpRequest` with the properties `method`, `url`, `headers`, `body`,
#'   `timeout_ms`, `response_headers`, `convert`, `id` and `handle`.
#' @section Errors:
#' `rhocap_error_value` for an unknown method and where the value of a secret stands as text,
#' `rhocap_error_url` for what is no URL or names a user, `rhocap_error_header` for a header that
#' cannot be sent or that two programs could understand in two ways (a `Content-Length` that is not
#' the body's or stands beside `Transfer-Encoding`, a `Connection` that names other headers), those
#' of a secret for a header's literal credential, with the warning for a short one, and
#' `rhocap_error_purpose`; see [rhocap_conditions].
#' @family requests
#' @examples
#' secret <- rho_secret_literal(paste(c("request-", sample(letters, 20)), collapse = ""))
#' key <- rho_provider_credential(secret, hosts = "api.example.org")
#' rho_http_request(
#'   "POST",
#'   "https://api.example.org/v1/chat",
#'   headers = list(`x-api-key` = key),
#'   body = list(model = "m", messages = list())
#' )
#' @export
rho_http_request <- function(
  method,
  url,
  headers = list(),
  body = NULL,
  timeout_ms = 30000L,
  response_headers = character(),
  convert = TRUE,
  auth = NULL,
  query = list()
) {
  method <- check_text(check_string(method, "method"), "method")
  url <- check_text(check_string(url, "url", empty = FALSE), "url")
  headers <- given_headers(headers)
  body <- given_body(body, headers)
  timeout_ms <- as.integer(check_number(timeout_ms, "timeout_ms", least = 1, most = 2^31 - 1))
  response_headers <- check_strings(response_headers, "response_headers")
  convert <- check_flag(convert, "convert")
  sender <- given_auth(auth)
  facts <- check_boundary(core_http_request(list(
    method = method,
    url = url,
    query = given_fields(query, "query"),
    headers = headers,
    body = body$value,
    body_kind = body$kind,
    timeout_ms = as.double(timeout_ms),
    response_headers = response_headers,
    convert = convert,
    auth = sender$value,
    auth_kind = sender$kind
  )))
  warn_short(facts$short)
  object <- list(
    handle = facts$handle,
    id = facts$id,
    method = facts$method,
    url = facts$url,
    headers = if (length(facts$headers) > 0L) facts$headers else list(),
    body = facts$body,
    timeout_ms = timeout_ms,
    response_headers = response_headers,
    convert = convert
  )
  stamp(request_attributes(), object)
}

#' @rdname rho_http_request
#' @format NULL
#' @usage NULL
#' @export
RhoHttpRequest <- rho_class(
  "RhoHttpRequest",
  parent = RhoHidden,
  properties = list(
    method = property_string(),
    url = property_string(),
    headers = property_list(list()),
    body = S7::new_property(S7::class_any, default = NULL, validator = function(value) NULL),
    timeout_ms = property_number(30000L, least = 1, most = 2^31 - 1, whole = TRUE),
    response_headers = property_strings(character()),
    convert = property_flag(TRUE)
  )
)

# The same as for an auth, with rho.http's class.
request_attributes <- function() {
  if (!has_rho_http()) {
    return(class_attributes(RhoHttpRequest))
  }
  rho_subclass_attributes(
    "RhoHttpRequest",
    rho_http_package,
    "RhoHttpRequest",
    list(handle = property_handle(), id = property_string())
  )
}

auth_wanted <-
  "made by rho_model_auth(), rho_bearer(), rho_basic() or rho_provider_credential()"

given_auth <- function(auth) {
  if (is.null(auth)) {
    return(list(kind = "none", value = NULL))
  }
  if (S7::S7_inherits(auth, RhoModelAuth)) {
    return(list(kind = "auth", value = auth_handle(auth)))
  }
  if (!S7::S7_inherits(auth, RhoHidden)) {
    abort_type(auth, "auth", auth_wanted)
  }
  given_value(auth, "auth", "an auth")
}

# Fields of a query or a form, each a string or the handle of a credential.
given_fields <- function(x, arg) {
  lapply(named_values(x, arg), function(value) {
    if (S7::S7_inherits(value, RhoHidden)) {
      return(credential_handle(value, arg))
    }
    bare_value <- bare(value)
    if ((is.numeric(bare_value) || is.logical(bare_value)) && length(bare_value) == 1L) {
      value <- if (is.logical(bare_value)) tolower(bare_value) else format(bare_value, digits = 15L)
    }
    check_text(check_string(value, arg, "a string or a credential"), arg)
  })
}

given_body <- function(body, headers) {
  if (is.null(body)) {
    return(list(kind = "none", value = NULL))
  }
  wanted <- "NULL, raw bytes, one string or a list"
  if (is.object(body)) {
    abort_type(body, "body", wanted)
  }
  if (is.raw(body)) {
    return(list(kind = "raw", value = body))
  }
  if (is.character(body)) {
    return(list(kind = "text", value = check_text(check_string(body, "body", wanted), "body")))
  }
  if (!is.list(body)) {
    abort_type(body, "body", wanted)
  }
  if (is_form(headers)) {
    return(list(kind = "form", value = given_fields(body, "body")))
  }
  list(kind = "json", value = json_tree(body))
}

is_form <- function(headers) {
  at <- which(tolower_ascii(headers$names) == "content-type")
  if (length(at) == 0L || headers$kinds[[at[[1L]]]] != "text") {
    return(FALSE)
  }
  grepl("^application/x-www-form-urlencoded", headers$values[[at[[1L]]]], ignore.case = TRUE)
}

# A list as it crosses: plain vectors, lists, and handles of credentials.
json_tree <- function(x, depth = 0L) {
  if (depth > 100L) {
    abort("value", "`body` is nested too deeply.", argument = "body")
  }
  if (S7::S7_inherits(x, RhoHidden)) {
    return(credential_handle(x, "body"))
  }
  if (is.null(x)) {
    return(NULL)
  }
  what <- "a list of strings, numbers, logical values, lists and credentials"
  # `I()` keeps one value an array.
  array <- inherits(x, "AsIs", which = FALSE)
  if (is.object(x) && !identical(class(x), "AsIs")) {
    abort_type(x, "body", what)
  }
  if (is.list(x)) {
    names <- names(x)
    items <- lapply(seq_along(x), function(index) json_tree(.subset2(x, index), depth + 1L))
    if (is.null(names)) {
      return(items)
    }
    names <- check_strings(names, "body")
    if (!all(nzchar(names)) || anyDuplicated(names)) {
      abort(
        "value",
        "A list in `body` must have names for all of its values or for none, each once.",
        argument = "body"
      )
    }
    names(items) <- names
    return(items)
  }
  x <- bare(x)
  if (is.character(x)) {
    x[!is.na(x)] <- check_strings(x[!is.na(x)], "body")
  } else if (!is.numeric(x) && !is.logical(x)) {
    abort_type(x, "body", what)
  }
  if (array && length(x) == 1L) list(x) else x
}

check_request <- function(request) {
  if (missing(request)) {
    abort_missing("request", "a request made by rho_http_request()")
  }
  if (!S7::S7_inherits(request, RhoHttpRequest)) {
    abort_type(request, "request", "a request made by rho_http_request()")
  }
  check_boundary(core_request_shown(auth_handle(request)))
  request
}

S7::method(format, RhoHttpRequest) <- function(x, ...) {
  known <- tryCatch(check_boundary(core_request_shown(auth_handle(x))), rhocap_error = identity)
  if (inherits(known, "rhocap_error")) {
    return("<RhoHttpRequest>; no longer usable")
  }
  c(
    sprintf("<RhoHttpRequest> %s %s", known$method, known$url),
    paste0("  ", known$headers, recycle0 = TRUE),
    paste0("  body: ", known$body)
  )
}
