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

test_that("status, signal and output are separate facts", {
  tree <- new_tree()
  capability <- command_capability(tree)
  cases <- list(
    list("echo hi", "exited", 0, NA, "hi\n"),
    list("exit 7", "exited", 7, NA, ""),
    list("exit 124", "exited", 124, NA, ""),
    list("exit 256", "exited", 0, NA, ""),
    list("kill -9 $$", "signalled", NA, 9, ""),
    list("kill -TERM $$", "signalled", NA, 15, ""),
    list("if then 2>/dev/null", "exited", 2, NA, NULL),
    list("nosuchcmd", "exited", 127, NA, NULL),
    list("echo a; echo b >&2; echo c", "exited", 0, NA, "a\nb\nc\n"),
    list("printf abc", "exited", 0, NA, "abc"),
    list("cat", "exited", 0, NA, ""),
    list("cat f", "exited", 0, NA, "IN"),
    list("echo `echo '!$\"x\"'` \\\\", "exited", 0, NA, "!$\"x\" \\\n")
  )
  for (case in cases) {
    result <- rho_bash(capability, case[[1L]])
    expect_outcome(result, RhoCommandResult)
    facts <- list(result@ended, result@exit_status, result@signal)
    expected <- list(case[[2L]], as.double(case[[3L]]), as.double(case[[4L]]))
    expect_identical(facts, expected, label = case[[1L]])
    if (!is.null(case[[5L]])) {
      expect_identical(result@output, case[[5L]], label = case[[1L]])
      expect_identical(result@output_raw, charToRaw(case[[5L]]))
    }
    expect_identical(rho_is_ok(result), identical(case[[3L]], 0))
    expect_false(result@timed_out || result@cancelled)
    expect_length(result@survivors, 0L)
  }
})

test_that("text is valid and counts what was not; the bytes are kept", {
  capability <- command_capability(new_tree())
  result <- rho_bash(capability, "printf 'a\\0b\\xff\\xfe\\033[31mred\\033[0m\\tc\\r\\n'")
  expect_identical(result@output, "a\u2400b\ufffd\ufffdred\tc\r\n")
  expect_identical(result@bytes_invalid, 2)
  bytes <- c(0x61, 0, 0x62, 0xff, 0xfe, 0x1b, 0x5b, 0x33, 0x31, 0x6d)
  expect_identical(result@output_raw[1:10], as.raw(bytes))
})

test_that("of long output both ends are kept, and the total is exact", {
  tree <- new_tree()
  capability <- command_capability(tree, limits = rho_limits(output_bytes = 2048))
  result <- rho_bash(capability, "seq 1 100000")
  expect_identical(result@bytes_total, 588895)
  expect_identical(result@bytes_kept, 2048)
  expect_length(result@output_raw, 2048L)
  expect_match(result@output, "^1\n2\n")
  expect_match(result@output, "\n100000\n$")
  expect_match(result@output, "[586847 bytes left out]", fixed = TRUE)
  whole <- rho_bash(capability, "seq 1 100000", spill = TRUE)
  expect_identical(file.size(whole@spilled), 588895)
  expect_identical(format(file.info(whole@spilled)$mode), "600")
  # Where the file verbs can read it.
  expect_identical(rho_read(capability, whole@spilled, lines = 99999)@text, "99999\n")
})

test_that("a timeout ends the whole tree, and says what was done", {
  tree <- new_tree()
  capability <- command_capability(tree, limits = rho_limits(grace = 0.2))
  mark <- new_mark()
  sleep <- marked_sleep(mark)
  command <- sprintf(
    "echo early; setsid -f bash -c '%s'; (%s) & trap '' TERM; (%s); sleep 60", sleep, sleep, sleep
  )
  # Long enough for all of it to be there.
  result <- rho_bash(capability, command, timeout = 5)
  expect_outcome(result, RhoCommandResult)
  expect_identical(result@ended, "timed_out")
  expect_true(result@timed_out)
  expect_false(rho_is_ok(result))
  expect_identical(result@output, "early\n")
  expect_gte(result@found, 3)
  expect_gte(result@killed, 1)
  expect_identical(result@signals$signal, c(15, 9))
  expect_true(all(result@signals$after >= 5))
  expect_identical(marked_processes(mark), character())
  expect_identical(result@receipt@code, "TimedOut")
  expect_identical(result@receipt@outcome, "failed")
  expect_identical(result@receipt@decision, "allowed")
  expect_identical(result@receipt@command$ended, "timed_out")
  error <- tryCatch(rho_unwrap(result), rhocap_error_timed_out = identity)
  expect_identical(error$outcome, result)
})

