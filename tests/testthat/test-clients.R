# Clients, against a real server in another process: it sees the value, R does not.

key_for <- function(value, hosts) rho_provider_credential(rho_secret_literal(value), hosts)

senders <- list(curl = rho_curl_fetch, nanonext = rho_ncurl)

test_that("curl and nanonext send the value, and R does not see it", {
  server <- local_server()
  for (package in names(senders)) {
    needs(package)
    send <- senders[[package]]
    value <- canary()
    key <- key_for(value, server$host)
    request <- rho_http_request(
      "POST",
      server$url("/echo?a=b"),
      headers = list(`x-api-key` = key, `x-plain` = "p"),
      body = list(n = 1, token = key),
      auth = rho_basic("ada", key),
      query = list(k = key)
    )
    answer <- NULL
    said <- all_that_comes(function() answer <<- send(request))
    expect_hidden(said, value, paste(package, "'s answer"))
    sent <- server$requests()[[server$count()]]
    expect_identical(sent$method, "POST")
    expect_identical(sent$uri, paste0("/echo?a=b&k=", value))
    expect_identical(server$header("x-api-key"), value)
    expect_identical(server$header("x-plain"), "p")
    basic <- jsonlite::base64_enc(charToRaw(paste0("ada:", value)))
    expect_identical(server$header("authorization"), paste("Basic", basic))
    expect_identical(rawToChar(sent$body), sprintf("{\"n\":1,\"token\":\"%s\"}", value))
    # The answer is an ordinary one but for the value.
    expect_identical(answer@status, 200L)
    expect_match(answer@data, "Incorrect API key provided: [redacted by rhocap]", fixed = TRUE)
    expect_no_match(answer@data, value, fixed = TRUE)
    expect_no_match(answer@data, basic, fixed = TRUE)
    echo <- answer@headers[tolower(names(answer@headers)) == "x-echo"]
    expect_no_match(unlist(echo), value, fixed = TRUE)
    expect_identical(answer@url, request@url)
    # What was sent stays known to the redactor.
    expect_hidden(serialize(list(request, answer), NULL), value)
    denied <- send(rho_http_request("GET", server$url("/denied"), auth = key))
    expect_identical(denied@status, 401L)
    expect_no_match(denied@data, value, fixed = TRUE)
  }
})

test_that("a value that comes back as the name of a header is masked, in any case", {
  server <- local_server()
  for (package in names(senders)) {
    needs(package)
    for (auth in c("key", "basic")) {
      value <- canary()
      key <- key_for(value, server$host)
      headers <- if (auth == "key") list(`x-api-key` = key)
      request <- rho_http_request(
        "GET",
        server$url("/names"),
        headers = as.list(headers),
        auth = if (auth == "basic") rho_basic("ada", key)
      )
      answer <- senders[[package]](request)
      given <- names(answer@headers)
      # Basic's value goes out encoded, and so comes back.
      sent <- if (auth == "key") value else jsonlite::base64_enc(charToRaw(paste0("ada:", value)))
      shown <- all_that_comes(function() answer)
      for (form in c(sent, tolower(sent), toupper(sent))) {
        expect_false(any(grepl(form, given, fixed = TRUE)))
        expect_length(grepRaw(form, shown, fixed = TRUE), 0L)
      }
      expect_true("[redacted by rhocap]" %in% given)
      expect_identical(anyDuplicated(given[grepl("redacted", given)]), 0L)
      expect_identical(unname(unlist(answer@headers["x-other"])), "kept")
    }
  }
})

test_that("names are masked, and those of others stay as they came", {
  value <- canary()
  key <- key_for(value, "api.example.org")
  request <- rho_http_request("GET", "https://api.example.org", headers = list(`x-key` = key))
  echo <- exchange_request(request)$echo
  headers <- stats::setNames(
    list("a", "b", value, "d", NULL, "f"),
    c("set-cookie", "set-cookie", value, tolower(value), toupper(value), "x-f")
  )
  masked <- mask_echo(echo, headers)
  marker <- "[redacted by rhocap]"
  expect_identical(
    names(masked),
    c("set-cookie", "set-cookie", marker, paste(marker, 1:2), "x-f")
  )
  expect_identical(unname(masked), list("a", "b", marker, "d", NULL, "f"))
  expect_identical(mask_echo(echo, headers[c(1, 2, 6)]), headers[c(1, 2, 6)])
  texts <- stats::setNames(c("t", NA), c(toupper(value), NA))
  expect_identical(mask_echo(echo, texts), stats::setNames(c("t", NA), c(marker, NA)))
  nested <- list(list(stats::setNames(list(1), tolower(value))))
  expect_identical(names(mask_echo(echo, nested)[[1]][[1]]), marker)
})

