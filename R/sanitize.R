# Foreign values without what is secret: conditions, and what is shown of them.

#' A condition without secrets
#'
#' @description
#' Errors of other packages carry what they were called with: the request with its headers, the body
#' of the answer, the calls that led there. `rho_sanitize()` gives the same condition without that:
#'
#' * every text in it is masked as by [rho_redact()]: the message, names, classes, fields, parents,
#'   traces, bodies (raw vectors too), levels of factors, nested lists and S7 or S4 properties;
#' * what stands under a name that says that it is secret (`api_key`, `Authorization`), or beside
#'   one (`list(name = "Authorization", value = ...)`, a row of a data frame or of a matrix), is
#'   masked whole;
#' * what is masked in one place is masked everywhere in the condition, also where nothing but the
#'   other place tells that it is secret;
#' * in calls, also in those of a trace, strings and values put in place of arguments are left out,
#'   since any of them may be a key;
#' * functions keep the names of their arguments and nothing else; environments become empty ones;
#'   pointers become a note.
#'
#' A message of several strings becomes one, with line ends between them. It never fails: of a
#' condition that cannot be looked through, or that a method of its class can say nothing of
#' afterwards, the masked message and the classes are left, without those whose methods need more.
#' Of one with more than 2000 secret values in it the message is left out as well.
#'
#' @param condition A condition of any kind: base R's, rlang's, httr2's, curl's, your own.
#' @return A condition with the same classes (see above for the exception).
#' @section Errors:
#' `rhocap_error_missing`, `rhocap_error_type`, where `condition` is none; see [rhocap_conditions].
#' @section What cannot be made safe:
#' The condition that was given stays as it is, and so do other copies of it: `traceback()`,
#' `geterrmessage()`, `rlang::last_error()` and the frames of functions that are still running. A
#' number is not masked, whatever its name says. Where a client takes a
#' key as a plain string, R code of any package can print, save or `dput()` it. The way out is not
#' to hand it out: a placeholder, which `rho_model_auth()` puts where such a client expects a key.
#' @family redaction
#' @examples
#' key <- paste(sample(letters, 24, TRUE), collapse = "")
#' condition <- structure(
#'   class = c("client_error", "error", "condition"),
#'   list(message = paste("The service said no to", key), call = NULL, api_key = key)
#' )
#' rho_sanitize(condition)
#' @export
rho_sanitize <- function(condition) {
  if (missing(condition)) {
    abort_missing("condition", "a condition")
  }
  if (!inherits(condition, "condition")) {
    abort_type(condition, "condition", "a condition")
  }
  sanitize_condition(condition)
}

sanitize_condition <- function(condition) {
  # What is found in it is masked in each part of it, also where the whole cannot be looked through.
  values <- tryCatch(secret_values(condition), error = function(cnd) character())
  if (length(values) > most_secret_values) {
    return(without_content(condition, NULL, said = FALSE))
  }
  redactor <- tryCatch(redactor_of(values), error = function(cnd) NULL)
  tryCatch(
    {
      safe <- sanitize(one_message(told_in_full(condition)), redactor = redactor)
      check_sanitized(safe, condition, redactor)
      safe
    },
    # Also of a structure that is too deep for R.
    error = function(cnd) without_content(condition, redactor)
  )
}

# rlang's conditions can have functions that make parts of their message. What they make is kept.
told_in_full <- function(condition) {
  parts <- c("header", "body", "footer")
  made <- vapply(parts, function(part) is.function(.subset2(condition, part)), NA)
  if (any(made)) {
    kept <- attributes(condition)
    message <- own_message(condition)
    condition <- bare_list(condition)
    condition[match("message", kept$names)] <- list(paste(message, collapse = "\n"))
    condition[kept$names %in% parts] <- list(NULL)
    attributes(condition) <- kept
  }
  condition
}