test_that("what a command leaves behind is ended and counted", {
  capability <- command_capability(new_tree())
  mark <- new_mark()
  result <- rho_bash(capability, sprintf("(%s) & echo hi", marked_sleep(mark)), timeout = 30)
  expect_identical(list(result@ended, result@exit_status, result@output), list("exited", 0, "hi\n"))
  expect_identical(c(result@found, result@killed), c(1, 1))
  expect_identical(marked_processes(mark), character())
})

test_that("a timeout is bounded by the capability's", {
  capability <- command_capability(new_tree(), limits = rho_limits(timeout = 0.3, grace = 0))
  for (timeout in list(NULL, 100, Inf)) {
    expect_identical(rho_bash(capability, "sleep 60", timeout = timeout)@ended, "timed_out")
  }
})

test_that("the receipt says what it was, and that nothing held it", {
  tree <- new_tree()
  capability <- command_capability(tree)
  receipt <- rho_bash(capability, "echo hi; exit 3", stdin = "abc", timeout = 5)@receipt
  expect_identical(receipt@request, list(command = "echo hi; exit 3", timeout = 5, stdin_bytes = 3))
  expect_identical(
    c(receipt@decision, receipt@outcome, receipt@effect),
    c("allowed", "ok", "done")
  )
  expect_identical(receipt@enforced_by$mechanism, "none")
  expect_setequal(
    receipt@enforced_by$gaps,
    c("filesystem", "network", "processes", "r_environment")
  )
  expect_identical(
    receipt@enforced_by$statement,
    "Unrestricted bash has the full authority of the R process's user."
  )
  expect_identical(receipt@command$exit_status, 3)
  expect_identical(receipt@command$output, list(bytes = 3, kept = 3, invalid = 0))
  expect_true(any(grepl("full authority", format(rho_bash(capability, "true")))))
})

test_that("standard input is given whole, and need not be read", {
  capability <- command_capability(new_tree())
  long <- strrep("0123456789abcdef", 2^16)
  expect_identical(rho_unwrap(rho_bash(capability, "wc -c", stdin = long)), "1048576\n")
  expect_identical(rho_unwrap(rho_bash(capability, "true", stdin = strrep(long, 10))), "")
  bytes <- as.raw(c(0, 255, 10))
  expect_identical(rho_bash(capability, "cat", stdin = bytes)@output_raw, bytes)
})

test_that("what could not be started ran nothing", {
  tree <- new_tree()
  cases <- list(
    list(limits = rho_limits(shell = "/no/bash"), stage = "exec", errno = 2),
    list(limits = rho_limits(shell = "/etc"), stage = "exec", errno = 13)
  )
  for (case in cases) {
    failed <- rho_bash(command_capability(tree, limits = case$limits), "echo hi > ran")
    expect_outcome(failed, RhoFailed, "SpawnFailed")
    expect_identical(failed@facts, list(stage = case$stage, errno = case$errno))
    expect_identical(failed@receipt@effect, "none")
  }
  long <- rho_bash(command_capability(tree), paste("echo hi > ran #", strrep("x", 2^21)))
  expect_outcome(long, RhoFailed, "SpawnFailed")
  expect_match(long@message, "Write the command to a file", fixed = TRUE)
  expect_false(file.exists(file.path(tree$root, "ran")))
})

