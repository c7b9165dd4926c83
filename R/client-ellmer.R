# Credentials for chats of ellmer.

#' @include client-httr2.R
NULL

#' Credentials for ellmer
#'
#' A function for the argument `credentials` of ellmer's chats. It holds the auth only: printed,
#' saved or called it does not give the key. The key is put in when ellmer's request is sent, as by
#' [rho_httr2_auth()], into the header that the provider wants. What that refuses, a chat with it
#' cannot do either, such as redirections and a proxy for a plain http URL.
#'
#' @section What is not masked:
#' The answer is ellmer's. What a provider sends back of the key, as some do in the message of a
#' refusal, is in the chat's turns and in the condition: `rho_with_redaction(chat$chat(...))` masks
#' the condition and what is printed, and [rho_redact()] masks text.
#'
#' @param auth A [rho_model_auth()], a credential made by [rho_provider_credential()], or what
#'   [rho_basic()] or [rho_bearer()] gives. It must be bound to the provider's host.
#' @return A function without arguments, for `credentials`.
#' @section Errors:
#' `rhocap_error_missing`, `rhocap_error_type`, `rhocap_error_purpose`; when a chat sends, those of
#' [rho_httr2_auth()].
#' @family requests
#' @examples
#' secret <- rho_secret_literal(paste(c("ellmer-", sample(letters, 20)), collapse = ""))
#' key <- rho_provider_credential(secret, hosts = "api.openai.com")
#' credentials <- rho_ellmer_credentials(key)
#' if (requireNamespace("ellmer", quietly = TRUE)) {
#'   ellmer::chat_openai(credentials = credentials, model = "any")
#' }
#' @export
rho_ellmer_credentials <- function(auth) {
  if (missing(auth)) {
    abort_missing("auth", "made by rho_model_auth() or rho_provider_credential()")
  }
  if (!S7::S7_inherits(auth, RhoHidden) || S7::S7_inherits(auth, RhoHttpRequest)) {
    abort_type(auth, "auth", auth_wanted)
  }
  if (identical(hidden_class(auth), "RhoSecret") || identical(hidden_class(auth), "RhoEnvSecret")) {
    credential_handle(auth, "auth")
  }
  # ellmer calls what this gives with its request, since 0.4.0.
  function() function(req) ellmer_sign(req, auth)
}

# Which header a provider wants, ellmer's own function has in `key_name`.
ellmer_sign <- function(req, auth) {
  header <- "Authorization"
  ellmer <- asNamespace("ellmer")
  for (index in rev(seq_len(sys.nframe()))) {
    if (!identical(topenv(environment(sys.function(index))), ellmer)) {
      next
    }
    name <- get0("key_name", sys.frame(index), inherits = FALSE)
    if (is.character(name) && length(name) == 1L && !is.na(name)) {
      header <- name
      break
    }
  }
  rho_httr2_auth(req, auth, header = header)
}
