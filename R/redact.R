# Text without what is secret: the core's redactor on R's strings and bytes.

#' Text without secrets
#'
#' @description
#' `rho_redact()` gives a text in which `"[redacted by rhocap]"` stands for every secret: for the
#' values that rhocap holds or has held in this session, in all forms in which programs commonly
#' write them (section Forms); for
#' values of R's initial environment whose names say that they are secret; for what has the shape of
#' a common access token; and for what stands after a name such as `Authorization` or `password=`
#' and looks made by chance.
#'
#' After a name of an assignment, values of fewer than 8 bytes stay, and so do words, sentences,
#' numbers in code, names of variables, calls, paths and placeholders: `password=swordfish` is as
#' likely a text about passwords. The credentials of an `Authorization` header are masked whatever
#' they look like, and an identifier (a UUID) after such a name is, because it may be a key. A
#' password that is a word is masked where rhocap knows it: make it a secret, see
#' [rho_secret_env()].
#'
#' What is encrypted, compressed or transformed in another way cannot be found, nor a part of a
#' value, nor one that rhocap was never given and that looks like ordinary text.
#'
#' The elements of a vector are read as the lines of one text as well, so that what `readLines()` or
#' `utils::capture.output()` gave may hold a value over several of them: in each its part is masked.
#' A vector of more than 16 MB is read in parts of that size: a value over the elements at the end
#' of one and the start of the next is not found.
#'
#' The name of an element counts as a name before it: `c(password = "...")` is masked as
#' `password=...` is. Names, names of dimensions and other attributes are masked as the text is,
#' where they are character vectors or lists of them. Of a factor the levels are masked; those that
#' become the same are one level afterwards.
#'
#' @param text A character vector or a factor. For the strings of a list:
#'   `rapply(x, rho_redact, "character", how = "replace")`, which leaves its names as they are.
#' @return `text` with its attributes; `NA` stays. Elements without a secret are the same strings as
#'   before. What was masked is UTF-8 where it was text, and otherwise keeps the encoding mark that
#'   it had.
#' @section Forms:
#' A value of 8 and more bytes is found
#' - as it is, in lower and upper case (from 16 bytes), in Latin-1, UTF-16 and, when it is
#'   ASCII, UTF-32;
#' - in base64 and base64url at any place within what was encoded, also of its UTF-16;
#' - in hexadecimal with `:`, `-` or nothing between, and `\\x`, `0x` or `%` before; in decimal
#'   and octal;
#' - percent-encoded, quoted-printable, escaped for JSON, HTML, shells, R, C and Python;
#' - all of these wrapped and spread: with white space, commas, quotation marks, backslashes,
#'   written line ends, control sequences or characters that do not show anywhere within;
#' - in dumps of `xxd`, `hexdump` and `od`, where what stands beside the numbers is masked too, in
#'   R's print of a vector, and in lines that were numbered, quoted or commented out;
#' - each line of 8 and more bytes of a value of several lines by itself.
#'
#' Not found are base32 and binary digits, dumps with several rows for the same bytes
#' (`od -tx1 -c`), pieces with other text between them, and lines of a value that hold no letters
#' and digits beside each other (settings, words), when they stand alone.
#'
#' One of 4 to 7 bytes is found as it is, as a word.
#' @section Errors:
#' `rhocap_error_missing`, `rhocap_error_type`; see [rhocap_conditions].
#' @family redaction
#' @examples
#' rho_redact(c(a = "ordinary text", b = NA))
#' # Made here, so that no file holds something that looks like a token:
#' token <- paste0("ghp", "_", paste(sample(c(letters, 0:9), 36, TRUE), collapse = ""))
#' rho_redact(paste("The token is", token))
#' @export
rho_redact <- function(text) {
  if (missing(text)) {
    abort_missing("text", "a character vector")
  }
  if (is_levelled(text)) {
    text <- redact_levels(text)
  } else if (is.character(bare(text))) {
    text <- redact_named(text)
  } else {
    wanted <- "a character vector or a factor"
    if (inherits(text, "condition")) {
      wanted <- paste(wanted, "(for a condition there is rho_sanitize())")
    } else if (is.list(text)) {
      each <- "(for a list: rapply(x, rho_redact, \"character\", how = \"replace\"))"
      wanted <- paste(wanted, each)
    }
    abort_type(text, "text", wanted)
  }
  redact_attributes(text)
}

