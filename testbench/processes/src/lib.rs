//! Programs of this machine as programs of emulated hosts.
//!
//! Each rank of an MPI program is a process of this machine. Its MPI library loads the provider `liblanigon-fi.so`, which turns every operation into a
//! request on a Unix socket. Here is the other end of the socket:
//!
//! * [`Hub`] has the sockets of all ranks, and knows who runs and who waits;
//! * a host program for each rank reads the rank's requests and carries them out on the emulated board, over the transports of `host_lib::mpi`: so a
//!   message of a process takes the same way as one of this project's own message passing;
//! * [`Processes`] is the workload of a scenario, and [`KIND`] its kind;
//! * [`Starter`] is the `mpiexec` of an MPI library, with its processes; [`Programs`] are processes that have sockets;
//! * `stall`: when simulated time stands, and nothing but something outside goes on;
//! * `spawn`: processes that start others, which get places of their own;
//! * [`prepare`] gives a scenario whose programs have commands such processes.
//!
//! A process with sockets has no MPI library: the preloaded `liblanigon-sockets.so` turns its calls into requests. The host program is the same
//! (`program`); what it does for its process is a service: messages (`messages`), or sockets (`sockets`), which are those of
//! [`host_lib::sockets`]. The service knows what each socket of the process is, and which of its calls wait.
//!
//! # Time
//!
//! A host program reads its process's requests with reads that wait, so the world stands while a process runs, and the time of its own computation is
//! none. Only the processor times in the requests, and what the host library and the board take, are simulated time. A process that has nothing to do
//! polls, and is answered when an event comes for it in simulated time. So results depend on simulated time only.
//!
//! A thread that waits for another one sleeps in the operating system (`futex`), of which the world learns nothing. If its wait has a limit, the
//! preloaded library makes a call with that limit of it, which the process tells with its next poll: when all of its threads wait. The answer comes
//! at the limit, unless a thread that goes on before takes the call back (`lanigon_line::pause`). The main thread of an MPI program polls itself.
//!
//! What happens outside is told apart by two rules. *Stalled*: all processes poll, and no message is under way. Then simulated time can bring nothing,
//! and polls are answered while it stands, until a process goes on for another reason (its starter, a file). *Away*: the process whose request is
//! waited for sleeps outside a poll, and so do all others that run, their children, and the starter. Then the world goes on without it, and takes its next request when it is stalled.

mod connection;
mod error;
mod group;
mod hub;
mod keys;
mod launch;
mod memory;
mod messages;
mod network;
mod program;
mod programs;
mod rank;
mod receipts;
mod service;
mod sockets;
mod spawn;
mod stall;
mod starter;
mod turns;
mod wire;
mod workload;

pub use error::{ProcessError, StartError};
pub use group::{PROVIDER_FILE, SOCKETS_FILE, check_program, library};
pub use hub::Hub;
pub use launch::{Launch, LaunchKind, MpiLaunch, check, exit_text, prepare};
pub use programs::{Output, ProgramCommand, Programs};
pub use starter::{Library, Starter, StarterKind};
pub use workload::{KIND, MOST_PER_NODE, Mode, Processes, SentTotals};
