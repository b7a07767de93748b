//! Worlds end to end: EMP, Ethernet firmware, scenarios, saved states, the one-block images.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod acenic;
mod acenic_firmware;
mod atomics;
mod collective;
mod dsm;
mod emp;
mod images;
mod lanai;
mod mpi;
mod myrinet;
mod ranks;
mod replays;
mod saved;
mod scenarios;
mod sockets;
