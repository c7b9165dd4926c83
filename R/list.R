# Listing directories.

#' @include outcome.R
NULL

#' List a directory
#'
#' Lists what is in a directory, without following symbolic links. Entries that a carve-out denies
#' are shown with its word, not hidden, and never entered.
#'
#' @inheritParams rho_read
#' @param recursive Whether directories below are listed too.
#' @return [RhoDenied], [RhoFailed], or a value of class `RhoListing` with the properties
#' \describe{
#'   \item{`path`}{the directory below its root, escaped}
#'   \item{`entries`}{a data frame, one row an entry, sorted by path: `path` (relative to the
#'     directory; escaped where a name is not UTF-8), `kind` (`file`, `directory`, `symlink`,
#'     `fifo`, `socket`, `device`, `other`), `bytes` (`NA` where reading is denied), `modified`
#'     (POSIXct, UTC), `carve_out` (`deny`, `protect` or `NA`), `mount` (whether another file system
#'     starts there), `raw` (a list: the bytes of a path that is not UTF-8, otherwise `NULL`)}
#'   \item{`truncated`}{whether names are missing: there are more than the capability's `entries`,
#'     or directories lie more than 128 deep or cannot be read}
#'   \item{`receipt`}{a [RhoReceipt]}
#' }
#' @inheritSection rho_read Errors
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(file.path(project, "R"), recursive = TRUE)
#' writeLines("x <- 1", file.path(project, "R", "a.R"))
#' capability <- rho_host_capability(read = project, cwd = project)
#' rho_list(capability, recursive = TRUE)
#' @export
rho_list <- function(capability, path = ".", recursive = FALSE) {
  as_outcome(core_list(
    capability_handle(capability),
    "rho_list",
    "user",
    check_path(path),
    check_flag(recursive, "recursive")
  ))
}

# Nothing yet, or the columns of the entries.
property_columns <- function() {
  S7::new_property(
    S7::class_list,
    default = list(),
    validator = function(value) {
      types <- c(
        path = "character",
        kind = "character",
        bytes = "double",
        modified = "double",
        carve_out = "character",
        mount = "logical"
      )
      if (!is.list(value) || is.object(value)) {
        return("must be a list")
      }
      found <- vapply(value[names(types)], typeof, "")
      if (length(value) > 0L && !(identical(unname(found), unname(types)) &&
        length(unique(lengths(value))) == 1L)) {
        "must be the columns that rho_list() gives"
      }
    }
  )
}

#' @rdname rho_list
#' @format NULL
#' @usage NULL
#' @export
RhoListing <- rho_class(
  "RhoListing",
  parent = RhoResult,
  properties = list(
    path = property_string(""),
    # Columns cross the boundary as they are; the data frame is made when it is asked for.
    columns = property_columns(),
    entries = S7::new_property(
      S7::class_data.frame,
      getter = function(self) listing_frame(attr(self, "columns", exact = TRUE))
    ),
    truncated = property_flag(FALSE)
  )
)

listing_frame <- function(columns) {
  paths <- as.character(columns$path)
  frame <- data.frame(
    path = paths,
    kind = as.character(columns$kind),
    bytes = as.double(columns$bytes),
    modified = as.POSIXct(as.double(columns$modified), origin = "1970-01-01", tz = "UTC"),
    carve_out = as.character(columns$carve_out),
    mount = as.logical(columns$mount)
  )
  frame$raw <- if (is.null(columns$raw)) vector("list", length(paths)) else columns$raw
  frame
}

S7::method(format, RhoListing) <- function(x, ...) {
  entries <- x@entries
  size <- nrow(entries)
  top <- utils::head(entries, 30L)
  c(
    sprintf(
      "<RhoListing> %s (%s %s%s)",
      shown_again(x@path),
      size,
      if (size == 1L) "entry" else "entries",
      if (x@truncated) ", cut at the capability's limit" else ""
    ),
    if (size > 0L) paste0("  ", entry_lines(top)),
    if (size > 30L) sprintf("  ... and %d more", size - 30L)
  )
}

# One line an entry: size, name, and what is special about it.
entry_lines <- function(entries) {
  names <- entry_names(entries)
  notes <- entry_notes(entries)
  known <- entries$kind == "file" & !is.na(entries$bytes)
  sizes <- ifelse(known, format(entries$bytes, big.mark = ",", trim = TRUE), "")
  trimws(paste0(formatC(sizes, width = max(nchar(sizes), 0L)), "  ", names, notes), "right")
}

entry_names <- function(entries) {
  # Escaped already where a name is not UTF-8; escaping twice would show another name.
  representable <- vapply(entries$raw, is.null, NA)
  names <- entries$path
  names[representable] <- shown(names[representable])
  paste0(names, ifelse(entries$kind == "directory", "/", ""))
}

entry_notes <- function(entries) {
  notes <- Map(
    function(kind, carve_out, mount) {
      words <- c(
        if (!kind %in% c("file", "directory")) kind,
        switch(if (is.na(carve_out)) "" else carve_out,
          deny = "denied",
          protect = "protected"
        ),
        if (isTRUE(mount)) "other file system"
      )
      if (length(words) > 0L) sprintf(" (%s)", paste(words, collapse = ", ")) else ""
    },
    entries$kind,
    entries$carve_out,
    entries$mount
  )
  as.character(unlist(notes, use.names = FALSE))
}
