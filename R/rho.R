# The Rho runtime: where rho.ai is installed, tools and results are its own values.

# rho.ai is no dependency and not on CRAN, so its functions are looked up when they are needed, and
# its name stands where R CMD check does not take it for one.
rho_package <- "rho.ai"

# Asked for each tool, not once: a package may be installed in a running session.
has_rho <- function() requireNamespace(rho_package, quietly = TRUE)

# The same for its requests.
rho_http_package <- "rho.http"

has_rho_http <- function() requireNamespace(rho_http_package, quietly = TRUE)

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

# Classes of ours below one of a package of Rho, made when that package is first needed.
rho_subclasses <- new.env(parent = emptyenv())

rho_subclass <- function(name, package, parent, properties) {
  namespace <- asNamespace(package)
  known <- rho_subclasses[[name]]
  # The package may have been loaded anew.
  if (is.null(known) || !identical(known$namespace, namespace)) {
    class <- S7::new_class(
      name,
      parent = getExportedValue(package, parent),
      package = "rhocap",
      properties = properties
    )
    known <- list(namespace = namespace, class = class)
    assign(name, known, rho_subclasses)
  }
  known$class
}

# The attributes of a hidden value of such a class. `RhoHidden` stands among the names of its
# ancestors, which brings its methods: S7 has one parent only.
rho_subclass_attributes <- function(name, package, parent, properties) {
  class <- rho_subclass(name, package, parent, properties)
  names <- character()
  ancestor <- attr(class, "parent", exact = TRUE)
  while (!identical(attr(ancestor, "name", exact = TRUE), "S7_object")) {
    words <- c(attr(ancestor, "package", exact = TRUE), attr(ancestor, "name", exact = TRUE))
    names <- c(names, paste(words, collapse = "::"))
    ancestor <- attr(ancestor, "parent", exact = TRUE)
  }
  list(
    class = c(paste0("rhocap::", name), "rhocap::RhoHidden", names, "S7_object"),
    S7_class = class
  )
}
