//! A libfabric provider: MPI libraries load `liblanigon-fi.so`, and their messages go over the boards of an emulated world.
//!
//! libfabric calls [`fi_prov_ini`] and gets the table of calls of an endpoint type, reliable datagrams with tags. Each call that is a matter of the
//! process is decided here: addresses, completions, and the match of messages with receives, as the host library of an MPI over GM does it. What is a
//! matter of the network becomes a request to the world (`lanigon_requests`), which stands while the process runs.
//!
//! Preloaded (`LD_PRELOAD`), the same library answers for the clock (`lanigon_line`): the process reads simulated time. It stands for barriers of
//! MPI, too, if the boards are to execute them (`collective`), for the starts of further processes (`spawn`), for `MPI_Pcontrol` (`compute`), for
//! `MPI_Get_processor_name` (`name`), and for `MPI_Finalize` and `MPI_Abort` (`end`).
//!
//! Unsafe code is confined to this crate, whose callers are C: the bindings (`ffi`) are written by hand, so that no header of libfabric is needed.
//! What is behind the calls (`endpoint`, `queue`, `process`) is safe but for the bytes of the process's buffers (`memory`).

#![allow(unsafe_code)]

mod atomic;
mod clock;
mod collective;
mod compute;
mod counter;
mod domain;
mod end;
mod endpoint;
mod fabric;
mod ffi;
mod info;
mod memory;
mod messages;
mod name;
mod place;
mod process;
mod queue;
mod region;
mod remote;
mod spawn;

use ffi::{Provider, version};

/// Entry point of the provider, which libfabric calls once. libfabric writes into the answer and keeps it.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut Provider {
    Box::into_raw(Box::new(Provider {
        version: version(0, 1),
        // At least the version of any library that loads this.
        fi_version: version(2, 99),
        context: [0; 4],
        name: c"lanigon".as_ptr(),
        getinfo: info::getinfo,
        fabric: fabric::open,
        cleanup: None,
    }))
}
