test_that("print tells every fact", {
  tree <- new_tree()
  capability <- rho_host_capability(
    read = tree$outside,
    write = tree$root,
    cwd = tree$root,
    environment = rho_environment(CI = "true"),
    process = rho_process_unrestricted(),
    network = rho_network_host(),
    deny = c("private/", "*.key"),
    protect = "locked.txt",
    limits = rho_limits(read_bytes = 1000, symlinks = FALSE)
  )
  shown <- paste(format(capability), collapse = "\n")
  told <- c(
    capability@digest,
    tree$root,
    tree$outside,
    "private/, *.key",
    "locked.txt",
    "CI = true",
    "Unrestricted bash has the full authority of the R process's user.",
    "the host's, without limits",
    "local: in this R process",
    "1000 bytes",
    "symbolic links refused"
  )
  for (fact in told) {
    expect_match(shown, fact, fixed = TRUE)
  }
  expect_output(print(capability), "RhoHostCapability")
  utils::capture.output(expect_invisible(print(capability)))
})

test_that("print names the defaults, and shows what differs from them in full", {
  tree <- new_tree()
  shown <- function(..., all = FALSE) {
    capability <- tree_capability(tree, ...)
    gsub("\\s+", " ", paste(format(capability, all = all), collapse = " "))
  }
  deny <- sprintf("the %d defaults of rho_deny_defaults()", length(rho_deny_defaults()))
  protect <- sprintf("the %d defaults of rho_protect_defaults()", length(rho_protect_defaults()))
  expect_match(shown(), paste("Deny:", deny, "Protect:", protect, "Environment"), fixed = TRUE)
  expect_no_match(shown(), ".gnupg/", fixed = TRUE)
  expect_match(shown(), "print(x, all = TRUE)", fixed = TRUE)
  for (pattern in c(rho_deny_defaults(), rho_protect_defaults())) {
    expect_match(shown(all = TRUE), pattern, fixed = TRUE)
  }
  expect_no_match(shown(all = TRUE), "defaults of", fixed = TRUE)
  expect_no_match(shown(all = TRUE), "all = TRUE", fixed = TRUE)
  more <- shown(deny = c("first/", rho_deny_defaults(), "!id_rsa"))
  expect_match(more, sprintf("Deny: first/, %s, !id_rsa Protect", deny), fixed = TRUE)
  replaced <- shown(deny = "data/", protect = character())
  expect_match(replaced, "Deny: data/ (the defaults are replaced)", fixed = TRUE)
  expect_match(replaced, "Protect: nothing (the defaults are replaced)", fixed = TRUE)
  fewer <- shown(deny = rho_deny_defaults()[-1])
  expect_match(fewer, ".gnupg/", fixed = TRUE)
  expect_match(fewer, "(the defaults are replaced)", fixed = TRUE)
  narrowed <- rho_narrow(tree_capability(tree), deny = c("a/", "b/"))
  words <- paste(format(narrowed), collapse = " ")
  expect_match(words, paste0(deny, ", [added: a/, b/]"), fixed = TRUE)
  expect_output(print(narrowed, all = TRUE), ".gnupg/", fixed = TRUE)
  expect_error(format(narrowed, all = NA), class = "rhocap_error_type")
})

test_that("a long list of libraries is told by what most of them lie below", {
  cache <- sprintf("/home/me/cache/p%02d/1.0/p%02d", 1:30, 1:30)
  paths <- c("/lib/project", cache, "/usr/lib/R")
  short <- directory_words(paths, all = FALSE)
  expect_identical(
    short,
    c("/lib/project", "/usr/lib/R", cache[[1]], "and 29 more below /home/me/cache")
  )
  expect_identical(directory_words(paths, all = TRUE), paths)
  expect_identical(directory_words(paths[1:10], all = FALSE), paths[1:10])
  apart <- sprintf("/d%02d/x", 1:30)
  expect_identical(directory_words(apart, all = FALSE), c(apart[1:3], "and 27 more"))
  expect_identical(directory_words(character(), all = FALSE), character())
  libraries <- replicate(12, {
    path <- tempfile("library")
    dir.create(path)
    path
  })
  environment <- rho_environment_r(libraries)
  expect_match(format(rho_environment(environment)), "and [0-9]+ more below", all = FALSE)
  expect_length(format(environment, all = TRUE), 14)
})

