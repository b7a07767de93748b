//! The host of a node: CPUs, and programs that run on them in simulated time.
//!
//! A program is an `async` function over its [`Machine`](machine::Machine). It gives way only where it uses the machine: each such call
//! leaves a [`Request`](request::Request) in the program's port. The node carries the request out at the costs of the profile and resumes
//! the program with a [`Response`](emulator_board::events::Response) at the time when a real processor would have it.
//!
//! * [`program`]: the programs of a host: how they begin, end and begin anew;
//! * `execution`: the future of one program, or the log that stands in for it;
//! * `dispatch`: requests and events;
//! * `scheduler`: which program has which CPU; [`accounts`]: where its time goes;
//! * `work`: the work of a program between a request and its answer;
//! * `read`, `rotation`: reads and polls of the board's window;
//! * `memory_poll`: polls of host memory;
//! * `interrupt`: interrupts of the board, sleeps and their timeouts; `signals`: handlers of interrupts in programs;
//! * [`machine`]: the programs' interface; it implements the host library's `MachinePort` and `SystemPort`;
//! * [`outside`]: another process in the place of a node's programs;
//! * [`log`], `restore`: replay logs of programs, and their restoration from a snapshot;
//! * [`tape`]: the actions of programs as bytes, and a program that replays them.
#![deny(missing_docs)]

pub mod accounts;
mod dispatch;
mod execution;
mod interrupt;
pub mod log;
pub mod machine;
mod memory_poll;
pub mod outside;
pub mod program;
mod read;
pub mod request;
pub mod restore;
mod rotation;
mod scheduler;
mod signals;
pub mod tape;
mod work;
