# Foreign values without what is secret: conditions, and what is shown of them.

#' A condition without secrets
#'
#' @description
#' Errors of other packages carry what they were called with: the request with its headers, the body
#' of the answer, the calls that led there. `rho_sanitize()` gives the same condition without that:
#'
#' * every text in it is masked as by [rho_redact()]: the message, names, fields, parents, traces,
#'   bodies (raw vectors too), nested lists and S7 or S4 properties;
#' * what stands under a name that says that it is secret (`api_key`, `Authorization`) is masked
#'   whole, and also where it appears elsewhere in the condition;
#' * in calls, also in those of a trace, strings and values put in place of arguments are left out,
#'   since any of them may be a key;
#' * functions keep the names of their arguments and nothing else; environments become empty ones;
#'   pointers become a note.
#'
#' It never fails: a condition that cannot be looked through becomes one with the same classes and
#' no content.
#'
#' @param condition A condition of any kind: base R's, rlang's, httr2's, curl's, your own.
#' @return A condition with the same classes.
#' @section Errors:
#' `rhocap_error_missing`, `rhocap_error_type`, where `condition` is none; see [rhocap_conditions].
#' @section What cannot be made safe:
#' The condition that was given stays as it is, and so do other copies of it: `traceback()`,
#' `rlang::last_error()` and the frames of functions that are still running. Where a client takes a
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
  tryCatch(
    {
      safe <- sanitize(told_in_full(condition))
      check_sanitized(safe, condition)
      safe
    },
    # Also of a structure that is too deep for R.
    error = function(cnd) without_content(condition)
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

without_content <- function(condition) {
  structure(
    class = attr(condition, "class", exact = TRUE),
    list(
      message = "The condition was left out: rhocap could not look through it for secrets.",
      call = NULL
    )
  )
}

# What is to be said of it is made by methods of its class, from what is left: they must work, and
# say nothing secret.
check_sanitized <- function(safe, condition) {
  said <- conditionMessage(safe)
  stopifnot(is.character(said), identical(class(safe), class(condition)))
  stopifnot(identical(redact_strings(said), said))
}

# Any value of R without secrets, of the same type and class wherever that can be. With `shown`, it
# is only to be printed: bytes are told by their number.
sanitize <- function(x, shown = FALSE) {
  state <- new.env(parent = emptyenv())
  state$left <- most_values
  state$shown <- shown
  state$redactor <- redactor_of(secret_values(x))
  sanitize_value(x, state)
}

# More parts than that are in no condition that a person reads; the rest becomes a note.
most_values <- 50000

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
    closure = sanitize_function(x),
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
  secret <- secret_names(names_of(x), length(masked))
  masked[secret & !is.na(masked) & nzchar(masked, keepNA = FALSE)] <- redaction_marker
  masked
}

# The items of a list without its attributes; a name decides about its item.
sanitize_items <- function(x, state) {
  names <- names_of(x)
  items <- bare_list(x)
  secret <- secret_names(names, length(items))
  for (index in seq_along(items)) {
    if (is_missing_argument(items, index)) {
      next
    }
    item <- .subset2(items, index)
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
  typeof(x) %in% c("character", "raw") || (is.list(x) && !is.object(x))
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
  safe <- lapply(bare_list(x), function(item) {
    if (is_plain_text(item)) hide_all(item, state) else sanitize_value(item, state)
  })
  with_attributes(safe, x, state)
}

bare_list <- function(x) {
  attributes(x) <- NULL
  x
}

# Any header may be one that carries a key; these do not.
is_headers_name <- function(name) {
  length(name) == 1L && !is.na(name) && tolower(name) %in% c("headers", "header")
}

harmless_headers <- function(names) check_boundary(core_harmless_headers(bare(names)))

hide_headers <- function(x, state) {
  names <- names_of(x)
  safe <- if (is.list(x)) sanitize_items(x, state) else sanitize_strings(x, state)
  for (index in which(!harmless_headers(names))) {
    item <- .subset2(safe, index)
    if (is.character(item)) {
      item[!is.na(item) & nzchar(item, keepNA = FALSE)] <- redaction_marker
      safe[[index]] <- item
    }
  }
  with_attributes(safe, x, state)
}

# Methods of foreign classes must not run: what they do is not ours.
names_of <- function(x) attr(x, "names", exact = TRUE)

secret_names <- function(names, size = length(names)) {
  if (is.null(names)) {
    return(logical(size))
  }
  check_boundary(core_secret_names(bare(names)))
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
sanitize_function <- function(x) {
  names <- names(formals(x))
  arguments <- rep(list(quote(expr = )), length(names))
  names(arguments) <- redact_strings(as.character(names))
  as.function(c(arguments, list(NULL)), envir = baseenv())
}

# The texts in a value, and in the environments that it leads to, that a name says are secret.
secret_values <- function(x) {
  state <- new.env(parent = emptyenv())
  state$left <- most_values
  state$seen <- list()
  state$values <- character()
  collect_values(x, state)
  unique(state$values)
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
  } else if (is.character(x) && !is.null(names_of(x))) {
    keep_values(bare(x)[secret_names(names_of(x))], state)
  }
  given <- attributes(x)
  changing <- setdiff(names(given), c(kept_attributes, dropped_attributes, "names"))
  if (length(changing) > 0L) {
    collect_items(given[changing], state)
  }
}

collect_items <- function(x, state) {
  names <- names_of(x)
  x <- bare_list(x)
  secret <- secret_names(names, length(x))
  for (index in seq_along(x)) {
    if (is_missing_argument(x, index)) {
      next
    }
    item <- .subset2(x, index)
    if (secret[[index]] && is_plain_text(item)) {
      keep_values(unlist(bare_list(item), use.names = FALSE), state)
    } else if (is_headers_name(names[index]) && !is.null(names_of(item))) {
      kept <- !harmless_headers(names_of(item))
      keep_values(unlist(bare_list(item)[kept], use.names = FALSE), state)
    } else if (!is.atomic(item) || !is.null(attributes(item))) {
      collect_values(item, state)
    }
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
  for (name in ls(env, all.names = TRUE, sorted = FALSE)) {
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
  values <- values[!is.na(values) & !values %in% redaction_marker]
  state$values <- c(state$values, values, sub("^.*[[:space:]]", "", values, useBytes = TRUE))
}
