# What an agent gets of a command.

#' @include tool.R
NULL

# The answer to a command that was started: in Rho a task, which the runtime awaits while R goes on;
# elsewhere the result, for which R waits.
bash_answer <- function(started, on_output, ctx) {
  if (!has_rho()) {
    return(command_answer_or_error(as_outcome(started, on_output)))
  }
  promise <- async_outcome(
    started,
    on_output,
    abort = agent_aborted(ctx),
    convert = command_answer_or_error
  )
  cancel <- attr(promise, "rho_cancel", exact = TRUE)
  attr(promise, "rho_cancel") <- NULL
  rho_async("rho_task_from_promise")(promise, cancel = function(...) cancel(), label = "tool-bash")
}

# Whether the agent was told to stop: its runtime tells that nowhere else.
agent_aborted <- function(ctx) {
  function() {
    state <- tryCatch(ctx@run@agent@state, error = function(cnd) NULL)
    is.environment(state) && isTRUE(state$cancelled)
  }
}

# Output on its way to a runtime: what there is so far, the end of it when that is long. A runtime
# keeps every one, so that they come at most ten times a second.
partial_results <- function(on_update) {
  seen <- ""
  told <- -Inf
  function(text) {
    seen <<- last_part(paste0(seen, text), most_text)
    now <- proc.time()[["elapsed"]]
    if (now - told >= 0.1) {
      told <<- now
      # What a runtime makes of it must not end the command.
      try(on_update(tool_result(seen, list())), silent = TRUE)
    }
  }
}

last_part <- function(text, most) {
  size <- nchar(text, "bytes")
  if (size <= most) {
    return(text)
  }
  bytes <- utils::tail(charToRaw(text), most)
  # Not from the middle of a character.
  inside <- bitwAnd(as.integer(utils::head(bytes, 4L)), 0xc0L) == 0x80L
  text <- rawToChar(utils::tail(bytes, most - match(FALSE, inside) + 1L))
  Encoding(text) <- "UTF-8"
  text
}

# The same, whatever happens: the command was run, and its receipt is the only one.
command_answer_or_error <- function(outcome) {
  tryCatch(
    command_answer(outcome),
    error = function(cnd) {
      receipt <- attr(outcome, "receipt", exact = TRUE)
      message <- sprintf("The tool failed inside: %s", shown(conditionMessage(cnd))[[1L]])
      tool_refusal(list(), "SystemError", message, receipt)
    }
  )
}

# What a model must know of names that it made in vain: it would count on them.
taken_words <- function(carve_outs) {
  taken <- carve_outs[carve_outs$fate %in% c("kept", "aside", "left"), ]
  if (nrow(taken) == 0L) {
    return(NULL)
  }
  most <- 20L
  first <- utils::head(taken, most)
  names <- sprintf("%s (\"%s\")", short_ends(first$path), short_ends(first$pattern))
  more <- nrow(taken) - length(names)
  sprintf(
    "%s: %s%s. Names that these patterns cover may not be made by a command.",
    if (any(taken$fate != "kept")) "Made against the rules" else "Made and taken away again",
    paste(names, collapse = ", "),
    if (more > 0L) sprintf(" and %s more", digits(more)) else ""
  )
}

# A runtime's journal keeps what a model gets: of names that a command made by the thousands, the
# first; the receipt itself has them all.
few_carve_outs <- function(receipt, most = 100L) {
  made <- receipt$command$carve_outs
  if (length(made) > 0L) {
    receipt$command$carve_outs <- lapply(made, utils::head, most)
  }
  receipt
}

# The texts and details of Rho's own tool, without the command, which may hold what it should not.
command_answer <- function(outcome) {
  receipt <- attr(outcome, "receipt", exact = TRUE)
  if (S7::S7_inherits(outcome, RhoRefusal)) {
    return(tool_refusal(list(), outcome@code, outcome@message, receipt))
  }
  shown <- attr(outcome, "shown", exact = TRUE)
  text <- if (nzchar(shown)) shown else "(no output)"
  text <- paste(c(text, taken_words(outcome@carve_outs)), collapse = "\n\n")
  ended <- outcome@ended
  status <- if (!is.na(outcome@exit_status)) outcome@exit_status else -outcome@signal
  if (outcome@timed_out) {
    # As Rho's: a command that was ended has the status of a kill.
    status <- -9
  }
  details <- list(
    exit_status = as.integer(status),
    timed_out = outcome@timed_out,
    cancelled = outcome@cancelled,
    survivors = length(outcome@survivors),
    bytes = outcome@bytes_total,
    reason = switch(ended,
      exited = if (isTRUE(status == 0)) "ok" else "exit_status",
      signalled = "signal",
      ended
    ),
    receipt = few_carve_outs(plain_receipt(receipt))
  )
  if (command_worked(outcome)) {
    return(tool_result(text, details))
  }
  why <- switch(ended,
    timed_out = "Command timed out",
    cancelled = "Command was cancelled",
    supervisor_lost = "Command was lost: it ended what watches over it",
    sprintf("Command exited with status %s", digits(status))
  )
  if (length(outcome@survivors) > 0L) {
    why <- sprintf("%s; %s still running", why, count_words(length(outcome@survivors), "process"))
  }
  tool_error(paste0(text, "\n\n", why), details)
}
