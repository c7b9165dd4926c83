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

say("Every call left a receipt")
receipts <- rho_receipts()
receipts$path <- basename(receipts$path)
columns <- c("seq", "tool", "path", "decision", "code", "effect", "duration_us")
print(receipts[, columns], row.names = FALSE)

unlink(base, recursive = TRUE)
