# Admission: the decision about a path, kept as an open handle.

#' @include outcome.R
NULL

#' Admit a path
#'
#' Decides about a path now and keeps the decision as an open handle. A verb given the handle
#' instead of a path works on what was admitted, whatever happens to the name meanwhile. A handle is
#' accepted once.
#'
#' @inheritParams rho_read
#' @param access What the handle is for: `"read"`, `"write"` or `"list"`.
#' @return [RhoDenied], [RhoFailed], or a value of class `RhoAdmitted` with the properties
#' \describe{
#'   \item{`path`}{the path below its root, escaped}
#'   \item{`access`}{`"read"`, `"write"` or `"list"`}
#'   \item{`kind`}{`"file"` or `"directory"`, or `"absent"` for a file that is to be created}
#'   \item{`id`}{a random, public name of the admission}
#'   \item{`receipt`}{a [RhoReceipt]}
#' }
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' writeLines("hello", file.path(project, "a.txt"))
#' capability <- rho_host_capability(read = project, cwd = project)
#' admitted <- rho_admit(capability, "a.txt")
#' file.rename(file.path(project, "a.txt"), file.path(project, "b.txt"))
#' rho_read(capability, admitted)
#' @export
rho_admit <- function(capability, path, access = c("read", "write", "list")) {
  handle <- capability_handle(capability)
  path <- check_path(path, admitted = FALSE)
  access <- check_choice(access, "access", c("read", "write", "list"))
  as_outcome(core_admit(handle, "rho_admit", "user", path, access))
}

#' @rdname rho_admit
#' @format NULL
#' @usage NULL
#' @export
RhoAdmitted <- rho_class(
  "RhoAdmitted",
  parent = RhoResult,
  properties = list(
    handle = property_handle(),
    id = property_string(""),
    path = property_string(""),
    access = property_string("read"),
    kind = property_string("file")
  )
)

S7::method(format, RhoAdmitted) <- function(x, ...) {
  used <- tryCatch(
    check_boundary(core_admission_used(attr(x, "handle", exact = TRUE))),
    rhocap_error = identity
  )
  if (inherits(used, "rhocap_error")) {
    return(c("<RhoAdmitted> no longer usable", conditionMessage(used)))
  }
  c(
    sprintf("<RhoAdmitted> %s, to %s", shown_again(x@path), x@access),
    sprintf("%s; a handle for one call of a verb%s", x@kind, if (used) ", used" else "")
  )
}
