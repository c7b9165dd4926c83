# The verbs as tools of an agent. A tool holds a capability and answers with a result, whatever the
# model gives it: it never signals a condition.

#' @include class.R
NULL

#' Tools for an agent
#'
#' @description Each function gives a verb as a tool: name, label, description, parameters (a JSON
#' Schema) and `execute()`. Where the package rho.ai is installed, it is a `rho.ai::ToolSpec` that
#' `rho_agent(tools = )` takes as it is; otherwise it is a `RhoTool` with the same fields.
#' `rho_capability_tools()` gives those that the capability allows.
#'
#' `read`, `write` and `bash` have the names, labels, required parameters and result texts of Rho's
#' own coding tools, with these differences: `write` adds no newline; `read` keeps the last one, and
#' gives at most 50 KiB at a time with a note that says how to read on (`first_line`, and
#' `first_byte` inside a line that is longer). The other tools are rhocap's own. `list` gives at
#' most 50 KiB too, and goes on with `first_entry`. Paths are told on one line, escaped. `bash`
#' gives at most 2,000 lines or 50 KiB, of a longer output both ends and a note of what was left
#' out, and names what the command made under protected names and does not have any more.
#'
#' A tool does what its verb does, but for one thing: `write` makes missing directories, as Rho's
#' does, where [rho_write()] needs `create_parents = TRUE`.
#'
#' With the package rho.coding attached, its unrestricted functions have the names of ours: write
#' `rhocap::rho_tool_bash()`.
#'
#' @details `execute(tool_call_id, params, signal, on_update, ctx)` takes the model's arguments as
#' the named list `params`. It gives a result (`RhoToolResult`, or `RhoToolErrorResult` for a
#' refusal) with
#' \describe{
#'   \item{`content`}{a list of one text}
#'   \item{`details`}{a named list of atomic vectors and such lists: `path` or another argument;
#'     for refusals `code`, one of [rho_codes()], and `reason`, the same in snake case; `receipt`.
#'     Of `bash` also `exit_status` (of a signal its negative number; -9 at a timeout, as Rho has
#'     it), `timed_out`, `cancelled`, `survivors` (how many), `bytes` (of all output), and `reason`:
#'     `"ok"`, `"exit_status"`, `"signal"`, `"timed_out"`, `"cancelled"`, `"supervisor_lost"`}
#'   \item{`terminate`}{`FALSE`}
#' }
#' Every call leaves a receipt, also one whose arguments are malformed (`InvalidArguments`), are not
#' valid text (`InvalidEncoding`), or that fails inside (`SystemError`). Only a tool whose
#' capability was saved and loaded again, or is used in another process, can leave none. Tools that
#' change something ask the runtime for exclusive execution.
#'
#' @param capability A capability, from [rho_host_capability()].
#' @return A tool. `rho_capability_tools()`: a list of tools, named.
#' @family tools
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' writeLines("hello", file.path(project, "a.txt"))
#' capability <- rho_project_capability(project, process = rho_process_none())
#' names(rho_capability_tools(capability))
#' tool <- rho_tool_read(capability)
#' result <- tool@execute("call-1", list(path = "../outside.txt"), NULL, NULL, NULL)
#' result@content[[1]]@text
#' result@details$code
#' if ("confined" %in% rho_host_report()@facts$processes) {
#'   # Commands, too: confined to the project.
#'   bash <- rho_tool_bash(rho_project_capability(project))
#'   bash@description
#' }
#' @export
rho_tool_read <- function(capability) {
  handle <- usable_handle(capability)
  new_tool(
    name = "read",
    label = "Read",
    description = paste(
      "Read a UTF-8 text file.",
      "A long file is cut; read on with first_line and last_line."
    ),
    parameters = list(
      path = parameter_string("Path of the file, absolute or relative to the working directory."),
      first_line = parameter_integer("First line to read, counted from 1.", 1L),
      last_line = parameter_integer("Last line to read.", 1L),
      first_byte = parameter_integer(
        "Where to start in the first line, in bytes counted from 1. For a line that was cut.",
        1L
      )
    ),
    required = "path",
    exclusive = FALSE,
    handle = handle,
    run = function(params) {
      path <- argument_text(params, "path")
      first <- argument_count(params, "first_line", 1)
      last <- argument_count(params, "last_line", Inf)
      skip <- argument_count(params, "first_byte", 1) - 1
      if (first > last) {
        refuse_argument("`first_line` must not be greater than `last_line`.")
      }
      lines <- if (first > 1 || last < Inf) c(first, last)
      list(
        outcome = as_outcome(
          core_read(handle, "read", "model", path, lines, skip, most_text)
        ),
        asked = asked(path = path),
        told = read_page
      )
    }
  )
}

