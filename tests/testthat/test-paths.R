# A chosen part of the path cases through R; the whole catalogue runs in the core, once for each
# resolver. Each refusal is checked to have no effect on either tree.

# The tree of the catalogue with what these cases need.
path_tree <- function(env = parent.frame()) {
  tree <- new_tree(env)
  # R's file.symlink() would expand the text "~".
  link <- function(text, name) {
    system2("ln", c("-s", "--", shQuote(c(text, file.path(tree$root, name)))))
  }
  for (name in c("...", "..x", "x..", " lead", "trail ", "-dash", "tab\tname", "a\\b")) {
    put(file.path(tree$root, name), "IN")
  }
  put(file.path(tree$root, "~"), "TILDE")
  put(file.path(tree$root, "line\nbreak"), "IN")
  put(file.path(tree$root, "esc\033[31m"), "IN")
  put(file.path(tree$root, "rtl\u202e"), "IN")
  put(file.path(tree$root, "x.gz"), "IN")
  put(file.path(tree$root, "stdin"), "IN")
  put(file.path(tree$root, strrep("n", 255)), "IN")
  link("f", "inside")
  link("../ROOT-evil/secret", "out-relative")
  link(file.path(tree$outside, "secret"), "out-absolute")
  link(file.path(tree$root, "f"), "absolute-inside")
  link("../ROOT/f", "out-and-back")
  link("../ROOT-evil", "out-directory")
  link("a/b", "directory")
  link(".", "dot")
  link("..", "dotdot")
  link("loop", "loop")
  link("two", "one")
  link("one", "two")
  link("f/", "file-slash")
  link("nowhere", "dangling")
  link("../ROOT-evil/new", "dangling-outside")
  link("~", "tilde")
  link("/proc/self/environ", "magic")
  for (index in seq_len(41)) {
    link(if (index == 1) "f" else sprintf("chain%d", index - 1), sprintf("chain%d", index))
  }
  file.link(file.path(tree$outside, "secret"), file.path(tree$root, "hard"))
  system2("mkfifo", shQuote(file.path(tree$root, "fifo")))
  put(file.path(tree$root, ".env"), "KEY=1")
  dir.create(file.path(tree$root, ".git", "hooks"), recursive = TRUE)
  tree
}

read_cases <- function(tree) {
  list(
    list("f", "IN"),
    list("a/b/c/f", "IN"),
    list("./f", "IN"),
    list("a//b///c/f", "IN"),
    list("a/../f", "IN"),
    list("...", "IN"),
    list("..x", "IN"),
    list("x..", "IN"),
    list(" lead", "IN"),
    list("trail ", "IN"),
    list("-dash", "IN"),
    list("tab\tname", "IN"),
    list("line\nbreak", "IN"),
    list("esc\033[31m", "IN"),
    list("rtl\u202e", "IN"),
    list("a\\b", "IN"),
    list("x.gz", "IN"),
    list("stdin", "IN"),
    list("~", "TILDE"),
    list("tilde", "TILDE"),
    list(strrep("n", 255), "IN"),
    list("inside", "IN"),
    list("absolute-inside", "IN"),
    list("dot/f", "IN"),
    list("directory/c/f", "IN"),
    list("chain40", "IN"),
    list(file.path(tree$root, "f"), "IN"),
    list(paste0(tree$root, "//a/./b/c/f"), "IN"),
    list("", code = "InvalidPath"),
    list(".", code = "NotRegular"),
    list("a", code = "NotRegular"),
    list("fifo", code = "NotRegular"),
    list("..", code = "Escape"),
    list("/", code = "NotUnderRoot"),
    list("/etc/passwd", code = "NotUnderRoot"),
    list("//etc/passwd", code = "NotUnderRoot"),
    list("../ROOT-evil/secret", code = "Escape"),
    list("../ROOT/f", code = "Escape"),
    list("a/b/../../../ROOT-evil/secret", code = "Escape"),
    list(file.path(tree$outside, "secret"), code = "NotUnderRoot"),
    list(paste0(tree$root, "/../ROOT-evil/secret"), code = "Escape"),
    list("nope/../f", code = "NotFound"),
    list("f/../f", code = "NotADirectory"),
    list("f/", code = "NotADirectory"),
    list("f/.", code = "NotADirectory"),
    list("file-slash", code = "NotADirectory"),
    list("out-relative", code = "Escape"),
    list("out-absolute", code = "Escape"),
    list("out-and-back", code = "Escape"),
    list("out-directory/secret", code = "Escape"),
    list("dotdot/ROOT/f", code = "Escape"),
    list("directory/../f", code = "NotFound"),
    list("chain41", code = "TooManyLinks"),
    list("loop", code = "TooManyLinks"),
    list("one", code = "TooManyLinks"),
    list("dangling", code = "NotFound"),
    list("dangling-outside", code = "Escape"),
    list("magic", code = "Escape"),
    list("~/x", code = "NotADirectory"),
    list("$HOME", code = "NotFound"),
    list("%2e%2e/ROOT-evil/secret", code = "NotFound"),
    list("file:///etc/passwd", code = "NotFound"),
    list("http://localhost/", code = "NotFound"),
    list("clipboard", code = "NotFound"),
    list("..\\..\\x", code = "NotFound"),
    list(strrep("n", 256), code = "NameTooLong"),
    list(as.raw(c(0x66, 0x00, 0x67)), code = "InvalidPath"),
    list(raw(), code = "InvalidPath"),
    list(".env", code = "CarveOut")
  )
}

