# Loading: S7 methods, and a warning where another package's unrestricted tools have our names.

#' Properties with `@`
#'
#' The facts of a value are its S7 properties, read with `@`. Before R 4.3 base R's `@` does not
#' reach them, so rhocap exports S7's there: `library(rhocap)` is enough. Code that R compiled
#' before rhocap was attached may keep base R's.
#'
#' @name properties
#' @aliases @
#' @examples
#' rho_limits()@read_bytes
NULL

#' @useDynLib rhocap, .registration = TRUE
#' @rawNamespace if (getRversion() < "4.3.0") importFrom("S7", "@")
#' @rawNamespace if (getRversion() < "4.3.0") export("@")
NULL

.onLoad <- function(libname, pkgname) {
  # An interrupt while R loads a function at its first use can leave one that R 4.2 never loads
  # again, so all are loaded now.
  for (name in ls(topenv(), all.names = TRUE)) {
    get(name, envir = topenv())
  }
  S7::methods_register()
  hide("rhocap::RhoHidden")
  # Before anything can show what stands there. Values that cannot be masked are left out.
  core_secret_ambient()
  guard_rho_packages()
  # rho.coding attached after us: its constructors stand in front of ours.
  setHook(packageEvent("rho.coding", "attach"), function(...) {
    if (paste0("package:", pkgname) %in% search()) {
      warn_masked("rho.coding", "stand in front of rhocap's now and are not restricted")
    }
  })
}

.onAttach <- function(libname, pkgname) {
  if ("package:rho.coding" %in% search()) {
    warn_masked(
      "rho.coding",
      "are hidden by rhocap's now; the package's own tools are not restricted"
    )
  }
}

masked_names <- function(package) {
  intersect(getNamespaceExports(package), getNamespaceExports("rhocap"))
}

warn_masked <- function(package, what) {
  names <- sort(masked_names(package))
  if (length(names) == 0L) {
    return(invisible())
  }
  warn(
    "masked",
    sprintf(
      "%s of %s %s. Write rhocap::%s() for the restricted one.",
      paste0(names, "()", collapse = ", "),
      package,
      what,
      names[[1L]]
    ),
    functions = names
  )
}

# S7 leaves a copy of each generic of another package that has a method here. With one of print() in
# the namespace, R would register our S3 method for the copy, where a user's print() does not look.
rm(list = intersect(c("format", "print", "==", "!="), ls()))
