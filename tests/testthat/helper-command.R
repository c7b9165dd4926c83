# Commands, and an independent look at what they left.

# A capability whose commands run with the authority of this user.
command_capability <- function(tree, ...) {
  tree_capability(
    tree,
    process = rho_process_unrestricted(),
    network = rho_network_host(),
    ...
  )
}

confined_capability <- function(tree, ...) {
  tryCatch(
    tree_capability(tree, process = rho_process_confined(), ...),
    rhocap_error_not_enforceable = function(cnd) {
      skip_unless_host("confined", FALSE, conditionMessage(cnd))
    }
  )
}

# The text of a command that sleeps under the name `mark`, which is found whatever becomes of its
# parents, session and environment.
marked_sleep <- function(mark) sprintf("exec -a %s sleep 60", mark)

new_mark <- function() {
  marks$count <- marks$count + 1L
  sprintf("rhocap-test-%d-%d.", Sys.getpid(), marks$count)
}

marks <- new.env()
marks$count <- 0L

# The processes that have a mark among their arguments and are no zombies.
marked_processes <- function(mark) {
  needs_proc()
  pids <- grep("^[0-9]+$", list.files("/proc"), value = TRUE)
  found <- vapply(pids, function(pid) {
    # A warning that is caught would leave the connection open.
    arguments <- tryCatch(
      suppressWarnings(readBin(file.path("/proc", pid, "cmdline"), "raw", 65536L)),
      error = function(cnd) raw()
    )
    arguments[arguments == as.raw(0)] <- as.raw(0x20)
    grepl(mark, rawToChar(arguments), fixed = TRUE)
  }, NA)
  pids[found]
}

# Waits until a condition holds, at most so many seconds.
wait_until <- function(condition, most = 120) {
  deadline <- Sys.time() + most
  # Once is enough: at an execve(), a process shows no arguments.
  while (!(met <- condition()) && Sys.time() < deadline) Sys.sleep(0.02)
  met
}

# Runs the event loop until a promise is settled; its value or its error.
settled <- function(promise, most = 120) {
  state <- new.env()
  promises::then(
    promise,
    onFulfilled = function(value) state$value <- value,
    onRejected = function(cnd) state$value <- cnd
  )
  deadline <- Sys.time() + most
  while (is.null(state$value) && Sys.time() < deadline) later::run_now(0.05)
  state$value
}

# Runs code with environment variables set in R.
with_variables <- function(variables, code) {
  before <- Sys.getenv(names(variables), unset = NA, names = TRUE)
  do.call(Sys.setenv, as.list(variables))
  on.exit({
    set <- before[!is.na(before)]
    if (length(set) > 0L) do.call(Sys.setenv, as.list(set))
    Sys.unsetenv(names(before)[is.na(before)])
  })
  force(code)
}
