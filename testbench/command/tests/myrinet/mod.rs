//! The command `lanigon myrinet` with control programs of the tests.

mod assembly;
mod mailbox;
mod runs;
