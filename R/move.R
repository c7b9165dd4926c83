# Moving files and directories.

#' @include outcome.R
NULL

#' Move or rename
#'
#' Moves a file, directory or symbolic link. A link is moved itself, not what it leads to. Both
#' places must be writable, and on one file system.
#'
#' @inheritParams rho_read
#' @param from One path, or a [RhoAdmitted] handle for writing that was admitted through no symbolic
#'   link.
#' @param to One path: the new name, not the directory to move into.
#' @param overwrite Whether an existing file at `to` is replaced. Otherwise the outcome is
#'   [RhoFailed] with the code `AlreadyExists`.
#' @return [RhoDenied], [RhoFailed], or a value of class `RhoMoved` with the properties `from` and
#'   `to` (below their roots, escaped), `replaced` (whether something at `to` was replaced) and
#'   `receipt`.
#' @inheritSection rho_read Errors
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' writeLines("hello", file.path(project, "a.txt"))
#' capability <- rho_host_capability(write = project, cwd = project)
#' rho_move(capability, "a.txt", "b.txt")
#' @export
rho_move <- function(capability, from, to, overwrite = FALSE) {
  as_outcome(core_move(
    capability_handle(capability),
    "rho_move",
    "user",
    check_path(from, "from"),
    check_path(to, "to", admitted = FALSE),
    check_flag(overwrite, "overwrite")
  ))
}

#' @rdname rho_move
#' @format NULL
#' @usage NULL
#' @export
RhoMoved <- rho_class(
  "RhoMoved",
  parent = RhoResult,
  properties = list(
    from = property_string(""),
    to = property_string(""),
    replaced = property_flag(FALSE)
  )
)

S7::method(format, RhoMoved) <- function(x, ...) {
  sprintf(
    "<RhoMoved> %s -> %s%s",
    shown_again(x@from),
    shown_again(x@to),
    if (x@replaced) " (replaced what was there)" else ""
  )
}
