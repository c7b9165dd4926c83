# The redactor around foreign code.

#' Run foreign code without showing secrets
#'
#' @description
#' Evaluates `expr` and masks what it tells: messages, warnings and errors are sanitised as by
#' [rho_sanitize()] and signalled again with their classes, and what it prints is masked as by
#' [rho_redact()]. It is for code that rhocap does not know: a client of some service, say.
#'
#' @details
#' What is printed appears when `expr` has ended, so that a value that was printed in two parts is
#' found as well: standard output and standard error are masked each on its own and together. This
#' covers what R code prints; what a child process or C code writes to the process's own descriptors
#' never passes through R.
#'
#' A handler outside can muffle messages and warnings as usual. An error ends `expr`: the calls that
#' led to it are gone when the sanitised error is signalled, because their frames hold arguments.
#' A message or another condition that was signalled with `signalCondition()` alone cannot be
#' stopped and reaches handlers outside as it was.
#'
#' The value of `expr` is given back as it is, and so is whether it is visible. A literal in the
#' call (`rho_with_redaction(f("a key"))`) is seen by `traceback()` and by R's history. What
#' `geterrmessage()` gives afterwards is masked, also of an error that `expr` caught.
#'
#' @param expr An expression.
#' @return The value of `expr`.
#' @section Errors and warnings:
#' Where `expr` removes the diversion of the output (`sink()`, `closeAllConnections()`), or leaves
#' one of its own, that is told with a warning of class `rhocap_warning_diversion`,
#' `rhocap_warning`: what was printed meanwhile was not masked.
#' @family redaction
#' @examples
#' password <- paste(sample(c(letters, LETTERS, 0:9), 20, TRUE), collapse = "")
#' rho_with_redaction({
#'   cat("login with password=", password, "\n", sep = "")
#'   "done"
#' })
#' @export
rho_with_redaction <- function(expr) {
  if (missing(expr)) {
    abort_missing("expr", "an expression")
  }
  diversion <- start_diversion()
  on.exit(suspendInterrupts(end_diversion(diversion)))
  result <- tryCatch(
    withCallingHandlers(
      withVisible(expr),
      message = function(cnd) signal_message(cnd, diversion),
      warning = function(cnd) signal_warning(cnd, diversion)
    ),
    error = function(cnd) list(error = sanitize_condition(cnd))
  )
  on.exit()
  suspendInterrupts(end_diversion(diversion))
  mask_last_error(result$error)
  if (!is.null(result$error)) {
    stop(result$error)
  }
  if (result$visible) result$value else invisible(result$value)
}

# R keeps the text of the last error for geterrmessage(), also of one that was caught. Only an error
# can put another in its place.
mask_last_error <- function(error) {
  last <- geterrmessage()
  if (is.null(error) && !identical(redact_strings(last), last)) {
    error <- simpleError(redact_strings(sub("^Error[^:]*: ", "", last, useBytes = TRUE)))
  }
  if (!is.null(error)) {
    try(stop(error), silent = TRUE)
  }
}

# As `message()` does: handlers outside first, then standard error, which is diverted.
signal_message <- function(cnd, diversion) {
  safe <- sanitize_condition(cnd)
  mark_diversion(diversion)
  withRestarts(
    {
      signalCondition(safe)
      cat(conditionMessage(safe), file = stderr(), sep = "")
    },
    muffleMessage = function() NULL
  )
  mark_diversion(diversion)
  tryInvokeRestart("muffleMessage")
}

signal_warning <- function(cnd, diversion) {
  mark_diversion(diversion)
  warning(sanitize_condition(cnd))
  mark_diversion(diversion)
  tryInvokeRestart("muffleWarning")
}

# What is printed goes to memory, never to a file: it is not masked yet.
start_diversion <- function() {
  diversion <- new.env(parent = emptyenv())
  diversion$output <- rawConnection(raw(), "w")
  diversion$error <- rawConnection(raw(), "w")
  diversion$depth <- sink.number()
  diversion$messages <- sink.number(type = "message")
  diversion$marks <- list()
  diversion$ended <- FALSE
  sink(diversion$output)
  sink(diversion$error, type = "message")
  diversion
}

