# Generated arguments, right and wrong, for test-bad-input.R. All of it runs in a child process.

# Values to draw from. `tree` has a root that a capability allows and what lies outside.
bad_values <- function(tree, capability) {
  dead <- function(x) unserialize(serialize(x, NULL))
  used <- rho_admit(capability, "f")
  rho_read(capability, used)
  forged <- capability
  attr(forged, "handle") <- methods::new("externalptr")
  foreign <- capability
  attr(foreign, "handle") <- getDLLRegisteredRoutines("stats")$.Call[[1]]$address
  swapped <- capability
  attr(swapped, "handle") <- attr(rho_admit(capability, "f"), "handle")
  bytes <- "\xff\xfe"
  Encoding(bytes) <- "bytes"
  key <- rho_provider_credential(rho_secret_literal("a-key-of-no-use"), "127.0.0.1:1")
  auth <- rho_model_auth(key)
  request <- rho_http_request("GET", "http://127.0.0.1:1/", timeout_ms = 200L, auth = auth)
  latin1 <- "caf\xe9"
  Encoding(latin1) <- "latin1"
  value <- paste(sample(letters), collapse = "")
  secret <- rho_secret_literal(value)
  forgotten <- rho_secret_literal(value)
  rho_forget(forgotten)
  credential <- rho_provider_credential(secret, "api.example.org")
  entry <- rho_env_secret(secret, shared = TRUE)
  swapped_secret <- secret
  attr(swapped_secret, "handle") <- attr(entry, "handle")
  bare_secret <- secret
  attr(bare_secret, "handle") <- NULL
  attr(bare_secret, "label") <- list(1)
  list(
    secret, credential, entry, dead(secret), dead(credential), dead(entry), forgotten,
    swapped_secret, bare_secret, RhoSecret, "api.example.org", "*.example.org",
    NULL, NA, NA_character_, NA_integer_, NA_real_, NaN, TRUE, FALSE, logical(), c(TRUE, NA),
    0, 1, -1, 0.5, 3L, Inf, -Inf, 2^31, 2^53, 2^53 + 2, 1e300, numeric(), c(1, 2), 1:3, 1e9:1,
    "", "f", "a", ".", "..", "nope", "/", "../ROOT-evil/secret", "/etc/passwd", "~", "$HOME",
    file.path(tree$outside, "secret"), file.path(tree$root, "f"), tree$root, tree$base,
    "%s%n%d", "a\nb", "esc\u001b[31m", "\u202e", "\U0001f600", strrep("x", 1e5), strrep("a/", 5000),
    strrep("../", 100), character(), c("f", "a"), c(NA, "f"), latin1, "\xff", bytes, "read",
    "write", "absent", strrep("0", 32), "local", "none", "PATH", "LD_PRELOAD", "*.key", "[", "!",
    "\\",
    "{\"schema\":\"rhocap.receipt/1\"}", "{\"rhocap_misuse\":\"chosen\",\"message\":\"m\"}",
    sub(":\"allowed\"", ":[]", rho_read(capability, "f")@receipt@json, fixed = TRUE),
    raw(), as.raw(0), as.raw(c(0x66, 0x00)), charToRaw("f"), as.raw(c(0xff, 0xfe)), raw(1e5),
    list(), list(1), list(path = "f"), list(a = list(b = NULL)), list("f", "g"),
    1i, quote(x), quote(f(x)), expression(a), ~x, identity, sum, function(...) stop("ran"),
    new.env(), globalenv(), Sys.Date(), Sys.time(), factor("f"), data.frame(a = 1), matrix(1:4, 2),
    structure("f", class = "odd"), structure("f", class = "hostile"),
    structure(TRUE, class = "hostile"), structure(1, class = "hostile"),
    structure(list(), class = "hostile"),
    structure(1, names = "a"), structure(list(), class = "rho"),
    methods::new("externalptr"), getDLLRegisteredRoutines("stats")$.Call[[1]]$address,
    attr(capability, "handle"), capability, dead(capability), forged, foreign, swapped,
    used, dead(used), dead(rho_admit(capability, "f")), RhoText(text = "x"), RhoText, RhoOutcome,
    rho_read(capability, "f"), rho_read(capability, "nope"), rho_read(capability, "../x"),
    rho_read(capability, "f")@receipt, rho_limits(), rho_environment(), rho_env_inherit(),
    rho_environment_git("a", "b"), rho_process_none(), rho_process_confined(),
    rho_process_unrestricted(), rho_network_none(), rho_network_host(), rho_placement_local(),
    rho_placement_mirai("x"), rho_tool_read(capability)@execute("1", list(path = "f")),
    simpleError("e"), asNamespace("base"),
    key, auth, dead(auth), rho_basic("ada", key), dead(rho_bearer(key)), request, dead(request),
    list(`x-api-key` = key), list(a = latin1), list(a = bytes), list(a = list(b = key)),
    "http://127.0.0.1:1/", "GET", if (requireNamespace("httr2", quietly = TRUE)) {
      httr2::request("http://127.0.0.1:1/")
    }
  )
}

