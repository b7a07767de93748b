//! What the packet engines exchange with the network port: packets with the rate at which they come.
//!
//! **A placeholder.** [`NoNetwork`] is a medium without cables and switches. Until the board has the Myrinet medium, packets
//! leave into the board's outbox, and tests hand packets in ([`Lanai::packet_arrives`](super::board::Lanai::packet_arrives)) or
//! plug the port into itself ([`Lanai::loop_back`](super::board::Lanai::loop_back)).

use std::sync::Arc;

use super::crc::crc8;
use crate::observe::capture::{Interface, Tap};
use crate::observe::tracer::Tracer;
use crate::sim::time::SimTime;
use crate::state::{Reader, State, StateError, Writer};
use crate::value_struct;
use crate::wire::medium::{Medium, MediumId, NoControl};
use crate::wire::network::{Network, Segment};
use crate::wire::unit::{Defects, Unit};

/// A packet on a link: route, type, payload, and the CRC-8 of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    bytes: Arc<[u8]>,
    check: u8,
}

value_struct!(Packet {
    bytes: bytes,
    check: check
});

impl Packet {
    /// A packet with the right CRC-8.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let check = crc8(&bytes);
        Self::with_check(bytes, check)
    }

    /// A packet with any CRC-8.
    #[must_use]
    pub fn with_check(bytes: Vec<u8>, check: u8) -> Self {
        let bytes = bytes.into();
        Self { bytes, check }
    }
}

impl Unit for Packet {
    const CHECK_BYTES: usize = 1;

    fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    fn check(&self) -> u32 {
        self.check.into()
    }

    fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self::with_check(bytes, self.check)
    }

    fn defects(&self) -> Defects {
        Defects {
            check: crc8(&self.bytes) != self.check,
            ..Defects::default()
        }
    }
}

/// A packet that comes in, and how fast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The packet.
    pub packet: Packet,
    /// When its head is there.
    pub head: SimTime,
    /// Time of a byte.
    pub byte_time: SimTime,
}

value_struct!(Incoming {
    packet: packet,
    head: head,
    byte_time: byte_time
});

/// A medium without a network.
#[derive(Debug)]
pub struct NoNetwork;

impl Medium for NoNetwork {
    const NAME: &'static str = "no network";
    const HAS_CONTROLS: bool = false;
    type Unit = Packet;
    type Control = NoControl;
    type Cable = ();
    type Network = NoLinks;
}

/// No links.
#[derive(Debug, Default)]
pub struct NoLinks;

impl State for NoLinks {
    fn save(&self, _: &mut Writer) {}

    fn load(&mut self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

impl Network for NoLinks {
    fn medium(&self) -> MediumId {
        MediumId::of::<NoNetwork>()
    }

    fn segments(&mut self) -> Vec<(Vec<usize>, Box<dyn Segment + '_>)> {
        Vec::new()
    }

    fn traces(&self) -> Box<dyn Iterator<Item = &Tracer> + '_> {
        Box::new(std::iter::empty())
    }

    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_> {
        Box::new(std::iter::empty())
    }

    fn begin_capture(&mut self, _: usize) -> Vec<Interface> {
        Vec::new()
    }

    fn end_capture(&mut self) {}

    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_> {
        Box::new(std::iter::empty())
    }
}