#' @rdname rho_tool_read
#' @export
rho_tool_write <- function(capability) {
  handle <- usable_handle(capability)
  new_tool(
    name = "write",
    label = "Write",
    description = "Write a UTF-8 text file",
    parameters = list(
      path = parameter_string("Path of the file. Missing directories are made."),
      text = parameter_string("The file's whole new text, with its line endings.")
    ),
    required = c("path", "text"),
    exclusive = TRUE,
    handle = handle,
    run = function(params) {
      path <- argument_text(params, "path")
      text <- argument_text(params, "text")
      list(
        outcome = as_outcome(core_write(handle, "write", "model", path, text, FALSE, TRUE, NULL)),
        asked = asked(path = path),
        told = function(outcome) list(text = sprintf("wrote %s", shown(path)))
      )
    }
  )
}

#' @rdname rho_tool_read
#' @export
rho_tool_edit <- function(capability) {
  handle <- usable_handle(capability)
  new_tool(
    name = "edit",
    label = "Edit",
    description = paste(
      "Replace exact text in a UTF-8 text file.",
      "The old text must occur exactly `count` times; include enough of it to be unique."
    ),
    parameters = list(
      path = parameter_string("Path of the file."),
      old = parameter_string("The text to replace, exactly as it is in the file."),
      new = parameter_string("The text to put in its place."),
      count = parameter_integer("How often the old text must occur. 1 if left out.", 1L)
    ),
    required = c("path", "old", "new"),
    exclusive = TRUE,
    handle = handle,
    run = function(params) {
      path <- argument_text(params, "path")
      old <- argument_text(params, "old")
      if (!nzchar(old)) {
        refuse_argument("`old` must not be empty.")
      }
      new <- argument_text(params, "new")
      count <- argument_count(params, "count", 1)
      list(
        outcome = as_outcome(core_edit(handle, "edit", "model", path, old, new, count, NULL)),
        asked = asked(path = path),
        told = function(outcome) list(text = sprintf("edited %s\n%s", shown(path), outcome@diff))
      )
    }
  )
}

#' @rdname rho_tool_read
#' @export
rho_tool_list <- function(capability) {
  handle <- usable_handle(capability)
  new_tool(
    name = "list",
    label = "List",
    description = "List a directory. Names of directories end in a slash.",
    parameters = list(
      path = parameter_string("Path of the directory. The working directory if left out."),
      recursive = list(type = "boolean", description = "Whether to list directories below too."),
      first_entry = parameter_integer(
        "First entry to show, counted from 1. For a list that was cut.",
        1L
      )
    ),
    required = character(),
    exclusive = FALSE,
    handle = handle,
    run = function(params) {
      path <- if (is.null(params[["path"]])) "." else argument_text(params, "path")
      recursive <- argument_flag(params, "recursive", FALSE)
      first <- argument_count(params, "first_entry", 1)
      list(
        outcome = as_outcome(core_list(handle, "list", "model", path, recursive)),
        asked = asked(path = path),
        told = function(outcome) list_page(outcome, first)
      )
    }
  )
}

