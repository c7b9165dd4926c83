# `spec` and not `tool`: `to = ` would be taken for it.
run <- function(spec, ...) spec@execute("call-1", list(...), NULL, NULL, NULL)
text_of <- function(result) result@content[[1]]@text

# What a runtime's journal takes: named lists of atomic vectors, nothing else.
expect_plain <- function(details) {
  expect_type(details, "list")
  expect_false(is.object(details))
  expect_false(is.null(names(details)) && length(details) > 0)
  for (value in details) {
    if (is.list(value)) {
      expect_plain(value)
    } else {
      expect_true(is.atomic(value) && !is.null(value) && !is.object(value) && !is.raw(value))
    }
  }
}

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
    list(path = "f", last_line = "2")
  )) {
    expect_identical(read@execute("1", params)@details$code, "InvalidArguments")
  }
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
  put(file.path(tree$root, "one-line"), strrep("x", 60000))
  expect_match(text_of(run(tool, path = "one-line")), "cut: lines 1 to 1 of 1")
})

test_that("a tool never signals, not even with a dead handle", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  tool <- unserialize(serialize(rho_tool_read(capability), NULL))
  result <- tool@execute("1", list(path = "f"), NULL, NULL, NULL)
  expect_true(S7::S7_inherits(result, RhoToolErrorResult))
  expect_match(text_of(result), "saved and loaded again")
})

test_that("results print", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  expect_output(print(run(rho_tool_read(capability), path = "f")), "IN")
  expect_output(print(run(rho_tool_read(capability), path = "nope")), "File not found")
})
