//! Worms: packets under way, from head to tail.

use std::collections::VecDeque;

use super::flow::Flow;
use super::nearness::Ends;
use super::packet::Packet;
use emulator_base::unit::Unit;
use emulator_state::value_struct;
use emulator_state::{Reader, State, StateError, Value, Writer};

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
    /// The packet as it entered hop `base`.
    pub packet: Packet,
    pub base: usize,
    /// The hops from the packet's sender on. A hop has one byte less than the one before it.
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

/// A packet under way, and the nodes that it is near, if the segment has noted them.
#[derive(Debug)]
struct WormEntry {
    number: u64,
    near: Ends,
    worm: Box<Worm>,
}

impl WormEntry {
    fn new(worm: Worm) -> Self {
        Self {
            number: worm.number,
            near: Ends::default(),
            worm: Box::new(worm),
        }
    }
}

/// Packets under way, in the order of their numbers. They are looked for by number more often than anything else happens to them, so the
/// numbers stand side by side.
#[derive(Debug, Default)]
pub(super) struct Worms(VecDeque<WormEntry>);

impl Worms {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a packet; its number is greater than all others.
    pub fn push(&mut self, worm: Worm) {
        self.0.push_back(WormEntry::new(worm));
    }

    /// The packet of a number.
    pub fn get(&self, number: u64) -> Option<&Worm> {
        Some(&self.0[self.place(number)?].worm)
    }

    /// The packet of a number.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Worm> {
        let place = self.place(number)?;
        Some(&mut self.0[place].worm)
    }

    /// Takes out the packet of a number, with the nodes that were noted for it.
    pub fn remove(&mut self, number: u64) -> Option<(Worm, Ends)> {
        let entry = self.0.remove(self.place(number)?)?;
        Some((*entry.worm, entry.near))
    }

    /// The place of the packet of a number in their order.
    pub fn place(&self, number: u64) -> Option<usize> {
        let place = self.0.binary_search_by_key(&number, |entry| entry.number);
        place.ok()
    }

    /// The packet at a place.
    pub fn at(&self, place: usize) -> &Worm {
        &self.0[place].worm
    }

    /// Notes the nodes that the packet at a place is near; returns what was noted before.
    pub fn note(&mut self, place: usize, near: Ends) -> Ends {
        std::mem::replace(&mut self.0[place].near, near)
    }

    /// Forgets the nodes that were noted.
    pub fn forget_notes(&mut self) {
        for entry in &mut self.0 {
            entry.near = Ends::default();
        }
    }

    /// All packets, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Worm> {
        self.0.iter().map(|entry| &*entry.worm)
    }
}

impl State for Worms {
    fn save(&self, out: &mut Writer) {
        self.len().write(out);
        self.iter().for_each(|worm| worm.write(out));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let worms = Vec::<Worm>::read(from)?;
        self.0 = worms.into_iter().map(WormEntry::new).collect();
        Ok(())
    }
}
