# The environment of a capability's commands: built from nothing, entry by entry.

#' @include class.R purpose.R
NULL

#' The environment of a capability's commands
#'
#' @description A command never sees the R process's environment. It gets a minimal set (an absolute
#' `PATH` without `.`, `LANG`, `LC_*`, `TZ`, `TERM=dumb`, a private `HOME` and `TMPDIR`, R's own
#' start-up files neutralised) plus the entries named here. The set does not grow behind your back:
#' what is not named is not there.
#'
#' * `NAME = "text"` is a literal.
#' * `NAME = rho_env_inherit()` takes the R process's value of `NAME`, once, when the capability is
#'   made.
#' * `NAME = rho_env_secret(secret)` is a secret: commands get its value, nothing shows it.
#' * [rho_environment_r()] and [rho_environment_git()] are ready-made parts, given without a name.
#' * Another `rho_environment()` value adds its entries.
#'
#' Names that make programs load or run something (`LD_*`, `DYLD_*`, `BASH_ENV`, `R_PROFILE_USER`,
#' `GIT_CONFIG_*`, `PYTHONSTARTUP` and their like) are refused unless `hooks` names them too, when a
#' capability is made with them.
#'
#' Literal values are shown by print and stand in the digest: give a secret with [rho_env_secret()].
#' Once a capability is made with it, the value of a literal or inherited entry whose name is that
#' of a secret (`PROJ_API_KEY`) is masked wherever it can be told from ordinary text: in what
#' commands print, in the capability's own print and in its digest, for the rest of the R session.
#'
#' A value that is, or holds, a provider's credential ([rho_provider_credential()]), also encoded,
#' is refused when a capability is made with it, as a literal, inherited by its name or in
#' [rho_environment_git()] too, unless it is `rho_env_secret(secret, shared = TRUE)`. As long as the
#' capability is there, no credential is made of it either.
#'
#' @param ... Entries and parts, see above.
#' @param hooks Names of start-up and loader hooks among the entries that are meant. A character
#'   vector.
#' @return A value of class `RhoEnvironment`, for the argument `environment` of
#'   [rho_host_capability()].
#' @family environment
#' @examples
#' rho_environment(CI = "true", TZ = rho_env_inherit())
#' rho_environment(rho_environment_r(), rho_environment_git("Ada", "ada@example.org"))
#' @export
rho_environment <- function(..., hooks = character()) {
  environment_from(list(...), hooks = check_strings(hooks, "hooks"), inherited = FALSE)
}

#' Everything that the R process has
#'
#' The named opt-in to the R process's whole environment, keys and tokens included. Print, digest
#' and receipts show it. Entries given here are added to it, as in [rho_environment()].
#'
#' @inheritParams rho_environment
#' @return A value of class `RhoEnvironment` whose property `inherited` is `TRUE`.
#' @family environment
#' @examples
#' rho_environment_inherited(CI = "true")
#' @export
rho_environment_inherited <- function(..., hooks = character()) {
  environment_from(list(...), hooks = check_strings(hooks, "hooks"), inherited = TRUE)
}

#' Inherit one variable by name
#'
#' The R process's value of the entry's name, taken once, when the capability is made. The value is
#' not shown in print, digest or receipts.
#'
#' @return A value of class `RhoEnvInherit`, for an entry of [rho_environment()].
#' @family environment
#' @examples
#' rho_environment(TZ = rho_env_inherit())
#' @export
rho_env_inherit <- function() RhoEnvInherit()

#' Let a child R find the user's packages
#'
#' A part for [rho_environment()]: sets `R_LIBS` to `libraries` and makes readable those libraries,
#' the packages that their entries link to (renv links into a cache) and R's own home. These read
#' roots carry no carve-outs of their own; those of a root around them hold. Evaluated now, not
#' later.
#'
#' The libraries of a renv project work so. renv's own functions also want to lock a directory of
#' the user's cache, which commands cannot write: with the entry
#' `RENV_CONFIG_SANDBOX_ENABLED = "FALSE"` `renv::status()` and `renv::snapshot()` do without it.
#' Nothing can be installed into a library of R's from a confined command.
#'
#' @param libraries Library directories that exist. A character vector.
#' @return A value of class `RhoEnvironmentR`.
#' @family environment
#' @examples
#' rho_environment_r()
#' @export
rho_environment_r <- function(libraries = .libPaths()) {
  libraries <- check_strings(libraries, "libraries")
  # A path that is too long is no directory; R warns of it as well.
  absent <- libraries[!suppressWarnings(dir.exists(libraries))]
  if (length(absent) > 0L) {
    abort(
      "root",
      sprintf("The library %s is no directory. Leave it out of `libraries`.", shown(absent[[1L]]))
    )
  }
  libraries <- unique(normalizePath(libraries, mustWork = TRUE))
  if (any(grepl(":", libraries, fixed = TRUE))) {
    abort("environment", "R_LIBS cannot name a library with a colon in its path.")
  }
  RhoEnvironmentR(
    libraries = libraries,
    readable = unique(c(libraries, linked_directories(libraries), normalizePath(R.home())))
  )
}

