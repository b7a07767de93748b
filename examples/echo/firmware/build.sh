#!/bin/sh
# Builds the firmware: firmware/target/tigon2/release. CARGO_PROFILE_RELEASE_DEBUG=full adds what gdb needs for locals.
set -eu
cd "$(dirname "$0")"
# A target of one's own is an unstable feature of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
# Panics name the file in which they are. Lanigon's own are named alike wherever it lies, so that the same
# firmware has the same bytes everywhere.
hal=$(sed -n 's/^lanigon-tigon2-hal = { path = "\(.*\)" }$/\1/p' Cargo.toml)
lanigon=$(cd "$hal/../.." && pwd)
exec cargo build --release --target-dir "$PWD/target" \
    --target "$lanigon/firmware/tigon2.json" -Z json-target-spec -Z build-std=core \
    --config "target.tigon2.rustflags=['--remap-path-prefix=$lanigon=lanigon']" "$@"