test_that("reading admits and refuses as the catalogue says, without effect", {
  tree <- path_tree()
  before <- snapshot_tree(tree$base)
  capability <- tree_capability(tree)
  for (case in read_cases(tree)) {
    outcome <- rho_read(capability, case[[1]])
    label <- shown(if (is.raw(case[[1]])) "(raw)" else case[[1]])
    got <- if (rho_is_ok(outcome)) outcome@text else outcome@code
    wanted <- if (is.null(case$code)) case[[2]] else case$code
    expect_identical(got, wanted, label = label)
    if (!rho_is_ok(outcome)) {
      expect_identical(outcome@receipt@effect, "none")
      expect_identical(outcome@receipt@stage, "admit", label = label)
    }
  }
  expect_identical(snapshot_tree(tree$base), before)
})

test_that("a string that is no text in its encoding is an outcome with a receipt, for every verb", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  for (bad in invalid_strings()) {
    calls <- list(
      path = quote(rho_admit(capability, bad)),
      path = quote(rho_read(capability, bad)),
      path = quote(rho_write(capability, bad, "x")),
      text = quote(rho_write(capability, "f", bad)),
      text = quote(rho_write(capability, "f", bad, append = TRUE)),
      path = quote(rho_edit(capability, bad, "IN", "x")),
      old = quote(rho_edit(capability, "f", bad, "x")),
      new = quote(rho_edit(capability, "f", "IN", bad)),
      path = quote(rho_list(capability, bad)),
      from = quote(rho_move(capability, bad, "g")),
      to = quote(rho_move(capability, "f", bad)),
      path = quote(rho_remove(capability, bad)),
      command = quote(rho_bash(capability, bad))
    )
    for (index in seq_along(calls)) {
      count <- check_boundary(core_receipts_count())
      outcome <- eval(calls[[index]])
      expect_outcome(outcome, RhoFailed, "InvalidEncoding")
      expect_identical(outcome@facts$argument, names(calls)[[index]])
      expect_match(outcome@message, "iconv()", fixed = TRUE)
      expect_identical(check_boundary(core_receipts_count()), count + 1)
      receipt <- outcome@receipt
      expect_identical(receipt@code, "InvalidEncoding")
      expect_identical(c(receipt@decision, receipt@stage), c("undecided", "admit"))
      expect_identical(receipt@effect, "none")
    }
  }
  # What it was is told escaped.
  expect_identical(rho_read(capability, "caf\xe9")@receipt@request$path, "caf\\xe9")
  expect_identical(snapshot_tree(tree$base), before)
})

