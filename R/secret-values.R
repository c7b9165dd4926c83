# The secret values in a foreign value.

# The texts in a value, and in the environments that it leads to, that are secret: because a name
# says so, or because, within a text, they have the shape of a secret or stand after a name.
secret_values <- function(x) {
  state <- new.env(parent = emptyenv())
  state$left <- most_values
  state$seen <- list()
  state$values <- growing_list()
  state$texts <- growing_list()
  state$bytes <- most_text_bytes
  collect_values(x, state)
  unique(c(all_of(state$values), found_in(unique(all_of(state$texts)))))
}

# A list to which much is added one by one: a chain, because c() and a place in an environment copy
# all of it each time.
growing_list <- function() {
  growing <- new.env(parent = emptyenv())
  growing$size <- 0L
  growing
}

add_to <- function(growing, item) {
  growing$size <- growing$size + 1L
  growing$last <- list(item, growing$last)
}

# The texts in it, in their order.
all_of <- function(growing) {
  items <- vector("list", growing$size)
  link <- growing$last
  for (index in rev(seq_along(items))) {
    items[index] <- link[1L]
    link <- link[[2L]]
  }
  as.character(unlist(items))
}

# More text than that is looked through for what is in it, but not for what it says of other texts.
most_text_bytes <- 2^24

note_texts <- function(texts, state) {
  if (is.raw(texts)) {
    texts <- rawToChar(texts[texts != 0L])
    Encoding(texts) <- "bytes"
  }
  state$bytes <- state$bytes - sum(nchar(texts, "bytes", allowNA = TRUE, keepNA = FALSE))
  if (state$bytes >= 0) {
    add_to(state$texts, texts)
  }
}

found_in <- function(texts) {
  found <- lapply(batches(texts), function(batch) check_boundary(core_redact_found(texts[batch])))
  found <- as.character(unlist(found))
  found[!grepl(redaction_marker, found, fixed = TRUE, useBytes = TRUE)]
}

collect_values <- function(x, state) {
  state$left <- state$left - 1
  if (state$left < 0 || is_ours(x)) {
    return(invisible())
  }
  if (is.environment(x)) {
    collect_environment(x, state)
  } else if (typeof(x) == "closure") {
    collect_environment(environment(x), state)
  } else if (typeof(x) == "language") {
    collect_items(as.list(unclass(x)), state)
  } else if (is.list(x)) {
    collect_items(x, state)
  } else if (is.character(x)) {
    secret <- secret_names(names_of(x), length(x)) | secret_beside_strings(x, state$headers)
    keep_values(bare(x)[secret], state)
    note_texts(bare(x), state)
  } else if (is.raw(x)) {
    note_texts(bare(x), state)
  }
  given <- attributes(x)
  for (name in c("names", "class")) {
    if (is.character(given[[name]])) note_texts(bare(given[[name]]), state)
  }
  changing <- setdiff(names(given), c(kept_attributes, dropped_attributes, "names"))
  if (length(changing) > 0L) {
    collect_items(given[changing], state)
  }
}

collect_items <- function(x, state) {
  names <- names_of(x)
  beside <- secret_beside_items(x, state$headers)
  x <- bare_list(x)
  secret <- secret_names(names, length(x))
  for (index in seq_along(x)) {
    if (is_missing_argument(x, index)) {
      next
    }
    item <- .subset2(x, index)
    if (any(beside[[index]])) {
      keep_values(texts_within(item)[rep_len(beside[[index]], length(texts_within(item)))], state)
    }
    if (secret[[index]] && is_plain_text(item)) {
      keep_values(texts_within(item), state)
    } else if (is_headers_name(names[index]) && !is.null(item)) {
      collect_headers(item, state)
    }
    if (typeof(item) %in% c("character", "raw") || !is.atomic(item) || !is.null(attributes(item))) {
      collect_values(item, state)
    }
  }
}

collect_headers <- function(x, state) {
  before <- state$headers
  on.exit(state$headers <- before)
  if (is_header_pairs(x)) {
    state$headers <- TRUE
    collect_values(x, state)
  } else {
    keep_values(texts_within(bare_list(x)[!harmless_headers(tolower_ascii(names_of(x)))]), state)
  }
}

# All texts of a vector or a plain list.
texts_within <- function(x) {
  if (is.list(x)) {
    as.character(unlist(lapply(bare_list(x), texts_within)))
  } else if (is.raw(x)) {
    rawToChar(x[x != 0L])
  } else {
    as.character(texts_of(x))
  }
}

most_environments <- 500

# Without evaluating anything: a promise is seen as its expression, an active binding not at all.
collect_environment <- function(env, state) {
  if (
    is.null(env) || isNamespace(env) || environmentName(env) %in% c("R_GlobalEnv", "base") ||
      !is.null(attr(env, "name")) || length(state$seen) > most_environments ||
      any(vapply(state$seen, identical, NA, env))
  ) {
    return(invisible())
  }
  state$seen <- c(state$seen, list(env))
  for (name in ls(envir = env, all.names = TRUE, sorted = FALSE)) {
    if (!bindingIsActive(name, env)) {
      value <- eval(call("substitute", as.name(name), env))
      collect_items(structure(list(value), names = name), state)
    }
  }
}

# A header's value is a scheme and the key itself.
keep_values <- function(values, state) {
  if (!is.character(values)) {
    return(invisible())
  }
  values <- values[!is.na(values) & nzchar(values) & !values %in% redaction_marker]
  add_to(state$values, c(values, sub("^.*[[:space:]]", "", values, useBytes = TRUE)))
}
