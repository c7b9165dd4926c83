# Commands that R does not wait for.

test_that("a command becomes a promise of its result", {
  needs("promises")
  capability <- command_capability(new_tree())
  promise <- rho_bash_async(capability, "sleep 0.2; echo hi; exit 3", timeout = 10)
  expect_true(promises::is.promise(promise))
  result <- settled(promise)
  expect_outcome(result, RhoCommandResult)
  expect_identical(list(result@output, result@exit_status), list("hi\n", 3))
  denied <- settled(rho_bash_async(tree_capability(new_tree()), "ls"))
  expect_outcome(denied, RhoDenied, "ProcessNone")
  expect_error(rho_bash_async(capability, "ls", colour = 1), class = "rhocap_error_value")
  expect_error(rho_bash_async(capability, ""), class = "rhocap_error_value")
})

test_that("cancelling ends the tree, and is no error twice or too late", {
  needs("promises")
  capability <- command_capability(new_tree())
  mark <- new_mark()
  command <- sprintf("echo early; setsid -f bash -c '%s'; sleep 60", marked_sleep(mark))
  promise <- rho_bash_async(capability, command)
  expect_true(wait_until(function() length(marked_processes(mark)) > 0L))
  expect_true(rho_bash_cancel(promise))
  rho_bash_cancel(promise)
  result <- settled(promise)
  expect_identical(list(result@ended, result@output), list("cancelled", "early\n"))
  expect_true(result@cancelled)
  expect_identical(result@receipt@code, "Cancelled")
  expect_identical(marked_processes(mark), character())
  expect_false(rho_bash_cancel(promise))
})

test_that("a command that is cancelled at once has ended or never began", {
  needs("promises")
  tree <- new_tree()
  capability <- command_capability(tree)
  for (index in 1:20) {
    promise <- rho_bash_async(capability, "sleep 60")
    rho_bash_cancel(promise)
    expect_identical(settled(promise)@ended, "cancelled")
  }
})

test_that("output is told while R goes on, and an error of who is told is the promise's", {
  needs("promises")
  capability <- command_capability(new_tree())
  told <- character()
  on_output <- function(text) told <<- c(told, text)
  result <- settled(rho_bash_async(
    capability, "echo a; sleep 0.3; echo b",
    on_output = on_output
  ))
  expect_identical(paste(told, collapse = ""), "a\nb\n")
  mark <- new_mark()
  failed <- settled(rho_bash_async(
    capability,
    sprintf("echo x; %s", marked_sleep(mark)),
    on_output = function(text) stop("mine")
  ))
  expect_identical(conditionMessage(failed), "mine")
  expect_identical(marked_processes(mark), character())
})

test_that("who is told of one command may start others, run the loop, or fail", {
  needs("promises")
  capability <- command_capability(new_tree())
  inner <- list()
  first <- rho_bash_async(
    capability,
    "echo a; sleep 0.2; echo b",
    on_output = function(text) {
      inner <<- c(inner, list(rho_bash_async(capability, "echo inner")))
      later::run_now(0.05)
    }
  )
  bad <- rho_bash_async(capability, "echo x; sleep 60", on_output = function(text) stop("mine"))
  stopped <- rho_bash_async(capability, "echo x; sleep 60", on_output = function(text) {
    signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  })
  after <- rho_bash_async(capability, "sleep 0.5; echo after")
  expect_identical(settled(first)@output, "a\nb\n")
  expect_identical(settled(after)@output, "after\n")
  expect_identical(conditionMessage(settled(bad)), "mine")
  expect_s3_class(settled(stopped), "interrupt")
  expect_gte(length(inner), 1L)
  for (promise in inner) {
    expect_identical(settled(promise)@output, "inner\n")
  }
  expect_identical(ls(async_jobs), character())
})

test_that("a command of a private loop leaves those of others alone", {
  needs("promises")
  capability <- command_capability(new_tree())
  outer <- rho_bash_async(capability, "sleep 0.3; echo outer")
  inner <- NULL
  later::with_temp_loop({
    promises::then(rho_bash_async(capability, "echo inner"), function(value) inner <<- value@output)
    # Lost with its loop, and ended.
    rho_bash_async(capability, "sleep 60")
    wait_until(function() {
      later::run_now(0.02)
      !is.null(inner)
    })
  })
  expect_identical(inner, "inner\n")
  expect_identical(settled(outer)@output, "outer\n")
  expect_identical(settled(rho_bash_async(capability, "echo later"))@output, "later\n")
  expect_identical(ls(async_jobs), character())
})

test_that("50 commands at once leave R free, keep apart, and leave nothing", {
  needs("promises")
  tree <- new_tree()
  capability <- command_capability(tree)
  descriptors <- function() length(list.files("/proc/self/fd"))
  settled(rho_bash_async(capability, "true"))
  invisible(gc())
  open <- descriptors()
  # All of them wait for what R does beside them.
  ticks <- numeric()
  tick <- function() {
    ticks <<- c(ticks, proc.time()[["elapsed"]])
    if (length(ticks) == 20L) put(file.path(tree$root, "go"), "")
    if (length(ticks) < 2000L) later::later(tick, 0.01)
  }
  tick()
  values <- sprintf("value-%d", 1:50)
  wait <- "f=$(mktemp); echo %s > $f; until test -e go; do sleep 0.1; done; cat $f; rm $f"
  results <- lapply(values, function(value) {
    rho_bash_async(capability, sprintf(wait, value), timeout = 120)
  })
  started <- proc.time()[["elapsed"]]
  results <- lapply(results, settled)
  outputs <- vapply(results, function(result) result@output, "")
  expect_identical(outputs, paste0(values, "\n"))
  # The loop above starts them in one turn of the event loop, in which no timer can run.
  gaps <- diff(ticks[ticks > started])
  message(sprintf(
    "50 starts in %.0f ms; latency of a 10 ms timer beside them: median %.0f ms, longest %.0f ms",
    1000 * (started - ticks[[1L]]), 1000 * stats::median(gaps), 1000 * max(gaps)
  ))
  expect_identical(descriptors(), open)
  temporary <- file.path(capability_facts(capability)$private, "tmp")
  expect_identical(list.files(temporary), character())
})