# Where the links in a library lead, when that is a package outside the libraries. A link to
# anything else, such as the top of the file system, is not made readable.
linked_directories <- function(libraries) {
  entries <- list.files(libraries, full.names = TRUE, all.files = TRUE, no.. = TRUE)
  targets <- unique(suppressWarnings(normalizePath(entries[nzchar(Sys.readlink(entries))])))
  targets <- targets[file.exists(file.path(targets, "DESCRIPTION"))]
  inside <- vapply(
    targets,
    function(target) any(startsWith(target, paste0(libraries, "/"))),
    NA,
    USE.NAMES = FALSE
  )
  targets[!inside]
}

#' Let git work in the private home
#'
#' A part for [rho_environment()]: git refuses to commit without an identity, and refuses
#' directories that another user owns unless they are named as safe. rhocap writes them to
#' `.gitconfig` in the capability's private home; neither the user's own configuration nor the
#' system's is read.
#'
#' With the default carve-outs status, diff, log, add, commit, branch, switch and merge work. What
#' writes a repository's configuration or hooks does not, because git would run it later, outside:
#' `git config`, `git remote add`, `git worktree add`, `git submodule update` where it moves one,
#' and `git branch --set-upstream-to`, which claims that it did. Where branches differ in a file
#' that is protected, an `AGENTS.md`, say, git switches and leaves the old one: do that yourself.
#' Of what `git init` and `git clone` make, configuration and hooks are taken away again. Carve-outs
#' close files, not git's objects: what was once committed can be read from the history, and any
#' name can be committed.
#'
#' @param name,email The identity of commits. One string each.
#' @param safe Directories for git's `safe.directory`. A character vector.
#' @return A value of class `RhoEnvironmentGit`.
#' @family environment
#' @examples
#' rho_environment_git("Ada Lovelace", "ada@example.org")
#' @export
rho_environment_git <- function(name, email, safe = character()) {
  RhoEnvironmentGit(
    name = check_text(check_string(name, "name", empty = FALSE), "name"),
    email = check_text(check_string(email, "email", empty = FALSE), "email"),
    safe = check_strings(safe, "safe")
  )
}

#' @rdname rho_environment
#' @format NULL
#' @usage NULL
#' @export
RhoEnvironment <- rho_class(
  "RhoEnvironment",
  properties = list(
    entries = property_list(list()),
    hooks = property_strings(character()),
    readable = property_strings(character()),
    git = property_list(list()),
    inherited = property_flag(FALSE)
  )
)

#' @rdname rho_env_inherit
#' @format NULL
#' @usage NULL
#' @export
RhoEnvInherit <- rho_class("RhoEnvInherit")

#' @rdname rho_environment_r
#' @format NULL
#' @usage NULL
#' @export
RhoEnvironmentR <- rho_class(
  "RhoEnvironmentR",
  properties = list(
    libraries = property_strings(),
    readable = property_strings()
  )
)

#' @rdname rho_environment_git
#' @format NULL
#' @usage NULL
#' @export
RhoEnvironmentGit <- rho_class(
  "RhoEnvironmentGit",
  properties = list(
    name = property_string(empty = FALSE),
    email = property_string(empty = FALSE),
    safe = property_strings(character())
  )
)

