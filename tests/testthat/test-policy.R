test_that("policies print in plain words", {
  expect_identical(format(rho_process_none()), "Processes: none: bash answers with a denial")
  expect_identical(
    format(rho_process_unrestricted()),
    paste(
      "Processes: unrestricted.",
      "Unrestricted bash has the full authority of the R process's user."
    )
  )
  expect_match(format(rho_process_confined()), "kernel enforces")
  expect_match(format(rho_network_none()), "none for commands")
  expect_match(format(rho_network_host()), "without limits")
  expect_match(format(rho_placement_local()), "contains nothing")
  expect_match(format(rho_placement_mirai()), "default profile")
  expect_match(format(rho_placement_mirai("a\nb")), "a\\nb", fixed = TRUE)
  expect_output(print(rho_limits()), "256 MiB")
})

test_that("the sentence about unrestricted commands is the core's, also in receipts", {
  tree <- new_tree()
  capability <- tree_capability(
    tree,
    process = rho_process_unrestricted(),
    network = rho_network_host()
  )
  expect_identical(capability_facts(capability)$sentence, unrestricted_sentence)
  outcome <- rho_bash(capability, "ls")
  expect_outcome(outcome, RhoCommandResult)
  expect_identical(outcome@receipt@enforced_by$statement, unrestricted_sentence)
  # Nothing stands between such a command and the host.
  expect_identical(outcome@receipt@enforced_by$mechanism, "none")
  denied <- rho_bash(tree_capability(tree), "ls")
  expect_identical(denied@receipt@enforced_by$mechanism, "admission")
})

test_that("policies are values of their classes", {
  expect_true(S7::S7_inherits(rho_process_none(), RhoProcessPolicy))
  expect_true(S7::S7_inherits(rho_process_confined(), RhoProcessConfined))
  expect_true(S7::S7_inherits(rho_network_host(), RhoNetworkPolicy))
  expect_true(S7::S7_inherits(rho_placement_mirai("x"), RhoPlacement))
  expect_identical(rho_placement_mirai("x")@compute, "x")
  expect_identical(rho_process_none(), rho_process_none())
})

test_that("limits are checked", {
  limits <- rho_limits(timeout = 0.5, read_bytes = 10, symlinks = FALSE)
  expect_identical(limits@timeout, 0.5)
  expect_identical(limits@read_bytes, 10)
  expect_false(limits@symlinks)
  cases <- list(
    quote(rho_limits(timeout = 0)),
    quote(rho_limits(timeout = Inf)),
    quote(rho_limits(timeout = NA)),
    quote(rho_limits(grace = -1)),
    quote(rho_limits(read_bytes = 2^31)),
    quote(rho_limits(read_bytes = 1.5)),
    quote(rho_limits(read_bytes = "1")),
    quote(rho_limits(grace = quote(stop("code that was run")))),
    quote(rho_limits(symlinks = 1)),
    quote(rho_limits(shell = "")),
    quote(rho_limits(processes = 0)),
    quote(rho_limits(open_files = 3)),
    quote(rho_limits(memory = Inf)),
    quote(rho_limits(cpu = 0.5)),
    quote(rho_limits(file_size = -1)),
    quote(rho_limits(colours = 10)),
    quote(rho_placement_mirai(1)),
    quote(rho_placement_mirai(""))
  )
  for (case in cases) {
    expect_error(eval(case), class = "rhocap_error")
  }
  # The class's own constructor is no wider.
  cases <- list(
    quote(RhoLimits(read_bytes = 2^40)),
    quote(RhoLimits(read_bytes = 1.5)),
    quote(RhoLimits(timeout = 0)),
    quote(RhoLimits(timeout = Inf)),
    quote(RhoLimits(grace = 1e10)),
    quote(RhoLimits(entries = -1))
  )
  for (case in cases) {
    expect_error(eval(case), class = "rhocap_error_type")
  }
  # A shell that is no absolute path is found when the capability is made.
  tree <- new_tree()
  expect_error(
    tree_capability(tree, limits = rho_limits(shell = "bash")),
    class = "rhocap_error_limit"
  )
})

test_that("sizes are told in words", {
  expect_identical(
    vapply(c(0, 1, 1023, 1024, 1536, 2^20, 2^31 - 1, 2^53), bytes_words, ""),
    c("0 bytes", "1 byte", "1023 bytes", "1 KiB", "1.5 KiB", "1 MiB", "2 GiB", "8 PiB")
  )
})
