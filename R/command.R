# Commands: bash with what a capability gives it.

#' @include outcome.R
NULL

#' Run a bash command
#'
#' @description
#' Runs a command with the capability's shell, working directory and environment, ends whatever it
#' leaves behind, and answers with what came of it. Where the capability allows no processes the
#' answer is [RhoDenied] with the code `ProcessNone`.
#'
#' With [rho_process_confined()] the kernel enforces the capability's directories and network
#' policy on it. With [rho_process_unrestricted()]: Unrestricted bash has the full authority of the
#' R process's user.
#'
#' `rho_bash()` waits; Ctrl-C ends the command and everything that it started. `rho_bash_async()`
#' gives a promise at once, and R goes on; `rho_bash_cancel()` ends its command.
#'
#' @details
#' The command is one text that the shell gets as it is (`bash -c`, no start-up files). It sees the
#' capability's environment and nothing of the R process's (bash itself adds `PWD`, `SHLVL` and
#' `_`), no open file or connection of R's, default signals, and a session of its own without a
#' terminal. Standard output and standard error are one stream, in the order in which they were
#' written.
#'
#' **The end.** When the first process ends, at the timeout, or when it is cancelled, every process
#' of the command is ended: those that started a session of their own or lost their parent too. At a
#' timeout or a cancellation they get SIGTERM first and then the capability's grace. Work that was
#' handed to another daemon (cron, docker, systemd-run) is out of reach. When R itself ends, however
#' that happens, its commands end as well.
#'
#' After a confined command rhocap looks through its directories for names that a pattern covers.
#' In a tree of millions of names that takes minutes beyond the timeout, ten at most.
#'
#' **Output.** At most `output_bytes` of the capability's limits are kept, half of them from the
#' start and half from the end. `output` is that as text: bytes that are no UTF-8 are replaced and
#' counted, escape sequences are left out, control characters other than tab and line ends stand as
#' their pictures (a NUL byte as U+2400). `output_raw` has the bytes.
#'
#' @inheritParams rho_read
#' @param command One string. Longer than about 128 KiB it is refused by the system (`SpawnFailed`);
#'   write it to a file then, and run that.
#' @param timeout Seconds, or `NULL` for the capability's limit, which also bounds what is given.
#' @param stdin One string, or a raw vector, for the command's standard input. `NULL`: an input at
#'   its end.
#' @param on_output A function that is given the text of the output as it arrives, at most 40 times
#'   a second, or `NULL`. The command does not wait for it: what it is too slow for is left out
#'   with a note. An error in it ends the command.
#' @param spill Whether all of the output (up to 1 GiB) is kept in a file that only this user can
#'   read. `spilled` names it; the file verbs can read it, and it goes with the capability.
#' @param ... For `rho_bash_async()`: the other arguments of `rho_bash()`.
#' @param x A promise from `rho_bash_async()`.
#' @return [RhoDenied], [RhoFailed] when nothing was run (`SpawnFailed` with `stage` and `errno`;
#'   `Cancelled` before the start; `RootGone`, `TooLarge` and `CarveOut` when a confinement could
#'   not be planned), or a value of class `RhoCommandResult` with the properties
#' \describe{
#'   \item{`output`, `output_raw`}{what was kept of the output, as one string and as a raw vector}
#'   \item{`ended`}{`"exited"`, `"signalled"`, `"timed_out"`, `"cancelled"`, or `"supervisor_lost"`
#'     when what owns the processes was killed, by the command itself perhaps}
#'   \item{`exit_status`}{the status of the first process; `NA` when it left none}
#'   \item{`signal`}{the signal that ended the first process; `NA` when none did}
#'   \item{`timed_out`, `cancelled`}{`TRUE` or `FALSE`}
#'   \item{`found`, `killed`}{how many processes were there beside the first one when the tree was
#'     to end, and how many were killed}
#'   \item{`survivors`}{the numbers of processes that could not be ended}
#'   \item{`signals`}{a data frame of the signals that were sent: `signal`, to how many `processes`,
#'     `after` how many seconds}
#'   \item{`carve_outs`}{a data frame of the names that a deny or protect pattern covers and that a
#'     confined command made, replaced or removed: `path` below its root, `pattern`, `effect`
#'     (`"deny"` or `"protect"`), `fate` (`"kept"` in the quarantine, a directory beside `TMPDIR`
#'     that stays when it holds something; `"aside"`: it has another name in its own directory,
#'     because the quarantine is on another file system and it is too large to be copied; `"left"`
#'     where it could not be moved; `"replaced"` when it was there before and is another object now,
#'     leads to one, or was moved here from another covered name: by git or an editor outside, or
#'     by the command once one of these had opened it; a file with several names, or on a file
#'     system that does not tell when it was made, also when it was changed; `"gone"`),
#'     `kept_as` (its new name)}
#'   \item{`quarantine`}{the directory where what was `"kept"` is, or `NA`. To have it back, move it
#'     yourself, after a look at it}
#'   \item{`bytes_total`, `bytes_kept`, `bytes_head`, `bytes_invalid`}{bytes of the output; those
#'     that were kept; those of them that are from its start; those that were no UTF-8}
#'   \item{`duration`}{seconds from the start to the end of the first process}
#'   \item{`spilled`, `spilled_bytes`}{the path of the file with the output, or `NA`; how many
#'     bytes it has: fewer than `bytes_total` where the disk was full, or beyond 1 GiB}
#'   \item{`enforced_by`}{a list: `mechanism` (`"os"`, or `"none"` for unrestricted commands),
#'     `kernel` (what of the kernel did it), `restrictions` (`"new_names"`, `"listing"`: what the
#'     command could not do in directories that hold a carve-out, where the host offers no mounts),
#'     `gaps` (what is not covered)}
#'   \item{`receipt`}{a [RhoReceipt]}
#' }
#' `rho_is_ok()` of it is `TRUE` for the exit status 0, and `rho_unwrap()` gives its output then.
#'
#' `rho_bash_async()`: a promise of the same, which needs the package promises. `rho_bash_cancel()`:
#' invisibly whether the command still ran.
#' @inheritSection rho_read Errors
#' @family verbs
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' capability <- rho_project_capability(
#'   project,
#'   process = rho_process_unrestricted(), network = rho_network_host()
#' )
#' rho_bash(capability, "echo hello; exit 3")
#' rho_bash(capability, "sleep 60 & sleep 60", timeout = 0.2)@ended
#' @export
rho_bash <- function(
  capability,
  command,
  timeout = NULL,
  stdin = NULL,
  on_output = NULL,
  spill = FALSE
) {
  as_outcome(
    start_command(capability, command, timeout, stdin, on_output, spill),
    on_output = on_output
  )
}

