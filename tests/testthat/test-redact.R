# Values are made here, at run time; no source holds one.
fresh_value <- function(size = 32) {
  paste(sample(c(letters, LETTERS, 0:9), size, TRUE), collapse = "")
}
marker <- "[redacted by rhocap]"

test_that("a known value is masked, and only it; NA, names and attributes stay", {
  value <- fresh_value()
  secret <- rho_secret_literal(value)
  text <- structure(
    c(a = paste0("x=", value, ";"), b = NA, c = "plain", d = value),
    note = "kept"
  )
  masked <- rho_redact(text)
  expect_identical(
    masked,
    structure(c(a = paste0("x=", marker, ";"), b = NA, c = "plain", d = marker), note = "kept")
  )
  expect_identical(rho_redact(text[c(2, 3)]), text[c(2, 3)])
  expect_identical(rho_redact(character()), character())
  expect_identical(rho_redact(matrix("plain", 2, 2)), matrix("plain", 2, 2))
  expect_identical(rho_redact(masked), masked)
  rho_forget(secret)
  expect_identical(rho_redact(text), text)
})

test_that("a value that goes over elements is masked in each", {
  value <- fresh_value(40)
  secret <- rho_secret_literal(value)
  bytes <- charToRaw(value)
  expect_identical(
    rho_redact(c("a", paste0("b", substr(value, 1, 20)), NA, substr(value, 21, 40), "c")),
    c("a", paste0("b", marker), NA, marker, "c")
  )
  lines <- list(
    raw = withr::with_options(list(width = 40), utils::capture.output(print(bytes))),
    codes = withr::with_options(list(width = 40), utils::capture.output(print(utf8ToInt(value)))),
    integers = deparse(utf8ToInt(value), width.cutoff = 20),
    letters = utils::capture.output(print(strsplit(value, "")[[1]]))
  )
  for (what in names(lines)) {
    masked <- rho_redact(lines[[what]])
    expect_gt(length(masked), 1L)
    expect_length(masked, length(lines[[what]]))
    # What is left are numbers of elements, and what stands around the first and the last.
    rest <- gsub(marker, "", masked, fixed = TRUE)
    expect_true(all(nchar(gsub("^ *\\[ *[0-9]+\\]", "", rest)) < 8L), label = what)
  }
})

test_that("the lines of a private key are masked, as readLines() gives them", {
  body <- replicate(5, fresh_value(64))
  name <- paste("PRIVATE", "KEY")
  key <- c(paste0("-----BEGIN ", name, "-----"), body, paste0("-----END ", name, "-----"))
  masked <- rho_redact(c("before", key, "after"))
  expect_identical(masked[c(1, 9)], c("before", "after"))
  expect_false(any(body %in% masked))
  expect_true(all(grepl(marker, masked[3:7], fixed = TRUE)))
})