test_that("the command starts where the capability says, though the directory was renamed", {
  tree <- new_tree()
  capability <- command_capability(tree)
  renamed <- file.path(tree$base, "renamed")
  file.rename(tree$root, renamed)
  expect_identical(rho_unwrap(rho_bash(capability, "pwd -P")), paste0(renamed, "\n"))
})

test_that("output arrives while the command runs, as whole text", {
  tree <- new_tree()
  capability <- command_capability(tree)
  pieces <- character()
  result <- rho_bash(
    capability,
    paste(
      "printf 'a\\n\\xe2'; until test -e heard; do sleep 0.02; done;",
      "printf '\\x82\\xac\\033[1mb\\n'"
    ),
    timeout = 120,
    on_output = function(text) {
      pieces <<- c(pieces, text)
      put(file.path(tree$root, "heard"), "")
    }
  )
  expect_identical(pieces[[1L]], "a\n")
  expect_identical(paste(pieces, collapse = ""), "a\n\u20acb\n")
  expect_identical(result@ended, "exited")
  expect_identical(result@output, "a\n\u20acb\n")
})

test_that("output is told at most forty times a second", {
  capability <- command_capability(new_tree())
  told <- 0L
  started <- proc.time()[["elapsed"]]
  rho_bash(
    capability,
    "for i in $(seq 100); do echo $i; sleep 0.005; done",
    on_output = function(text) told <<- told + 1L
  )
  # However long it took: without a bound there are a hundred.
  expect_gt(told, 1L)
  expect_lte(told, 40 * (proc.time()[["elapsed"]] - started) + 2)
})

test_that("who is slow to look loses the middle of what he is told, and nothing of the result", {
  tree <- new_tree()
  capability <- command_capability(tree)
  told <- character()
  result <- rho_bash(
    capability,
    "echo first; seq 1 200000; touch written",
    on_output = function(text) {
      if (length(told) == 0L) {
        # The command does not wait for whom it tells.
        expect_true(wait_until(function() file.exists(file.path(tree$root, "written"))))
      }
      told <<- c(told, text)
    }
  )
  expect_identical(result@bytes_total, 1288901)
  told <- paste(told, collapse = "")
  expect_true(grepl("(^|\n)\\[[0-9]+ bytes left out\\]\n", told))
  expect_true(endsWith(told, "\n200000\n"))
})

test_that("an error in the callback ends the command, and is the caller's", {
  capability <- command_capability(new_tree())
  mark <- new_mark()
  command <- sprintf("echo x; %s", marked_sleep(mark))
  error <- tryCatch(
    rho_bash(capability, command, on_output = function(text) stop("mine")),
    error = identity
  )
  expect_identical(conditionMessage(error), "mine")
  expect_identical(marked_processes(mark), character())
  last <- utils::tail(rho_receipts(), 1L)
  expect_identical(c(last$tool, last$code), c("rho_bash", "Cancelled"))
})

test_that("a command changes nothing of R's own, and holds nothing open", {
  needs("processx")
  tree <- new_tree()
  capability <- command_capability(tree)
  descriptors <- function() length(list.files("/proc/self/fd"))
  needs_proc()
  connection <- file(file.path(tree$outside, "secret"), "r")
  defer(function() close(connection), environment())
  # Another package's handler of SIGCHLD takes the status of every child that it finds.
  processx::run("true")
  before <- list(getwd(), Sys.umask(), Sys.getenv())
  rho_bash(capability, "true")
  # Capabilities of earlier tests hold descriptors until they are collected.
  invisible(gc())
  open <- descriptors()
  for (index in 1:20) {
    result <- rho_bash(capability, "cd /; umask 0; ulimit -n 10; ls /proc/self/fd; exit 9")
    expect_identical(result@exit_status, 9)
  }
  # ls has the three standard ones and the directory that it lists.
  expect_identical(result@output, "0\n1\n2\n3\n")
  expect_identical(list(getwd(), Sys.umask(), Sys.getenv()), before)
  expect_identical(descriptors(), open)
  expect_identical(processx::run("sh", c("-c", "exit 3"), error_on_status = FALSE)$status, 3L)
})

