# The Rho runtime: where rho.ai is installed, tools and results are its own values.

# rho.ai is no dependency and not on CRAN, so its functions are looked up when they are needed, and
# its name stands where R CMD check does not take it for one.
rho_package <- "rho.ai"

# Asked for each tool, not once: a package may be installed in a running session.
has_rho <- function() requireNamespace(rho_package, quietly = TRUE)

# The same for its tasks.
rho_async <- function(name) getExportedValue("rho.async", name)

rho_ai <- function(name) getExportedValue(rho_package, name)

as_tool <- function(name, label, description, parameters, execute, exclusive) {
  if (!has_rho()) {
    return(RhoTool(
      name = name,
      label = label,
      description = description,
      parameters = parameters,
      execute = execute,
      overlap = if (exclusive) "exclusive" else "may_overlap"
    ))
  }
  overlap <- if (exclusive) "ToolRequiresExclusiveExecution" else "ToolMayOverlap"
  rho_ai("rho_tool_spec")(
    name = name,
    label = label,
    description = description,
    parameters = parameters,
    execute = execute,
    overlap = rho_ai(overlap)()
  )
}

tool_result <- function(text, details) {
  if (!has_rho()) {
    return(RhoToolResult(content = list(RhoToolText(text)), details = details))
  }
  rho_ai("rho_tool_result")(list(rho_ai("rho_text")(text)), details = details)
}

tool_error <- function(text, details) {
  if (!has_rho()) {
    return(RhoToolErrorResult(content = list(RhoToolText(text)), details = details))
  }
  rho_ai("rho_tool_error_result")(list(rho_ai("rho_text")(text)), details = details)
}
