# One command per check, the same on a laptop and in CI. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# What Python imports is compiled once, since pip compiles nothing here, and not anew by each process.
export PYTHONDONTWRITEBYTECODE :=

# The first Python of 3.10 or newer; `make PYTHON=...` chooses another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out/demo
# No operating system, no std: what embeds the controllers may run there.
BARE := thumbv7em-none-eabihf
# The playground: its target, and the folder that any web server may hand out.
WASM := wasm32-unknown-unknown
PLAYGROUND := target/playground-page
HAS_WASM := $(wildcard $(shell rustc --print sysroot 2>/dev/null)/lib/rustlib/$(WASM))
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
EXAMPLES := target/debug/examples
# docs/PAGE.md is what the example PAGE of a crate prints, and what `scenario-reference PAGE` prints.
PAGES := figures endpoint-settings
REFERENCE := scenario-reference $(addprefix reference-,links flows sources coupling controllers)
# Fails unless the command $1 prints the file $2.
same = $1 | diff -q - $2 >/dev/null || { echo "$2 is stale: make docs" >&2; exit 1; }
HEADER := crates/capi/include/paceline.h
# Commits before this one have longer subjects.
SUBJECTS_FROM := 97c35454
# A profile-guided build: an instrumented one counts, in RAW, what its training runs do, and another is compiled with the counts.
PGO_DIR := $(CURDIR)/target/pgo
RAW := $(PGO_DIR)/raw
PROFILE := $(PGO_DIR)/profile.profdata
# Of the compiler's own LLVM: another one's cannot read the counts.
PROFDATA = $(shell rustc --print target-libdir)/../bin/llvm-profdata
INSTRUMENTED = CARGO_TARGET_DIR=$(PGO_DIR)/instrumented RUSTFLAGS="$(RUSTFLAGS) -Cprofile-generate=$(RAW)"
GUIDED = CARGO_TARGET_DIR=$(PGO_DIR)/guided RUSTFLAGS="$(RUSTFLAGS) -Cprofile-use=$(PROFILE)"
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -type f \( -name '*.rs' -o -name Cargo.toml \))

.PHONY: help
help: ## Show what can be made
	@echo "Paceline: make TARGET, where TARGET is"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# One at a time in a clone; the second waits, and finds everything done.
.PHONY: build
build: prerequisites ## Install what is needed into .venv and build the program: .venv/bin/paceline
	$(call needs_room,2)
	@mkdir -p target
	@flock --nonblock --conflict-exit-code 75 target/.building $(MAKE) --no-print-directory -j 2 $(VENV)/.built || \
		{ [ $$? = 75 ] && echo "Waiting for another build in this clone" && \
		flock target/.building $(MAKE) --no-print-directory -j 2 $(VENV)/.built; }

.PHONY: demo
demo: build ## Repeat a study of SCReAM over 5G, judge it, and name the report
	@$(BIN)/paceline demo --out $(OUT)

.PHONY: test
test: room developers ## Run the tests that need no free machine: all pure ones, and a call over loopback
	@$(MAKE) --no-print-directory -j 2 test-rust test-python

.PHONY: test-all
test-all: test test-others ## Run all tests: those, and what test-others runs

.PHONY: test-others
test-others: ## Run the golden runs in the release build, the tests in real time or with other programs, and long ones
	@$(MAKE) --no-print-directory -j 4 golden real-time long

.PHONY: golden
golden: prerequisites
	cargo test --profile golden --locked --quiet -p paceline-sim --test golden

# Whole crates are named, so that all commands compile one set of features.
.PHONY: real-time
real-time: real-time-python real-time-rust

.PHONY: real-time-python
real-time-python: developers
	$(BIN)/python -m pytest -q -n 4 --dist worksteal -m "real_time or peer or long"

.PHONY: real-time-rust
real-time-rust: room prerequisites
	cargo test --workspace --locked --test real_time -- --test-threads=8

# Five and ten thousand paths, and windows at few losses, take minutes, for who changes how clocks are told, or a law: docs/known-results.md.
.PHONY: long
long: room prerequisites
	cargo test --workspace --locked --quiet --lib --test pure -- --ignored --skip ten_thousand_paths --skip five_thousand_other_paths --skip few_losses

# What is compiled for tests and lints is said before anything is.
.PHONY: room
room:
	$(call needs_room,5)

.PHONY: test-rust
test-rust: room prerequisites
	cargo test --workspace --locked --no-run
	cargo test --workspace --locked --quiet

.PHONY: test-python
test-python: developers
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not real_time and not peer and not long"

