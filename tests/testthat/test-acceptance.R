# The seven points by which the package is accepted, through its public surface.

# A project, what lies beside it, and a capability as a user makes it.
acceptance_stage <- function(env = parent.frame(), ...) {
  tree <- new_tree(env)
  project <- function(...) {
    rho_project_capability(tree$root, ...)
  }
  list(tree = tree, project = project)
}

expect_denied <- function(value, codes) {
  expect_s3_class(value, "rhocap::RhoDenied")
  expect_true(value@code %in% codes, label = value@code)
}

test_that("1. reads and writes outside the roots fail as typed values", {
  stage <- acceptance_stage()
  capability <- stage$project(process = rho_process_none())
  before <- snapshot_tree(stage$tree$outside)
  secret <- file.path(stage$tree$outside, "secret")
  outside <- c("NotUnderRoot", "Escape")
  expect_denied(rho_read(capability, secret), outside)
  expect_denied(rho_read(capability, "/etc/passwd"), outside)
  expect_denied(rho_write(capability, secret, "x"), outside)
  expect_denied(rho_write(capability, file.path(stage$tree$outside, "new"), "x"), outside)
  expect_denied(rho_edit(capability, secret, "OUT", "x"), outside)
  expect_denied(rho_list(capability, stage$tree$outside), outside)
  expect_denied(rho_move(capability, "f", file.path(stage$tree$outside, "f")), outside)
  expect_denied(rho_remove(capability, secret), outside)
  expect_identical(snapshot_tree(stage$tree$outside), before)
  readable <- rho_host_capability(read = stage$tree$root, cwd = stage$tree$root)
  expect_denied(rho_write(readable, "f", "x"), "NotWritable")
  expect_identical(rho_unwrap(rho_read(readable, "f")), "IN")
})

test_that("2. paths through symbolic links and `..` fail", {
  stage <- acceptance_stage()
  capability <- stage$project(process = rho_process_none())
  before <- snapshot_tree(stage$tree$outside)
  root <- stage$tree$root
  file.symlink(stage$tree$outside, file.path(root, "out"))
  file.symlink(file.path(stage$tree$outside, "secret"), file.path(root, "file"))
  file.symlink("../ROOT-evil/secret", file.path(root, "relative"))
  for (path in c(
    "out/secret", "file", "relative", "../ROOT-evil/secret", "a/../../ROOT-evil/secret",
    "a/b/../../../ROOT-evil/secret", file.path(root, "..", "ROOT-evil", "secret")
  )) {
    expect_denied(rho_read(capability, path), c("Escape", "NotUnderRoot"))
    expect_denied(rho_write(capability, path, "x"), c("Escape", "NotUnderRoot"))
  }
  expect_identical(snapshot_tree(stage$tree$outside), before)
  # Inside, both are ways like any other.
  file.symlink("a/b", file.path(root, "in"))
  expect_identical(rho_unwrap(rho_read(capability, "in/c/f")), "IN")
  expect_identical(rho_unwrap(rho_read(capability, "a/../f")), "IN")
})

test_that("3. the default bash cannot read a secret of R's environment", {
  stage <- acceptance_stage()
  value <- canary()
  looks <- c(
    "printf %s \"$ACCEPTANCE_KEY\"",
    "env; export -p; set",
    "cat /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n'",
    "Rscript -e 'cat(Sys.getenv(\"ACCEPTANCE_KEY\"))'",
    sprintf("tr '\\0' '\\n' < /proc/%d/environ", Sys.getpid())
  )
  with_variables(c(ACCEPTANCE_KEY = value), {
    unrestricted <- stage$project(
      process = rho_process_unrestricted(),
      network = rho_network_host()
    )
    # The redactor does not know this value: it was set after R began. With all authority a command
    # can look into R itself; its own environment is minimal all the same.
    for (look in looks[1:4]) {
      expect_hidden(rho_bash(unrestricted, look)@output_raw, value, look)
    }
    confined <- confined_capability(stage$tree)
    for (look in looks) {
      expect_hidden(rho_bash(confined, look)@output_raw, value, look)
    }
  })
})

