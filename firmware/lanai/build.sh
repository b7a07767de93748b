#!/bin/sh
# Builds the LANai's images: firmware/target/lanai/release/<image>. Arguments go to cargo, e.g. `-p hello` for one image.
set -eu
cd "$(dirname "$0")"
root=$PWD/../..
host=${CARGO_TARGET_DIR:-$root/target}

# The linker first: it belongs to the host's workspace, whose settings are not those of this folder.
(cd "$root" && cargo build --release --quiet --target-dir "$host" -p lanigon-lanai-link)
CARGO_TARGET_LANAI_LINKER=$(realpath "$host/release/lanai-link")
export CARGO_TARGET_LANAI_LINKER
# A changed linker makes every image anew.
LANIGON_LANAI_LINKER_HASH=$(cksum <"$CARGO_TARGET_LANAI_LINKER")
export LANIGON_LANAI_LINKER_HASH
# Where LLVM's tools are, unless they are in PATH. Without them the linker says what is missing.
if tools=$("$root/scripts/llvm" find); then
    export LANIGON_LLVM="$tools"
fi
# build-std and a custom target are unstable features of the pinned stable compiler.
export RUSTC_BOOTSTRAP=1
profile=${PROFILE:-release}
# Cases are built as projects are, in which each panic has a function of its own.
case $profile in cases) set -- --config 'target.lanai.rustflags=["-Zmerge-functions=disabled"]' "$@" ;; esac
exec cargo build --profile "$profile" --target-dir "$root/firmware/target" "$@"
