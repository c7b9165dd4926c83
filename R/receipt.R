# Evidence: what was asked, what was decided and why, and what enforced it.

#' @include class.R
NULL

#' Receipts
#'
#' @description
#' Every call leaves one receipt, refusals included. `rho_receipt()` gives the receipt of a value;
#' `rho_receipts()` gives those of this session, also of values that were dropped.
#'
#' A receipt is a JSON object that follows the schema in `system.file("schema",
#' "receipt-1.schema.json", package = "rhocap")` (JSON Schema, draft 2020-12). It holds names of
#' environment entries and never a secret value, its length or its hash.
#'
#' @param x A value that a verb gave, a tool's result, or a condition from [rho_unwrap()].
#' @param n The last so many receipts. The session keeps the newest 100,000,
#'   or fewer when these have more than 256 MiB.
#' @return `rho_receipt()`: a value of class `RhoReceipt`; `NULL` for an outcome that no call made.
#'   Its properties are the fields of the schema, such as `@decision`, `@code`, `@resolved` and
#'   `@enforced_by`; `@json` is the text, from which `RhoReceipt(json)` makes one. `rho_receipts()`:
#'   a data frame, oldest first, one row a receipt, with the columns `seq`, `time` (POSIXct, UTC),
#'   `tool`, `principal`, `decision`, `outcome`, `code`, `path` (as asked for, escaped), `resolved`
#'   (below its root, escaped), `exit_status` (of a command: `outcome` is `"ok"` when it ran to its
#'   end, whatever its status), `stage`, `effect`, `rule`, `enforced_by`, `bytes`, `duration_us`
#'   (microseconds), `capability` (digest), `message`, `id`, `json`. `print(x, n = 20)` shows the
#'   newest 20 rows and the columns that say most.
#' @family evidence
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' capability <- rho_host_capability(read = project, cwd = project)
#' rho_receipt(rho_read(capability, "/etc/passwd"))
#' tail(rho_receipts()[, c("tool", "path", "decision", "code")], 1)
#' @export
rho_receipt <- function(x) {
  if (missing(x)) {
    abort_missing("x")
  }
  if (S7::S7_inherits(x, RhoReceipt)) {
    return(x)
  }
  if (S7::S7_inherits(x, RhoOutcome)) {
    return(x@receipt)
  }
  if (inherits(x, "rhocap_error") && S7::S7_inherits(x[["outcome"]], RhoOutcome)) {
    return(x[["outcome"]]@receipt)
  }
  json <- tool_result_receipt(x)
  if (is.null(json)) {
    if (!is.null(tool_result_id(x))) {
      abort(
        "value",
        paste(
          "The receipt of this result is not in this session, which keeps only the newest.",
          "What it says is in `x@details$receipt`."
        ),
        argument = "x"
      )
    }
    abort_type(x, "x", "a value that a verb or a tool gave")
  }
  RhoReceipt(json)
}

#' @rdname rho_receipt
#' @export
rho_receipts <- function(n = Inf) {
  n <- check_number(n, "n", infinite = TRUE)
  total <- check_boundary(core_receipts_count())
  wanted <- min(n, total)
  # In slices, so that a user can interrupt a long one.
  starts <- if (wanted > 0) seq(wanted, 1, by = -5000)
  slices <- lapply(starts, function(start) {
    Sys.sleep(0)
    suspendInterrupts(check_boundary(core_receipts(start, min(start, 5000))))
  })
  columns <- c(slices, list(check_boundary(core_receipts(0, 0))))
  names <- names(columns[[1L]])
  joined <- lapply(stats::setNames(names, names), function(name) {
    unlist(lapply(columns, function(slice) slice[[name]]), use.names = FALSE)
  })
  joined$time <- as.POSIXct(joined$time, origin = "1970-01-01", tz = "UTC")
  frame <- as.data.frame(joined)
  class(frame) <- c("rho_receipts", class(frame))
  frame
}