environment_from <- function(given, hooks, inherited) {
  names <- names(given)
  if (is.null(names)) {
    names <- rep("", length(given))
  }
  entries <- list()
  readable <- character()
  git <- list()
  for (index in seq_along(given)) {
    value <- given[[index]]
    name <- names[[index]]
    if (nzchar(name)) {
      entries <- add_entries(entries, stats::setNames(list(check_entry(value, name)), name))
    } else if (S7::S7_inherits(value, RhoEnvironmentR)) {
      libraries <- paste(value@libraries, collapse = ":")
      entries <- add_entries(entries, list(R_LIBS = libraries))
      hooks <- union(hooks, "R_LIBS")
      readable <- union(readable, value@readable)
    } else if (S7::S7_inherits(value, RhoEnvironmentGit)) {
      git <- list(value)
    } else if (S7::S7_inherits(value, RhoEnvironment)) {
      entries <- add_entries(entries, value@entries)
      hooks <- union(hooks, value@hooks)
      readable <- union(readable, value@readable)
      git <- if (length(value@git) > 0L) value@git else git
      inherited <- inherited || value@inherited
    } else {
      if (S7::S7_inherits(value, RhoHidden)) {
        abort_purpose(
          value,
          "An entry has a name, and a secret its purpose: NAME = rho_env_secret(secret)."
        )
      }
      abort_type(
        value,
        "...",
        "entries with names (NAME = \"text\") or parts such as rho_environment_r()"
      )
    }
  }
  RhoEnvironment(
    entries = entries,
    hooks = hooks,
    readable = readable,
    git = git,
    inherited = inherited
  )
}

check_entry <- function(value, name) {
  if (S7::S7_inherits(value, RhoEnvInherit)) {
    return(value)
  }
  if (S7::S7_inherits(value, RhoEnvSecret)) {
    # A dead one is told here, where the call that makes it again can be named.
    hidden_handle(value)
    return(value)
  }
  if (S7::S7_inherits(value, RhoHidden)) {
    abort_purpose(value, if (S7::S7_inherits(value, RhoSecret)) {
      sprintf("Say what it is for: %s = rho_env_secret(secret).", shown(name))
    } else {
      paste(
        "What goes to a provider stays out of the environment of commands.",
        sprintf("For a secret of the tools' own write %s = rho_env_secret(secret).", shown(name))
      )
    })
  }
  check_text(
    check_string(value, name, "one string, rho_env_inherit() or rho_env_secret(secret)"),
    name
  )
}

add_entries <- function(entries, added) {
  twice <- intersect(names(entries), names(added))
  if (length(twice) > 0L) {
    abort("environment", sprintf("The entry %s is given twice. Keep one.", shown(twice[[1L]])))
  }
  c(entries, added)
}

# What the core needs to know of an environment, as plain lists.
environment_as_list <- function(environment) {
  values <- lapply(environment@entries, function(value) if (is.character(value)) value else NA)
  list(
    names = as.character(names(environment@entries)),
    values = as.character(unlist(values)),
    secrets = lapply(unname(environment@entries), function(value) {
      if (S7::S7_inherits(value, RhoEnvSecret)) hidden_handle(value)
    }),
    hooks = environment@hooks,
    inherited = environment@inherited,
    git = if (length(environment@git) > 0L) {
      git <- environment@git[[1L]]
      list(name = git@name, email = git@email, safe = git@safe)
    }
  )
}

S7::method(format, RhoEnvironment) <- function(x, ..., all = FALSE) {
  entries <- vapply(
    names(x@entries),
    function(name) {
      value <- x@entries[[name]]
      kind <- if (is.character(value)) {
        paste("=", shown(value))
      } else if (S7::S7_inherits(value, RhoEnvSecret)) {
        sprintf("(secret %s)", shown_lines(attr(value, "label", exact = TRUE)))
      } else {
        "(inherited)"
      }
      paste(shown(name), kind)
    },
    ""
  )
  c(
    if (x@inherited) {
      "Environment: everything that the R process has, keys and tokens included"
    } else {
      "Environment: the minimal set"
    },
    if (length(entries) > 0L) paste0("  plus ", entries),
    if (length(x@git) > 0L) sprintf("  git identity: %s", format(x@git[[1L]])),
    readable_words(x, all)
  )
}

S7::method(format, RhoEnvInherit) <- function(x, ...) {
  "The R process's value of this name, taken when the capability is made"
}

S7::method(format, RhoEnvironmentR) <- function(x, ..., all = FALSE) {
  c(
    paste("R_LIBS =", shown(paste(x@libraries, collapse = ":"))),
    readable_words(x, all)
  )
}

readable_words <- function(x, all) {
  paste("  readable:", directory_words(x@readable, check_flag(all, "all")), recycle0 = TRUE)
}

S7::method(format, RhoEnvironmentGit) <- function(x, ...) {
  sprintf("%s <%s>", shown(x@name), shown(x@email))
}

S7::method(print, RhoEnvironment) <- print_lines
S7::method(print, RhoEnvInherit) <- print_lines
S7::method(print, RhoEnvironmentR) <- print_lines
S7::method(print, RhoEnvironmentGit) <- print_lines
