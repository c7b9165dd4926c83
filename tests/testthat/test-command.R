test_that("bash is denied where there are no processes", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  marker <- file.path(tree$root, "ran")
  denied <- rho_bash(capability, paste("touch", marker))
  expect_outcome(denied, RhoDenied, "ProcessNone")
  expect_false(file.exists(marker))
  expect_identical(denied@receipt@decision, "denied")
  expect_identical(denied@receipt@effect, "none")
})

test_that("bash is not available yet where processes are allowed, and nothing runs", {
  tree <- new_tree()
  capability <- tree_capability(
    tree,
    process = rho_process_unrestricted(),
    network = rho_network_host()
  )
  marker <- file.path(tree$root, "ran")
  failed <- rho_bash(capability, paste("touch", marker), timeout = 5)
  expect_outcome(failed, RhoFailed, "NotAvailable")
  expect_false(file.exists(marker))
  # A command's receipt has the names of its environment, and no values.
  expect_true(all(c("PATH", "HOME") %in% vapply(
    failed@receipt@environment,
    function(entry) entry$name,
    ""
  )))
})

test_that("arguments are checked though nothing runs", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  cases <- list(
    quote(rho_bash(capability)),
    quote(rho_bash(capability, "")),
    quote(rho_bash(capability, NA_character_)),
    quote(rho_bash(capability, "ls", timeout = 0)),
    quote(rho_bash(capability, "ls", timeout = "1")),
    quote(rho_bash(capability, "ls", stdin = 1)),
    quote(rho_bash(capability, "ls", on_output = "f")),
    quote(rho_bash(capability, "ls", spill = NA))
  )
  for (case in cases) {
    expect_error(eval(case), class = "rhocap_error")
  }
})

test_that("the asynchronous form gives a promise of the same", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  if (!requireNamespace("promises", quietly = TRUE)) {
    expect_error(rho_bash_async(capability, "ls"), class = "rhocap_error_missing_package")
    skip("promises is not installed")
  }
  needs("later")
  result <- NULL
  promise <- rho_bash_async(capability, "ls")
  promises::then(promise, function(value) result <<- value)
  while (!later::loop_empty()) later::run_now()
  expect_outcome(result, RhoDenied, "ProcessNone")
  expect_error(rho_bash_async(capability, "ls", colour = 1), class = "rhocap_error_value")
})
