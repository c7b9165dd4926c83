# The host capability: one value that says what its holder may do. Its state is in the core; the R
# value holds a handle, and every property is read from the core when it is asked for.

#' @include class.R policy.R environment.R
NULL

#' Make a host capability
#'
#' @description
#' The one value from which tools are built. What it does not name is not allowed: nothing is taken
#' from `getwd()`, `Sys.getenv()`, `options()` or `HOME` later.
#'
#' Its state is held outside R, so no assignment, attribute or edited copy makes it wider;
#' [rho_narrow()] makes a smaller one. It cannot be saved and loaded again, and not be used in a
#' forked process: both are errors that say so.
#'
#' @details
#' Roots are directories that exist now, given as absolute paths without `..`. They are opened now
#' and kept open: a root renamed or replaced later changes nothing. Relative paths start at `cwd` by
#' its names below the root in which it lies. Writing includes reading. A
#' write root must not be, or lie in, R's home, the directory of its start-up files, a library of
#' `.libPaths()` or the installed rhocap.
#'
#' Carve-outs are patterns in gitignore syntax, relative to each root, also for names that are
#' created later. `deny`: neither readable nor writable. `protect`: not writable. What is given
#' replaces the defaults: to add to them write `deny = c(rho_deny_defaults(), "data/private/")`.
#'
#' `print()` and `format()` name the function that lists the defaults, and shorten a long list of
#' R's libraries; with `all = TRUE` they show every pattern and directory.
#'
#' @param read Directories whose files may be read. A character vector; `character()` allows none.
#' @param write Directories whose files may be read and written. A character vector.
#' @param cwd The directory where relative paths start. One string. It grants nothing by itself.
#' @param environment What commands see, from [rho_environment()].
#' @param process Which processes may be started, from [rho_process_none()] and its siblings.
#' @param network Which network commands may use, from [rho_network_none()] or [rho_network_host()].
#' @param placement Where calls run, from [rho_placement_local()].
#' @param deny,protect Carve-outs. Character vectors, see [rho_deny_defaults()].
#' @param limits Bounds on one call, from [rho_limits()].
#' @return A value of class `RhoHostCapability`. Its facts are read with `@`: `id` (random, public),
#'   `digest` (the same for the same capability in every session), `roots` (a data frame), `read`,
#'   `write`, `cwd`, `environment` (a data frame of names and kinds), `environment_inherited`,
#'   `process`, `network`, `placement`, `deny`, `protect`, `limits`.
#' @section Errors:
#' Mistakes are conditions, see [rhocap_conditions].
#' @family capability
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' capability <- rho_host_capability(read = project, write = project, cwd = project)
#' capability
#' rho_write(capability, "notes.txt", "hello\n")
#' rho_read(capability, "../other/secret.txt")
#' @export
rho_host_capability <- function(
  read = character(),
  write = character(),
  cwd,
  environment = rho_environment(),
  process = rho_process_none(),
  network = rho_network_none(),
  placement = rho_placement_local(),
  deny = rho_deny_defaults(),
  protect = rho_protect_defaults(),
  limits = rho_limits()
) {
  check_class(environment, "environment", RhoEnvironment, "rho_environment()")
  spec <- list(
    read = check_strings(read, "read", "directories, a character vector", allow_none),
    write = check_strings(write, "write", "directories, a character vector", allow_none),
    cwd = check_text(check_string(cwd, "cwd", cwd_wanted), "cwd"),
    libraries = environment@readable,
    environment = environment_as_list(environment),
    process = policy_word(check_process(process)),
    network = policy_word(check_network(network)),
    placement = policy_word(check_placement(placement)),
    compute = if (S7::S7_inherits(placement, RhoPlacementMirai)) placement@compute else "",
    deny = check_strings(deny, "deny", none = no_carve_outs("deny")),
    protect = check_strings(protect, "protect", none = no_carve_outs("protect")),
    limits = limits_as_list(check_class(limits, "limits", RhoLimits, "rho_limits()")),
    reserved = reserved_directories(),
    supervisor = supervisor_program(),
    beside = dirname(normalizePath(tempdir()))
  )
  handle <- tryCatch(
    await_capability(once_collected(function() core_capability_new(spec))),
    rhocap_error_not_enforceable = function(cnd) {
      defaults <- formals(rho_host_capability)
      defaults$cwd <- NULL
      abort_not_enforceable(
        cnd,
        "rho_host_capability",
        spec[c("read", "write", "cwd")],
        list(
          environment = environment,
          process = process,
          deny = spec$deny,
          protect = spec$protect,
          limits = limits
        ),
        defaults = lapply(defaults, eval, topenv())
      )
    }
  )
  RhoHostCapability(handle = handle)
}

