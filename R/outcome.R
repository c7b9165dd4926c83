# What a call gives: a typed value, also when it was denied or failed.

#' @include class.R
NULL

#' What a call gives
#'
#' @description
#' A verb of rhocap never signals a condition for what a correct program must expect. It gives
#'
#' * a value of the verb's own class ([RhoText], [RhoWritten], [RhoEdited], [RhoListing],
#'   [RhoMoved], [RhoRemoved], [RhoAdmitted], [RhoCommandResult]), or
#' * `RhoDenied`: the capability does not allow it, or
#' * `RhoFailed`: it did not work, though it was allowed, or before there was anything to decide (of
#'   a file that does not exist the receipt says `undecided`).
#'
#' Each carries its receipt, see [rho_receipt()]. `rho_is_ok()` asks whether a value is a result;
#' `rho_unwrap()` gives the payload, or signals the outcome as a condition. A command that ran gives
#' a [RhoCommandResult] however it ended; it is ok when its exit status is 0.
#'
#' @details
#' `RhoDenied` and `RhoFailed` have the properties
#' \describe{
#'   \item{`code`}{one word from a closed set, see [rho_codes()]}
#'   \item{`message`}{one sentence; it names what was asked for, never what lies outside}
#'   \item{`facts`}{a named list of further facts}
#'   \item{`receipt`}{a [RhoReceipt]}
#' }
#'
#' @param x A value that a verb gave.
#' @return `rho_is_ok()`: `TRUE` or `FALSE`. `rho_unwrap()`: the payload: the text of [RhoText], the
#'   data frame of [RhoListing], the new version of [RhoWritten] and [RhoEdited], the path of
#'   [RhoMoved] and [RhoRemoved], the output of [RhoCommandResult], [RhoAdmitted] itself.
#' @section Errors and warnings:
#' `rho_unwrap()` of a [RhoText] that was cut at a limit gives what there is, with a warning of
#' class `rhocap_warning_truncated`: `rho_read(limit = Inf)` reads all.
#'
#' `rho_unwrap()` of a denial or failure signals a condition of class `rhocap_error_<code>` (snake
#' case), `rhocap_error_denied` or `rhocap_error_failed`, `rhocap_error`; its field `outcome` is the
#' value. Of a command that did not end with status 0 the classes are `rhocap_error_command_failed`,
#' or `rhocap_error_timed_out`, `rhocap_error_cancelled`, `rhocap_error_supervisor_lost`.
#' @family outcomes
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' capability <- rho_host_capability(read = project, cwd = project)
#' outcome <- rho_read(capability, "missing.txt")
#' outcome
#' rho_is_ok(outcome)
#' tryCatch(
#'   rho_unwrap(outcome),
#'   rhocap_error_not_found = function(cnd) conditionMessage(cnd)
#' )
#' @name rho_outcomes
NULL

#' @rdname rho_outcomes
#' @export
rho_is_ok <- function(x) {
  S7::S7_inherits(check_outcome(x), RhoResult) &&
    (!S7::S7_inherits(x, RhoCommandResult) || command_worked(x))
}

#' @rdname rho_outcomes
#' @export
rho_unwrap <- function(x) {
  if (S7::S7_inherits(check_outcome(x), RhoRefusal)) {
    abort(
      snake_case(x@code),
      x@message,
      outcome = x,
      class = paste0("rhocap_error_", c(snake_case(x@code), outcome_word(x)))
    )
  }
  if (S7::S7_inherits(x, RhoCommandResult) && !command_worked(x)) {
    kind <- if (x@ended %in% c("exited", "signalled")) "command_failed" else x@ended
    abort(
      kind,
      sprintf(
        "The command did not work: %s. Its output is in the condition's `outcome`.",
        ended_words(x)
      ),
      outcome = x,
      class = paste0("rhocap_error_", c(kind, "failed"))
    )
  }
  if (S7::S7_inherits(x, RhoText) && x@truncated) {
    warn(
      "truncated",
      sprintf(
        "This is only a part of the file (%s of %s). Read all with rho_read(limit = Inf).",
        bytes_words(x@bytes),
        bytes_words(x@total_bytes)
      ),
      outcome = x
    )
  }
  payload(x)
}

#' The closed set of codes
#'
#' @return A data frame with the columns `code`, `decision` (`denied`: the capability does not allow
#'   it; `failed`: it was allowed, or there was nothing to decide, and it did not work) and
#'   `meaning`.
#' @family outcomes
#' @examples
#' rho_codes()
#' @export
rho_codes <- function() {
  as.data.frame(check_boundary(core_codes()))
}