.PHONY: lint
lint: room developers ## Check format, lints, types, links, spelling and subjects of commits
	cargo fmt --all --check
	$(BIN)/ruff check python tests benches site
	$(BIN)/ruff format --check python tests benches site
	$(BIN)/typos
	@! git log --format='%h %s' $(SUBJECTS_FROM)..HEAD | grep -E '^[^ ]+ .{73}' || \
		{ echo "a commit's subject has more than 72 characters" >&2; exit 1; }
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest paceline._core
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	@$(MAKE) --no-print-directory bare-metal examples
	@for page in $(PAGES); do $(call same,$(EXAMPLES)/$$page,docs/$$page.md); done
	@for page in $(REFERENCE); do $(call same,$(EXAMPLES)/scenario-reference $$page,docs/$$page.md); done
	@$(call same,$(EXAMPLES)/header,$(HEADER))

.PHONY: docs
docs: examples ## Write the pages and the C header anew that are generated from declarations
	@$(EXAMPLES)/header > $(HEADER)
	@for page in $(PAGES); do $(EXAMPLES)/$$page > docs/$$page.md; done
	@for page in $(REFERENCE); do $(EXAMPLES)/scenario-reference $$page > docs/$$page.md; done

# Addresses that others link to.
LINKED := index ten-minutes algorithms/scream studies/scream-5g/index source/scenarios/first-call.toml gallery slider
.PHONY: site
site: build $(if $(HAS_WASM),playground) $(VENV)/.docs ## Make the site of the documentation into out/site, and check every link and anchor of it
	@# With --quiet it counts no warnings, and finds nothing.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f site/mkdocs.yml 2>&1 | { grep -v ^INFO || true; }
	@if [ -n "$(HAS_WASM)" ]; then cp -r $(PLAYGROUND) out/site/playground-page; \
		else echo "without the playground, which needs: rustup target add $(WASM)"; fi
	@for page in $(LINKED); do test -f out/site/$$page.html || { echo "missing: out/site/$$page.html" >&2; exit 1; }; done
	@echo out/site/index.html

.PHONY: examples
examples: prerequisites
	cargo build --workspace --examples --locked

