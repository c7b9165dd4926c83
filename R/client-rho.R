# A client of Rho's that exchanges references at the wire.

#' @include client-nanonext.R rho.R
NULL

#' A client of Rho's for requests with references
#'
#' @description
#' A client of rho.http that sends what [rho_model_auth()] and [rho_http_request()] hold references
#' for: the value is put in as an argument of nanonext's own function, and nowhere else. Sending,
#' streaming, server-sent events and WebSockets work as with the client that is given.
#'
#' `rho.http::rho_http_payload()` gives the references. Where a credential may not go, nothing is
#' sent and the outcome is a `RhoHttpTransportError` (`RhoWebSocketTransportError`) of rho.http
#' whose `parent` is the `rhocap_error_reference`. Answers are masked where they hold what was sent,
#' chunks of a stream also over their bounds, messages of a WebSocket each for itself. Redirections
#' are not followed. The tasks of a stream's parts keep them as they came, for as long as
#' the tasks are kept.
#'
#' @param client A client made by `rho.http::rho_http_client()`. Its TLS must verify servers; the
#'   default of Rho does not, and is replaced by the system's certificates.
#' @return A value of class `RhoSecretHttpClient`, below rho.http's `RhoNanonextHttpClient`.
#' @family requests
#' @examples
#' # With rho.http installed: rho_secret_http_client(rho.http::rho_http_client())
#' try(rho_secret_http_client(NULL))
#' @export
rho_secret_http_client <- function(client) {
  if (missing(client)) {
    abort_missing("client", "a client made by rho.http::rho_http_client()")
  }
  if (!has_rho_http()) {
    abort(
      "missing_package",
      "rho_secret_http_client() needs the package rho.http of Rho, which is not installed.",
      package = "rho.http"
    )
  }
  if (!S7::S7_inherits(client, rho_http("RhoNanonextHttpClient"))) {
    abort_type(client, "client", "a client made by rho.http::rho_http_client()")
  }
  class <- secret_client_class()
  class(
    headers = S7::prop(client, "headers"),
    timeout_ms = S7::prop(client, "timeout_ms"),
    stream_buffer_size = S7::prop(client, "stream_buffer_size"),
    max_error_body_bytes = S7::prop(client, "max_error_body_bytes"),
    tls = rho_tls(S7::prop(client, "tls"))
  )
}

rho_http <- function(name) getExportedValue(rho_http_package, name)

# Rho's own default verifies nobody.
rho_tls <- function(tls) {
  unverified <- is.null(tls) || identical(attr(tls, "mode", exact = TRUE), "none")
  verifying_tls(if (unverified) NULL else tls)
}

# The class, with its methods for rho.http's generics. Made when it is first needed, because
# rho.http is no dependency.
secret_client_class <- function() {
  before <- rho_subclasses$RhoSecretHttpClient
  client <- rho_subclass("RhoSecretHttpClient", rho_http_package, "RhoNanonextHttpClient", list())
  if (!is.null(before) && identical(before$class, client)) {
    return(client)
  }
  below <- function(name, parent) rho_subclass(name, rho_http_package, parent, list())
  stream <- below("RhoSecretHttpStream", "RhoNanonextHttpBodyStream")
  socket <- below("RhoSecretWebSocket", "RhoNanonextWebSocket")
  send <- rho_http("rho_http_send")
  open <- rho_http("rho_http_open_stream")
  connect <- rho_http("rho_ws_connect")
  following <- rho_async("rho_stream_next")
  sending <- rho_async("rho_duplex_send")
  S7::method(send, list(client, rho_http("RhoHttpRequest"))) <- secret_send
  S7::method(open, list(client, rho_http("RhoHttpRequest"))) <- secret_open_stream
  S7::method(connect, list(client, rho_http("RhoWebSocketRequest"))) <- secret_ws_connect
  S7::method(following, stream) <- secret_stream_next
  S7::method(following, socket) <- secret_socket_next
  S7::method(sending, socket) <- secret_socket_send
  client
}

secret_send <- function(client, request, ...) {
  payload <- rho_http("rho_http_payload")(client, request)
  started <- tryCatch(ncurl_start(client, payload), rhocap_error = identity)
  if (inherits(started, "rhocap_error")) {
    return(rho_async("rho_task")(transport_error("RhoHttpTransportError", started, payload)))
  }
  task <- masked_task(started$aio, started$echo)
  # The function below keeps this frame.
  started <- NULL
  url <- S7::prop(payload, "url")
  rho_async("rho_then")(task, function(result) {
    status <- result$status
    rho_http("RhoHttpResponse")(
      status = if (is.null(status)) NA_integer_ else as.integer(status),
      headers = result$headers,
      data = result$data,
      url = url
    )
  })
}

