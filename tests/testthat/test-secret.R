# Where secrets come from, which values can be some, and what becomes of them.

secret_file <- function(text, env = parent.frame()) {
  path <- tempfile("secret")
  put(path, text)
  defer(function() unlink(path), env)
  path
}

test_that("an environment variable, which can be taken away from R", {
  value <- canary()
  name <- "RHOCAP_TEST_SECRET"
  do.call(Sys.setenv, stats::setNames(list(value), name))
  on.exit(Sys.unsetenv(name))
  secret <- rho_secret_env(name)
  expect_identical(rho_reveal(secret), value)
  expect_identical(c(secret@label, secret@source), c(name, "env"))
  expect_match(secret@id, "^[0-9a-f]{32}$")
  expect_identical(Sys.getenv(name), value)
  rho_secret_env(name, unset = TRUE)
  expect_identical(Sys.getenv(name, NA), NA_character_)
  cnd <- expect_error(rho_secret_env(name), class = "rhocap_error_secret_source")
  expect_identical(cnd$name, name)
})

test_that("a file, without one line ending at its end", {
  value <- canary()
  for (end in c("", "\n", "\r\n")) {
    expect_identical(rho_reveal(rho_secret_file(secret_file(paste0(value, end)))), value)
  }
  two <- rho_secret_file(secret_file(paste0(value, "\n\n")))
  expect_identical(rho_reveal(two), paste0(value, "\n"))
  path <- secret_file(paste0(value, "\n"))
  link <- tempfile()
  file.symlink(path, link)
  on.exit(unlink(link))
  expect_identical(rho_reveal(rho_secret_file(link)), value)
  expect_identical(rho_secret_file(path)@source, "file")
  expect_identical(rho_secret_file(path)@label, path)
})

test_that("an entry of a file of NAME=value lines", {
  value <- canary()
  path <- secret_file(sprintf(
    "# KEY=comment\nKEY=old-value-of-it\nexport KEY = \"%s\" # why\nPLAIN=%s \nSINGLE='%s'\n",
    value, value, value
  ))
  for (name in c("KEY", "PLAIN", "SINGLE")) {
    secret <- rho_secret_file(path, name = name)
    expect_identical(rho_reveal(secret), value)
    expect_identical(secret@label, name)
  }
  expect_error(rho_secret_file(path, "KE"), class = "rhocap_error_secret_source")
  expect_error(rho_secret_file(path, ""), class = "rhocap_error_value")
  expect_error(
    rho_secret_file(secret_file("A='never closed"), "A"),
    class = "rhocap_error_secret_source"
  )
})

test_that("what is no file for a secret is told, without its content", {
  value <- canary()
  cases <- list(
    secret_source = tempfile(),
    secret_source = tempdir(),
    secret_source = secret_file(strrep(value, 5000)),
    short_secret = secret_file(""),
    short_secret = secret_file("abc\n")
  )
  fifo <- tempfile()
  if (system2("mkfifo", fifo) == 0L) {
    on.exit(unlink(fifo))
    cases <- c(cases, list(secret_source = fifo))
  }
  for (index in seq_along(cases)) {
    cnd <- expect_error(
      rho_secret_file(cases[[index]]),
      class = paste0("rhocap_error_", names(cases)[[index]])
    )
    expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE))
  }
  bytes <- tempfile()
  writeBin(as.raw(c(0xff, 0xfe, 1:20)), bytes)
  expect_error(rho_secret_file(bytes), class = "rhocap_error_secret_value")
  writeBin(c(charToRaw(value), as.raw(0)), bytes)
  expect_error(rho_secret_file(bytes), class = "rhocap_error_secret_value")
  unlink(bytes)
})

# Runs a script in an Rscript that `shell` gives descriptors to; its output.
run_with_descriptors <- function(code, redirection) {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  writeLines(c("suppressMessages(library(rhocap))", code), script)
  command <- sprintf(
    "%s %s %s",
    shQuote(file.path(R.home("bin"), "Rscript")), shQuote(script), redirection
  )
  output <- suppressWarnings(system2(
    "bash", c("-c", shQuote(command)),
    stdout = TRUE, stderr = TRUE,
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = ":"))
  ))
  as.character(output)
}

test_that("a descriptor that R was started with, which is closed then", {
  needs_program("bash")
  value <- canary()
  path <- secret_file(paste0(value, "\n"))
  code <- c(
    "secret <- rho_secret_descriptor(7)",
    "cat(secret@source, rho_reveal(secret), '\n')",
    "again <- tryCatch(rho_secret_descriptor(7), error = identity)",
    "cat(class(again)[[1L]], '\n')"
  )
  wanted <- c(paste0("descriptor ", value, " "), "rhocap_error_secret_source ")
  expect_identical(run_with_descriptors(code, paste0("7< ", path)), wanted)
  pipe <- sprintf("7< <(cat %s; sleep 0.3; printf tail)", path)
  lines <- run_with_descriptors(code, pipe)
  expect_match(lines[[1L]], paste0("descriptor ", value), fixed = TRUE)
  expect_identical(lines[[2L]], "tail ")
})

