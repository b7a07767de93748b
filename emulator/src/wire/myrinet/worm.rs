//! Worms: packets under way, from head to tail.

use super::flow::Flow;
use super::packet::Packet;
use crate::value_struct;
use crate::wire::unit::Unit;

/// A packet's number and the number of its hop.
pub(super) type HopId = (u64, usize);

/// A packet on one channel of its way.
#[derive(Debug, Clone, Default)]
pub(super) struct Hop {
    pub channel: usize,
    /// Bytes that pass it, with the CRC.
    pub length: u64,
    /// Whether the packet has the channel, or has had it.
    pub granted: bool,
    /// The bytes at the channel's beginning.
    pub sent: Flow,
    /// The number of the last change of `sent`: what was scheduled for earlier ones is void.
    pub version: u64,
    /// The bytes at the slack buffer at its end.
    pub arrived: Flow,
    /// Whether the head is in that buffer; or the node at the end knows of it.
    pub head_in: bool,
    /// Whether the tail has left the channel's beginning.
    pub tail_out: bool,
}

value_struct!(Hop {
    channel: channel,
    length: length,
    granted: granted,
    sent: sent,
    version: version,
    arrived: arrived,
    head_in: head_in,
    tail_out: tail_out,
});

/// A packet under way.
#[derive(Debug, Clone)]
pub(super) struct Worm {
    pub number: u64,
    /// As it entered hop `base`.
    pub packet: Packet,
    pub base: usize,
    /// From its sender on. A hop has one byte less than the one before it.
    pub hops: Vec<Hop>,
    /// Whether its sender is to hear that the tail has left.
    pub reports: bool,
}

value_struct!(Worm {
    number: number,
    packet: packet,
    base: base,
    hops: hops,
    reports: reports,
});

impl Worm {
    /// The packet as it enters a hop.
    pub fn packet_at(&self, hop: usize) -> Packet {
        self.packet.stripped(hop.saturating_sub(self.base))
    }

    /// The byte that tells the crossbar behind a hop where the packet goes.
    pub fn route_byte(&self, hop: usize) -> Option<u8> {
        let at = hop.saturating_sub(self.base);
        self.packet.bytes().get(at).copied()
    }
}