test_that("names, labels and other attributes are masked, and a name counts for its element", {
  value <- fresh_value()
  secret <- rho_secret_literal(value)
  unknown <- paste0(fresh_value(12), "q7K")
  given <- list(
    names = stats::setNames(c("a", "b"), c(value, paste("x", value))),
    element = stats::setNames(c(unknown, "plain", NA), c("api_key", "other", "password")),
    header = c(Authorization = paste("Bearer", unknown)),
    dimnames = matrix("a", 1, 2, dimnames = list(value, c("b", value))),
    attribute = structure("a", note = value, more = list(b = list(value), c = 1)),
    named_attribute = structure("a", note = stats::setNames("x", value)),
    levels = factor(c(value, "b", NA), levels = c("b", value)),
    both = structure(c(a = value), class = "odd", comment = value)
  )
  for (what in names(given)) {
    masked <- rho_redact(given[[what]])
    bytes <- serialize(masked, NULL)
    for (hidden in c(value, unknown)) {
      expect_length(grepRaw(hidden, bytes, fixed = TRUE), 0L)
    }
    expect_identical(typeof(masked), typeof(given[[what]]))
    expect_identical(class(masked), class(given[[what]]))
    expect_identical(names(attributes(masked)), names(attributes(given[[what]])))
  }
  expect_identical(
    rho_redact(given$names),
    stats::setNames(c("a", "b"), c(marker, paste("x", marker)))
  )
  expect_identical(
    rho_redact(given$element),
    stats::setNames(c(marker, "plain", NA), c("api_key", "other", "password"))
  )
  expect_identical(rho_redact(given$header), c(Authorization = paste("Bearer", marker)))
  expect_identical(as.character(rho_redact(given$levels)), c(marker, "b", NA))
  expect_identical(rho_redact(factor(c("a", "b"))), factor(c("a", "b")))
  plain <- structure(c(password = "swordfish"), note = list(a = 1, "b"), class = "odd")
  expect_identical(rho_redact(plain), plain)
  cnd <- tryCatch(rho_redact(list(value)), error = identity)
  expect_match(conditionMessage(cnd), "rapply", fixed = TRUE)
  listed <- rapply(list(a = value, b = list(1, value)), rho_redact, "character", how = "replace")
  expect_identical(listed, list(a = marker, b = list(1, marker)))
  rho_forget(secret)
})

test_that("R's text of the last error holds no key", {
  value <- fresh_value()
  secret <- rho_secret_literal(value)
  odd <- structure(
    class = c("odd", "error", "condition"),
    list(message = paste("e", value), call = call("f", value))
  )
  codes <- list(
    try = quote(try(rho_with_redaction(stop(value)), silent = TRUE)),
    try_call = quote(try(rho_with_redaction((function(x) stop(x))(value)), silent = TRUE)),
    tryCatch = quote(tryCatch(rho_with_redaction(stop(value)), error = identity)),
    condition = quote(try(rho_with_redaction(stop(odd)), silent = TRUE)),
    inside = quote(rho_with_redaction(try(stop(value), silent = TRUE))),
    inside_caught = quote(rho_with_redaction(tryCatch(stop(value), error = function(cnd) 1))),
    nested = quote(try(rho_with_redaction(rho_with_redaction(stop(value))), silent = TRUE)),
    parts = quote(try(rho_with_redaction(stop(substr(value, 1, 9), substr(value, 10, 32))), TRUE))
  )
  for (code in names(codes)) {
    seen <- 0L
    withCallingHandlers(eval(codes[[code]]), error = function(cnd) seen <<- seen + 1L)
    expect_false(grepl(value, geterrmessage(), fixed = TRUE), label = code)
    expect_true(grepl(marker, geterrmessage(), fixed = TRUE), label = code)
    # Handlers outside are told once at most of what came out, and not of what is done here.
    expect_lte(seen, 2L)
  }
  try(stop("before"), silent = TRUE)
  rho_with_redaction(1)
  expect_match(geterrmessage(), "before", fixed = TRUE)
  rho_forget(secret)
})

test_that("other encodings keep their mark, and their secrets are found", {
  value <- fresh_value()
  secret <- rho_secret_literal(value)
  latin1 <- paste0("caf\xe9 ", value)
  Encoding(latin1) <- "latin1"
  expect_identical(rho_redact(latin1), paste0("caf\u00e9 ", marker))
  plain <- "caf\xe9"
  Encoding(plain) <- "latin1"
  expect_identical(Encoding(rho_redact(c(plain, value)))[[1]], "latin1")
  bytes <- paste0("\xff\xfe ", value)
  Encoding(bytes) <- "bytes"
  masked <- rho_redact(bytes)
  expect_identical(Encoding(masked), "bytes")
  expect_identical(charToRaw(masked), c(as.raw(c(0xff, 0xfe, 0x20)), charToRaw(marker)))
  invalid <- paste0("\xff", value)
  expect_identical(charToRaw(rho_redact(invalid)), c(as.raw(0xff), charToRaw(marker)))
  expect_identical(Encoding(rho_redact(paste0("\u20ac", value))), "UTF-8")
  rho_forget(secret)
})

