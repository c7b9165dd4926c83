# Secrets: values that live in Rust. R holds a handle, a random id, a label and where it came from.

#' @include hidden.R
NULL

#' Secrets
#'
#' @description
#' A secret is a value that nothing in R shows: not print, `str()`, `dput()`, `saveRDS()`, an error
#' or a traceback. The bytes live in Rust, and are wiped when the last holder is gone; R has a
#' handle, a random `id`, a `label` and the name of the source.
#'
#' * `rho_secret_env()` takes an environment variable of the R process.
#' * `rho_secret_file()` takes what a file holds, or the entry `name` of a file of `NAME=value`
#'   lines such as `.Renviron` or `.env`. The file is read in Rust: the value is never a string of
#'   R's.
#' * `rho_secret_descriptor()` takes what an open descriptor gives until its end, and closes it: for
#'   an R that is started as `Rscript script.R 3< file`. It is read in Rust as well.
#' * `rho_secret_keyring()` asks the operating system's keyring, with the package keyring.
#' * `rho_secret_prompt()` asks a person, with the package askpass.
#'
#' [rho_secret_literal()] is for what you have as a string already. What a secret may be used for
#' is said by [rho_provider_credential()] and [rho_env_secret()]. [rho_reveal()] shows the value.
#'
#' @details
#' From its making on, the redactor knows a secret: what rhocap gives to a model, to R or to a
#' receipt has a marker in its place. That ends with its last holder, unless it was given to a
#' command or shown; then it lasts until [rho_forget()]. So values that would mask ordinary text
#' are refused: fewer than 4 bytes (`rhocap_error_short_secret`), an ordinary word such as
#' `password`, or one character repeated (`rhocap_error_ordinary_secret`). One of 4 to 7 bytes is
#' masked only where it stands as a word of its own, with a warning (`rhocap_warning_short_secret`).
#' A value is text in UTF-8 without NUL bytes, at most 64 KiB (`rhocap_error_secret_value`). A
#' source that is not there is a `rhocap_error_secret_source`.
#'
#' When rhocap is loaded, the redactor also learns the values of the environment variables whose
#' names end as those of secrets do (`..._KEY`, `..._TOKEN`, `..._SECRET`, `..._PASSWORD`,
#' `..._PAT` and their like).
#'
#' Before R 4.3, `dput()` and `deparse()` of any S7 value, a secret among them, end in an error of
#' R's, which shows nothing. From then on they show the handle, the id and the label.
#'
#' Limits. A value from the environment, a keyring or a prompt was a string of R's or a part of the
#' process once; what of these copies is left in memory is beyond reach. `unset = TRUE` takes the
#' variable away from R and from what it starts later, not from the memory that the system shows in
#' `/proc/PID/environ`. A handle belongs to its process: one that was saved and loaded, or sent to
#' another process, is a `rhocap_error_stale_handle`, one in a forked R a `rhocap_error_forked`.
#'
#' @param name The name of an environment variable; for `rho_secret_file()` of an entry, or `NULL`
#'   for the whole file, without one line ending at its end. Of an entry the last line counts;
#'   quotes around it are left out, and nothing in it is expanded.
#' @param unset Whether R forgets the variable: [Sys.unsetenv()].
#' @param path The path of a regular file of at most 64 KiB.
#' @param fd The number of a descriptor that R was started with: a file or a pipe, from 3 on.
#'   It must come to its end within 10 seconds.
#' @param service,username What the keyring knows the secret by.
#' @param prompt What the person is asked.
#' @return A value of class `RhoSecret` with the properties `id`, `label`, `source` and `handle`.
#'   Two of them are compared by `==` and [all.equal()], in Rust.
#' @section Errors:
#' `rhocap_error_secret_source` where there is nothing to read, `rhocap_error_secret_value`,
#' `rhocap_error_short_secret` and `rhocap_error_ordinary_secret` for a value that is none, and
#' those of a wrong argument; see [rhocap_conditions]. None of them holds the value.
#' @family secrets
#' @examples
#' path <- tempfile()
#' value <- paste(c("file-", sample(letters, 20)), collapse = "")
#' writeLines(paste0("EXAMPLE_KEY=", value), path)
#' secret <- rho_secret_file(path, name = "EXAMPLE_KEY")
#' secret
#' str(secret)
#' try(paste("Bearer", secret))
#' unlink(path)
#' @export
rho_secret_env <- function(name, unset = FALSE) {
  name <- check_text(check_string(name, "name", empty = FALSE), "name")
  unset <- check_flag(unset, "unset")
  secret <- new_secret(core_secret_env(name))
  if (unset) {
    Sys.unsetenv(name)
  }
  secret
}

#' @rdname rho_secret_env
#' @export
rho_secret_file <- function(path, name = NULL) {
  path <- check_text(check_string(path, "path", "the path of a file", empty = FALSE), "path")
  if (!is.null(name)) {
    name <- check_text(check_string(name, "name", "one string or NULL", empty = FALSE), "name")
  }
  # Of a path that is too long R warns as well; the core refuses it.
  new_secret(core_secret_file(suppressWarnings(path.expand(path)), name))
}

