long_file <- function(tree, size = 2^28 - 1) {
  path <- file.path(tree$root, "long")
  block <- charToRaw(strrep("0123456789abcde\n", 2^16))
  connection <- file(path, "wb")
  on.exit(close(connection))
  for (index in seq_len(floor(size / length(block)))) {
    writeBin(block, connection)
  }
  path
}

test_that("a job is waited for in slices and can be taken once", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  long_file(tree, 2^24)
  handle <- attr(capability, "handle")
  started <- core_read(handle, "rho_read", "user", "long", NULL, 0, Inf)
  expect_identical(started[[1]], "running")
  job <- started[[2]]
  value <- await_job(job)
  expect_identical(value[[1]], "text")
  expect_identical(value[[2]]$bytes, 2^24)
  expect_error(check_boundary(core_job_take(job)), class = "rhocap_error_handle_used")
  expect_true(check_boundary(core_job_wait(job, 0, FALSE)))
  # Cancelling what has ended does nothing.
  expect_null(check_boundary(core_job_cancel(job)))
})

test_that("a cancelled call is an outcome with a receipt, and leaves the file as it was", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  text <- strrep("0123456789abcde\n", 2^24)
  before <- snapshot_tree(tree$base)
  handle <- attr(capability, "handle")
  started <- core_write(handle, "rho_write", "user", "f", text, FALSE, FALSE, NULL)
  expect_identical(started[[1]], "running")
  check_boundary(core_job_cancel(started[[2]]))
  outcome <- as_outcome(started)
  if (rho_is_ok(outcome)) {
    skip("the write ended before it was cancelled")
  }
  expect_outcome(outcome, RhoFailed, "Cancelled")
  expect_identical(outcome@receipt@code, "Cancelled")
  expect_identical(snapshot_tree(tree$base), before)
})

test_that("an interrupt ends a write: the old file stands, nothing temporary is left", {
  needs("callr")
  tree <- new_tree()
  before <- snapshot_tree(tree$base)
  started <- file.path(tree$outside, "started")
  child <- callr::r_bg(
    function(root, started, library_paths) {
      .libPaths(library_paths)
      library(rhocap)
      capability <- rho_host_capability(write = root, cwd = root)
      text <- strrep("0123456789abcde\n", 2^25)
      tryCatch(
        {
          file.create(started)
          repeat rho_write(capability, "f", text, append = FALSE)
        },
        interrupt = function(cnd) "interrupted"
      )
    },
    list(tree$root, started, .libPaths())
  )
  on.exit(child$kill())
  deadline <- Sys.time() + 30
  while (!file.exists(started) && Sys.time() < deadline) Sys.sleep(0.01)
  Sys.sleep(0.3)
  child$interrupt()
  child$wait(20000)
  expect_false(child$is_alive())
  expect_identical(child$get_result(), "interrupted")
  unlink(started)
  after <- snapshot_tree(tree$base)
  expect_identical(names(after), names(before))
  expect_true(file.size(file.path(tree$root, "f")) %in% c(2, 2^29))
})
