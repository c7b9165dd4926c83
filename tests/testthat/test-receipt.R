test_that("every call leaves one receipt, refusals included", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  count <- function() check_boundary(core_receipts_count())
  calls <- list(
    quote(rho_read(capability, "f")),
    quote(rho_read(capability, "nope")),
    quote(rho_read(capability, "../x")),
    quote(rho_write(capability, "g", "x")),
    quote(rho_edit(capability, "g", "x", "y")),
    quote(rho_list(capability)),
    quote(rho_move(capability, "g", "h")),
    quote(rho_remove(capability, "h")),
    quote(rho_admit(capability, "f")),
    quote(rho_bash(capability, "ls")),
    quote(rho_tool_read(capability)@execute("1", list(path = "f"))),
    quote(rho_tool_read(capability)@execute("1", list(wrong = "f")))
  )
  for (call in calls) {
    before <- count()
    value <- eval(call)
    expect_identical(count(), before + 1)
    expect_identical(rho_receipt(value)@json, utils::tail(rho_receipts(n = 1)$json, 1))
  }
})

test_that("a receipt tells the real decision, and why", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  allowed <- rho_read(capability, "f")@receipt
  expect_identical(allowed@decision, "allowed")
  expect_identical(allowed@outcome, "ok")
  expect_identical(allowed@code, NA_character_)
  expect_identical(allowed@resolved$path, "f")
  expect_identical(allowed@capability, capability@digest)
  expect_identical(allowed@principal, "user")
  expect_identical(allowed@tool, "rho_read")
  expect_identical(allowed@enforced_by$mechanism, "admission")
  denied <- rho_write(capability, ".env", "x")@receipt
  expect_identical(denied@decision, "denied")
  expect_identical(denied@code, "CarveOut")
  expect_match(denied@rule, ".env", fixed = TRUE)
  expect_identical(denied@stage, "admit")
  expect_identical(denied@effect, "none")
  undecided <- rho_read(capability, "nope")@receipt
  expect_identical(undecided@decision, "undecided")
})

test_that("versions in receipts follow the content", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  read <- rho_read(capability, "f")
  written <- rho_write(capability, "f", "new")
  receipt <- written@receipt
  expect_identical(receipt@version_before, read@version)
  expect_identical(receipt@version_after, written@version)
  expect_identical(receipt@bytes, 3)
  # Content is no part of a receipt, and no plain digest of it either.
  rho_write(capability, "g", "sk-secret-token")
  json <- rho_receipts(n = 1)$json
  expect_no_match(json, "sk-secret")
})

test_that("receipts are a chain", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  for (index in 1:3) {
    rho_read(capability, "f")
  }
  receipts <- lapply(utils::tail(rho_receipts()$json, 3), RhoReceipt)
  previous <- vapply(receipts, function(receipt) receipt@previous, "")
  expect_match(previous, "^[0-9a-f]{32}$")
  expect_false(anyDuplicated(previous) > 0)
  expect_identical(diff(vapply(receipts, function(receipt) receipt@seq, 0)), c(1, 1))
})

test_that("rho_receipts is a data frame of what was asked and decided", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  rho_read(capability, "line\nbreak")
  rho_move(capability, "f", "../x")
  last <- rho_receipts(n = 2)
  expect_identical(nrow(last), 2L)
  expect_identical(last$path, c("line\\nbreak", "f"))
  expect_identical(last$code, c("NotFound", "Escape"))
  expect_s3_class(last$time, "POSIXct")
  expect_lt(abs(as.numeric(difftime(Sys.time(), last$time[[2]], units = "secs"))), 60)
  expect_identical(nrow(rho_receipts(n = 0)), 0L)
  expect_identical(names(rho_receipts(n = 0)), names(last))
  expect_error(rho_receipts(n = -1), class = "rhocap_error_value")
  # The whole table is printed without what is too wide, a choice of columns as it is.
  expect_output(print(last), "# also: seq, .*json")
  expect_output(print(last[, c("tool", "id")]), last$id[[1]])
})

test_that("print shows the newest receipts and how many there are more", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  for (index in 1:25) {
    rho_read(capability, paste0("file-", index))
  }
  receipts <- rho_receipts(n = 25)
  lines <- utils::capture.output(print(receipts[, c("tool", "path")]))
  expect_identical(lines[[1]], "# 5 receipts before these; print(x, n = Inf) shows all")
  expect_length(lines, 22)
  expect_match(lines[[22]], "file-25")
  expect_length(utils::capture.output(print(receipts[, c("tool", "path")], n = Inf)), 26)
  expect_error(print(receipts, n = -1), class = "rhocap_error_value")
  # It stays a data frame.
  expect_s3_class(receipts[1:3, ], "data.frame")
  expect_identical(nrow(utils::head(receipts, 3)), 3L)
})

