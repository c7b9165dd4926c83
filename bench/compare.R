# How the benchmarks compare two sides, and the rows that they print.

# Medians of interleaved rounds; which side goes first alternates.
compare <- function(work, against, reach, ours, theirs, rounds, each) {
  time <- function(call) {
    gc(FALSE)
    stamp <- Sys.time()
    for (i in seq_len(each)) call()
    as.numeric(Sys.time() - stamp, units = "secs") / each
  }
  measured <- vapply(
    seq_len(rounds),
    function(round) {
      if (round %% 2L) {
        mine <- time(ours)
        c(mine, time(theirs))
      } else {
        peer <- time(theirs)
        c(time(ours), peer)
      }
    },
    numeric(2)
  )
  row(
    work,
    against,
    show_time(stats::median(measured[1L, ])),
    show_time(stats::median(measured[2L, ])),
    stats::median(measured[1L, ] / measured[2L, ]),
    reach
  )
}
show_time <- function(seconds) {
  if (seconds < 0.001) sprintf("%.1f us", seconds * 1e6) else sprintf("%.1f ms", seconds * 1e3)
}
row <- function(work, against, mine, peer, ratio, reach) {
  cat(sprintf("| %s | %s | %s | %s | %.2f | %s |\n", work, against, mine, peer, ratio, reach))
}