#' Make a capability for one project directory
#'
#' Read and write below `path`, `cwd = path`, `process = rho_process_confined()`, no network, and
#' `environment = rho_environment(rho_environment_r())`, by which commands find R's libraries. An
#' `environment` that is given takes the place of that one, libraries included: to add to it write
#' `environment = rho_environment(rho_environment_r(), CI = "true")`. For directories beside `path`
#' use [rho_host_capability()].
#'
#' Where this host cannot confine commands (on macOS, say, or where user namespaces and Landlock
#' are both denied), the call is an error that shows the complete calls that work.
#'
#' @param path The project's directory. One string. A relative path is resolved now.
#' @param ... Other arguments of [rho_host_capability()] by name, but not `read`, `write` or `cwd`.
#' @return A value of class `RhoHostCapability`.
#' @family capability
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' rho_project_capability(project, process = rho_process_none())
#' @export
rho_project_capability <- function(path, ...) {
  given <- path <- check_text(check_string(path, "path", empty = FALSE), "path")
  more <- list(...)
  allowed <- setdiff(names(formals(rho_host_capability)), c("read", "write", "cwd"))
  check_named(more, allowed)
  if (!startsWith(path, "/")) {
    path <- suppressWarnings(normalizePath(path))
    # What does not exist stays as it is.
    if (!startsWith(path, "/")) {
      abort("root", sprintf("\"%s\" does not exist. Create it first.", shown(path)))
    }
  }
  arguments <- utils::modifyList(
    list(
      read = path,
      write = path,
      cwd = path,
      environment = rho_environment(rho_environment_r()),
      process = rho_process_confined()
    ),
    more,
    keep.null = TRUE
  )
  tryCatch(
    call_by_names(quote(rho_host_capability), arguments),
    rhocap_error_not_enforceable = function(cnd) {
      abort_not_enforceable(cnd, "rho_project_capability", list(given), more)
    }
  )
}

# do.call() without the values in the call, which R would deparse for each warning of its own.
call_by_names <- function(fun, arguments) {
  symbols <- lapply(stats::setNames(nm = names(arguments)), as.name)
  eval(as.call(c(fun, symbols)), arguments, topenv())
}

