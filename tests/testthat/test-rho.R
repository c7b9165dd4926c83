test_that("where rho.ai is installed, tools and results are its own values", {
  # rho.ai needs a newer R and is not on CRAN: a package with the classes that tools use stands for
  # it here. `make check-rho` runs the same against the real one.
  library <- install_double(
    "rho.ai",
    "exportPattern(\"^[A-Za-z]\")",
    c(
      "new <- S7::new_class",
      "TextContent <- new('TextContent', properties = list(text = S7::class_character))",
      "results <- list(content = S7::class_list, details = S7::class_any)",
      "ToolResult <- new('ToolResult', properties = results)",
      "ToolErrorResult <- new('ToolErrorResult', parent = ToolResult)",
      "ToolMayOverlap <- new('ToolMayOverlap')",
      "ToolRequiresExclusiveExecution <- new('ToolRequiresExclusiveExecution')",
      "ToolSpec <- new('ToolSpec', properties = list(name = S7::class_character,",
      "  label = S7::class_character, description = S7::class_character,",
      "  parameters = S7::class_list, execute = S7::class_function,",
      "  prepare_arguments = S7::class_any, overlap = S7::class_any))",
      "rho_tool_spec <- function(name, label = name, description, parameters = list(),",
      "  execute, prepare_arguments = NULL, overlap = ToolMayOverlap()) ToolSpec(name, label,",
      "  description, parameters, execute, prepare_arguments, overlap)",
      "rho_text <- function(text) TextContent(text)",
      "rho_tool_result <- function(content, details) ToolResult(content, details)",
      "rho_tool_error_result <- function(content, details) ToolErrorResult(content, details)"
    ),
    imports = "S7"
  )
  found <- in_child(
    function() {
      root <- tempfile()
      dir.create(root)
      writeLines("hello", file.path(root, "a"))
      capability <- rho_host_capability(read = root, write = root, cwd = root)
      tools <- rho_capability_tools(capability)
      read <- tools$read@execute("1", list(path = "a"), NULL, NULL, NULL)
      denied <- tools$write@execute("1", list(path = "../x", text = "x"), NULL, NULL, NULL)
      list(
        specs = vapply(tools, function(tool) class(tool)[[1]], ""),
        exclusive = vapply(tools, function(tool) class(tool@overlap)[[1]], ""),
        read = class(read)[[1]],
        text = read@content[[1]]@text,
        denied = class(denied),
        code = denied@details$code,
        receipt = rho_receipt(denied)@tool
      )
    },
    library = library
  )
  expect_identical(unique(unname(found$specs)), "rho.ai::ToolSpec")
  expect_identical(found$exclusive[["read"]], "rho.ai::ToolMayOverlap")
  expect_identical(found$exclusive[["write"]], "rho.ai::ToolRequiresExclusiveExecution")
  expect_identical(found$read, "rho.ai::ToolResult")
  expect_identical(found$text, "hello\n")
  expect_true(all(c("rho.ai::ToolErrorResult", "rho.ai::ToolResult") %in% found$denied))
  expect_identical(found$code, "Escape")
  expect_identical(found$receipt, "write")
  unlink(library, recursive = TRUE)
})
