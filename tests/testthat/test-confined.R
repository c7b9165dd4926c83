# Commands that the kernel confines, from R. The mechanisms one by one are tested beside the
# supervisor.

test_that("a confined command sees its directories, and nothing else", {
  tree <- new_tree()
  put(file.path(tree$root, ".env"), "KEY=do-not-show")
  capability <- confined_capability(tree)
  result <- rho_bash(
    capability,
    "cat f; cat .env; cat ../ROOT-evil/secret /etc/shadow /root/.bashrc"
  )
  expect_match(result@output, "^IN")
  expect_false(grepl("do-not-show|OUT|root:", result@output))
  elsewhere <- "ls -d /home /root /run /var /srv /opt /boot /sys 2>/dev/null; true"
  expect_identical(rho_unwrap(rho_bash(capability, elsewhere)), "")
  expect_outcome(rho_read(capability, ".env"), RhoDenied, "CarveOut")
})

test_that("it writes in its directories only, and to nothing that is carved out", {
  tree <- new_tree()
  dir.create(file.path(tree$root, ".git", "hooks"), recursive = TRUE)
  put(file.path(tree$root, ".Rprofile"), "# mine\n")
  outside <- snapshot_tree(tree$outside)
  capability <- confined_capability(tree)
  command <- paste(
    "echo new > new.txt; echo x > $TMPDIR/t && echo x > ~/h;",
    "echo evil >> .Rprofile; echo evil > .git/hooks/pre-commit; mv .git away;",
    "ln .Rprofile other; echo evil > %s/new; echo evil > /usr/bin/ls; echo evil > /tmp/evil",
    "ln -s %s/secret link; echo evil >> link; rm link; chmod 777 %s/secret; true"
  )
  outside_path <- tree$outside
  result <- rho_bash(capability, sprintf(command, outside_path, outside_path, outside_path))
  expect_identical(result@exit_status, 0)
  expect_identical(snapshot_tree(tree$outside), outside)
  expect_setequal(
    list.files(tree$root, all.files = TRUE, no.. = TRUE),
    c(".Rprofile", ".git", "a", "f", "new.txt")
  )
  expect_identical(readLines(file.path(tree$root, ".Rprofile")), "# mine")
  expect_identical(list.files(file.path(tree$root, ".git", "hooks")), character())
  expect_false(file.exists("/tmp/evil"))
  private <- capability_facts(capability)$private
  expect_identical(readLines(file.path(private, "tmp", "t")), "x")
})

test_that("carved out names that a command makes are quarantined and told", {
  tree <- new_tree()
  capability <- confined_capability(tree)
  result <- rho_bash(
    capability,
    paste(
      "echo q > .Rprofile; mkdir -p sub/.git/hooks;",
      "echo e > sub/.git/hooks/pre-commit; echo K=1 > a/.env"
    )
  )
  made <- result@carve_outs
  expect_true(all(c(".Rprofile", "a/.env") %in% made$path))
  expect_true(all(made$fate == "kept"))
  expect_identical(made$effect[made$path == "a/.env"], "deny")
  left <- list.files(tree$root, all.files = TRUE, recursive = TRUE)
  expect_false(any(grepl("Rprofile|env|hooks", left)))
  expect_true("later_names" %in% result@enforced_by$gaps)
  expect_true("# .Rprofile: moved out (\".Rprofile\")" %in% format(result))
  kept <- file.path(result@quarantine, made$kept_as)
  expect_true(all(file.exists(kept)))
  expect_true(startsWith(result@quarantine, capability_facts(capability)$private))
  expect_true(is.na(rho_bash(capability, "true")@quarantine))
  # A model would count on what it made.
  answer <- rho_tool_bash(capability)@execute("c", list(command = "echo x > .Rprofile; echo done"))
  text <- answer@content[[1L]]@text
  long <- "d=$(printf 'x%.0s' {1..200}); for i in {1..10}; do mkdir $d; cd $d; done; : > .env"
  answer <- rho_tool_bash(capability)@execute("c", list(command = long))
  expect_match(answer@content[[1L]]@text, "[.][.][.]x+/[.]env")
  expect_lt(nchar(answer@content[[1L]]@text), 1000L)
  expect_match(text, "^done\n\n+Made and taken away again: .Rprofile \\(\"[.]Rprofile\"\\)")
})

