# A real HTTP server in another R process, which writes down what it was sent.

# Starts it; its port, and functions that give what it was sent so far.
local_server <- function(env = parent.frame()) {
  needs("callr")
  needs("nanonext")
  needs("later")
  log <- tempfile("requests-")
  dir.create(log)
  ready <- tempfile("port-")
  process <- callr::r_bg(run_server, list(log = log, ready = ready), supervise = TRUE)
  defer(function() process$kill(), env)
  for (attempt in seq_len(200)) {
    if (file.exists(ready) && length(readLines(ready)) == 1L) break
    if (!process$is_alive()) stop("the server ended: ", paste(process$read_error(), collapse = " "))
    Sys.sleep(0.05)
  }
  port <- as.integer(readLines(ready))
  list(
    port = port,
    host = sprintf("127.0.0.1:%d", port),
    url = function(path = "/") sprintf("http://127.0.0.1:%d%s", port, path),
    requests = function() {
      lapply(sort(list.files(log, full.names = TRUE, pattern = "[.]rds$")), readRDS)
    },
    # The last request's header, whatever the case of its name.
    header = function(name) {
      files <- sort(list.files(log, full.names = TRUE, pattern = "[.]rds$"))
      headers <- readRDS(files[[length(files)]])$headers
      unname(headers[tolower(names(headers)) == tolower(name)])
    },
    count = function() length(list.files(log, pattern = "[.]rds$"))
  )
}

# Runs in the other process.
run_server <- function(log, ready) {
  count <- 0L
  opened <- character()
  note <- function(req) {
    count <<- count + 1L
    path <- file.path(log, sprintf("%06d", count))
    saveRDS(req[c("method", "uri", "headers", "body")], path)
    file.rename(path, paste0(path, ".rds"))
  }
  respond <- function(req) {
    note(req)
    uri <- sub("[?].*", "", req$uri)
    if (identical(uri, "/redirect")) {
      to <- sub("^.*[?]to=", "", req$uri)
      return(list(status = 302L, headers = c(Location = utils::URLdecode(to)), body = "moved"))
    }
    # What the server was sent, in the ways in which servers send it back.
    sent <- paste(unname(req$headers), collapse = "\n")
    carries <- tolower(names(req$headers)) %in% c("authorization", "x-api-key")
    key <- paste(sub("^.* ", "", req$headers[carries]), collapse = "")
    encoded <- if (nzchar(key)) utils::URLencode(key, reserved = TRUE) else ""
    hex <- paste(as.character(charToRaw(key)), collapse = "")
    if (startsWith(uri, "/plain")) {
      return(list(status = 200L, headers = c(`x-other` = "kept"), body = "plain answer"))
    }
    if (identical(uri, "/names")) {
      names <- c(key, tolower(key), toupper(key), paste0("x-", tolower(key), "-y"), tolower(hex))
      headers <- stats::setNames(rep("v", length(names)), names)
      return(list(status = 200L, headers = c(headers, `x-other` = "kept"), body = "names"))
    }
    status <- if (identical(uri, "/denied")) 401L else 200L
    first <- paste0("{\"error\": \"Incorrect API key provided: ", key, "\"}")
    text <- paste(first, encoded, hex, sent, sep = "\n")
    list(
      status = status,
      headers = c(`Content-Type` = "text/plain", `x-echo` = key, `x-other` = "kept"),
      body = text
    )
  }
  for (attempt in seq_len(50)) {
    port <- sample(20000:60000, 1L)
    server <- tryCatch(
      {
        made <- nanonext::http_server(
          sprintf("http://127.0.0.1:%d", port),
          list(
            nanonext::handler("/", respond, method = "*", prefix = TRUE),
            nanonext::handler_ws(
              "/ws",
              # Sends back what it was sent, and the headers that it was opened with.
              function(ws, data) ws$send(paste(data, paste(opened, collapse = " "))),
              on_open = function(ws, req) {
                opened <<- unname(req$headers)
                note(c(list(method = "WS", body = raw()), req[c("uri", "headers")]))
              },
              textframes = TRUE
            )
          )
        )
        made$start()
        made
      },
      error = function(cnd) NULL
    )
    if (!is.null(server)) break
  }
  writeLines(as.character(port), ready)
  repeat later::run_now(1)
}
