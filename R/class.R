# How rhocap makes its S7 classes: properties are set once, and a constructor that is given a wrong
# argument signals one of our conditions.

# A class with a constructor whose arguments are the properties, in order.
#
# S7's own constructor signals unclassed errors and checks after it has assigned; ours checks first,
# by the same property definitions, so that there is one definition of what is valid.
rho_class <- function(
  name,
  parent = S7::S7_object,
  properties = list(),
  abstract = FALSE
) {
  for (property in names(properties)) {
    properties[[property]]$setter <- if (is.null(properties[[property]]$getter)) {
      set_once(property)
    } else {
      refuse_to_set(property)
    }
  }
  # Before R 4.3 `@` is S7's function, and R CMD check takes a property's name for a variable.
  if (getRversion() < "4.3.0") {
    utils::globalVariables(names(properties))
  }
  inherited <- attr(parent, "properties", exact = TRUE)
  settable <- Filter(function(property) is.null(property$getter), c(inherited, properties))
  S7::new_class(
    name = name,
    parent = parent,
    package = "rhocap",
    properties = properties,
    abstract = abstract,
    constructor = property_constructor(name, settable, abstract)
  )
}

set_once <- function(name) {
  force(name)
  function(self, value) {
    if (!is.null(attr(self, name, exact = TRUE))) {
      abort_immutable(name)
    }
    attr(self, name) <- value
    self
  }
}

refuse_to_set <- function(name) {
  force(name)
  function(self, value) abort_immutable(name)
}

abort_immutable <- function(name) {
  abort(
    "immutable",
    sprintf("The property `%s` cannot be changed. Make a new value instead.", name),
    property = name
  )
}

# A function of the properties' names. Its last call is `S7::new_object()`, which must see the class
# as its caller.
property_constructor <- function(name, properties, abstract) {
  if (abstract) {
    # S7 wants to see its own call in every constructor.
    return(eval(bquote(function() {
      abort_abstract(.(name))
      S7::new_object(S7::S7_object())
    })))
  }
  arguments <- lapply(properties, function(property) {
    if (is.null(property$default)) quote(expr = ) else property$default
  })
  symbols <- lapply(names(properties), as.name)
  names(symbols) <- names(properties)
  checks <- lapply(names(properties), function(property) {
    call("check_property", as.name(property), property, properties[[property]])
  })
  body <- as.call(c(
    quote(`{`),
    checks,
    as.call(c(quote(S7::new_object), quote(S7::S7_object()), symbols))
  ))
  as.function(c(arguments, body), envir = topenv())
}

abort_abstract <- function(name) {
  abort("type", sprintf("%s is only the common parent of other classes. Make one of those.", name))
}

check_property <- function(x, name, property) {
  if (missing(x)) {
    abort_missing(name)
  }
  # Asking whether a value has a base type must not run code of the value's class.
  problem <- property$validator(x)
  if (!is.null(problem)) {
    abort("type", sprintf("`%s` %s, not %s.", name, problem, describe_given(x)), argument = name)
  }
}

# Property definitions. Each validator states what must hold, type included.
property_string <- function(default = NULL, empty = TRUE) {
  S7::new_property(
    S7::class_character,
    default = default,
    validator = function(value) {
      if (is.object(value) || !is.character(value) || length(value) != 1L || is.na(value)) {
        "must be one string"
      } else if (!is_utf8(value)) {
        "must be valid UTF-8"
      } else if (!empty && !nzchar(value)) {
        "must be one string that is not empty"
      }
    }
  )
}

# Text marked latin1 can have the bytes of valid UTF-8 by chance.
is_utf8 <- function(x) all(validUTF8(x)) && !any(Encoding(x) %in% c("bytes", "latin1"))

property_strings <- function(default = NULL) {
  S7::new_property(
    S7::class_character,
    default = default,
    validator = function(value) {
      if (is.object(value) || !is.character(value) || anyNA(value)) {
        "must be a character vector without NA"
      } else if (!is_utf8(value)) {
        "must be valid UTF-8"
      }
    }
  )
}

property_flag <- function(default = NULL) {
  S7::new_property(
    S7::class_logical,
    default = default,
    validator = function(value) {
      plain <- !is.object(value) && is.logical(value)
      if (!plain || length(value) != 1L || is.na(value)) "must be TRUE or FALSE"
    }
  )
}

property_number <- function(default = NULL, least = 0, most = Inf, whole = FALSE) {
  force(least)
  force(most)
  force(whole)
  S7::new_property(
    S7::class_numeric,
    default = default,
    validator = function(value) {
      if (is.object(value) || !is.numeric(value) || length(value) != 1L || is.na(value)) {
        "must be one number"
      } else if (value < least || value > most || (whole && value != trunc(value))) {
        kind <- if (whole) "a whole number" else "a number"
        limits <- format(c(least, most), scientific = FALSE, trim = TRUE)
        sprintf("must be %s from %s to %s", kind, limits[[1L]], limits[[2L]])
      }
    }
  )
}

property_number_or_na <- function() {
  S7::new_property(
    S7::class_numeric,
    default = NA_real_,
    validator = function(value) {
      if (is.object(value) || !is.numeric(value) || length(value) != 1L) "must be one number or NA"
    }
  )
}

property_list <- function(default = NULL) {
  S7::new_property(
    S7::class_list,
    default = default,
    validator = function(value) {
      if (!is.list(value) || is.object(value)) "must be a plain list"
    }
  )
}

property_function <- function() {
  S7::new_property(
    S7::class_function,
    validator = function(value) {
      if (!is.function(value)) "must be a function"
    }
  )
}

property_handle <- function() {
  S7::new_property(
    S7::class_any,
    validator = function(value) {
      if (!identical(typeof(value), "externalptr")) "must be a handle made by rhocap"
    }
  )
}

# The attributes that make a plain S7 object one of `class`. Results are made by setting attributes
# on a copy (4 us), because the checking constructor takes 190 us and the values come from core.
class_attributes <- function(class) {
  names <- character()
  ancestor <- class
  while (!identical(attr(ancestor, "name", exact = TRUE), "S7_object")) {
    names <- c(names, paste0("rhocap::", attr(ancestor, "name", exact = TRUE)))
    ancestor <- attr(ancestor, "parent", exact = TRUE)
  }
  list(class = c(names, "S7_object"), S7_class = class)
}

# A value of a class from facts that need no check.
stamp <- function(attributes, facts) {
  object <- empty_object
  attributes(object) <- c(attributes, facts)
  object
}

empty_object <- S7::S7_object()

# Every value prints as the lines that its `format()` gives, without secrets that got into what a
# person gave: a literal of an environment, say.
print_lines <- function(x, ...) {
  writeLines(redact_strings(format(x, ...)))
  invisible(x)
}
