# The commands of the project. A newcomer needs two: `make run` and `make test`.
# Each of them first sees to the toolchain (scripts/setup); cargo knows what is up to date.

# where rustup puts cargo, for shells that have not read its environment file.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

LANIGON = cargo run --release --quiet -p testbench --bin lanigon --
FIRMWARE = $(MAKE) --no-print-directory -C firmware

# More options for the command behind `run` and `bench`, e.g. make run ARGS=--quick
ARGS =

.DEFAULT_GOAL := help
.PHONY: help setup firmware run test test-independent bench soak check clean

help:
	@echo 'make run       build everything and reproduce the EMP results (ARGS=--quick: a shorter run)'
	@echo 'make test      build everything and run all tests'
	@echo 'make test-independent  compare the core with Unicorn (optional; needs Python and its package registry)'
	@echo 'make firmware  build the NIC images only (firmware/target/tigon2/release)'
	@echo 'make bench     measure how fast the emulator is'
	@echo 'make soak      send a million messages over bad links; fails if EMP breaks a promise (minutes)'
	@echo 'make check     formatting, lints, documentation and project rules'
	@echo 'make setup     install the pinned Rust toolchain, if it is not there'
	@echo 'make clean     remove everything that was built or written'

setup:
	@scripts/setup

firmware: setup
	@$(FIRMWARE) images

run: firmware
	@$(LANIGON) reproduce emp $(ARGS)

bench: firmware
	@$(LANIGON) bench $(ARGS)

soak: firmware
	@$(LANIGON) run scenarios/soak.toml --threads 2 $(ARGS)

test: firmware
	@scripts/optional-tools
	cargo test --workspace

# The Python package that executes MIPS programs, in a folder of its own.
UNICORN = target/independent

$(UNICORN)/bin/python:
	python3 -m venv $(UNICORN)
	$(UNICORN)/bin/pip install --quiet unicorn==2.1.4 || { rm -rf $(UNICORN); exit 1; }

test-independent: setup $(UNICORN)/bin/python
	LANIGON_UNICORN_PYTHON=$(CURDIR)/$(UNICORN)/bin/python \
		cargo test -p emulator --features unicorn --test independent -- --nocapture

check: setup
	cargo fetch --locked
	cargo fmt --all --check
	cargo fmt --manifest-path examples/echo/Cargo.toml --check
	cargo fmt --manifest-path examples/echo/firmware/Cargo.toml --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	@$(FIRMWARE) check
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --quiet
	cargo test -p testbench --test rules

clean:
	rm -rf target firmware/target out