# A class all of whose methods fail. They must not be called, or what they signal be caught.
hostile_methods <- function() {
  for (generic in c(
    "length", "[", "[[", "$", "as.character", "is.na", "format", "print", "as.vector", "levels",
    "names", "anyNA", "xtfrm", "as.double", "is.numeric", "Ops", "Math", "Summary", "c", "rep"
  )) {
    registerS3method(generic, "hostile", function(...) stop("a method ran"), envir = baseenv())
  }
}

# A call of a function with drawn arguments. Often the first ones are right, so that the draw gets
# beyond the first check.
draw_arguments <- function(fun, values, capability) {
  names <- names(formals(args(fun)))
  chosen <- names[stats::runif(length(names)) < 0.8]
  arguments <- list()
  for (name in chosen) {
    value <- values[sample.int(length(values), 1L)]
    if (name == "capability" && stats::runif(1) < 0.7) {
      value <- list(capability)
    }
    if (name == "...") {
      label <- sample(c("", "A", "path", "process", "limits", "LD_PRELOAD", "timeout"), 1L)
      # Twice the same argument is R's own error.
      if (stats::runif(1) < 0.5 && !label %in% names) {
        arguments <- c(arguments, stats::setNames(value, label))
      }
    } else {
      arguments <- c(arguments, stats::setNames(value, name))
    }
  }
  arguments
}

# Calls one export `draws` times. What came of each call is written down before the next, so that a
# crash leaves the number of the call that did it.
run_draws <- function(export, draws, tree, log) {
  capability <- rho_host_capability(read = tree$root, write = tree$root, cwd = tree$root)
  values <- bad_values(tree, capability)
  hostile_methods()
  fun <- getExportedValue("rhocap", export)
  file <- file(log, "w")
  on.exit(close(file))
  set.seed(sum(utf8ToInt(export)) * 7919L)
  wrong <- character()
  for (draw in seq_len(draws)) {
    arguments <- draw_arguments(fun, values, capability)
    cat(draw, "\n", file = file)
    flush(file)
    problem <- tryCatch(
      {
        value <- do.call(fun, arguments, quote = TRUE)
        # What a call gives can be shown, unless it is only handed through, and a tool can be
        # called.
        ours <- !inherits(value, "hostile") && (S7::S7_inherits(value) || is.list(value))
        if (ours) utils::capture.output(print(value))
        if (S7::S7_inherits(value, RhoTool)) {
          answer <- value@execute("1", values[[sample.int(length(values), 1L)]])
          params <- draw_arguments(value@execute, values, capability)
          answer <- value@execute("1", stats::setNames(params, sample(
            c("path", "text", "old", "new", "command", "from", "to"), length(params), TRUE
          )))
          if (!S7::S7_inherits(answer, RhoToolResult)) stop("the tool gave no result")
        }
        NULL
      },
      rhocap_error = function(cnd) if (is.null(conditionCall(cnd))) NULL else "has a call",
      # A short secret, say.
      rhocap_warning = function(cnd) if (is.null(conditionCall(cnd))) NULL else "has a call",
      error = function(cnd) paste("error:", conditionMessage(cnd)[[1]]),
      warning = function(cnd) paste("warning:", conditionMessage(cnd)[[1]])
    )
    if (!is.null(problem)) {
      wrong <- c(wrong, sprintf("draw %d: %s", draw, substr(problem, 1L, 300L)))
    }
  }
  wrong
}
