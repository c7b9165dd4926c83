# Every export, also those to come, with 1,000 draws of generated arguments in a child process: each
# call ends in a classed condition or a value, R does not crash, and nothing outside is written.

test_that("bad input is a condition or a value, for every export", {
  needs("callr")
  env <- environment()
  exports <- sort(setdiff(getNamespaceExports("rhocap"), "@"))
  expect_gt(length(exports), 70)
  draws <- as.integer(Sys.getenv("RHOCAP_TEST_DRAWS", "1000"))
  # A tree for each export, because what is allowed is done: files in the root go away.
  trees <- lapply(stats::setNames(exports, exports), function(export) new_tree(env))
  home <- trees[[1]]$outside
  work <- trees[[2]]$outside
  logs <- tempfile("logs")
  dir.create(logs)
  outside <- vapply(trees, function(tree) tree$outside, "")
  before <- lapply(outside, snapshot_tree)
  helper <- normalizePath(test_path("helper-bad-input.R"))

  start <- function(export) {
    callr::r_bg(
      function(export, draws, tree, log, helper, receipts, library_paths) {
        .libPaths(library_paths)
        library(rhocap)
        # Before R 4.3 code must be parsed after S7's `@` is in sight.
        sys.source(helper, globalenv())
        wrong <- get("run_draws", globalenv())(export, draws, tree, log)
        json <- rho_receipts()$json
        # A sample: the schema is checked on each, and the calls are the same kinds again and again.
        sampled <- seq_along(json) %in% c(1:20, seq(1, 1e5, by = 20))
        writeLines(json[sampled], receipts, useBytes = TRUE)
        wrong
      },
      list(
        export = export,
        draws = draws,
        tree = trees[[export]],
        log = file.path(logs, export),
        helper = helper,
        receipts = file.path(receipt_directory(), paste0(export, ".jsonl")),
        library_paths = .libPaths()
      ),
      wd = work,
      env = c(callr::rcmd_safe_env(), HOME = home, R_USER = home, R_ENVIRON_USER = "/dev/null")
    )
  }

  finish <- function(export, child) {
    last <- function() {
      log <- file.path(logs, export)
      utils::tail(c("0", if (file.exists(log)) readLines(log)), 1L)
    }
    child$wait(timeout = 300000)
    if (child$is_alive()) {
      child$kill()
      return(sprintf("%s: draw %s did not end", export, last()))
    }
    tryCatch(
      {
        wrong <- child$get_result()
        if (length(wrong) > 0L) paste0(export, ": ", utils::head(wrong, 3L))
      },
      error = function(cnd) {
        sprintf("%s: R ended at draw %s: %s", export, last(), conditionMessage(cnd)[[1]])
      }
    )
  }

  # Two at a time.
  problems <- character()
  running <- list()
  for (export in exports) {
    running[[export]] <- start(export)
    if (length(running) == 2L) {
      problems <- c(problems, finish(names(running)[[1]], running[[1]]))
      running <- running[-1]
    }
  }
  for (export in names(running)) {
    problems <- c(problems, finish(export, running[[export]]))
  }
  expect_identical(problems, character())
  expect_identical(lapply(outside, snapshot_tree), before)
})