# The answer as a task. What came is masked before a promise that anybody keeps has it: rho.async's
# own task of an Aio would keep it as it came.
masked_task <- function(aio, echo) {
  force(aio)
  force(echo)
  promise <- promises::promise(function(resolve, reject) {
    promises::then(
      promises::as.promise(aio),
      function(value) {
        answer <- masked_answer(echo, aio)
        # It leads to the promise that has the answer as it came.
        aio <<- NULL
        resolve(answer)
      },
      function(cnd) reject(cnd)
    )
  })
  rho_async("rho_task_from_promise")(
    promise,
    cancel = function(reason) if (!is.null(aio)) nanonext::stop_aio(aio),
    label = "http-send"
  )
}

masked_answer <- function(echo, aio) {
  answer <- list(
    status = aio$status,
    headers = answered(echo, aio$headers),
    data = mask_echo(echo, aio$data)
  )
  # What nanonext keeps of it: the text, the headers, and its promise.
  held <- c("protocol", "value", "promise")
  for (name in intersect(held, ls(aio, all.names = TRUE))) {
    if (!bindingIsActive(name, aio)) assign(name, NULL, aio)
  }
  answer
}

secret_open_stream <- function(client, request, ...) {
  payload <- rho_http("rho_http_payload")(client, request)
  started <- tryCatch(ncurl_stream_start(client, payload), rhocap_error = identity)
  if (inherits(started, "rhocap_error")) {
    return(rho_async("rho_task")(transport_error("RhoHttpTransportError", started, payload)))
  }
  echo <- started$echo
  url <- S7::prop(payload, "url")
  timeout <- S7::prop(payload, "timeout_ms")
  opening <- rho_async("rho_wrap_aio")(started$aio)
  stream <- rho_async("rho_then")(opening, function(result) {
    head <- rho_http("RhoHttpResponseHead")(
      status = as.integer(result$status),
      headers = answered(echo, result$headers),
      url = url
    )
    state <- new.env(parent = emptyenv())
    state$connection <- result$stream
    state$timeout_ms <- timeout
    state$complete <- FALSE
    state$closed <- FALSE
    state$created_at <- Sys.time()
    state$mask <- if (!is.null(echo)) check_boundary(core_echo_stream(echo))
    rho_subclasses$RhoSecretHttpStream$class(head = head, state = state)
  })
  rho_async("rho_catch")(stream, function(error) {
    transport_error(
      "RhoHttpTransportError",
      error,
      payload,
      "HTTP stream could not be opened",
      echo
    )
  })
}

secret_ws_connect <- function(client, request, ...) {
  started <- tryCatch(websocket_start(client, request), rhocap_error = identity)
  if (inherits(started, "rhocap_error")) {
    error <- transport_error("RhoWebSocketTransportError", started, request)
    return(rho_async("rho_task")(error))
  }
  echo <- started$echo
  opening <- rho_async("rho_wrap_aio")(started$aio)
  socket <- rho_async("rho_then")(opening, function(connection) {
    rho_subclasses$RhoSecretWebSocket$class(
      url = S7::prop(request, "url"),
      state = rho_async("rho_new_state")(
        connection = connection,
        timeout_ms = S7::prop(request, "timeout_ms"),
        textframes = S7::prop(request, "textframes"),
        closed = FALSE,
        created_at = Sys.time(),
        echo = echo
      )
    )
  })
  rho_async("rho_catch")(socket, function(error) {
    transport_error(
      "RhoWebSocketTransportError",
      error,
      request,
      "WebSocket could not be opened",
      echo
    )
  })
}

# The two functions that hold values, this and websocket_start(). nanonext keeps the frame of its
# own function for as long as there is an answer, with the arguments in it: there they are taken
# out.
ncurl_started <- function(start, client, payload, ...) {
  wire <- exchange_payload(payload)
  aio <- start(
    url = wire$url,
    method = S7::prop(payload, "method"),
    headers = if (length(wire$headers) > 0L) wire$headers,
    data = wire$body,
    timeout = S7::prop(payload, "timeout_ms"),
    tls = S7::prop(client, "tls"),
    ...
  )
  list(aio = without_arguments(aio), echo = wire$echo)
}

ncurl_start <- function(client, payload) {
  ncurl_started(
    nanonext::ncurl_aio,
    client,
    payload,
    convert = S7::prop(payload, "convert"),
    response = S7::prop(payload, "response_headers")
  )
}

ncurl_stream_start <- function(client, payload) {
  ncurl_started(
    nanonext_function("ncurl_stream_aio"),
    client,
    payload,
    buffer = S7::prop(client, "stream_buffer_size")
  )
}

