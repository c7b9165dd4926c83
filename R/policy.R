# What a capability says of processes, the network, the place where calls run, and bounds.
# Alternatives are classes; the core knows them by the words in `policy_word()`.

#' @include class.R
NULL

#' Which processes a capability may start
#'
#' @description
#' `rho_process_none()`: none; bash answers with [RhoDenied].
#'
#' `rho_process_confined()`: commands on which the kernel enforces the same roots and network
#' policy. Where this host cannot enforce it, making a capability with it is an error of class
#' `rhocap_error_not_enforceable` that shows the calls that work; it never degrades in silence.
#'
#' `rho_process_unrestricted()`: no containment is claimed. Unrestricted bash has the full authority
#' of the R process's user. It requires [rho_network_host()].
#'
#' @section Confined commands:
#' They see the capability's directories, their own `TMPDIR` and `HOME`, and a fixed list of system
#' files (`rho_host_report()@facts$system_files`: programs and libraries in `/usr`, and named files
#' of `/etc`); nothing else of the file system. They can write below the writable directories only,
#' and not what is carved out. Names that a pattern covers and that a command makes, a new
#' `.Rprofile`, say, are moved to a quarantine when it has ended, and told in the result's
#' `carve_outs`; so is what you make under such a name meanwhile. The quarantine is a directory
#' beside the private `TMPDIR`; it stays when it holds something. What somebody else puts in the
#' place of a covered file while a command runs is open to that command; it stays, and is told as
#' `"replaced"`: look at it. A link that a pattern covers stays where it is, and is closed with
#' what it leads to; where one leads nowhere and a command could make what it names, the command is
#' refused (`CarveOut`). Setting the set-user-id and set-group-id bits is refused. Without network
#' there are no sockets at all, Unix sockets and those to the same machine included: no PSOCK
#' cluster (`parallel::mclapply()` works), no shiny, no development server. They cannot see, signal
#' or trace any process outside, gain no privileges, and keep the user's identity without its
#' capabilities: also when R runs as root.
#'
#' What enforces this is found out when the capability is made and again for each call; print,
#' result and receipt list it (`enforced_by`), with what it does not cover (`gaps`). The vignette
#' "What is enforced by what" goes through it claim by claim.
#'
#' @return A policy value for the argument `process` of [rho_host_capability()].
#' @family policies
#' @examples
#' rho_process_none()
#' rho_process_unrestricted()
#' if ("confined" %in% rho_host_report()@facts$processes) {
#'   project <- tempfile("project")
#'   dir.create(project)
#'   rho_bash(rho_project_capability(project), "echo > /etc/motd; ls /home")
#' }
#' @export
rho_process_none <- function() RhoProcessNone()

#' @rdname rho_process_none
#' @export
rho_process_confined <- function() RhoProcessConfined()

#' @rdname rho_process_none
#' @export
rho_process_unrestricted <- function() RhoProcessUnrestricted()

#' @rdname rho_process_none
#' @format NULL
#' @usage NULL
#' @export
RhoProcessPolicy <- rho_class("RhoProcessPolicy", abstract = TRUE)

#' @rdname rho_process_none
#' @format NULL
#' @usage NULL
#' @export
RhoProcessNone <- rho_class("RhoProcessNone", parent = RhoProcessPolicy)

#' @rdname rho_process_none
#' @format NULL
#' @usage NULL
#' @export
RhoProcessConfined <- rho_class("RhoProcessConfined", parent = RhoProcessPolicy)

#' @rdname rho_process_none
#' @format NULL
#' @usage NULL
#' @export
RhoProcessUnrestricted <- rho_class("RhoProcessUnrestricted", parent = RhoProcessPolicy)

#' Which network commands may use
#'
#' @description
#' `rho_network_none()`: none. `rho_network_host()`: the host's, without limits. The policy is about
#' commands; the file verbs never use the network.
#'
#' @return A policy value for the argument `network` of [rho_host_capability()].
#' @family policies
#' @examples
#' rho_network_none()
#' rho_network_host()
#' @export
rho_network_none <- function() RhoNetworkNone()

#' @rdname rho_network_none
#' @export
rho_network_host <- function() RhoNetworkHost()

#' @rdname rho_network_none
#' @format NULL
#' @usage NULL
#' @export
RhoNetworkPolicy <- rho_class("RhoNetworkPolicy", abstract = TRUE)

