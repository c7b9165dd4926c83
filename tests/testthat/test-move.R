test_that("moving renames, and replaces only when asked to", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  moved <- rho_move(capability, "f", "g")
  expect_outcome(moved, RhoMoved)
  expect_identical(c(moved@from, moved@to), c("f", "g"))
  expect_false(moved@replaced)
  put(file.path(tree$root, "h"), "H")
  expect_outcome(rho_move(capability, "g", "h"), RhoFailed, "AlreadyExists")
  expect_identical(rho_read(capability, "h")@text, "H")
  replaced <- rho_move(capability, "g", "h", overwrite = TRUE)
  expect_true(replaced@replaced)
  expect_identical(rho_read(capability, "h")@text, "IN")
  expect_match(format(replaced), "replaced what was there")
  expect_outcome(rho_move(capability, "nope", "x"), RhoFailed, "NotFound")
})

test_that("neither side leaves the roots, and a link is moved itself", {
  tree <- new_tree()
  file.symlink(file.path(tree$outside, "secret"), file.path(tree$root, "out"))
  capability <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  expect_outcome(rho_move(capability, "f", "../x"), RhoDenied, "Escape")
  expect_outcome(rho_move(capability, "../ROOT-evil/secret", "x"), RhoDenied, "Escape")
  expect_outcome(rho_move(capability, ".", "x"), RhoRefusal)
  expect_identical(snapshot_tree(tree$base), before)
  outside <- snapshot_tree(tree$outside)
  expect_outcome(rho_move(capability, "out", "renamed"), RhoMoved)
  expect_identical(
    Sys.readlink(file.path(tree$root, "renamed")),
    file.path(tree$outside, "secret")
  )
  expect_identical(snapshot_tree(tree$outside), outside)
  expect_identical(rawToChar(outside$secret$bytes), "OUT")
})

test_that("a move by an admission works on what was admitted", {
  tree <- new_tree()
  dir.create(file.path(tree$root, "into"))
  capability <- tree_capability(tree)
  admitted <- rho_admit(capability, "f", "write")
  # The directory that was admitted, though another one has its name by now.
  deep <- rho_admit(capability, "a/b/c/f", "write")
  file.rename(file.path(tree$root, "a"), file.path(tree$root, "old"))
  file.symlink(tree$outside, file.path(tree$root, "a"))
  expect_outcome(rho_move(capability, deep, "into/g"), RhoMoved)
  expect_false(file.exists(file.path(tree$root, "old", "b", "c", "f")))
  moved <- rho_move(capability, admitted, "into/f")
  expect_outcome(moved, RhoMoved)
  expect_identical(c(moved@from, moved@to), c("f", "into/f"))
  expect_identical(rho_read(capability, "into/f")@text, "IN")
  expect_false(file.exists(file.path(tree$root, "f")))
  expect_error(rho_move(capability, admitted, "x"), class = "rhocap_error_handle_used")
})

test_that("an admission that does not fit a move is refused without effect", {
  tree <- new_tree()
  file.symlink("f", file.path(tree$root, "link"))
  file.symlink("a", file.path(tree$root, "directory"))
  capability <- tree_capability(tree)
  other <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  for (admitted in list(
    rho_admit(capability, "f", "read"),
    rho_admit(capability, "a", "list"),
    rho_admit(other, "f", "write"),
    # The link would be moved by its name, its target by the admission.
    rho_admit(capability, "link", "write"),
    rho_admit(capability, "directory/b/c/f", "write")
  )) {
    expect_outcome(admitted, RhoAdmitted)
    expect_outcome(rho_move(capability, admitted, "g"), RhoFailed, "InvalidArguments")
  }
  absent <- rho_admit(capability, "new", "write")
  expect_outcome(rho_move(capability, absent, "g"), RhoFailed, "NotFound")
  expect_identical(snapshot_tree(tree$base), before)
})
