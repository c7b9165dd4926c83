# Crossing the boundary: how a programming mistake becomes a condition.
#
# What may happen in a correct program (a file is missing, a path is refused) is a value, see
# outcome.R. What the caller must fix in the program is a condition, made here and nowhere else.

#' Conditions for programming mistakes
#'
#' @description
#' A call of rhocap ends in one of two ways. What a correct program must expect (denied, missing,
#' failed) is a typed value, [RhoDenied] or [RhoFailed]. What the programmer must fix is an error
#' condition with the classes `rhocap_error_<kind>`, `rhocap_error`, `error`, `condition`. Its
#' message says what to do next; its `call` is always `NULL`, because a call shows the arguments
#' that were given.
#'
#' @details
#' The kinds:
#'
#' | class | what is wrong |
#' |---|---|
#' | `rhocap_error_missing` | a required argument was not given |
#' | `rhocap_error_type` | an argument has the wrong type or length |
#' | `rhocap_error_value` | an argument has the right type and an impossible value |
#' | `rhocap_error_encoding` | a pattern, name or setting is not valid text in its encoding |
#' | `rhocap_error_root`, `rhocap_error_cwd` | a directory is none, or its path holds `..` |
#' | `rhocap_error_supervisor` | the program that owns the processes of commands cannot be used |
#' | `rhocap_error_reserved` | a write root is, or lies in, R's home, a library or rhocap |
#' | `rhocap_error_not_enforceable` | a policy cannot be enforced; the message shows what works |
#' | `rhocap_error_wider` | [rho_narrow()] was asked for more than there is |
#' | `rhocap_error_pattern` | a carve-out is no gitignore pattern |
#' | `rhocap_error_limit` | a limit is out of range |
#' | `rhocap_error_environment` | an entry's name is not allowed or not valid |
#' | `rhocap_error_secret_source` | where a secret was to come from there is none |
#' | `rhocap_error_secret_value` | a secret's value is no text, or too long |
#' | `rhocap_error_short_secret` | a secret has fewer than 4 bytes |
#' | `rhocap_error_ordinary_secret` | masking the value would mask ordinary text |
#' | `rhocap_error_secret_text` | a secret was to become text |
#' | `rhocap_error_secret_structure` | a secret was to be taken apart, joined or repeated |
#' | `rhocap_error_purpose` | a secret for one purpose was given for another |
#' | `rhocap_error_hosts` | a credential's host is none |
#' | `rhocap_error_credential` | no header can carry the value |
#' | `rhocap_error_url` | a URL is none, names a user, or is none that a credential may go to |
#' | `rhocap_error_header` | a header's name or value is not what a header can have |
#' | `rhocap_error_reference` | what stands for a credential is where it cannot be exchanged |
#' | `rhocap_error_forgotten` | [rho_forget()] was called on the value |
#' | `rhocap_error_stale_handle` | the value was saved, or sent to another process |
#' | `rhocap_error_forked` | the value was made in the process that this one was forked from |
#' | `rhocap_error_handle_used` | an admission was used before |
#' | `rhocap_error_immutable` | a property of a value was assigned to |
#' | `rhocap_error_memory` | no memory for an argument, or for the result of a call that is done |
#' | `rhocap_error_missing_package` | a suggested package is needed and not installed |
#' | `rhocap_error_internal` | a defect of rhocap; R is not harmed |
#'
#' [rho_unwrap()] turns an outcome into a condition: `rhocap_error_<code>` (the code in snake case,
#' such as `rhocap_error_not_found`), then `rhocap_error_denied` or `rhocap_error_failed`, then
#' `rhocap_error`. The value is in its field `outcome`. Of a text that was cut at a limit it gives
#' what there is, with a warning of class `rhocap_warning_truncated`, `rhocap_warning`, `warning`.
#'
#' A secret of 4 to 7 bytes is made with a warning of class `rhocap_warning_short_secret`.
#'
#' `library()` warns with the class `rhocap_warning_masked` where another package's tools, which are
#' not restricted, have the names of ours.
#'
#' @name rhocap_conditions
#' @family conditions
#' @examples
#' tryCatch(
#'   rho_host_capability(read = NULL),
#'   rhocap_error_type = function(cnd) conditionMessage(cnd)
#' )
NULL

# The one place where rhocap signals an error. `call` is NULL: it would show literal arguments.
abort <- function(kind, message, ..., class = paste0("rhocap_error_", kind)) {
  stop(structure(
    class = c(class, "rhocap_error", "error", "condition"),
    list(message = safe_message(kind, message), call = NULL, ...)
  ))
}

