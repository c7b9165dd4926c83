# R is interrupted, killed, or ends: nothing of a command is left.

start_child <- function(tree, mark, after) {
  needs("callr")
  child <- callr::r_bg(
    function(root, command, after, library_paths) {
      .libPaths(library_paths)
      library(rhocap)
      capability <- rho_host_capability(
        write = root,
        cwd = root,
        process = rho_process_unrestricted(),
        network = rho_network_host()
      )
      environment(after) <- globalenv()
      tryCatch(after(capability, command), interrupt = function(cnd) {
        # The prompt is usable, and no zombie is left.
        again <- rho_bash(capability, "echo again")@output
        children <- suppressWarnings(readLines(sprintf(
          "/proc/self/task/%d/children", Sys.getpid()
        )))
        list("interrupted", again, children, utils::tail(rho_receipts()$code, 2L))
      })
    },
    list(
      tree$root,
      sprintf("setsid -f bash -c '%s'; sleep 60", marked_sleep(mark)),
      after,
      .libPaths()
    )
  )
  seen <- FALSE
  wait_until(function() {
    seen <<- seen || length(marked_processes(mark)) > 0L
    seen || !child$is_alive()
  })
  # Nothing would be left of what never ran.
  expect_true(seen)
  put(file.path(tree$root, "seen"), "")
  child
}

test_that("an interrupt ends the command with all that it started", {
  tree <- new_tree()
  mark <- new_mark()
  child <- start_child(tree, mark, function(capability, command) rho_bash(capability, command))
  on.exit(child$kill())
  child$interrupt()
  child$wait(120000)
  expect_false(child$is_alive())
  result <- child$get_result()
  expect_identical(result[1:2], list("interrupted", "again\n"))
  expect_identical(trimws(paste(result[[3L]], collapse = "")), "")
  expect_identical(result[[4L]], c("Cancelled", NA))
  expect_identical(marked_processes(mark), character())
})

test_that("when R is killed, crashes or quits, its commands end", {
  ways <- list(
    killed = list(
      function(capability, command) rho_bash(capability, command),
      function(child) child$kill()
    ),
    crashed = list(
      function(capability, command) rho_bash(capability, command),
      function(child) tools::pskill(child$get_pid(), 11L)
    ),
    quit = list(
      function(capability, command) {
        promise <- rho_bash_async(capability, command)
        while (!file.exists(file.path(capability@write, "seen"))) Sys.sleep(0.02)
        quit(save = "no")
      },
      function(child) NULL
    )
  )
  needs("promises")
  for (way in names(ways)) {
    tree <- new_tree()
    mark <- new_mark()
    child <- start_child(tree, mark, ways[[way]][[1L]])
    ways[[way]][[2L]](child)
    child$wait(120000)
    expect_false(child$is_alive())
    expect_true(wait_until(function() length(marked_processes(mark)) == 0L), label = way)
    child$kill()
  }
})

test_that("when R is killed its commands end, though a fork of R lives on", {
  tree <- new_tree()
  mark <- new_mark()
  child <- start_child(tree, mark, function(capability, command) {
    fork <- parallel::mcparallel(Sys.sleep(60))
    writeLines(as.character(fork$pid), file.path(capability@write, "fork"))
    rho_bash(capability, command)
  })
  fork <- as.integer(readLines(file.path(tree$root, "fork")))
  defer(function() tools::pskill(fork, 9L), environment())
  child$kill()
  expect_true(wait_until(function() length(marked_processes(mark)) == 0L))
  expect_true(dir.exists(file.path("/proc", fork)))
})

test_that("a command that kills R's process takes itself along", {
  tree <- new_tree()
  mark <- new_mark()
  child <- start_child(tree, mark, function(capability, command) {
    kill <- "until test -e seen; do sleep 0.02; done; kill -9 %d; sleep 60"
    rho_bash(capability, sub("sleep 60$", sprintf(kill, Sys.getpid()), command))
  })
  on.exit(child$kill())
  child$wait(120000)
  expect_false(child$is_alive())
  expect_true(wait_until(function() length(marked_processes(mark)) == 0L))
})