# The whole table is too wide to read, and a session's too long: the newest rows, of the columns
# that say most. A choice of columns is printed as it is.
#' @export
print.rho_receipts <- function(x, ..., n = 20) {
  n <- check_number(n, "n", infinite = TRUE)
  wide <- c("id", "json", "message", "capability", "seq", "stage", "enforced_by", "bytes")
  plain <- x
  class(plain) <- setdiff(class(x), "rho_receipts")
  if (all(wide %in% names(x))) {
    plain <- plain[setdiff(names(x), c(wide, "resolved", "duration_us"))]
  }
  size <- nrow(plain)
  if (size > n) {
    more <- count_words(size - n, "receipt")
    cat(sprintf("# %s before these; print(x, n = Inf) shows all\n", more))
  }
  print(utils::tail(plain, min(n, size)), ...)
  also <- setdiff(names(x), names(plain))
  if (length(also) > 0L) {
    cat(sprintf("# also: %s\n", paste(also, collapse = ", ")))
  }
  invisible(x)
}

# A property that stands in the receipt's text. What is null there is NA, or an empty list.
receipt_field <- function(name, absent = NA_character_) {
  force(absent)
  S7::new_property(S7::class_any, getter = function(self) {
    value <- receipt_facts(self)[[name]]
    if (is.null(value)) absent else value
  })
}

#' @rdname rho_receipt
#' @format NULL
#' @usage NULL
#' @export
RhoReceipt <- rho_class(
  "RhoReceipt",
  properties = list(
    json = S7::new_property(
      S7::class_character,
      validator = function(value) {
        text <- !is.object(value) && is.character(value) && length(value) == 1L && !is.na(value)
        if (!text || !is_receipt(value)) {
          "must be the text of one receipt"
        }
      }
    ),
    schema = receipt_field("schema"),
    id = receipt_field("id"),
    seq = receipt_field("seq", NA_real_),
    time = receipt_field("time"),
    tool = receipt_field("tool"),
    principal = receipt_field("principal"),
    capability = receipt_field("capability"),
    placement = receipt_field("placement"),
    request = receipt_field("request", list()),
    resolved = receipt_field("resolved", list()),
    resolved_to = receipt_field("resolved_to", list()),
    decision = receipt_field("decision"),
    outcome = receipt_field("outcome"),
    code = receipt_field("code"),
    message = receipt_field("message"),
    stage = receipt_field("stage"),
    effect = receipt_field("effect"),
    rule = receipt_field("rule"),
    enforced_by = receipt_field("enforced_by", list()),
    environment = receipt_field("environment", list()),
    command = receipt_field("command", list()),
    version_before = receipt_field("version_before"),
    version_after = receipt_field("version_after"),
    masked = receipt_field("masked", NA_real_),
    bytes = receipt_field("bytes", NA_real_),
    duration_us = receipt_field("duration_us", NA_real_),
    previous = receipt_field("previous")
  )
)

receipt_facts <- function(receipt) json_value(attr(receipt, "json", exact = TRUE))

json_value <- function(json) check_boundary(core_json_value(json))[[1L]]

# Whether a text has all fields of a receipt, of their kinds: the schema without its fine print.
is_receipt <- function(json) {
  if (!is_utf8(json)) {
    return(FALSE)
  }
  facts <- json_value(json)
  one <- function(check) function(value) check(value) && length(value) == 1L
  object <- function(value) is.list(value) && !is.null(names(value))
  kinds <- list(
    list(one(is.character), receipt_texts),
    list(one(is.numeric), c("seq", "duration_us", "masked")),
    list(object, c("request", "enforced_by")),
    list(function(value) is.null(value) || is.character(value) && length(value) == 1L, c(
      "code", "message", "stage", "rule", "version_before", "version_after"
    )),
    list(function(value) is.null(value) || is.numeric(value) && length(value) == 1L, "bytes"),
    list(function(value) is.null(value) || object(value), c("resolved", "resolved_to", "command")),
    list(function(value) is.list(value) || identical(value, character()), "environment")
  )
  object(facts) && identical(facts$schema, "rhocap.receipt/1") &&
    all(vapply(kinds, function(kind) {
      all(kind[[2L]] %in% names(facts)) && all(vapply(facts[kind[[2L]]], kind[[1L]], NA))
    }, NA))
}

