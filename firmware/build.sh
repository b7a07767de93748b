#!/bin/sh
# Builds the firmware images: firmware/target/tigon2/release/<image>.
# Arguments go to cargo, e.g. `-p hello` for one image. The variable PROFILE names another profile of Cargo.toml.
set -eu
cd "$(dirname "$0")"
root=$PWD/..
host=${CARGO_TARGET_DIR:-$root/target}

# The linker first: it belongs to the host's workspace, whose settings are not those of this folder.
(cd "$root" && cargo build --release --quiet --target-dir "$host" -p lanigon-tigon2-link)
CARGO_TARGET_TIGON2_LINKER=$(realpath "$host/release/tigon2-link")
export CARGO_TARGET_TIGON2_LINKER
# A changed linker makes every image anew.
LANIGON_TIGON2_LINKER_HASH=$(cksum <"$CARGO_TARGET_TIGON2_LINKER")
export LANIGON_TIGON2_LINKER_HASH
# build-std and a custom target are unstable features of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
profile=${PROFILE:-release}
# Cases are built as projects are, in which each panic has a function of its own.
case $profile in cases) set -- --config 'target.tigon2.rustflags=["-Zmerge-functions=disabled"]' "$@" ;; esac
exec cargo build --profile "$profile" --target-dir "$PWD/target" "$@"
