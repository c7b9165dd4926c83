# rhocap's tools in the real agent runtime: Rscript tests/rho/check.R path-to-the-sources-of-Rho
#
# Needs R >= 4.4, rhocap, and what Rho itself needs. Installs Rho's packages from the given sources
# into a library of its own, lets agents with a scripted provider work under the JSONL journal, and
# checks what they did. Any mismatch ends it with an error.

rho <- commandArgs(trailingOnly = TRUE)
if (length(rho) != 1L || !dir.exists(file.path(rho, "packages", "rho.coding"))) {
  stop("Give the folder of Rho's sources, the one that holds packages/rho.coding.", call. = FALSE)
}
if (getRversion() < "4.4.0") {
  stop("Rho needs R >= 4.4.0; this is ", getRversion(), ".", call. = FALSE)
}
if (!requireNamespace("rhocap", quietly = TRUE)) {
  stop("Install rhocap first: make install", call. = FALSE)
}

library_dir <- tempfile("rho-library-")
dir.create(library_dir)
.libPaths(c(library_dir, .libPaths()))
packages <- c("async", "http", "ai", "agent", "compute", "testkit", "coding")
for (package in packages) {
  source <- file.path(rho, "packages", paste0("rho.", package))
  if (dir.exists(source)) {
    utils::install.packages(source, lib = library_dir, repos = NULL, type = "source", quiet = TRUE)
  }
}

passed <- 0L
expect <- function(what, ok) {
  if (!isTRUE(ok)) {
    stop("Not so: ", what, call. = FALSE)
  }
  passed <<- passed + 1L
  cat("ok", passed, "-", what, "\n")
}

suppressPackageStartupMessages({
  library(rho.async)
  library(rho.ai)
  library(rho.agent)
  library(rhocap)
})

# rho.coding attached after us has the same names; we must say so.
warned <- tryCatch(
  {
    library(rho.coding)
    NULL
  },
  rhocap_warning_masked = identity
)
expect("attaching rho.coding after rhocap warns", inherits(warned, "rhocap_warning_masked"))
expect(
  "the warning names the functions",
  all(c("rho_tool_bash", "rho_tool_read", "rho_tool_write") %in% warned$functions)
)
suppressWarnings(library(rho.coding))

# A provider that says its messages one after the other.
ScriptedProvider <- S7::new_class(
  "ScriptedProvider",
  properties = list(state = S7::class_environment)
)
scripted <- function(...) {
  state <- new.env(parent = emptyenv())
  state$messages <- list(...)
  state$index <- 0L
  ScriptedProvider(state = state)
}
S7::method(rho_stream, list(ScriptedProvider, Model, Context)) <- function(
  provider,
  model,
  context,
  options = list(),
  ...
) {
  provider@state$index <- provider@state$index + 1L
  rho_list_stream(rho_faux_message_events(provider@state$messages[[provider@state$index]]))
}
calls <- function(...) {
  rho_assistant_message(content = list(...), model = "faux", stop_reason = "toolUse")
}
says <- function(text) rho_assistant_message(content = list(rho_text(text)), model = "faux")

project <- tempfile("project-")
dir.create(project)
project <- normalizePath(project)
outside <- tempfile("outside-")
writeLines("OUT", outside)
writeLines("SECRET=1", file.path(project, ".env"))
cat("hello from the file\n", file = file.path(project, "a.txt"))

capability <- rhocap::rho_project_capability(project, process = rhocap::rho_process_none())
tools <- unname(rhocap::rho_capability_tools(capability))
all_specs <- all(vapply(tools, S7::S7_inherits, NA, class = rho.ai::ToolSpec))
expect("tools are ToolSpec values", all_specs)
is_exclusive <- function(tool) S7::S7_inherits(tool@overlap, ToolRequiresExclusiveExecution)
exclusive <- vapply(tools, is_exclusive, NA)
names(exclusive) <- vapply(tools, function(tool) tool@name, "")
expect(
  "write, edit, move and remove run alone; read and list need not",
  identical(names(which(exclusive)), setdiff(names(exclusive), c("read", "list")))
)

# Same names, labels and required parameters as the tools that they replace.
for (name in c("read", "write", "bash")) {
  ours <- getExportedValue("rhocap", paste0("rho_tool_", name))(capability)
  theirs <- getExportedValue("rho.coding", paste0("rho_tool_", name))()
  expect(
    paste(name, "has Rho's name and label"),
    identical(c(ours@name, ours@label), c(theirs@name, theirs@label))
  )
  expect(
    paste(name, "requires Rho's parameters"),
    setequal(unlist(ours@parameters$required), unlist(theirs@parameters$required))
  )
}

