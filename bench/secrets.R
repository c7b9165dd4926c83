# Ratios of masking and of showing an auth against their peers, from one interleaved run. Needs rhocap
# and S7 installed.
library(rhocap)
source("bench/compare.R")

# Lines as programs log them, no two alike; the same text in each run.
set.seed(7)
log_text <- function(bytes) {
  n <- ceiling(bytes / 90)
  level <- sample(c("INFO", "WARN", "ERROR", "DEBUG"), n, replace = TRUE)
  lines <- sprintf(
    "2024-05-17T12:%02d:07.%05dZ %s worker[%d]: GET /v1/items/%08x?page=%d 200 %dus \"curl/8.1\"",
    sample.int(59L, n, TRUE), sample.int(99999L, n, TRUE), level, sample.int(9999L, n, TRUE),
    sample.int(.Machine$integer.max, n, TRUE), sample.int(60L, n, TRUE), sample.int(9999L, n, TRUE)
  )
  substr(paste(lines, collapse = "\n"), 1L, bytes)
}
values <- vapply(
  1:100,
  function(i) paste(sample(c(letters, LETTERS, 0:9), 40L, TRUE), collapse = ""),
  ""
)
secrets <- lapply(values, rho_secret_literal)

text <- log_text(64 * 2^20)
stopifnot(identical(rho_redact(text), text))
compare(
  "R: `rho_redact`, 64 MiB of log, 100 secrets in all forms", "`validUTF8`", "<= 3",
  function() rho_redact(text),
  function() validUTF8(text),
  rounds = 15L, each = 1L
)
compare(
  "R: the same", "`gsub(fixed = TRUE)` for each of the 100, as it stands only", "<= 0.05",
  function() rho_redact(text),
  function() for (value in values) gsub(value, "", text, fixed = TRUE),
  rounds = 3L, each = 1L
)

# R's own way of printing S7 objects, for one that holds as much and no secret.
Plain <- S7::new_class(
  "Plain",
  package = NULL,
  properties = list(
    id = S7::class_character, label = S7::class_character, header = S7::class_character,
    hosts = S7::class_character
  )
)
auth <- rho_model_auth(rho_provider_credential(secrets[[1L]], "api.example.org"))
plain <- Plain(
  id = strrep("0", 32L), label = "a literal", header = "Authorization", hosts = "api.example.org"
)
base_print <- getS3method("print", "S7_object", envir = asNamespace("S7"))
# What both print is left out, but for the row at the end.
printed <- utils::capture.output(compare(
  "R: print an auth", "S7's print of an object of its size", "<= 3",
  function() print(auth),
  function() base_print(plain),
  rounds = 31L, each = 50L
))
cat(printed[[length(printed)]], "\n", sep = "")
