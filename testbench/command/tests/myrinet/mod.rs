//! The command `lanigon myrinet`.

#[path = "../../../worlds/tests/myrinet/assembly.rs"]
mod assembly;
#[allow(
    dead_code,
    reason = "shared with the tests of lanigon-worlds, which use more of it"
)]
#[path = "../../../worlds/tests/myrinet/mailbox.rs"]
pub mod mailbox;
#[path = "../../../worlds/tests/myrinet/mcpshmem.rs"]
pub mod mcpshmem;
mod runs;
