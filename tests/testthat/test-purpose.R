# What a secret is for: contract point 7, in both directions and both orders.

test_that("each purpose has its class, and neither is taken for the other", {
  secret <- rho_secret_literal(canary())
  credential <- rho_provider_credential(secret, c("API.example.org.", "*.example.net:8443"))
  expect_identical(credential@hosts, c("api.example.org", "*.example.net:8443"))
  expect_identical(credential@id, secret@id)
  entry <- rho_env_secret(rho_secret_literal(canary()))
  expect_false(entry@shared)
  refused <- alist(
    rho_env_secret(credential),
    rho_env_secret(entry),
    rho_provider_credential(entry, "api.example.org"),
    rho_provider_credential(credential, "api.example.org"),
    rho_environment(KEY = credential),
    rho_environment(KEY = secret)
  )
  for (code in refused) {
    cnd <- expect_error(eval(code), class = "rhocap_error_purpose")
    expect_match(conditionMessage(cnd), "rho_env_secret|rho_provider_credential")
    expect_null(conditionCall(cnd))
  }
  for (given in list("text", 1, NULL, NA, list(secret), RhoSecret)) {
    expect_error(rho_env_secret(given), class = "rhocap_error_type")
    expect_error(rho_provider_credential(given, "a.b"), class = "rhocap_error_type")
  }
  expect_error(rho_env_secret(), class = "rhocap_error_missing")
  expect_error(rho_provider_credential(), class = "rhocap_error_missing")
  expect_error(rho_provider_credential(secret), class = "rhocap_error_missing")
  expect_error(rho_env_secret(secret, shared = NA), class = "rhocap_error_type")
})

test_that("a value that goes to a provider is no entry of an environment, in both orders", {
  for (text in list(identity, function(value) paste0("Bearer ", value, " "))) {
    value <- canary()
    make <- list(
      credential = function() rho_provider_credential(rho_secret_literal(value), "api.example.org"),
      entry = function(shared = FALSE) rho_env_secret(rho_secret_literal(text(value)), shared)
    )
    credential <- make$credential()
    cnd <- expect_error(make$entry(), class = "rhocap_error_purpose")
    expect_match(conditionMessage(cnd), "shared = TRUE", fixed = TRUE)
    expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE))
    shared <- make$entry(TRUE)
    expect_true(shared@shared)
    # While it is alive; then the value is free.
    rm(credential, shared, cnd)
    invisible(gc())
    entry <- make$entry()
    cnd <- expect_error(make$credential(), class = "rhocap_error_purpose")
    expect_match(conditionMessage(cnd), "shared = TRUE", fixed = TRUE)
    rm(entry, cnd)
    invisible(gc())
    shared <- make$entry(TRUE)
    expect_s3_class(make$credential(), "rhocap::RhoProviderCredential")
  }
})

test_that("no literal and nothing inherited by its name gives tools a provider's credential", {
  tree <- new_tree()
  value <- canary()
  credential <- rho_provider_credential(rho_secret_literal(value), "api.example.org")
  made <- function(environment) {
    rho_host_capability(
      read = tree$root, cwd = tree$root, process = rho_process_none(),
      environment = environment
    )
  }
  with_variables(list(OF_TOOLS = paste("Bearer", value)), {
    for (environment in list(
      rho_environment(A = "a", B = value),
      rho_environment(OF_TOOLS = rho_env_inherit())
    )) {
      cnd <- expect_error(made(environment), class = "rhocap_error_purpose")
      expect_match(conditionMessage(cnd), "shared = TRUE", fixed = TRUE)
      expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE))
    }
    shared <- rho_env_secret(rho_secret_literal(value), shared = TRUE)
    expect_s3_class(made(rho_environment(B = shared)), "rhocap::RhoHostCapability")
    rm(credential, cnd)
    invisible(gc())
    capability <- made(rho_environment(OF_TOOLS = rho_env_inherit()))
    expect_s3_class(capability, "rhocap::RhoHostCapability")
  })
})

# The ways in which a tool could have a value, each as a function of the text. What it gives holds
# that.
ways_to_tools <- function(tree) {
  made <- function(environment) {
    rho_host_capability(
      read = tree$root, cwd = tree$root, process = rho_process_none(),
      environment = environment
    )
  }
  inherited <- function(environment) {
    function(text) with_variables(list(OF_TOOLS = text), made(environment()))
  }
  list(
    secret = function(text) rho_env_secret(rho_secret_literal(text)),
    literal = function(text) made(rho_environment(A = "a", OF_TOOLS = text)),
    inherited = inherited(function() rho_environment(OF_TOOLS = rho_env_inherit())),
    beside_all = function(text) made(rho_environment_inherited(OF_TOOLS = text)),
    narrowed = function(text) {
      rho_narrow(made(rho_environment(A = "a", OF_TOOLS = text)), environment = "OF_TOOLS")
    },
    named_of_all = function(text) {
      whole <- with_variables(list(OF_TOOLS = text), made(rho_environment_inherited()))
      rho_narrow(whole, environment = "OF_TOOLS")
    }
  )
}