test_that("arguments are checked before anything runs", {
  tree <- new_tree()
  capability <- command_capability(tree)
  before <- nrow(rho_receipts())
  cases <- list(
    quote(rho_bash(capability)),
    quote(rho_bash(capability, "")),
    quote(rho_bash(capability, NA_character_)),
    quote(rho_bash(capability, c("a", "b"))),
    quote(rho_bash(capability, "ls", timeout = 0)),
    quote(rho_bash(capability, "ls", timeout = "1")),
    quote(rho_bash(capability, "ls", stdin = 1)),
    quote(rho_bash(capability, "ls", on_output = "f")),
    quote(rho_bash(capability, "ls", spill = NA)),
    quote(rho_bash_cancel("x"))
  )
  for (case in cases) {
    expect_error(eval(case), class = "rhocap_error")
  }
  expect_identical(nrow(rho_receipts()), before)
  # A NUL byte can come in as raw only, and no program can be given it.
  expect_error(rho_bash(capability, raw(1)), class = "rhocap_error_type")
})

test_that("what holds the processes holds nothing of R's open", {
  needs("promises")
  # R's pipes are not marked for closing at exec: the other end would wait for who inherits them.
  tree <- new_tree()
  capability <- command_capability(tree)
  ended <- file.path(tree$root, "ended")
  reader <- pipe(sprintf("cat > /dev/null; touch %s", shQuote(ended)), "w")
  running <- rho_bash_async(capability, "until test -e stop; do sleep 0.1; done", timeout = 60)
  close(reader)
  expect_true(file.exists(ended))
  expect_false(file.exists(file.path(tree$root, "stop")))
  put(file.path(tree$root, "stop"), "")
  expect_identical(settled(running)@ended, "exited")
})

test_that("a result prints what matters, and can be made by hand", {
  capability <- command_capability(new_tree())
  shown <- format(rho_bash(capability, "sleep 60 & sleep 60 & seq 1 30; exit 3"))
  expect_match(shown[[1L]], "<RhoCommandResult> exit status 3, [0-9.]+ seconds, 81 bytes of output")
  expect_true("# ended with it: 2 more processes (SIGKILL was sent to 2)" %in% shown)
  # The end of a long output is shown as well, and lines as they are.
  long <- rho_bash(capability, "printf 'a\\tb\\\\n\\n'; seq 2 100; kill -XCPU $$")
  shown <- format(long)
  expect_match(shown[[1L]], "signal 24 (SIGXCPU)", fixed = TRUE)
  expect_identical(shown[[2L]], "  a\tb\\n")
  expect_true(all(c("  10", "  ... 80 lines more ...", "  91", "  100") %in% shown))
  expect_false("  11" %in% shown)
  expect_true("# x@output has all of it" %in% shown)
  small <- command_capability(new_tree(), limits = rho_limits(output_bytes = 4096))
  shown <- format(rho_bash(small, "seq 1 100000"))
  expect_match(shown, "^  [.]{3} [0-9]+ lines more, and what was not kept [.]{3}$", all = FALSE)
  little <- command_capability(new_tree(), limits = rho_limits(output_bytes = 100))
  cut <- rho_bash(little, "seq 1000")
  expect_match(format(cut), "x@output has 100 bytes of it, .*spill = TRUE keeps all", all = FALSE)
  # The receipt says how it ended.
  failed <- rho_bash(capability, "exit 3")
  expect_match(format(rho_receipt(failed)), "allowed, ran: exit status 3", all = FALSE)
  expect_match(format(rho_receipt(long)), "allowed, ran: signal 24 [(]SIGXCPU[)]", all = FALSE)
  expect_identical(rho_receipts(1)$exit_status, 3)
  made <- RhoCommandResult(output = "x", exit_status = 0)
  expect_true(rho_is_ok(made))
  expect_identical(nrow(made@signals), 0L)
  expect_error(RhoCommandResult(ended = "gone"), class = "rhocap_error_type")
})
