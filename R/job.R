# Work that takes long goes on in the core, on a thread of its own. R waits in slices, so that
# Ctrl-C works.

await_job <- function(job) {
  # An interrupt, or any other way out, asks the work to end and waits until it has: a write has
  # then removed its temporary file. A second interrupt leaves the work to end by itself.
  on.exit({
    check_boundary(core_job_cancel(job))
    wait_for_job(job)
  })
  wait_for_job(job)
  # An interrupt here would lose the result of what is done.
  value <- suspendInterrupts(check_boundary(core_job_take(job)))
  on.exit()
  value
}

wait_for_job <- function(job) {
  while (!check_boundary(core_job_wait(job, 0.05))) {
    # Sys.sleep() looks for a user's interrupt; a loop of compiled calls alone does not.
    Sys.sleep(0)
  }
}