test_that("patterns are printed so that they cannot mislead", {
  tree <- new_tree()
  capability <- tree_capability(tree, deny = "a\u202eb", protect = "c\u202ed")
  capability <- rho_narrow(capability, deny = "e\u202ef")
  shown <- paste(format(capability), collapse = "\n")
  expect_no_match(shown, "\u202e", fixed = TRUE)
  for (pattern in c("a\\u{202e}b", "c\\u{202e}d", "e\\u{202e}f")) {
    expect_match(shown, pattern, fixed = TRUE)
  }
})

test_that("facts are read with @", {
  tree <- new_tree()
  capability <- rho_host_capability(read = tree$outside, write = tree$root, cwd = tree$root)
  expect_setequal(capability@read, c(tree$outside, tree$root))
  expect_identical(capability@write, tree$root)
  expect_identical(capability@cwd, tree$root)
  expect_setequal(capability@roots$access, c("read", "write"))
  expect_true(S7::S7_inherits(capability@process, RhoProcessNone))
  expect_true(S7::S7_inherits(capability@network, RhoNetworkNone))
  expect_true(S7::S7_inherits(capability@placement, RhoPlacementLocal))
  expect_identical(capability@limits, rho_limits())
  expect_identical(capability@deny, rho_deny_defaults())
  expect_identical(capability@protect, rho_protect_defaults())
  expect_match(capability@id, "^[0-9a-f]{32}$")
})

test_that("nothing makes a capability wider", {
  tree <- new_tree()
  capability <- rho_host_capability(read = tree$root, cwd = tree$root)
  digest <- capability@digest
  outside <- file.path(tree$outside, "secret")
  for (name in setdiff(S7::prop_names(capability), "handle")) {
    expect_error(S7::prop(capability, name) <- "/", class = "rhocap_error_immutable")
  }
  expect_error(capability@read <- "/", class = "rhocap_error_immutable")
  expect_error(capability@handle <- attr(capability, "handle"), class = "rhocap_error_immutable")
  expect_error(capability[["read"]] <- "/")
  expect_error(capability$read <- "/")
  attr(capability, "read") <- "/"
  attr(capability, "write") <- "/"
  attr(capability, "limits") <- NULL
  expect_identical(capability@read, tree$root)
  expect_identical(capability@write, character())
  expect_identical(capability@digest, digest)
  expect_outcome(rho_read(capability, outside), RhoDenied, "NotUnderRoot")
  expect_outcome(rho_write(capability, "f", "x"), RhoDenied, "NotWritable")
  class(capability) <- c("wider", class(capability))
  expect_outcome(rho_read(capability, outside), RhoDenied, "NotUnderRoot")
})

test_that("a forged or edited handle is refused", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  forged <- capability
  attr(forged, "handle") <- methods::new("externalptr")
  expect_error(rho_read(forged, "f"), class = "rhocap_error_type")
  attr(forged, "handle") <- attr(rho_admit(capability, "f"), "handle")
  expect_error(rho_read(forged, "f"), class = "rhocap_error_type")
  attr(forged, "handle") <- "handle"
  expect_error(rho_read(forged, "f"), class = "rhocap_error_type")
  attr(forged, "handle") <- NULL
  expect_error(rho_read(forged, "f"), class = "rhocap_error_type")
  # A pointer of another package.
  attr(forged, "handle") <- getDLLRegisteredRoutines("stats")$.Call[[1]]$address
  expect_error(rho_read(forged, "f"), class = "rhocap_error_type")
})

test_that("a capability that was saved and loaded again is dead and says so", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  path <- tempfile(fileext = ".rds")
  saveRDS(capability, path)
  loaded <- readRDS(path)
  expect_error(rho_read(loaded, "f"), class = "rhocap_error_stale_handle")
  expect_error(rho_read(loaded, "f"), "rho_host_capability")
  expect_error(loaded@read, class = "rhocap_error_stale_handle")
  expect_error(rho_narrow(loaded, write = character()), class = "rhocap_error_stale_handle")
  expect_error(rho_tool_bash(loaded), class = "rhocap_error_stale_handle")
  expect_match(paste(format(loaded), collapse = " "), "no longer usable")
  # What was saved names no path that print would not have shown, and holds no state.
  again <- unserialize(serialize(capability, NULL))
  expect_error(rho_list(again), class = "rhocap_error_stale_handle")
  unlink(path)
})