test_that("there is no network, and with one there are no other programs' sockets", {
  needs_program("python3")
  tree <- new_tree()
  socket <- file.path(tree$outside, "socket")
  families <- paste(
    "import socket",
    "def t(f):",
    "    try: socket.socket(f, socket.SOCK_DGRAM).close(); return 'made'",
    "    except OSError as e: return e.errno",
    "print([t(f) for f in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)])",
    "print(len(socket.socketpair()))",
    sep = "\n"
  )
  capability <- confined_capability(tree)
  expect_identical(
    rho_unwrap(rho_bash(capability, "/usr/bin/python3 -", stdin = families)),
    "[1, 1, 1, 1]\n2\n"
  )
  listener <- paste(
    "import socket, sys, time",
    "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()",
    "a = socket.socket(socket.AF_UNIX); a.bind('\\0' + sys.argv[2]); a.listen()",
    "open(sys.argv[1] + '.ready', 'w').close()",
    "time.sleep(60)",
    sep = "\n"
  )
  needs("processx")
  abstract <- new_mark()
  process <- processx::process$new("/usr/bin/python3", c("-c", listener, socket, abstract))
  on.exit(process$kill())
  expect_true(wait_until(function() file.exists(paste0(socket, ".ready"))))
  connect <- sprintf(paste(
    "import socket",
    "for path in ('%s', '\\0%s'):",
    "    try: socket.socket(socket.AF_UNIX).connect(path); print('connected')",
    "    except OSError: print('refused')",
    sep = "\n"
  ), socket, abstract)
  for (network in list(rho_network_none(), rho_network_host())) {
    capability <- confined_capability(tree, network = network)
    result <- rho_bash(capability, "/usr/bin/python3 -", stdin = connect)
    expect_identical(rho_unwrap(result), "refused\nrefused\n")
  }
})

test_that("R's environment and memory cannot be read, also by root", {
  tree <- new_tree()
  with_variables(c(RHOCAP_PLANTED = "planted-secret"), {
    capability <- confined_capability(tree)
    result <- rho_bash(
      capability,
      paste(
        "cat /proc/*/environ | tr '\\0' '\\n'; ls /proc | grep -c '^[0-9]';",
        "kill -9 -1; head -c1 /proc/1/mem"
      )
    )
    expect_false(grepl("planted-secret", result@output))
  })
  # R, in which this test runs, is still there, and so is the next command.
  expect_identical(rho_unwrap(rho_bash(capability, "echo fine")), "fine\n")
})

test_that("a child R loads the user's packages, also through a library of links (E8, 102d)", {
  tree <- new_tree()
  cache <- file.path(tree$base, "cache")
  library <- file.path(tree$base, "library")
  dir.create(cache)
  dir.create(library)
  double <- install_double("linkedpackage", "export(answer)", "answer <- function() 42")
  file.copy(file.path(double, "linkedpackage"), cache, recursive = TRUE)
  file.symlink(file.path(cache, "linkedpackage"), file.path(library, "linkedpackage"))
  capability <- confined_capability(
    tree,
    environment = rho_environment(rho_environment_r(c(library, .libPaths())))
  )
  script <- paste0(R.home("bin"), "/Rscript -e 'cat(linkedpackage::answer())'")
  expect_identical(rho_unwrap(rho_bash(capability, script)), "42")
  # A package's tests run in it.
  put(
    file.path(tree$root, "test-x.R"),
    "testthat::test_that('x', testthat::expect_identical(linkedpackage::answer(), 42))"
  )
  tests <- paste0(
    R.home("bin"),
    "/Rscript -e 'testthat::test_file(\"test-x.R\", reporter = \"summary\")'"
  )
  result <- rho_bash(capability, tests)
  expect_identical(result@exit_status, 0, label = result@output)
  expect_match(result@output, "DONE")
})

