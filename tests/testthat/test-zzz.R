test_that("rho.coding's functions of the same names are named in a warning, in either order", {
  # rho.coding is not on CRAN: a package with its names stands for it.
  library <- install_double(
    "rho.coding",
    "export(rho_tool_bash, rho_tool_read, rho_coding_tools)",
    "rho_tool_bash <- rho_tool_read <- rho_coding_tools <- function(...) NULL"
  )
  attach_in_order <- function(packages, library, library_paths) {
    .libPaths(c(library, library_paths))
    caught <- NULL
    withCallingHandlers(
      for (package in packages) library(package, character.only = TRUE),
      rhocap_warning_masked = function(cnd) {
        caught <<- list(functions = cnd$functions, message = conditionMessage(cnd))
        invokeRestart("muffleWarning")
      }
    )
    caught
  }
  for (packages in list(c("rhocap", "rho.coding"), c("rho.coding", "rhocap"))) {
    caught <- callr::r(attach_in_order, list(packages, library, .libPaths()))
    expect_identical(caught$functions, c("rho_tool_bash", "rho_tool_read"))
    expect_match(caught$message, "rhocap::rho_tool_bash()", fixed = TRUE)
  }
  expect_null(callr::r(attach_in_order, list("rhocap", library, .libPaths())))
  unlink(library, recursive = TRUE)
})

test_that("@ reaches properties with library(rhocap) alone", {
  needs("callr")
  text <- in_child(function() {
    root <- tempfile()
    dir.create(root)
    writeLines("hello", file.path(root, "a"))
    rho_read(rho_host_capability(read = root, cwd = root), "a")@text
  })
  expect_identical(text, "hello\n")
})
