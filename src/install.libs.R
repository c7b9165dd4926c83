# Installs what R would install by itself, and the supervisor beside it in bin/.
libraries <- file.path(R_PACKAGE_DIR, paste0("libs", R_ARCH))
dir.create(libraries, recursive = TRUE, showWarnings = FALSE)
installed <- file.copy(Sys.glob(paste0("*", SHLIB_EXT)), libraries, overwrite = TRUE)
if (file.exists("symbols.rds")) {
  file.copy("symbols.rds", libraries, overwrite = TRUE)
}

programs <- file.path(R_PACKAGE_DIR, "bin")
dir.create(programs, showWarnings = FALSE)
supervisor <- file.path(programs, "rhocap-supervisor")
installed <- c(installed, file.copy("rhocap-supervisor", supervisor, overwrite = TRUE))
# Whatever the umask is: it is refused when someone else can write to it.
Sys.chmod(supervisor, "0755", use_umask = FALSE)

if (!all(installed)) {
  stop("The library or the supervisor could not be copied to ", R_PACKAGE_DIR)
}
