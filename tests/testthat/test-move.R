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

test_that("a refusal names the path at fault, and says what would be right", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  put(file.path(tree$root, "g"), "G")
  cases <- list(
    list("f", "g", "\"g\": The destination exists already.*overwrite = TRUE"),
    list("f", "a", "\"a\": The destination is a directory. Give the whole new path"),
    list("f", "a/", "\"a/\": A file cannot get a path that ends in a slash"),
    list("f", "nope/x", "\"nope/x\""),
    list("f", ".git/hooks", "\".git/hooks\""),
    list("f", "../x", "\"../x\""),
    list("a", "a/b/new", "\"a/b/new\": A directory cannot be moved into itself"),
    list("nope", "x", "\"nope\"")
  )
  for (case in cases) {
    refused <- rho_move(capability, case[[1]], case[[2]])
    expect_outcome(refused, RhoRefusal)
    expect_match(refused@message, paste0("^", case[[3]]))
    expect_identical(refused@receipt@request$path, case[[1]])
  }
  dir.create(file.path(tree$root, "empty"))
  over <- rho_move(capability, "f", "empty", overwrite = TRUE)
  expect_match(over@message, "^\"empty\"")
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