#' @rdname rho_bash
#' @export
rho_bash_async <- function(capability, command, ...) {
  check_package("promises", "rho_bash_async()")
  more <- list(...)
  check_named(more, c("timeout", "stdin", "on_output", "spill"))
  started <- start_command(
    capability,
    command,
    more$timeout,
    more$stdin,
    more$on_output,
    if (is.null(more$spill)) FALSE else more$spill
  )
  async_outcome(started, more$on_output)
}

#' @rdname rho_bash
#' @export
rho_bash_cancel <- function(x) {
  wanted <- "a promise that rho_bash_async() gave"
  if (missing(x)) {
    abort_missing("x", wanted)
  }
  cancel <- attr(x, "rho_cancel", exact = TRUE)
  if (!is.function(cancel)) {
    abort_type(x, "x", wanted)
  }
  invisible(cancel())
}

start_command <- function(capability, command, timeout, stdin, on_output, spill) {
  if (!is.null(timeout)) {
    timeout <- check_number(
      timeout,
      "timeout",
      least = 0.001,
      most = 10^9,
      whole = FALSE,
      infinite = TRUE
    )
  }
  if (!is.null(stdin)) {
    stdin <- check_content(stdin, "stdin")
  }
  if (!is.null(on_output) && !is.function(on_output)) {
    abort_type(on_output, "on_output", "a function or NULL")
  }
  # An interrupt between the start and the hand-over would leave a command that nobody waits for.
  suspendInterrupts(core_bash(
    capability_handle(capability),
    "rho_bash",
    "user",
    check_string(command, "command", "one string that is not empty", empty = FALSE),
    timeout,
    stdin,
    check_flag(spill, "spill"),
    !is.null(on_output)
  ))
}

