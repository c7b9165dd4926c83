#' A typed host capability for the tools of an agent
#'
#' @description
#' An agent's tools should do what you decided, and nothing else. You make one value, the
#' *capability*, that says which directories may be read and written, what commands see, and whether
#' there are any. Verbs and tools take that value; what it does not name is refused before anything
#' happens, and every call leaves a receipt.
#'
#' @section Where to find what:
#' 1. **Make a capability.** [rho_project_capability()] for one project directory,
#'    [rho_host_capability()] for more control, [rho_narrow()] for less of one that there is. What
#'    it is made of: [rho_deny_defaults()], [rho_environment()], [rho_process_none()],
#'    [rho_network_none()], [rho_placement_local()], [rho_limits()]. What this machine can enforce:
#'    [rho_host_report()].
#' 2. **Use it.** [rho_read()], [rho_write()], [rho_edit()], [rho_list()], [rho_move()],
#'    [rho_remove()], [rho_bash()]; [rho_admit()] keeps a decision for one later call.
#' 3. **Look at what came of it.** A call gives a typed value, also when it was refused:
#'    [rho_is_ok()], [rho_unwrap()], [rho_codes()]. Mistakes in your own call are conditions:
#'    [rhocap_conditions].
#' 4. **Look at what was done.** [rho_receipts()] and [rho_receipt()].
#' 5. **Keep secrets.** [rho_secret_env()] and its siblings make one; [rho_provider_credential()]
#'    and [rho_env_secret()] say what it is for; [rho_reveal()] shows it, [rho_forget()] ends it.
#' 6. **Send it, unseen.** [rho_model_auth()], [rho_http_request()], [rho_bearer()], [rho_basic()];
#'    [rho_secret_http_client()], [rho_ellmer_credentials()], [rho_httr2_auth()],
#'    [rho_curl_fetch()], [rho_ncurl()].
#' 7. **Give it to an agent.** [rho_capability_tools()], or one tool at a time with
#'    [rho_tool_read()] and its siblings.
#'
#' `vignette("rhocap")` is a tour; in the sources it is `vignettes/rhocap.Rmd`.
#'
#' @section Two things to know first:
#' [rho_read()] gives the first 50 KiB of a file unless you say `limit = Inf`.
#'
#' Before R 4.3 the operator `@` does not reach S7 values, so rhocap exports S7's there, and
#' `library(rhocap)` says that base's `@` is masked. That is meant, and changes nothing for S4.
#'
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' writeLines("hello", file.path(project, "a.txt"))
#' capability <- rho_project_capability(project, process = rho_process_none())
#' rho_read(capability, "a.txt")
#' rho_read(capability, "../elsewhere.txt")
#' @name rhocap-package
#' @aliases rhocap
#' @docType package
#' @keywords internal
NULL