test_that("the message of a wrong descriptor says what it must be", {
  expect_error(rho_secret_descriptor(), "from 3 on", class = "rhocap_error_missing")
  for (fd in -1:2) {
    expect_error(rho_secret_descriptor(fd), "between 3 and", class = "rhocap_error_value")
  }
})

test_that("no other descriptor is taken", {
  needs_program("bash")
  code <- c(
    "connection <- file(tempfile('written'), 'w')",
    "capability <- rho_host_capability(read = tempdir(), cwd = tempdir())",
    "fds <- list.files('/proc/self/fd')",
    "open <- Sys.readlink(file.path('/proc/self/fd', fds))",
    # The script, the connection and the capability's directory.
    "own <- fds[which(grepl('[.]R$', open) | startsWith(open, normalizePath(tempdir())))]",
    "for (fd in c(0:2, 8, 999, as.numeric(own))) {",
    "  cnd <- tryCatch(rho_secret_descriptor(fd), rhocap_error = identity)",
    "  cat(fd, class(cnd)[[1L]], '\n')",
    "}",
    # Whatever was refused works as before.
    "writeLines('a', connection)",
    "close(connection)",
    "cat('end\n')"
  )
  # What this R has open is none of the child's own.
  lines <- run_with_descriptors(code, "3<&- 4<&- 5<&- 6<&- 8> /dev/null")
  expect_identical(lines[length(lines)], "end")
  refused <- grepl("rhocap_error_(secret_source|value) $", lines)
  expect_gte(sum(refused), 8L)
  expect_identical(sum(refused), length(lines) - 1L)
})

test_that("a literal, in any encoding that is UTF-8 then", {
  value <- paste0("caf\u00e9-", canary())
  latin1 <- iconv(value, "UTF-8", "latin1")
  expect_identical(rho_reveal(rho_secret_literal(latin1)), value)
  expect_identical(rho_reveal(rho_secret_literal(value)), value)
  bytes <- paste0("\xff\xfe", canary())
  expect_error(rho_secret_literal(bytes), class = "rhocap_error_encoding")
  expect_error(rho_secret_literal(), class = "rhocap_error_missing")
  expect_error(rho_secret_literal(NA_character_), class = "rhocap_error_value")
  expect_error(rho_secret_literal(1), class = "rhocap_error_type")
})

test_that("a keyring", {
  needs("keyring")
  value <- canary()
  withr_options <- options(keyring_backend = "env")
  on.exit(options(withr_options))
  keyring::key_set_with_value("rhocap-test", password = value)
  secret <- rho_secret_keyring("rhocap-test")
  expect_identical(rho_reveal(secret), value)
  expect_identical(c(secret@label, secret@source), c("rhocap-test", "keyring"))
  keyring::key_delete("rhocap-test")
  expect_error(rho_secret_keyring("rhocap-test"), class = "rhocap_error_secret_source")
})

test_that("a prompt asks a person, and nobody else", {
  needs("askpass")
  value <- canary()
  before <- options(askpass = function(prompt) value)
  on.exit(options(before))
  secret <- rho_secret_prompt("Key of the example: ")
  expect_identical(rho_reveal(secret), value)
  expect_identical(secret@source, "prompt")
  options(askpass = function(prompt) NULL)
  expect_error(rho_secret_prompt(), class = "rhocap_error_secret_source")
  options(askpass = NULL)
  if (!interactive()) {
    expect_error(rho_secret_prompt(), class = "rhocap_error_secret_source")
  }
})

test_that("values that cannot be masked are refused, and short ones warned of", {
  for (value in c("", "a", "abc")) {
    expect_error(rho_secret_literal(value), class = "rhocap_error_short_secret")
  }
  for (value in c("true", "PASSWORD", "localhost", "changeme", "production", strrep("a", 30))) {
    expect_error(rho_secret_literal(value), class = "rhocap_error_ordinary_secret")
  }
  for (value in c("ab1x", "ab1xyz7")) {
    expect_warning(
      secret <- rho_secret_literal(value),
      class = "rhocap_warning_short_secret"
    )
    expect_identical(rho_reveal(secret), value)
  }
  expect_no_warning(rho_secret_literal("ab1xyz78"))
})

test_that("a value that was shown left a receipt without it", {
  value <- canary()
  secret <- rho_secret_literal(value)
  before <- nrow(rho_receipts())
  expect_identical(rho_reveal(secret), value)
  expect_identical(Encoding(rho_reveal(rho_secret_literal(paste0("\u00e9", value)))), "UTF-8")
  receipts <- rho_receipts()
  expect_identical(nrow(receipts), before + 2L)
  receipt <- RhoReceipt(receipts$json[[before + 1L]])
  expect_identical(receipt@tool, "rho_reveal")
  expect_identical(receipt@request$id, secret@id)
  expect_identical(receipt@request$source, "literal")
  expect_false(any(grepl(value, receipts$json, fixed = TRUE)))
  expect_match(format(receipt), secret@id, all = FALSE)
})

