# Commands as a tool: what a model gets of them. In the real runtime of Rho: tests/rho/check.R.

run_bash <- function(capability, ..., on_update = NULL) {
  rho_tool_bash(capability)@execute("call-1", list(...), NULL, on_update, NULL)
}

test_that("results have the texts and details of Rho's tool, and not the command", {
  skip_if(has_rho(), "with rho.ai installed a command is a task of its runtime")
  capability <- command_capability(new_tree(), limits = rho_limits(grace = 0.1))
  cases <- list(
    list("echo hi", RhoToolResult, "hi\n", 0L, FALSE, "ok"),
    list("true", RhoToolResult, "(no output)", 0L, FALSE, "ok"),
    list(
      "echo a; echo b >&2; exit 3",
      RhoToolErrorResult, "a\nb\n\n\nCommand exited with status 3", 3L, FALSE, "exit_status"
    ),
    list(
      "kill -9 $$",
      RhoToolErrorResult, "(no output)\n\nCommand exited with status -9", -9L, FALSE, "signal"
    ),
    list("echo a; sleep 60", RhoToolErrorResult, "a\n\n\nCommand timed out", -9L, TRUE, "timed_out")
  )
  for (case in cases) {
    late <- case[[5L]]
    result <- run_bash(capability, command = case[[1L]], timeout = if (late) 5 else 60)
    expect_true(S7::S7_inherits(result, case[[2L]]))
    expect_identical(text_of(result), case[[3L]])
    facts <- result@details[c("exit_status", "timed_out", "reason")]
    expect_identical(unname(facts), case[4:6])
    expect_null(result@details$command)
    expect_plain(result@details)
    expect_identical(rho_receipt(result)@principal, "model")
    expect_identical(rho_receipt(result)@tool, "bash")
  }
})

test_that("a model gets at most 2,000 lines and 50 KiB, and is told what is missing", {
  skip_if(has_rho(), "with rho.ai installed a command is a task of its runtime")
  capability <- command_capability(new_tree())
  many <- text_of(run_bash(capability, command = "seq 1 100000"))
  lines <- strsplit(many, "\n", fixed = TRUE)[[1L]]
  expect_length(lines, 2001L)
  expect_identical(lines[c(1L, 500L, 502L, 2001L)], c("1", "500", "98501", "100000"))
  expect_match(
    lines[[501L]],
    "^\\[98000 lines, [0-9]+ bytes left out here; the whole output has 588895 bytes\\]$"
  )
  command <- "head -c 10000000 /dev/zero | tr '\\0' x; echo END"
  long <- text_of(run_bash(capability, command = command))
  expect_lt(nchar(long), 52000L)
  expect_match(long, "xEND\n$")
})

test_that("updates say what there is so far", {
  skip_if(has_rho(), "with rho.ai installed a command is a task of its runtime")
  capability <- command_capability(new_tree())
  told <- list()
  run_bash(
    capability,
    command = "echo a; sleep 0.6; echo b; sleep 0.6; echo c",
    on_update = function(result) {
      told <<- c(told, list(text_of(result)))
      stop("what a runtime makes of it does not matter")
    }
  )
  # How many there are depends on how busy R is. The end of a line waits where a known secret, or a
  # form of one, could begin with it.
  expect_gte(length(told), 1L)
  expect_true(all(vapply(told, function(text) startsWith("a\nb\nc\n", text), NA)))
})

test_that("updates come at most ten times a second", {
  times <- numeric()
  tell <- partial_results(function(result) times <<- c(times, proc.time()[["elapsed"]]))
  until <- proc.time()[["elapsed"]] + 0.5
  while (proc.time()[["elapsed"]] < until) {
    tell("x")
  }
  expect_gte(length(times), 2L)
  expect_true(all(diff(times) >= 0.099))
})

test_that("a long text is cut at characters", {
  expect_identical(last_part("abc", 10), "abc")
  euros <- strrep("\u20ac", 1000)
  cut <- last_part(euros, 100)
  expect_true(validUTF8(cut))
  expect_lte(nchar(cut, "bytes"), 100L)
})
