# The last step before the wire: references become values, in arguments of a client's own function.
#
# The functions that hold values (`wire`) prepare that call and make it. None of their frames is
# kept: a function that is made in one is called there and dropped. What they give back holds no
# value, but for httr2_sign(), which has to give httr2 the copy of the request to send. That copy,
# and the handle of curl in curl_send(), hold values until R collects them.

#' @include request.R
NULL

# What goes over the wire for what a client holds. `echo` masks the values in the answer; it is NULL
# when there were none.
exchange <- function(url, headers, body = NULL) {
  headers <- named_values(headers, "headers")
  value_of <- function(value) check_text(check_string(value, "headers"), "headers")
  values <- vapply(headers, value_of, "")
  wire <- check_boundary(core_exchange(
    check_text(check_string(url, "url"), "url"),
    as.character(names(headers)),
    as.character(unname(values)),
    body
  ))
  list(
    url = wire$url,
    headers = stats::setNames(wire$values, wire$names),
    # Text stays text for clients that tell the two apart.
    body = if (is.null(wire$body)) body else if (is.raw(body)) wire$body else as_string(wire$body),
    echo = wire$echo
  )
}

exchange_request <- function(request) {
  exchange(
    attr(request, "url", exact = TRUE),
    attr(request, "headers", exact = TRUE),
    attr(request, "body", exact = TRUE)
  )
}

as_string <- function(bytes) {
  text <- rawToChar(bytes)
  Encoding(text) <- "UTF-8"
  text
}

# An answer without the values that were sent: strings, bytes, and lists of them, with their names.
mask_echo <- function(echo, x) {
  if (is.null(echo)) {
    return(x)
  }
  if (!is.null(attr(x, "names", exact = TRUE)) && !is.object(x)) {
    names(x) <- mask_echo_names(echo, names(x))
  }
  if (is.list(x) && !is.object(x)) {
    for (index in seq_along(x)) {
      if (!is.null(x[[index]])) {
        x[[index]] <- mask_echo(echo, x[[index]])
      }
    }
    return(x)
  }
  if (!is.raw(x) && !is.character(x)) {
    return(x)
  }
  masked <- check_boundary(core_echo_mask(echo, x))
  if (is.null(masked)) {
    return(x)
  }
  attributes(masked) <- attributes(x)
  masked
}

# Names that are masked stay apart, so that each can be asked for. The others stay as they came: an
# answer can have two headers of one name.
mask_echo_names <- function(echo, names) {
  masked <- check_boundary(core_echo_names(echo, names))
  if (is.null(masked)) {
    return(names)
  }
  changed <- which(masked != names)
  names[changed] <- masked[changed]
  apart <- make.unique(c(names[-changed], names[changed]), sep = " ")
  names[changed] <- apart[length(names) - length(changed) + seq_along(changed)]
  names
}

#' The answer to a request
#'
#' What [rho_curl_fetch()] and [rho_ncurl()] give: `RhoHttpResponse` for an answer of any status,
#' `RhoHttpFailure` when there was none. Where the answer holds a credential that was sent, in any
#' common encoding, it is masked: in the body, in values of headers, and, in any case of letters, in
#' names of headers. A second name that becomes the same has a number behind it.
#'
#' @details Properties of `RhoHttpResponse`: `status`, `headers` (a list with names), `data` (one
#' string, or bytes where that was asked for or the answer is no text), `url` (that of the request,
#' with references). Of `RhoHttpFailure`: `message` and `url`.
#'
#' @name rho_http_answers
#' @family requests
NULL

#' @rdname rho_http_answers
#' @format NULL
#' @usage NULL
#' @export
RhoHttpResponse <- rho_class(
  "RhoHttpResponse",
  properties = list(
    status = property_number_or_na(),
    headers = property_list(list()),
    data = S7::new_property(S7::class_any, default = NULL, validator = function(value) NULL),
    url = property_string()
  )
)

#' @rdname rho_http_answers
#' @format NULL
#' @usage NULL
#' @export
RhoHttpFailure <- rho_class(
  "RhoHttpFailure",
  properties = list(
    message = property_string(),
    url = property_string()
  )
)

# The answer as a value. `data` is raw; `wanted` are names of headers, none for all.
new_answer <- function(request, echo, status, headers, data) {
  wanted <- attr(request, "response_headers", exact = TRUE)
  headers <- mask_echo(echo, as.list(headers))
  if (length(wanted) > 0L && length(headers) > 0L) {
    headers <- headers[tolower_ascii(names(headers)) %in% tolower_ascii(wanted)]
  }
  data <- mask_echo(echo, data)
  if (isTRUE(attr(request, "convert", exact = TRUE)) && is.raw(data) && !any(data == 0L)) {
    text <- as_string(data)
    data <- if (validUTF8(text)) text else data
  }
  stamp(class_attributes(RhoHttpResponse), list(
    status = as.integer(status),
    headers = headers,
    data = data,
    url = attr(request, "url", exact = TRUE)
  ))
}

new_failure <- function(request, echo, message) {
  message <- mask_echo(echo, plain_text(message)[1L])
  stamp(class_attributes(RhoHttpFailure), list(
    message = message,
    url = attr(request, "url", exact = TRUE)
  ))
}

S7::method(format, RhoHttpResponse) <- function(x, ...) {
  data <- attr(x, "data", exact = TRUE)
  size <- if (is.character(data)) nchar(data, "bytes") else length(data)
  c(
    sprintf("<RhoHttpResponse> status %s", format(attr(x, "status", exact = TRUE))),
    sprintf("  url: %s", check_boundary(core_shown_url(attr(x, "url", exact = TRUE)))),
    sprintf("  data: %s, %s bytes", typeof(data), format(size, big.mark = ",")),
    sprintf("  headers: %s", paste(shown(plain_text(names(attr(x, "headers")))), collapse = ", "))
  )
}

S7::method(format, RhoHttpFailure) <- function(x, ...) {
  c(
    sprintf("<RhoHttpFailure> %s", shown(trimws(attr(x, "message", exact = TRUE)))),
    sprintf("  url: %s", check_boundary(core_shown_url(attr(x, "url", exact = TRUE))))
  )
}

S7::method(print, RhoHttpResponse) <- print_lines
S7::method(print, RhoHttpFailure) <- print_lines
