#!/bin/sh
# Builds the firmware images: firmware/target/tigon2/release/<image>.
# Arguments go to cargo, e.g. `-p hello` for one image. The variable PROFILE names another profile of Cargo.toml.
set -eu
cd "$(dirname "$0")"
# build-std and a custom target are unstable features of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
exec cargo build --profile "${PROFILE:-release}" --target-dir "$PWD/target" "$@"
