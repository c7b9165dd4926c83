test_that("the tools are those that the capability allows", {
  tree <- new_tree()
  names_of <- function(...) names(rho_capability_tools(rho_host_capability(..., cwd = tree$root)))
  expect_identical(names_of(read = tree$root), c("read", "list"))
  file_tools <- c("read", "list", "write", "edit", "move", "remove")
  expect_identical(names_of(write = tree$root), file_tools)
  expect_identical(
    names_of(
      write = tree$root,
      process = rho_process_unrestricted(),
      network = rho_network_host()
    ),
    c(file_tools, "bash")
  )
})

test_that("each tool has Rho's names, a whole JSON Schema and its kind of scheduling", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  cases <- list(
    list(rho_tool_read(capability), "read", "Read", "path", FALSE),
    list(rho_tool_write(capability), "write", "Write", c("path", "text"), TRUE),
    list(rho_tool_edit(capability), "edit", "Edit", c("path", "old", "new"), TRUE),
    list(rho_tool_list(capability), "list", "List", character(), FALSE),
    list(rho_tool_move(capability), "move", "Move", c("from", "to"), TRUE),
    list(rho_tool_remove(capability), "remove", "Remove", "path", TRUE),
    list(rho_tool_bash(capability), "bash", "Bash", "command", TRUE)
  )
  for (case in cases) {
    tool <- case[[1]]
    expect_identical(tool@name, case[[2]])
    expect_identical(tool@label, case[[3]])
    expect_true(nzchar(tool@description))
    schema <- tool@parameters
    expect_identical(schema$type, "object")
    expect_identical(schema$required, as.list(case[[4]]))
    expect_false(schema$additionalProperties)
    expect_true(all(unlist(schema$required) %in% names(schema$properties)))
    for (property in schema$properties) {
      expect_true(property$type %in% c("string", "integer", "number", "boolean"))
    }
    expect_identical(tool@overlap, if (case[[5]]) "exclusive" else "may_overlap")
    expect_identical(names(formals(tool@execute)), c(
      "tool_call_id", "params", "signal", "on_update", "ctx"
    ))
    expect_output(print(tool), tool@name)
  }
})

test_that("tools do what the verbs do, for the model", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  read <- run(rho_tool_read(capability), path = "f")
  expect_identical(text_of(read), "IN")
  expect_identical(read@details$path, "f")
  expect_identical(rho_receipt(read)@principal, "model")
  wrote <- run(rho_tool_write(capability), path = "new/dir/x", text = "no newline")
  expect_identical(text_of(wrote), "wrote new/dir/x")
  expect_identical(rho_read(capability, "new/dir/x")@text, "no newline")
  edited <- run(rho_tool_edit(capability), path = "new/dir/x", old = "no", new = "a")
  expect_match(text_of(edited), "+a newline", fixed = TRUE)
  listed <- run(rho_tool_list(capability))
  expect_identical(text_of(listed), "a/\nf\nnew/")
  below <- run(rho_tool_list(capability), path = "new", recursive = TRUE)
  expect_identical(text_of(below), "dir/\ndir/x")
  moved <- run(rho_tool_move(capability), from = "new/dir/x", to = "y")
  expect_identical(text_of(moved), "moved new/dir/x to y")
  removed <- run(rho_tool_remove(capability), path = "y")
  expect_identical(text_of(removed), "removed y")
  for (result in list(read, wrote, edited, listed, moved, removed)) {
    expect_true(S7::S7_inherits(result, RhoToolResult))
    expect_false(S7::S7_inherits(result, RhoToolErrorResult))
    expect_plain(result@details)
    expect_false(result@terminate)
  }
})

test_that("a path is told on one line", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  path <- "a\033[31mb\nwrote /etc/passwd"
  told <- list(
    run(rho_tool_read(capability), path = path),
    run(rho_tool_write(capability), path = path, text = "x"),
    run(rho_tool_edit(capability), path = path, old = "x", new = "y"),
    run(rho_tool_move(capability), from = path, to = "x"),
    run(rho_tool_move(capability), from = "x", to = path),
    run(rho_tool_remove(capability), path = path),
    run(rho_tool_remove(capability), path = path)
  )
  for (result in told) {
    first <- strsplit(text_of(result), "\n", fixed = TRUE)[[1]]
    expect_match(first[[1]], "a\\u{1b}[31mb\\nwrote /etc/passwd", fixed = TRUE)
    expect_false(any(grepl("^wrote /etc", first)))
    expect_identical(rho_receipt(result)@principal, "model")
  }
})

