//! Myrinet: packets that carry their routes, crossbars that pass them on before they are in, and STOP and GO in the reverse
//! direction. `docs/myrinet.md` describes the medium and says which of its values are guesses.
//!
//! # What a board and the fabric tell each other
//!
//! * A board sends a [`Packet`] by [`Outbox::send`](super::medium::Outbox::send). The fabric keeps the packet in the port until
//!   its route lets it go on. It answers [`Control::Sent`] for the time at which the tail has left, and
//!   [`Control::Stop`] and [`Control::Go`] for the times at which the far end of the cable stops the bytes and lets them go.
//! * The head of a packet reaches a board as an arrival without a tail time. [`Control::Tail`] follows once that time is known.
//! * A board that cannot take more bytes sends [`Control::Stop`], and [`Control::Go`] when it can. A port is open at first.
//! * A board whose packet is blocked for too long sends [`Control::Reset`]: NRES, the watchdog of the LANai.

mod channel;
mod clear;
mod crossbar;
mod error;
mod event;
mod flow;
mod gates;
mod link;
mod nearness;
mod network;
mod packet;
pub mod routes;
mod segment;
pub mod topology;
mod transmit;
mod worm;

pub use channel::ChannelCounts;
pub use crossbar::{CrossbarConfig, Watermarks};
pub use error::MyrinetError;
pub use link::Link;
pub use network::{FabricCounts, MyrinetNetwork};
pub use packet::{MINIMUM_BYTES, Packet, RouteByte, crc8};

use super::medium::Medium;
use emulator_observe::capture::LinkType;
use emulator_state::value_enum;

/// The link type of captures: one for private use, because none is registered for Myrinet.
pub const LINK_TYPE: LinkType = LinkType(147);

/// The medium.
#[derive(Debug)]
pub struct Myrinet;

impl Medium for Myrinet {
    const NAME: &'static str = "Myrinet";
    const HAS_CONTROLS: bool = true;
    type Unit = Packet;
    type Control = Control;
    type Cable = Link;
    type Network = MyrinetNetwork;
}

/// A control: a symbol that travels against the packets, or a report of a port to its board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// STOP. A board that sends it takes no more bytes; a board that receives it stops the bytes that it sends.
    Stop,
    /// GO. A board that sends it takes bytes; a board that receives it goes on with the bytes that it sends.
    Go,
    /// Reset by a board: the packet that it sends, or the one that it receives, is taken out of the network.
    Reset(Direction),
    /// Report to a board: the tail of its packet has left. `whole` is false if the packet was taken out of the network before.
    Sent {
        /// Whether all bytes left.
        whole: bool,
    },
    /// Report to a board: the tail of the packet whose head came last is there. `whole` is false if the packet ends too early: it was taken
    /// out of the network.
    Tail {
        /// Whether all bytes are there.
        whole: bool,
    },
}

/// A direction of a board's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the board.
    Send,
    /// To the board.
    Receive,
}

value_enum!(Direction {
    Send {},
    Receive {}
});

value_enum!(Control {
    Stop {},
    Go {},
    Reset { 0: direction },
    Sent { whole: whole },
    Tail { whole: whole },
});