#' @rdname rho_tool_read
#' @export
rho_tool_move <- function(capability) {
  handle <- usable_handle(capability)
  new_tool(
    name = "move",
    label = "Move",
    description = "Move or rename a file or directory",
    parameters = list(
      from = parameter_string("Path of what to move."),
      to = parameter_string("Its new path, not the directory to move into."),
      overwrite = list(type = "boolean", description = "Whether to replace an existing file.")
    ),
    required = c("from", "to"),
    exclusive = TRUE,
    handle = handle,
    run = function(params) {
      from <- argument_text(params, "from")
      to <- argument_text(params, "to")
      overwrite <- argument_flag(params, "overwrite", FALSE)
      list(
        outcome = as_outcome(core_move(handle, "move", "model", from, to, overwrite)),
        asked = asked(from = from, to = to),
        told = function(outcome) list(text = sprintf("moved %s to %s", shown(from), shown(to)))
      )
    }
  )
}

#' @rdname rho_tool_read
#' @export
rho_tool_remove <- function(capability) {
  handle <- usable_handle(capability)
  new_tool(
    name = "remove",
    label = "Remove",
    description = "Remove a file, a symbolic link or an empty directory",
    parameters = list(path = parameter_string("Path of what to remove.")),
    required = "path",
    exclusive = TRUE,
    handle = handle,
    run = function(params) {
      path <- argument_text(params, "path")
      list(
        outcome = as_outcome(core_remove(handle, "remove", "model", path)),
        asked = asked(path = path),
        told = function(outcome) list(text = sprintf("removed %s", shown(path)))
      )
    }
  )
}

#' @rdname rho_tool_read
#' @export
rho_tool_bash <- function(capability) {
  handle <- usable_handle(capability)
  new_tool(
    name = "bash",
    label = "Bash",
    description = paste(
      "Execute a bash command in the working directory.",
      "Returns standard output and standard error together."
    ),
    parameters = list(
      command = parameter_string("The command."),
      timeout = list(type = "number", description = "Seconds until the command is ended.")
    ),
    required = "command",
    exclusive = TRUE,
    handle = handle,
    streams = TRUE,
    run = function(params, on_update, ctx) {
      command <- argument_text(params, "command")
      timeout <- argument_number(params, "timeout")
      live <- is.function(on_update)
      started <- suspendInterrupts(
        core_bash(handle, "bash", "model", command, timeout, NULL, FALSE, live)
      )
      bash_answer(started, if (live) partial_results(on_update), ctx)
    }
  )
}

#' @rdname rho_tool_read
#' @export
rho_capability_tools <- function(capability) {
  facts <- capability_facts(capability)
  access <- vapply(facts$roots, function(root) root$access, "")
  tools <- c(
    if (length(access) > 0L) list(rho_tool_read(capability), rho_tool_list(capability)),
    if (any(access == "write")) {
      list(
        rho_tool_write(capability),
        rho_tool_edit(capability),
        rho_tool_move(capability),
        rho_tool_remove(capability)
      )
    },
    if (facts$process != "none") list(rho_tool_bash(capability))
  )
  tools <- as.list(tools)
  stats::setNames(tools, vapply(tools, function(tool) tool@name, ""))
}

#' @rdname rho_tool_read
#' @format NULL
#' @usage NULL
#' @export
RhoToolText <- rho_class("RhoToolText", properties = list(text = property_string()))

#' @rdname rho_tool_read
#' @format NULL
#' @usage NULL
#' @export
RhoToolResult <- rho_class(
  "RhoToolResult",
  properties = list(
    content = property_list(list()),
    details = property_list(list()),
    terminate = property_flag(FALSE),
    added_tool_names = property_strings(character())
  )
)

#' @rdname rho_tool_read
#' @format NULL
#' @usage NULL
#' @export
RhoToolErrorResult <- rho_class("RhoToolErrorResult", parent = RhoToolResult)

#' @rdname rho_tool_read
#' @format NULL
#' @usage NULL
#' @export
RhoTool <- rho_class(
  "RhoTool",
  properties = list(
    name = property_string(empty = FALSE),
    label = property_string(),
    description = property_string(),
    parameters = property_list(),
    execute = property_function(),
    # "exclusive": no other tool of the same message runs at the same time.
    overlap = S7::new_property(
      S7::class_character,
      default = "may_overlap",
      validator = function(value) {
        if (!identical(value, "may_overlap") && !identical(value, "exclusive")) {
          "must be \"may_overlap\" or \"exclusive\""
        }
      }
    )
  )
)

