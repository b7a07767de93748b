//! Errors of a mapper.

use thiserror::Error;

use super::map::NumberError;

/// A network cannot be mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MapError {
    /// The firmware does not take packets: it has not been started, or it was reset.
    #[error("the firmware does not take a packet of the mapper")]
    Silent,
    /// The answers contradict each other each time: the network changes too fast, or too many packets are lost.
    #[error("after {attempts} attempts the answers of the network still contradict each other")]
    Inconsistent {
        /// Number of attempts.
        attempts: u32,
    },
    /// Another mapper has given routes of a later version.
    #[error("another mapper has given routes of version {version}")]
    Superseded {
        /// Version of the other mapper's routes.
        version: u32,
    },
    /// Numbers of nodes.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// The network has not been mapped yet.
    #[error("there is no map yet")]
    NoMap,
}