one_path_or_na <- function(value) {
  if (is.object(value) || !is.character(value) || length(value) != 1L) "must be one path or NA"
}

#' @rdname rho_bash
#' @format NULL
#' @usage NULL
#' @export
RhoCommandResult <- rho_class(
  "RhoCommandResult",
  parent = RhoResult,
  properties = list(
    output = property_string(""),
    output_raw = S7::new_property(S7::class_raw, default = raw(), validator = function(value) {
      if (is.object(value) || !is.raw(value)) "must be a raw vector"
    }),
    ended = S7::new_property(S7::class_character, default = "exited", validator = function(value) {
      ends <- c("exited", "signalled", "timed_out", "cancelled", "supervisor_lost")
      if (is.object(value) || !is.character(value) || length(value) != 1L || !value %in% ends) {
        paste("must be one of", paste0("\"", ends, "\"", collapse = ", "))
      }
    }),
    exit_status = property_number_or_na(),
    signal = property_number_or_na(),
    timed_out = property_flag(FALSE),
    cancelled = property_flag(FALSE),
    found = property_number(0),
    killed = property_number(0),
    survivors = S7::new_property(
      S7::class_numeric,
      default = numeric(),
      validator = function(value) {
        if (is.object(value) || !is.numeric(value) || anyNA(value)) "must be numbers of processes"
      }
    ),
    signals = S7::new_property(S7::class_data.frame, getter = function(self) {
      sent <- command_facts(self)$signals
      column <- function(name) vapply(sent, function(item) as.double(item[[name]]), 0)
      data.frame(
        signal = column("signal"),
        processes = column("processes"),
        after = column("after_us") / 1e6
      )
    }),
    carve_outs = S7::new_property(S7::class_data.frame, getter = function(self) {
      made <- command_facts(self)$carve_outs
      column <- function(name) {
        vapply(made, function(item) if (is.null(item[[name]])) NA_character_ else item[[name]], "")
      }
      data.frame(
        path = column("path"),
        pattern = column("pattern"),
        effect = column("effect"),
        fate = column("fate"),
        kept_as = column("kept_as")
      )
    }),
    bytes_total = property_number(0),
    bytes_kept = property_number(0),
    bytes_head = property_number(0),
    bytes_invalid = property_number(0),
    masked = property_number(0),
    duration = property_number(0),
    spilled = S7::new_property(
      S7::class_character,
      default = NA_character_,
      validator = one_path_or_na
    ),
    spilled_bytes = property_number(0),
    quarantine = S7::new_property(
      S7::class_character,
      default = NA_character_,
      validator = one_path_or_na
    ),
    enforced_by = S7::new_property(S7::class_list, getter = function(self) {
      receipt <- self@receipt
      if (is.null(receipt)) list() else receipt@enforced_by
    })
  )
)

# What the receipt says of a command, which a result that somebody made by hand does not have.
command_facts <- function(result) {
  receipt <- result@receipt
  if (is.null(receipt)) list() else receipt@command
}

# A command's end in words, without its status where that is 0.
ended_words <- function(x) {
  first <- if (!is.na(x@exit_status)) {
    sprintf("exit status %s", digits(x@exit_status))
  } else if (!is.na(x@signal)) {
    signal_words(x@signal)
  } else {
    "status unknown"
  }
  switch(x@ended,
    timed_out = paste("timed out,", first),
    cancelled = paste("cancelled,", first),
    supervisor_lost = paste("supervisor lost,", first),
    first
  )
}

