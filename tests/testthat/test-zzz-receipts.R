# Runs last: every receipt that the tests made, here and in child processes, follows the schema.

schema_path <- function() {
  system.file("schema", "receipt-1.schema.json", package = "rhocap", mustWork = TRUE)
}

test_that("the schema's codes are the codes", {
  needs("jsonlite")
  schema <- jsonlite::fromJSON(schema_path(), simplifyVector = FALSE)
  expect_setequal(unlist(schema$properties$code$anyOf[[1]]$enum), rho_codes()$code)
  expect_setequal(names(schema$properties), unlist(schema$required))
  expect_false(schema$additionalProperties)
})

test_that("every receipt of this run follows the schema", {
  python <- python_with_jsonschema()
  tree <- new_tree()
  capability <- tree_capability(tree)
  rho_read(capability, "f")
  children <- list.files(receipt_directory(), full.names = TRUE)
  receipts <- c(rho_receipts()$json, unlist(lapply(children, readLines, encoding = "UTF-8")))
  expect_gt(length(receipts), 0)
  lines <- tempfile(fileext = ".jsonl")
  on.exit(unlink(lines))
  writeLines(receipts, lines, useBytes = TRUE)
  script <- test_path("validate-receipts.py")
  output <- system2(python, shQuote(c(script, schema_path(), lines)), stdout = TRUE, stderr = TRUE)
  expect_null(attr(output, "status"), info = paste(output, collapse = "\n"))
  expect_match(output[[length(output)]], sprintf("^%d receipts valid", length(receipts)))
})

test_that("the validator can refuse", {
  python <- python_with_jsonschema()
  tree <- new_tree()
  good <- rho_read(tree_capability(tree), "f")@receipt@json
  wrong <- c(
    sub("\"decision\":\"allowed\"", "\"decision\":\"perhaps\"", good, fixed = TRUE),
    sub("\"effect\":", "\"secret\":\"x\",\"effect\":", good, fixed = TRUE),
    sub("\"outcome\":\"ok\"", "\"outcome\":\"denied\"", good, fixed = TRUE)
  )
  lines <- tempfile(fileext = ".jsonl")
  on.exit(unlink(lines))
  for (json in wrong) {
    expect_false(identical(json, good))
    writeLines(json, lines, useBytes = TRUE)
    status <- system2(
      python,
      shQuote(c(test_path("validate-receipts.py"), schema_path(), lines)),
      stdout = FALSE,
      stderr = FALSE
    )
    expect_identical(status, 1L)
  }
})