parameter_string <- function(description) list(type = "string", description = description)

parameter_integer <- function(description, minimum) {
  list(type = "integer", minimum = minimum, description = description)
}

# Most bytes of text in one answer, as in rho_read().
most_text <- 50 * 1024

# A whole JSON Schema. `required` is a list, because a vector of one would become a JSON string.
tool_schema <- function(parameters, required) {
  list(
    type = "object",
    properties = parameters,
    required = as.list(required),
    additionalProperties = FALSE
  )
}

# `run()` takes the model's arguments and gives `outcome`, what was `asked` for, and `told()`, which
# makes the text of an outcome that is no refusal. With `streams` it gives the answer itself, at
# once or later, and is given what the runtime has for that: `on_update` and `ctx`.
new_tool <- function(
  name,
  label,
  description,
  parameters,
  required,
  exclusive,
  handle,
  run,
  streams = FALSE
) {
  known <- names(parameters)
  execute <- function(tool_call_id, params, signal = NULL, on_update = NULL, ctx = NULL) {
    given <- call <- NULL
    tryCatch(
      {
        # Evaluated once, here: what stands for the arguments may fail, or be missing.
        given <- if (!missing(params)) params
        arguments <- check_arguments(given, known, required)
        if (streams) {
          return(run(arguments, on_update, ctx))
        }
        call <- run(arguments)
        tool_answer(call)
      },
      # What the model gave does not fit: it can try again.
      rhocap_tool_arguments = function(cnd) {
        rejection(handle, name, given, "InvalidArguments", conditionMessage(cnd))
      },
      # A dead handle or a defect. A runtime would lose the run over a condition.
      error = function(cnd) {
        message <- shown(conditionMessage(cnd))[[1L]]
        if (!inherits(cnd, "rhocap_error")) {
          message <- sprintf("The tool failed inside: %s", message)
        }
        if (is.null(call)) {
          return(rejection(handle, name, given, "SystemError", message))
        }
        # What was asked for was done or refused, and has its receipt.
        tool_refusal(list(), "SystemError", message, attr(call$outcome, "receipt", exact = TRUE))
      }
    )
  }
  as_tool(
    name = name,
    label = label,
    description = description,
    parameters = tool_schema(parameters, required),
    execute = execute,
    exclusive = exclusive
  )
}

# A dead handle is found when the tool is made, not when a model calls it.
usable_handle <- function(capability) {
  capability_facts(capability)
  capability_handle(capability)
}

refuse_argument <- function(message) {
  stop(structure(
    class = c("rhocap_tool_arguments", "error", "condition"),
    list(message = message, call = NULL)
  ))
}

# Runtimes check presence only, and `$` would take `pa` for `path`: names are checked here, and
# arguments are read by `[[`, of a list without a class whose methods could run.
check_arguments <- function(params, known, required) {
  if (!is.list(params)) {
    refuse_argument("The arguments must be an object.")
  }
  params <- unclass(params)
  names <- names(params)
  if (length(params) > 0L && (is.null(names) || anyNA(names) || !all(nzchar(names)))) {
    refuse_argument("Every argument must have a name.")
  }
  unknown <- setdiff(names, known)
  if (length(unknown) > 0L) {
    refuse_argument(sprintf(
      "There is no argument `%s`. There are: %s.",
      substr(shown(unknown[[1L]]), 1L, 100L),
      paste(known, collapse = ", ")
    ))
  }
  if (anyDuplicated(names)) {
    refuse_argument(sprintf("The argument `%s` is given twice.", names[[anyDuplicated(names)]]))
  }
  missing <- setdiff(required, names)
  if (length(missing) > 0L) {
    refuse_argument(sprintf("The argument `%s` is missing.", missing[[1L]]))
  }
  params
}

