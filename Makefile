# Everything a developer does, by one word each; `make demo` and `make test` need only R, a C
# compiler and cargo on the machine, and install what R packages are missing.

# What cargo builds is kept between two runs here; a plain R CMD INSTALL throws it away.
export RHOCAP_BUILD_DIR ?= $(CURDIR)/src/build

.PHONY: demo test install packages vendor wrappers document check-generated format lint check
.PHONY: test-install bench check-rho fuzz

# The main job, offline, on this source tree.
demo:
	Rscript tools/install-packages.R imports
	$(MAKE) install
	Rscript demo/rhocap.R

# All tests of both languages, and one line that counts them.
test: packages install
	tools/test

packages:
	Rscript tools/install-packages.R imports suggests

install:
	R CMD INSTALL --no-test-load .

# Packs the crates anew after a change of src/rust/Cargo.lock. CARGO=... names another cargo.
vendor:
	tools/vendor

# R/extendr-wrappers.R, from the functions that the binding registers.
wrappers:
	./configure
	cd src && R CMD SHLIB -o rhocap.so entrypoint.c
	Rscript tools/wrappers.R

# man/ and NAMESPACE, from the comments in R/. Before 7.3.0 roxygen2 wrote links in another way.
document: install
	Rscript tools/install-packages.R "roxygen2 (>= 7.3.0)"
	Rscript -e 'roxygen2::roxygenise(load_code = "installed")'

# Whether the last two were made after the last change.
check-generated: install
	Rscript tools/install-packages.R "roxygen2 (>= 7.3.0)"
	tools/check-generated

format:
	tools/cargo fmt
	Rscript tools/style.R

# The lines for macOS are compiled only on a Mac: where CI runs, Rust's library for
# aarch64-apple-darwin cannot be had (rustup has no network there, Debian no package).
lint:
	tools/cargo fmt --check
	tools/cargo clippy --workspace --all-targets -- -D warnings
	Rscript tools/style.R check

# As CRAN does it: from the source package, with nothing built before.
check:
	tools/check

# What an install needs, says and leaves.
test-install:
	tools/test-install

bench: packages install
	bench/run

# With the real packages of Rho, R >= 4.4: make check-rho RHO=path-to-its-sources
check-rho: packages install
	Rscript tests/rho/check.R "$(RHO)"

# Bytes that no honest peer sends, to the supervisor's protocol. It needs a crate that the package's are
# without: see tools/fuzz.
fuzz:
	tools/fuzz
