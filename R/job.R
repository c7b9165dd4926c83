# Work that takes long goes on in the core, on a thread of its own. R waits in slices, so that
# Ctrl-C works.

await_job <- function(job, on_output = NULL) {
  # An interrupt, or any other way out, asks the work to end and waits until it has: a write has
  # then removed its temporary file, and of a command nothing is left. A second interrupt leaves the
  # work to end by itself. What it had come to before it was asked, a capability with its directory,
  # say, must not wait for the garbage collector.
  on.exit({
    check_boundary(core_job_cancel(job))
    wait_for_job(job)
    check_boundary(core_job_drop(job))
  })
  if (!is.null(on_output)) {
    while (!check_boundary(core_job_wait(job, 0.05, TRUE))) {
      tell_output(job, on_output)
      # At most so often; what arrives meanwhile comes together.
      check_boundary(core_job_wait(job, output_interval, FALSE))
      Sys.sleep(0)
    }
    tell_output(job, on_output)
  }
  wait_for_job(job)
  # An interrupt here would lose the result of what is done.
  value <- suspendInterrupts(check_boundary(core_job_take(job)))
  on.exit()
  value
}

# Seconds between two pieces of output.
output_interval <- 0.025

tell_output <- function(job, on_output) {
  text <- check_boundary(core_job_output(job))
  if (nzchar(text)) {
    # What the user's function says of its error goes where the user's own code looks.
    tryCatch(on_output(text), error = function(cnd) stop(rho_sanitize(cnd)))
  }
}

wait_for_job <- function(job) {
  while (!check_boundary(core_job_wait(job, 0.05, FALSE))) {
    # Sys.sleep() looks for a user's interrupt; a loop of compiled calls alone does not.
    Sys.sleep(0)
  }
}