#' @rdname rho_secret_env
#' @export
rho_secret_descriptor <- function(fd) {
  if (missing(fd)) {
    abort_missing("fd", "the number of a descriptor that R was started with, from 3 on")
  }
  fd <- check_number(fd, "fd", least = 3, most = 2^31 - 1)
  # R has its script open as if it had inherited it.
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- if (length(script) > 0L && is_utf8(script[[1L]])) script[[1L]]
  # Between taking the descriptor over and waiting for it nothing may stop.
  started <- suspendInterrupts(check_boundary(core_secret_descriptor(fd, script)))
  running <- identical(started[[1L]], "running")
  new_secret(if (running) await_job(started[[2L]]) else started[[2L]])
}

#' @rdname rho_secret_env
#' @export
rho_secret_keyring <- function(service, username = NULL) {
  service <- check_text(check_string(service, "service", empty = FALSE), "service")
  if (!is.null(username)) {
    username <- check_text(check_string(username, "username", "one string or NULL"), "username")
  }
  check_package("keyring", "rho_secret_keyring()")
  # What a backend signals is not shown: nobody knows what stands in it.
  value <- tryCatch(
    suppressWarnings(keyring::key_get(service, username = username)),
    error = function(cnd) NULL
  )
  if (!is.character(value) || length(value) != 1L || is.na(value)) {
    abort_source(
      "keyring",
      sprintf(
        "The keyring has no secret for \"%s\", or cannot be asked. keyring::key_list() shows it.",
        shown(service)
      )
    )
  }
  given_secret(value, "keyring", service)
}

#' @rdname rho_secret_env
#' @export
rho_secret_prompt <- function(prompt = "Secret: ") {
  prompt <- check_text(check_string(prompt, "prompt", empty = FALSE), "prompt")
  # Without a person it would wait, or read what was meant for something else.
  if (!interactive() && is.null(getOption("askpass"))) {
    abort_source(
      "prompt",
      "There is nobody to ask in an R that is not interactive. Use rho_secret_env() or a sibling."
    )
  }
  check_package("askpass", "rho_secret_prompt()")
  value <- tryCatch(askpass::askpass(prompt), error = function(cnd) NULL)
  if (!is.character(value) || length(value) != 1L || is.na(value)) {
    abort_source("prompt", "No secret was typed.")
  }
  given_secret(value, "prompt", "prompt")
}

#' A secret from a string
#'
#' For a value that is a string of R's already, in a test for instance.
#'
#' A literal costs what the other sources avoid. The string stays in R's memory, where R keeps one
#' copy of every string; a literal in a call stands in tracebacks, in `.Rhistory`, in the script
#' and in its version control; an argument of `Rscript -e` is shown to every user of the machine.
#' Prefer [rho_secret_env()], [rho_secret_file()] or [rho_secret_descriptor()].
#'
#' @param value The value. One string.
#' @inherit rho_secret_env return
#' @section Errors:
#' As of [rho_secret_env()].
#' @family secrets
#' @examples
#' rho_secret_literal(paste(c("literal-", sample(letters, 20)), collapse = ""))
#' @export
rho_secret_literal <- function(value) {
  given_secret(check_string(value, "value"), "literal", "literal")
}

#' @rdname rho_secret_env
#' @format NULL
#' @usage NULL
#' @export
RhoSecret <- rho_class(
  "RhoSecret",
  parent = RhoHidden,
  properties = list(
    label = property_string(),
    source = property_string()
  )
)

#' Show a secret's value
#'
#' The only way out of a secret: its value as a string. It leaves a receipt of the tool
#' `rho_reveal` in [rho_receipts()], without the value, and the redactor keeps the value until
#' [rho_forget()]. From here on it is a string as any other.
#'
#' @param secret A value made by [rho_secret_env()] or a sibling, [rho_provider_credential()] or
#'   [rho_env_secret()].
#' @return One string.
#' @section Errors:
#' `rhocap_error_stale_handle` and `rhocap_error_forked` where the value is not here any more,
#' `rhocap_error_type` for what holds no value; see [rhocap_conditions].
#' @family secrets
#' @examples
#' secret <- rho_secret_literal(paste(c("reveal-", sample(letters, 20)), collapse = ""))
#' nchar(rho_reveal(secret))
#' tail(rho_receipts(), 1)
#' @export
rho_reveal <- function(secret) {
  check_hidden(secret, "secret")
  check_boundary(core_secret_reveal(hidden_handle(secret), hidden_kind(secret)))
}