#' Make a smaller capability
#'
#' Takes away from a capability. Asking for more than there is, is an error of class
#' `rhocap_error_wider`.
#'
#' @param capability A capability.
#' @param ... Not used; the arguments that follow are given by name.
#' @details A root that lies inside a directory that is kept keeps its own rules there. Where other
#' mounts are entered (`rho_limits(mounts = TRUE)`), no root can be left out: it may be mounted once
#' more inside one that is kept. Give `limits` without them.
#'
#' Confined commands of the smaller capability are also refused what those of this one are, for the
#' sake of names that the smaller one does not see: what a covered link outside of its directories
#' leads to. So both capabilities' directories are looked through before each of its commands. What
#' a repository protects beside its `HEAD` cannot be named in `write`.
#'
#' @param read,write Directories to keep. Each must lie inside a root of the capability that allows
#'   as much. What is not given stays as it is.
#' @param cwd The new start of relative paths.
#' @param environment Names of the environment entries to keep beside the minimal set. A character
#'   vector.
#' @param process,network Policies, the same or smaller.
#' @param deny,protect Carve-outs to add.
#' @param limits Bounds, from [rho_limits()], none larger. Of `processes`, `memory`, `file_size`,
#'   `cpu` and `open_files`, what is not given stays as it is.
#' @return A new value of class `RhoHostCapability`.
#' @family capability
#' @examples
#' project <- tempfile("project")
#' dir.create(project)
#' capability <- rho_project_capability(project, process = rho_process_none())
#' rho_narrow(capability, write = character())
#' @export
rho_narrow <- function(
  capability,
  ...,
  read,
  write,
  cwd,
  environment,
  process,
  network,
  deny,
  protect,
  limits
) {
  handle <- capability_handle(capability)
  check_no_dots(...)
  spec <- list()
  if (!missing(read)) {
    spec$read <- check_strings(read, "read", none = keep_none)
  }
  if (!missing(write)) {
    spec$write <- check_strings(write, "write", none = keep_none)
  }
  if (!missing(cwd)) {
    spec$cwd <- check_text(check_string(cwd, "cwd", cwd_wanted), "cwd")
  }
  if (!missing(environment)) {
    spec$environment <- check_strings(
      environment,
      "environment",
      "the names of entries to keep",
      keep_none
    )
  }
  if (!missing(process)) {
    spec$process <- policy_word(check_process(process))
  }
  if (!missing(network)) {
    spec$network <- policy_word(check_network(network))
  }
  if (!missing(deny)) {
    spec$deny <- check_strings(deny, "deny", none = add_none)
  }
  if (!missing(protect)) {
    spec$protect <- check_strings(protect, "protect", none = add_none)
  }
  if (!missing(limits)) {
    spec$limits <- limits_as_list(check_class(limits, "limits", RhoLimits, "rho_limits()"))
  }
  handle <- await_capability(once_collected(function() core_capability_narrow(handle, spec)))
  RhoHostCapability(handle = handle)
}

# What NULL may have meant, in words for check_strings().
allow_none <- "To allow nothing write character()."
keep_none <- "To keep none write character(); to keep all leave it out."
add_none <- "To add none leave it out."
cwd_wanted <- "one directory, where relative paths start"

no_carve_outs <- function(arg) {
  sprintf("For no carve-outs write character(); for rho_%s_defaults() leave it out.", arg)
}

#' The default carve-outs
#'
#' Patterns in gitignore syntax: a slash inside anchors a pattern at the root, a slash at the end
#' means a directory. `rho_deny_defaults()`: the usual names of files that hold credentials; a key
#' in a file of another name is not covered. `rho_protect_defaults()`: files that run later, outside
#' the capability. They are on by default, and replaced by what is given instead; to add to them
#' write `deny = c(rho_deny_defaults(), "data/private/")`. Print names them by these functions, and
#' shows in full what differs from them.
#'
#' @return A character vector.
#' @family capability
#' @examples
#' rho_deny_defaults()
#' rho_protect_defaults()
#' @export
rho_deny_defaults <- function() check_boundary(core_deny_defaults())

#' @rdname rho_deny_defaults
#' @export
rho_protect_defaults <- function() check_boundary(core_protect_defaults())

# A property that the core tells.
fact <- function(name, class, convert = identity) {
  S7::new_property(class, getter = function(self) convert(capability_facts(self)[[name]]))
}

#' @rdname rho_host_capability
#' @format NULL
#' @usage NULL
#' @export
RhoHostCapability <- rho_class(
  "RhoHostCapability",
  properties = list(
    handle = property_handle(),
    id = fact("id", S7::class_character),
    digest = fact("digest", S7::class_character),
    roots = S7::new_property(
      S7::class_data.frame,
      getter = function(self) roots_frame(capability_facts(self)$roots)
    ),
    read = S7::new_property(
      S7::class_character,
      getter = function(self) root_paths(self, c("read", "write"))
    ),
    write = S7::new_property(
      S7::class_character,
      getter = function(self) root_paths(self, "write")
    ),
    cwd = fact("cwd", S7::class_character),
    environment = fact("environment", S7::class_data.frame, function(entries) {
      data.frame(
        name = vapply(entries, function(entry) entry$name, ""),
        kind = vapply(entries, function(entry) entry$kind, "")
      )
    }),
    environment_inherited = fact("environment_inherited", S7::class_logical),
    process = fact("process", RhoProcessPolicy, function(word) process_from_word(word)),
    network = fact("network", RhoNetworkPolicy, function(word) network_from_word(word)),
    placement = fact("placement", RhoPlacement, function(word) placement_from_word(word)),
    deny = fact("deny", S7::class_character, as.character),
    protect = fact("protect", S7::class_character, as.character),
    limits = fact("limits", RhoLimits, function(limits) {
      do.call(RhoLimits, limits[intersect(limit_names, names(limits))])
    })
  )
)

