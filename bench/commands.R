# Ratios of commands against processx, from one interleaved run. Needs rhocap, processx and ps
# installed.
library(rhocap)
source("bench/compare.R")

root <- normalizePath(tempdir())
host <- function(...) {
  rho_host_capability(
    write = root, cwd = root,
    process = rho_process_unrestricted(), network = rho_network_host(), ...
  )
}
unrestricted <- host()
confined <- tryCatch(
  rho_host_capability(write = root, cwd = root, process = rho_process_confined()),
  rhocap_error_not_enforceable = function(cnd) NULL
)
peer <- function() processx::run("/bin/bash", c("-c", "true"))

compare(
  "R: `rho_bash(\"true\")`, unrestricted", "`processx::run`", "<= 0.7",
  function() rho_bash(unrestricted, "true"), peer,
  rounds = 21L, each = 10L
)
if (!is.null(confined)) {
  compare(
    "R: `rho_bash(\"true\")`, confined", "`processx::run`", "<= 1.0",
    function() rho_bash(confined, "true"), peer,
    rounds = 21L, each = 10L
  )
}

# The time of R's own thread in a start; the command ends between two measurements.
start_ours <- function() {
  stamp <- Sys.time()
  job <- rhocap:::start_command(unrestricted, "true", NULL, NULL, NULL, FALSE)
  spent <- as.numeric(Sys.time() - stamp, units = "secs")
  rhocap:::as_outcome(job)
  spent
}
start_theirs <- function() {
  stamp <- Sys.time()
  process <- processx::process$new("/bin/bash", c("-c", "true"), stdout = "|", stderr = "2>&1")
  spent <- as.numeric(Sys.time() - stamp, units = "secs")
  process$wait()
  spent
}
starts <- function(size, reach) {
  times <- vapply(1:60, function(round) {
    if (round %% 2L) c(start_ours(), start_theirs()) else rev(c(start_theirs(), start_ours()))
  }, numeric(2))
  row(
    paste("R: its thread's time in a start, R at", size), "`processx::process$new`",
    show_time(stats::median(times[1L, ])),
    show_time(stats::median(times[2L, ])),
    stats::median(times[1L, ]) / stats::median(times[2L, ]),
    reach
  )
}
whole <- function() {
  times <- vapply(1:60, function(round) {
    stamp <- Sys.time()
    rho_bash(unrestricted, "true")
    as.numeric(Sys.time() - stamp, units = "secs")
  }, 0)
  stats::median(times)
}
starts("50 MiB", "< 0.3")
small <- whole()
ballast <- rep(as.raw(1:128), 2^24)
large <- whole()
row(
  "R: `rho_bash(\"true\")`, 2 GiB touched in R", "itself with 50 MiB",
  show_time(large), show_time(small), large / small, "<= 1.2"
)
starts("2 GiB", "< 0.05")
rm(ballast)
invisible(gc())

# Much output, in processes of their own, because what counts is the most memory that they ever
# have.
flood <- function(code) {
  script <- paste0(
    "peak <- function() as.numeric(gsub('[^0-9]', '', grep('VmHWM', readLines('/proc/self/status'), value = TRUE)));",
    "stamp <- NULL; before <- NULL;", code,
    "cat(as.numeric(Sys.time() - stamp, units = 'secs'), (peak() - before) / 1024)"
  )
  longest <- 120
  run <- processx::run(
    file.path(R.home("bin"), "Rscript"), c("-e", script),
    timeout = longest, error_on_status = FALSE
  )
  # What takes longer counts as this long.
  if (run$timeout) c(longest, NA) else as.numeric(strsplit(run$stdout, " ")[[1L]])
}
if (file.exists("/proc/self/status")) {
  command <- "yes | head -c 1073741824"
  start <- "before <- peak(); stamp <- Sys.time();"
  ours <- flood(paste0(
    "library(rhocap); d <- normalizePath(tempdir());",
    "c <- rho_host_capability(write = d, cwd = d, process = rho_process_unrestricted(), network = rho_network_host());",
    "invisible(rho_bash(c, 'true'));", start,
    "stopifnot(rho_bash(c, '", command, "')@bytes_total == 2^30);"
  ))
  theirs <- flood(paste0(
    "library(processx); invisible(run('true'));", start,
    "stopifnot(nchar(run('/bin/bash', c('-c', '", command, "'))$stdout, 'bytes') == 2^30);"
  ))
  row(
    "R: 1 GiB of output, capped at 1 MiB", "`processx::run`, all of it",
    show_time(ours[[1L]]), show_time(theirs[[1L]]), ours[[1L]] / theirs[[1L]], "< 1"
  )
  cat(sprintf(
    "| memory: 1 GiB of output | - | %.0f MiB | %.0f MiB | - | < 40 MiB |\n",
    ours[[2L]], theirs[[2L]]
  ))
}

# The end of a tree that does not want to end: each process in a session of its own, deaf to
# SIGTERM.
hostile <- function(size, ready) {
  sprintf(
    "trap '' TERM; for i in $(seq %d); do setsid sleep 1000 & done; sleep 0.2; touch %s; sleep 1000",
    size - 2L, ready
  )
}
left <- function(pids) {
  lines <- lapply(file.path("/proc", pids, "stat"), function(path) {
    tryCatch(suppressWarnings(readLines(path)), error = function(cnd) "(gone) Z")
  })
  sum(!grepl(") Z", unlist(lines), fixed = TRUE))
}
sleepers <- function() {
  found <- ps::ps()
  found$pid[found$name == "sleep"]
}
wait_for <- function(path) {
  while (!file.exists(path)) Sys.sleep(0.01)
  Sys.sleep(0.1)
  unlink(path)
}
at_once <- host(limits = rho_limits(grace = 0))
for (size in c(50L, 200L)) {
  ready <- tempfile()
  end_ours <- function() {
    before <- sleepers()
    promise <- rho_bash_async(at_once, hostile(size, ready))
    wait_for(ready)
    found <- setdiff(sleepers(), before)
    rho_bash_cancel(promise)
    result <- NULL
    promises::then(promise, function(value) result <<- value)
    while (is.null(result)) later::run_now(0.001)
    c(result@receipt@command$ending_us / 1e6, left(found))
  }
  end_theirs <- function() {
    before <- sleepers()
    process <- processx::process$new(
      "/bin/bash", c("-c", hostile(size, ready)),
      cleanup_tree = TRUE
    )
    wait_for(ready)
    found <- setdiff(sleepers(), before)
    stamp <- Sys.time()
    process$kill_tree()
    spent <- as.numeric(Sys.time() - stamp, units = "secs")
    survivors <- left(found)
    tools::pskill(found, 9L)
    c(spent, survivors)
  }
  times <- vapply(1:5, function(round) c(end_ours(), end_theirs()), numeric(4))
  row(
    sprintf("R: the end of a hostile tree of %d, %d survivors", size, max(times[2L, ])),
    sprintf("processx `kill_tree`, %d survivors", max(times[4L, ])),
    show_time(stats::median(times[1L, ])),
    show_time(stats::median(times[3L, ])),
    stats::median(times[1L, ]) / stats::median(times[3L, ]),
    "<= 1.0"
  )
}
