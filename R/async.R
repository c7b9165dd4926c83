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

async_jobs <- new.env(parent = emptyenv())
async_jobs$running <- list()
async_jobs$scheduled <- FALSE

# How often the loop looks, seconds: soon after a start, because most commands are short.
async_soon <- 0.002
async_often <- 0.02

async_watch <- function(running) {
  async_jobs$running <- c(async_jobs$running, list(running))
  running$started <- proc.time()[["elapsed"]]
  async_schedule(async_soon)
}

async_schedule <- function(after) {
  if (!async_jobs$scheduled) {
    async_jobs$scheduled <- TRUE
    later::later(async_look, after)
  }
}

async_look <- function() {
  async_jobs$scheduled <- FALSE
  # Another one is scheduled whatever happens here: a promise must not stay open for ever.
  on.exit(
    if (length(async_jobs$running) > 0L) {
      now <- proc.time()[["elapsed"]]
      young <- any(vapply(async_jobs$running, function(one) now - one$started < 0.1, NA))
      async_schedule(if (young) async_soon else async_often)
    }
  )
  ended <- vapply(async_jobs$running, async_step, NA)
  async_jobs$running <- async_jobs$running[!ended]
}

# Looks after one command; whether it has ended.
async_step <- function(running) {
  job <- running$job
  ended <- check_boundary(core_job_wait(job, 0, FALSE))
  now <- proc.time()[["elapsed"]]
  if (!is.null(running$on_output) && (ended || now - running$told >= output_interval)) {
    running$told <- now
    tryCatch(
      tell_output(job, running$on_output),
      error = function(cnd) {
        # The command ends, and the promise with this error.
        running$on_output <- NULL
        running$error <- cnd
        check_boundary(core_job_cancel(job))
      }
    )
  }
  if (!ended) {
    if (!is.null(running$abort) && isTRUE(running$abort())) {
      check_boundary(core_job_cancel(job))
    }
    return(FALSE)
  }
  running$job <- NULL
  value <- suspendInterrupts(check_boundary(core_job_take(job)))
  if (!is.null(running$error)) {
    running$reject(running$error)
  } else {
    tryCatch(
      running$resolve(running$convert(new_outcome(value))),
      error = function(cnd) running$reject(cnd)
    )
  }
  TRUE
}
