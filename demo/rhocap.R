# The main job in one or two screens, offline, on a copy of this package's own source tree:
# `make demo`, or demo("rhocap") for the installed package's files.
library(rhocap, warn.conflicts = FALSE)

say <- function(text) cat("\n## ", text, "\n", sep = "")
show <- function(call) {
  code <- trimws(deparse(substitute(call), width.cutoff = 90L))
  cat("> ", paste(code, collapse = " "), "\n", sep = "")
  print(call)
}

# A copy, so that the demo changes nothing of yours; beside it what must stay out of reach.
base <- tempfile("rhocap-demo-")
project <- file.path(base, "rhocap")
twin <- file.path(base, "rhocap-evil")
dir.create(project, recursive = TRUE)
dir.create(twin)
sources <- if (file.exists("R/read.R")) "." else system.file(package = "rhocap")
parts <- file.path(sources, c("DESCRIPTION", "NEWS.md", "R"))
invisible(file.copy(parts, project, recursive = TRUE))
writeLines("OUT OF REACH", file.path(twin, "secret"))
writeLines("API_KEY=do-not-show", file.path(project, ".env"))
invisible(file.symlink(file.path(twin, "secret"), file.path(project, "shortcut")))

say("One value says what the tools may do")
capability <- rho_project_capability(project, process = rho_process_none())
show(capability)

say("Read a file, edit it, write another")
description <- rho_read(capability, "DESCRIPTION", lines = 1:3)
show(description)
show(rho_edit(capability, "DESCRIPTION", "Package: rhocap", "Package: rhodemo"))
show(rho_write(capability, "notes/today.md", "Written by an agent.\n", create_parents = TRUE))

say("Ways out are refused, as values and before any effect")
ways <- c(
  "parent directory" = "../rhocap-evil/secret",
  "absolute path" = "/etc/passwd",
  "symbolic link" = "shortcut",
  "twin of the name" = file.path(twin, "secret"),
  "credentials (deny)" = ".env"
)
tell <- function(way, outcome) {
  cat(sprintf("%-20s %-10s %s\n", way, sub(".*::", "", class(outcome)[[1L]]), outcome@code))
}
for (way in names(ways)) {
  tell(way, rho_read(capability, ways[[way]]))
}
hook <- rho_write(capability, ".git/hooks/pre-commit", "#!/bin/sh\n", create_parents = TRUE)
tell("git hook (protect)", hook)
cat("A hook was made: ", file.exists(file.path(project, ".git")), "\n", sep = "")

say("A file that changed since it was read is not overwritten")
news <- rho_read(capability, "NEWS.md")
cat("somebody else was here\n", file = file.path(project, "NEWS.md"), append = TRUE)
show(rho_write(capability, "NEWS.md", "my version\n", expected = news))

say("The same as a tool of an agent: it answers, whatever the model sends")
tool <- rho_tool_read(capability)
answer <- tool@execute("call-1", list(path = "shortcut"))
cat("answer:", answer@content[[1L]]@text, "\n")
cat("reason:", answer@details$reason, "\n")

say("A command: what it does not get")
Sys.setenv(DEMO_API_KEY = "planted-in-R")
host <- function(...) {
  rho_project_capability(
    project,
    process = rho_process_unrestricted(),
    network = rho_network_host(),
    ...
  )
}
tell_command <- function(way, result) {
  output <- strsplit(result@output, "\n", fixed = TRUE)[[1L]]
  cat(sprintf("%-32s %s\n", way, paste(c(output, result@ended), collapse = " | ")))
}
ask <- "echo key: ${DEMO_API_KEY:-none}; env | wc -l"
tell_command("R has a key, bash has not", rho_bash(host(), ask))
named <- rho_environment(DEMO_API_KEY = rho_env_inherit())
tell_command("unless it is named", rho_bash(host(environment = named), ask))
Sys.unsetenv("DEMO_API_KEY")

say("A tree of processes that does not want to end")
nasty <- paste(
  "trap '' TERM; setsid -f sleep 1000; (sleep 1000 &); nohup sleep 1000 &",
  "env -i setsid sleep 1000 &",
  "echo started; sleep 1000"
)
late <- rho_bash(host(limits = rho_limits(grace = 0.2)), nasty, timeout = 0.5)
show(late)
show(late@signals)

