# Reading text.

#' @include outcome.R
NULL

#' Read a text file
#'
#' Reads a file that the capability allows, byte for byte: no line ending is added or dropped. The
#' size is checked before memory is taken.
#'
#' **Only the first 50 KiB are given unless you say more**: a longer file gives a text whose
#' property `truncated` is `TRUE`, and [rho_unwrap()] of it warns. `limit = Inf` reads all.
#'
#' A file that is not valid UTF-8, or holds a NUL byte, gives [RhoFailed] with the code `NotText`:
#' there is no way to read binary files (`.rds`, `.xlsx`, images) or text in latin1 with rhocap.
#' What an agent should see of them, write as UTF-8 text with R's own functions first.
#'
#' @param capability A capability, from [rho_host_capability()].
#' @param path One path: a string, a raw vector for a name that is not UTF-8, or a [RhoAdmitted]
#'   handle. Relative paths start at the capability's `cwd`. Nothing is expanded or trimmed: `~` is
#'   a name.
#' @param lines Lines to read, counted from 1: `c(first, last)`, one number, or a range such as
#'   `10:20`. `Inf` as the last means up to the end. `NULL`: from the start.
#' @param limit Most bytes of text to give; the cut is between characters. `NULL`: 51,200 (50 KiB),
#'   as much as a model reads with profit. `Inf`: as much as the capability's `read_bytes` allows.
#' @return [RhoDenied], [RhoFailed], or a value of class `RhoText` with the properties
#' \describe{
#'   \item{`text`}{one string in UTF-8}
#'   \item{`bytes`, `lines`}{bytes and lines of `text`}
#'   \item{`total_bytes`, `total_lines`}{of the file}
#'   \item{`first_line`, `first_byte`}{the number of the line in which `text` starts, and where in
#'     it, in bytes; both from 1}
#'   \item{`truncated`}{whether text was left out because of `limit`}
#'   \item{`version`}{the version of the whole file, for `expected` of [rho_write()] and
#'     [rho_edit()]; empty where something was masked}
#'   \item{`masked`}{how many places of the file were masked, because they hold a secret}
#'   \item{`path`}{the path below its root, escaped}
#'   \item{`receipt`}{a [RhoReceipt]}
#' }
#' It is no string: `x@text` or `rho_unwrap(x)` is, for `strsplit()`, `cat()` or
#' `read.csv(text = )`.
#' @section Errors:
#' Mistakes such as two paths or `NA` are conditions, see [rhocap_conditions]. A path, text or
#' command that is not valid text in its declared encoding is no mistake of the program: it gives
#' [RhoFailed] with the code `InvalidEncoding`. Strings marked as latin1 are converted.
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' writeLines(c("one", "two", "three"), file.path(project, "a.txt"))
#' capability <- rho_host_capability(read = project, cwd = project)
#' rho_read(capability, "a.txt")
#' rho_read(capability, "a.txt", lines = c(2, Inf))@text
#' rho_unwrap(rho_read(capability, "a.txt", limit = Inf))
#' rho_read(capability, "../outside.txt")
#' @export
rho_read <- function(capability, path, lines = NULL, limit = NULL) {
  as_outcome(core_read(
    capability_handle(capability),
    "rho_read",
    "user",
    check_path(path),
    if (!is.null(lines)) check_lines(lines),
    0,
    if (!is.null(limit)) check_number(limit, "limit", infinite = TRUE)
  ))
}

#' @rdname rho_read
#' @format NULL
#' @usage NULL
#' @export
RhoText <- rho_class(
  "RhoText",
  parent = RhoResult,
  properties = list(
    text = property_string(),
    path = property_string(""),
    bytes = property_number(0),
    lines = property_number(0),
    total_bytes = property_number(0),
    total_lines = property_number(0),
    first_line = property_number(1),
    first_byte = property_number(1),
    truncated = property_flag(FALSE),
    version = property_string(""),
    masked = property_number(0)
  )
)

check_lines <- function(lines) {
  wanted <- "c(first, last), or a range such as 10:20, counted from 1"
  if (is.object(lines) || !is.numeric(lines) || length(lines) == 0L) {
    abort_type(lines, "lines", wanted)
  }
  size <- length(lines)
  first <- as.double(lines[[1L]])
  last <- as.double(lines[[size]])
  ends <- c(first, last)
  right <- !anyNA(ends) && first >= 1 && first <= 2^53 && last >= first && all(ends == trunc(ends))
  # A range is given by its ends; a long one is not looked through, because 1:1e9 takes no memory
  # until it is.
  if (right && size > 2L) {
    right <- size <= 1e6 && last - first == size - 1 && all(diff(as.double(lines)) == 1)
  }
  if (!right) {
    abort("value", sprintf("`lines` must be %s.", wanted), argument = "lines")
  }
  ends
}

# Whether a text is all of its file.
is_whole <- function(x) !x@truncated && x@bytes >= x@total_bytes

S7::method(format, RhoText) <- function(x, ...) {
  size <- bytes_words(x@bytes)
  what <- if (is_whole(x)) {
    sprintf("%s, %s", size, count_words(x@lines, "line"))
  } else {
    sprintf("%s of %s, from line %s", size, bytes_words(x@total_bytes), digits(x@first_line))
  }
  first <- first_lines(x@text, 10L)
  rest <- attr(first, "cut")
  c(
    sprintf("<RhoText> %s (%s%s)", shown_again(x@path), what, if (x@truncated) ", cut" else ""),
    if (length(first) > 0L) paste0("  ", first),
    if (rest) "# This is the start; rho_unwrap() gives the text.",
    if (x@truncated) {
      sprintf("# Cut at %s: rho_read(limit = Inf) reads on to the end.", size)
    }
  )
}

# The first lines of a text as they may be shown, without splitting all of a long one. What is left
# out, of a line or at the end, has dots.
first_lines <- function(text, count) {
  head <- substr(text, 1L, (shown_width + 1L) * count)
  lines <- strsplit(head, "\n", fixed = TRUE)[[1L]]
  more <- length(lines) > count || nchar(head) < nchar(text)
  lines <- lines[seq_len(min(count, length(lines)))]
  structure(c(narrow_lines(lines), if (more) "..."), cut = more || any(nchar(lines) > shown_width))
}

# The lines at both ends, with what lies between counted as far as it was kept: of a command the
# end says most.
end_lines <- function(text, count, whole) {
  lines <- strsplit(text, "\n", fixed = TRUE)[[1L]]
  between <- length(lines) - 2L * count
  cut <- between > 0L
  kept <- if (cut) c(utils::head(lines, count), utils::tail(lines, count)) else lines
  shown <- narrow_lines(kept)
  if (cut) {
    more <- if (whole) "more" else "more, and what was not kept"
    shown <- append(shown, sprintf("... %s %s ...", count_words(between, "line"), more), count)
  }
  structure(shown, cut = cut || any(nchar(kept) > shown_width))
}

shown_width <- 100L

narrow_lines <- function(lines) {
  dots <- ifelse(nchar(lines) > shown_width, "...", "")
  paste0(shown_text(substr(lines, 1L, shown_width)), dots, recycle0 = TRUE)
}

count_words <- function(count, what) {
  plural <- if (endsWith(what, "s")) "es" else "s"
  sprintf("%s %s%s", digits(count), what, if (count == 1) "" else plural)
}

# Paths in results are escaped by the core already.
shown_again <- function(path) if (nzchar(path)) path else "."