# A message can name what was given. What the core says of its own failure is masked already, and
# the call that masks would fail again.
safe_message <- function(kind, message) {
  if (kind %in% c("internal", "memory")) message else redact_strings(message)
}

# The one place where rhocap signals a warning.
warn <- function(kind, message, ...) {
  warning(structure(
    class = c(paste0("rhocap_warning_", kind), "rhocap_warning", "warning", "condition"),
    list(message = safe_message(kind, message), call = NULL, ...)
  ))
}

# A value that came from the core: the plain description of a mistake becomes a condition.
check_boundary <- function(value) {
  if (is.list(value) && identical(names(value)[1L], "rhocap_misuse")) {
    do.call(abort, c(list(value[[1L]], value[["message"]]), as.list(value[["fields"]])))
  }
  value
}

# A short description of what was given instead, never its content: it may be a secret.
describe_given <- function(x) {
  if (is.null(x)) {
    return("NULL")
  }
  size <- tryCatch(length(x), error = function(cnd) NA_integer_)
  what <- if (is.atomic(x) && !is.object(x)) typeof(x) else class(x)[[1L]]
  if (is.function(x) || is.environment(x) || identical(typeof(x), "externalptr")) {
    return(sprintf("a value of class \"%s\"", what))
  }
  if (identical(size, 1L) && is.atomic(x) && !is.object(x)) {
    return(if (is.na(x)) "NA" else sprintf("a %s value", what))
  }
  sprintf("a value of class \"%s\" and length %s", what, size)
}

abort_missing <- function(arg, wanted = NULL) {
  what <- if (is.null(wanted)) "" else sprintf(" It must be %s.", wanted)
  abort("missing", sprintf("`%s` was not given, and has no default.%s", arg, what))
}

abort_type <- function(x, arg, wanted) {
  abort("type", sprintf("`%s` must be %s, not %s.", arg, wanted, describe_given(x)), argument = arg)
}

# A string leaves R in UTF-8. One marked latin1 is converted once; one without a mark is taken as
# the bytes it is, as R's own file functions do. The binding checks the bytes.
# A vector without its class and other attributes: methods of a foreign class do not run here,
# because what they signal is not ours.
bare <- function(x) {
  if (is.atomic(x)) {
    attributes(x) <- NULL
  }
  x
}

as_utf8 <- function(x) {
  latin1 <- identical(Encoding(x), "latin1") && !any(charToRaw(x) %in% bytes_not_latin1)
  if (latin1) enc2utf8(x) else x
}

# R takes latin1 for Windows-1252 and would write these bytes, which are no characters there, as
# "<81>": the path or text of something else. The binding refuses them.
bytes_not_latin1 <- as.raw(c(0x81, 0x8d, 0x8f, 0x90, 0x9d))

check_string <- function(x, arg, wanted = "one string", empty = TRUE) {
  if (missing(x)) {
    abort_missing(arg, wanted)
  }
  given <- x
  x <- bare(x)
  if (!is.character(x) || length(x) != 1L) {
    abort_type(given, arg, wanted)
  }
  if (is.na(x)) {
    abort("value", sprintf("`%s` is NA. It must be %s.", arg, wanted), argument = arg)
  }
  if (!empty && !nzchar(x)) {
    abort("value", sprintf("`%s` is empty. It must be %s.", arg, wanted), argument = arg)
  }
  # `[[` also makes a plain vector of a deferred one, whose elements nothing else would keep alive.
  as_utf8(x[[1L]])
}

# `none` says what character() means for the argument, and what to do for its default.
check_strings <- function(
  x,
  arg,
  wanted = "a character vector",
  none = "For none write character()."
) {
  if (missing(x)) {
    abort_missing(arg, wanted)
  }
  if (is.null(x)) {
    abort("type", sprintf("`%s` is NULL. %s", arg, none), argument = arg)
  }
  given <- x
  x <- bare(x)
  if (!is.character(x)) {
    abort_type(given, arg, wanted)
  }
  if (anyNA(x)) {
    abort("value", sprintf("`%s` holds NA. Leave it out.", arg), argument = arg)
  }
  check_text(vapply(x, as_utf8, "", USE.NAMES = FALSE), arg)
}

# Text that core never sees as bytes of a file is checked here.
check_text <- function(x, arg) {
  if (!is_utf8(x)) {
    abort(
      "encoding",
      sprintf("`%s` is not valid UTF-8. Convert it with iconv() first.", arg),
      argument = arg
    )
  }
  x
}

