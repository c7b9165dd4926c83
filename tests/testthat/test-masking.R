# What commands and tools show of secrets. The verbs' own rules are tested in core/tests/masking.rs.

marker <- "[redacted by rhocap]"

# A value with characters that every way of writing it changes, of which no part is anything else.
awkward_value <- function() paste0("s3", canary(), "/val+ue\"&1")

# A capability whose commands have the secret as `S`, and the value.
secret_capability <- function(tree, value = awkward_value(), ...) {
  entry <- rho_env_secret(rho_secret_literal(value))
  capability <- command_capability(tree, environment = rho_environment(S = entry), ...)
  list(value = value, capability = capability)
}

test_that("what a program writes of a secret is masked in every form", {
  tree <- new_tree()
  stage <- secret_capability(tree)
  python <- function(code) sprintf("python3 -c 'import os; s = os.environ[\"S\"]; %s'", code)
  forms <- list(
    raw = "printf %s \"$S\"",
    base64 = "printf %s \"$S\" | base64 -w0",
    base64_newline = "echo \"$S\" | base64",
    base64_user = "printf 'u:%s' \"$S\" | base64 -w0; printf 'us:%s' \"$S\" | base64 -w0",
    base64_user_longer = "printf 'user:%s' \"$S\" | base64 -w0",
    base64_url = "printf %s \"$S\" | basenc --base64url -w0",
    base64_wrapped = "printf %s \"$S$S\" | base64 -w 20",
    hex = "printf %s \"$S\" | od -An -v -tx1 | tr -d ' \\n'",
    hex_upper = "printf %s \"$S\" | od -An -v -tx1 | tr -d ' \\n' | tr a-f A-F",
    hex_colons = "printf %s \"$S\" | od -An -v -tx1 | tr -d '\\n' | sed 's/^ //; s/ /:/g'",
    od = "printf %s \"$S\" | od -An -v -tx1",
    shell = "printf %q \"$S\"",
    shell_quoted = "s=\"it's $S\"; printf '%s' \"${s@Q}\"",
    percent = python("import urllib.parse as u; print(u.quote(s, safe=\"\"), u.quote_plus(s))"),
    percent_all = python("print(\"\".join(\"%%%02x\" % b for b in s.encode()))"),
    json = python("import json; print(json.dumps(s), json.dumps(json.dumps(s)))"),
    json_slash = python("import json; print(json.dumps(s).replace(\"/\", \"\\\\/\"))"),
    html = python("import html; print(html.escape(s))"),
    repr = python("print(repr(s))"),
    utf16 = "printf %s \"$S\" | iconv -t UTF-16LE",
    ansi = "printf '%s\\033[31m%s' \"${S:0:9}\" \"${S:9}\"",
    lines = "printf '%s\\n  %s' \"${S:0:9}\" \"${S:9}\"",
    streams = "printf %s \"${S:0:20}\"; printf %s \"${S:20}\" >&2"
  )
  for (form in names(forms)) {
    result <- rho_bash(stage$capability, forms[[form]])
    expect_identical(result@exit_status, 0, label = form)
    expect_gte(result@masked, 1)
    expect_match(result@output, marker, fixed = TRUE, label = form)
    expect_hidden(result@output, stage$value, form)
    expect_hidden(result@output_raw, stage$value, form)
    expect_hidden(result@receipt@json, stage$value, form)
    # Nor is a long part of it left: of the canary, 12 characters anywhere.
    inside <- substr(stage$value, 3L, 34L)
    parts <- substring(inside, 1:21, 12:32)
    expect_false(any(vapply(parts, grepl, NA, x = result@output, fixed = TRUE)), label = form)
  }
  expect_identical(rho_unwrap(rho_bash(stage$capability, "printf %s \"$S\"")), marker)
})

test_that("R's own way of writing a secret is masked", {
  tree <- new_tree()
  value <- awkward_value()
  environment <- rho_environment(
    rho_environment_r(),
    S = rho_env_secret(rho_secret_literal(value))
  )
  capability <- command_capability(tree, environment = environment)
  result <- rho_bash(capability, "Rscript -e 'dput(Sys.getenv(\"S\")); print(Sys.getenv(\"S\"))'")
  expect_identical(result@exit_status, 0)
  expect_identical(result@masked, 2)
  expect_hidden(result@output, value)
})

test_that("several lines are masked whole, one by one, and however they are broken", {
  tree <- new_tree()
  lines <- vapply(1:3, function(line) canary(), "")
  entry <- rho_env_secret(rho_secret_literal(paste0(paste(lines, collapse = "\n"), "\n")))
  capability <- command_capability(tree, environment = rho_environment(S = entry))
  commands <- c(
    "printf %s \"$S\"",
    "printf %s \"$S\" | sed 's/^/    /'",
    "printf %s \"$S\" | sed 's/$/\\r/'",
    "printf %s \"$S\" | sed -n 2p",
    "printf %q \"$S\""
  )
  for (command in commands) {
    output <- rho_bash(capability, command)@output
    expect_match(output, marker, fixed = TRUE, label = command)
    for (line in lines) expect_hidden(output, line, command)
  }
})

test_that("neither result nor receipt tells how long a secret is", {
  tree <- new_tree()
  told <- lapply(c(8L, 80L), function(size) {
    value <- substr(strrep(canary(), 4L), 1L, size)
    stage <- secret_capability(tree, value)
    result <- rho_bash(stage$capability, "printf %s \"$S\"")
    receipt <- json_value(result@receipt@json)
    list(
      attributes(result)[c("output", "bytes_total", "bytes_kept", "bytes_head", "masked")],
      receipt[c("bytes", "masked", "request", "version_before")],
      receipt$command$output
    )
  })
  expect_identical(told[[1L]], told[[2L]])
})