# Without the messages of the parents, which stay beside it.
own_message <- function(condition) {
  if (!inherits(condition, "rlang_error") || !isNamespaceLoaded("rlang")) {
    return(conditionMessage(condition))
  }
  getExportedValue("rlang", "cnd_message")(condition, inherit = FALSE)
}

# R signals only conditions whose message is one string. What was told in several is masked as it is
# read: together.
one_message <- function(condition) {
  at <- match("message", names_of(condition))
  message <- if (is.list(condition) && !is.na(at)) .subset2(condition, at)
  if (is.character(message) && length(message) > 1L) {
    kept <- attributes(condition)
    condition <- bare_list(condition)
    condition[[at]] <- in_one(message)
    attributes(condition) <- kept
  }
  condition
}

in_one <- function(texts) paste(bare(texts), collapse = "\n")

# A condition of which only its classes and what it says are left. Methods of its classes may need
# more than that to say anything: such a class is left out.
without_content <- function(condition, redactor, said = TRUE) {
  said <- tryCatch(
    {
      stopifnot(said)
      said <- redact_strings(in_one(conditionMessage(condition)), redactor)
      if (validUTF8(said) && nzchar(said)) said else content_left_out
    },
    error = function(cnd) content_left_out
  )
  classes <- redact_strings(bare(attr(condition, "class", exact = TRUE)), redactor)
  for (from in seq_along(classes)) {
    # S7's own classes are nothing without their object.
    kept <- setdiff(classes[from:length(classes)], "S7_object")
    safe <- structure(class = kept, list(message = said, call = NULL))
    works <- tryCatch(
      identical(conditionMessage(safe), said) && is.null(conditionCall(safe)),
      error = function(cnd) FALSE
    )
    if (works) {
      return(safe)
    }
  }
  structure(class = "condition", list(message = said, call = NULL))
}

content_left_out <- "The condition was left out: rhocap could not look through it for secrets."

# What is to be said of it is made by methods of its class, from what is left: they must work, and
# say nothing secret.
check_sanitized <- function(safe, condition, redactor) {
  said <- conditionMessage(safe)
  stopifnot(is.character(said), length(said) > 0L, !anyNA(said))
  stopifnot(identical(bare(class(safe)), redact_strings(bare(class(condition)), redactor)))
  for (text in c(said, in_one(said))) {
    stopifnot(identical(redact_strings(text, redactor), text))
  }
  conditionCall(safe)
}

# Any value of R without secrets, of the same type and class wherever that can be. With `shown`, it
# is only to be printed: bytes are told by their number.
sanitize <- function(x, shown = FALSE, redactor = NULL) {
  if (missing(redactor)) {
    values <- secret_values(x)
    if (length(values) > most_secret_values) {
      return(note_left_out("a value"))
    }
    redactor <- redactor_of(values)
  }
  state <- new.env(parent = emptyenv())
  state$left <- most_values
  state$shown <- shown
  state$redactor <- redactor
  sanitize_value(x, state)
}

# More parts than that are in no condition that a person reads; the rest becomes a note.
most_values <- 50000

# Making a redactor of more values than that takes seconds.
most_secret_values <- 2000L

note_left_out <- function(what) sprintf("<%s left out by rhocap>", what)

sanitize_value <- function(x, state) {
  state$left <- state$left - 1
  if (state$left < 0) {
    return(note_left_out("the rest"))
  }
  if (is_ours(x)) {
    return(x)
  }
  switch(typeof(x),
    `NULL` = ,
    builtin = ,
    special = x,
    logical = ,
    integer = ,
    double = ,
    complex = with_attributes(bare(x), x, state),
    character = with_attributes(sanitize_strings(x, state), x, state),
    raw = if (state$shown) {
      sprintf("<raw: %d bytes>", length(x))
    } else {
      with_attributes(redact_raw(bare(x), state$redactor), x, state)
    },
    list = with_attributes(sanitize_items(x, state), x, state),
    pairlist = as.pairlist(with_attributes(sanitize_items(as.list(x), state), x, state)),
    expression = as.expression(lapply(x, sanitize_call, state = state)),
    symbol = sanitize_call(x, state),
    language = with_attributes(sanitize_call(x, state), x, state),
    closure = sanitize_function(x, state),
    environment = new.env(parent = emptyenv()),
    S4 = ,
    object = with_attributes(x, x, state),
    note_left_out(typeof(x))
  )
}