check_flag <- function(x, arg) {
  if (missing(x)) {
    abort_missing(arg, "TRUE or FALSE")
  }
  flag <- bare(x)
  if (!is.logical(flag) || length(flag) != 1L || is.na(flag)) {
    abort_type(x, arg, "TRUE or FALSE")
  }
  flag
}

# Numbers cross as doubles: exact up to 2^53, which no size or count here exceeds.
check_number <- function(x, arg, least = 0, most = 2^53, whole = TRUE, infinite = FALSE) {
  if (missing(x)) {
    abort_missing(arg)
  }
  if (is.object(x) || !is.numeric(x) || length(x) != 1L) {
    abort_type(x, arg, if (whole) "one whole number" else "one number")
  }
  x <- as.vector(as.double(x))
  if (is.na(x)) {
    abort("value", sprintf("`%s` is NA. It must be a number.", arg), argument = arg)
  }
  if (infinite && identical(x, Inf)) {
    return(x)
  }
  if (x < least || x > most || (whole && x != trunc(x))) {
    abort(
      "value",
      sprintf(
        "`%s` must be %s between %s and %s.",
        arg,
        if (whole) "a whole number" else "a number",
        format(least, scientific = FALSE),
        format(most, big.mark = ",", scientific = FALSE)
      ),
      argument = arg
    )
  }
  x
}

check_choice <- function(x, arg, choices) {
  if (missing(x)) {
    abort_missing(arg)
  }
  # The whole vector of choices is what an argument left at its default holds.
  if (identical(x, choices)) {
    return(choices[[1L]])
  }
  x <- bare(x)
  if (!is.character(x) || length(x) != 1L || is.na(x) || !x %in% choices) {
    words <- paste0("\"", choices, "\"", collapse = ", ")
    abort("value", sprintf("`%s` must be one of %s.", arg, words), argument = arg)
  }
  x
}

check_class <- function(x, arg, class, made_by) {
  if (missing(x)) {
    abort_missing(arg, sprintf("a value made by %s", made_by))
  }
  if (!S7::S7_inherits(x, class)) {
    abort_type(x, arg, sprintf("a value made by %s", made_by))
  }
  x
}

# For a function whose arguments after `...` must have names: what the dots hold is a mistake.
check_no_dots <- function(...) {
  if (...length() > 0L) {
    known <- names(formals(sys.function(sys.parent())))
    abort_unknown(...names()[1L], setdiff(known, "..."))
  }
}

abort_unknown <- function(name, known) {
  what <- if (is.null(name) || is.na(name) || !nzchar(name)) {
    "An argument without a name is not known here; give it by its name."
  } else {
    sprintf("There is no argument `%s` here.", shown(name))
  }
  abort("value", sprintf("%s There are: %s.", what, paste(known, collapse = ", ")))
}

check_package <- function(package, why) {
  if (!requireNamespace(package, quietly = TRUE)) {
    abort(
      "missing_package",
      sprintf(
        "%s needs the package %s. Install it with install.packages(\"%s\").",
        why,
        package,
        package
      ),
      package = package
    )
  }
}

# A path as it crosses: a UTF-8 string, the raw bytes of a name, or the handle of an admission.
check_path <- function(path, arg = "path", admitted = TRUE) {
  if (missing(path)) {
    abort_missing(arg, "one path")
  }
  if (admitted && S7::S7_inherits(path, RhoAdmitted)) {
    return(attr(path, "handle", exact = TRUE))
  }
  if (S7::S7_inherits(path, RhoRefusal)) {
    abort(
      "type",
      sprintf(
        "`%s` is a refusal (%s), not an admission. Ask with rho_is_ok() before you go on with it.",
        arg,
        shown(path@code)
      ),
      argument = arg
    )
  }
  given <- path
  path <- bare(path)
  if (is.character(path) && length(path) == 1L && !is.na(path)) {
    return(as_utf8(path[[1L]]))
  }
  if (is.raw(path)) {
    return(path)
  }
  if (is.character(path) && length(path) == 1L) {
    abort("value", sprintf("`%s` is NA. Give the path of one file.", arg), argument = arg)
  }
  if (is.character(path)) {
    abort(
      "type",
      sprintf(
        "`%s` must be one path, not %d. Call the verb once for each path.",
        arg,
        length(path)
      ),
      argument = arg
    )
  }
  wanted <- "one path (a string, or a raw vector for a name that is not UTF-8)"
  abort_type(given, arg, wanted)
}