say("Confined: the kernel holds the command")
confined <- tryCatch(rho_project_capability(project), rhocap_error_not_enforceable = identity)
if (inherits(confined, "error")) {
  cat(conditionMessage(confined), "\n")
} else {
  ways <- c(
    "outside the roots" = "cat ../rhocap-evil/secret /etc/shadow 2>&1",
    "credentials (deny)" = "cat .env 2>&1",
    "writing outside" = "echo x 2>&1 > ../rhocap-evil/new",
    "the network" = "exec 2>&1; exec 3<>/dev/tcp/127.0.0.1/80",
    "R's memory and environment" = "ls /proc | grep -c '^[0-9]'",
    "its own work" = "wc -l < DESCRIPTION"
  )
  for (way in names(ways)) {
    tell_command(way, rho_bash(confined, ways[[way]]))
  }
  hook <- rho_bash(confined, "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit")
  show(hook@carve_outs[c("path", "pattern", "fate")])
  cat("enforced by:", hook@enforced_by$kernel, "\n")
  cat("not covered:", hook@enforced_by$gaps, "\n")
}

say("A secret: given to a command, and not shown by it")
secret <- tempfile("secret")
writeLines(paste(sample(c(letters, 0:9), 32L, replace = TRUE), collapse = ""), secret)
key <- rho_secret_file(secret)
show(key)
given <- host(environment = rho_environment(KEY = rho_env_secret(key)))
ways <- c(
  "as it is" = "echo \"$KEY\"",
  "in base64" = "printf %s \"$KEY\" | base64 -w0",
  "in hexadecimal" = "printf %s \"$KEY\" | od -An -v -tx1 | tr -d ' \\n'",
  "as the command has it" = "printf %s \"$KEY\" | wc -c"
)
for (way in names(ways)) {
  tell_command(way, rho_bash(given, ways[[way]]))
}
value <- rho_reveal(key)
cat("an error that carried it: ")
cat(conditionMessage(rho_sanitize(simpleError(paste("401: incorrect key", value)))), "\n")

say("A request: a reference in R, the value on the wire")
# A server in another process, which writes down the header that it gets.
port <- sample(20000:60000, 1L)
heard <- tempfile("heard")
server <- sprintf(
  paste(
    "at <- serverSocket(%d); file.create('%s.ready'); to <- socketAccept(at, open = 'r+b');",
    "while (nzchar(line <- readLines(to, 1L))) cat(line, '\\n', file = '%s', append = TRUE);",
    "writeLines(c('HTTP/1.1 200 OK\\r', 'Content-Length: 2\\r', '\\r', 'ok'), to, sep = '\\n');",
    "flush(to); Sys.sleep(1)"
  ),
  port, heard, heard
)
value <- paste(sample(c(letters, 0:9), 32L, replace = TRUE), collapse = "")
provider <- rho_provider_credential(
  rho_secret_literal(value),
  hosts = sprintf("127.0.0.1:%d", port)
)
show(rho_model_auth(provider))
request <- rho_http_request(
  "GET",
  sprintf("http://127.0.0.1:%d/v1/models", port),
  headers = list(authorization = rho_bearer(provider))
)
show(request)
if (requireNamespace("curl", quietly = TRUE)) {
  system2("Rscript", c("-e", shQuote(server)), wait = FALSE, stdout = FALSE, stderr = FALSE)
  for (look in 1:100) if (file.exists(paste0(heard, ".ready"))) break else Sys.sleep(0.05)
  show(rho_curl_fetch(request))
  cat("the server got the value:", any(grepl(value, readLines(heard), fixed = TRUE)), "\n")
} else {
  cat("With the package curl installed, rho_curl_fetch(request) sends it.\n")
}

say("Every call left a receipt")
receipts <- rho_receipts()
is_command <- receipts$tool == "rho_bash"
receipts$path <- substr(ifelse(is_command, receipts$path, basename(receipts$path)), 1L, 24L)
columns <- c("seq", "tool", "path", "decision", "code", "enforced_by")
print(receipts[, columns], row.names = FALSE, n = Inf)

unlink(base, recursive = TRUE)