test_that("git commits in a confined project, where its configuration and hooks are protected", {
  needs_program("git")
  tree <- new_tree()
  system2("git", c("init", "-q", tree$root))
  identity <- rho_environment_git("Ada", "ada@example.org", safe = tree$root)
  capability <- confined_capability(tree, environment = rho_environment(identity))
  command <- "git add f && git commit -q -m one && git log --format=%an && git config alias.x y"
  result <- rho_bash(capability, command)
  expect_match(result@output, "^Ada\n")
  # The project's own configuration runs later, outside.
  expect_false(identical(result@exit_status, 0))
  expect_length(result@carve_outs$path, 0L)
})

test_that("bounds are the kernel's", {
  tree <- new_tree()
  bounds <- rho_limits(file_size = 4096, open_files = 16, cpu = 1, memory = 2^28)
  capability <- confined_capability(tree, limits = bounds)
  expect_identical(rho_bash(capability, "head -c 10000 /dev/zero > big")@exit_status, 128 + 25)
  expect_identical(file.size(file.path(tree$root, "big")), 4096)
  expect_identical(rho_bash(capability, "ulimit -n")@output, "16\n")
  busy <- rho_bash(capability, "while :; do :; done", timeout = 60)
  expect_identical(busy@ended, "signalled")
  much <- "head -c 500000000 /dev/zero | tail -c 400000000 | wc -c; exit ${PIPESTATUS[1]}"
  expect_false(rho_is_ok(rho_bash(capability, much)))
  expect_true("rlimits" %in% rho_bash(capability, "true")@enforced_by$kernel)
  shown <- paste(format(capability), collapse = "\n")
  expect_match(shown, "bounded by the kernel: 256 MiB of address space")
  # Without the kernel nobody holds them.
  cnd <- tryCatch(
    command_capability(tree, limits = bounds),
    rhocap_error_not_enforceable = identity
  )
  expect_length(cnd$calls, 3L)
  for (call in cnd$calls) {
    expect_true(S7::S7_inherits(eval(parse(text = call)), RhoHostCapability))
  }
  # Those that a smaller capability does not name stay.
  smaller <- rho_narrow(capability, limits = rho_limits(timeout = 5, cpu = 1))
  expect_identical(smaller@limits@memory, 2^28)
  expect_error(
    rho_narrow(capability, limits = rho_limits(cpu = 2)),
    class = "rhocap_error_wider"
  )
  # The one bound that the kernel does not hold for everybody is named, and left out of what works.
  if (Sys.info()[["effective_user"]] == "root") {
    cnd <- tryCatch(
      rho_project_capability(tree$root, limits = rho_limits(processes = 5, cpu = 7)),
      rhocap_error_not_enforceable = identity
    )
    expect_match(conditionMessage(cnd), "no bound on `processes` for root")
    expect_match(cnd$calls[[1L]], "rho_process_confined")
    expect_identical(eval(parse(text = cnd$calls[[1L]]))@limits@cpu, 7)
  }
})

test_that("the tree of a confined command ends, and its facts are exact", {
  tree <- new_tree()
  capability <- confined_capability(tree, limits = rho_limits(grace = 0.2))
  mark <- new_mark()
  sleep <- marked_sleep(mark)
  late <- rho_bash(
    capability,
    sprintf("setsid -f bash -c '%s'; trap '' TERM; (%s) & sleep 60", sleep, sleep),
    timeout = 0.7
  )
  expect_identical(late@ended, "timed_out")
  expect_identical(marked_processes(mark), character())
  expect_identical(rho_bash(capability, "kill -9 $$")@signal, 9)
  expect_identical(rho_bash(capability, "exit 255")@exit_status, 255)
  # The supervisor is out of its reach.
  result <- rho_bash(capability, "(kill -9 $PPID; kill -9 1) 2>/dev/null; echo there")
  expect_identical(rho_unwrap(result), "there\n")
})

test_that("the receipt and print say what enforced it", {
  tree <- new_tree()
  capability <- confined_capability(tree)
  receipt <- rho_bash(capability, "true")@receipt
  expect_identical(receipt@enforced_by$mechanism, "os")
  always <- c("seccomp", "no_new_privs", "capabilities_dropped")
  expect_identical(setdiff(always, receipt@enforced_by$kernel), character())
  shown <- paste(format(capability, all = TRUE), collapse = "\n")
  for (word in c(receipt@enforced_by$kernel, receipt@enforced_by$gaps, "/etc/ld.so.cache")) {
    expect_match(shown, word, fixed = TRUE)
  }
  denied <- tryCatch(
    rho_host_capability(read = tree$root, cwd = tree$outside, process = rho_process_confined()),
    error = identity
  )
  expect_s3_class(denied, "rhocap_error_cwd")
  expect_true("bash" %in% names(rho_capability_tools(capability)))
})