test_that("4. what is given by name is there, and nothing else", {
  stage <- acceptance_stage()
  literal <- canary()
  inherited <- canary()
  other <- canary()
  secret <- canary()
  with_variables(c(ACCEPTANCE_INHERITED = inherited, ACCEPTANCE_OTHER = other), {
    capability <- stage$project(
      process = rho_process_unrestricted(),
      network = rho_network_host(),
      environment = rho_environment(
        LITERAL = literal,
        ACCEPTANCE_INHERITED = rho_env_inherit(),
        SECRET = rho_env_secret(rho_secret_literal(secret))
      )
    )
  })
  put(file.path(stage$tree$root, "expected"), paste(literal, inherited, secret, "", sep = "\n"))
  result <- rho_bash(capability, paste(
    "printf '%s\\n' \"$LITERAL\" \"$ACCEPTANCE_INHERITED\" \"$SECRET\" > given;",
    "cmp given expected && env | grep -c ACCEPTANCE_OTHER"
  ))
  expect_identical(result@output, "0\n")
  names <- capability@environment
  expect_true(all(c("LITERAL", "ACCEPTANCE_INHERITED", "SECRET") %in% names$name))
  expect_identical(names$kind[match("SECRET", names$name)], "secret")
  expect_hidden(rho_bash(capability, "env")@output_raw, secret)
  expect_hidden(rho_receipt(result)@json, secret)
})

test_that("5. unrestricted is chosen by name, and says so", {
  stage <- acceptance_stage()
  sentence <- "Unrestricted bash has the full authority of the R process's user."
  cnd <- expect_error(
    stage$project(process = rho_process_unrestricted()),
    class = "rhocap_error_not_enforceable"
  )
  expect_match(conditionMessage(cnd), "rho_network_host()", fixed = TRUE)
  plain <- rho_host_capability(read = stage$tree$root, cwd = stage$tree$root)
  expect_identical(rho_bash(plain, "true")@code, "ProcessNone")
  chosen <- stage$project(process = rho_process_unrestricted(), network = rho_network_host())
  expect_match(paste(format(chosen), collapse = " "), sentence, fixed = TRUE)
  result <- rho_bash(chosen, "true")
  expect_match(paste(format(rho_receipt(result)), collapse = " "), sentence, fixed = TRUE)
  expect_identical(rho_receipt(result)@enforced_by$mechanism, "none")
})

test_that("6. printing auths, requests, errors and summaries shows no key", {
  stage <- acceptance_stage()
  value <- canary()
  credential <- rho_provider_credential(rho_secret_literal(value), "api.example.org")
  auth <- rho_model_auth(credential, headers = list(`x-other` = credential))
  request <- rho_http_request(
    "POST",
    "https://api.example.org/v1",
    headers = list(authorization = rho_bearer(credential), other = rho_basic("ada", credential)),
    body = list(token = credential),
    query = list(key = credential)
  )
  entry <- rho_env_secret(rho_secret_literal(value), shared = TRUE)
  capability <- command_capability(stage$tree, environment = rho_environment(KEY = entry))
  failed <- rho_bash(capability, "echo \"bad key $KEY\" >&2; exit 1")
  tool <- rho_tool_bash(capability)
  shown <- list(
    auth, request, capability, failed, rho_receipt(failed), rho_receipts(),
    tryCatch(rho_unwrap(failed), error = identity),
    tool@execute("1", list(command = "echo $KEY; false")),
    rho_sanitize(simpleError(paste("refused:", value), quote(f(value)))),
    list(auth = auth, request = request)
  )
  for (value_shown in shown) {
    come <- all_that_comes(function() {
      print(value_shown)
      utils::str(value_shown)
      try(cat(format(value_shown), sep = "\n"), silent = TRUE)
      try(cat(toString(value_shown)), silent = TRUE)
      print(summary(value_shown))
      value_shown
    })
    expect_hidden(come, value)
    # Nor what a header of its kind would be.
    expect_hidden(come, paste0("ada:", value))
  }
  # What Rho's own values show is tested with the real Rho, in tests/rho.
})

test_that("7. cancelling ends the whole tree of a command, wherever it runs", {
  stage <- acceptance_stage()
  for (make in list(command_capability, confined_capability)) {
    capability <- make(stage$tree)
    mark <- new_mark()
    sleep <- marked_sleep(mark)
    command <- sprintf("(%s) & (setsid bash -c '%s' &); %s", sleep, sleep, sleep)
    promise <- rho_bash_async(capability, command)
    expect_true(wait_until(function() length(marked_processes(mark)) > 0L))
    rho_bash_cancel(promise)
    result <- settled(promise)
    expect_true(result@cancelled)
    expect_identical(result@survivors, numeric())
    expect_length(marked_processes(mark), 0L)
    timed <- rho_bash(capability, sprintf("(%s) & wait", marked_sleep(mark)), timeout = 0.5)
    expect_true(timed@timed_out)
    expect_length(marked_processes(mark), 0L)
  }
  # The other placement is refused when it is asked for, until it is there.
  expect_error(
    stage$project(placement = rho_placement_mirai()),
    class = "rhocap_error_not_enforceable"
  )
})