receipt_texts <- c(
  "schema",
  "id",
  "time",
  "tool",
  "principal",
  "capability",
  "placement",
  "decision",
  "outcome",
  "effect",
  "previous"
)

# A receipt as what a runtime's journal can hold: named lists of atomic vectors, nothing null.
plain_receipt <- function(json) plain(json_value(json))

plain <- function(value) {
  if (!is.list(value)) {
    return(value)
  }
  # An array of objects becomes its columns, because a journal takes named lists only.
  if (is.null(names(value))) {
    fields <- unique(unlist(lapply(value, names)))
    return(lapply(stats::setNames(fields, fields), function(field) {
      unlist(lapply(value, function(item) if (is.null(item[[field]])) NA else item[[field]]))
    }))
  }
  lapply(Filter(Negate(is.null), value), plain)
}

S7::method(format, RhoReceipt) <- function(x, ...) {
  facts <- receipt_facts(x)
  what <- switch(facts$decision,
    allowed = if (!identical(facts$outcome, "ok")) {
      "allowed, failed"
    } else if (length(facts$command) > 0L) {
      paste("allowed, ran:", command_end(facts$command))
    } else {
      "allowed, worked"
    },
    denied = "denied",
    "not decided"
  )
  resolved <- facts$resolved
  enforced <- facts$enforced_by
  lines <- c(
    sprintf("<RhoReceipt> #%s %s", format(facts$seq, scientific = FALSE), facts$id),
    sprintf("  %s, asked by the %s with %s", facts$time, facts$principal, facts$tool),
    paste("  asked:", fact_inline(facts$request)),
    sprintf("  %s%s", what, if (is.null(facts$code)) "" else sprintf(" (%s)", facts$code)),
    if (!is.null(facts$message)) paste("  why:", facts$message),
    if (!is.null(facts$rule)) paste("  rule:", facts$rule),
    if (length(resolved) > 0L) paste("  resolved:", fact_inline(resolved)),
    if (length(facts$resolved_to) > 0L) paste("  to:", fact_inline(facts$resolved_to)),
    if (!is.null(facts$effect)) paste("  effect:", facts$effect),
    paste("  enforced by:", fact_inline(enforced)),
    if (nzchar(facts$capability)) sprintf("  capability: %s", facts$capability)
  )
  # A receipt of the core has no control characters, but anybody can make one.
  vapply(lines, shown_lines, "", USE.NAMES = FALSE)
}

S7::method(print, RhoReceipt) <- print_lines

# How a command ended that ran to its end.
command_end <- function(command) {
  if (is.numeric(command$exit_status)) {
    return(sprintf("exit status %s", digits(command$exit_status)))
  }
  if (is.numeric(command$signal)) signal_words(command$signal) else "status unknown"
}

# A list as `name value, name value`; texts stand in a receipt escaped already.
fact_inline <- function(facts) {
  facts <- Filter(function(value) length(value) > 0L, facts)
  words <- lapply(names(facts), function(name) {
    value <- facts[[name]]
    if (is.list(value)) {
      return(sprintf("%s {%s}", name, fact_inline(value)))
    }
    value <- if (is.numeric(value)) format(value, scientific = FALSE, trim = TRUE) else value
    if (is.logical(value)) {
      value <- ifelse(value, "yes", "no")
    }
    paste(gsub("_", " ", name, fixed = TRUE), paste(value, collapse = " "))
  })
  if (length(words) == 0L) "nothing" else paste(words, collapse = ", ")
}
