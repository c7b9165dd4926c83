test_that("rho_is_ok and rho_unwrap", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_true(rho_is_ok(rho_read(capability, "f")))
  expect_false(rho_is_ok(rho_read(capability, "nope")))
  expect_identical(rho_unwrap(rho_read(capability, "f")), "IN")
  written <- rho_write(capability, "g", "x")
  expect_identical(rho_unwrap(written), written@version)
  expect_s3_class(rho_unwrap(rho_list(capability)), "data.frame")
  edited <- rho_edit(capability, "g", "x", "y")
  expect_identical(rho_unwrap(edited), edited@version)
  expect_identical(rho_unwrap(rho_move(capability, "g", "h")), "h")
  expect_identical(rho_unwrap(rho_remove(capability, "h")), "h")
  admitted <- rho_admit(capability, "f")
  expect_identical(rho_unwrap(admitted), admitted)
  expect_error(rho_is_ok(1), class = "rhocap_error_type")
  expect_error(rho_unwrap(), class = "rhocap_error_missing")
})

test_that("an unwrapped refusal is a ladder of conditions with the value in it", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  denied <- rho_read(capability, "../x")
  cnd <- tryCatch(rho_unwrap(denied), error = identity)
  expect_s3_class(
    cnd,
    c("rhocap_error_escape", "rhocap_error_denied", "rhocap_error", "error", "condition"),
    exact = TRUE
  )
  expect_identical(cnd$outcome, denied)
  expect_null(conditionCall(cnd))
  cnd <- tryCatch(rho_unwrap(rho_read(capability, "nope")), error = identity)
  expect_s3_class(cnd, c("rhocap_error_not_found", "rhocap_error_failed"))
})

test_that("a refusal names what was asked for, not what lies outside", {
  tree <- new_tree()
  file.symlink(file.path(tree$outside, "secret"), file.path(tree$root, "link"))
  capability <- tree_capability(tree)
  denied <- rho_read(capability, "link")
  expect_outcome(denied, RhoDenied, "Escape")
  expect_match(denied@message, "link")
  expect_no_match(denied@message, "secret")
  expect_no_match(denied@message, tree$base, fixed = TRUE)
  shown <- paste(format(denied), collapse = "\n")
  expect_match(shown, "<RhoDenied> Escape: \"link\"", fixed = TRUE)
  # What to do next, in words that a model knows.
  expect_match(denied@message, "below the working directory")
  elsewhere <- rho_read(capability, "/etc/passwd")
  expect_match(elsewhere@message, "no allowed directory. Give a path below the working directory")
  # Where the working directory grants nothing, that would not help.
  tree_elsewhere <- rho_host_capability(read = tree$root, cwd = tree$outside)
  expect_no_match(rho_read(tree_elsewhere, "/etc/passwd")@message, "working directory")
})

test_that("the set of codes is closed", {
  codes <- rho_codes()
  expect_identical(names(codes), c("code", "decision", "meaning"))
  expect_false(anyDuplicated(codes$code) > 0)
  expect_true(all(codes$decision %in% c("denied", "failed")))
  expect_identical(snake_case("NotADirectory"), "not_a_directory")
})

test_that("what may be shown is one line", {
  expect_identical(shown("a\nb\u001b[31m\u202e"), "a\\nb\\u{1b}[31m\\u{202e}")
  expect_identical(shown(c("a", NA)), c("a", "NA"))
  expect_identical(shown(character()), character())
})
