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
#' [rho_forget()] of the request forgets it, or, once the request is gone, of its `id`.
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
#'   sent as the string that it is. In JSON one value is that value, or with `I()` an array of one;
#'   several are an array, a list with names is an object, and `NA` is `null`. `NaN`, `Inf`,
#'   matrices and vectors with names are refused.
#' @param timeout_ms How long the request may take, in milliseconds.
#' @param response_headers Names of headers of the answer that are wanted; none are named for all.
#' @param convert Whether the answer is text. With `FALSE` its bytes are kept.
#' @param auth Who sends it: a [rho_model_auth()], whose key becomes `Authorization: Bearer` beside
#'   its own headers, a credential, which becomes the same, or what [rho_bearer()] or [rho_basic()]
#'   gives. `headers` take the place of headers of the same name.
#' @param query Fields to add to the URL: a list with names, of strings, numbers, flags and
#'   credentials. Numbers and flags are written as in JSON, as `100000` and `true`, here and in a
#'   form; dates and other classes are refused: format them first. A credential is better in a
#'   header: URLs stand in the logs of servers.
#' @return A value of class `RhoHttpRequest` with the properties `method`, `url`, `headers`, `body`,
#'   `timeout_ms`, `response_headers`, `convert`, `id` and `handle`.
#' @section Errors:
#' `rhocap_error_value` for an unknown method, for a field or a part of a body that cannot be
#' written, and where the value of a secret stands as text, `rhocap_error_type`,
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

# Fields of a query or a form, each a string, a number, a flag or the handle of a credential.
given_fields <- function(x, arg) {
  fields <- named_values(x, arg)
  places <- places_in(fields, arg)
  for (index in seq_along(fields)) {
    fields[[index]] <- given_field(fields[[index]], places[[index]])
  }
  fields
}

# Numbers and flags cross as they are: the core writes them as it does in JSON, not as options of R
# say.
given_field <- function(x, arg) {
  if (S7::S7_inherits(x, RhoHidden)) {
    return(credential_handle(x, arg))
  }
  wanted <- "one string, number, TRUE, FALSE or a credential"
  if (is.object(x) && !is.character(x)) {
    abort_type(x, arg, wanted)
  }
  if (!(is.numeric(x) || is.logical(x)) || length(x) != 1L) {
    return(check_text(check_string(x, arg, wanted), arg))
  }
  if (!is.finite(x)) {
    what <- if (is.nan(x) || !is.na(x)) "no finite number" else "NA"
    abort("value", sprintf("`%s` is %s. It must be %s.", arg, what, wanted), argument = arg)
  }
  bare(x)
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
json_tree <- function(x, arg = "body", depth = 0L) {
  if (depth > 100L) {
    abort("value", "`body` is nested too deeply.", argument = "body")
  }
  if (S7::S7_inherits(x, RhoHidden)) {
    return(credential_handle(x, arg))
  }
  if (is.null(x)) {
    return(NULL)
  }
  what <- "a list of strings, numbers, logical values, lists and credentials"
  # `I()` keeps one value an array.
  array <- inherits(x, "AsIs", which = FALSE)
  if (is.object(x) && !identical(class(x), "AsIs")) {
    abort_type(x, arg, what)
  }
  check_json_form(x, arg)
  if (is.list(x)) {
    names <- names(x)
    if (!is.null(names)) {
      names <- check_strings(names, "body")
    }
    places <- places_in(x, arg)
    items <- lapply(seq_along(x), function(index) {
      json_tree(.subset2(x, index), places[[index]], depth + 1L)
    })
    if (is.null(names)) {
      return(items)
    }
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
    x[!is.na(x)] <- check_strings(x[!is.na(x)], arg)
  } else if (!is.numeric(x) && !is.logical(x)) {
    abort_type(x, arg, what)
  } else if (any(is.nan(x) | is.infinite(x))) {
    abort(
      "value",
      sprintf("`%s` holds NaN or Inf, for which JSON has no word. Give NA for null.", arg),
      argument = arg
    )
  }
  if (array && length(x) == 1L) list(x) else x
}

# JSON has arrays without names and no matrices: what would be lost is refused.
check_json_form <- function(x, arg) {
  if (!is.null(dim(x))) {
    abort(
      "value",
      sprintf("`%s` is a matrix or an array. Give a list of its rows.", arg),
      argument = arg
    )
  }
  if (is.atomic(x) && length(x) > 1L && !is.null(names(x))) {
    abort(
      "value",
      sprintf(
        "`%s` is a vector with names. Give as.list() of it for an object, unname() for an array.",
        arg
      ),
      argument = arg
    )
  }
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
