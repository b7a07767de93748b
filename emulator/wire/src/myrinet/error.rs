//! Errors of building a Myrinet.

use crate::medium::AttachError;
use crate::port::Port;
use emulator_base::time::SimTime;

/// Reason why a Myrinet cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MyrinetError {
    /// The port does not exist.
    #[error("there is no {0}")]
    NoSuchPort(Port),
    /// There is no such crossbar.
    #[error("there is no crossbar {0}")]
    NoSuchCrossbar(usize),
    /// The port has a cable already.
    #[error("{0} has a cable already")]
    Occupied(Port),
    /// A port without a cable.
    #[error("{0} has no cable")]
    NoCable(Port),
    /// A cable connects a port to itself.
    #[error("a cable leads from {0} to itself")]
    Loop(Port),
    /// Bytes or the cable take no time.
    #[error(
        "a byte or the way takes no time from {0} to {1}: nothing could be said about what comes first"
    )]
    NoTime(Port, Port),
    /// A cable cannot be moved from one node to another one.
    #[error(
        "the cable between {0} and {1} must keep its nodes, and lead to another port or crossbar"
    )]
    OtherNode(Port, Port),
    /// A cable that is too long or too slow.
    #[error("the cable from {0} to {1} is longer than 1 ms or slower than 1 us for each byte")]
    TooSlow(Port, Port),
    /// A crossbar of another size.
    #[error("a crossbar of {0} ports: it has 8, 16 or 32")]
    Ports(usize),
    /// A crossbar with too great a latency.
    #[error("a crossbar has a latency of {0}: more than 1 ms")]
    Latency(SimTime),
    /// A crossbar whose GO is not below its STOP.
    #[error("a crossbar sends GO at {go} bytes and STOP at {stop}: GO must be below STOP")]
    Watermarks {
        /// Bytes at GO.
        go: u64,
        /// Bytes at STOP.
        stop: u64,
    },
    /// A watchdog that takes no time.
    #[error("a watchdog of a crossbar takes no time: it would end every packet that waits")]
    Watchdog,
    /// More crossbars than traces can number.
    #[error("more than 65536 crossbars")]
    TooManyCrossbars,
    /// A board's port does not fit the cable.
    #[error(transparent)]
    Attach(#[from] AttachError),
}