test_that("writing refuses without effect", {
  tree <- path_tree()
  before <- snapshot_tree(tree$base)
  capability <- tree_capability(tree)
  cases <- list(
    list("../ROOT-evil/secret", "Escape"),
    list("../new", "Escape"),
    list("/tmp/rhocap-must-not-exist", "NotUnderRoot"),
    list("out-relative", "Escape"),
    list("out-absolute", "Escape"),
    list("out-directory/new", "Escape"),
    list("dangling-outside", "Escape"),
    list("n1/n2/../../../x", "Escape"),
    list("hard", "HardLinked"),
    list("a/", "IsDirectory"),
    list("f/x", "NotADirectory"),
    list("loop", "TooManyLinks"),
    list("", "InvalidPath"),
    list(".env", "CarveOut"),
    list(".Renviron", "CarveOut"),
    list("a/.ssh/id_rsa", "CarveOut"),
    list(".git/hooks/pre-commit", "CarveOut"),
    list(".git/config", "CarveOut"),
    list(".Rprofile", "CarveOut")
  )
  for (case in cases) {
    for (append in c(TRUE, FALSE)) {
      outcome <- rho_write(
        capability,
        case[[1]],
        "CHANGED",
        append = append,
        create_parents = TRUE
      )
      expect_outcome(outcome, RhoRefusal, case[[2]])
      expect_identical(outcome@receipt@effect, "none")
    }
  }
  expect_identical(snapshot_tree(tree$base), before)
  expect_false(file.exists("/tmp/rhocap-must-not-exist"))
})

test_that("symlinks = FALSE refuses every link", {
  tree <- path_tree()
  capability <- tree_capability(tree, limits = rho_limits(symlinks = FALSE))
  for (path in c("inside", "absolute-inside", "dot/f", "directory/c/f", "out-relative", "loop")) {
    expect_outcome(rho_read(capability, path), RhoDenied, "SymlinkRefused")
  }
  expect_outcome(rho_read(capability, "f"), RhoText)
})

test_that("two roots: a link is decided by the root that holds its target", {
  tree <- path_tree()
  dir.create(file.path(tree$base, "third"))
  file.symlink(file.path(tree$base, "third"), file.path(tree$root, "third"))
  capability <- rho_host_capability(read = tree$outside, write = tree$root, cwd = tree$root)
  expect_identical(rho_read(capability, "out-absolute")@text, "OUT")
  expect_outcome(rho_write(capability, "out-absolute", "x"), RhoDenied, "NotWritable")
  expect_outcome(rho_list(capability, "third"), RhoDenied, "Escape")
})

test_that("nested roots: the most specific decides, also through a link", {
  tree <- new_tree()
  dir.create(file.path(tree$root, "ro"))
  put(file.path(tree$root, "ro", "x"), "IN")
  file.symlink("ro", file.path(tree$root, "lnk"))
  capability <- rho_host_capability(
    read = file.path(tree$root, "ro"),
    write = tree$root,
    cwd = tree$root
  )
  before <- snapshot_tree(tree$base)
  expect_outcome(rho_write(capability, "ro/x", "y"), RhoDenied, "NotWritable")
  expect_outcome(rho_write(capability, "lnk/x", "y"), RhoDenied, "NotWritable")
  expect_outcome(rho_remove(capability, "lnk/x"), RhoDenied, "NotWritable")
  expect_identical(snapshot_tree(tree$base), before)
})

test_that("a root that was renamed is still the root, one that was deleted is gone", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  file.rename(tree$root, file.path(tree$base, "RENAMED"))
  file.symlink(tree$outside, tree$root)
  expect_identical(rho_read(capability, "f")@text, "IN")
  expect_outcome(rho_read(capability, "secret"), RhoFailed, "NotFound")
  unlink(tree$root)
  unlink(file.path(tree$base, "RENAMED"), recursive = TRUE)
  expect_outcome(rho_write(capability, "new", "x"), RhoFailed, "RootGone")
})

test_that("a root can be named in other ways, and twice", {
  tree <- new_tree()
  alias <- file.path(tree$base, "alias")
  file.symlink("ROOT", alias)
  capability <- rho_host_capability(
    read = c(alias, paste0(tree$root, "/"), paste0(tree$base, "//ROOT/.")),
    cwd = alias
  )
  expect_identical(nrow(capability@roots), 1L)
  expect_identical(rho_read(capability, file.path(alias, "f"))@text, "IN")
  expect_identical(rho_read(capability, file.path(tree$root, "f"))@text, "IN")
  expect_identical(rho_read(capability, "f")@text, "IN")
})