# Remembers how much each stream holds: the order of the two is known at these moments only.
mark_diversion <- function(diversion) {
  sizes <- tryCatch(
    c(seek(diversion$output), seek(diversion$error)),
    error = function(cnd) NULL
  )
  if (!is.null(sizes)) {
    diversion$marks <- c(diversion$marks, list(sizes))
  }
}

end_diversion <- function(diversion) {
  if (diversion$ended) {
    return(invisible())
  }
  diversion$ended <- TRUE
  whole <- c(restore_messages(diversion), restore_output(diversion))
  output <- taken(diversion$output)
  if (isTRUE(diversion$probed)) {
    output <- utils::head(output, -1L)
  }
  error <- taken(diversion$error)
  show_masked(output, error, diversion$marks)
  if (!all(whole)) {
    warn(
      "diversion",
      paste(
        "The code inside rho_with_redaction() changed where its output goes (sink()). What it",
        "printed meanwhile went there without being masked."
      )
    )
  }
}

restore_messages <- function(diversion) {
  ours <- identical(sink.number(type = "message"), as.integer(diversion$error))
  if (identical(diversion$messages, 2L)) {
    sink(type = "message")
  } else {
    sink(getConnection(diversion$messages), type = "message")
  }
  ours
}

# Whether our diversion stood until the end, with none on top of it.
restore_output <- function(diversion) {
  depth <- diversion$depth + 1L
  diversion$probed <- sink.number() >= depth && is_diverted_to(diversion$output)
  ours <- sink.number() == depth && diversion$probed
  while (sink.number() > diversion$depth) {
    sink()
  }
  ours
}

# R does not tell where output goes: another diversion of the same depth is found by writing a byte.
is_diverted_to <- function(connection) {
  tryCatch(
    {
      before <- seek(connection)
      cat("\n")
      seek(connection) == before + 1
    },
    error = function(cnd) FALSE
  )
}

taken <- function(connection) {
  tryCatch(
    {
      bytes <- rawConnectionValue(connection)
      close(connection)
      bytes
    },
    error = function(cnd) raw()
  )
}

# Without the marks around which only one of the streams went on: one piece then, and one marker.
needed_marks <- function(sizes) {
  index <- 2L
  while (index < nrow(sizes)) {
    around <- sizes[index + -1:1, , drop = FALSE]
    if (any(around[1L, ] == around[3L, ])) {
      sizes <- sizes[-index, , drop = FALSE]
    } else {
      index <- index + 1L
    }
  }
  sizes
}

show_masked <- function(output, error, marks) {
  marks <- c(marks, list(c(length(output), length(error))))
  sizes <- do.call(rbind, c(list(c(0, 0)), marks))
  sizes <- needed_marks(cbind(pmin(sizes[, 1L], length(output)), pmin(sizes[, 2L], length(error))))
  part <- function(bytes, from, to) if (to > from) bytes[(from + 1):to] else raw()
  pieces <- list()
  for (index in seq_len(nrow(sizes) - 1L)) {
    pieces <- c(
      pieces,
      list(part(output, sizes[index, 1L], sizes[index + 1L, 1L])),
      list(part(error, sizes[index, 2L], sizes[index + 1L, 2L]))
    )
  }
  # Between two marks either stream may have been the first.
  count <- length(pieces)
  first <- seq.int(1L, count, by = 2L)
  orders <- list(first, first + 1L, seq_len(count), as.vector(rbind(first + 1L, first)))
  masked <- check_boundary(core_redact_pieces(pieces, orders, NULL))
  for (index in seq_len(count)) {
    text <- rawToChar(masked[[index]][masked[[index]] != 0L])
    if (nzchar(text)) {
      cat(text, file = if (index %% 2L == 1L) stdout() else stderr(), sep = "")
    }
  }
}