# Text that is not valid in its encoding goes on to the core, which refuses it with a receipt.
argument_text <- function(params, name) {
  value <- plain_argument(params, name)
  if (!is.character(value) || length(value) != 1L || is.na(value)) {
    refuse_argument(sprintf("The argument `%s` must be one string.", name))
  }
  as_utf8(value)
}

# An argument without attributes: a class among them could have methods, and a journal takes none.
plain_argument <- function(params, name) {
  value <- params[[name]]
  if (is.character(value) || is.logical(value) || (is.numeric(value) && !is.object(value))) {
    as.vector(unclass(value))
  } else {
    value
  }
}

argument_flag <- function(params, name, default) {
  value <- plain_argument(params, name)
  if (is.null(value)) {
    return(default)
  }
  if (!is.logical(value) || length(value) != 1L || is.na(value)) {
    refuse_argument(sprintf("The argument `%s` must be true or false.", name))
  }
  value
}

argument_number <- function(params, name) {
  value <- plain_argument(params, name)
  if (is.null(value)) {
    return(NULL)
  }
  if (!is.numeric(value) || is.object(value) || length(value) != 1L || is.na(value) || value <= 0) {
    refuse_argument(sprintf("The argument `%s` must be one number greater than 0.", name))
  }
  as.double(value)
}

argument_count <- function(params, name, default) {
  value <- argument_number(params, name)
  if (is.null(value)) {
    return(default)
  }
  if (value != trunc(value) || value > 2^53) {
    refuse_argument(sprintf("The argument `%s` must be a whole number.", name))
  }
  value
}

# What was asked for, in `details`: valid UTF-8, since a journal takes nothing else, and without
# secrets, which a model can have been told elsewhere.
asked <- function(...) {
  lapply(list(...), function(text) if (is_utf8(text)) redact_strings(text) else shown(text))
}

# A call's outcome as a tool's result. `details` hold atomic vectors and named lists of them only: a
# journal of the runtime takes nothing else.
tool_answer <- function(call) {
  outcome <- call$outcome
  receipt <- attr(outcome, "receipt", exact = TRUE)
  if (S7::S7_inherits(outcome, RhoRefusal)) {
    return(tool_refusal(call$asked, outcome@code, refusal_text(outcome, call$asked), receipt))
  }
  told <- call$told(outcome)
  details <- utils::modifyList(c(call$asked, answer_details(outcome)), as.list(told$details))
  details$receipt <- plain_receipt(receipt)
  tool_result(told$text, details)
}

tool_refusal <- function(details, code, message, receipt) {
  details$reason <- snake_case(code)
  details$code <- code
  if (!is.null(receipt)) {
    details$receipt <- plain_receipt(receipt)
  }
  tool_error(message, details)
}

# Facts of a result that a program may want, beside what was asked for.
answer_details <- function(outcome) {
  wanted <- c(
    "bytes",
    "lines",
    "total_bytes",
    "total_lines",
    "first_line",
    "truncated",
    "created",
    "replaced",
    "version",
    "kind"
  )
  attributes(outcome)[intersect(wanted, names(attributes(outcome)))]
}

refusal_text <- function(outcome, asked) {
  if (identical(outcome@code, "NotFound") && !is.null(asked$path)) {
    return(sprintf("File not found: %s", shown(asked$path)))
  }
  outcome@message
}