.PHONY: playground
playground: prerequisites ## Make the page that simulates in a browser, for any web server: target/playground-page
	$(call needs_target,$(WASM))
	cargo build --locked --profile playground --target $(WASM) -p paceline-playground
	@mkdir -p $(PLAYGROUND)
	@cp crates/playground/page/* target/$(WASM)/playground/paceline_playground.wasm $(PLAYGROUND)
	@echo "$(PLAYGROUND): python3 -m http.server --bind 127.0.0.1 --directory $(PLAYGROUND)"

.PHONY: capi
capi: prerequisites ## Make the C header and the shared and static library into target/capi
	cargo build --release --locked --quiet -p paceline-capi
	@mkdir -p target/capi
	@cp crates/capi/include/paceline.h target/release/libpaceline.so target/release/libpaceline.a target/capi
	@echo target/capi

.PHONY: webrtc
webrtc: prerequisites ## Compile the example of a controller under str0m, which needs Rust 1.89 (RUN=1 runs it, with str0m's cryptography)
	@CARGO_TARGET_DIR=$(CURDIR)/target cargo $(if $(RUN),run --features run,check) --locked --quiet --manifest-path examples/str0m/Cargo.toml

# Its controller runs in the simulator's tests; compiled here is what a repository of one's own has around it.
.PHONY: own-controller
own-controller: prerequisites ## Compile the example of a build with a controller of one's own
	@CARGO_TARGET_DIR=$(CURDIR)/target cargo check --workspace --locked --quiet --manifest-path examples/own-controller/Cargo.toml

# Whatever these controllers need is theirs alone: no crate and no package here depends on it.
PEERS := target/peers
.PHONY: peers
peers: build ## Grade controllers of other projects beside the nearest ones here, in a quarter of an hour; needs Go as well
	@command -v go >/dev/null || { echo "missing: Go 1.25 or newer" >&2; exit 1; }
	cd peers && CARGO_TARGET_DIR=$(CURDIR)/$(PEERS) cargo build --locked --quiet
	cd peers/pion && go test -c -o $(CURDIR)/$(PEERS)/pion .
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --upgrade --target $(PEERS)/aiortc -r peers/aiortc/requirements.txt
	@rm -rf $(PEERS)/python && mkdir $(PEERS)/python && cp -RL python/paceline $(PEERS)/python
	@cp $(PEERS)/debug/libpeers_extension.so $(PEERS)/python/paceline/_core.abi3.so
	PYTHONPATH=$(PEERS)/python:$(PEERS)/aiortc $(BIN)/paceline scorecard \
		quinn-newreno sack quinn-cubic s2n-cubic cubic cubic:quic quinn-bbr bbr s2n-bbr bbr3 \
		goog-cc gcc:libwebrtc pion webrtc-rs gcc:draft aiortc gcc:libwebrtc-2012 \
		--controller pion=$(PEERS)/pion --controller aiortc=peers/aiortc/remb.py:Remb --out out/peers

.PHONY: bare-metal
bare-metal: prerequisites
	$(call needs_target,$(BARE))
	cargo check --locked --quiet --target $(BARE) -p paceline-units -p paceline-cc -p paceline-wire -p paceline-media \
		-p paceline-link

.PHONY: format
format: build ## Bring Rust and Python into the project's format
	cargo fmt --all
	$(BIN)/ruff check --quiet --fix python tests benches site
	$(BIN)/ruff format --quiet python tests benches site

# The target of another processor, whose wheel is built here: make wheel FOR=aarch64-unknown-linux-gnu.
FOR ?=
# Zig links for any processor, and for a glibc as old as Rust's own minimum where this machine's is newer.
ZIG = PATH="$(CURDIR)/$(BIN):$$PATH" CARGO_ZIGBUILD_CACHE_DIR="$(CURDIR)/target/zig"
.PHONY: wheel
wheel: $(PROFILE) $(VENV)/.wheels ## Build the release wheel, profile-guided, into dist/ (FOR=TARGET: for another processor)
	$(if $(FOR),$(call needs_target,$(FOR)))
	@echo "Building the wheel (release, with the profile)"
	$(call unpacked_wheel,$(ZIG) $(GUIDED),$(PGO_DIR)/guided,--zig $(addprefix --target ,$(FOR)))
	@mkdir -p dist
	@cp -v $(PGO_DIR)/guided/wheel/*.whl dist

.PHONY: check-wheel
check-wheel: ## Install the newest wheel of dist/ into a fresh environment, and take a newcomer's first steps with it
	@PYTHON="$(PYTHON)" .ci/check-wheel

.PHONY: release
release: ## Check and build what a version publishes (VERSION=1.2.3); with PUBLISH=1, tag and upload it
	@PUBLISH=$(PUBLISH) .ci/release $(or $(VERSION),$(error name the version: make release VERSION=1.2.3))

.PHONY: bench
bench: $(if $(PGO),wheel,build) ## Print speeds of the release build: simulated, on loopback, instructions per packet, the study engine; bench.json (PGO=1: with a profile of runs)
ifdef PGO
	@# Together with the extension, so that the crates of both have the same features, and with them the names of the profile.
	$(GUIDED) cargo build --release --locked --quiet -p paceline-benches -p paceline-py --bin paceline-benches
	@$(PGO_DIR)/guided/release/paceline-benches --json bench.json
else
	cargo run --release --locked -p paceline-benches -- --json bench.json
	$(call unpacked_wheel,,target/bench)
endif
	@PYTHONPATH=$(if $(PGO),$(PGO_DIR)/guided,target/bench)/unpacked $(BIN)/python benches/study.py

# How long the calls of long-run are: in the simulator, and over loopback.
SIMULATED ?= 86400s
LOOPBACK ?= 1800s
.PHONY: long-run
long-run: prerequisites ## Run calls of a day, simulated, and of half an hour, over loopback: nothing lost, memory flat
	cargo run --release --locked --quiet -p paceline-net --example long_run -- $(SIMULATED) $(LOOPBACK)

# How long the calls of soak are.
SOAK ?= 1800s
.PHONY: soak
soak: prerequisites ## Run ten calls whose links fail and come back, for half an hour: each goes on, memory flat, no descriptor lost
	cargo run --release --locked --quiet -p paceline-net --example soak -- $(SOAK)

.PHONY: fuzz
fuzz: prerequisites ## Fuzz the parsers and the controllers for a short while
	fuzz/run.sh

.PHONY: fuzz-smoke
fuzz-smoke: prerequisites ## Feed fuzz targets seeds, mutated seeds and noise for 1 s each, on any toolchain
	FUZZ=smoke SECONDS_EACH=1 fuzz/run.sh

.PHONY: picture
picture: build ## Draw the README's picture, the gallery and the page with a slider anew, with the playground's colours
	@$(BIN)/paceline run scenarios/first-call.toml --out out/first-call --plot >/dev/null
	@cp out/first-call/plots/overview.png docs/images/overview.png
	@echo "docs/images/overview.png"
	@$(BIN)/python site/draw.py docs/gallery.md
	@$(BIN)/python site/slider.py > docs/slider.html
	@$(BIN)/python site/vocabulary.py > crates/playground/page/vocabulary.js

.PHONY: lock
lock: $(VENV)/.installed ## Choose the newest Python dependencies and write the files requirements*.lock
	$(BIN)/python -m pip install --quiet uv
	$(call locked,pyproject.toml --extra dev,--upgrade,requirements-dev.lock)
	@for file in requirements-docs.lock requirements.lock; do cp requirements-dev.lock $$file; done # Without --upgrade, versions stay what they are in the file.
	$(call locked,pyproject.toml --extra docs,,requirements-docs.lock)
	$(call locked,--group wheels,--upgrade,requirements-wheels.lock)
	$(call locked,pyproject.toml --extra build,,requirements.lock)

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) out dist target python/paceline/_core*.so

# Python compiles what it imports; all modules at once would take half of the time.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --require-hashes

$(VENV)/.installed: requirements.lock
	@echo "Installing Python dependencies into $(VENV)"
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@$(PIP) -r requirements.lock
	@touch $@

# What the tests, the lints and every extra need, besides.
.PHONY: developers
developers: build $(VENV)/.developers

$(VENV)/.developers: requirements-dev.lock | build
	@echo "Installing what tests and lints need into $(VENV)"
	@$(PIP) -r requirements-dev.lock
	@touch $@

$(VENV)/.wheels: requirements-wheels.lock | build
	@echo "Installing what wheels are linked with into $(VENV)"
	@$(PIP) -r requirements-wheels.lock
	@touch $@

$(VENV)/.docs: requirements-docs.lock | build
	@echo "Installing what the site needs into $(VENV)"
	@$(PIP) -r requirements-docs.lock
	@touch $@

# What the extension links, beside Python's dependencies: neither waits for the other.
.PHONY: parts
parts:
	@cargo build --locked -p paceline-net -p paceline-sim

$(VENV)/.built: $(VENV)/.installed pyproject.toml $(RUST_SOURCES) $(wildcard .git/logs/HEAD) | parts
	@echo "Building the extension"
	@PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --locked
	@touch $@

# Writes the dependencies of an extra or a group: $(call locked,WHICH,OPTIONS,FILE).
locked = $(BIN)/uv pip compile $(1) --universal --python-version 3.10 --generate-hashes --no-header --quiet $(2) -o $(3)

# Ends unless Rust's libraries for a target are here: $(call needs_target,TARGET).
define needs_target
	@test -d "$$(rustc --print sysroot)/lib/rustlib/$(1)" || \
		{ echo "missing: Rust's core library for $(1)" >&2; echo "  get it with: rustup target add $(1)" >&2; exit 1; }
endef

# Ends unless so many GB are free or taken by what was built here: $(call needs_room,GB).
define needs_room
	@free="$$(df --output=avail -BM . | tail -n 1 | tr -dc 0-9)"; \
	here="$$({ du -sm --total target $(VENV) 2>/dev/null || true; } | tail -n 1 | cut -f 1)"; \
	if [ "$$((free + here))" -lt $(1)000 ]; then \
		echo "missing: $(1) GB of disk for 'make $(or $(MAKECMDGOALS),help)'; found: $$free MB free, and $$here MB built here before" >&2; exit 1; fi
endef

# Builds a wheel with these variables into this folder, where Python can import it, too: $(call unpacked_wheel,VARIABLES,FOLDER,OPTIONS).
define unpacked_wheel
	@rm -rf $(2)/wheel $(2)/unpacked
	@$(1) $(BIN)/maturin build --release --locked --quiet $(3) --out $(2)/wheel
	@$(BIN)/python -m zipfile -e $(2)/wheel/*.whl $(2)/unpacked
endef

$(PROFILE): $(VENV)/.installed pyproject.toml benches/training.py $(RUST_SOURCES) | profdata
	@echo "Building the extension (release, instrumented)"
	$(call unpacked_wheel,$(INSTRUMENTED),$(PGO_DIR)/instrumented)
	@rm -rf $(RAW) # Macros and build scripts have counted, too.
	@PYTHONPATH=$(PGO_DIR)/instrumented/unpacked $(BIN)/python benches/training.py
	@$(PROFDATA) merge --output $@ $(RAW)

.PHONY: profdata
profdata: prerequisites
	@test -x $(PROFDATA) || { echo "missing: llvm-profdata of Rust's own LLVM" >&2; \
		echo "  get it with: rustup component add llvm-tools" >&2; exit 1; }

.PHONY: prerequisites
prerequisites:
	@missing=0; need() { echo "missing: $$1" >&2; echo "  get it with: $$2" >&2; missing=1; }; \
	if [ -z "$(PYTHON)" ]; then need "Python 3.10 or newer" "sudo apt install python3 python3-venv"; \
	elif ! "$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null; then \
		need "Python's venv module" "sudo apt install python3-venv"; fi; \
	found="$$({ cargo --version 2>/dev/null || true; } | cut -d ' ' -f 2)"; \
	if [ "$$(printf '%s\n' $(RUST) "$${found:-0}" | sort -V | head -n 1)" != $(RUST) ]; then \
		need "Rust $(RUST) or newer (cargo; found: $${found:-none})" \
		"curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y; . ~/.cargo/env"; fi; \
	command -v cc >/dev/null || need "a C compiler and linker" "sudo apt install build-essential"; \
	exit $$missing