test_that("a long vector is masked in parts", {
  value <- fresh_value()
  secret <- rho_secret_literal(value)
  long <- rep(strrep("ordinary line\n", 1e5), 30)
  long[c(1, 30)] <- paste0(long[c(1, 30)], value)
  masked <- rho_redact(long)
  expect_identical(which(masked != long), c(1L, 30L))
  expect_true(all(endsWith(masked[c(1, 30)], marker)))
  rho_forget(secret)
})

test_that("what is no text is a classed condition that does not show it", {
  value <- fresh_value()
  for (given in list(NULL, 1, list(value), 1L, TRUE, quote(x), charToRaw(value))) {
    cnd <- tryCatch(rho_redact(given), error = identity)
    expect_s3_class(cnd, "rhocap_error_type")
    expect_null(conditionCall(cnd))
    expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE))
  }
  expect_error(rho_redact(), class = "rhocap_error_missing")
  expect_error(rho_with_redaction(), class = "rhocap_error_missing")
})

# What a script printed, both streams.
printed <- function(code, env = parent.frame()) {
  error <- tempfile()
  file <- file(error, "w")
  sink(file, type = "message")
  output <- tryCatch(
    utils::capture.output(value <- eval(code, env)),
    finally = {
      sink(type = "message")
      close(file)
    }
  )
  list(output = output, error = readLines(error), value = value)
}

test_that("what foreign code prints is masked, also in parts and over both streams", {
  value <- fresh_value()
  secret <- rho_secret_literal(value)
  half <- c(substr(value, 1, 15), substr(value, 16, 32))
  parts <- printed(quote(rho_with_redaction({
    cat("a ", half[[1]], sep = "")
    cat(half[[2]], "b\n")
    print(value)
    7
  })))
  expect_identical(parts$output, c(paste0("a ", marker, " b"), paste0("[1] \"", marker, "\"")))
  expect_identical(parts$value, 7)

  streams <- printed(quote(rho_with_redaction({
    cat("out ", half[[1]], sep = "")
    cat(half[[2]], "\n", file = stderr())
  })))
  all <- paste(c(streams$output, streams$error), collapse = " ")
  expect_match(all, marker, fixed = TRUE)
  expect_false(any(vapply(half, grepl, NA, all, fixed = TRUE)))

  messages <- printed(quote(rho_with_redaction({
    message(half[[1]], appendLF = FALSE)
    message(half[[2]])
    cat("between\n")
    message("last ", value)
  })))
  expect_identical(messages$output, "between")
  expect_identical(messages$error, c(marker, paste("last", marker)))
  rho_forget(secret)
})

test_that("messages, warnings and errors come through masked, with class and restarts", {
  value <- fresh_value()
  secret <- rho_secret_literal(value)
  seen <- list()
  result <- withVisible(withCallingHandlers(
    rho_with_redaction({
      message("m ", value)
      warning(structure(
        class = c("odd", "warning", "condition"),
        list(message = paste("w", value), call = NULL, key = value)
      ))
      invisible("value")
    }),
    message = function(cnd) {
      seen$message <<- cnd
      invokeRestart("muffleMessage")
    },
    warning = function(cnd) {
      seen$warning <<- cnd
      invokeRestart("muffleWarning")
    }
  ))
  expect_identical(result, list(value = "value", visible = FALSE))
  expect_identical(conditionMessage(seen$message), paste0("m ", marker, "\n"))
  expect_s3_class(seen$message, c("simpleMessage", "message", "condition"), exact = TRUE)
  expect_s3_class(seen$warning, c("odd", "warning", "condition"), exact = TRUE)
  expect_identical(seen$warning$message, paste("w", marker))
  expect_identical(seen$warning$key, marker)
  expect_true(withVisible(rho_with_redaction(1))$visible)

  f <- function(key) {
    stop(structure(
      class = c("mine", "error", "condition"),
      list(message = paste("e", key), call = sys.call(), body = charToRaw(key))
    ))
  }
  cnd <- tryCatch(eval(bquote(rho_with_redaction(f(.(value))))), mine = identity)
  expect_s3_class(cnd, c("mine", "error", "condition"), exact = TRUE)
  expect_length(grepRaw(value, serialize(cnd, NULL), fixed = TRUE), 0)
  rho_forget(secret)
})

