# The demo must not fail silently: it ends well, and each part shows what it is there to show.

test_that("the demo allows, refuses and records what it says", {
  needs("callr")
  # On the package's own sources where they are, else on the files of the installed package.
  sources <- normalizePath(test_path("..", ".."))
  here <- file.exists(file.path(sources, "demo", "rhocap.R"))
  script <- if (here) "demo/rhocap.R" else system.file("demo", "rhocap.R", package = "rhocap")
  run <- callr::rscript(
    script,
    wd = if (here) sources else tempdir(),
    show = FALSE,
    fail_on_status = FALSE,
    timeout = 300
  )
  expect_identical(run$status, 0L, info = run$stderr)
  said <- strsplit(run$stdout, "\n", fixed = TRUE)[[1L]]
  expected <- c(
    "<RhoHostCapability>",
    "<RhoText> DESCRIPTION",
    "<RhoEdited> DESCRIPTION",
    "\\+Package: rhodemo$",
    "<RhoWritten> notes/today.md",
    "^parent directory +RhoDenied +Escape$",
    "^absolute path +RhoDenied +NotUnderRoot$",
    "^symbolic link +RhoDenied +Escape$",
    "^twin of the name +RhoDenied +NotUnderRoot$",
    "^credentials \\(deny\\) +RhoDenied +CarveOut$",
    "^git hook \\(protect\\) +RhoDenied +CarveOut$",
    "^A hook was made: FALSE$",
    "<RhoFailed> LostUpdate",
    "^reason: escape",
    # The receipts, from the first call to the last.
    "^ +1 +rho_read +DESCRIPTION +allowed ",
    "^ +12 +read +shortcut +denied +Escape +admission$",
    "^R has a key, bash has not +key: none \\|",
    "^unless it is named +key: \\[redacted by rhocap\\] \\|",
    "<RhoCommandResult> timed out, signal 9 \\(SIGKILL\\)",
    "^as it is +\\[redacted by rhocap\\] \\| exited$",
    "^in base64 +\\[redacted by rhocap\\]",
    "^in hexadecimal +\\[redacted by rhocap\\] \\| exited$",
    "^an error that carried it: 401: incorrect key \\[redacted by rhocap\\]",
    "^<RhoModelAuth> ",
    "^  authorization: Bearer \\[credential ",
    if (requireNamespace("curl", quietly = TRUE)) "^the server got the value: TRUE",
    "^ +15 +rho_bash .* TimedOut +none$"
  )
  if ("confined" %in% rho_host_report()@facts$processes) {
    expected <- c(
      expected,
      "^credentials \\(deny\\) +cat: .env: Permission denied",
      "^the network +.*Operation not permitted",
      "^1 .git/hooks .* kept$",
      "^enforced by: .*seccomp"
    )
  }
  for (line in expected) {
    expect_match(said, line, all = FALSE)
  }
  expect_no_match(said, "OUT OF REACH|do-not-show")
})