test_that("the class makes a capability from a handle alone", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_identical(RhoHostCapability(handle = capability@handle), capability)
  expect_error(RhoHostCapability(), class = "rhocap_error_missing")
  expect_error(RhoHostCapability(handle = tree$root), class = "rhocap_error_type")
})

test_that("a capability is not usable in a fork", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  rho_read(capability, "f")
  job <- parallel::mcparallel(
    tryCatch(class(rho_read(capability, "f"))[[1]], error = function(cnd) class(cnd)[[1]]),
    silent = TRUE
  )
  expect_identical(parallel::mccollect(job)[[1]], "rhocap_error_forked")
  expect_outcome(rho_read(capability, "f"), RhoText)
})

test_that("roots are checked when the capability is made", {
  tree <- new_tree()
  cases <- list(
    list(quote(rho_host_capability(read = NULL, cwd = tree$root)), "type"),
    list(quote(rho_host_capability(read = tree$root)), "missing"),
    list(quote(rho_host_capability(read = NA, cwd = tree$root)), "type"),
    list(quote(rho_host_capability(read = NA_character_, cwd = tree$root)), "value"),
    list(quote(rho_host_capability(read = "relative", cwd = tree$root)), "root"),
    list(quote(rho_host_capability(read = "/does/not/exist", cwd = tree$root)), "root"),
    list(quote(rho_host_capability(read = file.path(tree$root, "f"), cwd = tree$root)), "root"),
    list(quote(rho_host_capability(read = paste0(tree$root, "/../ROOT"), cwd = tree$root)), "root"),
    list(quote(rho_host_capability(read = "", cwd = tree$root)), "root"),
    list(quote(rho_host_capability(cwd = "/does/not/exist")), "cwd"),
    list(quote(rho_host_capability(write = R.home(), cwd = tree$root)), "reserved"),
    list(quote(rho_host_capability(write = .libPaths()[[1]], cwd = tree$root)), "reserved"),
    list(quote(rho_host_capability(cwd = tree$root, limits = list())), "type"),
    list(quote(rho_host_capability(cwd = tree$root, process = "none")), "type"),
    list(quote(rho_host_capability(cwd = tree$root, environment = list())), "type")
  )
  for (case in cases) {
    cnd <- tryCatch(eval(case[[1]]), error = identity)
    expect_s3_class(cnd, paste0("rhocap_error_", case[[2]]))
  }
})

test_that("character() allows nothing", {
  tree <- new_tree()
  capability <- rho_host_capability(cwd = tree$root)
  expect_identical(capability@read, character())
  expect_outcome(rho_read(capability, "f"), RhoDenied, "NotUnderRoot")
  expect_outcome(rho_write(capability, "f", "x"), RhoDenied, "NotUnderRoot")
  expect_length(rho_capability_tools(capability), 0)
})

test_that("policies that cannot be enforced are refused with the calls that work", {
  tree <- new_tree()
  refused <- list(
    quote(rho_project_capability(tree$root, process = rho_process_unrestricted())),
    quote(tree_capability(tree, placement = rho_placement_mirai())),
    quote(rho_project_capability(tree$root, placement = rho_placement_mirai())),
    quote(tree_capability(tree, process = rho_process_unrestricted()))
  )
  for (call in refused) {
    cnd <- tryCatch(eval(call), error = identity)
    expect_s3_class(cnd, "rhocap_error_not_enforceable")
    expect_match(conditionMessage(cnd), cnd$calls[[1]], fixed = TRUE)
    for (call in cnd$calls) {
      expect_true(S7::S7_inherits(eval(parse(text = call)), RhoHostCapability))
    }
  }
  unrestricted <- tree_capability(
    tree,
    process = rho_process_unrestricted(),
    network = rho_network_host()
  )
  expect_true(S7::S7_inherits(unrestricted@process, RhoProcessUnrestricted))
})