test_that("methods, raw bodies and answers", {
  server <- local_server()
  for (package in names(senders)) {
    needs(package)
    send <- senders[[package]]
    for (method in c("GET", "PUT", "PATCH", "DELETE", "POST")) {
      body <- if (method != "GET") as.raw(c(1, 0, 255))
      answer <- send(rho_http_request(method, server$url("/plain"), body = body, convert = FALSE))
      sent <- server$requests()[[server$count()]]
      expect_identical(sent$method, method)
      expect_identical(as.raw(sent$body), if (method == "GET") raw() else body)
      expect_identical(answer@data, charToRaw("plain answer"))
    }
    only <- rho_http_request("GET", server$url("/plain"), response_headers = "X-Other")
    expect_identical(unname(unlist(send(only)@headers)), "kept")
    failed <- send(rho_http_request("GET", "http://127.0.0.1:1/", timeout_ms = 2000L))
    expect_s3_class(failed, "rhocap::RhoHttpFailure")
    expect_true(nzchar(failed@message))
  }
})

test_that("a redirection is not followed, so another host gets nothing", {
  server <- local_server()
  other <- local_server()
  value <- canary()
  stolen <- utils::URLencode(other$url("/stolen"), reserved = TRUE)
  url <- server$url(paste0("/redirect?to=", stolen))
  for (package in names(senders)) {
    needs(package)
    key <- key_for(value, server$host)
    request <- rho_http_request("GET", url, headers = list(`x-api-key` = key))
    answer <- senders[[package]](request)
    expect_identical(answer@status, 302L)
  }
  if (requireNamespace("httr2", quietly = TRUE)) {
    req <- rho_httr2_auth(httr2::request(url), key_for(value, server$host), header = "x-api-key")
    answer <- httr2::req_perform(req)
    expect_identical(httr2::resp_status(answer), 302L)
  }
  expect_identical(other$count(), 0L)
})

test_that("what may not go there is not sent", {
  server <- local_server()
  value <- canary()
  key <- key_for(value, server$host)
  code_of <- function(request, send) {
    tryCatch(
      {
        send(request)
        "sent"
      },
      rhocap_error_reference = function(cnd) cnd$code
    )
  }
  auth <- rho_model_auth(key)
  reference <- auth@api_key
  evil <- list(Host = "evil.example")
  elsewhere <- sprintf("http://localhost:%d/", server$port)
  requests <- list(
    host = rho_http_request("GET", elsewhere, auth = key),
    host = rho_http_request("GET", sprintf("http://127.0.0.2:%d/", server$port), auth = key),
    host = rho_http_request("GET", "http://127.0.0.1/", auth = key),
    host_header = rho_http_request("GET", server$url(), auth = key, headers = evil),
    insecure = rho_http_request("GET", "http://api.example.org/", auth = key),
    place = rho_http_request("GET", server$url(paste0("/", reference))),
    place = rho_http_request("GET", server$url(paste0("/?k=", reference))),
    place = rho_http_request("POST", server$url(), body = reference),
    place = rho_http_request("POST", server$url(), body = list(text = reference)),
    place = rho_http_request("POST", server$url(), body = charToRaw(reference))
  )
  for (package in names(senders)) {
    needs(package)
    for (index in seq_along(requests)) {
      expect_identical(code_of(requests[[index]], senders[[package]]), names(requests)[[index]])
    }
  }
  expect_identical(server$count(), 0L)
  # Case and the dot of an absolute name are the same host.
  named <- key_for(value, sprintf("LOCALHOST.:%d", server$port))
  upper <- rho_http_request("GET", sprintf("HTTP://LocalHost:%d/plain", server$port), auth = named)
  expect_identical(code_of(upper, rho_curl_fetch), "sent")
})

test_that("nanonext verifies the server", {
  needs("nanonext")
  request <- rho_http_request("GET", "https://127.0.0.1:1/", timeout_ms = 500L)
  expect_error(rho_ncurl(request, tls = nanonext::tls_config()), class = "rhocap_error_value")
  expect_error(rho_ncurl(request, tls = 1), class = "rhocap_error_type")
  cert <- nanonext::write_cert()
  failed <- rho_ncurl(request, tls = nanonext::tls_config(client = cert$client))
  expect_s3_class(failed, "rhocap::RhoHttpFailure")
})

