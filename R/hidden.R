# Values that R holds by a handle only, and what every verb of R's does with them.

#' @include class.R
NULL

# The common parent of what must not be seen: the bytes live in Rust, behind `handle`. A class below
# it says how it is shown by a method of format() that gives one line or more.
#' @rdname rho_secret_env
#' @format NULL
#' @usage NULL
#' @export
RhoHidden <- rho_class(
  "RhoHidden",
  properties = list(
    handle = property_handle(),
    id = property_string()
  ),
  abstract = TRUE
)

# What R's verbs do with a hidden value. Written once, for the class and for those that cannot have
# it as a parent because they have another package's (`hide()`).
#
# Methods of S3, because S7 has none for most of these, and because a class of another package that
# is only there at run time gets them in the same way.
hidden_methods <- list(
  print = function(x, ...) {
    writeLines(format(x))
    invisible(x)
  },
  toString = function(x, ...) hidden_label(x),
  summary = function(object, ...) hidden_label(object),
  as.character = function(x, ...) abort_hidden_text(x),
  as.vector = function(x, mode = "any") {
    if (identical(mode, "character")) abort_hidden_text(x) else abort_hidden(x, "as.vector()")
  },
  all.equal = function(target, current, ...) {
    if (hidden_equal(target, current)) TRUE else "The hidden values differ."
  },
  c = function(...) abort_hidden(..1, "c()"),
  rep = function(x, ...) abort_hidden(x, "rep()"),
  "[" = function(x, ...) abort_hidden(x, "`[`"),
  "[[" = function(x, ...) abort_hidden(x, "`[[`"),
  "$" = function(x, name) abort_hidden(x, "`$`"),
  "[<-" = function(x, ..., value) abort_hidden(x, "`[<-`"),
  "[[<-" = function(x, ..., value) abort_hidden(x, "`[[<-`"),
  "$<-" = function(x, name, value) abort_hidden(x, "`$<-`"),
  as.list = function(x, ...) abort_hidden(x, "as.list()"),
  as.data.frame = function(x, ...) abort_hidden(x, "as.data.frame()")
)

# The same for generics of other packages, once these are loaded.
hidden_methods_elsewhere <- list(
  utils = list(
    str = function(object, ...) {
      cat(" ", hidden_label(object), "\n", sep = "")
      invisible()
    }
  ),
  knitr = list(
    knit_print = function(x, ...) knitr::normal_print(x)
  ),
  pillar = list(
    obj_sum = function(x) hidden_class(x),
    type_sum = function(x) hidden_class(x)
  ),
  waldo = list(
    compare_proxy = function(x, path = "x") {
      list(object = list(class = hidden_class(x), value = hidden_alias(x)), path = path)
    }
  )
)

# Registers them for a class, by the name that stands in its `class` attribute.
hide <- function(class) {
  for (generic in names(hidden_methods)) {
    registerS3method(generic, class, hidden_methods[[generic]], envir = baseenv())
  }
  for (package in names(hidden_methods_elsewhere)) {
    hide_elsewhere(class, package)
  }
}

hide_elsewhere <- function(class, package) {
  register <- function(...) {
    methods <- hidden_methods_elsewhere[[package]]
    for (generic in names(methods)) {
      registerS3method(generic, class, methods[[generic]], envir = asNamespace(package))
    }
  }
  if (isNamespaceLoaded(package)) {
    register()
  } else {
    setHook(packageEvent(package, "onLoad"), register)
  }
}

# S7's own dispatch for operators, which another S7 value on the other side goes through as well.
S7::method(`==`, list(RhoHidden, S7::class_any)) <- function(e1, e2) hidden_equal(e1, e2)
S7::method(`==`, list(S7::class_any, RhoHidden)) <- function(e1, e2) hidden_equal(e1, e2)
S7::method(`==`, list(RhoHidden, RhoHidden)) <- function(e1, e2) hidden_equal(e1, e2)
S7::method(`!=`, list(RhoHidden, S7::class_any)) <- function(e1, e2) !hidden_equal(e1, e2)
S7::method(`!=`, list(S7::class_any, RhoHidden)) <- function(e1, e2) !hidden_equal(e1, e2)
S7::method(`!=`, list(RhoHidden, RhoHidden)) <- function(e1, e2) !hidden_equal(e1, e2)

hidden_class <- function(x) sub("^.*::", "", class(x)[[1L]])

hidden_label <- function(x) format(x)[[1L]]

abort_hidden <- function(x, what) {
  abort(
    "secret_structure",
    sprintf(
      "%s has no meaning for a %s: it is one value that cannot be seen. For several use list().",
      what,
      hidden_class(x)
    )
  )
}

abort_hidden_text <- function(x) {
  abort(
    "secret_text",
    sprintf(
      paste(
        "A %s is no text, so that it cannot get into some by accident. For a header use",
        "rho_bearer(credential); for a command rho_environment(NAME = rho_env_secret(secret)).",
        "rho_reveal(secret) shows the value and leaves a receipt."
      ),
      hidden_class(x)
    )
  )
}

# The kind of a value in the core's words, NULL for a class of another file.
hidden_kind <- function(x) {
  switch(hidden_class(x),
    RhoSecret = "secret",
    RhoProviderCredential = "credential",
    RhoEnvSecret = "entry"
  )
}

# The handle of one of the three, checked: a dead one is an error that tells how to make it again.
hidden_handle <- function(x) {
  handle <- attr(x, "handle", exact = TRUE)
  check_boundary(core_hidden_check(handle, hidden_kind(x), made_again(x)))
  handle
}

# Equality is decided in the core, in a time that does not tell where two values differ.
hidden_equal <- function(one, other) {
  hidden <- function(x) S7::S7_inherits(x) && !is.null(attr(x, "handle", exact = TRUE))
  if (!hidden(one) || !hidden(other) || !identical(class(one), class(other))) {
    return(FALSE)
  }
  kind <- hidden_kind(one)
  if (is.null(kind)) {
    return(auth_equal(one, other))
  }
  check_boundary(core_hidden_equal(hidden_handle(one), hidden_handle(other), kind))
}

# A word for comparisons by other packages: the same for the same value, in this session only.
hidden_alias <- function(x) {
  kind <- hidden_kind(x)
  tryCatch(
    check_boundary(core_hidden_alias(attr(x, "handle", exact = TRUE), kind)),
    rhocap_error = function(cnd) attr(x, "id", exact = TRUE)
  )
}