test_that("updates and the file of the whole output are masked", {
  tree <- new_tree()
  stage <- secret_capability(tree)
  told <- character()
  # In two pieces, so that no single read has all of it.
  result <- rho_bash(
    stage$capability,
    "printf 'a %s' \"${S:0:7}\"; sleep 0.2; printf '%s b\\n' \"${S:7}\"",
    on_output = function(text) told <<- c(told, text),
    spill = TRUE
  )
  expected <- sprintf("a %s b\n", marker)
  expect_identical(result@output, expected)
  expect_identical(paste(told, collapse = ""), expected)
  expect_identical(rawToChar(get_bytes(result@spilled)), expected)
})

test_that("a command, a path and a directory that hold a secret are told masked", {
  tree <- new_tree()
  stage <- secret_capability(tree)
  command <- sprintf("echo '%s' >&2; false", stage$value)
  result <- rho_bash(stage$capability, command)
  cnd <- expect_error(rho_unwrap(result), class = "rhocap_error_command_failed")
  name <- gsub("/", "_", stage$value, fixed = TRUE)
  named <- rho_secret_literal(name)
  dir.create(file.path(tree$root, name))
  inside <- rho_narrow(stage$capability, cwd = file.path(tree$root, name))
  put(file.path(tree$root, name, "f"), "IN")
  seen <- list(
    result, cnd, rho_receipt(result)@json,
    rho_bash(inside, "pwd; touch \"$PWD/x\"; ls /nowhere/x"),
    rho_read(inside, "missing"),
    rho_read(stage$capability, file.path(name, "f")),
    rho_list(stage$capability),
    rho_write(stage$capability, file.path(name, "new", "f"), "x"),
    rho_admit(stage$capability, file.path(name, "f")),
    inside
  )
  for (value in seen) {
    expect_hidden(c(utils::capture.output(print(value)), format(value)), stage$value)
    expect_hidden(c(utils::capture.output(print(value)), format(value)), name)
  }
  expect_hidden(rho_receipts()$json, name)
  expect_hidden(utils::capture.output(print(rho_receipts(), n = Inf)), name)
})

test_that("an error of the one who looks at the output tells no secret", {
  tree <- new_tree()
  stage <- secret_capability(tree)
  mark <- new_mark()
  cnd <- expect_error(rho_bash(
    stage$capability,
    sprintf("echo; %s", marked_sleep(mark)),
    on_output = function(text) stop("failed at ", stage$value)
  ))
  expect_hidden(conditionMessage(cnd), stage$value)
  expect_match(conditionMessage(cnd), "failed at", fixed = TRUE)
  expect_length(marked_processes(mark), 0L)
})

test_that("an environment that is too long for the system tells no secret", {
  tree <- new_tree()
  value <- paste(rep(canary(), 2048L), collapse = "")
  entry <- rho_env_secret(rho_secret_literal(substr(value, 1L, 60000L)))
  capability <- command_capability(tree, environment = rho_environment(S = entry))
  result <- rho_bash(capability, paste0("true '", strrep("x", 3e6), "'"))
  expect_identical(result@code, "SpawnFailed")
  expect_hidden(c(result@message, result@receipt@json), substr(value, 1L, 32L))
})

test_that("a tool's answer, details and updates hold no secret", {
  tree <- new_tree()
  stage <- secret_capability(tree)
  tools <- rho_capability_tools(stage$capability)
  put(file.path(tree$root, "key.txt"), stage$value)
  answers <- list(
    run(tools$bash, command = "echo \"$S\"; exit 3"),
    run(tools$bash, command = sprintf("echo '%s'", stage$value)),
    run(tools$read, path = "key.txt"),
    run(tools$read, path = stage$value),
    run(tools$write, path = "x", text = 1, more = stage$value),
    run(tools$edit, path = stage$value, old = "a", new = "b"),
    run(tools$edit, path = "key.txt", old = substr(stage$value, 1L, 8L), new = "b"),
    run(tools$list),
    run(tools$move, from = stage$value, to = "y")
  )
  for (answer in answers) {
    expect_hidden(serialize(answer, NULL), stage$value)
    expect_hidden(utils::capture.output(print(answer), utils::str(answer)), stage$value)
  }
  expect_identical(rawToChar(get_bytes(file.path(tree$root, "key.txt"))), stage$value)
})

test_that("a short secret is masked where it stands alone", {
  tree <- new_tree()
  value <- substr(canary(), 3L, 8L)
  secret <- withCallingHandlers(
    rho_secret_literal(value),
    rhocap_warning_short_secret = function(cnd) invokeRestart("muffleWarning")
  )
  put(file.path(tree$root, "f"), sprintf("pin %s, and not x%sx\n", value, value))
  text <- rho_read(command_capability(tree), "f")@text
  expect_identical(text, sprintf("pin %s, and not x%sx\n", marker, value))
  expect_true(rho_forget(secret) %in% c(TRUE, FALSE))
})

test_that("a secret that nobody knows any more is not masked", {
  tree <- new_tree()
  value <- canary()
  secret <- rho_secret_literal(value)
  put(file.path(tree$root, "f"), value)
  capability <- command_capability(tree)
  expect_identical(rho_read(capability, "f")@text, marker)
  rm(secret)
  invisible(gc())
  expect_identical(rho_read(capability, "f")@text, value)
})
