# A directory tree with a root, and what lies beside it and must never change.

# base/ROOT is the root; base/ROOT-evil/secret lies outside and has the root's name as prefix.
new_tree <- function(env = parent.frame()) {
  base <- normalizePath(tempfile("tree"), mustWork = FALSE)
  dir.create(file.path(base, "ROOT", "a", "b", "c"), recursive = TRUE)
  dir.create(file.path(base, "ROOT-evil"))
  put(file.path(base, "ROOT", "f"), "IN")
  put(file.path(base, "ROOT", "a", "b", "c", "f"), "IN")
  put(file.path(base, "ROOT-evil", "secret"), "OUT")
  defer(function() unlink(base, recursive = TRUE), env)
  list(
    base = base,
    root = file.path(base, "ROOT"),
    outside = file.path(base, "ROOT-evil")
  )
}

# Runs a function when the frame `env` ends. withr has this; rhocap does not depend on it.
defer <- function(fun, env) {
  do.call(on.exit, list(as.call(list(fun)), TRUE), envir = env)
}

put <- function(path, text) {
  # The bytes of the name as they are, also where the session's encoding is not UTF-8.
  if (Encoding(path) != "unknown") {
    path <- enc2utf8(path)
    Encoding(path) <- "unknown"
  }
  connection <- file(path, "wb")
  on.exit(close(connection))
  writeBin(charToRaw(text), connection)
  invisible(path)
}

get_bytes <- function(path) readBin(path, "raw", file.size(path))

# Everything below a directory: kinds, modes, link texts and bytes. Equal snapshots mean that
# nothing was changed. list.files(recursive = TRUE) would follow links.
snapshot_tree <- function(path, regular = regular_files(path)) {
  snapshot <- list()
  for (entry in list.files(path, all.files = TRUE, no.. = TRUE)) {
    whole <- paste0(path, "/", entry)
    link <- Sys.readlink(whole)
    info <- file.info(whole, extra_cols = FALSE)
    found <- if (!is.na(link) && nzchar(link)) {
      list(link = link)
    } else if (info$isdir) {
      list(mode = format(info$mode), entries = snapshot_tree(whole, regular))
    } else if (whole %in% regular) {
      list(mode = format(info$mode), bytes = content_of(whole, info$size))
    } else {
      # A FIFO must not be opened: reading it waits.
      list(mode = format(info$mode))
    }
    snapshot[[entry]] <- found
  }
  snapshot
}

regular_files <- function(path) {
  output <- tempfile()
  on.exit(unlink(output))
  system2("find", c(shQuote(path), "-type", "f", "-print0"), stdout = output)
  bytes <- get_bytes(output)
  ends <- which(bytes == as.raw(0))
  starts <- c(1L, ends + 1L)[seq_along(ends)]
  unlist(Map(function(start, end) rawToChar(bytes[start:(end - 1L)]), starts, ends))
}

# A long file by its digest, so that a difference can be shown.
content_of <- function(path, size) {
  if (size > 2^16) unname(tools::md5sum(path)) else get_bytes(path)
}

# A capability for reading and writing below the tree's root.
tree_capability <- function(tree, ...) {
  rho_host_capability(read = tree$root, write = tree$root, cwd = tree$root, ...)
}

# An object of this class and, for a refusal, with this code.
expect_outcome <- function(outcome, class, code = NULL) {
  label <- outcome_label(outcome)
  testthat::expect(
    S7::S7_inherits(outcome, class),
    sprintf("The outcome is %s", label)
  )
  if (!is.null(code) && S7::S7_inherits(outcome, RhoRefusal)) {
    testthat::expect_identical(outcome@code, code)
  }
  invisible(outcome)
}

outcome_label <- function(outcome) paste(c(class(outcome)[[1]], format(outcome)), collapse = " | ")

