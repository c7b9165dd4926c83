# Commands. This version only answers; running them comes with the process policies.

#' Run a bash command
#'
#' @description
#' Answers [RhoDenied] with the code `ProcessNone` when the capability allows no processes. Where it
#' allows them, this version of rhocap answers [RhoFailed] with the code `NotAvailable`: it does not
#' run commands yet. Either way there is a receipt.
#'
#' Unrestricted bash has the full authority of the R process's user.
#'
#' @inheritParams rho_read
#' @param command One string.
#' @param timeout Seconds, or `NULL` for the capability's limit.
#' @param stdin One string for the command's standard input, or `NULL` for none.
#' @param on_output A function that is given each piece of output, or `NULL`.
#' @param spill Whether output beyond the limit is kept in a file.
#' @param ... For `rho_bash_async()`: the other arguments of `rho_bash()`.
#' @return `rho_bash()`: [RhoDenied] or [RhoFailed]. `rho_bash_async()`: a promise of the same,
#'   which needs the package promises.
#' @inheritSection rho_read Errors
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' capability <- rho_host_capability(read = project, cwd = project)
#' rho_bash(capability, "ls")
#' @export
rho_bash <- function(
  capability,
  command,
  timeout = NULL,
  stdin = NULL,
  on_output = NULL,
  spill = FALSE
) {
  if (!is.null(timeout)) {
    check_number(timeout, "timeout", least = 0.001, most = 10^9, whole = FALSE, infinite = TRUE)
  }
  if (!is.null(stdin)) {
    check_content(stdin, "stdin")
  }
  if (!is.null(on_output) && !is.function(on_output)) {
    abort_type(on_output, "on_output", "a function or NULL")
  }
  check_flag(spill, "spill")
  as_outcome(core_bash(
    capability_handle(capability),
    "rho_bash",
    "user",
    check_string(command, "command", "one string that is not empty", empty = FALSE)
  ))
}

#' @rdname rho_bash
#' @export
rho_bash_async <- function(capability, command, ...) {
  check_package("promises", "rho_bash_async()")
  check_named(list(...), c("timeout", "stdin", "on_output", "spill"))
  promises::promise_resolve(rho_bash(capability, command, ...))
}