test_that("more receipts than a slice are in order", {
  needs("callr")
  seq <- in_child(function() {
    root <- tempfile()
    dir.create(root)
    capability <- rho_host_capability(cwd = root)
    for (index in seq_len(11000)) {
      rho_read(capability, "/x")
    }
    rho_receipts()$seq
  })
  expect_identical(seq, as.double(seq_len(11000)))
})

test_that("rho_receipt finds the receipt of values, tools and conditions", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  denied <- rho_read(capability, "../x")
  cnd <- tryCatch(rho_unwrap(denied), error = identity)
  expect_identical(rho_receipt(cnd), denied@receipt)
  expect_identical(rho_receipt(denied@receipt), denied@receipt)
  result <- rho_tool_read(capability)@execute("1", list(path = "f"))
  expect_identical(rho_receipt(result)@tool, "read")
  expect_null(rho_receipt(RhoDenied(code = "Escape", message = "no")))
  expect_error(rho_receipt(1), class = "rhocap_error_type")
  expect_error(rho_receipt(), class = "rhocap_error_missing")
})

test_that("a receipt that is not in this session is said to be elsewhere", {
  tree <- new_tree()
  result <- in_child(
    function(root) {
      capability <- rho_host_capability(read = root, cwd = root)
      rho_tool_read(capability)@execute("1", list(path = "f"))
    },
    list(tree$root)
  )
  expect_error(rho_receipt(result), class = "rhocap_error_value")
  expect_error(rho_receipt(result), "details$receipt", fixed = TRUE)
})

test_that("only the text of a receipt makes one, and what is made can be printed", {
  tree <- new_tree()
  json <- rho_move(tree_capability(tree), "f", "g")@receipt@json
  expect_identical(RhoReceipt(json)@json, json)
  needs("jsonlite")
  fields <- names(jsonlite::fromJSON(json, simplifyVector = FALSE))
  replace <- function(field, value) {
    facts <- jsonlite::fromJSON(json, simplifyVector = FALSE)
    facts[field] <- list(value)
    jsonlite::toJSON(facts, auto_unbox = TRUE, null = "null", digits = NA)
  }
  for (field in fields) {
    values <- list(1, "x\n\033[31m", NULL, TRUE, list(), list(1, "a"), list(a = list(b = NULL)))
    for (value in values) {
      text <- as.character(replace(field, value))
      receipt <- tryCatch(RhoReceipt(text), rhocap_error_type = function(cnd) NULL)
      if (!is.null(receipt)) {
        shown <- format(receipt)
        expect_no_match(shown, "[[:cntrl:]]")
      }
    }
    facts <- jsonlite::fromJSON(json, simplifyVector = FALSE)
    facts[[field]] <- NULL
    without <- jsonlite::toJSON(facts, auto_unbox = TRUE, null = "null", digits = NA)
    expect_error(RhoReceipt(as.character(without)), class = "rhocap_error_type")
  }
  for (text in c(
    "{\"schema\":\"rhocap.receipt/1\"}",
    "{\"rhocap_misuse\":\"chosen\",\"message\":\"m\",\"fields\":{}}",
    "[]",
    "\"rhocap.receipt/1\"",
    "null",
    invalid_strings()[[1]]
  )) {
    expect_error(RhoReceipt(text), class = "rhocap_error_type")
  }
})

test_that("a receipt says how much text was asked for", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  limit <- function(...) rho_read(capability, "f", ...)@receipt@request$limit
  expect_null(limit())
  expect_identical(limit(limit = 10), 10)
  expect_identical(limit(limit = Inf), "capability")
})

test_that("a receipt prints in plain words", {
  tree <- new_tree()
  capability <- tree_capability(tree)
  shown <- paste(format(rho_read(capability, "../x")@receipt), collapse = "\n")
  for (words in c("asked by the user with rho_read", "denied (Escape)", "path ../x", "admission")) {
    expect_match(shown, words, fixed = TRUE)
  }
  moved <- format(rho_move(capability, "f", "g")@receipt)
  expect_true(any(grepl("^  to: .*path g", moved)))
})