test_that("what was forgotten cannot be used, and is known while something else holds it", {
  value <- canary()
  secret <- rho_secret_literal(value)
  expect_true(rho_forget(secret))
  expect_error(rho_reveal(secret), class = "rhocap_error_forgotten")
  expect_error(rho_forget(secret), class = "rhocap_error_forgotten")
  expect_match(format(secret), "no longer usable")
  secret <- rho_secret_literal(value)
  credential <- rho_provider_credential(secret, "api.example.org")
  expect_false(rho_forget(secret))
  expect_identical(rho_reveal(credential), value)
  expect_true(rho_forget(credential))
  # By its public name, when the handle is gone.
  id <- local({
    secret <- rho_secret_literal(value)
    rho_reveal(secret)
    secret@id
  })
  invisible(gc())
  expect_true(rho_forget(id))
  expect_true(rho_forget("no such id"))
  expect_error(rho_forget(1), "an auth, a request, or the `id`", class = "rhocap_error_type")
  expect_error(rho_forget(), "an auth, a request, or the `id`", class = "rhocap_error_missing")
  bearer <- rho_bearer(rho_provider_credential(rho_secret_literal(canary()), "api.example.org"))
  expect_error(rho_forget(bearer), "an auth, a request, or the `id`", class = "rhocap_error_type")
})

test_that("a secret of a file or a descriptor is nowhere in memory once it was collected", {
  needs_proc()
  needs_program("python3")
  needs_program("bash")
  value <- canary()
  path <- secret_file(paste0(value, "\n"))
  folder <- tempfile("memory")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(name) file.path(folder, name)
  # The script knows the value by its file and descriptor only, and so does the search.
  writeLines(c(
    "suppressMessages(library(rhocap))",
    sprintf("folder <- '%s'", folder),
    "wait_for <- function(name) {",
    "  while (!file.exists(file.path(folder, name))) {",
    "    # The test is over.",
    "    if (!dir.exists(folder)) quit()",
    "    Sys.sleep(0.02)",
    "  }",
    "}",
    "note <- function(name) {",
    "  writeLines(format(Sys.getpid()), file.path(folder, paste0(name, '.tmp')))",
    "  file.rename(file.path(folder, paste0(name, '.tmp')), file.path(folder, name))",
    "}",
    sprintf("held <- list(rho_secret_file('%s'), rho_secret_descriptor(7))", path),
    "redact <- get0('rho_redact', asNamespace('rhocap'))",
    "if (!is.null(redact)) redact('some text')",
    "held[[3L]] <- rho_provider_credential(held[[1L]], 'api.example.org')",
    "invisible(capture.output(print(held), str(held)))",
    "note('held')",
    "wait_for('seen')",
    "rm(held)",
    "invisible(gc())",
    "invisible(gc())",
    "note('gone')",
    "wait_for('the end')"
  ), at("child.R"))
  writeLines(c(
    "import sys",
    "value = open(sys.argv[1], 'rb').read().strip()",
    "count = 0",
    "try:",
    "    memory = open('/proc/%s/mem' % sys.argv[2], 'rb', 0)",
    "    for line in open('/proc/%s/maps' % sys.argv[2]):",
    "        part = line.split()",
    "        start, end = (int(text, 16) for text in part[0].split('-'))",
    "        if 'r' not in part[1] or part[-1] in ('[vvar]', '[vsyscall]', '[vdso]'):",
    "            continue",
    "        try:",
    "            memory.seek(start)",
    "            count += memory.read(end - start).count(value)",
    "        except (OSError, ValueError, OverflowError):",
    "            pass",
    "    print(count)",
    "except PermissionError:",
    "    print('denied')"
  ), at("search.py"))
  look <- function(name) {
    wait_until(function() file.exists(at(name)), 15)
    pid <- readLines(at(name))
    system2("python3", c(shQuote(at("search.py")), shQuote(path), pid), stdout = TRUE)
  }
  command <- sprintf(
    "exec %s %s 7< %s",
    shQuote(file.path(R.home("bin"), "Rscript")), shQuote(at("child.R")), shQuote(path)
  )
  system2(
    "bash", c("-c", shQuote(command)),
    wait = FALSE, stdout = FALSE, stderr = FALSE,
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = ":"))
  )
  held <- look("held")
  skip_unless_host("ptrace", !identical(held, "denied"), "another process's memory is closed")
  # What is there is found.
  expect_gte(as.integer(held), 2L)
  file.create(at("seen"))
  expect_identical(look("gone"), "0")
})