test_that("a refusal is an error result with reason, code and receipt", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  missing <- run(rho_tool_read(capability), path = "nope")
  expect_identical(text_of(missing), "File not found: nope")
  expect_identical(missing@details[c("path", "reason")], list(path = "nope", reason = "not_found"))
  escaped <- run(rho_tool_write(capability), path = "../x", text = "x")
  expect_identical(escaped@details$code, "Escape")
  bash <- run(rho_tool_bash(capability), command = "ls", timeout = 5)
  expect_identical(bash@details$reason, "process_none")
  for (result in list(missing, escaped, bash)) {
    expect_true(S7::S7_inherits(result, RhoToolErrorResult))
    expect_plain(result@details)
    expect_no_match(text_of(result), tree$base, fixed = TRUE)
  }
  # Print marks a line that it cuts, so that the model's text is not taken for cut.
  long <- RhoToolErrorResult(content = list(RhoToolText(strrep("x", 200))))
  expect_identical(format(long)[[2]], paste0("  ", strrep("x", 100), "..."))
})

test_that("arguments that do not fit are refused with a receipt", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  tool <- rho_tool_write(capability)
  cases <- list(
    list(),
    list(path = "f"),
    list(pat = "f", tex = "x"),
    list(path = "f", text = "x", mode = "0777"),
    list(path = "f", text = "x", path = "g"),
    list("f", "x"),
    list(path = c("f", "g"), text = "x"),
    list(path = 1, text = "x"),
    list(path = NULL, text = "x"),
    list(path = NA_character_, text = "x"),
    list(path = list("f"), text = "x"),
    list(path = "f", text = identity),
    list(path = "f", text = NA),
    "not a list",
    new.env(),
    NULL
  )
  for (params in cases) {
    count <- check_boundary(core_receipts_count())
    result <- tool@execute("1", params, NULL, NULL, NULL)
    expect_true(S7::S7_inherits(result, RhoToolErrorResult))
    expect_identical(result@details$code, "InvalidArguments")
    expect_identical(rho_receipt(result)@code, "InvalidArguments")
    expect_identical(check_boundary(core_receipts_count()), count + 1)
    expect_plain(result@details)
  }
  expect_identical(snapshot_tree(tree$base), before)
  read <- rho_tool_read(capability)
  for (params in list(
    list(path = "f", first_line = 0),
    list(path = "f", first_line = 1.5),
    list(path = "f", first_line = 3, last_line = 2),
    list(path = "f", last_line = "2"),
    list(path = "f", first_byte = 0)
  )) {
    expect_identical(read@execute("1", params)@details$code, "InvalidArguments")
  }
})

test_that("a malformed call leaves a receipt with a code of the closed set", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  calls <- list(
    InvalidArguments = quote(tool@execute("1")),
    InvalidArguments = quote(tool@execute()),
    SystemError = quote(tool@execute("1", stop("no arguments"))),
    SystemError = quote(tool@execute("1", list(path = stop("no path"))))
  )
  for (tool in rho_capability_tools(capability)) {
    for (index in seq_along(calls)) {
      count <- check_boundary(core_receipts_count())
      result <- eval(calls[[index]])
      expect_true(S7::S7_inherits(result, RhoToolErrorResult))
      expect_identical(result@details$code, names(calls)[[index]])
      expect_true(result@details$code %in% rho_codes()$code)
      expect_identical(rho_receipt(result)@code, result@details$code)
      expect_identical(check_boundary(core_receipts_count()), count + 1)
      expect_plain(result@details)
    }
  }
  expect_identical(snapshot_tree(tree$base), before)
})

test_that("text that is not valid in its encoding is refused, with a message for a model", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  before <- snapshot_tree(tree$base)
  for (bad in invalid_strings()) {
    results <- list(
      run(rho_tool_read(capability), path = bad),
      run(rho_tool_write(capability), path = bad, text = "x"),
      run(rho_tool_write(capability), path = "f", text = bad),
      run(rho_tool_edit(capability), path = "f", old = bad, new = "x"),
      run(rho_tool_edit(capability), path = "f", old = "IN", new = bad),
      run(rho_tool_list(capability), path = bad),
      run(rho_tool_move(capability), from = "f", to = bad),
      run(rho_tool_remove(capability), path = bad),
      run(rho_tool_bash(capability), command = bad)
    )
    for (result in results) {
      expect_identical(result@details$code, "InvalidEncoding")
      expect_identical(rho_receipt(result)@code, "InvalidEncoding")
      expect_match(text_of(result), "Send it again as valid text", fixed = TRUE)
      expect_plain(result@details)
      strings <- rapply(result@details, identity, "character")
      expect_true(is_utf8(strings))
    }
    unknown <- run(rho_tool_read(capability), path = "f", x = bad)
    expect_identical(rho_receipt(unknown)@code, "InvalidArguments")
    named <- rho_tool_read(capability)@execute("1", stats::setNames(list("f"), bad))
    expect_identical(rho_receipt(named)@code, "InvalidArguments")
  }
  expect_identical(snapshot_tree(tree$base), before)
  latin1 <- iconv("caf\u00e9", "UTF-8", "latin1")
  put(file.path(tree$root, "caf\u00e9"), "IN")
  converted <- run(rho_tool_read(capability), path = latin1)
  expect_identical(text_of(converted), "IN")
  expect_identical(converted@details$path, "caf\u00e9")
  expect_identical(Encoding(converted@details$path), "UTF-8")
})

