# Values as the code that makes them, for calls that a message shows and that a person can run.

# Literal values stand in it, as print shows them; an inherited one is not in the value.
as_code <- function(value) {
  if (S7::S7_inherits(value, RhoEnvironment)) {
    environment_as_code(value)
  } else if (S7::S7_inherits(value, RhoLimits)) {
    changed <- without_defaults(limits_as_list(value), limits_as_list(rho_limits()))
    as.call(c(quote(rho_limits), changed))
  } else if (S7::S7_inherits(value, RhoEnvInherit)) {
    quote(rho_env_inherit())
  } else if (S7::S7_inherits(value, RhoEnvSecret)) {
    # Which secret cannot be said in code.
    quote(rho_env_secret(...))
  } else if (S7::S7_inherits(value, RhoEnvironmentGit)) {
    safe <- if (length(value@safe) > 0L) list(safe = value@safe)
    as.call(c(quote(rho_environment_git), value@name, value@email, safe))
  } else {
    as.vector(value)
  }
}

environment_as_code <- function(environment) {
  entries <- environment@entries
  hooks <- environment@hooks
  parts <- list()
  # The libraries of rho_environment_r() are an entry, a hook and what may be read.
  if (length(environment@readable) > 0L && is.character(entries$R_LIBS)) {
    libraries <- strsplit(entries$R_LIBS, ":", fixed = TRUE)[[1L]]
    default <- identical(libraries, unique(normalizePath(.libPaths())))
    parts <- list(as.call(c(quote(rho_environment_r), if (!default) list(libraries))))
    entries$R_LIBS <- NULL
    hooks <- setdiff(hooks, "R_LIBS")
  }
  as.call(c(
    if (environment@inherited) quote(rho_environment_inherited) else quote(rho_environment),
    parts,
    lapply(entries, as_code),
    lapply(environment@git, as_code),
    if (length(hooks) > 0L) list(hooks = hooks)
  ))
}

as_text <- function(code) paste(deparse(code, width.cutoff = 500L), collapse = " ")

# What has its default need not be said.
without_defaults <- function(arguments, defaults) {
  names <- names(arguments)
  said <- vapply(
    seq_along(arguments),
    function(index) is.null(names) || !identical(arguments[[index]], defaults[[names[[index]]]]),
    NA
  )
  arguments[said]
}