test_that("in both orders, from every source, in every form", {
  needs("jsonlite")
  tree <- new_tree()
  ways <- ways_to_tools(tree)
  hex <- function(value) paste(charToRaw(value), collapse = "")
  forms <- list(
    plain = identity,
    bearer = function(value) paste("Bearer", value),
    user = function(value) paste0("user:", value),
    within = function(value) paste0("x", value, "y"),
    base64 = jsonlite::base64_enc,
    base64url = jsonlite::base64url_enc,
    basic = function(value) paste("Basic", jsonlite::base64_enc(paste0("user:", value))),
    hex = hex,
    upper = function(value) toupper(hex(value))
  )
  sources <- list(
    literal = rho_secret_literal,
    env = function(value) with_variables(list(OF_KEY = value), rho_secret_env("OF_KEY")),
    file = function(value) rho_secret_file(put(tempfile(), value))
  )
  number <- 0L
  for (way in names(ways)) {
    for (form in names(forms)) {
      number <- number + 1L
      source <- sources[[1L + number %% length(sources)]]
      label <- paste(way, form)
      value <- canary()
      text <- forms[[form]](value)
      credential <- credential_of(source(value))
      cnd <- expect_error(ways[[way]](text), class = "rhocap_error_purpose", label = label)
      expect_match(conditionMessage(cnd), "shared = TRUE", fixed = TRUE, label = label)
      expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE), label = label)
      # What is given up counts no more, collected or not.
      rm(credential, cnd)
      held <- ways[[way]](text)
      cnd <- expect_error(
        credential_of(source(value)),
        class = "rhocap_error_purpose", label = label
      )
      expect_match(conditionMessage(cnd), "shared = TRUE", fixed = TRUE, label = label)
      expect_false(grepl(value, conditionMessage(cnd), fixed = TRUE), label = label)
      rm(held, cnd)
      expect_s3_class(credential_of(source(value)), "rhocap::RhoProviderCredential")
    }
  }
})

test_that("a smaller capability holds what it was left, and no more", {
  tree <- new_tree()
  value <- canary()
  capability <- tree_capability(tree, environment = rho_environment(OF_TOOLS = value))
  smaller <- rho_narrow(capability, environment = "OF_TOOLS")
  none <- rho_narrow(capability, environment = character())
  rm(capability)
  cnd <- expect_error(
    credential_of(rho_secret_literal(value)),
    class = "rhocap_error_purpose"
  )
  expect_identical(cnd$name, "OF_TOOLS")
  expect_match(conditionMessage(cnd), "rho_environment(OF_TOOLS = ", fixed = TRUE)
  rm(smaller, cnd)
  expect_s3_class(credential_of(rho_secret_literal(value)), "rhocap::RhoProviderCredential")
  expect_s3_class(none, "rhocap::RhoHostCapability")
})

test_that("what everybody inherits takes no credential away", {
  tree <- new_tree()
  value <- canary()
  names <- c("PATH", "HOME", "LANG")
  entries <- stats::setNames(lapply(names, function(name) rho_env_inherit()), names)
  with_variables(list(PATH = file.path("/opt/k3y5/bin", "x"), LANG = "C.UTF-8", OF_KEY = value), {
    capabilities <- list(
      tree_capability(tree, environment = do.call(rho_environment, entries)),
      tree_capability(tree, environment = rho_environment(CI = "true", A = "", B = "x"))
    )
    # Everything, which is meant with the keys in it.
    everything <- tree_capability(tree, environment = rho_environment_inherited())
    for (key in c(value, paste0("true", value), paste0("/opt/k3y5/bin/x", value))) {
      expect_s3_class(credential_of(rho_secret_literal(key)), "rhocap::RhoProviderCredential")
    }
    short <- suppressWarnings(rho_secret_literal("k3y5"), classes = "rhocap_warning_short_secret")
    expect_s3_class(credential_of(short), "rhocap::RhoProviderCredential")
  })
  expect_length(capabilities, 2L)
})

test_that("a value in a capability's environment is no provider's while the capability is there", {
  tree <- new_tree()
  value <- canary()
  capability <- tree_capability(
    tree,
    environment = rho_environment(KEY = rho_env_secret(rho_secret_literal(value)))
  )
  invisible(gc())
  expect_error(
    rho_provider_credential(rho_secret_literal(value), "api.example.org"),
    class = "rhocap_error_purpose"
  )
  expect_identical(capability@environment$kind[capability@environment$name == "KEY"], "secret")
})

