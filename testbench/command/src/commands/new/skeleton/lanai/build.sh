#!/bin/sh
# Builds the firmware: firmware/target/lanai/release.
set -eu
cd "$(dirname "$0")"
hal=$(sed -n 's/^lanigon-lanai-hal = { path = "\(.*\)" }$/\1/p' Cargo.toml)
lanigon=$(cd "$hal/../../.." && pwd)
# LLVM's tools, which make code for the LANai: an empty line if they are in PATH.
if ! tools=$("$lanigon/scripts/llvm" find); then
    echo "LLVM 22's llc is missing, which makes code for the LANai: apt-get install llvm-22, or make -C $lanigon setup" >&2
    exit 1
fi
export LANIGON_LLVM="$tools"
# The linker belongs to Lanigon's workspace, whose settings are not those of this folder.
(cd "$lanigon" && cargo build --release --quiet --target-dir "$lanigon/target" -p lanigon-lanai-link)
export CARGO_TARGET_LANAI_LINKER="$lanigon/target/release/lanai-link"
# A changed linker makes the image anew.
LANIGON_LANAI_LINKER_HASH=$(cksum <"$CARGO_TARGET_LANAI_LINKER")
export LANIGON_LANAI_LINKER_HASH
# Panics name the file in which they are. Files of Lanigon and of Rust are named alike wherever they lie, so that the same
# firmware has the same bytes everywhere.
rust="$(rustc --print sysroot)/lib/rustlib/src/rust"
names="'--remap-path-prefix=$lanigon=lanigon', '--remap-path-prefix=$rust=/rust'"
# A target of one's own is an unstable feature of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
exec cargo build --release --target-dir "$PWD/target" \
    --target "$lanigon/firmware/lanai/lanai.json" -Z json-target-spec -Z build-std=core,alloc \
    -Z build-std-features=compiler-builtins-mem \
    --config "target.lanai.rustflags=[$names]" "$@"