test_that("what a killed R left of private directories is swept by the next", {
  tree <- new_tree()
  mark <- new_mark()
  child <- start_child(tree, mark, function(capability, command) {
    private <- rhocap:::capability_facts(capability)$private
    writeLines(private, file.path(capability@write, "private"))
    rho_bash(capability, command)
  })
  private <- readLines(file.path(tree$root, "private"))
  child$kill()
  child$wait(120000)
  expect_true(dir.exists(private))
  # It counts as left after a minute; its lock goes with the last process that has it.
  Sys.setFileTime(private, Sys.time() - 3600)
  in_child(
    function(root) {
      invisible(rho_host_capability(
        read = root, cwd = root,
        process = rho_process_unrestricted(), network = rho_network_host()
      ))
    },
    list(tree$root)
  )
  expect_false(dir.exists(private))
})

# The installed package once more, so that its supervisor can be another.
copy_of_library <- function(env = parent.frame()) {
  library <- normalizePath(tempfile("library"), mustWork = FALSE)
  dir.create(library)
  defer(function() unlink(library, recursive = TRUE), env)
  file.copy(find.package("rhocap"), library, recursive = TRUE)
  library
}

test_that("an interrupt ends the making of a capability, and nothing of it is left", {
  needs("callr")
  skip_if_not(file.exists("/proc/self/task"))
  tree <- new_tree()
  library <- copy_of_library()
  program <- file.path(library, "rhocap", "bin", "rhocap-supervisor")
  # It takes what it is told, and never answers.
  unlink(program)
  file.copy(normalizePath(Sys.which("cat")), program)
  Sys.chmod(program, "0755", use_umask = FALSE)
  child <- callr::r_bg(
    function(root, library_paths) {
      .libPaths(library_paths)
      library(rhocap)
      children <- function() {
        files <- file.path("/proc/self/task", list.files("/proc/self/task"), "children")
        trimws(paste(suppressWarnings(unlist(lapply(files, readLines))), collapse = ""))
      }
      before <- children()
      made <- tryCatch(
        rho_host_capability(write = root, cwd = root, process = rho_process_confined()),
        interrupt = function(cnd) "interrupted"
      )
      left <- list.files(dirname(tempdir()), "^rhocap-private-")
      # The prompt is usable.
      again <- class(rho_host_capability(root, cwd = root))[[1L]]
      list(made, left, identical(children(), before), again)
    },
    list(tree$root, c(library, .libPaths())),
    env = c(callr::rcmd_safe_env(), TMPDIR = tree$outside)
  )
  on.exit(child$kill())
  private <- function() length(list.files(tree$outside, "^rhocap-private-")) > 0L
  expect_true(wait_until(private))
  Sys.sleep(0.5)
  begun <- Sys.time()
  child$interrupt()
  child$wait(60000)
  # Without an answer it would have gone on for 20 s.
  expect_lt(as.numeric(Sys.time() - begun, units = "secs"), 12)
  expect_identical(
    child$get_result(),
    list("interrupted", character(), TRUE, "rhocap::RhoHostCapability")
  )
})

test_that("a supervisor that is not what was installed is not run", {
  tree <- new_tree()
  library <- copy_of_library()
  results <- in_child(
    function(root, library) {
      program <- system.file("bin", "rhocap-supervisor", package = "rhocap")
      stopifnot(startsWith(program, library))
      make <- function() {
        rho_host_capability(
          write = root, cwd = root,
          process = rho_process_unrestricted(), network = rho_network_host()
        )
      }
      code <- function(capability) rho_bash(capability, "echo x > ran")@code
      kind <- function() tryCatch(class(make())[[1L]], error = function(cnd) class(cnd)[[1L]])
      held <- make()
      Sys.chmod(program, "0775", use_umask = FALSE)
      result <- list(writable = c(code(held), kind()))
      Sys.chmod(program, "0755", use_umask = FALSE)
      saved <- paste0(program, ".saved")
      file.copy(program, saved, copy.mode = TRUE)
      cat("#!/bin/sh\necho replaced\n", file = program)
      result$changed <- code(held)
      unlink(program)
      result$removed <- kind()
      # What is held open is still what was installed, whatever stands in its place.
      file.copy(saved, program, copy.mode = TRUE)
      held <- make()
      unlink(program)
      result$held <- rho_bash(held, "echo fine")@output
      result
    },
    list(tree$root, library),
    library = library
  )
  expect_identical(results, list(
    writable = c("SpawnFailed", "rhocap_error_supervisor"),
    changed = "SpawnFailed",
    removed = "rhocap_error_supervisor",
    held = "fine\n"
  ))
  expect_false(file.exists(file.path(tree$root, "ran")))
})