websocket_start <- function(client, request) {
  # Rho does not send the client's own headers here.
  wire <- exchange(S7::prop(request, "url"), S7::prop(request, "headers"))
  start <- nanonext_function("stream_aio")
  aio <- start(
    dial = wire$url,
    textframes = S7::prop(request, "textframes"),
    headers = if (length(wire$headers) > 0L) wire$headers,
    tls = S7::prop(client, "tls"),
    buffer = S7::prop(client, "stream_buffer_size"),
    timeout = S7::prop(request, "timeout_ms")
  )
  list(aio = without_arguments(aio), echo = wire$echo)
}

# The headers of an answer. One that was asked for and did not come is left out: rho.http takes
# strings.
answered <- function(echo, headers) {
  headers <- Filter(function(value) length(value) > 0L && !anyNA(value), as.list(headers))
  mask_echo(echo, headers)
}

# Two of its functions are only in the nanonext that Rho brings.
nanonext_function <- function(name) {
  if (!name %in% getNamespaceExports("nanonext")) {
    abort(
      "missing_package",
      sprintf("This needs nanonext with %s(): the one that rho.http names in `Remotes`.", name),
      package = "nanonext"
    )
  }
  getExportedValue("nanonext", name)
}

exchange_payload <- function(payload) {
  exchange(S7::prop(payload, "url"), S7::prop(payload, "headers"), S7::prop(payload, "data"))
}

without_arguments <- function(aio) {
  if (!is.environment(aio)) {
    return(aio)
  }
  for (name in ls(aio, all.names = TRUE)) {
    if (!bindingIsActive(name, aio)) {
      next
    }
    frame <- environment(activeBindingFunction(name, aio))
    if (is.environment(frame) && !identical(frame, globalenv()) && !isNamespace(frame)) {
      held <- intersect(c("url", "dial", "headers", "data"), ls(frame, all.names = TRUE))
      for (argument in held) {
        # Under one of these names nanonext keeps its own handle afterwards, which must stay.
        value <- get(argument, frame)
        if (is.character(value) || is.raw(value)) assign(argument, NULL, frame)
      }
    }
  }
  aio
}

# A failure as rho.http gives it. The URL is the one with references.
transport_error <- function(class, error, request, what = "The request was not sent", echo = NULL) {
  message <- mask_echo(echo, plain_text(conditionMessage(error))[1L])
  rho_http(class)(
    message = sprintf("%s: %s", what, message),
    url = S7::prop(request, "url"),
    parent = if (inherits(error, "rhocap_error")) error
  )
}

parent_method <- function(generic, class) S7::method(rho_async(generic), rho_http(class))

secret_stream_next <- function(stream, timeout = NULL, ...) {
  state <- S7::prop(stream, "state")
  item <- parent_method("rho_stream_next", "RhoNanonextHttpBodyStream")(stream, timeout = timeout)
  if (is.null(state$mask)) {
    return(item)
  }
  rho_async("rho_then")(item, function(item) {
    if (S7::S7_inherits(item, rho_async("RhoStreamEnd"))) {
      # What the mask held back, because it could have been the start of a value.
      rest <- check_boundary(core_echo_push(state$mask, NULL))
      return(if (length(rest) > 0L) rho_async("rho_stream_value")(rest) else item)
    }
    if (!S7::S7_inherits(item, rho_async("RhoStreamValue"))) {
      return(item)
    }
    value <- S7::prop(item, "value")
    if (is.raw(value)) {
      return(rho_async("rho_stream_value")(check_boundary(core_echo_push(state$mask, value))))
    }
    if (is.character(value)) {
      pushed <- check_boundary(core_echo_push(state$mask, paste(value, collapse = "")))
      return(rho_async("rho_stream_value")(as_string(pushed)))
    }
    item
  })
}

secret_socket_next <- function(stream, timeout = NULL, ...) {
  echo <- S7::prop(stream, "state")$echo
  item <- parent_method("rho_stream_next", "RhoNanonextWebSocket")(stream, timeout = timeout)
  if (is.null(echo)) {
    return(item)
  }
  rho_async("rho_then")(item, function(item) {
    if (!S7::S7_inherits(item, rho_async("RhoStreamValue"))) {
      return(item)
    }
    rho_async("rho_stream_value")(mask_echo(echo, S7::prop(item, "value")))
  })
}

# A message is a body: no reference goes out in it.
secret_socket_send <- function(duplex, value, timeout = NULL, ...) {
  refused <- if (is.raw(value) || (is.character(value) && length(value) == 1L)) {
    tryCatch(
      {
        exchange(S7::prop(duplex, "url"), list(), value)
        NULL
      },
      rhocap_error = identity
    )
  }
  if (!is.null(refused)) {
    return(rho_async("rho_task")(transport_error("RhoWebSocketTransportError", refused, duplex)))
  }
  parent_method("rho_duplex_send", "RhoNanonextWebSocket")(duplex, value, timeout = timeout)
}