# Directories whose files run outside the capability. They are named here because only R knows them.
reserved_directories <- function() {
  start_up <- list.files(R.home("etc"), full.names = TRUE)
  start_up <- unique(dirname(suppressWarnings(normalizePath(start_up))))
  places <- c(
    R_HOME = R.home(),
    stats::setNames(.libPaths(), rep("a library of .libPaths()", length(.libPaths()))),
    `the installed rhocap` = system.file(package = "rhocap"),
    # Debian keeps R's start-up files in /etc/R and links to them.
    stats::setNames(start_up, rep("the directory of R's start-up files", length(start_up)))
  )
  places <- places[nzchar(places)]
  list(paths = unname(places), what = names(places))
}

# Where it is to be, also when it is not there: a message names it.
supervisor_program <- function() {
  file.path(system.file(package = "rhocap"), "bin", "rhocap-supervisor")
}

capability_handle <- function(capability) {
  if (missing(capability)) {
    abort_missing("capability", capability_wanted)
  }
  handle <- attr(capability, "handle", exact = TRUE)
  if (!identical(typeof(handle), "externalptr")) {
    abort_type(capability, "capability", capability_wanted)
  }
  handle
}

capability_wanted <- "a capability, made by rho_host_capability() or rho_project_capability()"

# What confines commands is found out by building it, which takes its time where a directory is
# large or does not answer.
await_capability <- function(value) {
  value <- check_boundary(value)
  if (identical(value[[1L]], "running")) await_job(value[[2L]]) else value[[2L]]
}

capability_facts <- function(capability) {
  check_boundary(core_capability_describe(capability_handle(capability)))
}

check_process <- function(process) {
  check_class(process, "process", RhoProcessPolicy, "rho_process_none() or one of its siblings")
}

check_network <- function(network) {
  check_class(network, "network", RhoNetworkPolicy, "rho_network_none() or rho_network_host()")
}

check_placement <- function(placement) {
  check_class(placement, "placement", RhoPlacement, "rho_placement_local()")
}

# Arguments collected by `...` must be known and have names.
check_named <- function(given, allowed) {
  names <- names(given)
  if (length(given) > 0L && (is.null(names) || !all(nzchar(names)))) {
    abort_unknown(NULL, allowed)
  }
  unknown <- setdiff(names, allowed)
  if (length(unknown) > 0L) {
    abort_unknown(unknown[[1L]], allowed)
  }
  if (anyDuplicated(names)) {
    abort("value", sprintf("`%s` is given twice.", names[[anyDuplicated(names)]]))
  }
}

# Whether commands were to be confined, as a project's are without a word, and this host can do it.
can_confine <- function(asked) {
  (is.null(asked) || S7::S7_inherits(asked, RhoProcessConfined)) &&
    "confined" %in% rho_host_report()@facts$processes
}

