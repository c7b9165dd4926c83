# rhocap's auths, requests and client with the real rho.ai and rho.http. Sourced by check.R, which
# has the function `expect`; also alone: Rscript tests/rho/auth.R, with Rho's packages installed.

if (!exists("expect", mode = "function")) {
  expect <- function(what, ok) {
    if (!isTRUE(ok)) stop("Not so: ", what, call. = FALSE)
    cat("ok -", what, "\n")
  }
}

local({
  suppressPackageStartupMessages({
    library(rho.async)
    library(rho.ai)
    library(rho.http)
  })
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  here <- c(file.path(dirname(script), "..", "testthat"), "tests/testthat")
  here <- here[file.exists(file.path(here, "helper-server.R"))][[1L]]
  helpers <- new.env()
  helpers$needs <- function(what) invisible()
  helpers$defer <- function(fun, env) do.call(on.exit, list(as.call(list(fun)), TRUE), envir = env)
  sys.source(file.path(here, "helper-server.R"), helpers)
  sys.source(file.path(here, "helper-secret.R"), helpers)
  hides <- function(given, value) !helpers$holds_value(given, value)
  everything <- function(x) {
    helpers$all_that_comes(function() {
      print(x)
      utils::str(x)
      print(list(x))
      x
    })
  }
  wait <- function(task) rho_await(task, timeout = 20000L)

  server <- helpers$local_server()
  value <- helpers$canary()
  key <- rhocap::rho_provider_credential(rhocap::rho_secret_literal(value), server$host)
  auth <- rhocap::rho_model_auth(key, headers = list(`x-version` = "2"))
  expect("an auth is one of rho.ai's", S7::S7_inherits(auth, rho.ai::RhoModelAuth))
  expect("and one of ours", S7::S7_inherits(auth, rhocap::RhoModelAuth))
  expect("a reference stands for the key", grepl("^rhocap-ref-[0-9a-f]{32}$", auth@api_key))
  expect("it is valid", S7::S7_inherits(S7::validate(auth)))
  line <- paste0("<RhoModelAuth> literal, for ", server$host)
  expect("it prints as ours", identical(format(auth)[[1L]], line))
  expect("nothing shows the key", hides(everything(auth), value))
  same <- rhocap::rho_model_auth(key, headers = list(`x-version` = "2"))
  expect("equality is that of the values", auth == same)
  refused <- tryCatch(paste(auth), rhocap_error_secret_text = identity)
  expect("it is no text", inherits(refused, "rhocap_error_secret_text"))

  client <- rhocap::rho_secret_http_client(rho.http::rho_http_client())
  theirs <- rho.http::RhoNanonextHttpClient
  expect("the client is one of rho.http's", S7::S7_inherits(client, theirs))
  expect("the client verifies servers", identical(attr(client@tls, "mode"), "required"))
  expect(
    "its responses open as Rho's",
    S7::S7_inherits(rho_http_open_execution(client), rho.http::RhoHttpAioOpen)
  )

  # Requests as the providers build them.
  context <- rho_context(messages = list(rho_user_message("hello")))
  providers <- list(
    openai = list(
      make = rho_openai_provider,
      model = rho_openai_model("gpt-4"),
      header = "authorization",
      sent = paste("Bearer", value)
    ),
    anthropic = list(
      make = rho_anthropic_provider,
      model = rho_anthropic_model("claude-fable-5"),
      header = "x-api-key",
      sent = value
    )
  )
  for (name in names(providers)) {
    about <- function(what) paste0(name, ": ", what)
    case <- providers[[name]]
    provider <- case$make(base_url = server$url("/v1"), http = client)
    request <- rho_build_provider_request(
      provider@implementation,
      case$model,
      context,
      options = list(auth = auth)
    )
    built <- S7::S7_inherits(request, rho.http::RhoHttpRequest)
    expect(about("the provider takes the auth"), built)
    expect(about("the request shows no key"), hides(everything(request), value))
    payload <- rho_http_payload(client, request)
    expect(about("nor does its payload"), hides(everything(payload), value))
    aio <- rhocap:::ncurl_start(client, payload)$aio
    frame <- as.list(environment(activeBindingFunction("status", aio)), all.names = TRUE)
    expect(about("no frame keeps the key"), hides(serialize(frame, NULL), value))
    nanonext::call_aio_(aio)
    task <- rho_http_send(client, request)
    response <- wait(task)
    expect(about("an answer came"), S7::S7_inherits(response, rho.http::RhoHttpResponse))
    expect(about("the server saw the key"), identical(server$header(case$header), case$sent))
    expect(about("the auth's own headers were sent"), identical(server$header("x-version"), "2"))
    expect(about("the answer is masked"), hides(everything(response), value))
    expect(
      about("and otherwise whole"),
      grepl("Incorrect API key provided: [redacted by rhocap]", response@data, fixed = TRUE)
    )
    kept <- helpers$all_that_comes(function() list(task, request, response, client, auth))
    expect(about("what is kept shows no key"), hides(kept, value))
  }

  # Our own request, with declared fields.
  request <- rhocap::rho_http_request(
    "POST", server$url("/echo"),
    headers = list(`x-api-key` = key), query = list(k = key), body = list(a = 1, token = key)
  )
  expect("a request is one of rho.http's", S7::S7_inherits(request, rho.http::RhoHttpRequest))
  expect("it prints as ours", startsWith(format(request)[[1L]], "<RhoHttpRequest> POST"))
  expect("nothing of it shows the key", hides(everything(request), value))
  response <- wait(rho_http_send(client, request))
  sent <- server$requests()[[server$count()]]
  expect("declared fields were sent", identical(sent$uri, paste0("/echo?k=", value)))
  wanted <- sprintf("{\"a\":1,\"token\":\"%s\"}", value)
  expect("the body too", identical(rawToChar(sent$body), wanted))
  expect("the answer's URL has a reference", hides(everything(response), value))

  # Where it may not go.
  ask <- function(url, headers = list(`x-api-key` = auth@api_key), body = NULL) {
    before <- server$count()
    request <- rho.http::rho_http_request("POST", url, headers = headers, body = body)
    outcomes <- list(
      wait(rho_http_send(client, request)),
      wait(rho_http_open_stream(client, request))
    )
    typed <- all(vapply(outcomes, S7::S7_inherits, NA, class = rho.http::RhoHttpTransportError))
    codes <- if (typed) unique(vapply(outcomes, function(x) x@parent$code, ""))
    if (typed && hides(everything(outcomes), value) && server$count() == before) codes
  }
  port <- server$port
  here <- server$url()
  reference <- auth@api_key
  expect("another host", identical(ask(sprintf("http://localhost:%d/", port)), "host"))
  expect("another port", identical(ask("http://127.0.0.1:1/"), "host"))
  user <- sprintf("http://127.0.0.1:%d@localhost/", port)
  expect("a user before the host", identical(ask(user), "userinfo"))
  hosted <- list(Host = "evil.example", a = reference)
  expect("another Host", identical(ask(here, hosted), "host_header"))
  expect("without encryption", identical(ask("http://api.example.org/"), "insecure"))
  expect("in the URL", identical(ask(paste0(here, reference)), "place"))
  expect("in the body", identical(ask(here, body = list(a = reference)), "place"))
  named <- stats::setNames(list("b"), reference)
  expect("in a header's name", identical(ask(here, named), "place"))
  upper <- rhocap::rho_model_auth(rhocap::rho_provider_credential(
    rhocap::rho_secret_literal(value), sprintf("LOCALHOST:%d", port)
  ))
  ask_for <- function(url, ...) rho.http::rho_http_request("GET", url, headers = list(...))
  request <- ask_for(sprintf("http://LocalHost:%d/plain", port), `x-api-key` = upper@api_key)
  answer <- wait(rho_http_send(client, request))
  expect("upper case is the same host", identical(answer@data, "plain answer"))
  other <- helpers$local_server()
  stolen <- utils::URLencode(other$url("/stolen"), reserved = TRUE)
  request <- ask_for(server$url(paste0("/redirect?to=", stolen)), `x-api-key` = reference)
  response <- wait(rho_http_send(client, request))
  expect("a redirection is not followed", identical(response@status, 302L) && other$count() == 0L)

  # A request without references is Rho's own business.
  answer <- wait(rho_http_send(client, ask_for(other$url("/plain"))))
  expect("plain requests pass", identical(answer@data, "plain answer"))

  # Streams and WebSockets need the nanonext that Rho brings. Without it, what we add to Rho's own
  # methods is tried with stand-ins for them: the exchange against the real server, the masking of
  # what comes in pieces, and of messages.
  ours <- asNamespace("rhocap")
  stand_in <- function(name, fun) {
    before <- get(name, ours)
    unlockBinding(name, ours)
    assign(name, fun, ours)
    function() assign(name, before, ours)
  }
  if ("ncurl_stream_aio" %in% getNamespaceExports("nanonext")) {
    request <- ask_for(server$url("/echo"), `x-api-key` = reference)
    body <- wait(rho_http_open_stream(client, request))
    expect("a stream opens", S7::S7_inherits(body, rho.http::RhoNanonextHttpBodyStream))
    bytes <- raw()
    repeat {
      item <- wait(rho_stream_next(body))
      if (S7::S7_inherits(item, RhoStreamEnd)) break
      bytes <- c(bytes, item@value)
    }
    expect("the server saw the key", identical(server$header("x-api-key"), value))
    expect("the stream is masked", hides(bytes, value) && length(bytes) > 0L)
    events <- rho_sse_connect(client, request)
    expect("server-sent events", hides(everything(wait(rho_stream_next(events))), value))
    socket <- wait(rho_ws_connect(client, rho_ws_request(
      sprintf("ws://127.0.0.1:%d/ws", port),
      headers = list(`x-api-key` = auth@api_key)
    )))
  } else {
    cat("not in this nanonext: ncurl_stream_aio(), stream_aio(); stand-ins\n")
    opened <- NULL
    restore <- stand_in("nanonext_function", function(name) {
      switch(name,
        ncurl_stream_aio = function(url, method, headers, data, timeout, tls, buffer) {
          nanonext::ncurl_aio(url, method = method, headers = headers, timeout = timeout)
        },
        stream_aio = function(dial, textframes, headers, tls, buffer, timeout) {
          opened <<- nanonext::stream(dial = dial, textframes = textframes, headers = headers)
          nanonext::ncurl_aio(server$url("/plain"))
        }
      )
    })
    request <- ask_for(server$url("/echo"), `x-api-key` = reference)
    started <- rhocap:::ncurl_stream_start(client, rho_http_payload(client, request))
    frame <- as.list(environment(activeBindingFunction("status", started$aio)), all.names = TRUE)
    expect("no frame keeps the key", hides(serialize(frame, NULL), value))
    nanonext::call_aio_(started$aio)
    expect("a stream's server saw the key", identical(server$header("x-api-key"), value))
    text <- charToRaw(paste0("data: ", value, "\n\ndata: end ", substr(value, 1, 5)))
    pieces <- lapply(seq(1, length(text), by = 7), function(at) text[at:min(at + 6, length(text))])
    back <- stand_in("parent_method", function(generic, class) {
      function(stream, ...) {
        if (length(pieces) == 0L) {
          return(rho_task(rho_stream_end()))
        }
        piece <- pieces[[1L]]
        pieces <<- pieces[-1L]
        rho_task(rho_stream_value(piece))
      }
    })
    state <- rho_new_state(closed = FALSE, created_at = Sys.time())
    state$mask <- rhocap:::core_echo_stream(started$echo)
    head <- rho.http::RhoHttpResponseHead(status = 200L, headers = list(), url = server$url())
    body <- rhocap:::rho_subclasses$RhoSecretHttpStream$class(head = head, state = state)
    bytes <- raw()
    repeat {
      item <- wait(rho_stream_next(body))
      if (S7::S7_inherits(item, RhoStreamEnd)) break
      bytes <- c(bytes, item@value)
    }
    wanted <- paste0("data: [redacted by rhocap]\n\ndata: end ", substr(value, 1, 5))
    expect("what comes in pieces is masked, and whole", identical(rawToChar(bytes), wanted))
    back()
    started <- rhocap:::websocket_start(client, rho_ws_request(
      sprintf("ws://127.0.0.1:%d/ws", port),
      headers = list(`x-api-key` = auth@api_key)
    ))
    socket <- rhocap:::rho_subclasses$RhoSecretWebSocket$class(
      url = sprintf("ws://127.0.0.1:%d/ws", port),
      state = rho_new_state(
        connection = opened, timeout_ms = 5000L, textframes = TRUE, closed = FALSE,
        created_at = Sys.time(), echo = started$echo
      )
    )
    restore()
  }
  seen <- FALSE
  for (attempt in seq_len(200)) {
    opened_with <- Filter(function(request) request$method == "WS", server$requests())
    seen <- any(vapply(opened_with, function(request) value %in% request$headers, NA))
    if (seen) break
    Sys.sleep(0.02)
  }
  expect("a WebSocket's server saw the key", seen)
  # Sending as a promise is of Rho's nanonext too.
  sent <- if ("stream_aio" %in% getNamespaceExports("nanonext")) {
    is.null(wait(rho_duplex_send(socket, "hello")))
  } else {
    identical(nanonext::send(socket@state$connection, "hello", mode = "raw"), 0L)
  }
  expect("a message is sent", sent)
  message <- wait(rho_stream_next(socket))@value
  expect("a message is masked", grepl("^hello", message) && hides(message, value))
  refused <- wait(rho_duplex_send(socket, paste("key:", auth@api_key)))
  expect(
    "no reference goes out in a message",
    S7::S7_inherits(refused, rho.http::RhoWebSocketTransportError) && refused@parent$code == "place"
  )
  away <- rho_ws_request("ws://127.0.0.1:1/", list(a = reference))
  refused <- wait(rho_ws_connect(client, away))
  expect(
    "a WebSocket to another port is refused",
    S7::S7_inherits(refused, rho.http::RhoWebSocketTransportError) && refused@parent$code == "host"
  )

  # An auth that is gone.
  rm(auth, same)
  invisible(gc())
  gone <- wait(rho_http_send(client, ask_for(server$url("/plain"), `x-api-key` = reference)))
  expect(
    "a reference whose auth is gone",
    S7::S7_inherits(gone, rho.http::RhoHttpTransportError) &&
      inherits(gone@parent, "rhocap_error_stale_handle")
  )
})
