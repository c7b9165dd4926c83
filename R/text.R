# Text as it is compared and shown: what R's own functions do not do to any text, or do in
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