# The reason from the core, and the caller's own call changed into ones that work.
abort_not_enforceable <- function(cnd, called, first, more, defaults = list()) {
  ways <- list(list(process = quote(rho_process_none())))
  if (!is.null(cnd$bound)) {
    # The same without the one bound that does not hold here.
    ways <- c(list(list(process = quote(rho_process_confined()))), ways)
    kept <- limits_as_list(more$limits)
    more$limits <- do.call(RhoLimits, kept[setdiff(names(kept), cnd$bound)])
  }
  asked <- more$process
  bounded <- !is.null(more$limits) && any(bound_names %in% names(limits_as_list(more$limits)))
  # Unrestricted commands are offered only to a caller who asked for commands.
  if (!S7::S7_inherits(asked, RhoProcessNone)) {
    ways <- c(
      ways,
      list(list(process = quote(rho_process_unrestricted()), network = quote(rho_network_host())))
    )
  }
  if (S7::S7_inherits(asked, RhoProcessUnrestricted)) {
    ways <- rev(ways)
  }
  if (S7::S7_inherits(more$placement, RhoPlacementMirai) && can_confine(asked)) {
    way <- list(process = quote(rho_process_confined()))
    if (S7::S7_inherits(more$network, RhoNetworkHost)) way$network <- quote(rho_network_host())
    ways <- c(list(way), ways)
  }
  if (bounded && S7::S7_inherits(asked, RhoProcessUnrestricted)) {
    # Only the kernel enforces bounds.
    ways <- c(list(list(process = quote(rho_process_confined()))), ways)
  }
  more <- more[setdiff(names(more), c("process", "network", "placement"))]
  first <- lapply(without_defaults(first, defaults), as_code)
  calls <- vapply(ways, function(way) {
    if (bounded && identical(way$process, quote(rho_process_unrestricted()))) {
      more$limits <- without_bounds(more$limits)
    }
    more <- lapply(without_defaults(more, defaults), as_code)
    as_text(as.call(c(as.name(called), first, way, more)))
  }, "")
  reason <- strsplit(conditionMessage(cnd), "\n", fixed = TRUE)[[1L]][[1L]]
  words <- if (length(calls) > 1L) "These calls work:" else "This call works:"
  notes <- ifelse(
    grepl("rho_process_unrestricted", calls, fixed = TRUE),
    paste0("   # ", unrestricted_sentence),
    ""
  )
  abort(
    "not_enforceable",
    paste(c(reason, words, paste0("  ", calls, notes)), collapse = "\n"),
    calls = calls,
    bound = cnd$bound
  )
}

roots_frame <- function(roots) {
  data.frame(
    path = vapply(roots, function(root) root$path, ""),
    access = vapply(roots, function(root) root$access, ""),
    origin = vapply(roots, function(root) root$origin, "")
  )
}

root_paths <- function(capability, access) {
  roots <- roots_frame(capability_facts(capability)$roots)
  roots$path[roots$access %in% access & roots$origin == "user"]
}

# What print shows: every fact, in plain words. Unless `all`, what everybody has is named instead of
# repeated, so that what differs is seen.
capability_words <- function(facts, all) {
  roots <- roots_frame(facts$roots)
  user <- roots[roots$origin == "user", ]
  libraries <- roots$path[roots$origin == "library"]
  aliases <- unlist(lapply(facts$roots, function(root) {
    others <- setdiff(root$declared, root$path)
    if (length(others) > 0L) sprintf("%s (the same as %s)", others, root$path)
  }))
  entries <- facts$environment
  kinds <- vapply(entries, function(entry) entry$kind, "")
  names <- shown(vapply(entries, function(entry) entry$name, ""))
  literals <- vapply(
    entries[kinds == "literal"],
    function(entry) paste(shown(entry$name), "=", shown(entry$value)),
    ""
  )
  minimal <- kinds %in% c("minimal", "private")
  inside <- if (isTRUE(facts$cwd_inside)) "" else " (in no root: grants nothing)"
  list(
    Read = c(user$path[user$access == "read"], user$path[user$access == "write"]),
    Write = user$path[user$access == "write"],
    Aliases = aliases,
    Libraries = if (length(libraries) > 0L) {
      c("readable, without carve-outs:", directory_words(libraries, all))
    },
    Cwd = paste0(facts$cwd, inside),
    Deny = pattern_words(facts$deny_lists, rho_deny_defaults(), "rho_deny_defaults()", all),
    Protect = c(
      pattern_words(facts$protect_lists, rho_protect_defaults(), "rho_protect_defaults()", all),
      vapply(
        facts$added,
        function(added) sprintf("%s in %s (holds %s)", shown(added$pattern), added$root, added$why),
        ""
      )
    ),
    Environment = c(
      if (isTRUE(facts$environment_inherited)) {
        "inherited: everything that the R process has, keys and tokens included"
      } else {
        paste("minimal:", paste(names[minimal], collapse = ", "))
      },
      if (length(literals) > 0L) paste("literal:", literals),
      if (any(kinds == "inherited") && !isTRUE(facts$environment_inherited)) {
        paste("inherited by name:", paste(names[kinds == "inherited"], collapse = ", "))
      },
      if (any(kinds == "secret")) {
        paste("secret:", paste(names[kinds == "secret"], collapse = ", "))
      },
      if (!is.null(facts$git)) {
        sprintf("git identity: %s <%s>", shown(facts$git$name), shown(facts$git$email))
      }
    ),
    Private = if (!is.null(facts$private)) {
      sprintf("%s (TMPDIR and HOME of commands; readable; removed with this value)", facts$private)
    },
    System = if (!is.null(facts$system)) {
      c("readable by commands:", directory_words(facts$system, all))
    },
    Processes = process_words(facts$process, facts$sentence, facts$enforced_by),
    Network = network_words(facts$network),
    Placement = placement_words(facts$placement),
    Limits = limit_words(facts$limits)
  )
}