test_that("httr2 sends the value, and nothing of httr2 shows it", {
  needs("httr2")
  server <- local_server()
  value <- canary()
  auth <- rho_model_auth(key_for(value, server$host), headers = list(`x-version` = "2"))
  req <- httr2::req_headers(httr2::request(server$url("/plain")), foo = "bar")
  req <- rho_httr2_auth(req, auth)
  answer <- NULL
  said <- all_that_comes(function() {
    print(req)
    utils::str(req)
    answer <<- httr2::req_perform(req)
    answer
  })
  expect_hidden(said, value)
  expect_identical(server$header("authorization"), paste("Bearer", value))
  expect_identical(server$header("x-version"), "2")
  expect_identical(server$header("foo"), "bar")
  expect_identical(httr2::resp_body_string(answer), "plain answer")
  kept <- list(
    req, answer, httr2::last_request(), httr2::last_response(),
    httr2::req_get_headers(req, "reveal"), httr2::req_get_headers(answer$request, "reveal"),
    lapply(answer$request$state$headers, function(x) {
      if (rlang::is_weakref(x)) rlang::wref_value(x) else x
    })
  )
  expect_hidden(all_that_comes(function() kept), value)
  expect_hidden(all_that_comes(function() httr2::req_perform(httr2::req_verbose(req))), value)
  count <- server$count()
  expect_hidden(
    all_that_comes(function() {
      print(httr2::req_dry_run(req, redact_headers = FALSE))
      policy <- req$policies$auth_sign
      signed <- do.call(policy$fun, c(list(req = req, cache = policy$cache), policy$params))
      httr2::req_get_headers(signed, "reveal")
    }),
    value
  )
  expect_identical(server$count(), count)
})

test_that("httr2: at once, as a promise, and as a connection", {
  needs("httr2")
  needs("promises")
  server <- local_server()
  value <- canary()
  req <- rho_httr2_auth(httr2::request(server$url("/plain")), key_for(value, server$host))
  answers <- httr2::req_perform_parallel(list(req, req), progress = FALSE)
  expect_length(answers, 2L)
  done <- NULL
  promises::then(
    httr2::req_perform_promise(req),
    function(answer) done <<- answer,
    function(cnd) done <<- cnd
  )
  for (turn in seq_len(200)) if (is.null(done)) later::run_now(0.1)
  expect_s3_class(done, "httr2_response")
  connection <- httr2::req_perform_connection(req)
  close(connection)
  sent <- vapply(server$requests(), function(request) {
    unname(request$headers[tolower(names(request$headers)) == "authorization"])
  }, "")
  expect_identical(sent, rep(paste("Bearer", value), 4L))
  expect_hidden(all_that_comes(function() list(req, answers, done)), value)
  following <- httr2::req_options(req, followlocation = TRUE)
  cnd <- expect_error(httr2::req_perform(following), class = "rhocap_error_reference")
  expect_identical(cnd$code, "redirect")
  expect_identical(server$count(), 4L)
})

test_that("httr2: other headers, other hosts, errors", {
  needs("httr2")
  server <- local_server()
  value <- canary()
  key <- key_for(value, server$host)
  req <- rho_httr2_auth(httr2::request(server$url("/plain")), key, header = "x-api-key")
  req <- rho_httr2_auth(req, rho_basic("ada", key))
  httr2::req_perform(req)
  expect_identical(server$header("x-api-key"), value)
  expect_match(server$header("authorization"), "^Basic ")
  count <- server$count()
  elsewhere <- rho_httr2_auth(httr2::request(sprintf("http://localhost:%d/", server$port)), key)
  expect_error(httr2::req_perform(elsewhere), class = "rhocap_error_reference")
  hosted <- rho_httr2_auth(httr2::request(server$url()), key)
  hosted <- httr2::req_headers(hosted, Host = "evil.example")
  expect_error(httr2::req_perform(hosted), class = "rhocap_error_reference")
  expect_identical(server$count(), count)
  denied <- rho_httr2_auth(httr2::request(server$url("/denied")), key)
  cnd <- tryCatch(httr2::req_perform(denied), error = identity)
  expect_s3_class(cnd, "httr2_http_401")
  expect_hidden(charToRaw(paste(utils::capture.output(print(cnd)), collapse = "\n")), value)
  expect_error(rho_httr2_auth(1, key), class = "rhocap_error_type")
  expect_error(rho_httr2_auth(httr2::request(server$url()), "x"), class = "rhocap_error_type")
})