test_that("details hold plain values, whatever the arguments were", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  odd <- function(x) structure(x, class = "odd", names = "n", foo = globalenv())
  results <- list(
    run(rho_tool_read(capability), path = odd("f")),
    run(rho_tool_read(capability), path = odd("nope")),
    run(rho_tool_write(capability), path = odd("f"), text = odd("x")),
    run(rho_tool_edit(capability), path = odd("f"), old = odd("x"), new = odd("y")),
    run(rho_tool_list(capability), path = odd("."), recursive = odd(FALSE)),
    run(rho_tool_move(capability), from = odd("f"), to = odd("g"), overwrite = odd(TRUE)),
    run(rho_tool_remove(capability), path = odd("g")),
    run(rho_tool_bash(capability), command = odd("ls"))
  )
  for (result in results) {
    expect_plain(result@details)
    asked <- result@details[setdiff(names(result@details), "receipt")]
    expect_null(unlist(lapply(asked, attributes)))
  }
  # Methods of a class that the arguments have are not called.
  registerS3method("[[", "rhocap_odd", function(x, i) stop("called"), baseenv())
  registerS3method("names", "rhocap_odd", function(x) stop("called"), baseenv())
  params <- structure(list(path = "a/b/c/f"), class = "rhocap_odd")
  expect_identical(text_of(rho_tool_read(capability)@execute("1", params)), "IN")
})

test_that("arguments that fit nothing stand in the receipt as JSON, without being made", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  asked <- function(...) {
    RhoReceipt(rho_receipt(run(rho_tool_read(capability), ...))@json)@request$arguments
  }
  expect_identical(asked(path = NA_integer_), "{\"path\":null}")
  expect_identical(asked(path = NA_character_), "{\"path\":null}")
  expect_identical(asked(path = c(1.5, NA, Inf)), "{\"path\":[1.5,null,null]}")
  expect_identical(asked(path = c(TRUE, NA)), "{\"path\":[true,null]}")
  expect_identical(asked(path = globalenv()), "{\"path\":\"(Environment)\"}")
  expect_match(asked(path = 1:1e9), "^\\{\"path\":\\[1,2,3,")
  needs_proc()
  # 1:1e9 takes 4 GB once it is made, this process a tenth of that.
  peak <- grep("^VmHWM:", readLines("/proc/self/status"), value = TRUE)
  expect_lt(as.numeric(gsub("[^0-9]", "", peak)), 3e6)
})

test_that("a failure inside keeps the receipt of the call that was made", {
  tree <- new_tree()
  handle <- attr(tree_capability(tree), "handle")
  tool <- new_tool(
    name = "read",
    label = "Read",
    description = "x",
    parameters = list(),
    required = character(),
    exclusive = FALSE,
    handle = handle,
    run = function(params) {
      list(
        outcome = as_outcome(core_read(handle, "read", "model", "f", NULL, 0, NULL)),
        asked = list(),
        told = function(outcome) stop("inside")
      )
    }
  )
  count <- check_boundary(core_receipts_count())
  result <- tool@execute("1", list())
  expect_identical(result@details$code, "SystemError")
  expect_match(text_of(result), "The tool failed inside: inside", fixed = TRUE)
  expect_identical(rho_receipt(result)@outcome, "ok")
  expect_identical(check_boundary(core_receipts_count()), count + 1)
})

test_that("a model reads on where a long file was cut", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  lines <- sprintf("line %06d", seq_len(20000))
  put(file.path(tree$root, "long"), paste0(lines, "\n", collapse = ""))
  tool <- rho_tool_read(capability)
  seen <- character()
  first <- 1
  for (round in 1:20) {
    text <- text_of(run(tool, path = "long", first_line = first))
    got <- strsplit(text, "\n", fixed = TRUE)[[1]]
    cut <- grepl("^\\[cut: ", got)
    seen <- c(seen, got[!cut])
    if (!any(cut)) {
      break
    }
    first <- as.numeric(sub(".*first_line = ([0-9]+).*", "\\1", got[cut]))
  }
  expect_identical(seen, lines)
})

