//! The sockets of an unchanged program: preloaded (`LD_PRELOAD`), `liblanigon-sockets.so` stands for functions of C.
//!
//! Who owns what, and how a call goes:
//!
//! * `world`: the line to the world. A call becomes a request; its thread waits until the world has answered. When all threads of the process wait,
//!   one of them tells the world, and simulated time goes on. So the world stands while any thread runs;
//! * `table`: which descriptors are sockets of the world, and which are `epoll` instances. Each is also a descriptor of the system (of a socket
//!   without a connection), so that its number is taken, and `dup`, `fstat`, `close` of the system fit;
//! * `sockets`, `options`: calls on one socket; `bytes`: calls that move bytes; `select`, `epoll`: waits for several descriptors, of the system too;
//! * `names`: host names; `lanigon_line`: the clock, sleeping, and waits for locks with a time limit, which `world` lets pass;
//! * all other descriptors and families of sockets are the system's. Nothing here calls a function that it stands for: these are system calls.
//!
//! Unsupported calls are told once on standard error. A child of the process has real time and no network.
//!
//! Unsafe code is confined to this crate and `lanigon_line`, whose callers are C.

#![allow(unsafe_code)]

mod bytes;
mod epoll;
mod error;
mod names;
mod options;
mod select;
mod sockets;
mod system;
mod table;
mod world;

/// Runs before the program.
extern "C" fn begin() {
    world::begin();
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;