# Levels that become the same are one, as `levels<-` makes them. A foreign class's method must not
# run.
redact_levels <- function(x) {
  levels <- attr(x, "levels", exact = TRUE)
  masked <- redact_strings(bare(levels))
  if (identical(masked, bare(levels))) {
    return(x)
  }
  kept <- attributes(x)
  kept$levels <- unique(masked)
  codes <- bare(x)
  known <- which(codes > 0L & codes <= length(levels))
  codes[known] <- match(masked, kept$levels)[codes[known]]
  attributes(codes) <- kept
  codes
}

# A name and its element are masked as one text is in which they stand beside each other.
redact_named <- function(text) {
  masked <- redact_strings(text)
  names <- attr(text, "names", exact = TRUE)
  given <- bare(text)
  beside <- which(secret_names(names, length(given)) & !is.na(given))
  if (length(beside) > 0L) {
    before <- paste0(names[beside], ": ")
    lines <- redact_strings(paste0(before, given[beside]))
    # What was masked in the name itself is no matter here.
    known <- startsWith(lines, before)
    rest <- substring(lines[known], nchar(before[known]) + 1L)
    changed <- which(rest != given[beside[known]])
    values <- bare(masked)
    values[beside[known][changed]] <- rest[changed]
    attributes(values) <- attributes(masked)
    masked <- values
  }
  masked
}

redact_attributes <- function(x) {
  for (name in setdiff(names(attributes(x)), c("class", "levels", "dim", "tsp"))) {
    value <- attr(x, name, exact = TRUE)
    safe <- redact_within(value)
    if (!identical(safe, value)) {
      attr(x, name) <- safe
    }
  }
  x
}

redact_within <- function(x) {
  if (is.character(x) && !is.object(x)) {
    redact_attributes(redact_named(x))
  } else if (is.list(x) && !is.object(x)) {
    x[] <- lapply(x, redact_within)
    redact_attributes(x)
  } else {
    x
  }
}

# `redactor` knows more values than the process does, see `redactor_of()`.
redact_strings <- function(text, redactor = NULL) {
  plain <- bare(text)
  asked <- plain
  latin1 <- which(Encoding(plain) == "latin1")
  asked[latin1] <- vapply(plain[latin1], as_utf8, "", USE.NAMES = FALSE)
  changed <- FALSE
  for (batch in batches(asked)) {
    found <- check_boundary(core_redact(asked[batch], redactor))
    if (!is.null(found)) {
      plain[batch[found$places]] <- found$texts
      changed <- TRUE
    }
  }
  if (!changed) {
    return(text)
  }
  attributes(plain) <- attributes(text)
  plain
}

# The places of a vector, in parts that one call of the core masks well below 100 ms: between two
# calls R looks whether the user wants to stop.
batches <- function(text) {
  sizes <- nchar(text, "bytes", allowNA = TRUE, keepNA = FALSE)
  if (sum(sizes) <= batch_bytes) {
    return(list(seq_along(text)))
  }
  split(seq_along(text), cumsum(as.double(sizes)) %/% batch_bytes)
}

batch_bytes <- 2^24

redact_raw <- function(bytes, redactor = NULL) {
  masked <- check_boundary(core_redact_bytes(bytes, redactor))
  if (is.null(masked)) bytes else masked
}

# The core's marker, where it stands for a whole value.
redaction_marker <- "[redacted by rhocap]"

# A redactor that also knows values found in a foreign object.
redactor_of <- function(values) {
  if (length(values) == 0L) NULL else check_boundary(core_redactor(values))
}
