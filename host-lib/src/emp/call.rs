//! Descriptions of library calls, for the host system's observers.

use std::fmt;

use super::buffer::Buffer;
use super::transfer::{Direction, Transfer, TransferLabel};

/// A call and its purpose.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// A call that concerns a transfer.
    Transfer {
        /// The operation.
        verb: &'static str,
        /// Direction, peer and tag.
        label: TransferLabel,
        /// Bytes of its buffers.
        length_bytes: u64,
    },
    /// A wait for one of several transfers.
    WaitAny(usize),
}

impl Call {
    /// A post of `buffers`.
    pub(super) fn post(verb: &'static str, label: TransferLabel, buffers: &[Buffer]) -> Self {
        let length_bytes = buffers.iter().map(|buffer| u64::from(buffer.length)).sum();
        Self::Transfer {
            verb,
            label,
            length_bytes,
        }
    }

    /// An operation on a transfer.
    pub(super) const fn of(verb: &'static str, transfer: &Transfer) -> Self {
        Self::Transfer {
            verb,
            label: transfer.label,
            length_bytes: transfer.length as u64,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfer {
                verb,
                label,
                length_bytes,
            } => {
                let (direction, peer, tag) = (label.direction, label.peer, label.tag);
                let way = match direction {
                    Direction::Transmit => "to",
                    Direction::Receive => "from",
                };
                write!(
                    f,
                    "{verb} {direction} {way} {peer}, {tag}, {length_bytes} bytes"
                )
            }
            Self::WaitAny(count) => write!(f, "wait for any of {count} transfers"),
        }
    }
}