# What a model has read that follows the notes to the end.
read_to_the_end <- function(tool, path, ...) {
  seen <- ""
  arguments <- list(path = path, ...)
  for (page in 1:20) {
    text <- text_of(tool@execute("1", arguments))
    inside <- "\n\\[cut inside line [0-9 of]+, after [0-9]+ of its bytes; read on with ([^]]*)\\]$"
    note <- if (grepl(inside, text)) inside else "\\[cut: lines [^\n]*; read on with ([^]]*)\\]$"
    seen <- paste0(seen, sub(note, "", text))
    if (!grepl(note, text)) {
      return(seen)
    }
    on <- regmatches(text, regexec(note, text))[[1]][[2]]
    arguments[c("first_line", "first_byte")] <- NULL
    for (part in strsplit(on, ", ", fixed = TRUE)[[1]]) {
      part <- strsplit(part, " = ", fixed = TRUE)[[1]]
      arguments[[part[[1]]]] <- as.numeric(part[[2]])
    }
  }
  "did not end"
}

test_that("a model can read every byte of lines longer than a page, and is told the truth", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  tool <- rho_tool_read(capability)
  set.seed(1)
  letters <- c("x", "\u00e9", "\u20ac", "\U0001f600")
  long <- function(size) paste(sample(letters, size, TRUE), collapse = "")
  cases <- list(
    strrep("x", 60000),
    strrep("x", 51200),
    paste0(strrep("x", 51200), "\n"),
    strrep("x", 51201),
    paste0(strrep("x", 60000), "\n"),
    paste0(strrep("x", 60000), "\nsecond\n"),
    paste0("first\n", long(100000), "\nthird\n", long(60000)),
    paste0(strrep("\n", 100), long(50000), strrep("\n", 60000))
  )
  for (text in cases) {
    put(file.path(tree$root, "long"), text)
    expect_true(identical(read_to_the_end(tool, "long"), enc2utf8(text)))
  }
  put(file.path(tree$root, "long"), paste0("first\n", strrep("x", 60000), "\nthird\n"))
  expect_true(identical(
    read_to_the_end(tool, "long", first_line = 2, last_line = 2),
    paste0(strrep("x", 60000), "\n")
  ))
  page <- run(tool, path = "long", first_line = 2)
  expect_match(
    text_of(page),
    paste(
      "\n[cut inside line 2 of 3, after 51200 of its bytes;",
      "read on with first_line = 2, first_byte = 51201]"
    ),
    fixed = TRUE
  )
  expect_identical(
    page@details[c("bytes", "lines", "first_line")],
    list(bytes = 51200, lines = 1, first_line = 2)
  )
  # A number inside a character goes back to its start; one behind the end gives nothing.
  put(file.path(tree$root, "short"), "a\u00e9b\nc")
  expect_identical(text_of(run(tool, path = "short", first_byte = 3)), "\u00e9b\nc")
  expect_identical(run(tool, path = "short", first_byte = 6)@details$first_line, 2)
  expect_identical(text_of(run(tool, path = "short", first_byte = 99)), "")
  expect_identical(text_of(run(tool, path = "short", first_byte = 2^53)), "")
})

test_that("a long listing is cut, counted, and can be gone on with", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  dir.create(file.path(tree$root, "many"))
  names <- sprintf("%s%05d", strrep("n", 40), 1:3000)
  file.create(file.path(tree$root, "many", names))
  tool <- rho_tool_list(capability)
  seen <- character()
  first <- 1
  for (round in 1:5) {
    result <- run(tool, path = "many", first_entry = first)
    text <- text_of(result)
    expect_lt(nchar(text, "bytes"), 50 * 1024 + 100)
    lines <- strsplit(text, "\n", fixed = TRUE)[[1]]
    cut <- grepl("^\\[cut: ", lines)
    seen <- c(seen, lines[!cut])
    expect_identical(result@details$truncated, any(cut))
    if (!any(cut)) {
      break
    }
    expect_match(lines[cut], sprintf("entries %d to %d of 3000;", first, length(seen)))
    first <- as.numeric(sub(".*first_entry = ([0-9]+).*", "\\1", lines[cut]))
  }
  expect_identical(seen, names)
  expect_identical(round, 3L)
  expect_match(text_of(run(tool, path = "many", first_entry = 3001)), "there are 3000 entries")
  expect_identical(text_of(run(tool, path = "many", first_entry = 3000)), names[[3000]])
  few <- rho_tool_list(tree_capability(tree, limits = rho_limits(entries = 50)))
  expect_match(text_of(run(few, path = "many")), "list a directory below", fixed = TRUE)
})

test_that("a tool never signals, not even with a dead handle", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  tool <- unserialize(serialize(rho_tool_read(capability), NULL))
  result <- tool@execute("1", list(path = "f"), NULL, NULL, NULL)
  expect_true(S7::S7_inherits(result, RhoToolErrorResult))
  expect_match(text_of(result), "saved and loaded again")
  expect_identical(result@details, list(reason = "system_error", code = "SystemError"))
})

test_that("results print", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_output(print(run(rho_tool_read(capability), path = "f")), "IN")
  expect_output(print(run(rho_tool_read(capability), path = "nope")), "File not found")
})
