# What R shows of Rho's values: sourced by check.R, with rhocap and Rho's packages loaded.
#
# Every S7 class of Rho's packages gets a value in which a fresh key stands wherever its properties,
# and theirs, let a key stand. Nothing that R shows of it may hold the key. A class that is new in
# Rho is one of them without being named here.

planted_key <- paste(sample(c(letters, LETTERS, 0:9), 40L, TRUE), collapse = "")
rho_namespaces <- paste0("rho.", c("async", "http", "ai", "agent", "compute", "coding"))
rho_namespaces <- Filter(isNamespaceLoaded, rho_namespaces)
rho_s7_classes <- list()
for (package in rho_namespaces) {
  for (name in ls(asNamespace(package), all.names = TRUE)) {
    value <- get(name, envir = asNamespace(package))
    if (inherits(value, "S7_class") && identical(attr(value, "package"), package)) {
      rho_s7_classes[[paste0(package, "::", attr(value, "name"))]] <- value
    }
  }
}

# Names under which programs put keys.
key_names <- c(
  "api_key", "key", "token", "access_token", "passphrase", "password", "secret", "auth_token"
)
key_properties <- c(key_names, "access", "refresh")

# A value of a property's type with the key in it. `named` says that the property's own name tells.
plant <- function(type, name, depth) {
  headers <- list(Authorization = paste("Bearer", planted_key), `X-Other` = planted_key)
  if (identical(name, "headers")) {
    return(headers)
  }
  named <- stats::setNames(rep(list(planted_key), length(key_names)), key_names)
  word <- if (name %in% key_properties) planted_key else sprintf("api_key=%s", planted_key)
  class <- if (inherits(type, "S7_property")) type$class else type
  if (inherits(class, "S7_union")) {
    class <- class$classes[[1L]]
  }
  if (inherits(class, "S7_base_class")) {
    return(switch(class$class,
      character = word,
      list = c(named, list(nested = list(headers = headers), held = planted_auth(depth))),
      raw = charToRaw(planted_key),
      environment = list2env(c(named, list(headers = headers))),
      `function` = eval(call("function", as.pairlist(list(api_key = planted_key)), planted_key)),
      integer = 1L,
      double = 1,
      logical = TRUE,
      named
    ))
  }
  if (inherits(class, "S7_class")) {
    return(planted_object(paste0(attr(class, "package"), "::", attr(class, "name")), depth))
  }
  # Any type at all, or an S3 class.
  c(named, list(headers = headers, held = planted_auth(depth)))
}

# A list can hold values of Rho's at any depth; one level of that is enough here.
planted_auth <- function(depth) if (depth < 2L) planted_object("rho.ai::RhoModelAuth", depth)

# Validators would refuse some of it; print() does not ask them.
planted_object <- function(name, depth = 0L) {
  class <- rho_s7_classes[[name]]
  if (is.null(class) || depth > 3L) {
    return(NULL)
  }
  properties <- attr(class, "properties")
  object <- S7::S7_object()
  ancestors <- character()
  ancestor <- class
  while (inherits(ancestor, "S7_class") && !identical(attr(ancestor, "name"), "S7_object")) {
    ancestors <- c(ancestors, paste0(attr(ancestor, "package"), "::", attr(ancestor, "name")))
    ancestor <- attr(ancestor, "parent")
  }
  facts <- lapply(names(properties), function(property) {
    plant(properties[[property]], property, depth + 1L)
  })
  names(facts) <- names(properties)
  attributes(object) <- c(
    list(class = c(ancestors, "S7_object"), S7_class = class),
    Filter(Negate(is.null), facts)
  )
  object
}

shown_of <- function(x) {
  quietly <- function(expr) tryCatch(expr, error = function(cnd) conditionMessage(cnd))
  c(
    quietly(utils::capture.output(print(x))),
    quietly(utils::capture.output(print(list(x)))),
    quietly(format(x)),
    quietly(utils::capture.output(utils::str(x))),
    quietly(utils::capture.output(utils::str(list(x), nchar.max = 1e5))),
    quietly(utils::capture.output(print(summary(x)))),
    quietly(toString(x))
  )
}

