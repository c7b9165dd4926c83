# Editing text: an exact replacement.

#' @include outcome.R
NULL

#' Replace text in a file
#'
#' Replaces `old` by `new`, exactly, as often as it must occur. The file is written as by
#' [rho_write()]; when the count differs, nothing is written.
#'
#' @inheritParams rho_write
#' @param old,new One string each. `old` is not a pattern, and not empty.
#' @param count How often `old` must occur, without overlap. Another number gives [RhoFailed] with
#'   the code `CountMismatch`. In a file whose lines end in CRLF, `old` must have them too.
#' @param expected The version that the file must have, see [rho_write()], or a value that has it. A
#'   text that is only a part of the file will do: the rest of the file is kept.
#' @return [RhoDenied], [RhoFailed], or a value of class `RhoEdited` with the properties
#' \describe{
#'   \item{`path`}{the path below its root, escaped}
#'   \item{`bytes`}{bytes of the file now}
#'   \item{`replaced`}{how many places were replaced}
#'   \item{`diff`}{a unified diff, one string}
#'   \item{`truncated_diff`}{whether the diff was cut}
#'   \item{`version`}{the version of the content}
#'   \item{`lost`}{names of attributes that could not be kept}
#'   \item{`receipt`}{a [RhoReceipt]}
#' }
#' @inheritSection rho_read Errors
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' writeLines(c("x <- 1", "y <- 2"), file.path(project, "a.R"))
#' capability <- rho_host_capability(write = project, cwd = project)
#' rho_edit(capability, "a.R", old = "x <- 1", new = "x <- 10")
#' @export
rho_edit <- function(capability, path, old, new, count = 1L, expected = NULL) {
  as_outcome(core_edit(
    capability_handle(capability),
    "rho_edit",
    "user",
    check_path(path),
    check_string(old, "old", "one string that is not empty", empty = FALSE),
    check_string(new, "new"),
    check_number(count, "count", least = 1),
    check_expected(expected)
  ))
}

#' @rdname rho_edit
#' @format NULL
#' @usage NULL
#' @export
RhoEdited <- rho_class(
  "RhoEdited",
  parent = RhoResult,
  properties = list(
    path = property_string(""),
    bytes = property_number(0),
    replaced = property_number(0),
    diff = property_string(""),
    truncated_diff = property_flag(FALSE),
    version = property_string(""),
    lost = property_strings(character())
  )
)

S7::method(format, RhoEdited) <- function(x, ...) {
  diff <- first_lines(x@diff, 40L)
  c(
    sprintf(
      "<RhoEdited> %s (%s %s replaced, %s now)",
      shown_again(x@path),
      digits(x@replaced),
      if (x@replaced == 1) "place" else "places",
      bytes_words(x@bytes)
    ),
    if (length(diff) > 0L) paste0("  ", diff),
    lost_words(x@lost)
  )
}
