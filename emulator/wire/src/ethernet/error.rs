//! Errors of building an Ethernet.

use lanigon_window::address::MacAddress;

use crate::medium::AttachError;
use crate::port::Port;
use emulator_base::time::SimTime;

/// Reason why an Ethernet cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EthernetError {
    /// The port does not exist.
    #[error("there is no {0}")]
    NoSuchPort(Port),
    /// The port has a cable already.
    #[error("{0} has a cable already")]
    Occupied(Port),
    /// A port without a cable.
    #[error("{0} has no cable")]
    NoCable(Port),
    /// A cable connects a node or a switch to itself.
    #[error("a cable leads from {0} to itself")]
    Loop(Port),
    /// Bytes take no time on the link.
    #[error("bytes take no time from {0} to {1}: nothing could be said about what comes first")]
    NoTime(Port, Port),
    /// A link that is too long or too slow.
    #[error("the link from {0} to {1} is longer than 1 s or slower than 1 ms for each byte")]
    TooSlow(Port, Port),
    /// A switch has no ports, or too many.
    #[error("a switch with {0} ports: it can have 1 to 65536")]
    Ports(usize),
    /// A switch with too great a latency.
    #[error("a switch has a latency of {0}: more than 1 s")]
    Latency(SimTime),
    /// More switches than traces can number.
    #[error("more than 65536 switches")]
    TooManySwitches,
    /// A switch has two routes to one address.
    #[error("switch {0} has a route to {1} already")]
    RouteTwice(usize, MacAddress),
    /// A route to a group of nodes. Such frames need no route.
    #[error("a route to {0}, which is the address of a group")]
    RouteToGroup(MacAddress),
    /// A board's port does not fit the cable.
    #[error(transparent)]
    Attach(#[from] AttachError),
}
