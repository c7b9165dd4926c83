# The vignette names tests: each of them must be there.

test_that("every test that the vignette names exists", {
  source <- file.path("..", "..", "vignettes", "enforcement.Rmd")
  skip_if(!file.exists(source), "the vignette's source is not beside the tests")
  text <- gsub("\\s+", " ", paste(readLines(source, encoding = "UTF-8"), collapse = " "))
  rust <- c(
    list.files(file.path("..", "..", "src", "rust", "supervisor", "tests"), full.names = TRUE),
    list.files(file.path("..", "..", "src", "rust", "core", "tests"), "\\.rs$", full.names = TRUE)
  )
  pattern <- "`[a-z_]+\\.rs`: (`[a-z_0-9]+`(, )?)+"
  named <- regmatches(text, gregexpr(pattern, text))[[1L]]
  expect_gt(length(named), 10L)
  for (item in named) {
    file <- sub("`([a-z_]+\\.rs)`.*", "\\1", item)
    code <- readLines(rust[basename(rust) == file])
    tests <- regmatches(item, gregexpr("`[a-z_0-9]+`", item))[[1L]]
    for (test in gsub("`", "", tests)) {
      defined <- grepl(sprintf("fn %s(", test), code, fixed = TRUE)
      expect_true(any(defined), label = paste(file, test))
    }
  }
  pattern <- "`test-[a-z-]+\\.R`: \"[^\"]+\"(, \"[^\"]+\")*"
  named <- regmatches(text, gregexpr(pattern, text))[[1L]]
  expect_gt(length(named), 4L)
  for (item in named) {
    file <- sub("`(.*\\.R)`: .*", "\\1", item)
    code <- readLines(file)
    tests <- regmatches(item, gregexpr("\"[^\"]+\"", item))[[1L]]
    for (test in tests) {
      defined <- grepl(sprintf("test_that(%s", test), code, fixed = TRUE)
      expect_true(any(defined), label = paste(file, test))
    }
  }
})
