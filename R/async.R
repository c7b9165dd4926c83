# Commands that R does not wait for: promises, and one loop that looks after all of them.

# The promise of what a call into the core gave, with a function that ends its command.
async_outcome <- function(started, on_output = NULL, abort = NULL, convert = identity) {
  value <- suspendInterrupts(started)
  if (!is.null(names(value))) {
    check_boundary(value)
  }
  if (value[[1L]] != "running") {
    promise <- promises::promise_resolve(convert(new_outcome(value)))
    return(structure(promise, rho_cancel = function() FALSE))
  }
  job <- value[[2L]]
  running <- new.env(parent = emptyenv())
  running$job <- job
  running$on_output <- on_output
  running$abort <- abort
  running$convert <- convert
  running$told <- -Inf
  promise <- promises::promise(function(resolve, reject) {
    running$resolve <- resolve
    running$reject <- reject
  })
  async_watch(running)
  structure(promise, rho_cancel = function() {
    live <- !is.null(running$job)
    if (live) {
      check_boundary(core_job_cancel(job))
    }
    live
  })
}

# The commands that run, each under a number of its own: what is told of one may start others, run the
# loop, or fail.
async_jobs <- new.env(parent = emptyenv())
async_state <- new.env(parent = emptyenv())
async_state$count <- 0
async_state$scheduled <- FALSE

# How often the loop looks, seconds: soon after a start, because most commands are short.
async_soon <- 0.002
async_often <- 0.02

async_watch <- function(running) {
  running$started <- proc.time()[["elapsed"]]
  running$busy <- FALSE
  async_state$count <- async_state$count + 1
  async_jobs[[format(async_state$count, scientific = FALSE)]] <- running
  async_schedule(async_soon)
}

async_schedule <- function(after) {
  if (!async_state$scheduled) {
    async_state$scheduled <- TRUE
    later::later(async_look, after)
  }
}

async_look <- function() {
  async_state$scheduled <- FALSE
  # Another look is scheduled whatever happens here: a promise must not stay open for ever.
  on.exit({
    names <- ls(async_jobs)
    if (length(names) > 0L) {
      now <- proc.time()[["elapsed"]]
      young <- any(vapply(names, function(name) now - async_jobs[[name]]$started < 0.1, NA))
      async_schedule(if (young) async_soon else async_often)
    }
  })
  for (name in ls(async_jobs)) {
    async_step(name)
  }
}

# Looks after one command, which goes out of the list before its promise is settled.
async_step <- function(name) {
  running <- async_jobs[[name]]
  # A callback that runs the event loop may have been faster, or be the one that waits for us.
  if (is.null(running) || running$busy) {
    return(invisible())
  }
  running$busy <- TRUE
  on.exit(running$busy <- FALSE)
  job <- running$job
  # What is wrong with one command, or an interrupt while it is told of, must not touch the others.
  value <- tryCatch(
    {
      ended <- check_boundary(core_job_wait(job, 0, FALSE))
      async_tell(running, ended)
      if (ended) suspendInterrupts(check_boundary(core_job_take(job)))
    },
    error = function(cnd) async_fail(running, cnd),
    interrupt = function(cnd) async_fail(running, cnd)
  )
  if (is.null(value)) {
    return(invisible())
  }
  rm(list = name, envir = async_jobs)
  running$job <- NULL
  if (!is.null(running$error)) {
    return(running$reject(running$error))
  }
  tryCatch(
    running$resolve(running$convert(new_outcome(value))),
    error = function(cnd) running$reject(cnd)
  )
}

async_tell <- function(running, ended) {
  now <- proc.time()[["elapsed"]]
  if (!is.null(running$on_output) && (ended || now - running$told >= output_interval)) {
    running$told <- now
    tell_output(running$job, running$on_output)
  }
  if (!ended && !is.null(running$abort) && isTRUE(running$abort())) {
    check_boundary(core_job_cancel(running$job))
  }
}

# The command ends, and then its promise with what went wrong.
async_fail <- function(running, cnd) {
  running$on_output <- running$abort <- NULL
  if (is.null(running$error)) {
    running$error <- cnd
  }
  check_boundary(core_job_cancel(running$job))
  NULL
}
