# What a model's provider is spoken to with. R holds references; the values are exchanged for them
# at the wire, see exchange.R.

#' @include purpose.R
NULL

#' An auth for a model's provider
#'
#' @description
#' Holds a provider's key for the clients of an agent without showing it. The property `api_key` is
#' a random reference such as `rhocap-ref-...`, and so is every credential among the `headers`. A
#' reference is exchanged for the value at the last step before the wire, by a client that knows
#' how: [rho_secret_http_client()] for Rho, [rho_ellmer_credentials()], [rho_httr2_auth()],
#' [rho_curl_fetch()] and [rho_ncurl()]. Any other client sends the reference, which is of no use to
#' who gets it.
#'
#' Where rho.ai is installed, the value is one of its `RhoModelAuth` too, so Rho's providers take it
#' as it stands.
#'
#' @details
#' A reference is exchanged only for a host that its credential is bound to
#' ([rho_provider_credential()]), over https or wss (over http and ws to this machine itself), and
#' in values of headers; fields of a query or a body are declared with [rho_http_request()].
#' Anywhere else nothing is sent: `rhocap_error_reference`, whose field `code` says why.
#'
#' | `code` | what is wrong |
#' |---|---|
#' | `place` | the reference stands in the URL, the name of a header, or the body |
#' | `host` | the credential is not bound to the URL's host and port |
#' | `insecure` | neither https nor wss, and not this machine |
#' | `url`, `userinfo` | programs could read the URL in two ways; it names a user |
#' | `host_header` | a `Host` header that differs from the URL's host |
#' | `header` | a name or value that would begin another header |
#' | `redirect` | a request of httr2 that follows redirections |
#' | `option` | a request of httr2 with an option of curl that is not known to be harmless |
#'
#' A reference works as long as the auth is there, and in this process: `rhocap_error_stale_handle`.
#'
#' A string under a name that carries credentials (`Authorization`, `x-api-key`, `Cookie` and their
#' like) is taken for one, as by [rho_secret_literal()], and bound to the hosts of `api_key`. It
#' goes with the auth: [rho_forget()] of the auth forgets it, or, once that is gone, of its `id`.
#' The value of a secret that is known, the key or another one, is refused as text anywhere else: in
#' `base_url`, `metadata` and other headers, also encoded.
#'
#' @param api_key A credential, made by [rho_provider_credential()].
#' @param headers Headers for each request: a list with names, of strings, credentials and what
#'   [rho_bearer()] and [rho_basic()] give.
#' @param base_url Where the provider is; `""` for its usual place.
#' @param metadata Facts that go with the auth: a list of plain values. It is no place for secrets.
#' @return A value of class `RhoModelAuth` with the properties `api_key`, `headers`, `base_url`,
#'   `metadata`, `label`, `hosts`, `id` and `handle`.
#' @section Errors:
#' `rhocap_error_header` for a header that cannot be sent, or that two programs could understand in
#' two ways, `rhocap_error_url` for a base URL that is none or names a user, `rhocap_error_value`
#' where the value of a secret stands as text, those of a secret for a header's literal credential,
#' with the warning for a short one, and `rhocap_error_purpose` for a secret that is bound to no
#' hosts; see [rhocap_conditions].
#' @family requests
#' @examples
#' secret <- rho_secret_literal(paste(c("model-", sample(letters, 20)), collapse = ""))
#' key <- rho_provider_credential(secret, hosts = "api.example.org")
#' auth <- rho_model_auth(key, headers = list(`x-version` = "2"))
#' auth
#' @export
rho_model_auth <- function(api_key, headers = list(), base_url = "", metadata = list()) {
  credential <- credential_handle(api_key, "api_key")
  base_url <- check_text(check_string(base_url, "base_url"), "base_url")
  if (!is.list(metadata) || is.object(metadata)) {
    abort_type(metadata, "metadata", "a list of plain values")
  }
  pieces <- pieces_in(metadata, "metadata")
  facts <- check_boundary(
    core_model_auth(credential, given_headers(headers), base_url, pieces)
  )
  warn_short(facts$short)
  facts$headers <- if (length(facts$headers) > 0L) facts$headers else list()
  facts$metadata <- metadata
  stamp(auth_attributes(), facts[auth_properties])
}