test_that("each printed call gives what was asked for, but for what cannot be enforced", {
  tree <- new_tree()
  Sys.setenv(RHOCAP_TEST_VALUE = "an inherited value")
  on.exit(Sys.unsetenv("RHOCAP_TEST_VALUE"))
  environments <- list(
    rho_environment(),
    rho_environment(CI = "tr\"ue\n", odd = "\u00e9", RHOCAP_TEST_VALUE = rho_env_inherit()),
    rho_environment(rho_environment_r(), rho_environment_git("Ada \"L\"", "ada@example.org")),
    rho_environment(rho_environment_r(R.home("library")), rho_environment_git("A", "b", "*")),
    rho_environment(LD_PRELOAD = "", R_LIBS = "/x", hooks = c("LD_PRELOAD", "R_LIBS")),
    rho_environment(rho_environment_r(), BASH_ENV = "/x", hooks = "BASH_ENV"),
    rho_environment_inherited(A = "1")
  )
  arguments <- list(
    list(),
    list(limits = rho_limits(read_bytes = 1000, symlinks = FALSE, shell = "/bin/sh", grace = 1)),
    list(deny = c("a\\b", "*.key"), protect = character())
  )
  makers <- list(
    function(...) rho_project_capability(tree$root, ...),
    function(...) rho_host_capability(read = tree$outside, write = tree$root, cwd = tree$root, ...)
  )
  for (environment in environments) {
    for (more in arguments) {
      for (make in makers) {
        more$environment <- environment
        cnd <- tryCatch(
          do.call(make, c(more, list(process = rho_process_unrestricted()))),
          rhocap_error_not_enforceable = identity
        )
        expect_length(cnd$calls, 2)
        expect_no_match(conditionMessage(cnd), "an inherited value", fixed = TRUE)
        made <- lapply(cnd$calls, function(call) eval(parse(text = call), globalenv()))
        none <- do.call(make, c(more, list(process = rho_process_none())))
        expect_identical(made[[2]]@digest, none@digest)
        expect_identical(made[[1]]@limits, none@limits)
        expect_identical(made[[1]]@environment, none@environment)
        expect_true(S7::S7_inherits(made[[1]]@process, RhoProcessUnrestricted))
      }
    }
  }
})

test_that("a project that does not exist is said to be missing", {
  tree <- new_tree()
  old <- setwd(tree$base)
  on.exit(setwd(old))
  for (path in c("missing-dir", "ROOT/missing", file.path(tree$base, "missing"))) {
    cnd <- tryCatch(rho_project_capability(path, process = rho_process_none()), error = identity)
    expect_s3_class(cnd, "rhocap_error_root")
    expect_match(conditionMessage(cnd), "missing[^ ]*\" does not exist. Create it first.")
  }
})

test_that("a project capability reads and writes below its path, and reads R's libraries", {
  tree <- new_tree()
  capability <- rho_project_capability(tree$root, process = rho_process_none())
  expect_identical(capability@write, tree$root)
  expect_identical(capability@cwd, tree$root)
  expect_true(normalizePath(R.home()) %in% capability@roots$path)
  description <- system.file("DESCRIPTION", package = "stats")
  expect_outcome(rho_read(capability, description), RhoText)
  expect_error(rho_project_capability(tree$root, cwd = "/"), class = "rhocap_error_value")
  expect_error(rho_project_capability(tree$root, "x"), class = "rhocap_error_value")
  expect_error(rho_project_capability(), class = "rhocap_error_missing")
  # A relative path is resolved once, now.
  old <- setwd(tree$base)
  on.exit(setwd(old))
  relative <- rho_project_capability("ROOT", process = rho_process_none())
  expect_identical(relative@write, tree$root)
  expect_identical(relative@digest, capability@digest)
})

test_that("the digest is the same for the same capability, in any order and session", {
  tree <- new_tree()
  one <- rho_host_capability(
    read = c(tree$root, tree$outside),
    cwd = tree$root,
    environment = rho_environment(A = "1", B = "2")
  )
  two <- rho_host_capability(
    read = c(tree$outside, tree$root),
    cwd = tree$root,
    environment = rho_environment(B = "2", A = "1")
  )
  expect_identical(one@digest, two@digest)
  expect_false(identical(one@id, two@id))
  other <- rho_host_capability(
    read = c(tree$root, tree$outside),
    cwd = tree$root,
    environment = rho_environment(A = "1", B = "3")
  )
  expect_false(identical(one@digest, other@digest))
  elsewhere <- in_child(
    function(root, outside) {
      rho_host_capability(
        read = c(root, outside),
        cwd = root,
        environment = rho_environment(A = "1", B = "2")
      )@digest
    },
    list(tree$root, tree$outside)
  )
  expect_identical(elsewhere, one@digest)
})