# Whole, and the beginning that str() shows of a long text or of bytes.
holds_key <- function(text) {
  bytes <- paste(format(charToRaw(substr(planted_key, 1L, 6L))), collapse = " ")
  any(grepl(substr(planted_key, 1L, 12L), text, fixed = TRUE) | grepl(bytes, text, fixed = TRUE))
}

leaking <- character()
reachable <- 0L
unguarded <- character()
for (name in names(rho_s7_classes)) {
  object <- planted_object(name)
  facts <- attributes(object)[names(attr(rho_s7_classes[[name]], "properties"))]
  reachable <- reachable + (length(grepRaw(planted_key, serialize(facts, NULL), fixed = TRUE)) > 0L)
  if (holds_key(shown_of(object))) {
    leaking <- c(leaking, name)
  }
  guards <- vapply(c("print", "format", "summary", "toString"), function(generic) {
    !is.null(utils::getS3method(generic, name, optional = TRUE))
  }, NA)
  if (!all(guards) || is.null(utils::getS3method("str", name, optional = TRUE))) {
    unguarded <- c(unguarded, name)
  }
}
cat(length(rho_s7_classes), "classes of Rho, the key is reachable from", reachable, "\n")
expect("there are classes to look at", length(rho_s7_classes) > 150L)
expect("the key is reachable from many", reachable > 50L)
if (length(leaking) > 0L) cat("leaking:", leaking, sep = "\n  ")
expect("no value of Rho's classes shows the planted key", length(leaking) == 0L)
if (length(unguarded) > 0L) cat("unguarded:", unguarded, sep = "\n  ")
expect("every class has the methods", length(unguarded) == 0L)

# The look can fail: R's own way of showing the auth does show it.
bare <- unclass(planted_object("rho.ai::RhoModelAuth"))
shown <- utils::capture.output(print(attributes(bare)["api_key"]))
expect("without rhocap the key is shown", holds_key(shown))

# A class of a program's own below one of Rho's.
Below <- S7::new_class("Below", parent = rho.ai::RhoModelAuth, package = "own")
below <- Below(api_key = planted_key, headers = list(), base_url = "", metadata = list())
expect("nor does a class below one of them", !holds_key(shown_of(below)))

# A real value, made by Rho's own constructors, and what a real run gives.
auth <- rho.ai::RhoModelAuth(
  api_key = planted_key,
  headers = list(Authorization = paste("Bearer", planted_key)),
  base_url = "http://127.0.0.1",
  metadata = list()
)
expect("an auth is shown without its key", !holds_key(shown_of(auth)))
expect("and keeps it", identical(auth@api_key, planted_key))
told <- paste(utils::capture.output(print(auth)), collapse = "\n")
expect("what is no key is shown", grepl("127.0.0.1", told, fixed = TRUE))
KeyProvider <- S7::new_class("KeyProvider", package = NULL, properties = list(auth = S7::class_any))
stream_of <- rho.ai::rho_stream
S7::method(stream_of, list(KeyProvider, rho.ai::Model, rho.ai::Context)) <- function(
  provider, model, context, options = list(), ...
) {
  rho.async::rho_list_stream(rho.ai::rho_faux_message_events(
    rho.ai::rho_assistant_message(content = list(rho.ai::rho_text("done")), model = "faux")
  ))
}
agent <- rho.agent::rho_agent(
  KeyProvider(auth = auth),
  rho.ai::rho_model("faux", "faux", headers = list(Authorization = paste("Bearer", planted_key))),
  stream_options = list(api_key = planted_key)
)
result <- rho.async::rho_await(rho.agent::rho_prompt(agent, "work"), timeout = 60000L)
expect("a run's result is shown without the key", !holds_key(shown_of(result)))
expect("and so is its agent", !holds_key(c(shown_of(agent), shown_of(agent@options))))
condition <- structure(
  class = c("own", "error", "condition"),
  list(message = "no", call = NULL, run = result, auth = auth)
)
safe <- rhocap::rho_sanitize(condition)
shown <- utils::capture.output(utils::str(unclass(safe)))
expect("a condition that carries them is sanitised", !holds_key(shown))
expect(
  "and saved without the key",
  length(grepRaw(planted_key, serialize(safe, NULL), fixed = TRUE)) == 0L
)