#' Header values that hold a credential
#'
#' The forms of a credential in a header: `Bearer <key>`, and `Basic <user and key, encoded>`. They
#' stand in the `headers` of [rho_model_auth()] and [rho_http_request()], beside plain strings and
#' bare credentials, and are shown without the value.
#'
#' @param credential A credential, made by [rho_provider_credential()].
#' @param user The user of HTTP's basic authentication. One string without a colon.
#' @return A value of class `RhoHeaderCredential` with the properties `scheme`, `label`, `hosts`,
#'   `id` and `handle`.
#' @section Errors:
#' `rhocap_error_purpose` for a secret that is bound to no hosts, `rhocap_error_value` for a user
#' with a colon; see [rhocap_conditions].
#' @family requests
#' @examples
#' secret <- rho_secret_literal(paste(c("header-", sample(letters, 20)), collapse = ""))
#' key <- rho_provider_credential(secret, hosts = "api.example.org")
#' rho_bearer(key)
#' rho_basic("ada", key)
#' @export
rho_bearer <- function(credential) {
  new_header_credential(credential_handle(credential, "credential"), "bearer", NULL)
}

#' @rdname rho_bearer
#' @export
rho_basic <- function(user, credential) {
  user <- check_text(check_string(user, "user"), "user")
  new_header_credential(credential_handle(credential, "credential"), "basic", user)
}

#' @rdname rho_model_auth
#' @format NULL
#' @usage NULL
#' @export
RhoModelAuth <- rho_class(
  "RhoModelAuth",
  parent = RhoHidden,
  properties = list(
    api_key = property_string(),
    headers = property_list(list()),
    base_url = property_string(""),
    metadata = property_list(list()),
    label = property_string(),
    hosts = property_strings()
  )
)

#' @rdname rho_bearer
#' @format NULL
#' @usage NULL
#' @export
RhoHeaderCredential <- rho_class(
  "RhoHeaderCredential",
  parent = RhoHidden,
  properties = list(
    scheme = property_string(),
    label = property_string(),
    hosts = property_strings()
  )
)

auth_properties <- c(
  "handle", "id", "api_key", "headers", "base_url", "metadata", "label", "hosts"
)

# The class of an auth: below rho.ai's where that is installed. Its methods are those of
# RhoModelAuth, by the name in the `class` attribute.
auth_attributes <- function() {
  if (!has_rho()) {
    return(class_attributes(RhoModelAuth))
  }
  rho_subclass_attributes(
    "RhoModelAuth",
    rho_package,
    "RhoModelAuth",
    list(
      handle = property_handle(),
      id = property_string(),
      label = property_string(),
      hosts = property_strings()
    )
  )
}

new_header_credential <- function(handle, form, user) {
  facts <- check_boundary(core_header_credential(handle, form, user))
  stamp(class_attributes(RhoHeaderCredential), facts[c("handle", "id", "scheme", "label", "hosts")])
}

credential_wanted <- "a credential made by rho_provider_credential()"

# The handle of a credential.
credential_handle <- function(x, arg) {
  if (missing(x)) {
    abort_missing(arg, credential_wanted)
  }
  if (S7::S7_inherits(x, RhoProviderCredential)) {
    return(hidden_handle(x))
  }
  if (S7::S7_inherits(x, RhoHidden)) {
    abort_purpose(
      x,
      sprintf("`%s` takes rho_provider_credential(secret, hosts = \"api.example.org\").", arg)
    )
  }
  abort_type(x, arg, credential_wanted)
}

# Headers as they cross: names, kinds and values.
given_headers <- function(headers, arg = "headers") {
  values <- named_values(headers, arg)
  kinds <- character(length(values))
  places <- places_in(values, arg)
  wanted <- "a string, a credential or a header value"
  for (index in seq_along(values)) {
    given <- given_value(values[[index]], places[[index]], wanted)
    kinds[[index]] <- given$kind
    values[[index]] <- given$value
  }
  list(names = as.character(names(values)), kinds = kinds, values = unname(values))
}

# A plain list with names, from a list or a character vector.
named_values <- function(x, arg) {
  if (is.null(x)) {
    return(list())
  }
  if ((!is.list(x) && !is.character(x)) || is.object(x)) {
    abort_type(x, arg, "a list with names")
  }
  names <- names(x)
  x <- as.list(x)
  if (length(x) == 0L) {
    return(list())
  }
  if (is.null(names)) {
    abort("value", sprintf("`%s` must have a name for each value.", arg), argument = arg)
  }
  names <- check_strings(names, arg)
  if (!all(nzchar(names))) {
    abort("value", sprintf("`%s` must have a name for each value.", arg), argument = arg)
  }
  attributes(x) <- NULL
  names(x) <- names
  x
}