#' @rdname rho_network_none
#' @format NULL
#' @usage NULL
#' @export
RhoNetworkNone <- rho_class("RhoNetworkNone", parent = RhoNetworkPolicy)

#' @rdname rho_network_none
#' @format NULL
#' @usage NULL
#' @export
RhoNetworkHost <- rho_class("RhoNetworkHost", parent = RhoNetworkPolicy)

#' Where calls run
#'
#' @description `rho_placement_local()`: in this R process, and commands as its children.
#' `rho_placement_mirai()`: on a mirai daemon of a compute profile. Placement says where, it
#' contains nothing. This version of rhocap cannot place calls on a daemon yet, so making a
#' capability with it is an error of class `rhocap_error_not_enforceable`.
#'
#' @param compute The name of a mirai compute profile, or `NULL` for mirai's default profile.
#' @return A value for the argument `placement` of [rho_host_capability()].
#' @family policies
#' @examples
#' rho_placement_local()
#' rho_placement_mirai("cluster")
#' @export
rho_placement_local <- function() RhoPlacementLocal()

#' @rdname rho_placement_local
#' @export
rho_placement_mirai <- function(compute = NULL) {
  if (is.null(compute)) {
    return(RhoPlacementMirai())
  }
  RhoPlacementMirai(check_text(check_string(compute, "compute", empty = FALSE), "compute"))
}

#' @rdname rho_placement_local
#' @format NULL
#' @usage NULL
#' @export
RhoPlacement <- rho_class("RhoPlacement", abstract = TRUE)

#' @rdname rho_placement_local
#' @format NULL
#' @usage NULL
#' @export
RhoPlacementLocal <- rho_class("RhoPlacementLocal", parent = RhoPlacement)

#' @rdname rho_placement_local
#' @format NULL
#' @usage NULL
#' @export
RhoPlacementMirai <- rho_class(
  "RhoPlacementMirai",
  parent = RhoPlacement,
  # The empty name stands for mirai's default profile.
  properties = list(compute = property_string(default = ""))
)

#' Bounds on what one call may take
#'
#' @param timeout Longest run of a command, seconds. A longer one asked for a call is cut to it; the
#'   receipt has the one that held.
#' @param grace Seconds between asking a command to end and killing it.
#' @param output_bytes Most bytes of a command's output that are kept, at most 715,827,882.
#' @param read_bytes Largest file that is read, in bytes. It is checked before memory is taken. At
#'   most 2^31 - 1, the longest string that R holds.
#' @param symlinks Whether symbolic links are followed. They never lead out of the roots.
#' @param mounts Whether other file systems mounted below a root are entered. What is mounted there
#'   is judged by the rules of the directory around it, but for the directory of another root.
#' @param shell The shell of commands, an absolute path.
#' @param hard_links Whether a file with several names may be written. The other names may lie
#'   outside the roots.
#' @param fsync Whether a write waits until the file and its directory are on stable storage.
#' @param entries Most entries of one listing.
#' @param processes,memory,file_size,cpu,open_files Bounds on a confined command, which the kernel
#'   enforces: most processes at once; bytes of address space of one process; bytes of the largest
#'   file that is written; seconds of CPU time of one process; open files of one process. `NULL` for
#'   none. With `rho_process_unrestricted()` they cannot be enforced, and are refused.
#' @param ... Not used.
#' @return A value of class `RhoLimits`.
#' @family policies
#' @examples
#' rho_limits(read_bytes = 10 * 2^20, symlinks = FALSE)
#' @export
rho_limits <- function(
  timeout = 600,
  grace = 2,
  output_bytes = 2^20,
  read_bytes = 2^28,
  symlinks = TRUE,
  mounts = FALSE,
  shell = "/bin/bash",
  hard_links = FALSE,
  fsync = TRUE,
  entries = 100000,
  processes = NULL,
  memory = NULL,
  file_size = NULL,
  cpu = NULL,
  open_files = NULL,
  ...
) {
  check_no_dots(...)
  RhoLimits(
    timeout = check_limit(timeout, "timeout"),
    grace = check_limit(grace, "grace"),
    output_bytes = check_limit(output_bytes, "output_bytes"),
    read_bytes = check_limit(read_bytes, "read_bytes"),
    symlinks = check_flag(symlinks, "symlinks"),
    mounts = check_flag(mounts, "mounts"),
    shell = check_text(check_string(shell, "shell", empty = FALSE), "shell"),
    hard_links = check_flag(hard_links, "hard_links"),
    fsync = check_flag(fsync, "fsync"),
    entries = check_limit(entries, "entries"),
    processes = check_bound(processes, "processes"),
    memory = check_bound(memory, "memory"),
    file_size = check_bound(file_size, "file_size"),
    cpu = check_bound(cpu, "cpu"),
    open_files = check_bound(open_files, "open_files")
  )
}

