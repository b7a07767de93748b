//! Ethernet: frames, links, lines and switches.
//!
//! An [`EthernetNetwork`] has the lines and switches of a world, and falls into segments for a run: two nodes on a plain cable
//! (`cable.rs`), or frames that pass switches and fault layers (`segment.rs`). `sim/topology/` has the
//! methods of `World` that lay cables and add switches.

mod cable;
mod error;
mod event;
pub mod frame;
mod line;
pub mod link;
mod look_ahead;
mod network;
mod owners;
mod places;
mod remote;
mod segment;
pub mod switch;

pub use error::EthernetError;
pub use network::EthernetNetwork;

use self::frame::Frame;
use self::link::Link;
use super::medium::{Medium, NoControl};

/// Ethernet as a medium: frames, and no reverse direction.
#[derive(Debug)]
pub struct Ethernet;

impl Medium for Ethernet {
    const NAME: &'static str = "Ethernet";
    const HAS_CONTROLS: bool = false;
    type Unit = Frame;
    type Control = NoControl;
    type Cable = Link;
    type Network = EthernetNetwork;
}
