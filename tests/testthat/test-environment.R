test_that("the minimal set is what an empty environment is", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  entries <- capability@environment
  expect_true(all(entries$kind %in% c("minimal", "private")))
  expect_true(all(c("PATH", "HOME", "TMPDIR", "TERM", "R_ENVIRON_USER") %in% entries$name))
  expect_false(capability@environment_inherited)
})

test_that("thirty planted secrets are not in it", {
  names <- paste0(
    c("API_KEY", "GITHUB_PAT", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "PGPASSWORD"),
    rep(seq_len(6), each = 5)
  )
  do.call(Sys.setenv, stats::setNames(as.list(rep("planted", 30)), names))
  on.exit(Sys.unsetenv(names))
  tree <- new_tree()
  granted <- rho_environment(GITHUB_PAT1 = rho_env_inherit(), MINE = "yes")
  capability <- tree_capability(tree, environment = granted)
  entries <- capability@environment
  expect_identical(
    entries$name[!entries$kind %in% c("minimal", "private")],
    c("GITHUB_PAT1", "MINE")
  )
  expect_identical(entries$kind[entries$name == "GITHUB_PAT1"], "inherited")
  shown <- paste(format(capability), collapse = "\n")
  expect_no_match(shown, "planted")
  expect_match(shown, "inherited by name: GITHUB_PAT1", fixed = TRUE)
})

test_that("inheriting everything is a named value that print shows", {
  Sys.setenv(RHOCAP_TEST_PLANTED = "planted")
  on.exit(Sys.unsetenv("RHOCAP_TEST_PLANTED"))
  tree <- new_tree()
  capability <- tree_capability(tree, environment = rho_environment_inherited())
  expect_true(capability@environment_inherited)
  expect_true("RHOCAP_TEST_PLANTED" %in% capability@environment$name)
  shown <- paste(format(capability), collapse = "\n")
  expect_match(shown, "everything that the R process has")
  expect_no_match(shown, "planted")
  expect_match(format(rho_environment_inherited())[[1]], "keys and tokens included")
})

test_that("parts and other environments add up", {
  environment <- rho_environment(
    rho_environment(A = "1"),
    rho_environment_git("Ada", "ada@example.org", safe = "/srv/x"),
    B = "2"
  )
  expect_identical(names(environment@entries), c("A", "B"))
  shown <- format(environment)
  expect_true(any(grepl("Ada <ada@example.org>", shown, fixed = TRUE)))
  tree <- new_tree()
  capability <- tree_capability(tree, environment = environment)
  expect_true(any(grepl("git identity: Ada", format(capability), fixed = TRUE)))
})

test_that("hooks are refused unless named", {
  tree <- new_tree()
  hooks <- c("LD_PRELOAD", "ld_preload", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PYTHONSTARTUP")
  for (hook in c(hooks, "GIT_CONFIG_COUNT", "R_LIBS", "R_PROFILE_USER")) {
    entries <- stats::setNames(list("x"), hook)
    expect_error(
      tree_capability(tree, environment = do.call(rho_environment, entries)),
      class = "rhocap_error_environment"
    )
    meant <- do.call(rho_environment, c(entries, list(hooks = hook)))
    expect_no_error(tree_capability(tree, environment = meant))
  }
})

test_that("bad entries are conditions", {
  cases <- list(
    quote(rho_environment(A = 1)),
    quote(rho_environment(A = NA_character_)),
    quote(rho_environment(A = NULL)),
    quote(rho_environment(A = c("a", "b"))),
    quote(rho_environment("value without name")),
    quote(rho_environment(A = "1", A = "2")),
    quote(rho_environment(rho_environment(A = "1"), A = "2")),
    quote(rho_environment(hooks = 1)),
    quote(rho_environment_git("", "a@b")),
    quote(rho_environment_git("a")),
    quote(rho_environment_r("/does/not/exist")),
    quote(rho_environment_r(NULL))
  )
  for (case in cases) {
    expect_error(eval(case), class = "rhocap_error")
  }
  tree <- new_tree()
  for (name in c("A B", "1A", "A-B")) {
    environment <- do.call(rho_environment, stats::setNames(list("x"), name))
    expect_error(
      tree_capability(tree, environment = environment),
      class = "rhocap_error_environment"
    )
  }
  absent <- rho_environment(RHOCAP_TEST_NOT_SET = rho_env_inherit())
  expect_error(tree_capability(tree, environment = absent), class = "rhocap_error_environment")
})

test_that("R's libraries and where their links lead are readable", {
  base <- normalizePath(tempfile("libraries"), mustWork = FALSE)
  library <- file.path(base, "library")
  cache <- file.path(base, "cache", "pkg")
  dir.create(library, recursive = TRUE)
  dir.create(cache, recursive = TRUE)
  put(file.path(cache, "DESCRIPTION"), "Package: pkg\n")
  file.symlink(cache, file.path(library, "pkg"))
  part <- rho_environment_r(library)
  expect_identical(part@libraries, library)
  expect_true(all(c(library, cache, normalizePath(R.home())) %in% part@readable))
  tree <- new_tree()
  capability <- tree_capability(tree, environment = rho_environment(part))
  read <- rho_read(capability, file.path(library, "pkg", "DESCRIPTION"))
  expect_identical(read@text, "Package: pkg\n")
  expect_identical(
    rho_write(capability, file.path(library, "pkg", "DESCRIPTION"), "x")@code,
    "NotWritable"
  )
  entries <- capability@environment
  expect_identical(entries$kind[entries$name == "R_LIBS"], "literal")
  unlink(base, recursive = TRUE)
})

test_that("a link in a library opens nothing but a package, and no carve-out", {
  tree <- new_tree()
  library <- file.path(tree$base, "library")
  package <- file.path(tree$root, "sub", "pkg")
  dir.create(library)
  dir.create(package, recursive = TRUE)
  put(file.path(package, "DESCRIPTION"), "Package: pkg\n")
  put(file.path(package, ".env"), "KEY=1\n")
  file.symlink("/", file.path(library, "all"))
  file.symlink(tree$outside, file.path(library, "data"))
  file.symlink(package, file.path(library, "pkg"))
  capability <- tree_capability(tree, environment = rho_environment(rho_environment_r(library)))
  expect_identical(rho_read(capability, "/etc/passwd")@code, "NotUnderRoot")
  expect_identical(
    rho_read(capability, file.path(tree$outside, "secret"))@code,
    "NotUnderRoot"
  )
  linked <- file.path(library, "pkg")
  expect_identical(rho_read(capability, file.path(linked, "DESCRIPTION"))@bytes, 13)
  expect_identical(rho_read(capability, file.path(linked, ".env"))@code, "CarveOut")
  expect_identical(rho_read(capability, "sub/pkg/.env")@code, "CarveOut")
})

test_that("a secret without a name is told how it becomes an entry", {
  secret <- rho_secret_literal(canary())
  for (given in list(secret, rho_env_secret(secret))) {
    expect_error(
      rho_environment(given),
      "NAME = rho_env_secret(secret)",
      fixed = TRUE,
      class = "rhocap_error_purpose"
    )
  }
})
