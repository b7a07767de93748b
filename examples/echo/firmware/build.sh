#!/bin/sh
# Builds the firmware: firmware/target/tigon2/release.
set -eu
cd "$(dirname "$0")"
# A target of one's own is an unstable feature of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
exec cargo build --release --target-dir "$PWD/target" "$@"