path <- tempfile(fileext = ".jsonl")
journal <- rho.coding::rho_jsonl_session_journal(path, timeout_ms = 10000L)
agent <- rho_agent(
  scripted(
    calls(ToolCall("c1", "read", list(path = "a.txt"))),
    calls(ToolCall("c2", "write", list(path = "new/b.txt", text = "written"))),
    calls(ToolCall("c3", "edit", list(path = "a.txt", old = "hello", new = "goodbye"))),
    calls(ToolCall("c4", "read", list(path = outside))),
    calls(ToolCall("c5", "read", list(path = "../escape.txt"))),
    calls(ToolCall("c6", "read", list(path = ".env"))),
    calls(ToolCall("c7", "write", list(path = ".git/hooks/pre-commit", text = "#!/bin/sh\n"))),
    calls(ToolCall("c8", "read", list(path = "missing.txt"))),
    calls(ToolCall("c9", "read", list(path = "a.txt", extra = TRUE))),
    calls(ToolCall("c10", "list", list(path = "."))),
    calls(ToolCall("c11", "move", list(from = "new/b.txt", to = "c.txt"))),
    calls(ToolCall("c12", "remove", list(path = "new"))),
    says("done")
  ),
  rho_model("faux", "faux"),
  tools = tools,
  journal = journal
)
before <- nrow(rhocap::rho_receipts())
run <- rho_await(rho_prompt(agent, "work"), timeout = 240000L)
expect("the run completes under the JSONL journal", identical(run@status, "completed"))
results <- Filter(function(message) S7::S7_inherits(message, ToolResultMessage), run@messages)
expect("every call has its result", length(results) == 12L)
text_of <- function(message) {
  paste(vapply(message@content, function(item) item@text, ""), collapse = "")
}
texts <- vapply(results, text_of, "")
expect("read gives the text", identical(texts[[1L]], "hello from the file\n"))
expect("write answers as Rho's", identical(texts[[2L]], "wrote new/b.txt"))
expect("edit answers with a difference", grepl("+goodbye from the file", texts[[3L]], fixed = TRUE))
expect("a missing file is told as Rho's", identical(texts[[8L]], "File not found: missing.txt"))
expect("nothing of the outside file is told", !any(grepl("OUT", texts, fixed = TRUE)))
expect("nothing of .env is told", !any(grepl("SECRET", texts, fixed = TRUE)))
receipts <- tail(rhocap::rho_receipts(), nrow(rhocap::rho_receipts()) - before)
expect("one receipt a call", nrow(receipts) == 12L)
expect(
  "the refusals are what they should be",
  identical(
    as.character(receipts$code)[4:9],
    c("NotUnderRoot", "Escape", "CarveOut", "CarveOut", "NotFound", "InvalidArguments")
  )
)
expect("every receipt is the model's", all(receipts$principal == "model"))
lines_of <- function(name) readLines(file.path(project, name), warn = FALSE)
expect("the file was edited", identical(lines_of("a.txt"), "goodbye from the file"))
expect("the file was moved", identical(lines_of("c.txt"), "written"))
expect("the directory is gone", !dir.exists(file.path(project, "new")))
expect("no hook was written", !file.exists(file.path(project, ".git")))
expect("outside is as it was", identical(readLines(outside), "OUT"))

# The journal took every detail, and gives it back.
reopened <- rho.coding::rho_jsonl_session_journal(path, timeout_ms = 10000L)
snapshot <- rho_await(rho_session_snapshot(reopened), timeout = 15000L)
expect("the journal reads back whole", length(snapshot@entries) == length(run@entries))
told <- any(grepl("OUT\"|SECRET=", readLines(path, warn = FALSE)))
expect("the journal holds no outside text", !told)

