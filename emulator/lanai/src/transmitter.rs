//! The sender of packets (docs/lanai.md, section 3.5).

use super::chip::Generation;
use super::crc::crc32;
use emulator_state::state;
use emulator_wire::myrinet::Packet;

/// The sender.
#[derive(Debug)]
pub struct Transmitter {
    generation: Generation,
    /// Pointer.
    pub pointer: u32,
    /// Bytes to skip.
    pub skip: u32,
    /// End of the routing header in memory, which the CRC-32 leaves out.
    pub header: u32,
    /// The last limit.
    pub limit: u32,
    /// Bytes of the packet whose tail has not been asked for yet.
    bytes: Vec<u8>,
    /// Length of the routing header among these bytes.
    header_bytes: usize,
    /// Bytes of the segment that is under way that have not left yet.
    left: u32,
    busy: bool,
    /// Number of the segment that is under way; steps of other ones are over.
    segment: u32,
    /// The packet whose tail is leaving, by the port's number: the segment is over when the network says so.
    packet: Option<u64>,
    /// Whether the next part waits for GO.
    paused: bool,
}

state!(Transmitter {
    pointer,
    skip,
    header,
    limit,
    bytes,
    header_bytes,
    left,
    busy,
    segment,
    packet,
    paused
} fixed { generation });

/// Check sequences of packets that leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appending {
    /// A CRC-32 behind the payload.
    pub crc32: bool,
    /// The CRC-8 of the link. Without it the last byte stands in its place.
    pub crc8: bool,
}

impl Transmitter {
    /// At rest.
    #[must_use]
    pub const fn new(generation: Generation) -> Self {
        Self {
            generation,
            pointer: 0,
            skip: 0,
            header: 0,
            limit: 0,
            bytes: Vec::new(),
            header_bytes: 0,
            left: 0,
            busy: false,
            segment: 0,
            packet: None,
            paused: false,
        }
    }

    /// After a reset.
    pub fn reset(&mut self) {
        let segment = self.segment.wrapping_add(1);
        *self = Self {
            segment,
            ..Self::new(self.generation)
        };
    }

