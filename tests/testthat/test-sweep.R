# One value in everything that can hold one: nothing that a session writes has it, in any encoding.

# Runs in another process, which never has the value as a string of R. All that it writes is in
# `out`.
sweep_session <- function(source, out, project) {
  library(rhocap)
  file <- function(name) file.path(out, name)
  key <- rho_secret_file(source)
  provider <- rho_provider_credential(rho_secret_file(source), "127.0.0.1")
  entry <- rho_env_secret(key, shared = TRUE)
  capability <- rho_project_capability(
    project,
    process = rho_process_unrestricted(),
    network = rho_network_host(),
    environment = rho_environment(SWEEP = entry)
  )
  auth <- rho_model_auth(provider, headers = list(`x-other` = rho_bearer(provider)))
  request <- rho_http_request(
    "POST",
    "http://127.0.0.1:1/path",
    headers = list(authorization = rho_basic("ada", provider)),
    body = list(token = provider),
    query = list(key = provider)
  )
  # What a command says of its value, of itself and of all processes that it sees.
  commands <- c(
    "printf '%s' \"$SWEEP\"; printf '%s' \"$SWEEP\" | base64; printf '%s' \"$SWEEP\" | od -An -tx1",
    "env; set; export -p; cat /proc/self/environ",
    "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
    "printf 'key: %s\\n' \"$SWEEP\" > held.txt; exit 3",
    "nosuchcommand \"$SWEEP\""
  )
  tools <- rho_capability_tools(capability)
  values <- list(
    key, provider, entry, capability, auth, request,
    rho_bearer(provider), rho_basic("ada", provider),
    tryCatch(paste(key), error = identity),
    tryCatch(provider$key, error = identity),
    tryCatch(rho_env_secret(provider), error = identity),
    lapply(commands, function(command) rho_bash(capability, command, spill = TRUE)),
    rho_read(capability, "held.txt"),
    rho_edit(capability, "held.txt", "key: ", "the key: "),
    rho_list(capability),
    rho_write(capability, "held.txt", "more\n", append = TRUE),
    S7::prop(tools$read, "execute")("1", list(path = "held.txt")),
    S7::prop(tools$bash, "execute")("2", list(command = commands[[1L]])),
    rho_receipts()
  )
  for (value in c(values, list(values))) {
    print(value)
    utils::str(value)
    try(cat(format(value), sep = "\n"), silent = TRUE)
    try(message(value), silent = TRUE)
  }
  for (ascii in c(TRUE, FALSE)) {
    saveRDS(values, file(sprintf("values-%d.rds", ascii)), ascii = ascii, compress = FALSE)
  }
  # R 4.2 cannot do it with all of them; what it wrote until then counts.
  try(dput(lapply(values, unclass), file("dput.R")))
  try(dump("values", file("dump.R")))
  options(error = quote(NULL))
  failing <- function(given) stop("in here")
  try(withCallingHandlers(
    failing(key),
    error = function(cnd) utils::dump.frames(file("frames"), to.file = TRUE)
  ))
  if (file.exists("last.dump.rda")) file.rename("last.dump.rda", file("frames.rda"))
  # Not compressed, so that what is in it can be found.
  save(list = ls(), file = file("image.rda"), compress = FALSE)
  writeLines(rho_receipts()$json, file("receipts.json"))
  # The file that holds the value is no output; what R's commands kept of theirs is.
  spills <- vapply(values[[12L]], function(result) S7::prop(result, "spilled"), "")
  file.copy(spills, file(paste0("spill-", seq_along(spills))))
  invisible(TRUE)
}

test_that("nothing that a session writes has a secret, in any encoding", {
  needs("callr")
  tree <- new_tree()
  value <- canary()
  source <- file.path(tree$outside, "source")
  put(source, paste0(value, "\n"))
  out <- file.path(tree$base, "out")
  dir.create(out)
  callr::r(
    sweep_session,
    list(source = source, out = out, project = tree$root),
    stdout = file.path(out, "stdout"),
    stderr = file.path(out, "stderr"),
    wd = out,
    timeout = 300
  )
  # It had the value, and its command wrote it.
  expect_match(rawToChar(get_bytes(file.path(tree$root, "held.txt"))), value, fixed = TRUE)
  written <- list.files(out, all.files = TRUE, recursive = TRUE, full.names = TRUE)
  expect_true(all(
    c("stdout", "stderr", "values-0.rds", "dput.R", "image.rda", "receipts.json", "spill-1") %in%
      basename(written)
  ))
  expect_gt(file.size(file.path(out, "stdout")), 5000)
  for (file in written) {
    expect_hidden(get_bytes(file), value, basename(file))
  }
})
