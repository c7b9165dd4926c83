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
    list(".", "InvalidPath"),
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

test_that("print says what it was", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_identical(format(rho_remove(capability, "f")), "<RhoRemoved> f (file)")
})
