test_that("files, links and empty directories are removed", {
  tree <- new_tree()
  dir.create(file.path(tree$root, "empty"))
  file.symlink(file.path(tree$outside, "secret"), file.path(tree$root, "out"))
  capability <- tree_capability(tree)
  expect_identical(rho_remove(capability, "f")@kind, "file")
  expect_identical(rho_remove(capability, "empty")@kind, "directory")
  expect_identical(rho_remove(capability, "out")@kind, "symlink")
  expect_identical(list.files(tree$root), "a")
  expect_identical(rawToChar(get_bytes(file.path(tree$outside, "secret"))), "OUT")
})

test_that("what must not go stays", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  cases <- list(
    list("a", "NotEmpty"),
    list(".", "RootItself"),
    list("", "InvalidPath"),
    list("a/..", "InvalidPath"),
    list("..", "InvalidPath"),
    list("nope", "NotFound"),
    list("../ROOT-evil/secret", "Escape"),
    list(tree$root, "RootItself"),
    list(file.path(tree$outside, "secret"), "NotUnderRoot")
  )
  for (case in cases) {
    expect_outcome(rho_remove(capability, case[[1]]), RhoRefusal, case[[2]])
  }
  expect_identical(snapshot_tree(tree$base), before)
})

test_that("removing by an admission works on what was admitted, and on no link's target", {
  tree <- new_tree()
  file.symlink("f", file.path(tree$root, "link"))
  capability <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  for (admitted in list(
    rho_admit(capability, "f", "read"),
    rho_admit(capability, "a", "list"),
    rho_admit(capability, "link", "write")
  )) {
    expect_outcome(admitted, RhoAdmitted)
    expect_outcome(rho_remove(capability, admitted), RhoFailed, "InvalidArguments")
  }
  expect_identical(snapshot_tree(tree$base), before)
  deep <- rho_admit(capability, "a/b/c/f", "write")
  file.rename(file.path(tree$root, "a"), file.path(tree$root, "old"))
  dir.create(file.path(tree$root, "a", "b", "c"), recursive = TRUE)
  put(file.path(tree$root, "a", "b", "c", "f"), "OTHER")
  removed <- rho_remove(capability, deep)
  expect_outcome(removed, RhoRemoved)
  expect_identical(removed@path, "a/b/c/f")
  expect_false(file.exists(file.path(tree$root, "old", "b", "c", "f")))
  expect_identical(rho_read(capability, "a/b/c/f")@text, "OTHER")
})

test_that("print says what it was", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_identical(format(rho_remove(capability, "f")), "<RhoRemoved> f (file)")
})