# The first list, with the function that lists the defaults where they stand in it as they are; each
# list that rho_narrow() added stands for itself, so that a `!` in it opens nothing of the others.
pattern_words <- function(lists, defaults, maker, all) {
  lists <- lapply(lists, function(list) as.character(unlist(list)))
  lists <- Filter(length, lists)
  first <- if (length(lists) > 0L) lists[[1L]] else character()
  added <- vapply(
    lists[-1L],
    function(list) sprintf("[added: %s]", paste(shown(list), collapse = ", ")),
    ""
  )
  size <- length(defaults)
  starts <- seq_len(max(length(first) - size + 1L, 0L))
  at <- Position(function(start) identical(first[start - 1L + seq_len(size)], defaults), starts)
  words <- if (is.na(at)) {
    first <- if (length(first) > 0L) shown(first) else "nothing"
    c(first[-length(first)], paste(first[[length(first)]], "(the defaults are replaced)"))
  } else if (all) {
    shown(first)
  } else {
    c(
      shown(first[seq_len(at - 1L)]),
      sprintf("the %d defaults of %s", size, maker),
      shown(first[seq_along(first) >= at + size])
    )
  }
  c(words, added)
}

# A long list of directories by the one below which most of them lie: renv's cache, say.
directory_words <- function(paths, all, most = 10L) {
  paths <- shown(paths)
  if (all || length(paths) <= most) {
    return(paths)
  }
  above <- table(unlist(lapply(paths, directories_above)))
  above <- names(above)[above > length(paths) / 2]
  deepest <- c(above[which.max(nchar(above))], "/")[[1L]]
  inside <- startsWith(paths, paste0(sub("/$", "", deepest), "/"))
  rest <- paths[!inside]
  shown <- c(rest, paths[inside][seq_len(max(3L - length(rest), 0L))])
  c(utils::head(shown, most), sprintf(
    "and %d more%s",
    length(paths) - min(length(shown), most),
    if (length(rest) <= most && deepest != "/") sprintf(" below %s", deepest) else ""
  ))
}

directories_above <- function(path) {
  ends <- gregexpr("/", path, fixed = TRUE)[[1L]]
  unique(substring(path, 1L, pmax(ends - 1L, 1L)))
}

S7::method(format, RhoHostCapability) <- function(x, ..., all = FALSE) {
  all <- check_flag(all, "all")
  facts <- tryCatch(capability_facts(x), rhocap_error = identity)
  if (inherits(facts, "rhocap_error")) {
    return(c("<RhoHostCapability> no longer usable", conditionMessage(facts)))
  }
  words <- capability_words(facts, all)
  c(
    sprintf("<RhoHostCapability> digest %s", facts$digest),
    unlist(Map(words_under, names(words), words), use.names = FALSE),
    if (!all && !identical(words, capability_words(facts, TRUE))) {
      "# print(x, all = TRUE) shows every pattern and directory."
    }
  )
}

# One heading and its lines, short lists joined and wrapped.
words_under <- function(heading, lines) {
  if (length(lines) == 0L) {
    if (heading %in% c("Aliases", "Libraries")) {
      return(NULL)
    }
    lines <- "nothing"
  }
  if (heading %in% c("Deny", "Protect")) {
    lines <- strwrap(toString(lines), width = 84)
  }
  label <- formatC(paste0(heading, ":"), width = -13)
  paste0(c(label, rep(strrep(" ", 13), length(lines) - 1L)), lines)
}

S7::method(print, RhoHostCapability) <- print_lines
