//! What the library tells its machine of the calls that it carries out.

use std::fmt;

use super::buffer::Buffer;
use super::transfer::{Direction, Label, Transfer};

/// A call, and what it is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// One that concerns a transfer.
    Transfer {
        /// What is done with it.
        verb: &'static str,
        /// Who and what it is about.
        label: Label,
        /// Bytes of its buffers.
        length_bytes: u64,
    },
    /// A wait for one of so many transfers.
    WaitAny(usize),
}

impl Call {
    /// A post of `buffers`.
    pub(super) fn post(verb: &'static str, label: Label, buffers: &[Buffer]) -> Self {
        let length_bytes = buffers.iter().map(|buffer| u64::from(buffer.length)).sum();
        Self::Transfer {
            verb,
            label,
            length_bytes,
        }
    }

    /// Something is done with a transfer.
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