# Commands, in the runtime: unrestricted, and confined where this host can.
command_host <- function(...) {
  rhocap::rho_project_capability(
    project,
    process = rhocap::rho_process_unrestricted(),
    network = rhocap::rho_network_host(),
    ...
  )
}
Sys.setenv(CHECK_PLANTED_KEY = "planted-secret")
confined <- tryCatch(
  rhocap::rho_project_capability(project),
  rhocap_error_not_enforceable = function(cnd) NULL
)
hosts <- list(
  unrestricted = command_host(limits = rhocap::rho_limits(grace = 0.2)),
  confined = confined
)
for (kind in names(Filter(Negate(is.null), hosts))) {
  path <- tempfile(fileext = ".jsonl")
  journal <- rho.coding::rho_jsonl_session_journal(path, timeout_ms = 10000L)
  updates <- 0L
  agent <- rho_agent(
    scripted(
      calls(ToolCall("b1", "bash", list(command = "echo hi; echo err >&2"))),
      calls(ToolCall("b2", "bash", list(command = "env; exit 3"))),
      calls(ToolCall("b3", "bash", list(command = "echo early; sleep 60", timeout = 0.5))),
      calls(ToolCall("b4", "bash", list(command = "kill -9 $$"))),
      calls(ToolCall("b5", "bash", list(command = "true"))),
      calls(ToolCall("b6", "bash", list(command = "seq 1 5000"))),
      calls(ToolCall("b7", "bash", list(command = "printf 'a\\0\\xff'"))),
      calls(ToolCall("b8", "bash", list(command = "ls", timeout = "soon"))),
      says("done")
    ),
    rho_model("faux", "faux"),
    tools = list(rhocap::rho_tool_bash(hosts[[kind]])),
    journal = journal
  )
  run <- rho_await(rho_prompt(agent, "work"), timeout = 240000L)
  about <- function(what) paste(kind, "bash:", what)
  expect(about("the run completes under the JSONL journal"), identical(run@status, "completed"))
  results <- Filter(function(message) S7::S7_inherits(message, ToolResultMessage), run@messages)
  texts <- vapply(results, text_of, "")
  expect(about("both streams in order"), identical(texts[[1L]], "hi\nerr\n"))
  exited <- endsWith(texts[[2L]], "\n\nCommand exited with status 3")
  expect(about("a status is told as Rho's"), exited)
  expect(about("no key of R's"), !any(grepl("planted-secret", texts, fixed = TRUE)))
  late <- identical(texts[[3L]], "early\n\n\nCommand timed out")
  expect(about("a timeout is told as Rho's"), late)
  expect(about("a signal"), identical(texts[[4L]], "(no output)\n\nCommand exited with status -9"))
  expect(about("no output is told as Rho's"), identical(texts[[5L]], "(no output)"))
  expect(about("a long output is cut"), grepl("lines, [0-9]+ bytes left out here", texts[[6L]]))
  expect(about("bytes that are no text"), identical(texts[[7L]], "a\u2400\ufffd"))
  refused <- grepl("`timeout` must be one number", texts[[8L]], fixed = TRUE)
  expect(about("bad arguments are refused"), refused)
  reopened <- rho.coding::rho_jsonl_session_journal(path, timeout_ms = 10000L)
  snapshot <- rho_await(rho_session_snapshot(reopened), timeout = 15000L)
  expect(about("the journal reads back whole"), length(snapshot@entries) == length(run@entries))

  # Abort: seen by polling the agent's state; a task's own cancel: at once.
  mark <- sprintf("rhocap-check-%d-%s.", Sys.getpid(), kind)
  running <- function() {
    lines <- lapply(list.files("/proc", "^[0-9]+$"), function(pid) {
      tryCatch(
        suppressWarnings(readBin(file.path("/proc", pid, "cmdline"), "raw", 4096L)),
        error = function(cnd) raw()
      )
    })
    sum(vapply(lines, function(line) length(grepRaw(mark, line, fixed = TRUE)) > 0L, NA))
  }
  long <- sprintf("setsid -f bash -c 'exec -a %s sleep 60'; exec -a %s sleep 60", mark, mark)
  agent <- rho_agent(
    scripted(calls(ToolCall("a1", "bash", list(command = long))), says("done")),
    rho_model("faux", "faux"),
    tools = list(rhocap::rho_tool_bash(hosts[[kind]]))
  )
  task <- rho_prompt(agent, "work")
  aborted <- FALSE
  begun <- proc.time()[["elapsed"]]
  later::later(function() {
    look <- function() {
      if (running() >= 2L || proc.time()[["elapsed"]] - begun > 60) {
        aborted <<- running() >= 2L
        rho_abort_agent(agent)
      } else {
        later::later(look, 0.05)
      }
    }
    look()
  }, 0.05)
  rho_await(task, timeout = 120000L)
  expect(about("R stayed free, and saw the command run"), aborted)
  expect(about("an abort leaves no process"), running() == 0L)
  tool <- rhocap::rho_tool_bash(hosts[[kind]])
  task <- tool@execute("a2", list(command = long), NULL, NULL, NULL)
  while (running() < 2L && proc.time()[["elapsed"]] - begun < 120) later::run_now(0.05)
  rho.async::rho_cancel(task)
  while (running() > 0L && proc.time()[["elapsed"]] - begun < 120) later::run_now(0.05)
  expect(about("a cancelled task leaves no process"), running() == 0L)
}
Sys.unsetenv("CHECK_PLANTED_KEY")

# What R shows of Rho's values.
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(script), "classes.R"), local = TRUE)

# Speed, beside rho.coding's own tool in the same process.
seconds <- function(tool) {
  begun <- proc.time()[["elapsed"]]
  rho_await(tool@execute("t", list(command = "true"), NULL, NULL, NULL), timeout = 60000L)
  proc.time()[["elapsed"]] - begun
}
ours <- rhocap::rho_tool_bash(hosts$unrestricted)
theirs <- rho.coding::rho_tool_bash(cwd = project)
times <- vapply(1:9, function(index) c(seconds(ours), seconds(theirs)), c(0, 0))
median_of <- function(row) 1000 * stats::median(times[row, ])
cat(sprintf(
  "bash tool: rhocap %.1f ms, rho.coding %.1f ms, ratio %.3f\n",
  median_of(1L), median_of(2L), median_of(1L) / median_of(2L)
))

# Auths, requests and the client.
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(script), "auth.R"), local = TRUE)

cat(sprintf(
  "check-rho: %d passed with rho.coding %s on R %s\n",
  passed,
  packageVersion("rho.coding"),
  getRversion()
))