    /// Whether a segment is under way.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.busy
    }

    /// Hands the packet over to the network, with this number. The network says when its tail has left.
    pub const fn hand_over(&mut self, packet: u64) {
        self.packet = Some(packet);
    }

    /// Whether the packet with this number is the one whose tail is leaving.
    #[must_use]
    pub fn is_leaving(&self, packet: u64) -> bool {
        self.busy && self.packet == Some(packet)
    }

    /// Makes the next part wait for GO.
    pub const fn pause(&mut self) {
        self.paused = true;
    }

    /// The segment whose next part waited, if one did.
    pub const fn resume(&mut self) -> Option<u32> {
        if self.paused && self.busy {
            self.paused = false;
            return Some(self.segment);
        }
        None
    }

    /// Start and length of the segment that ends at `limit`.
    #[must_use]
    pub const fn range(&self, limit: u32) -> (u32, u32) {
        let unit = self.generation.unit_bytes();
        let start = (self.pointer & !(unit - 1)).wrapping_add(self.skip & (unit - 1));
        let end = match self.generation {
            Generation::L4 => (limit & !3).wrapping_add(4),
            Generation::L7 | Generation::L9 => limit,
        };
        (start, end.saturating_sub(start))
    }

    /// A segment begins with `bytes` from the address `start`. Returns its number.
    pub fn begin(&mut self, limit: u32, start: u32, bytes: &[u8]) -> u32 {
        let header = self.header.saturating_sub(start) as usize;
        self.header_bytes += header.min(bytes.len());
        self.bytes.extend(bytes);
        self.limit = limit;
        self.left = bytes.len() as u32;
        self.busy = true;
        self.segment = self.segment.wrapping_add(1);
        self.segment
    }

    /// The packet whose tail is asked for.
    pub fn finish(&mut self, appending: Appending) -> Packet {
        let mut bytes = std::mem::take(&mut self.bytes);
        let header = std::mem::take(&mut self.header_bytes).min(bytes.len());
        if appending.crc32 {
            let check = crc32(&bytes[header..]);
            bytes.extend(check.to_be_bytes());
        }
        if appending.crc8 {
            return Packet::new(bytes);
        }
        let check = bytes.pop().unwrap_or(0);
        Packet::with_crc(bytes, check)
    }

    /// Bytes of the segment with this number that leave next, at most `burst`; `None` if it is over or all have left.
    #[must_use]
    pub fn next(&self, segment: u32, burst: u32) -> Option<u32> {
        let over = !self.busy || segment != self.segment;
        (!over && (self.left > 0 || self.packet.is_none())).then(|| self.left.min(burst.max(1)))
    }

    /// Notes that so many bytes have left. Returns whether the segment is complete.
    pub const fn left(&mut self, bytes: u32) -> bool {
        self.left = self.left.saturating_sub(bytes);
        self.pointer = self.end().saturating_sub(self.left) & !(self.generation.unit_bytes() - 1);
        if self.left == 0 && self.packet.is_none() {
            self.complete();
        }
        !self.busy
    }

    /// The segment is over. Returns how many of its bytes the model has not counted yet.
    pub const fn complete(&mut self) -> u32 {
        let rest = self.left;
        (self.left, self.busy, self.paused, self.packet) = (0, false, false, None);
        self.pointer = self.end();
        rest
    }

    /// The address behind the segment.
    const fn end(&self) -> u32 {
        let unit = self.generation.unit_bytes();
        match self.generation {
            Generation::L4 => (self.limit & !(unit - 1)).wrapping_add(unit),
            Generation::L7 | Generation::L9 => self.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator_base::unit::Unit;

    #[test]
    fn limits_of_the_generations() {
        let check = |generation, pointer, skip, limit, range| {
            let mut sender = Transmitter::new(generation);
            (sender.pointer, sender.skip) = (pointer, skip);
            assert_eq!(sender.range(limit), range, "{generation:?}");
        };
        check(Generation::L4, 0x14F84, 4, 0x14FA0, (0x14F84, 32));
        check(Generation::L4, 0x100, 3, 0x100, (0x103, 1));
        check(Generation::L7, 0x100, 3, 0x110, (0x103, 13));
        check(Generation::L9, 0x104, 8, 0x106, (0x100, 6));
        check(Generation::L9, 0x100, 0, 0x80, (0x100, 0));
        check(Generation::L4, 0, 0, !0, (0, 0));
    }

    #[test]
    fn the_pointer_follows_the_bytes() {
        let mut sender = Transmitter::new(Generation::L4);
        (sender.pointer, sender.skip) = (0x100, 3);
        sender.begin(0x1FC, 0x103, &[0; 0xFD]);
        sender.left(64);
        assert_eq!(sender.pointer, 0x140);
        sender.left(64);
        assert_eq!(sender.pointer, 0x180);
        sender.left(0x7D);
        assert_eq!(sender.pointer, 0x200);
        assert!(!sender.is_busy());
    }

    #[test]
    fn segments_make_a_packet() {
        let mut sender = Transmitter::new(Generation::L9);
        sender.header = 0x102;
        let first = sender.begin(0x104, 0x100, &[0x81, 0x82, 0, 8]);
        assert_eq!(sender.next(first, 3), Some(3));
        assert!(!sender.left(3));
        assert!(sender.left(1));
        assert_eq!(sender.next(first, 3), None);
        sender.begin(0x203, 0x200, &[1, 2, 3]);
        let (crc32_on, crc8) = (true, true);
        let packet = sender.finish(Appending {
            crc32: crc32_on,
            crc8,
        });
        let check = crc32(&[0, 8, 1, 2, 3]).to_be_bytes();
        assert_eq!(
            **packet.bytes(),
            [&[0x81, 0x82, 0, 8, 1, 2, 3][..], &check].concat()
        );
        assert!(!packet.defects().check);
        sender.begin(4, 0, &[1, 2]);
        let packet = sender.finish(Appending {
            crc32: false,
            crc8: false,
        });
        assert_eq!((&**packet.bytes(), packet.check()), (&[1][..], 2));
    }
}