# rhocap's own values show no secret, and hold none.
is_ours <- function(x) identical(attr(attr(x, "S7_class", exact = TRUE), "package"), "rhocap")

# Attributes are the properties of S7 objects and the slots of S4 objects. These say what a value
# is; of the others, those of source code hold whole files.
kept_attributes <- c("class", "dim", "tsp", "S7_class", "version", "package")
dropped_attributes <- c("srcref", "srcfile", "wholeSrcref")

with_attributes <- function(value, x, state) {
  given <- attributes(x)
  if (is.null(given)) {
    return(value)
  }
  given <- given[setdiff(names(given), dropped_attributes)]
  masked <- given
  changing <- which(!names(given) %in% kept_attributes)
  if ("S7_class" %in% names(given) && !inherits(given$S7_class, "S7_class")) {
    changing <- c(changing, which(names(given) == "S7_class"))
  }
  safe <- sanitize_items(given[changing], state)
  for (index in seq_along(changing)) {
    masked[changing[[index]]] <- safe[index]
  }
  # What a value is can be named after a secret too.
  for (name in intersect(c("class", "package", "version"), names(given))) {
    if (is.character(given[[name]])) {
      masked[[name]] <- redact_strings(given[[name]], state$redactor)
    }
  }
  if (is.character(masked$levels)) {
    # Levels that became the same are still those of the codes.
    masked$levels <- make.unique(masked$levels, sep = " ")
  }
  if (typeof(x) %in% c("S4", "object")) {
    for (name in names(masked)[changing]) {
      attr(value, name) <- masked[[name]]
    }
  } else {
    attributes(value) <- masked
  }
  value
}

sanitize_strings <- function(x, state) {
  masked <- redact_strings(bare(x), state$redactor)
  secret <- secret_names(names_of(x), length(masked)) | secret_beside_strings(x, state$headers)
  masked[secret & !is.na(masked) & nzchar(masked, keepNA = FALSE)] <- redaction_marker
  masked
}

# The items of a list without its attributes; a name decides about its item, also one that stands
# beside it in a pair.
sanitize_items <- function(x, state) {
  names <- names_of(x)
  items <- bare_list(x)
  secret <- secret_names(names, length(items))
  beside <- secret_beside_items(x, state$headers)
  for (index in seq_along(items)) {
    if (is_missing_argument(items, index)) {
      next
    }
    item <- hide_some(.subset2(items, index), beside[[index]], state)
    if (secret[[index]] && is_plain_text(item)) {
      safe <- hide_all(item, state)
    } else if (is_headers_name(names[index]) && (is.list(item) || is.character(item))) {
      safe <- hide_headers(item, state)
    } else {
      safe <- sanitize_value(item, state)
    }
    items[index] <- list(safe)
  }
  items
}

# R takes a variable that holds it for an argument that was not given.
is_missing_argument <- function(items, index) identical(.subset2(items, index), quote(expr = ))

# Text, bytes, or a plain list of them: what a name that says "secret" can be meant for.
is_plain_text <- function(x) {
  typeof(x) %in% c("character", "raw") || (is.list(x) && !is.object(x)) || is_levelled(x)
}

# A factor, without asking methods.
is_levelled <- function(x) {
  typeof(x) == "integer" && is.character(attr(x, "levels", exact = TRUE))
}