test_that("ellmer sends the value, in the header of its provider", {
  needs("ellmer")
  server <- local_server()
  value <- canary()
  # Mistakes are told when it is made, not when a chat sends.
  request <- rho_http_request("GET", server$url("/"))
  expect_error(rho_ellmer_credentials(request), class = "rhocap_error_type")
  auth <- rho_model_auth(key_for(value, server$host))
  credentials <- rho_ellmer_credentials(auth)
  chats <- list(
    authorization = ellmer::chat_openai_compatible(
      base_url = server$url("/v1"), credentials = credentials, model = "m"
    ),
    `x-api-key` = ellmer::chat_anthropic(
      base_url = server$url("/v1"), credentials = credentials, model = "m"
    )
  )
  for (header in names(chats)) {
    chat <- chats[[header]]
    said <- all_that_comes(function() {
      print(chat)
      print(credentials)
      print(credentials())
      utils::str(credentials)
      # The server's answer is none of a model.
      try(chat$chat("hello", echo = "none"), silent = TRUE)
      serialize(credentials, NULL)
    })
    expect_hidden(said, value)
    expect_identical(sub("^Bearer ", "", server$header(header)), value)
  }
  expect_error(rho_ellmer_credentials(rho_secret_literal(canary())), class = "rhocap_error_purpose")
  expect_error(rho_ellmer_credentials("x"), class = "rhocap_error_type")
  expect_error(rho_ellmer_credentials(), class = "rhocap_error_missing")
})

test_that("without rho.http there is no client of Rho's", {
  skip_if(requireNamespace("rho.http", quietly = TRUE), "rho.http is installed")
  expect_error(rho_secret_http_client(1), class = "rhocap_error_missing_package")
})

test_that("no option of curl takes a credential elsewhere through httr2, or writes a line", {
  needs("httr2")
  server <- local_server()
  value <- canary()
  key <- key_for(value, server$host)
  req <- rho_httr2_auth(httr2::request(server$url("/")), key)
  proxied <- httr2::req_proxy(req, "http://127.0.0.1", 9L)
  hostile <- list(
    httr2::req_options(req, port = 9L),
    httr2::req_options(req, url = "http://127.0.0.1:9/"),
    httr2::req_options(req, connect_to = "127.0.0.1:1:127.0.0.1:9"),
    httr2::req_options(req, proxy = "http://127.0.0.1:9"),
    httr2::req_options(req, pre_proxy = "socks5://127.0.0.1:9"),
    httr2::req_options(req, unix_socket_path = "/tmp/none"),
    httr2::req_options(req, request_target = "http://evil.test/"),
    httr2::req_options(req, customrequest = "GET /x HTTP/1.1\r\nHost: evil"),
    httr2::req_options(req, useragent = "a\r\nHost: evil"),
    httr2::req_options(req, ssl_verifypeer = FALSE),
    httr2::req_method(req, "GET /x HTTP/1.1\r\nHost:evil"),
    proxied
  )
  for (one in hostile) {
    cnd <- tryCatch(httr2::req_perform(one), error = identity)
    expect_s3_class(cnd, "rhocap_error_reference")
    expect_identical(cnd$code, "option")
  }
  cnd <- tryCatch(httr2::req_perform(httr2::req_options(req, maxredirs = 1L)), error = identity)
  expect_match(conditionMessage(cnd), "`maxredirs` is not known to be harmless", fixed = TRUE)
  expect_match(conditionMessage(cnd), "useragent", fixed = TRUE)
  count <- server$count()
  expect_identical(count, 0L)
  # What only says how long, and who asks, is no matter.
  ordinary <- httr2::req_user_agent(httr2::req_timeout(req, 20), "a test")
  expect_s3_class(httr2::req_perform(ordinary), "httr2_response")
  put <- httr2::req_method(ordinary, "PUT")
  expect_s3_class(httr2::req_perform(put), "httr2_response")
})

test_that("what curl tells while it sends is masked, whoever listens", {
  needs("httr2")
  server <- local_server()
  value <- canary()
  key <- key_for(value, server$host)
  # In a name with a full stop httr2's own masking does not see a header.
  req <- rho_httr2_auth(httr2::request(server$url("/")), key, header = "x.api-key")
  req <- rho_httr2_auth(req, rho_basic("ada", key))
  heard <- list()
  listen <- function(type, msg) heard[[length(heard) + 1L]] <<- msg
  listeners <- list(
    httr2::req_verbose(req),
    httr2::req_verbose(req, redact_headers = FALSE, info = TRUE, body_req = TRUE),
    httr2::req_options(req, verbose = TRUE, debugfunction = listen)
  )
  for (one in listeners) {
    said <- utils::capture.output(httr2::req_perform(one))
    expect_hidden(said, value)
    expect_identical(server$header("x.api-key"), value)
  }
  expect_gt(length(heard), 1L)
  sent <- rawToChar(do.call(c, heard))
  expect_match(sent, "x.api-key: [redacted by rhocap]", fixed = TRUE)
  # What the server sends back is told as it comes, and is masked too.
  expect_hidden(sent, value)
  needs("callr")
  # Without a listener curl writes to standard error itself.
  error <- tempfile()
  status <- callr::r(
    function(value, url, host) {
      key <- rhocap::rho_provider_credential(rhocap::rho_secret_literal(value), host)
      req <- rhocap::rho_httr2_auth(httr2::request(url), key)
      httr2::resp_status(httr2::req_perform(httr2::req_options(req, verbose = TRUE)))
    },
    list(value, server$url("/plain"), server$host),
    stderr = error,
    libpath = .libPaths()
  )
  expect_identical(status, 200L)
  expect_match(paste(readLines(error), collapse = "\n"), "Authorization: ")
  expect_hidden(readLines(error), value)
})