#' Forget a secret
#'
#' Takes the value of this handle away: it cannot be used any more. The redactor forgets it too, and
#' it is wiped, unless something else holds it (another handle, a credential, a capability), which
#' keeps it known. A value that was given to a command or shown stays known after its handle is
#' gone; then it is forgotten by its `id`.
#'
#' An auth ([rho_model_auth()]) and a request ([rho_http_request()]) cannot be used any more either,
#' and the redactor forgets the credentials that their headers were given as text. By the `id` of
#' one these are forgotten once it is gone; before that nothing happens. Those that they were made
#' of have handles of their own.
#'
#' @param secret A value as for [rho_reveal()], an auth, a request, or the `id` of one. Of an id
#'   that is not known, nothing is done.
#' @return `TRUE` when the redactor does not know the secret any more (of an auth or a request: any
#'   of those secrets), `FALSE` when something else still holds it; invisibly.
#' @section Errors:
#' `rhocap_error_missing`, `rhocap_error_type`; see [rhocap_conditions]. A value that was forgotten
#' is a `rhocap_error_forgotten` wherever it is used.
#' @family secrets
#' @examples
#' secret <- rho_secret_literal(paste(c("forget-", sample(letters, 20)), collapse = ""))
#' rho_forget(secret)
#' @export
rho_forget <- function(secret) {
  wanted <- paste0(hidden_wanted, ", an auth, a request, or the `id` of one")
  if (missing(secret)) {
    abort_missing("secret", wanted)
  }
  if (is.character(secret)) {
    id <- check_text(check_string(secret, "secret"), "secret")
    return(invisible(!check_boundary(core_secret_forget_id(id))))
  }
  sender <- auth_kind(secret)
  held <- if (is.null(sender)) {
    check_hidden(secret, "secret", wanted)
    core_secret_forget(hidden_handle(secret), hidden_kind(secret))
  } else {
    core_secret_forget(auth_handle(secret), sender)
  }
  invisible(!check_boundary(held))
}

# The word for what has secrets of its own, NULL for anything else.
auth_kind <- function(x) {
  if (S7::S7_inherits(x, RhoModelAuth)) {
    "auth"
  } else if (S7::S7_inherits(x, RhoHttpRequest)) {
    "request"
  }
}

hidden_wanted <- "a value made by rho_secret_env() or a sibling"

check_hidden <- function(x, arg, wanted = hidden_wanted) {
  if (missing(x)) {
    abort_missing(arg, wanted)
  }
  known <- list(RhoSecret, RhoProviderCredential, RhoEnvSecret)
  if (!any(vapply(known, function(class) S7::S7_inherits(x, class), NA))) {
    abort_type(x, arg, wanted)
  }
  x
}

given_secret <- function(value, source, detail) {
  new_secret(core_secret_given(value, source, detail))
}

# A secret from the core's facts.
new_secret <- function(facts) {
  facts <- check_boundary(facts)
  if (facts$short) {
    warn_short(facts$label)
  }
  hidden_from(RhoSecret, facts, c("id", "label", "source"))
}

# One warning for each label of a short secret.
warn_short <- function(labels) {
  for (label in labels) {
    warn(
      "short_secret",
      paste(
        sprintf("The secret %s has fewer than 8 bytes.", shown_lines(label)),
        "It is masked only where it stands as a word of its own, and its other forms are not."
      )
    )
  }
}

hidden_from <- function(class, facts, names) {
  stamp(class_attributes(class), facts[c("handle", names)])
}

abort_source <- function(source, message) abort("secret_source", message, source = source)

# How a secret of this kind is made again. Who holds a dead one has its label still.
made_again <- function(x) {
  source <- attr(x, "source", exact = TRUE)
  label <- attr(x, "label", exact = TRUE)
  known <- is.character(source) && length(source) == 1L && source %in% secret_sources
  if (!known) {
    return("rho_secret_env(), rho_secret_file() or a sibling")
  }
  named <- source == "env" && is.character(label) && length(label) == 1L && is_utf8(label)
  call <- sprintf("rho_secret_%s(%s)", source, if (named) sprintf("\"%s\"", shown(label)) else "")
  switch(hidden_class(x),
    RhoProviderCredential = sprintf("rho_provider_credential(%s, hosts)", call),
    RhoEnvSecret = sprintf("rho_env_secret(%s)", call),
    call
  )
}

secret_sources <- c("env", "file", "descriptor", "keyring", "prompt", "literal")

# One line: what it is, what it is called, and where it came from.
hidden_line <- function(x, more = NULL) {
  label <- attr(x, "label", exact = TRUE)
  source <- attr(x, "source", exact = TRUE)
  one <- function(text) if (is.character(text) && length(text) == 1L) shown_lines(text) else "?"
  from <- if (identical(label, source)) "" else paste(" from", one(source))
  line <- paste0("<", hidden_class(x), "> ", one(label), from, more)
  dead <- tryCatch(
    {
      hidden_handle(x)
      NULL
    },
    rhocap_error = function(cnd) "; no longer usable"
  )
  paste0(line, dead)
}

S7::method(format, RhoSecret) <- function(x, ...) hidden_line(x)
