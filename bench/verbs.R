# Ratios of the R verbs against their peers, from one interleaved run. Needs rhocap and brio
# installed.
library(rhocap)

root <- tempfile("rhocap-bench-")
dir.create(root)
root <- normalizePath(root)

capability <- rho_host_capability(write = root, cwd = root, process = rho_process_none())
unsynced <- rho_host_capability(
  write = root,
  cwd = root,
  process = rho_process_none(),
  limits = rho_limits(fsync = FALSE)
)

# A text of about so many bytes, in lines as source code has them.
make_text <- function(bytes) {
  line <- "result <- transform(value, width = 12L, label = \"a line as in a file\") # note\n"
  strrep(line, ceiling(bytes / nchar(line)))
}
make_file <- function(name, bytes) {
  brio::write_file(substr(make_text(bytes), 1L, bytes), file.path(root, name))
  name
}

source("bench/compare.R")

small <- make_file("small.txt", 4096)
small_path <- file.path(root, small)
compare(
  "R: `rho_read` 4 KiB, with its receipt", "`brio::read_file`", "<= 4",
  function() rho_read(capability, "small.txt"),
  function() brio::read_file(small_path),
  rounds = 61L, each = 500L
)

middle_path <- file.path(root, make_file("middle.txt", 10 * 2^20))
large_path <- file.path(root, make_file("large.txt", 200 * 2^20))
sizes <- list(
  list(name = "10 MiB", path = middle_path, rounds = 31L),
  list(name = "200 MiB", path = large_path, rounds = 3L)
)
for (size in sizes) {
  work <- paste("R: `rho_read`", size$name)
  path <- size$path
  ours <- function() rho_read(capability, basename(path), limit = Inf)
  compare(
    work, "`brio::read_file`", "<= 1.3",
    ours,
    function() brio::read_file(path),
    rounds = size$rounds, each = 1L
  )
  compare(
    work, "`paste(readLines(), collapse = \"\\n\")`", "<= 0.3",
    ours,
    function() paste(readLines(path, warn = FALSE), collapse = "\n"),
    rounds = size$rounds, each = 1L
  )
}

text <- make_text(10 * 2^20)
peer_path <- file.path(root, "peer.txt")
compare(
  "R: `rho_write` 10 MiB, fsync off", "`writeLines`", "<= 1.3",
  function() rho_write(unsynced, "ours.txt", text),
  function() writeLines(text, peer_path, sep = ""),
  rounds = 31L, each = 1L
)
compare(
  "R: `rho_write` 10 MiB, fsync on (its cost, for information)", "`rho_write`, fsync off", "-",
  function() rho_write(capability, "ours.txt", text),
  function() rho_write(unsynced, "ours.txt", text),
  rounds = 15L, each = 1L
)

# The peak of resident memory of a new R that reads 200 MiB, above that of one that reads nothing.
peak <- function(limit) {
  code <- sprintf(
    paste(
      "library(rhocap); c <- rho_host_capability(read = '%s', cwd = '%s', process = rho_process_none());",
      "x <- rho_read(c, 'large.txt', limit = %s);",
      "cat(sub('[^0-9]*([0-9]+).*', '\\\\1', grep('VmHWM', readLines('/proc/self/status'), value = TRUE)))"
    ),
    root, root, limit
  )
  as.numeric(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", shQuote(code)), stdout = TRUE)) * 1024
}
if (file.exists("/proc/self/status")) {
  size <- file.size(large_path)
  idle <- as.numeric(system2(
    file.path(R.home("bin"), "Rscript"),
    c("--vanilla", "-e", shQuote(
      "library(rhocap); cat(sub('[^0-9]*([0-9]+).*', '\\\\1', grep('VmHWM', readLines('/proc/self/status'), value = TRUE)))"
    )),
    stdout = TRUE
  )) * 1024
  used <- peak("Inf") - idle
  row(
    "memory: read 200 MiB", "its size",
    sprintf("%.0f MiB", used / 2^20), sprintf("%.0f MiB", size / 2^20), used / size, "<= 2.2"
  )
}
unlink(root, recursive = TRUE)