# Every value that a call gives has a receipt. It is kept as the text that the core made and becomes
# a RhoReceipt when it is asked for, because a parse costs more than a read.
property_receipt <- function() {
  S7::new_property(S7::class_any, getter = function(self) {
    json <- attr(self, "receipt", exact = TRUE)
    if (is.null(json)) NULL else stamp(class_attributes(RhoReceipt), list(json = json))
  })
}

#' @rdname rho_outcomes
#' @format NULL
#' @usage NULL
#' @export
RhoOutcome <- rho_class(
  "RhoOutcome",
  abstract = TRUE,
  properties = list(receipt = property_receipt())
)

#' @rdname rho_outcomes
#' @format NULL
#' @usage NULL
#' @export
RhoResult <- rho_class("RhoResult", parent = RhoOutcome, abstract = TRUE)

#' @rdname rho_outcomes
#' @format NULL
#' @usage NULL
#' @export
RhoRefusal <- rho_class(
  "RhoRefusal",
  parent = RhoOutcome,
  abstract = TRUE,
  properties = list(
    code = property_string(empty = FALSE),
    message = property_string(),
    facts = property_list(list())
  )
)

#' @rdname rho_outcomes
#' @format NULL
#' @usage NULL
#' @export
RhoDenied <- rho_class("RhoDenied", parent = RhoRefusal)

#' @rdname rho_outcomes
#' @format NULL
#' @usage NULL
#' @export
RhoFailed <- rho_class("RhoFailed", parent = RhoRefusal)

check_outcome <- function(x) {
  if (missing(x)) {
    abort_missing("x")
  }
  if (!S7::S7_inherits(x, RhoOutcome)) {
    abort_type(x, "x", "a value that a verb such as rho_read() gave")
  }
  x
}

# The value that a verb of the core gave: `list(kind, facts)`, or a job that is still running.
as_outcome <- function(value, on_output = NULL) {
  value <- from_core(value)
  if (value[[1L]] == "running") {
    value <- await_job(value[[2L]], on_output)
  }
  new_outcome(value)
}

# What a verb of the core gave. The call into the core happens here. An interrupt while its result
# becomes R objects would jump over the core's frames; a call that takes long gives a job, for which
# R waits interruptibly.
from_core <- function(value) {
  value <- suspendInterrupts(value)
  if (!is.null(names(value))) {
    check_boundary(value)
  }
  value
}

new_outcome <- function(value) stamp(outcome_attributes(value[[1L]]), value[[2L]])

# The attributes of each kind of result, found once: this is on the path of every call.
outcome_attributes <- function(kind) {
  known <- outcome_cache[[kind]]
  if (!is.null(known)) {
    return(known)
  }
  class <- switch(kind,
    denied = RhoDenied,
    failed = RhoFailed,
    text = RhoText,
    written = RhoWritten,
    edited = RhoEdited,
    listing = RhoListing,
    moved = RhoMoved,
    removed = RhoRemoved,
    command = RhoCommandResult,
    admitted = RhoAdmitted
  )
  outcome_cache[[kind]] <- class_attributes(class)
}

outcome_cache <- new.env(parent = emptyenv())

outcome_word <- function(x) if (S7::S7_inherits(x, RhoDenied)) "denied" else "failed"

snake_case <- function(code) tolower(gsub("(?<!^)([A-Z])", "_\\1", code, perl = TRUE))

payload <- function(x) {
  if (S7::S7_inherits(x, RhoText)) {
    x@text
  } else if (S7::S7_inherits(x, RhoListing)) {
    x@entries
  } else if (S7::S7_inherits(x, RhoWritten) || S7::S7_inherits(x, RhoEdited)) {
    x@version
  } else if (S7::S7_inherits(x, RhoMoved)) {
    x@to
  } else if (S7::S7_inherits(x, RhoRemoved)) {
    x@path
  } else if (S7::S7_inherits(x, RhoCommandResult)) {
    x@output
  } else {
    x
  }
}

S7::method(format, RhoRefusal) <- function(x, ...) {
  class <- if (S7::S7_inherits(x, RhoDenied)) "<RhoDenied>" else "<RhoFailed>"
  c(sprintf("%s %s: %s", class, shown(x@code), shown_lines(x@message)), fact_lines(x@facts))
}

# A message of the core is escaped already, but anybody can make a refusal.
shown_lines <- function(text) paste(strsplit(text, "[[:cntrl:]]+")[[1L]], collapse = " ")

S7::method(print, RhoOutcome) <- print_lines
