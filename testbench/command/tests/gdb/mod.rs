//! `lanigon gdb`: the server, and the real gdb where it is installed.

#[allow(
    dead_code,
    reason = "shared with the tests of lanigon-debugger, which use more of it"
)]
#[path = "../../../debugger/tests/gdb/client.rs"]
mod client;
mod real;
mod server;
