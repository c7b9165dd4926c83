# Writing text.

#' @include outcome.R
NULL

#' Write a text file
#'
#' Writes text byte for byte: no line ending is added. The file is replaced as a whole, so a reader
#' sees the old content or the new one, and an interrupted call leaves the old. Permissions and
#' owner are kept. A symbolic link is written through when its target is allowed, and stays a link.
#'
#' @inheritParams rho_read
#' @param text One string, or a raw vector for bytes that are not text.
#' @param append Whether to add to the end instead of replacing.
#' @param create_parents Whether missing directories of `path` are made. Without it the outcome is
#'   [RhoFailed] with the code `NotFound`.
#' @param expected What the file must be, so that a change by somebody else is not overwritten: a
#'   `version` (of [RhoText], [RhoWritten] or [RhoEdited]) or such a value itself; `"absent"` for a
#'   file that must not exist yet; `NULL` for no condition. Otherwise the outcome is [RhoFailed]
#'   with the code `LostUpdate` or `AlreadyExists`. A [RhoText] that is only a part of the file (cut
#'   at `limit`, or some of its `lines`) is an error of class `rhocap_error_value`, because the rest
#'   would be lost; give its `version` where you mean that. Appending, and [rho_edit()], keep the
#'   rest and take it.
#' @return [RhoDenied], [RhoFailed], or a value of class `RhoWritten` with the properties
#' \describe{
#'   \item{`path`}{the path below its root, escaped}
#'   \item{`bytes`}{bytes of the file now}
#'   \item{`created`}{whether the file is new}
#'   \item{`version`}{the version of the content}
#'   \item{`lost`}{names of attributes that could not be kept}
#'   \item{`receipt`}{a [RhoReceipt]}
#' }
#' @inheritSection rho_read Errors
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' capability <- rho_host_capability(write = project, cwd = project)
#' written <- rho_write(capability, "a.txt", "one\n")
#' written
#' writeLines("changed by somebody else", file.path(project, "a.txt"))
#' rho_write(capability, "a.txt", "two\n", expected = written)
#' @export
rho_write <- function(
  capability,
  path,
  text,
  append = FALSE,
  create_parents = FALSE,
  expected = NULL
) {
  append <- check_flag(append, "append")
  as_outcome(core_write(
    capability_handle(capability),
    "rho_write",
    "user",
    check_path(path),
    check_content(text, "text"),
    append,
    check_flag(create_parents, "create_parents"),
    if (append) check_expected(expected) else check_expected_whole(expected)
  ))
}

#' @rdname rho_write
#' @format NULL
#' @usage NULL
#' @export
RhoWritten <- rho_class(
  "RhoWritten",
  parent = RhoResult,
  properties = list(
    path = property_string(""),
    bytes = property_number(0),
    created = property_flag(FALSE),
    version = property_string(""),
    lost = property_strings(character())
  )
)

check_content <- function(x, arg) {
  wanted <- "one string; join lines with paste(lines, collapse = \"\\n\")"
  if (missing(x)) {
    abort_missing(arg, wanted)
  }
  if (is.raw(x)) {
    return(x)
  }
  check_string(x, arg, wanted)
}

check_expected <- function(expected) {
  if (is.null(expected)) {
    return(NULL)
  }
  if (S7::S7_inherits(expected, RhoText) || S7::S7_inherits(expected, RhoWritten) ||
    S7::S7_inherits(expected, RhoEdited)) {
    return(expected@version)
  }
  wanted <- "a version, a value that has one, or \"absent\""
  check_string(expected, "expected", wanted, empty = FALSE)
}

# Who read a part of a file and writes it back loses the rest.
check_expected_whole <- function(expected) {
  if (S7::S7_inherits(expected, RhoText) && !is_whole(expected)) {
    abort(
      "value",
      sprintf(
        paste(
          "`expected` is only a part of the file (%s of %s), and writing replaces all of it.",
          "Read all with rho_read(limit = Inf), or change a part with rho_edit().",
          "To replace the file on purpose give expected = x@version."
        ),
        bytes_words(expected@bytes),
        bytes_words(expected@total_bytes)
      ),
      argument = "expected"
    )
  }
  check_expected(expected)
}

S7::method(format, RhoWritten) <- function(x, ...) {
  c(
    sprintf(
      "<RhoWritten> %s (%s, %s)",
      shown_again(x@path),
      bytes_words(x@bytes),
      if (x@created) "created" else "replaced"
    ),
    lost_words(x@lost)
  )
}

lost_words <- function(lost) {
  if (length(lost) > 0L) sprintf("not kept: %s", paste(shown(lost), collapse = ", "))
}
