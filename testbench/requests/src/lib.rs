//! Protocol between a process of an emulated host and its world.
//!
//! The process is a program of this machine; the library `liblanigon-fi.so` speaks for it, or, if it has sockets, `liblanigon-sockets.so`.
//! The library connects to the world's Unix socket, says who it is ([`Hello`]), and then sends [`Request`]s. A [`Request::Poll`], a
//! [`Request::Time`] and a [`Request::Spawn`] are answered, with [`Answer`]s up to an [`Answer::End`]; all others are not. So the process runs between an `End` and
//! its next `Poll`, and the world stands meanwhile.
//!
//! Both sides are read by a [`Decoder`], which takes any bytes: what is no message of this protocol is an error.

mod answer;
mod atomic;
mod call;
mod frame;
mod operation;
mod request;

pub use answer::{Answer, End, Welcome};
pub use atomic::{Atomic, Function, Number};
pub use call::{CallOutcome, Item, Refusal, SocketAddress, SocketCall, ready};
pub use frame::{Decoder, MOST_BYTES, RequestError};
pub use operation::{Access, Operation, Region, Segment};
pub use request::{Class, Envelope, Hello, LONGEST_NS, Message, Poll, Request, ValueReduction};

/// Version of the protocol. The two sides are built together.
pub const VERSION: u64 = 9;

/// Variable that asks for collective operations of the boards.
pub const COLLECTIVES_VARIABLE: &str = "LANIGON_NIC_COLLECTIVES";

/// Variable with the path of the world's socket.
pub const SOCKET_VARIABLE: &str = "LANIGON_SOCKET";
/// Variable with the simulated time that each nanosecond of processor time takes, in ns; without it a program's own computation takes none.
pub const COMPUTE_VARIABLE: &str = "LANIGON_COMPUTE";
/// Variable with the epoch of the processes' clocks, in seconds.
pub const EPOCH_VARIABLE: &str = "LANIGON_EPOCH";
/// Name of the provider, which MPI libraries ask libfabric for.
pub const PROVIDER: &str = "lanigon";
/// File name of the provider: libfabric loads what ends so.
pub const LIBRARY: &str = "liblanigon-fi.so";
/// Variable with the rank of a process that has sockets.
pub const RANK_VARIABLE: &str = "LANIGON_RANK";
/// Variable with the number of ranks.
pub const SIZE_VARIABLE: &str = "LANIGON_SIZE";
/// Variable with the process and the descriptor of its line to the world, for programs that it becomes.
pub const LINE_VARIABLE: &str = "LANIGON_LINE";
/// File name of the library for sockets.
pub const SOCKETS_LIBRARY: &str = "liblanigon-sockets.so";