test_that("a proxy of the environment gets nothing that is sent without TLS", {
  needs("httr2")
  needs("curl")
  server <- local_server()
  proxy <- local_server()
  value <- canary()
  key <- key_for(value, server$host)
  before <- Sys.getenv(c("http_proxy", "all_proxy", "no_proxy", "NO_PROXY"), NA)
  defer(function() {
    Sys.unsetenv(names(before))
    if (!all(is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
  }, environment())
  Sys.setenv(http_proxy = proxy$url(), all_proxy = proxy$url())
  Sys.unsetenv(c("no_proxy", "NO_PROXY"))
  # The proxy is one that curl takes. It knows no such path.
  try(httr2::req_perform(httr2::request(server$url("/plain"))), silent = TRUE)
  asked <- proxy$count()
  expect_identical(server$count(), 0L)
  httr2::req_perform(rho_httr2_auth(httr2::request(server$url("/plain")), key))
  rho_curl_fetch(rho_http_request("GET", server$url("/plain"), auth = key))
  httr2::req_perform_parallel(
    list(rho_httr2_auth(httr2::request(server$url("/plain")), key)),
    progress = FALSE
  )
  expect_identical(proxy$count(), asked)
  expect_identical(server$count(), 3L)
})

test_that("what the environment says needs no proxy over https goes through none", {
  needs("curl")
  before <- Sys.getenv(c("https_proxy", "no_proxy", "NO_PROXY"), NA)
  defer(function() {
    Sys.unsetenv(names(before))
    if (!all(is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
  }, environment())
  # Nobody listens at either port: the message tells which of the two was asked.
  request <- rho_http_request("GET", "https://127.0.0.1:2/", timeout_ms = 5000)
  Sys.unsetenv(c("no_proxy", "NO_PROXY"))
  Sys.setenv(https_proxy = "http://127.0.0.1:1")
  expect_match(rho_curl_fetch(request)@message, "port 1\\b")
  Sys.setenv(NO_PROXY = "127.0.0.1")
  expect_match(rho_curl_fetch(request)@message, "port 2\\b")
})

test_that("a failure is printed without the line end of its message", {
  needs("curl")
  request <- rho_http_request("GET", "http://127.0.0.1:1/", timeout_ms = 5000)
  failure <- new_failure(request, NULL, "It failed.\n")
  expect_identical(format(failure)[[1L]], "<RhoHttpFailure> It failed.")
})

test_that("a secret in place of an auth is told by the name of the argument", {
  needs("httr2")
  req <- httr2::request("https://api.example.org/")
  for (make in list(rho_secret_literal, function(x) rho_env_secret(rho_secret_literal(x)))) {
    cnd <- tryCatch(rho_httr2_auth(req, make(canary())), error = identity)
    expect_s3_class(cnd, "rhocap_error_purpose")
    expect_match(conditionMessage(cnd), "`auth` takes", fixed = TRUE)
  }
  request <- rho_http_request("GET", "https://api.example.org/")
  expect_error(rho_httr2_auth(req, request), "`auth` must be", class = "rhocap_error_type")
})

test_that("options that stand in the session take no credential out of ellmer's chats", {
  needs("ellmer")
  server <- local_server()
  value <- canary()
  credentials <- rho_ellmer_credentials(rho_model_auth(key_for(value, server$host)))
  chat <- function() {
    ellmer::chat_openai_compatible(
      base_url = server$url("/plain"), credentials = credentials, model = "m"
    )
  }
  before <- options(httr2_verbosity = 3L)
  defer(function() options(before), environment())
  said <- all_that_comes(function() try(chat()$chat("hello", echo = "none"), silent = TRUE))
  expect_gt(server$count(), 0L)
  expect_hidden(said, value)
})
