# `spec` and not `tool`: `to = ` would be taken for it.
run <- function(spec, ...) spec@execute("call-1", list(...), NULL, NULL, NULL)
text_of <- function(result) result@content[[1]]@text

# What a runtime's journal takes: named lists of atomic vectors, nothing else.
expect_plain <- function(details) {
  expect_type(details, "list")
  expect_false(is.object(details))
  expect_false(is.null(names(details)) && length(details) > 0)
  for (value in details) {
    if (is.list(value)) {
      expect_plain(value)
    } else {
      expect_true(is.atomic(value) && !is.null(value) && !is.object(value) && !is.raw(value))
    }
  }
}
