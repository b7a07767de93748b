//! The packets of a mapper, and the interface through which it sends them.

use std::future::Future;

use defs::gm::map::ROUTE_LIMIT;
use defs::gm::mapping::{
    ENTRY_LIMIT, ENTRY_VALID, LOOP, ROUTES, SCOUT, SIZES_COMPLETE, SIZES_COUNT, first_word,
};

use super::error::MapError;
use super::map::UniqueId;

/// A packet to send, but for nonce and sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MapperPacket {
    /// Route bytes in front of the packet.
    pub(super) route: Vec<u8>,
    /// Words of the packet.
    pub(super) words: Vec<u32>,
}

/// An answer: a reply, or a packet that has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MapperAnswer {
    /// Unique id of the sender.
    pub(super) id: UniqueId,
    /// Number of that node, or `NO_NODE`.
    pub(super) node: u16,
    /// Version of its routes.
    pub(super) version: u32,
    /// Number of nodes that it knows.
    pub(super) nodes: u32,
}

/// Repeats of packets that are not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// Times that a packet is sent that is not answered.
    pub(super) tries: u32,
    /// Whether the first answer to any packet is enough.
    pub(super) first: bool,
}

impl Patience {
    /// All packets are to be answered.
    pub(super) const fn all(tries: u32) -> Self {
        let first = false;
        Self { tries, first }
    }
}

/// Sends packets and collects answers.
pub(super) trait Prober: Send {
    /// Sends packets, and those again that are not answered. Returns one answer for each packet, or `None` if none came in time. An
    /// answer may belong to any of the tries.
    fn ask(
        &mut self,
        packets: &[MapperPacket],
        patience: Patience,
    ) -> impl Future<Output = Result<Vec<Option<MapperAnswer>>, MapError>> + Send;
}

/// The byte of a route over a crossbar whose egress is `delta` ports behind its ingress.
pub(super) const fn route_byte(delta: i8) -> u8 {
    0x80 | delta.cast_unsigned() & 0x3F
}

/// The route that leads back.
pub(super) fn reversed(route: &[i8]) -> impl Iterator<Item = i8> {
    route.iter().rev().map(|delta| -delta)
}

fn bytes(route: impl IntoIterator<Item = i8>) -> Vec<u8> {
    route.into_iter().map(route_byte).collect()
}

/// The words of a route that ends where the words end. The route has at most [`ROUTE_LIMIT`] bytes.
fn route_words(route: &[u8]) -> [u32; 4] {
    let mut all = [0; ROUTE_LIMIT as usize];
    let length = route.len().min(all.len());
    let end = all.len();
    all[end - length..].copy_from_slice(&route[route.len() - length..]);
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(all.chunks_exact(4)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    words
}

impl MapperPacket {
    /// Asks who is at the end of a route.
    pub(super) fn scout(route: &[i8]) -> Self {
        let back = bytes(reversed(route));
        let mut words = vec![first_word(SCOUT), 0, 0, 0, 0, back.len() as u32];
        words.extend(route_words(&back));
        Self {
            route: bytes(route.iter().copied()),
            words,
        }
    }

    /// Comes back over this route.
    pub(super) fn circle(route: impl IntoIterator<Item = i8>) -> Self {
        Self {
            route: bytes(route),
            words: vec![first_word(LOOP), 0, 0, 0, 0, 0],
        }
    }

    /// Comes back if a crossbar is at the end of a route.
    pub(super) fn echo(route: &[i8]) -> Self {
        let there = route.iter().copied();
        Self::circle(there.chain([0]).chain(reversed(route)))
    }

    /// Whether nonce and sender may be written into it, and it is not too long.
    pub(super) const fn is_sound(&self) -> bool {
        self.words.len() >= 6 && self.route.len() <= defs::gm::mapping::PROBE_LIMIT as usize
    }
}

/// A table of routes for one node.
#[derive(Debug, Clone, Copy)]
pub(super) struct RouteTable<'a> {
    /// The node's number.
    pub(super) node: u16,
    /// Number of nodes.
    pub(super) nodes: u16,
    /// Version of the table.
    pub(super) version: u32,
    /// The route to the node.
    pub(super) there: &'a [u8],
    /// The route from the node to the mapper.
    pub(super) back: &'a [u8],
}

impl RouteTable<'_> {
    /// A packet with some entries: target and route, which is `None` if there is no way. There are at most [`ENTRY_LIMIT`].
    pub(super) fn packet(&self, entries: &[(u16, Option<&[u8]>)], complete: bool) -> MapperPacket {
        let count = entries.len().min(ENTRY_LIMIT as usize);
        let complete = if complete { SIZES_COMPLETE } else { 0 };
        let sizes = complete | (count as u32) << SIZES_COUNT | self.back.len() as u32;
        let mut words = vec![first_word(ROUTES), 0, 0, 0, self.version, sizes];
        words.extend(route_words(self.back));
        words.push(u32::from(self.node) << 16 | u32::from(self.nodes));
        for (target, route) in &entries[..count] {
            let valid = route.map_or(0, |route| ENTRY_VALID | route.len() as u32);
            words.push(u32::from(*target) << 16 | valid);
            words.extend(route_words(route.unwrap_or(&[])));
        }
        MapperPacket {
            route: self.there.to_vec(),
            words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_layout_of_the_firmware() {
        let scout = MapperPacket::scout(&[1, -2, 31]);
        assert_eq!(scout.route, [0x81, 0xBE, 0x9F]);
        assert_eq!(scout.words[5..], [3, 0, 0, 0, 0x00A1_82BF]);
        assert_eq!(scout.words.len() as u32 * 4, defs::gm::mapping::SCOUT_BYTES);
        let echo = MapperPacket::echo(&[3]);
        assert_eq!(echo.route, [0x83, 0x80, 0xBD]);
        assert_eq!(echo.words.len() as u32 * 4, defs::gm::mapping::HEADER_BYTES);
        let table = RouteTable {
            node: 2,
            nodes: 9,
            version: 5,
            there: &[0x84],
            back: &[0xBC],
        };
        let packet = table.packet(&[(7, Some(&[0x81, 0x82])), (8, None)], true);
        assert_eq!(packet.route, [0x84]);
        assert_eq!(packet.words[4..11], [5, 0x1_0201, 0, 0, 0, 0xBC, 0x2_0009]);
        let entries = [0x7_8002, 0, 0, 0, 0x8182, 0x8_0000, 0, 0, 0, 0];
        assert_eq!(packet.words[11..], entries);
    }
}