# A bound of the kernel's, or none: NA in the value, because a property has one type.
check_bound <- function(x, name) if (is.null(x)) NA_real_ else check_limit(x, name)

# Within which each limit lies. A text longer than 2^31 - 1 bytes is none that R can hold.
limit_bounds <- list(
  timeout = list(least = 0.001, most = 10^9, whole = FALSE),
  grace = list(least = 0, most = 10^9, whole = FALSE),
  # As text each byte can become three.
  output_bytes = list(least = 0, most = floor((2^31 - 1) / 3), whole = TRUE),
  read_bytes = list(least = 0, most = 2^31 - 1, whole = TRUE),
  entries = list(least = 0, most = 2^53, whole = TRUE),
  processes = list(least = 1, most = 2^31 - 1, whole = TRUE),
  memory = list(least = 1, most = 2^53, whole = TRUE),
  file_size = list(least = 0, most = 2^53, whole = TRUE),
  cpu = list(least = 1, most = 10^9, whole = TRUE),
  # The three standard streams, and one to load a library by.
  open_files = list(least = 4, most = 2^31 - 1, whole = TRUE)
)

# The bounds that only confined commands have.
bound_names <- c("processes", "memory", "file_size", "cpu", "open_files")

check_limit <- function(x, name) {
  do.call(check_number, c(list(x, name), limit_bounds[[name]]), quote = TRUE)
}

property_bound <- function(name) {
  limit <- property_limit(name, NA_real_)
  check <- limit$validator
  limit$validator <- function(value) if (!identical(value, NA_real_)) check(value)
  limit
}

property_limit <- function(name, default) {
  do.call(property_number, c(list(default), limit_bounds[[name]]))
}

#' @rdname rho_limits
#' @format NULL
#' @usage NULL
#' @export
RhoLimits <- rho_class(
  "RhoLimits",
  properties = list(
    timeout = property_limit("timeout", 600),
    grace = property_limit("grace", 2),
    output_bytes = property_limit("output_bytes", 2^20),
    read_bytes = property_limit("read_bytes", 2^28),
    symlinks = property_flag(TRUE),
    mounts = property_flag(FALSE),
    shell = property_string("/bin/bash", empty = FALSE),
    hard_links = property_flag(FALSE),
    fsync = property_flag(TRUE),
    entries = property_limit("entries", 100000),
    processes = property_bound("processes"),
    memory = property_bound("memory"),
    file_size = property_bound("file_size"),
    cpu = property_bound("cpu"),
    open_files = property_bound("open_files")
  )
)

limit_names <- names(attr(RhoLimits, "properties", exact = TRUE))

# Bounds that there are not, are not in the list.
limits_as_list <- function(limits) {
  limits <- stats::setNames(lapply(limit_names, function(name) S7::prop(limits, name)), limit_names)
  limits[!vapply(limits, identical, NA, NA_real_)]
}

# The same without what only the kernel enforces.
without_bounds <- function(limits) {
  kept <- limits_as_list(limits)
  do.call(RhoLimits, kept[setdiff(names(kept), bound_names)])
}

# The word by which the core knows a policy.
policy_word <- function(policy) {
  known <- list(
    none = RhoProcessNone,
    confined = RhoProcessConfined,
    unrestricted = RhoProcessUnrestricted,
    none = RhoNetworkNone,
    host = RhoNetworkHost,
    local = RhoPlacementLocal,
    mirai = RhoPlacementMirai
  )
  for (index in seq_along(known)) {
    if (S7::S7_inherits(policy, known[[index]])) {
      return(names(known)[[index]])
    }
  }
}

# The value that stands for a word of the core.
process_from_word <- function(word) {
  switch(word,
    none = RhoProcessNone(),
    confined = RhoProcessConfined(),
    unrestricted = RhoProcessUnrestricted()
  )
}

network_from_word <- function(word) {
  switch(word,
    none = RhoNetworkNone(),
    host = RhoNetworkHost()
  )
}

