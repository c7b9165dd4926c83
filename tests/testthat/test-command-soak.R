# Many calls in one R: what it holds after them is what it held before.
#
# `RHOCAP_SOAK` is how many calls, here and in the supervisor's own tests; 10000 is the full size.

# Runs in a process of its own, where nothing else opens, forks, allocates or has files beside its
# temporary directory. Gives what was held before and after the calls, and what of them went wrong.
soak <- function(root, calls) {
  entries <- function(path, recursive = FALSE) {
    list.files(path, all.files = TRUE, no.. = !recursive, recursive = recursive)
  }
  status <- function(name) {
    line <- grep(paste0("^", name, ":"), readLines("/proc/self/status"), value = TRUE)
    as.numeric(gsub("[^0-9]", "", line))
  }
  held <- function() {
    invisible(gc())
    children <- lapply(Sys.glob("/proc/self/task/*/children"), scan, quiet = TRUE)
    list(
      descriptors = length(entries("/proc/self/fd")),
      threads = status("Threads"),
      # R has no others: one that is left is a zombie, or was never waited for.
      children = length(unlist(children)),
      beside = entries(dirname(tempdir()))
    )
  }
  settled <- function(promise) {
    state <- new.env()
    keep <- function(value) state$value <- value
    promises::then(promise, onFulfilled = keep, onRejected = keep)
    while (is.null(state$value)) later::run_now(0.05)
    state$value
  }
  cancelled <- function(capability, command, after) {
    promise <- rho_bash_async(capability, command)
    later::run_now(after)
    rho_bash_cancel(promise)
    settled(promise)
  }
  # The end that each must have, and its status or signal.
  kinds <- list(
    list("exited", 0, function(x) rho_bash(x, "f=$(mktemp); cat f > $f; rm $f")),
    list("exited", 3, function(x) rho_bash(x, "exit 3")),
    list("exited", 127, function(x) rho_bash(x, "nosuchcommand")),
    list("exited", 0, function(x) rho_bash(x, "seq 1 20000", spill = TRUE)),
    list("exited", 0, function(x) {
      rho_bash(x, "cat", stdin = "some input", on_output = function(text) NULL)
    }),
    list("exited", 0, function(x) rho_bash(x, "setsid -f sleep 60; (sleep 60) & true")),
    list("signalled", 15, function(x) rho_bash(x, "kill -TERM $$")),
    list("exited", 4, function(x) settled(rho_bash_async(x, "exit 4"))),
    list("cancelled", NULL, function(x) cancelled(x, "sleep 60", 0)),
    list("cancelled", NULL, function(x) cancelled(x, "setsid -f sleep 60; sleep 60", 0.02))
  )
  wrong <- function(result, kind) {
    if (!S7::S7_inherits(result, RhoCommandResult)) {
      # Cancelled before there was a command.
      return(kind[[1L]] != "cancelled" || !identical(result@code, "Cancelled"))
    }
    last <- if (is.na(result@signal)) result@exit_status else result@signal
    !identical(result@ended, kind[[1L]]) || length(result@survivors) > 0L ||
      (!is.null(kind[[2L]]) && !identical(as.double(last), kind[[2L]]))
  }
  policies <- list(list(rho_process_unrestricted(), rho_network_host()))
  if ("confined" %in% rho_host_report()@facts$processes) {
    policies <- c(policies, list(list(rho_process_confined(), rho_network_none())))
  }
  problems <- character()
  # Every hundred calls have a capability of their own, as users make one a project.
  run <- function(calls) {
    for (start in seq(1, calls, by = 100)) {
      policy <- policies[[(start %/% 100) %% length(policies) + 1L]]
      capability <- rho_host_capability(
        write = root,
        cwd = root,
        process = policy[[1L]],
        network = policy[[2L]],
        limits = rho_limits(grace = 0.1)
      )
      private <- rhocap:::capability_facts(capability)$private
      spilled <- character()
      for (number in seq(start, min(start + 99, calls))) {
        kind <- kinds[[(number - 1) %% length(kinds) + 1]]
        result <- kind[[3L]](capability)
        if (wrong(result, kind)) {
          problems <<- c(problems, paste(c(number, format(result)), collapse = " "))
        } else if (S7::S7_inherits(result, RhoCommandResult) && !is.na(result@spilled)) {
          spilled <- c(spilled, basename(result@spilled))
        }
      }
      # What was spilled goes with the capability; a command leaves nothing else there.
      left <- entries(private, recursive = TRUE)
      problems <<- c(problems, setdiff(left, file.path("output", spilled)))
    }
  }
  run(calls %/% 5)
  before <- held()
  memory <- status("VmRSS")
  took <- system.time(run(calls))[["elapsed"]]
  # A thread that gave its result may still be about to end.
  deadline <- Sys.time() + 20
  while (!identical(after <- held(), before) && Sys.time() < deadline) Sys.sleep(0.05)
  list(
    before = before,
    after = after,
    memory = c(before = memory, after = status("VmRSS")),
    receipts = sum(nchar(utils::tail(rho_receipts()$json, calls), "bytes")) / 1024,
    policies = length(policies),
    took = took,
    problems = problems
  )
}

test_that("many commands leave R as it was: descriptors, threads, children, files, memory", {
  needs("promises")
  needs_proc()
  calls <- as.integer(Sys.getenv("RHOCAP_SOAK", "200"))
  tree <- new_tree()
  temporary <- file.path(tree$base, "temporary")
  dir.create(temporary)
  ran <- in_child(
    soak,
    list(tree$root, calls),
    timeout = 120 + calls,
    variables = c(TMPDIR = temporary)
  )
  message(sprintf(
    "%d commands under %d policies in %.0f s: memory %.0f KiB, then %.0f, receipts %.0f of them",
    calls, ran$policies, ran$took, ran$memory[["before"]], ran$memory[["after"]], ran$receipts
  ))
  for (when in c("before", "after")) {
    message(when, ": ", fact_inline(ran[[when]]))
  }
  expect_identical(ran$problems, character())
  expect_identical(ran$after, ran$before)
  expect_identical(ran$after$children, 0L)
  # What grows is what is kept on purpose: the receipts. The rest is room of the allocators.
  expect_lt(ran$memory[["after"]] - ran$memory[["before"]], 2 * ran$receipts + 8 * 1024)
})
