# Installs the R packages that DESCRIPTION names and that are missing or too old:
#   Rscript tools/install-packages.R imports suggests [PACKAGE...]
arguments <- commandArgs(trailingOnly = TRUE)
fields <- c(imports = "Imports", suggests = "Suggests")
description <- read.dcf("DESCRIPTION")

declared <- fields[intersect(arguments, names(fields))]
declared <- description[, intersect(declared, colnames(description))]
entries <- trimws(unlist(strsplit(declared, ",")))
entries <- c(entries, setdiff(arguments, names(fields)))
names <- sub("[[:space:](].*", "", entries)
least <- sub(".*>=[[:space:]]*([0-9.-]+).*", "\\1", entries)
least[!grepl(">=", entries, fixed = TRUE)] <- "0"

# Asked without loading, so that what is found now can still be replaced.
have <- function(name, version) {
  path <- find.package(name, quiet = TRUE)
  length(path) > 0L && utils::packageVersion(name) >= version
}
missing_now <- function() names[!mapply(have, names, least)]

# Debian's R has Debian's builds of most packages. From source testthat alone takes ten minutes, a C++
# compiler and libuv.
run <- function(program, ...) {
  system2(program, c(...), stdout = FALSE, stderr = FALSE) == 0L
}
debian <- file.exists("/etc/debian_version") && R.home() == "/usr/lib/R"
missing <- missing_now()
if (length(missing) > 0L && debian && file.access("/var/lib/dpkg", 2L) == 0L) {
  run("apt-get", "update")
  builds <- paste0("r-cran-", tolower(missing))
  builds <- Filter(function(build) run("apt-cache", "show", build), builds)
  if (length(builds) > 0L) {
    message("Installing ", toString(builds))
    Sys.setenv(DEBIAN_FRONTEND = "noninteractive")
    run("apt-get", "install", "--yes", "--no-install-recommends", builds)
  }
  missing <- missing_now()
}

if (length(missing) > 0L) {
  # The user's choice of a mirror, else the first that R itself knows.
  repositories <- getOption("repos")
  if (is.null(repositories) || any(repositories %in% c("", "@CRAN@"))) {
    repositories <- c(CRAN = utils::getCRANmirrors(local.only = TRUE)$URL[[1L]])
  }
  # An ordinary user cannot write to the system's library: R's own place for that user then.
  library <- .libPaths()[[1L]]
  if (file.access(library, 2L) != 0L) {
    library <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep)[[1L]][[1L]]
    dir.create(library, recursive = TRUE, showWarnings = FALSE)
    .libPaths(c(library, .libPaths()))
  }
  message("Installing ", toString(missing), " into ", library)
  utils::install.packages(missing, lib = library, repos = repositories, Ncpus = 2L)
  missing <- missing_now()
}
if (length(missing) > 0L) {
  stop("Could not be installed: ", toString(missing), call. = FALSE)
}
