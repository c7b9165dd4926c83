# What a secret is for. Neither purpose is accepted where the other belongs.

#' @include secret.R
NULL

#' A credential for a provider
#'
#' Binds a secret to the hosts that it may be sent to. It is what an authorisation takes; the
#' environment of commands does not take it, and neither does it take its value, compared in Rust:
#' as a secret, as a literal or inherited by its name, alone, within another value or encoded
#' (base64, hexadecimal and their like). That holds in both orders, while both are alive, an entry
#' as long as a capability with it: `rhocap_error_purpose`. Where commands are meant to have it too,
#' say so with `rho_env_secret(secret, shared = TRUE)`. What [rho_environment_inherited()] inherits
#' beside its entries is meant.
#'
#' @param secret A value made by [rho_secret_env()] or a sibling. Its value has no line ending or
#'   other control character, which no header can carry.
#' @param hosts Host names such as `"api.example.org"`, each with a port where it is not the
#'   scheme's own (`"localhost:8080"`), or `"*.example.org"` for every host below a domain. Names in
#'   ASCII (`xn--...`), addresses as `"127.0.0.1"` or `"[::1]"`; no scheme and no path.
#' @return A value of class `RhoProviderCredential` with the properties `id`, `label` and `source`
#'   of the secret, `hosts` and `handle`.
#' @section Errors:
#' `rhocap_error_hosts` for what is no host, `rhocap_error_credential` for a value that no header
#' can carry, and `rhocap_error_purpose` where an environment has the value or the argument is no
#' secret itself; see [rhocap_conditions].
#' @family secrets
#' @examples
#' secret <- rho_secret_literal(paste(c("provider-", sample(letters, 20)), collapse = ""))
#' rho_provider_credential(secret, hosts = "api.example.org")
#' @export
rho_provider_credential <- function(secret, hosts) {
  handle <- purpose_handle(secret, "rho_provider_credential()")
  hosts <- check_strings(hosts, "hosts", none = "Name the hosts that it may be sent to.")
  facts <- check_boundary(once_collected(function() core_provider_credential(handle, hosts)))
  hidden_from(RhoProviderCredential, facts, c("id", "label", "source", "hosts"))
}

#' A secret for the environment of commands
#'
#' What an entry of [rho_environment()] takes: commands of the capability get the value in their
#' environment, and only the name and the kind `secret` stand in print, digest and receipts. What a
#' command prints of it is masked, and stays so until [rho_forget()].
#'
#' A value that is a provider's credential, or holds one, also encoded, is refused
#' (`rhocap_error_purpose`): a command that a model wrote could read it and use it.
#'
#' @param secret A value made by [rho_secret_env()] or a sibling.
#' @param shared Whether the value may be a provider's credential as well.
#' @return A value of class `RhoEnvSecret` with the properties `id`, `label` and `source` of the
#'   secret, `shared` and `handle`.
#' @section Errors:
#' `rhocap_error_purpose` where a provider's credential is, or is held by, the value, or where the
#' argument is no secret itself; see [rhocap_conditions].
#' @family secrets
#' @examples
#' secret <- rho_secret_literal(paste(c("entry-", sample(letters, 20)), collapse = ""))
#' rho_environment(DATABASE_KEY = rho_env_secret(secret))
#' @export
rho_env_secret <- function(secret, shared = FALSE) {
  handle <- purpose_handle(secret, "rho_env_secret()")
  shared <- check_flag(shared, "shared")
  facts <- check_boundary(once_collected(function() core_env_secret(handle, shared)))
  hidden_from(RhoEnvSecret, facts, c("id", "label", "source", "shared"))
}

#' @rdname rho_provider_credential
#' @format NULL
#' @usage NULL
#' @export
RhoProviderCredential <- rho_class(
  "RhoProviderCredential",
  parent = RhoHidden,
  properties = list(
    label = property_string(),
    source = property_string(),
    hosts = property_strings()
  )
)

#' @rdname rho_env_secret
#' @format NULL
#' @usage NULL
#' @export
RhoEnvSecret <- rho_class(
  "RhoEnvSecret",
  parent = RhoHidden,
  properties = list(
    label = property_string(),
    source = property_string(),
    shared = property_flag(FALSE)
  )
)

# The handle of a secret without a purpose yet.
purpose_handle <- function(secret, maker) {
  if (missing(secret)) {
    abort_missing("secret", hidden_wanted)
  }
  if (S7::S7_inherits(secret, RhoHidden) && !S7::S7_inherits(secret, RhoSecret)) {
    abort_purpose(secret, sprintf("%s takes the secret itself, from which it was made.", maker))
  }
  if (!S7::S7_inherits(secret, RhoSecret)) {
    abort_type(secret, "secret", hidden_wanted)
  }
  hidden_handle(secret)
}

# What was given up still counts until R collects it, so a refusal is told only when it stands after
# that.
once_collected <- function(make) {
  made <- make()
  refused <- is.list(made) && identical(names(made)[1L], "rhocap_misuse")
  if (refused && identical(made[[1L]], "purpose")) {
    gc()
    made <- make()
  }
  made
}

abort_purpose <- function(given, instead) {
  abort("purpose", sprintf("A %s does not belong here. %s", hidden_class(given), instead))
}

S7::method(format, RhoProviderCredential) <- function(x, ...) {
  hosts <- attr(x, "hosts", exact = TRUE)
  hidden_line(x, sprintf(", for %s", paste(shown(hosts), collapse = ", ")))
}

S7::method(format, RhoEnvSecret) <- function(x, ...) {
  shared <- isTRUE(attr(x, "shared", exact = TRUE))
  hidden_line(x, if (shared) ", shared with a provider")
}
