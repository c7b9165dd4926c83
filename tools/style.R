# Formats the R code with styler; `check` changes nothing, and fails where the code is not formatted
# or lintr finds something.
check <- identical(commandArgs(trailingOnly = TRUE), "check")
generated <- "R/extendr-wrappers.R"
files <- list.files(
  c("R", "tests", "tools", "demo", "inst", "bench", "vignettes", "src"),
  pattern = "[.](R|Rmd)$",
  recursive = TRUE,
  full.names = TRUE
)
files <- files[!grepl("^src/(build|rust)/", files) & files != generated]

styled <- styler::style_file(files, dry = if (check) "on" else "off")
bad <- check && any(styled$changed %in% TRUE)
if (bad) {
  message("Not formatted, `make format` does it: ", toString(styled$file[styled$changed %in% TRUE]))
}
if (check) {
  lints <- lintr::lint_package()
  if (length(lints) > 0L) {
    print(lints)
    bad <- TRUE
  }
}
quit(save = "no", status = as.integer(bad))