# Strings that are no text in their declared encoding: undeclared, as a parser of JSON leaves half a
# surrogate pair, declared as bytes, and declared as latin1 with a byte that is no character there.
invalid_strings <- function() {
  marked <- function(x, encoding) {
    Encoding(x) <- encoding
    x
  }
  list(
    "caf\xe9",
    marked("a\xed\xa0\x80b", "UTF-8"),
    marked("caf\xe9", "bytes"),
    marked("caf\xe9\x81", "latin1"),
    marked("\xc2\x81", "latin1")
  )
}

# Skips a test of what this host lacks: a mechanism of the kernel, a program, a package. It fails
# instead where `RHOCAP_REQUIRE` says that the host must have it: names with commas between, or
# "all". The tests in Rust read it too.
skip_unless_host <- function(mechanism, there, why = "this host has none") {
  if (isTRUE(there)) {
    return(invisible())
  }
  why <- sprintf("%s: %s", mechanism, why)
  required <- trimws(strsplit(Sys.getenv("RHOCAP_REQUIRE"), ",", fixed = TRUE)[[1L]])
  if (any(c("all", mechanism) %in% required)) {
    stop(sprintf("RHOCAP_REQUIRE has %s", why), call. = FALSE)
  }
  testthat::skip(why)
}

needs <- function(package) {
  skip_unless_host(package, requireNamespace(package, quietly = TRUE), "it is not installed")
}

needs_program <- function(program) {
  skip_unless_host(program, nzchar(Sys.which(program)), "it is not installed")
}

needs_proc <- function() skip_unless_host("proc", dir.exists("/proc/self/fd"))

# Runs a function in a fresh R process with the same library of rhocap, and keeps its receipts.
#
# The package is attached before `fun` runs for the first time: before R 4.3, code that was compiled
# without S7's `@` in sight keeps base's.
in_child <- function(
  fun,
  args = list(),
  library = NULL,
  timeout = 60,
  variables = character()
) {
  needs("callr")
  # Its environment would load rhocap in the child before the library paths are set.
  environment(fun) <- globalenv()
  callr::r(
    function(fun, args, receipts, library_paths) {
      .libPaths(library_paths)
      library(rhocap)
      on.exit(writeLines(rho_receipts()$json, tempfile("child", receipts, ".jsonl")))
      do.call(fun, args)
    },
    list(fun, args, receipt_directory(), c(library, .libPaths())),
    env = c(callr::rcmd_safe_env(), variables),
    timeout = timeout,
    spinner = FALSE
  )
}

# Where child processes leave their receipts for test-zzz-receipts.R.
receipt_directory <- function() {
  path <- file.path(tempdir(), "receipts-of-children")
  dir.create(path, showWarnings = FALSE)
  path
}

# A package made here that stands for one that cannot be installed; gives the library it is in.
install_double <- function(name, namespace, code, imports = character()) {
  needs("callr")
  library <- normalizePath(tempfile("library"), mustWork = FALSE)
  source <- file.path(library, "src", name)
  dir.create(file.path(source, "R"), recursive = TRUE)
  description <- c(
    paste("Package:", name),
    "Version: 0.0.1",
    "Title: A Double",
    "Description: A double.",
    "License: MIT",
    "Author: x",
    "Maintainer: x <x@example.org>",
    if (length(imports) > 0L) paste("Imports:", imports)
  )
  writeLines(description, file.path(source, "DESCRIPTION"))
  writeLines(namespace, file.path(source, "NAMESPACE"))
  writeLines(code, file.path(source, "R", "code.R"))
  callr::rcmd("INSTALL", c("--no-docs", "--no-test-load", "-l", library, source))
  library
}

# A Python that has the validator, or a skip that says so.
python_with_jsonschema <- function() {
  for (python in unique(c(unname(Sys.which("python3")), "/usr/bin/python3"))) {
    if (nzchar(python) && file.exists(python)) {
      arguments <- c("-c", shQuote("import jsonschema"))
      if (system2(python, arguments, stdout = FALSE, stderr = FALSE) == 0L) {
        return(python)
      }
    }
  }
  skip_unless_host("python3-jsonschema", FALSE, "it is not installed")
}
