test_that("what is written is what is there", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  cases <- list("", "x", "no newline", "a\r\nb", enc2utf8("caf\u00e9"), as.raw(c(0x00, 0xff)))
  for (text in cases) {
    written <- rho_write(capability, "new", text)
    expect_outcome(written, RhoWritten)
    bytes <- if (is.raw(text)) text else charToRaw(text)
    expect_identical(get_bytes(file.path(tree$root, "new")), bytes)
    expect_identical(written@bytes, as.double(length(bytes)))
  }
})

test_that("latin1 text is converted once", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  rho_write(capability, "new", iconv("caf\u00e9", "UTF-8", "latin1"))
  expect_identical(rho_read(capability, "new")@text, "caf\u00e9")
})

test_that("append, parents and created are told", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_true(rho_write(capability, "new", "a")@created)
  appended <- rho_write(capability, "new", "b", append = TRUE)
  expect_false(appended@created)
  expect_identical(appended@bytes, 2)
  expect_identical(rho_read(capability, "new")@text, "ab")
  missing <- rho_write(capability, "x/y/z", "a")
  expect_outcome(missing, RhoFailed, "NotFound")
  expect_match(missing@message, "create_parents = TRUE", fixed = TRUE)
  climbing <- rho_write(capability, "x/../../y", "a")
  expect_no_match(climbing@message, "create_parents", fixed = TRUE)
  expect_false(file.exists(file.path(tree$root, "x")))
  expect_outcome(rho_write(capability, "x/y/z", "a", create_parents = TRUE), RhoWritten)
  expect_identical(rho_read(capability, "x/y/z")@text, "a")
})

test_that("permissions are kept", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  path <- file.path(tree$root, "f")
  for (mode in c("755", "600", "444")) {
    Sys.chmod(path, mode)
    expect_outcome(rho_write(capability, "f", "x"), RhoWritten)
    expect_identical(format(file.info(path)$mode), mode)
  }
})

test_that("expected guards against a change by somebody else", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  read <- rho_read(capability, "f")
  for (expected in list(read, read@version)) {
    put(file.path(tree$root, "f"), "IN")
    written <- rho_write(capability, "f", "mine", expected = expected)
    expect_outcome(written, RhoWritten)
  }
  put(file.path(tree$root, "f"), "theirs")
  expect_outcome(rho_write(capability, "f", "x", expected = written), RhoFailed, "LostUpdate")
  expect_identical(rho_read(capability, "f")@text, "theirs")
  expect_outcome(rho_write(capability, "f", "x", expected = "absent"), RhoFailed, "AlreadyExists")
  expect_outcome(rho_write(capability, "new", "x", expected = "absent"), RhoWritten)
  expect_outcome(rho_write(capability, "gone", "x", expected = read), RhoFailed, "LostUpdate")
  expect_error(rho_write(capability, "f", "x", expected = 1), class = "rhocap_error_type")
  # What no file can have is a mistake, not a change by somebody else.
  for (expected in c("Absent", "abc", "ABC", toupper(read@version), substr(read@version, 2, 32))) {
    expect_error(rho_write(capability, "f", "x", expected = expected), class = "rhocap_error_value")
    expect_error(
      rho_edit(capability, "f", "t", "x", expected = expected),
      class = "rhocap_error_value"
    )
  }
})

test_that("a part of a file does not stand for the whole as what is expected", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  path <- file.path(tree$root, "big")
  text <- strrep("0123456789abcde\n", 5000)
  put(path, text)
  parts <- list(
    rho_read(capability, "big"),
    rho_read(capability, "big", limit = 10),
    rho_read(capability, "big", lines = 2:3),
    rho_read(capability, "big", lines = c(2, Inf), limit = Inf)
  )
  for (part in parts) {
    cnd <- tryCatch(rho_write(capability, "big", "x", expected = part), error = identity)
    expect_s3_class(cnd, "rhocap_error_value")
    expect_match(conditionMessage(cnd), "limit = Inf", fixed = TRUE)
    expect_match(conditionMessage(cnd), "expected = x@version", fixed = TRUE)
    expect_identical(file.size(path), as.double(nchar(text)))
  }
  # What keeps the rest of the file takes a part, and so does who means it.
  appended <- rho_write(capability, "big", "y\n", append = TRUE, expected = parts[[1]])
  expect_identical(appended@bytes, nchar(text) + 2)
  lines <- rho_read(capability, "big", lines = c(5001, Inf))
  edited <- rho_edit(capability, "big", "y\n", "z\n", expected = lines)
  expect_outcome(edited, RhoEdited)
  expect_outcome(rho_write(capability, "big", "x", expected = edited@version), RhoWritten)
  whole <- rho_read(capability, "big", lines = c(1, Inf))
  expect_outcome(rho_write(capability, "big", "y", expected = whole), RhoWritten)
})

test_that("a symbolic link inside is written through and stays a link", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  file.symlink("f", file.path(tree$root, "link"))
  expect_outcome(rho_write(capability, "link", "through"), RhoWritten)
  expect_identical(Sys.readlink(file.path(tree$root, "link")), "f")
  expect_identical(rho_read(capability, "f")@text, "through")
})

test_that("a long text is written by a job", {
  tree <- new_tree()
  capability <- tree_capability(tree, limits = rho_limits(fsync = FALSE))
  text <- strrep("0123456789abcde\n", 2^19)
  written <- rho_write(capability, "long", text)
  expect_identical(written@bytes, 2^23)
  expect_identical(written@version, rho_read(capability, "long", limit = 10)@version)
})

test_that("print says what was done", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_identical(format(rho_write(capability, "new", "x")), "<RhoWritten> new (1 byte, created)")
  expect_identical(format(rho_write(capability, "new", "y")), "<RhoWritten> new (1 byte, replaced)")
  expect_identical(
    format(RhoWritten(path = "a", lost = "acl"))[[2]],
    "not kept: acl"
  )
})
