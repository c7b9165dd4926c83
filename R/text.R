# Text as it is compared, masked and shown: what R's own functions do not do to any text, or do in
# another way in each locale.

# Letters of ASCII in lower case, whatever else there is. tolower() stops at bytes that are no text
# and asks the locale, in which `I` may have another small letter.
tolower_ascii <- function(x) {
  # Names that are not there are NULL.
  x <- as.character(x)
  text <- which(validUTF8(x) & Encoding(x) != "bytes")
  x[text] <- chartr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", x[text])
  x
}

# Text of a file system or of a caller as it may be shown: one line, nothing that misleads.
shown <- function(x) check_boundary(core_shown(as.character(x), FALSE))

# The same for lines of a text, in which tabs and backslashes stand for themselves.
shown_text <- function(x) check_boundary(core_shown(as.character(x), TRUE))

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
