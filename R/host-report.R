# What this host can enforce, in plain words.

#' @include class.R
NULL

#' What this host can enforce
#'
#' Tells which mechanisms rhocap finds on this host. It asks the kernel, and changes nothing but two
#' temporary files of its own, with which it tries an exchange of names. What would confine a
#' command is built once, without running anything in it.
#'
#' @return A value of class `RhoHostReport`. Its property `facts` is a named list. Among them:
#'   `processes`, the process policies that can be made here; `confined`, what of the kernel
#'   confines commands (`kernel`) and what that does not cover (`gaps`), or why it cannot
#'   (`refused`); `system_files`, what confined commands can read beside the capability's
#'   directories (the last files of `/etc` in it only with [rho_network_host()]).
#' @family capability
#' @examples
#' rho_host_report()
#' @export
rho_host_report <- function() {
  RhoHostReport(facts = check_boundary(core_host_report(supervisor_program())))
}

#' @rdname rho_host_report
#' @format NULL
#' @usage NULL
#' @export
RhoHostReport <- rho_class("RhoHostReport", properties = list(facts = property_list()))

S7::method(format, RhoHostReport) <- function(x, ...) {
  c("<RhoHostReport>", fact_lines(x@facts))
}

S7::method(print, RhoHostReport) <- print_lines

# A nested list as indented lines of `name: value`.
fact_lines <- function(facts, indent = "  ") {
  unlist(lapply(names(facts), function(name) {
    value <- facts[[name]]
    label <- paste0(indent, gsub("_", " ", name, fixed = TRUE), ": ")
    if (is.list(value) && length(value) > 0L && !is.null(names(value))) {
      return(c(label, fact_lines(value, paste0(indent, "  "))))
    }
    if (is.list(value)) {
      deeper <- paste0(indent, "  ")
      return(c(label, unlist(lapply(value, function(item) fact_lines(as.list(item), deeper)))))
    }
    paste0(label, fact_words(value))
  }))
}

fact_words <- function(value) {
  if (is.null(value) || length(value) == 0L) {
    return("none")
  }
  if (is.logical(value)) {
    return(paste(ifelse(is.na(value), "unknown", ifelse(value, "yes", "no")), collapse = ", "))
  }
  if (is.numeric(value)) {
    return(paste(format(value, scientific = FALSE, trim = TRUE), collapse = ", "))
  }
  paste(shown(as.character(value)), collapse = ", ")
}