placement_from_word <- function(word) {
  if (identical(word, "local")) {
    return(RhoPlacementLocal())
  }
  RhoPlacementMirai(sub("^mirai:?", "", word))
}

# In words; capability.R uses the same.
process_words <- function(word, sentence = unrestricted_sentence, enforced = NULL) {
  switch(word,
    none = "none: bash answers with a denial",
    confined = c(
      "confined: the kernel enforces roots and network policy on commands",
      if (!is.null(enforced)) {
        c(
          paste("by", paste(enforced$kernel, collapse = ", ")),
          paste("not covered:", paste(enforced$gaps, collapse = ", ")),
          if (!"mount_namespace" %in% enforced$kernel) {
            paste(
              "without mounts here: in a directory that holds a carve-out no name can be made,",
              "removed or renamed"
            )
          }
        )
      }
    ),
    unrestricted = paste("unrestricted.", sentence)
  )
}

network_words <- function(word) {
  switch(word,
    none = "none for commands",
    host = "the host's, without limits, for commands"
  )
}

placement_words <- function(word) {
  if (identical(word, "local")) {
    return("local: in this R process (says where, contains nothing)")
  }
  profile <- sub("^mirai:?", "", word)
  profile <- if (nzchar(profile)) sprintf("profile %s", shown(profile)) else "the default profile"
  sprintf("a mirai daemon of %s (says where, contains nothing)", profile)
}

limit_words <- function(limits) {
  c(
    sprintf(
      "read at most %s; list at most %s entries", bytes_words(limits$read_bytes),
      format(limits$entries, big.mark = ",", scientific = FALSE)
    ),
    sprintf(
      "symbolic links %s; other mounts %s; hard-linked files %s",
      if (limits$symlinks) "followed inside the roots" else "refused",
      if (limits$mounts) "entered" else "refused",
      if (limits$hard_links) "written" else "not written"
    ),
    sprintf("writes %s stable storage", if (limits$fsync) "wait for" else "do not wait for"),
    sprintf(
      "commands: %s seconds, %s seconds' grace, %s of output, shell %s",
      format(limits$timeout, scientific = FALSE),
      format(limits$grace, scientific = FALSE),
      bytes_words(limits$output_bytes),
      shown(limits$shell)
    ),
    bound_words(limits)
  )
}

bound_words <- function(limits) {
  words <- c(
    processes = "%s processes",
    memory = "%s of address space a process",
    file_size = "files of %s",
    cpu = "%s seconds of CPU a process",
    open_files = "%s open files a process"
  )
  there <- intersect(names(words), names(limits))
  if (length(there) == 0L) {
    return(NULL)
  }
  bounds <- vapply(there, function(name) {
    value <- limits[[name]]
    in_bytes <- name %in% c("memory", "file_size")
    sprintf(words[[name]], if (in_bytes) bytes_words(value) else digits(value))
  }, "")
  paste("bounded by the kernel:", paste(bounds, collapse = ", "))
}

bytes_words <- function(bytes) {
  units <- c("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
  power <- if (bytes < 1024) 0 else min(floor(log(bytes, 1024)), length(units) - 1)
  value <- bytes / 1024^power
  if (power == 0 && bytes == 1) {
    return("1 byte")
  }
  paste(format(round(value, 1), scientific = FALSE), units[[power + 1]])
}

# The core's sentence, which print takes from there. This copy is for a policy that no capability
# has yet; a test compares the two.
unrestricted_sentence <- "Unrestricted bash has the full authority of the R process's user."

S7::method(format, RhoProcessPolicy) <- function(x, ...) {
  paste("Processes:", process_words(policy_word(x)))
}

S7::method(format, RhoNetworkPolicy) <- function(x, ...) {
  paste("Network:", network_words(policy_word(x)))
}

S7::method(format, RhoPlacementLocal) <- function(x, ...) {
  paste("Placement:", placement_words("local"))
}

S7::method(format, RhoPlacementMirai) <- function(x, ...) {
  paste("Placement:", placement_words(paste0("mirai:", x@compute)))
}

S7::method(format, RhoLimits) <- function(x, ...) {
  c("Limits:", paste0("  ", limit_words(limits_as_list(x))))
}

S7::method(print, RhoProcessPolicy) <- print_lines
S7::method(print, RhoNetworkPolicy) <- print_lines
S7::method(print, RhoPlacement) <- print_lines
S7::method(print, RhoLimits) <- print_lines
