# Removing files and empty directories.

#' @include outcome.R
NULL

#' Remove a file or an empty directory
#'
#' Removes a file, a symbolic link (the link itself, not what it leads to) or an empty directory. A
#' root itself, `.` and paths that end in `..` are refused. A directory that is not empty gives
#' [RhoFailed] with the code `NotEmpty`.
#'
#' @inheritParams rho_read
#' @param path One path, as for [rho_read()], or a [RhoAdmitted] handle for writing that was
#'   admitted through no symbolic link.
#' @return [RhoDenied], [RhoFailed], or a value of class `RhoRemoved` with the properties `path`
#'   (below its root, escaped), `kind` (what it was: `file`, `directory`, `symlink` or another) and
#'   `receipt`.
#' @inheritSection rho_read Errors
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' writeLines("hello", file.path(project, "a.txt"))
#' capability <- rho_host_capability(write = project, cwd = project)
#' rho_remove(capability, "a.txt")
#' @export
rho_remove <- function(capability, path) {
  as_outcome(core_remove(
    capability_handle(capability),
    "rho_remove",
    "user",
    check_path(path)
  ))
}

#' @rdname rho_remove
#' @format NULL
#' @usage NULL
#' @export
RhoRemoved <- rho_class(
  "RhoRemoved",
  parent = RhoResult,
  properties = list(path = property_string(""), kind = property_string("file"))
)

S7::method(format, RhoRemoved) <- function(x, ...) {
  sprintf("<RhoRemoved> %s (%s)", shown_again(x@path), x@kind)
}
