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

have <- function(name, version) {
  requireNamespace(name, quietly = TRUE) && utils::packageVersion(name) >= version
}
missing <- names[!mapply(have, names, least)]
if (length(missing) == 0L) {
  quit(save = "no")
}

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
}

message("Installing ", toString(missing), " into ", library)
utils::install.packages(missing, lib = library, repos = repositories, Ncpus = 2L)
.libPaths(c(library, .libPaths()))
failed <- missing[!vapply(missing, requireNamespace, NA, quietly = TRUE)]
if (length(failed) > 0L) {
  stop("Could not be installed: ", toString(failed), call. = FALSE)
}