test_that("one secret is not both", {
  secret <- rho_secret_literal(canary())
  credential <- rho_provider_credential(secret, "api.example.org")
  expect_error(rho_env_secret(secret), class = "rhocap_error_purpose")
  expect_true(rho_env_secret(secret, shared = TRUE)@shared)
  other <- rho_secret_literal(canary())
  entry <- rho_env_secret(other)
  expect_error(rho_provider_credential(other, "a.b"), class = "rhocap_error_purpose")
})

test_that("hosts are names, and no more than a domain", {
  secret <- rho_secret_literal(canary())
  for (host in c(
    "", "*", "*.com", "https://example.org", "example.org/x", "a b", "ex\u00e4mple.org", "a..b",
    "user@example.org", "example.org:0", "::1", "127.1"
  )) {
    cnd <- expect_error(rho_provider_credential(secret, host), class = "rhocap_error_hosts")
    expect_match(conditionMessage(cnd), "no host of a credential")
  }
  expect_error(rho_provider_credential(secret, character()), class = "rhocap_error_hosts")
  expect_error(rho_provider_credential(secret, NULL), class = "rhocap_error_type")
  expect_error(rho_provider_credential(secret, c("a.b", NA)), class = "rhocap_error_value")
})

test_that("what no header can carry is no credential, and can be an entry", {
  secret <- rho_secret_literal(paste0(canary(), "\n", canary()))
  expect_error(rho_provider_credential(secret, "a.b"), class = "rhocap_error_credential")
  expect_match(format(rho_env_secret(secret)), "^<RhoEnvSecret>")
})

test_that("commands get the values of their entries, and nothing else shows them", {
  needs("jsonlite")
  tree <- new_tree()
  value <- canary()
  reference <- put(file.path(tree$root, "reference"), value)
  entry <- rho_env_secret(rho_secret_literal(value))
  environment <- rho_environment(CI = "true", TOOL_KEY = entry)
  expect_match(format(environment), "TOOL_KEY (secret literal)", fixed = TRUE, all = FALSE)
  capability <- command_capability(tree, environment = environment)
  command <- "if [ \"$TOOL_KEY\" = \"$(cat reference)\" ]; then echo same; fi; echo ${#OTHER_KEY}"
  result <- rho_bash(capability, command)
  expect_identical(result@output, "same\n0\n")
  entries <- result@receipt@environment
  expect_identical(Find(function(one) one$name == "TOOL_KEY", entries)$kind, "secret")
  shown <- c(
    utils::capture.output(print(capability, all = TRUE)),
    utils::capture.output(print(environment), utils::str(environment)),
    result@receipt@json
  )
  expect_match(shown, "secret: TOOL_KEY", all = FALSE)
  expect_hidden(shown, value)
  expect_hidden(serialize(list(capability, environment, result), NULL), value)
  # The digest covers the name and the kind, not the value.
  digest <- function(...) command_capability(tree, environment = rho_environment(...))@digest
  other <- rho_env_secret(rho_secret_literal(canary()))
  expect_identical(digest(CI = "true", TOOL_KEY = other), capability@digest)
  expect_false(identical(digest(CI = "true", OTHER_KEY = other), capability@digest))
  expect_false(identical(digest(CI = "true", TOOL_KEY = "x"), capability@digest))
  # Narrowing takes entries away and keeps secrets.
  kept <- rho_narrow(capability, environment = "TOOL_KEY")
  expect_identical(rho_bash(kept, command)@output, "same\n0\n")
  none <- rho_narrow(capability, environment = character())
  expect_identical(rho_bash(none, command)@output, "0\n")
  # The value is in no other process's arguments, and not in those of the command.
  seen <- rho_bash(capability, "tr '\\0' '\\n' < /proc/$$/cmdline")
  expect_hidden(seen@output_raw, value)
})

test_that("an entry of a secret obeys the rules of names", {
  entry <- rho_env_secret(rho_secret_literal(canary()))
  tree <- new_tree()
  for (name in c("LD_PRELOAD", "1A")) {
    environment <- do.call(rho_environment, stats::setNames(list(entry), name))
    expect_error(
      tree_capability(tree, environment = environment),
      class = "rhocap_error_environment"
    )
  }
  expect_error(
    rho_environment(rho_environment(A = entry), A = "x"),
    class = "rhocap_error_environment"
  )
  # Where a message shows the call that works, it says how an entry is made and not of what.
  code <- tryCatch(
    rho_host_capability(
      read = tree$root,
      cwd = tree$root,
      environment = rho_environment(A = entry),
      process = rho_process_unrestricted()
    ),
    rhocap_error_not_enforceable = conditionMessage
  )
  expect_match(code, "A = rho_env_secret(...)", fixed = TRUE)
})