test_that("what nobody handles is shown masked by R itself, under each setting of warn", {
  skip_if_not_installed("callr")
  for (setting in 0:2) {
    error <- tempfile()
    value <- fresh_value()
    run <- tryCatch(
      callr::r(
        function(value, setting) {
          options(warn = setting)
          secret <- rhocap::rho_secret_literal(value)
          f <- function(x) {
            message("m ", x)
            warning("w ", x)
            stop("e ", x)
          }
          rhocap::rho_with_redaction(f(value))
        },
        list(value = value, setting = setting),
        stderr = error,
        libpath = .libPaths()
      ),
      error = identity
    )
    shown <- c(readLines(error), conditionMessage(run), conditionMessage(run$parent))
    expect_false(any(grepl(value, shown, fixed = TRUE)))
    expect_match(paste(shown, collapse = " "), paste("m", marker), fixed = TRUE)
    last <- paste(if (setting == 2) "w" else "e", marker)
    expect_match(conditionMessage(run$parent), last, fixed = TRUE)
  }
})

test_that("code that takes down or leaves diversions is told of, and all is as before", {
  codes <- list(
    quote(sink()),
    quote({
      sink()
      sink(tempfile())
    }),
    quote(sink(tempfile())),
    quote(sink(type = "message"))
  )
  depth <- sink.number()
  messages <- sink.number(type = "message")
  for (code in codes) {
    warned <- NULL
    value <- withCallingHandlers(
      utils::capture.output(value <- eval(bquote(rho_with_redaction({
        .(code)
        9
      })))),
      rhocap_warning_diversion = function(cnd) {
        warned <<- cnd
        invokeRestart("muffleWarning")
      }
    )
    expect_s3_class(warned, "rhocap_warning")
    expect_identical(sink.number(), depth)
    expect_identical(sink.number(type = "message"), messages)
  }
  quiet <- function() {
    rho_with_redaction({
      utils::capture.output(print(1))
      suppressMessages(message("x"))
      2
    })
  }
  expect_no_warning(expect_identical(quiet(), 2))
  before <- nrow(showConnections())
  for (index in 1:5) rho_with_redaction(1)
  expect_identical(nrow(showConnections()), before)
})

test_that("an interrupt and a way out of the expression leave no diversion", {
  depth <- sink.number()
  f <- function() {
    rho_with_redaction(return("out"))
    "not out"
  }
  expect_identical(f(), "out")
  caught <- tryCatch(
    rho_with_redaction(stop(structure(class = c("interrupt", "condition"), list()))),
    interrupt = function(cnd) "interrupted"
  )
  expect_identical(caught, "interrupted")
  expect_identical(sink.number(), depth)
  nested <- utils::capture.output(rho_with_redaction(rho_with_redaction(cat("in\n"))))
  expect_identical(nested, "in")
})

test_that("what is made by chance is masked after a name, and a word is not", {
  for (i in 1:20) {
    value <- paste(sample(c(letters, LETTERS, 0:9), 20, TRUE), collapse = "")
    shown <- utils::capture.output(
      rho_with_redaction(cat("login with password=", value, "\n", sep = ""))
    )
    expect_identical(shown, "login with password=[redacted by rhocap]")
  }
  for (text in c("password=swordfish", "password=short7", "password = get_password()")) {
    expect_identical(rho_redact(text), text)
  }
})