# What a model gets of a text that starts `skip` bytes before it: whole lines where there is one, a
# part of a line otherwise, and how to read on.
read_page <- function(outcome) {
  newline <- as.raw(0x0a)
  page <- charToRaw(outcome@text)
  line <- outcome@first_line
  ends <- which(page == newline)
  note <- NULL
  if (outcome@truncated && length(ends) > 0L) {
    page <- utils::head(page, max(ends))
    note <- sprintf(
      "[cut: lines %s to %s of %s; read on with first_line = %s]",
      digits(line),
      digits(line + length(ends) - 1),
      digits(outcome@total_lines),
      digits(line + length(ends))
    )
  } else if (outcome@truncated) {
    shown <- outcome@first_byte - 1 + length(page)
    note <- sprintf(
      paste(
        "\n[cut inside line %s of %s, after %s of its bytes;",
        "read on with first_line = %s, first_byte = %s]"
      ),
      digits(line),
      digits(outcome@total_lines),
      digits(shown),
      digits(line),
      digits(shown + 1)
    )
  }
  text <- rawToChar(page)
  Encoding(text) <- "UTF-8"
  unfinished <- length(page) > 0L && page[[length(page)]] != newline
  list(
    text = paste0(text, note),
    details = list(
      bytes = as.double(length(page)),
      lines = as.double(length(ends) + unfinished),
      first_line = line
    )
  )
}

# What a model gets of a listing from entry `first` on, and how to see more.
list_page <- function(outcome, first) {
  entries <- outcome@entries
  size <- nrow(entries)
  # A line has two bytes at least.
  page <- entries[seq_len(size) >= first & seq_len(size) < first + most_text / 2, ]
  lines <- paste0(entry_names(page), entry_notes(page), recycle0 = TRUE)
  fits <- cumsum(nchar(lines, "bytes") + 1) <= most_text
  # One that is longer alone is shown all the same: nothing must be out of reach.
  lines <- lines[fits | seq_along(lines) == 1L]
  last <- first + length(lines) - 1
  # The capability's limit left out an unknown number.
  total <- paste0(digits(size), if (outcome@truncated) " or more")
  note <- if (size == 0L) {
    "(empty)"
  } else if (length(lines) == 0L) {
    sprintf("(nothing: there are %s entries)", total)
  } else if (last < size) {
    sprintf(
      "[cut: entries %s to %s of %s; go on with first_entry = %s]",
      digits(first),
      digits(last),
      total,
      digits(last + 1)
    )
  } else if (outcome@truncated) {
    "[cut: names are missing from this list; list a directory below]"
  }
  list(
    text = paste(c(lines, note), collapse = "\n"),
    details = list(entries = as.double(size), truncated = outcome@truncated || last < size)
  )
}

digits <- function(number) format(number, scientific = FALSE, trim = TRUE)

# The answer to a call that fits no request, with its receipt where there can be one.
rejection <- function(handle, name, params, code, message) {
  outcome <- tryCatch(
    as_outcome(core_reject(handle, name, params, code, message)),
    error = function(cnd) NULL
  )
  tool_refusal(list(), code, message, attr(outcome, "receipt", exact = TRUE))
}

# The receipt in a tool's result of ours or of Rho's: found again in the session by its id.
tool_result_receipt <- function(x) {
  id <- tool_result_id(x)
  if (!is.null(id)) check_boundary(core_receipt_by_id(id))
}

tool_result_id <- function(x) {
  details <- tryCatch(attr(x, "details", exact = TRUE), error = function(cnd) NULL)
  id <- if (is.list(details) && is.list(details[["receipt"]])) details[["receipt"]][["id"]]
  if (is.character(id) && length(id) == 1L && !is.na(id)) id
}

S7::method(format, RhoTool) <- function(x, ...) {
  parameters <- names(x@parameters[["properties"]])
  c(
    sprintf("<RhoTool> %s(%s)", x@name, paste(parameters, collapse = ", ")),
    paste0("  ", x@description)
  )
}

S7::method(format, RhoToolText) <- function(x, ...) x@text

S7::method(format, RhoToolResult) <- function(x, ...) {
  kind <- if (S7::S7_inherits(x, RhoToolErrorResult)) "<RhoToolErrorResult>" else "<RhoToolResult>"
  texts <- Filter(function(item) S7::S7_inherits(item, RhoToolText), x@content)
  c(kind, unlist(lapply(texts, function(item) paste0("  ", first_lines(item@text, 20L)))))
}

S7::method(print, RhoTool) <- print_lines
S7::method(print, RhoToolText) <- print_lines
S7::method(print, RhoToolResult) <- print_lines
