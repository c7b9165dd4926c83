# Runs tests/testthat on the installed package and writes "passed failed skipped" to the file that is
# named. A test is one test_that(); it counts as failed when anything in it fails.
destination <- commandArgs(trailingOnly = TRUE)[[1L]]

results <- testthat::test_dir(
  "tests/testthat",
  package = "rhocap",
  load_package = "installed",
  reporter = "check",
  stop_on_failure = FALSE
)
tests <- as.data.frame(results)
failed <- tests$failed > 0 | tests$error
skipped <- !failed & tests$skipped
counts <- c(sum(!failed & !skipped), sum(failed), sum(skipped))
writeLines(paste(counts, collapse = " "), destination)
quit(save = "no", status = as.integer(any(failed)))
