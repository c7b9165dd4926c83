test_that("results have the very attributes that the constructors give", {
  cases <- list(
    RhoText = RhoText(text = "a"),
    RhoWritten = RhoWritten(),
    RhoEdited = RhoEdited(),
    RhoListing = RhoListing(),
    RhoMoved = RhoMoved(),
    RhoRemoved = RhoRemoved(),
    RhoDenied = RhoDenied(code = "Escape", message = "no"),
    RhoFailed = RhoFailed(code = "NotFound", message = "no")
  )
  for (name in names(cases)) {
    class <- getExportedValue("rhocap", name)
    object <- cases[[name]]
    expect_identical(class_attributes(class)$class, attr(object, "class"))
    expect_true(S7::S7_inherits(object, class))
    expect_no_error(S7::validate(object))
  }
})

test_that("results of verbs are valid S7 values", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  results <- list(
    rho_read(capability, "f"),
    rho_write(capability, "g", "text"),
    rho_edit(capability, "g", "text", "more"),
    rho_list(capability, recursive = TRUE),
    rho_move(capability, "g", "h"),
    rho_remove(capability, "h"),
    rho_admit(capability, "f"),
    rho_read(capability, "/etc/passwd"),
    rho_read(capability, "nope")
  )
  for (result in results) {
    expect_no_error(S7::validate(result))
    names <- S7::prop_names(result)
    # Every property can be read, and what core gave is complete.
    for (name in names) {
      expect_false(is.null(S7::prop(result, name)))
    }
  }
})

test_that("properties are set once", {
  text <- RhoText(text = "a")
  expect_error(text@text <- "b", class = "rhocap_error_immutable")
  expect_error(S7::prop(text, "text") <- "b", class = "rhocap_error_immutable")
  expect_error(S7::props(text) <- list(text = "b"), class = "rhocap_error_immutable")
  expect_error(text@receipt <- "b", class = "rhocap_error_immutable")
  expect_identical(text@text, "a")
})

test_that("constructors refuse by classed conditions", {
  expect_error(RhoText(), class = "rhocap_error_missing")
  expect_error(RhoText(text = 1), class = "rhocap_error_type")
  expect_error(RhoText(text = c("a", "b")), class = "rhocap_error_type")
  expect_error(RhoDenied(code = "", message = ""), class = "rhocap_error_type")
  expect_error(RhoOutcome(), class = "rhocap_error_type")
  expect_error(RhoRefusal(), class = "rhocap_error_type")
  expect_error(RhoLimits(timeout = -1), class = "rhocap_error_type")
  expect_error(RhoHostReport(facts = 1), class = "rhocap_error_type")
  expect_error(RhoReceipt("{}"), class = "rhocap_error_type")
  expect_error(RhoReceipt("not JSON"), class = "rhocap_error_type")
})
