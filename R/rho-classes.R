# Rho's own classes: what R shows of their values, without keys.

# The packages of Rho. Those that are installed are looked at when they are loaded, before or after
# us.
rho_packages <- paste0("rho.", c(
  "agent", "ai", "async", "bio", "bio.agent", "coding", "compute", "duckdb", "ext", "graphics",
  "http", "http.httr2", "testkit"
))

#' What is shown of Rho's values
#'
#' @description
#' The values of the Rho agent runtime hold keys as plain strings where a program put them there: in
#' `rho.ai::RhoModelAuth`, in the headers of a request, in the options of an agent, and from there
#' in everything that carries these, such as the context of `rho.agent::RhoAgentRunResult`. When
#' rhocap and a package of Rho are both loaded, in either order, `print()`, `format()`, `str()`,
#' `summary()` and `toString()` show values of all classes of that package without them: what the
#' methods show is what [rho_sanitize()] leaves of a value. The value itself stays as it is.
#'
#' @section What cannot be made safe:
#' A string that R holds can be had by any R code: with `@`, `S7::props()`, `unclass()`,
#' `attributes()`, `dput()` (before R 4.3 of its parts: of an S7 value it is an error there), and in
#' what `saveRDS()`, `save()`, `serialize()` and a session's image write. No method can change that.
#' The way out is that the value holds no key: `rho_model_auth()` makes an auth with a placeholder,
#' for which `rho_secret_http_client()` puts the key at the last step before the wire.
#' @name rho_classes
#' @family redaction
NULL

guard_rho_packages <- function() {
  for (package in rho_packages) {
    if (isNamespaceLoaded(package)) {
      guard_rho_classes(package)
    }
    setHook(packageEvent(package, "onLoad"), function(package, ...) guard_rho_classes(package))
  }
}

shown_generics <- c("print", "format", "str", "summary", "toString")

guard_rho_classes <- function(package) {
  for (class in s7_classes_of(package)) {
    for (generic in shown_generics) {
      guard_method(generic, class)
    }
  }
}

# Every S7 class that a package has, exported or not: a class that is new in Rho is one of them.
# They are not chosen by what they hold, because a property of any type can hold anything.
s7_classes_of <- function(package) {
  namespace <- asNamespace(package)
  names <- lapply(ls(namespace, all.names = TRUE), function(name) {
    value <- get(name, envir = namespace)
    if (inherits(value, "S7_class")) class_name(value)
  })
  setdiff(unique(as.character(unlist(names))), "S7_object")
}

class_name <- function(class) {
  package <- attr(class, "package", exact = TRUE)
  if (identical(package, "rhocap") || identical(package, "S7")) {
    return(NULL)
  }
  paste(c(package, attr(class, "name", exact = TRUE)), collapse = "::")
}

guard_method <- function(generic, class) {
  home <- if (generic == "str") asNamespace("utils") else baseenv()
  original <- utils::getS3method(generic, class, optional = TRUE, envir = home)
  if (is.null(original) || is_guard(original)) {
    original <- NULL
  }
  # A method that Rho has itself shows the masked copy.
  shown <- shown_safely[[generic]]
  guard <- function(x, ...) shown(x, ..., original = original)
  attr(guard, guard_mark) <- TRUE
  registerS3method(generic, class, guard, envir = home)
}

guard_mark <- "rhocap_guard"

is_guard <- function(method) isTRUE(attr(method, guard_mark, exact = TRUE))

# What the methods show is made of a masked copy by the method that there was before, and what came
# of that is masked once more: the copy, by what was found in the value.
shown_copy <- function(x) {
  if (isTRUE(attr(x, masked_mark, exact = TRUE))) {
    return(x)
  }
  tryCatch(
    {
      copy <- sanitize(x, shown = TRUE)
      attr(copy, masked_mark) <- TRUE
      copy
    },
    error = function(cnd) NULL
  )
}

masked_mark <- "rhocap_masked"

original_method <- function(generic, x) {
  home <- if (generic == "str") asNamespace("utils") else baseenv()
  for (class in c(class(x), "default")) {
    method <- utils::getS3method(generic, class, optional = TRUE, envir = home)
    if (!is.null(method) && !is_guard(method)) {
      return(method)
    }
  }
}

method_lines <- function(generic, x, ..., original = NULL) {
  copy <- shown_copy(x)
  if (is.null(copy)) {
    return(sprintf("<%s> %s", class(x)[[1L]], note_left_out("its content")))
  }
  if (is.null(original)) {
    original <- original_method(generic, x)
  }
  lines <- tryCatch(
    utils::capture.output(original(copy, ...)),
    error = function(cnd) sprintf("<%s>", class(x)[[1L]])
  )
  redact_strings(lines)
}

shown_safely <- list(
  print = function(x, ..., original = NULL) {
    writeLines(method_lines("print", x, ..., original = original))
    invisible(x)
  },
  format = function(x, ..., original = NULL) {
    copy <- shown_copy(x)
    if (is.null(original) || is.null(copy)) {
      return(method_lines("print", x))
    }
    redact_strings(as.character(original(copy, ...)))
  },
  str = function(x, ..., original = NULL) {
    writeLines(method_lines("str", x, ..., original = original))
    invisible()
  },
  summary = function(x, ..., original = NULL) {
    copy <- shown_copy(x)
    if (is.null(original) || is.null(copy)) {
      return(structure(list(lines = method_lines("print", x)), class = "rho_shown"))
    }
    original(copy, ...)
  },
  toString = function(x, ..., original = NULL) {
    paste(trimws(shown_safely$format(x)), collapse = " ")
  }
)

#' @export
print.rho_shown <- function(x, ...) {
  writeLines(x$lines)
  invisible(x)
}
