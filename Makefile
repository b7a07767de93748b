# The commands of the project. A newcomer needs two: `make run` and `make test`.
# Each of them first sees to the toolchain (scripts/setup); cargo knows what is up to date.

# where rustup puts cargo, for shells that have not read its environment file.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

# cargo shows what it builds: the first time that takes minutes.
LANIGON = cargo run --release -p lanigon-command --bin lanigon --
FIRMWARE = $(MAKE) --no-print-directory -C firmware

# More options for the command behind `run` and `bench`, e.g. make run ARGS=--full
ARGS =

.DEFAULT_GOAL := help
.PHONY: help setup firmware install run book linux test test-all test-independent test-mpi test-mpi-programs test-linux bench instructions profiled soak check clean

help:
	@echo 'make run       build everything, show the path of a message, and reproduce published results into out/ (ARGS=--full: the whole amount)'
	@echo 'make test      build everything and run all tests'
	@echo 'make test-all  the same with four times as many random cases, as continuous integration runs it'
	@echo 'make test-independent  compare the cores with Unicorn and llvm-mc, timelines with Perfetto (optional; needs Python packages)'
	@echo 'make test-mpi  share runs among processes of mpirun (optional; needs Open MPI and libclang; says so if they are missing)'
	@echo 'make linux     build the kernel of guests, hosts that run Linux, from Debian packages (target/linux; minutes, once; no root)'
	@echo 'make test-linux  run the scenarios with Linux (optional; builds the kernel; says so if something is missing)'
	@echo 'make test-mpi-programs  launch programs of the MPI libraries that are installed on emulated hosts (LANIGON_MPIEXEC names more)'
	@echo 'make install   build everything and install `lanigon` (cargo install), with all images and scenarios in it'
	@echo 'make book      build the book of docs/ with mdBook (target/book/html), which is installed if it is not there'
	@echo 'make firmware  build the NIC images only (firmware/target/tigon2/release, firmware/target/lanai/release)'
	@echo 'make bench     measure how fast the emulator is'
	@echo 'make instructions  compare host instructions of fixed work with a baseline (needs valgrind; says so if it is missing)'
	@echo 'make profiled  build a faster `lanigon` with profile-guided optimisation (two builds of everything; needs llvm-profdata)'
	@echo 'make soak      send a million messages over bad links; fails if EMP breaks a promise (minutes)'
	@echo 'make check     formatting, lints, documentation and project rules'
	@echo 'make setup     install the pinned Rust toolchain and LLVM for the LANai, if they are not there'
	@echo 'make clean     remove everything that was built or written'

setup:
	@scripts/setup
	@scripts/llvm

firmware: setup
	@$(FIRMWARE) images

run: firmware
	@scripts/run $(ARGS)

install: firmware
	cargo install --locked --path testbench/command $(ARGS)
	for library in fi sockets; do install -D -t $(or $(CARGO_HOME),$(HOME)/.cargo)/lib target/release/deps/liblanigon_$$library.so || exit 1; done

book:
	@scripts/book

bench: firmware
	@$(LANIGON) bench $(ARGS)

# After a change that is meant to change them: make instructions ARGS=--write-baseline=$(BASELINE)
BASELINE = testbench/command/host-instructions.json

instructions: firmware
	@$(LANIGON) bench --instructions $(or $(ARGS),--baseline=$(BASELINE))

profiled: firmware
	@scripts/profiled

soak: firmware
	@$(LANIGON) run scenarios/soak.toml --threads 2 $(ARGS)

# Random tests draw the same cases each time, so that a failure belongs to the change that shows it: a quarter of
# them in `test` (testbench/cases).
test test-all: export PROPTEST_RNG_SEED ?= 39
test-all: export LANIGON_TESTS = all
test test-all: firmware
	@echo "random tests: $(or $(LANIGON_TESTS),a quarter) of the cases, seed $(PROPTEST_RNG_SEED)"
	@$(FIRMWARE) cases
	@scripts/optional-tools install
	cargo test --workspace
	@scripts/optional-tools summary

# Python packages that do the same as parts of the project, in a folder of their own.
INDEPENDENT = target/independent
PACKAGES = unicorn==2.1.4 perfetto==0.59.1

$(INDEPENDENT)/packages: Makefile
	python3 -m venv $(INDEPENDENT)
	$(INDEPENDENT)/bin/pip install --quiet $(PACKAGES) || { rm -rf $(INDEPENDENT); exit 1; }
	@echo $(PACKAGES) > $@

test-independent: setup firmware $(INDEPENDENT)/packages
	LANIGON_UNICORN_PYTHON=$(CURDIR)/$(INDEPENDENT)/bin/python \
		cargo test -p lanigon-emulator --features unicorn --test independent -- --nocapture
	LANIGON_INDEPENDENT_PYTHON=$(CURDIR)/$(INDEPENDENT)/bin/python \
		cargo test -p lanigon-timeline --features perfetto official -- --nocapture
	cargo test -p lanigon-emulator --test lanai llvm:: -- --nocapture

# Open MPI is no part of what the project needs: only this, and `make check` where it is installed, build with it.
MPI = --features lanigon-command/mpi

test-mpi: setup firmware
	@scripts/mpi
	cargo test -p lanigon-command $(MPI) --test main mpi::

linux:
	@scripts/linux

# Without the kernel the tests say that they are skipped.
test-linux: firmware
	@scripts/linux || true
	cargo test -p lanigon-guests
	cargo test --release -p lanigon-command --test main linux:: -- --nocapture

test-mpi-programs: setup firmware
	cargo test -p lanigon-command --test main mpi_programs:: -- --nocapture

# All features but `mpi`.
FEATURES = lanigon-emulator/unicorn lanigon-timeline/perfetto

check: setup
	cargo fetch --locked
	cargo fmt --all --check
	cargo fmt --manifest-path examples/echo/Cargo.toml --check
	cargo fmt --manifest-path examples/echo/firmware/Cargo.toml --check
	cargo clippy --workspace --all-targets --features '$(FEATURES)' -- -D warnings
	@if scripts/mpi; then echo "cargo clippy $(MPI)" && \
		cargo clippy -p lanigon-mpi -p lanigon-command --all-targets $(MPI) -- -D warnings; \
	else echo 'Not checked: the feature mpi' >&2; fi
	@$(FIRMWARE) check
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --quiet
	cargo test -p lanigon-command --test main rules::

clean:
	rm -rf target firmware/target out
