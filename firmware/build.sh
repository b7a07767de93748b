#!/bin/sh
# Builds the firmware images: firmware/target/tigon2/release/<image>.
# Arguments go to cargo, e.g. `-p hello` for one image.
set -eu
cd "$(dirname "$0")"
# build-std and a custom target are unstable features of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
exec cargo build --release --target-dir "$PWD/target" "$@"