# Signals whose numbers are the same on Linux and macOS.
signal_words <- function(signal) {
  names <- c(
    HUP = 1, INT = 2, QUIT = 3, ILL = 4, TRAP = 5, ABRT = 6, FPE = 8, KILL = 9, SEGV = 11,
    PIPE = 13, ALRM = 14, TERM = 15, XCPU = 24, XFSZ = 25
  )
  name <- names(names)[match(signal, names)]
  if (is.na(name)) {
    return(sprintf("signal %s", digits(signal)))
  }
  sprintf("signal %s (SIG%s)", digits(signal), name)
}

command_worked <- function(x) identical(x@ended, "exited") && identical(as.double(x@exit_status), 0)

S7::method(format, RhoCommandResult) <- function(x, ...) {
  lines <- end_lines(x@output, 10L, whole = x@bytes_kept == x@bytes_total)
  enforced <- x@enforced_by
  c(
    sprintf(
      "<RhoCommandResult> %s, %s seconds, %s of output",
      ended_words(x),
      format(round(x@duration, 3), scientific = FALSE),
      bytes_words(x@bytes_total)
    ),
    if (length(lines) > 0L) paste0("  ", lines),
    if (x@bytes_kept < x@bytes_total) {
      sprintf(
        "# x@output has %s of it, from both ends%s",
        bytes_words(x@bytes_kept),
        if (is.na(x@spilled)) "; spill = TRUE keeps all in a file" else ""
      )
    } else if (attr(lines, "cut")) {
      "# x@output has all of it"
    },
    if (x@killed > 0 || x@found > 0) {
      sprintf(
        "# ended with it: %s%s",
        count_words(x@found, "more process"),
        if (x@killed > 0) sprintf(" (SIGKILL was sent to %s)", digits(x@killed)) else ""
      )
    },
    if (length(x@survivors) > 0L) {
      sprintf("# still running: %s", paste(digits(x@survivors), collapse = ", "))
    },
    carve_out_words(x),
    if (!is.na(x@spilled)) {
      what <- if (x@spilled_bytes < x@bytes_total) bytes_words(x@spilled_bytes) else "all"
      sprintf("# %s of the output: %s", what, x@spilled)
    },
    if (length(enforced) > 0L) enforced_words(enforced)
  )
}

# What became of the names that a pattern covers.
carve_out_words <- function(x) {
  made <- utils::head(x@carve_outs, 20L)
  more <- nrow(x@carve_outs) - nrow(made)
  became <- c(
    kept = "moved out",
    aside = "renamed, it is too large to be moved out: look at it",
    left = "still there: look at it",
    replaced = "changed meanwhile: look at it",
    gone = "is gone"
  )
  c(
    sprintf(
      "# %s: %s (\"%s\")",
      short_ends(made$path), became[made$fate], short_ends(made$pattern)
    ),
    if (more > 0L) sprintf("# and %s more, see x@carve_outs", digits(more)),
    if (!is.na(x@quarantine)) sprintf("# what was moved out is in %s", x@quarantine)
  )
}

comment_lines <- function(lines) strwrap(lines, width = 98L, prefix = "# ")

# Names as long as a command likes, by their ends.
short_ends <- function(names, most = 150L) {
  size <- nchar(names)
  ifelse(size > most, paste0("...", substring(names, size - most + 1L)), names)
}

enforced_words <- function(enforced) {
  if (is.character(enforced$statement)) {
    return(paste("#", enforced$statement))
  }
  by <- enforced$mechanism
  if (length(enforced$kernel) > 0L) {
    by <- paste(enforced$kernel, collapse = ", ")
  }
  gaps <- enforced$gaps
  comment_lines(c(
    paste("enforced by", by),
    if (length(gaps) > 0L) paste("not covered:", paste(gaps, collapse = ", "))
  ))
}
