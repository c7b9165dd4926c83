# The executable that owns the process tree of a command. What it does is tested beside its sources.

supervisor <- function() {
  system.file("bin", "rhocap-supervisor", package = "rhocap", mustWork = TRUE)
}

test_that("the supervisor is installed, and nobody but its owner can write to it", {
  info <- file.info(supervisor())
  expect_false(info$isdir)
  expect_identical(format(info$mode), "755")
})

test_that("the supervisor runs, and says that it is not for use by hand", {
  version <- system2(supervisor(), "--version", stdout = TRUE)
  expect_match(version, "^rhocap-supervisor [0-9.]+$")
  messages <- tempfile()
  on.exit(unlink(messages))
  status <- system2(supervisor(), stdout = FALSE, stderr = messages)
  # EX_USAGE.
  expect_identical(status, 64L)
  expect_match(readLines(messages), "rhocap starts this program itself", fixed = TRUE)
})
