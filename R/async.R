# Commands that R does not wait for: promises, and one loop that looks after all of them.

# The promise of what a call into the core gave, with a function that ends its command.
async_outcome <- function(started, on_output = NULL, abort = NULL, convert = identity) {
  value <- from_core(started)
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

# The commands that run, each under a number of its own: what is told of one may start others, run
# the loop, or fail. Each belongs to the event loop that was current when it was started.
async_jobs <- new.env(parent = emptyenv())
async_state <- new.env(parent = emptyenv())
async_state$count <- 0
# The loops in which a look is scheduled, by their numbers.
async_state$scheduled <- character()

# How often a loop looks, seconds: soon after a start, because most commands are short.
async_soon <- 0.002
async_often <- 0.02

async_watch <- function(running) {
  async_forget_lost()
  running$started <- proc.time()[["elapsed"]]
  running$busy <- FALSE
  running$loop <- later::current_loop()
  async_state$count <- async_state$count + 1
  async_jobs[[format(async_state$count, scientific = FALSE)]] <- running
  async_schedule(running$loop, async_soon)
}

loop_name <- function(loop) format(loop$id)

# A loop that was destroyed takes its looks along: its commands end, with nobody to tell.
async_forget_lost <- function() {
  for (name in ls(async_jobs)) {
    running <- async_jobs[[name]]
    if (!later::exists_loop(running$loop)) {
      check_boundary(core_job_cancel(running$job))
      rm(list = name, envir = async_jobs)
    }
  }
}

async_schedule <- function(loop, after) {
  if (!loop_name(loop) %in% async_state$scheduled) {
    async_state$scheduled <- c(async_state$scheduled, loop_name(loop))
    later::later(function() async_look(loop), after, loop = loop)
  }
}

async_look <- function(loop) {
  async_state$scheduled <- setdiff(async_state$scheduled, loop_name(loop))
  ours <- function() {
    Filter(function(name) identical(async_jobs[[name]]$loop$id, loop$id), ls(async_jobs))
  }
  # Another look is scheduled whatever happens here: a promise must not stay open for ever.
  on.exit({
    names <- ours()
    if (length(names) > 0L) {
      now <- proc.time()[["elapsed"]]
      young <- any(vapply(names, function(name) now - async_jobs[[name]]$started < 0.1, NA))
      async_schedule(loop, if (young) async_soon else async_often)
    }
  })
  for (name in ours()) {
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
  value <- suspendInterrupts(tryCatch(
    {
      ended <- check_boundary(core_job_wait(job, 0, FALSE))
      async_tell(running, ended)
      if (ended) check_boundary(core_job_take(job))
    },
    # The core has no result to give, and will have none.
    error = identity
  ))
  if (is.null(value)) {
    return(invisible())
  }
  rm(list = name, envir = async_jobs)
  running$job <- NULL
  if (inherits(value, "error")) {
    return(running$reject(value))
  }
  if (!is.null(running$error)) {
    return(running$reject(running$error))
  }
  tryCatch(
    running$resolve(running$convert(new_outcome(value))),
    error = function(cnd) running$reject(cnd)
  )
}

# Calls what others gave us. What is wrong with it, or an interrupt of it, ends this command, then
# its promise, and touches no other.
async_tell <- function(running, ended) {
  failed <- function(cnd) {
    running$on_output <- running$abort <- NULL
    running$error <- cnd
    check_boundary(core_job_cancel(running$job))
  }
  tryCatch(
    allowInterrupts({
      now <- proc.time()[["elapsed"]]
      if (!is.null(running$on_output) && (ended || now - running$told >= output_interval)) {
        running$told <- now
        tell_output(running$job, running$on_output)
      }
      if (!ended && !is.null(running$abort) && isTRUE(running$abort())) {
        check_boundary(core_job_cancel(running$job))
      }
    }),
    error = failed,
    interrupt = failed
  )
}
