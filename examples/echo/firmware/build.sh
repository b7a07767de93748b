#!/bin/sh
# Builds the firmware: firmware/target/tigon2/release. CARGO_PROFILE_RELEASE_DEBUG=full adds what gdb needs for locals.
set -eu
cd "$(dirname "$0")"
hal=$(sed -n 's/^lanigon-tigon2-hal = { path = "\(.*\)" }$/\1/p' Cargo.toml)
lanigon=$(cd "$hal/../.." && pwd)
# The linker, which does multiplication and division in software, belongs to Lanigon's workspace.
(cd "$lanigon" && cargo build --release --quiet --target-dir "$lanigon/target" -p lanigon-tigon2-link)
export CARGO_TARGET_TIGON2_LINKER="$lanigon/target/release/tigon2-link"
# A changed linker makes the image anew.
LANIGON_TIGON2_LINKER_HASH=$(cksum <"$CARGO_TARGET_TIGON2_LINKER")
export LANIGON_TIGON2_LINKER_HASH
# Panics name the file in which they are. Files of Lanigon and of Rust are named alike wherever they lie, so that the same
# firmware has the same bytes everywhere.
rust="$(rustc --print sysroot)/lib/rustlib/src/rust"
names="'--remap-path-prefix=$lanigon=lanigon', '--remap-path-prefix=$rust=/rust'"
# A target of one's own is an unstable feature of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
exec cargo build --release --target-dir "$PWD/target" \
    --target "$lanigon/firmware/tigon2.json" -Z json-target-spec -Z build-std=core,alloc \
    --config "target.tigon2.rustflags=[$names]" "$@"