# What a message calls the items of a list.
places_in <- function(x, arg) {
  names <- names(x)
  if (is.null(names)) {
    return(sprintf("%s[[%d]]", arg, seq_along(x)))
  }
  sprintf("%s$%s", arg, shown(names))
}

# One value of a header or a field.
given_value <- function(x, arg, wanted) {
  if (S7::S7_inherits(x, RhoHeaderCredential)) {
    return(list(kind = "header", value = auth_handle(x)))
  }
  if (S7::S7_inherits(x, RhoHidden)) {
    return(list(kind = "credential", value = credential_handle(x, arg)))
  }
  list(kind = "text", value = check_text(check_string(x, arg, wanted), arg))
}

# All strings and raw vectors in a plain list as a list, names and other attributes included.
pieces_in <- function(x, arg, depth = 0L) {
  if (depth > 50L) {
    abort("value", sprintf("`%s` is nested too deeply.", arg), argument = arg)
  }
  if (is.null(x)) {
    return(list())
  }
  if (!is.atomic(x) && (!is.list(x) || is.object(x))) {
    abort_type(x, arg, "a list of plain values")
  }
  below <- unname(attributes(x))
  if (is.list(x)) {
    below <- c(below, lapply(seq_along(x), function(index) .subset2(x, index)))
  }
  own <- if (is.raw(x)) {
    list(as.raw(bare(x)))
  } else if (is.character(x)) {
    x <- bare(x)
    as.list(check_strings(x[!is.na(x)], arg))
  }
  c(own, unlist(lapply(below, pieces_in, arg, depth + 1L), recursive = FALSE))
}

# The handle of an auth, a header value or a request.
auth_handle <- function(x) attr(x, "handle", exact = TRUE)

# Equality of what stands in this file and in request.R, decided in the core.
auth_equal <- function(one, other) {
  kind <- switch(hidden_class(one),
    RhoModelAuth = "auth",
    RhoHeaderCredential = "header",
    RhoHttpRequest = "request"
  )
  if (is.null(kind)) {
    return(identical(attr(one, "id", exact = TRUE), attr(other, "id", exact = TRUE)))
  }
  same <- check_boundary(core_auth_equal(auth_handle(one), auth_handle(other), kind))
  same && identical(attr(one, "metadata", exact = TRUE), attr(other, "metadata", exact = TRUE))
}

# The words of a label and of hosts, whatever stands there: an object can be forged.
shown_words <- function(x, name) {
  words <- attr(x, name, exact = TRUE)
  plain <- is.character(words) && !is.object(words) && !anyNA(words) && is_utf8(words)
  if (plain) paste(shown(words), collapse = ", ") else "?"
}

S7::method(format, RhoModelAuth) <- function(x, ...) {
  line <- sprintf("<RhoModelAuth> %s, for %s", shown_words(x, "label"), shown_words(x, "hosts"))
  known <- tryCatch(check_boundary(core_auth_shown(auth_handle(x))), rhocap_error = identity)
  if (inherits(known, "rhocap_error")) {
    return(paste0(line, "; no longer usable"))
  }
  metadata <- names(attr(x, "metadata", exact = TRUE))
  c(
    line,
    if (nzchar(known$base_url)) paste0("  base_url: ", known$base_url),
    paste0("  ", known$headers, recycle0 = TRUE),
    if (length(metadata) > 0L) {
      paste0("  metadata: ", paste(shown(plain_text(metadata)), collapse = ", "))
    }
  )
}

S7::method(format, RhoHeaderCredential) <- function(x, ...) {
  line <- sprintf(
    "<RhoHeaderCredential> %s [credential %s], for %s",
    shown_words(x, "scheme"),
    shown_words(x, "label"),
    shown_words(x, "hosts")
  )
  dead <- inherits(
    tryCatch(
      check_boundary(core_auth_equal(auth_handle(x), auth_handle(x), "header")),
      rhocap_error = identity
    ),
    "rhocap_error"
  )
  if (dead) paste0(line, "; no longer usable") else line
}

# Text from anywhere, so that it can be shown.
plain_text <- function(x) {
  x <- as.character(bare(x))
  x[is.na(x) | !vapply(x, is_utf8, NA)] <- "?"
  x
}
