# What stands beside a name that says that it is secret, or that it is a header.

is_headers_name <- function(name) {
  length(name) == 1L && !is.na(name) && tolower_ascii(name) %in% c("headers", "header")
}

# Any header may be one that carries a key; these do not.
harmless_headers <- function(names) check_boundary(core_harmless_headers(bare(names)))

# Whether headers are given as pairs of names and values, and not by their names.
is_header_pairs <- function(x) {
  names <- tolower_ascii(names_of(x))
  is_frame(x) || length(names) == 0L || all(names %in% c(words_of_names, words_of_values))
}

# What the two parts of a pair are called.
words_of_names <- c("name", "key", "header", "field", "param", "parameter", "variable", "option")
words_of_values <- c("value", "values", "val", "content", "contents", "data", "text")

is_frame <- function(x) is.list(x) && "data.frame" %in% attr(x, "class", exact = TRUE)

# Which of some texts are names that say that what stands beside them is secret. Among headers those
# are all but the harmless ones.
says_secret <- function(texts, headers = FALSE) {
  says <- logical(length(texts))
  texts <- sub("[[:space:]]*:?[[:space:]]*$", "", texts, useBytes = TRUE)
  names <- grep("^[A-Za-z0-9._-]{1,64}$", texts, useBytes = TRUE)
  says[names] <- secret_names(texts[names])
  if (isTRUE(headers)) {
    says[names] <- says[names] | !harmless_headers(texts[names])
  }
  says
}

# The texts of a vector, NULL for what has none.
texts_of <- function(x) {
  if (is.character(x)) {
    bare(x)
  } else if (is_levelled(x)) {
    attr(x, "levels", exact = TRUE)[bare(x)]
  }
}

# For each item of a list, which of its elements are secret by what stands beside them: in the same
# row of a data frame, or in a pair `list(name =, value =)`.
secret_beside_items <- function(x, headers = FALSE) {
  marks <- vector("list", length(x))
  items <- bare_list(x)
  names <- tolower_ascii(names_of(x))
  named <- names %in% words_of_names
  if (is_frame(x) && !any(named)) {
    # Any of its columns may be that of the names.
    named <- rep(TRUE, length(items))
  }
  valued <- if (is_frame(x)) rep(TRUE, length(items)) else names %in% words_of_values
  if (length(names) == 0L && length(items) == 2L) {
    # A pair without names.
    named <- c(TRUE, FALSE)
    valued <- c(FALSE, TRUE)
  }
  named <- which(rep_len(named, length(items)))
  if (is_frame(x)) {
    rows <- attr(x, "row.names", exact = TRUE)
    marks <- mark_beside(marks, items, 0L, if (is.character(rows)) says_secret(rows, headers))
  }
  for (index in named) {
    if (is_missing_argument(items, index)) {
      next
    }
    texts <- texts_of(.subset2(items, index))
    if (length(texts) > 0L && (length(names) > 0L || length(texts) == 1L)) {
      marks <- mark_beside(marks, items, index, says_secret(texts, headers), valued)
    }
  }
  marks
}

mark_beside <- function(marks, items, at, says, valued = TRUE) {
  if (any(says)) {
    for (index in setdiff(which(rep_len(valued, length(items))), at)) {
      size <- length(bare_list(.subset2(items, index)))
      if (length(says) == 1L || length(says) == size) {
        before <- if (is.null(marks[[index]])) FALSE else marks[[index]]
        marks[[index]] <- rep_len(says, size) | before
      }
    }
  }
  marks
}

# The same for strings: in a row of a matrix, a column of one of two rows, or a pair.
secret_beside_strings <- function(x, headers = FALSE) {
  marks <- logical(length(x))
  dim <- attr(x, "dim", exact = TRUE)
  if (length(dim) != 2L) {
    # Two strings may be a pair or a list of names: what would be masked in one text is a pair.
    if (length(x) == 2L && is.null(names_of(x)) && says_secret(bare(x)[1L], headers)) {
      line <- paste(bare(x), collapse = ": ")
      marks[[2L]] <- !identical(redact_strings(line), line)
    }
    return(marks)
  }
  says <- matrix(says_secret(bare(x), headers), dim[1L], dim[2L])
  labels <- lapply(attr(x, "dimnames", exact = TRUE), says_secret, headers = headers)
  # Without labels of its rows or columns, none of these says anything.
  labelled <- function(index) if (any(unlist(labels[index]))) labels[[index]] else FALSE
  rows <- rowSums(says) > 0 | labelled(1L)
  columns <- if (dim[1L] == 2L) colSums(says) > 0 else logical(dim[2L])
  columns <- columns | labelled(2L)
  as.vector((row(says) %in% which(rows) | col(says) %in% which(columns)) & !says)
}

# Methods of foreign classes must not run: what they do is not ours.
names_of <- function(x) attr(x, "names", exact = TRUE)

secret_names <- function(names, size = length(names)) {
  if (is.null(names)) {
    return(logical(size))
  }
  check_boundary(core_secret_names(bare(names)))
}
