//! Reasons for which a guest cannot go on.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// A message, a queue or an access is not as the guest's side of an interface allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A vhost-user message is too long.
    #[error("a vhost-user message of {0} bytes")]
    Size(u32),
    /// A vhost-user message has another length than its kind.
    #[error("vhost-user message {request} has {length} bytes instead of {needed}")]
    Payload {
        /// Kind of the message.
        request: u32,
        /// Length of the message in bytes.
        length: usize,
        /// Bytes that it needs.
        needed: usize,
    },
    /// A vhost-user message of a kind that was not offered.
    #[error("vhost-user message {0}, which was not offered")]
    Request(u32),
    /// Another number of file descriptors than the message says.
    #[error("vhost-user message {request} has {found} file descriptors instead of {needed}")]
    Files {
        /// Kind of the message.
        request: u32,
        /// Number of file descriptors that came.
        found: usize,
        /// Number of file descriptors that the message needs.
        needed: usize,
    },
    /// The guest's memory cannot be mapped.
    #[error("the memory that is shared cannot be mapped: {0}")]
    Memory(String),
    /// No such queue.
    #[error("queue {0}, of 2")]
    Queue(u32),
    /// A queue has an impossible number of entries.
    #[error("a queue of {0} entries")]
    Entries(u32),
    /// A queue, a descriptor or a buffer is not in the memory that is shared.
    #[error("a queue uses address {0:#x}, where no memory is shared")]
    Address(u64),
    /// The descriptors of a request do not end.
    #[error("a request in a queue has more descriptors than the queue, or over {0} bytes")]
    Endless(usize),
    /// A descriptor that the queue does not have.
    #[error("a request in a queue names descriptor {0}")]
    Descriptor(u16),
    /// A request is no access to a PCI device.
    #[error("a PCI request of {0} bytes")]
    Short(usize),
    /// An operation that PCI over virtio does not have.
    #[error("PCI operation {0}")]
    Operation(u8),
    /// An access to the window that a board does not have.
    #[error(
        "an access of {size} bytes to {address:#x} of region {region}: the board has words in region 0"
    )]
    Access {
        /// The region, by its base address register.
        region: u8,
        /// Offset.
        address: u64,
        /// Bytes.
        size: u32,
    },
    /// A message about time that a guest does not send.
    #[error("message {0} about time")]
    Time(u32),
    /// The guest's clock goes backwards, or further than it may.
    #[error("its clock goes from {from} ns to {to} ns")]
    Clock {
        /// Time of the clock before.
        from: u64,
        /// To there.
        to: u64,
    },
    /// Another message instead of an acknowledgment.
    #[error("no acknowledgment of a message, but {0}")]
    Acknowledgment(String),
}

/// Reasons for which a guest cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A file that it needs is missing.
    #[error("{what} {} cannot be read: {error}", path.display())]
    File {
        /// Purpose of the file.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The guest's process cannot be started.
    #[error("its process cannot be started: {0}")]
    Start(io::Error),
    /// The guest's process has ended in the middle.
    #[error("its process has ended: {0}")]
    Ended(ExitStatus),
    /// The guest has neither acted nor waited for so many seconds of the wall clock.
    #[error("it hangs: for {0} s it has neither waited nor used the board")]
    Hangs(u64),
    /// The guest broke a rule of an interface.
    #[error("it broke a rule: {0}")]
    Violation(#[from] Violation),
    /// A socket or file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