test_that("an inherited value is not in the digest", {
  tree <- new_tree()
  digest_with <- function(value) {
    Sys.setenv(RHOCAP_TEST_VALUE = value)
    on.exit(Sys.unsetenv("RHOCAP_TEST_VALUE"))
    environment <- rho_environment(RHOCAP_TEST_VALUE = rho_env_inherit())
    tree_capability(tree, environment = environment)@digest
  }
  expect_identical(digest_with("one"), digest_with("two"))
})

test_that("narrowing takes away and never adds", {
  tree <- new_tree()
  capability <- rho_host_capability(
    read = tree$outside,
    write = tree$root,
    cwd = tree$root,
    environment = rho_environment(A = "1", B = "2")
  )
  smaller <- rho_narrow(
    capability,
    read = character(),
    write = file.path(tree$root, "a"),
    environment = "A",
    deny = "b/",
    limits = rho_limits(read_bytes = 100)
  )
  expect_identical(smaller@write, file.path(tree$root, "a"))
  expect_identical(smaller@limits@read_bytes, 100)
  expect_true("b/" %in% smaller@deny)
  expect_false("B" %in% smaller@environment$name)
  expect_outcome(rho_read(smaller, "f"), RhoDenied, "NotUnderRoot")
  expect_outcome(rho_read(smaller, file.path(tree$root, "a/b/c/f")), RhoDenied, "CarveOut")
  readable <- rho_narrow(capability, write = character())
  expect_outcome(rho_read(readable, "f"), RhoText)
  expect_outcome(rho_write(readable, "f", "x"), RhoDenied, "NotWritable")
  wider <- list(
    quote(rho_narrow(capability, read = "/")),
    quote(rho_narrow(capability, write = tree$outside)),
    quote(rho_narrow(capability, write = tree$base)),
    quote(rho_narrow(capability, process = rho_process_unrestricted())),
    quote(rho_narrow(capability, environment = "NOT_THERE")),
    quote(rho_narrow(capability, limits = rho_limits(read_bytes = 2^30))),
    quote(rho_narrow(capability, limits = rho_limits(mounts = TRUE))),
    quote(rho_narrow(smaller, write = tree$root))
  )
  for (call in wider) {
    expect_error(eval(call), class = "rhocap_error_wider")
  }
  expect_error(rho_narrow(capability, "x"), class = "rhocap_error_value")
  expect_error(rho_narrow(capability, colour = "x"), class = "rhocap_error_value")
  expect_error(rho_narrow(capability, read = NULL), class = "rhocap_error_type")
})

test_that("a library below a write root becomes a printed carve-out", {
  tree <- new_tree()
  library <- file.path(tree$root, "renv", "library")
  dir.create(library, recursive = TRUE)
  old <- .libPaths()
  on.exit(.libPaths(old))
  .libPaths(c(library, old))
  capability <- tree_capability(tree)
  words <- gsub(" +", " ", paste(format(capability), collapse = " "))
  expect_match(words, "a library of .libPaths()", fixed = TRUE)
  expect_outcome(rho_write(capability, "renv/library/x", "x"), RhoDenied, "CarveOut")
  expect_error(
    rho_host_capability(write = library, cwd = tree$root),
    class = "rhocap_error_reserved"
  )
})

test_that("the working directory, environment and options do not matter later", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  old <- setwd(tree$outside)
  on.exit(setwd(old))
  home <- Sys.getenv("HOME")
  Sys.setenv(HOME = tree$outside)
  on.exit(Sys.setenv(HOME = home), add = TRUE)
  expect_outcome(rho_read(capability, "secret"), RhoFailed, "NotFound")
  expect_outcome(rho_read(capability, "~/secret"), RhoFailed, "NotFound")
  expect_identical(rho_read(capability, "f")@text, "IN")
})

test_that("the carve-out defaults are what the documentation says", {
  denied <- c(
    ".Renviron", ".env", ".netrc", ".npmrc", ".httr-oauth", ".Rhistory", ".ssh/", ".aws/", "id_rsa",
    "key.pem", "*.key", "credentials.json"
  )
  expect_true(all(denied %in% rho_deny_defaults()))
  expect_true(".Rprofile" %in% rho_protect_defaults())
})