test_that("a confined command can confine commands itself, and not replace the supervisor", {
  tree <- new_tree()
  capability <- confined_capability(
    tree,
    environment = rho_environment(rho_environment_r())
  )
  script <- file.path(tree$root, "inner.R")
  writeLines(c(
    "suppressMessages(library(rhocap))",
    "capability <- tryCatch(rho_project_capability(getwd()), error = identity)",
    "if (inherits(capability, 'error')) {",
    "  stopifnot(inherits(capability, 'rhocap_error_not_enforceable'))",
    "  cat('refused')",
    "} else {",
    "  result <- rho_bash(capability, 'cat f; cat /etc/shadow; kill -9 -1')",
    "  cat(result@output, result@enforced_by$mechanism)",
    "}"
  ), script)
  inner <- rho_bash(capability, paste0(R.home("bin"), "/Rscript inner.R 2>&1"))
  expect_match(inner@output, "^refused$|^IN.* os$")
  expect_false(grepl("root:", inner@output))
  program <- supervisor_program()
  before <- unname(tools::md5sum(program))
  rho_bash(capability, gsub("PROGRAM", program, "echo x >> PROGRAM; rm -f PROGRAM"))
  rho_bash(capability, sprintf("mv /bin/true %s", program))
  expect_identical(unname(tools::md5sum(program)), before)
})

test_that("what one command makes is not taken for the user's by another that runs meanwhile", {
  needs("promises")
  tree <- new_tree()
  capability <- confined_capability(tree)
  first <- rho_bash_async(
    capability,
    paste(
      "echo evil > .Rprofile; touch made; while [ ! -e other ]; do sleep 0.05; done;",
      "ln .Rprofile x; rm .Rprofile"
    )
  )
  expect_true(wait_until(function() file.exists(file.path(tree$root, "made"))))
  second <- rho_bash_async(
    capability,
    paste(
      "touch other; while [ ! -e x ]; do sleep 0.05; done; sleep 0.2;",
      "ln x .Rprofile 2>/dev/null; true"
    )
  )
  results <- list(settled(first), settled(second))
  expect_false(file.exists(file.path(tree$root, ".Rprofile")))
})

test_that("what the user changes while a command runs stays, and is told", {
  needs("promises")
  tree <- new_tree()
  put(file.path(tree$root, ".env"), "KEY=1")
  capability <- confined_capability(tree)
  promise <- rho_bash_async(capability, "touch started; while [ ! -e go ]; do sleep 0.05; done")
  expect_true(wait_until(function() file.exists(file.path(tree$root, "started"))))
  put(file.path(tree$root, "new"), "KEY=2")
  file.rename(file.path(tree$root, "new"), file.path(tree$root, ".env"))
  put(file.path(tree$root, "go"), "")
  result <- settled(promise)
  expect_identical(readLines(file.path(tree$root, ".env"), warn = FALSE), "KEY=2")
  told <- result@carve_outs[c("path", "fate")]
  expect_identical(told, data.frame(path = ".env", fate = "replaced"))
  expect_true("carve_out_left" %in% result@enforced_by$gaps)
})

test_that("a fork takes nothing for the making of commands that it never had", {
  needs("promises")
  tree <- new_tree()
  at <- function(name) file.path(tree$root, name)
  capability <- confined_capability(tree)
  promise <- rho_bash_async(capability, "touch made; while [ ! -e over ]; do sleep 0.05; done")
  expect_true(wait_until(function() file.exists(at("made"))))
  fork <- parallel::mcparallel(
    {
      wait_until(function() file.exists(at("go")))
      rho_bash(confined_capability(tree), "true")@carve_outs$path
    },
    silent = TRUE
  )
  put(at("over"), "")
  settled(promise)
  put(at(".env"), "KEY=1")
  put(at("go"), "")
  expect_identical(parallel::mccollect(fork)[[1]], character())
  expect_true(file.exists(at(".env")))
})
