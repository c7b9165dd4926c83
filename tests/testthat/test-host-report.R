test_that("the host report tells in plain words", {
  report <- rho_host_report()
  expect_true(S7::S7_inherits(report, RhoHostReport))
  expect_type(report@facts, "list")
  expect_output(print(report), "openat2: (yes|no)")
  expect_output(print(report), "processes: none, (confined, )?unrestricted")
  expect_output(print(report), "/etc/ld.so.cache", fixed = TRUE)
  expect_identical("confined" %in% report@facts$processes, is.null(report@facts$confined$refused))
  expect_output(print(report), "not yet: mirai")
})

test_that("nested facts are indented", {
  lines <- fact_lines(list(a_b = TRUE, c = list(d = 1, e = character()), f = list(list(g = "x"))))
  expect_identical(
    lines,
    c("  a b: yes", "  c: ", "    d: 1", "    e: none", "  f: ", "    g: x")
  )
})