hide_all <- function(x, state) {
  if (is.character(x)) {
    masked <- bare(x)
    masked[!is.na(masked) & nzchar(masked, keepNA = FALSE)] <- redaction_marker
    return(with_attributes(masked, x, state))
  }
  if (is.raw(x)) {
    return(if (state$shown) redaction_marker else charToRaw(redaction_marker))
  }
  if (is_levelled(x)) {
    return(sanitize_value(hide_some(x, rep(TRUE, length(x)), state), state))
  }
  safe <- lapply(bare_list(x), function(item) {
    if (is_plain_text(item)) hide_all(item, state) else sanitize_value(item, state)
  })
  with_attributes(safe, x, state)
}

# Hides the elements for which `places` says so.
hide_some <- function(x, places, state) {
  if (!any(places)) {
    return(x)
  }
  if (is_levelled(x)) {
    levels <- attr(x, "levels", exact = TRUE)
    used <- unique(bare(x)[rep_len(places, length(x))])
    levels[used[!is.na(used) & used > 0L & used <= length(levels)]] <- redaction_marker
    attr(x, "levels") <- make.unique(levels, sep = " ")
    return(x)
  }
  if (!is_plain_text(x)) {
    return(x)
  }
  if (is.raw(x) || all(places)) {
    return(hide_all(x, state))
  }
  kept <- attributes(x)
  x <- bare_list(x)
  x[places] <- if (is.list(x)) {
    lapply(x[places], function(item) if (is_plain_text(item)) hide_all(item, state) else item)
  } else {
    replace(x[places], !is.na(x[places]), redaction_marker)
  }
  attributes(x) <- kept
  x
}

bare_list <- function(x) {
  attributes(x) <- NULL
  x
}

hide_headers <- function(x, state) {
  if (is_header_pairs(x)) {
    before <- state$headers
    on.exit(state$headers <- before)
    state$headers <- TRUE
    return(sanitize_value(x, state))
  }
  safe <- if (is.list(x)) sanitize_items(x, state) else sanitize_strings(x, state)
  for (index in which(!harmless_headers(tolower_ascii(names_of(x))))) {
    item <- .subset2(safe, index)
    if (is.character(item)) {
      item[!is.na(item) & nzchar(item, keepNA = FALSE)] <- redaction_marker
      safe[[index]] <- item
    }
  }
  with_attributes(safe, x, state)
}

# A call as it can be told: its functions, names, numbers. A string in it may be any argument.
sanitize_call <- function(x, state) {
  state$left <- state$left - 1
  if (state$left < 0) {
    return(note_left_out("the rest"))
  }
  switch(typeof(x),
    symbol = as.name(redact_strings(as.character(x), state$redactor)),
    language = {
      tags <- names_of(x)
      safe <- as.call(sanitize_parts(bare_list(as.list(unclass(x))), state))
      if (!is.null(tags)) {
        names(safe) <- redact_strings(tags, state$redactor)
      }
      safe
    },
    pairlist = as.pairlist(sanitize_parts(as.list(x), state)),
    character = if (length(x) == 1L && !is.object(x)) {
      if (is.na(x) || !nzchar(x)) bare(x) else redaction_marker
    } else {
      note_left_out("a character vector")
    },
    `NULL` = NULL,
    logical = ,
    integer = ,
    double = ,
    complex = if (is.null(attributes(x))) x else note_left_out("a value"),
    builtin = ,
    special = x,
    closure = as.name("<function>"),
    note_left_out(typeof(x))
  )
}

sanitize_parts <- function(items, state) {
  for (index in seq_along(items)) {
    if (!is_missing_argument(items, index)) {
      items[index] <- list(sanitize_call(.subset2(items, index), state))
    }
  }
  items
}

# A function of the same arguments. Its body, defaults and environment can hold anything.
sanitize_function <- function(x, state) {
  names <- names(formals(x))
  arguments <- rep(list(quote(expr = )), length(names))
  names(arguments) <- redact_strings(as.character(names), state$redactor)
  as.function(c(arguments, list(NULL)), envir = baseenv())
}
