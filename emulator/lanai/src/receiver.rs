//! The receiver of packets (docs/lanai.md, section 3.6).

use std::collections::VecDeque;

use super::chip::Generation;
use super::crc::crc32;
use emulator_base::time::SimTime;
use emulator_base::unit::Unit;
use emulator_state::{state, value_struct};
use emulator_wire::myrinet::{Packet, crc8};

/// The bytes that are stored in place of the check sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checking {
    /// The CRC-8 as it came.
    Off,
    /// The residue of the CRC-8, a byte.
    Crc8,
    /// The residue of the CRC-32, a word; the CRC-8 of the link is dropped.
    Crc32,
}

/// The arrival of bytes: one after the other at the rate of the link, but for the time in which the port's STOP keeps them away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InputLine {
    from: SimTime,
    /// Bytes that are there at that time.
    first: u64,
    byte_time: SimTime,
    /// The most bytes that come before the port says GO.
    most: u64,
}

value_struct!(InputLine {
    from: from,
    first: first,
    byte_time: byte_time,
    most: most
});

impl InputLine {
    /// Bytes that are there at `time`.
    fn passed(&self, time: SimTime) -> u64 {
        let span = time.saturating_sub(self.from).ps();
        let bytes = span.checked_div(self.byte_time.ps()).unwrap_or(0);
        self.first.saturating_add(bytes).min(self.most)
    }

    /// The time at which so many bytes are there; `None` if not before GO.
    fn time_of(&self, bytes: u64) -> Option<SimTime> {
        if bytes > self.most {
            return None;
        }
        let rest = bytes.saturating_sub(self.first);
        let span = self.byte_time.ps().saturating_mul(rest);
        Some(self.from.saturating_add(SimTime::from_ps(span)))
    }

    fn stop(&mut self, time: SimTime) {
        self.most = self.passed(time);
    }

    fn go(&mut self, time: SimTime) {
        if self.most != u64::MAX {
            (self.from, self.first, self.most) = (time, self.most, u64::MAX);
        }
    }
}

/// A packet that comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    packet: Packet,
    line: InputLine,
    /// Time at which the packet's tail came.
    tail: Option<SimTime>,
    /// The packet's tail came too early.
    is_cut: bool,
}

value_struct!(Incoming {
    packet: packet,
    line: line,
    tail: tail,
    is_cut: is_cut
});

impl Incoming {
    /// A packet whose head is there at `head`. The time of its tail is not known unless `tail` says it.
    #[must_use]
    pub const fn new(
        packet: Packet,
        head: SimTime,
        tail: Option<SimTime>,
        byte_time: SimTime,
    ) -> Self {
        let line = InputLine {
            from: head,
            first: 0,
            byte_time,
            most: u64::MAX,
        };
        Self {
            packet,
            line,
            tail,
            is_cut: false,
        }
    }

    /// The packet.
    #[must_use]
    pub fn into_packet(self) -> Packet {
        self.packet
    }

    /// Stops the arrival of bytes at a time, by the port's STOP.
    pub fn stop(&mut self, time: SimTime) {
        self.line.stop(time);
    }

    /// Resumes the arrival of bytes at a time.
    pub fn go(&mut self, time: SimTime) {
        self.line.go(time);
    }

    /// Cuts the packet, whose tail came too early: its last byte stands in the place of the CRC-8.
    fn cut(&mut self, bytes: u64) {
        self.is_cut = true;
        let whole = [&**self.packet.bytes(), &[self.packet.crc()]].concat();
        let bytes = (bytes as usize).min(whole.len().saturating_sub(1)).max(1);
        if let Some((&last, rest)) = whole.get(..bytes).and_then(<[u8]>::split_last) {
            self.packet = Packet::with_crc(rest.to_vec(), last);
        }
    }
}

/// The receiver.
#[derive(Debug)]
pub struct Receiver {
    generation: Generation,
    /// Pointer.
    pub pointer: u32,
    /// Limit.
    pub limit: u32,
    /// The limit was written since it was last reached, and since the last tail.
    armed: bool,
    /// Packets in the port; the first one is being stored once part of it is. Only the last one can be without its tail.
    waiting: VecDeque<Incoming>,
    /// Bytes to store of the first packet, with residue, once its storing has begun.
    form: Vec<u8>,
    /// Bytes of `form` that are stored.
    stored: usize,
    /// Number of the step that is under way; steps with other numbers are over.
    step: u32,
    /// Bytes of the step that is under way; 0 if none is.
    pending: u32,
    /// Since when nothing but its bytes has kept the next step from beginning.
    ready: SimTime,
}

state!(Receiver {
    pointer,
    limit,
    armed,
    waiting,
    form,
    stored,
    step,
    pending,
    ready
} fixed { generation });

/// A part of a packet that comes in next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Number of the step.
    pub step: u32,
    /// Time at which the part's last byte is there.
    pub end: SimTime,
    /// Whether the part is the packet's last one.
    pub last: bool,
}

/// Result of a step of the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreOutcome {
    /// More of the packet follows.
    More,
    /// The limit came before the tail.
    Full,
    /// The tail is stored: bytes with residue, and bytes of the last unit that are behind them.
    Tail {
        /// Bytes with residue.
        length: u32,
        /// Bytes of the last unit behind the tail.
        overshoot: u32,
    },
}

fn form(packet: &Packet, checking: Checking) -> Vec<u8> {
    let bytes = packet.bytes();
    let check = packet.crc();
    match checking {
        Checking::Off => [bytes, &[check][..]].concat(),
        Checking::Crc8 => [bytes, &[crc8(bytes) ^ check][..]].concat(),
        Checking::Crc32 => {
            let length = bytes.len().saturating_sub(4);
            let residue = crc32(bytes).to_be_bytes();
            [&bytes[..length], &residue[..]].concat()
        }
    }
}

impl Receiver {
    /// Not armed, no packet in the port.
    #[must_use]
    pub const fn new(generation: Generation) -> Self {
        Self {
            generation,
            pointer: 0,
            limit: 0,
            armed: false,
            waiting: VecDeque::new(),
            form: Vec::new(),
            stored: 0,
            step: 0,
            pending: 0,
            ready: SimTime::ZERO,
        }
    }

    /// After a reset. Returns the packets in the port, which are absorbed.
    pub fn reset(&mut self) -> Vec<Packet> {
        let lost = self.waiting.drain(..).map(|incoming| incoming.packet);
        let lost = lost.collect();
        let step = self.step.wrapping_add(1);
        *self = Self {
            step,
            ..Self::new(self.generation)
        };
        lost
    }

    /// Whether bytes wait because the receiver is not armed.
    #[must_use]
    pub fn holds_up(&self) -> bool {
        !self.armed && !self.waiting.is_empty()
    }

    /// Adds a packet whose head is there.
    pub fn push(&mut self, incoming: Incoming) {
        self.waiting.push_back(incoming);
    }

    /// The packet that is stored first.
    #[must_use]
    pub fn first(&self) -> Option<&Packet> {
        self.waiting.front().map(|incoming| &incoming.packet)
    }

    /// The packet that is still coming in.
    pub fn coming(&mut self) -> Option<&mut Incoming> {
        self.waiting
            .back_mut()
            .filter(|incoming| incoming.tail.is_none())
    }

    /// Packets of which nothing is stored yet are lost: takes them.
    pub fn drop_waiting(&mut self) -> Vec<Packet> {
        let kept = usize::from(!self.form.is_empty()).min(self.waiting.len());
        let lost = self.waiting.drain(kept..).map(|incoming| incoming.packet);
        lost.collect()
    }

    /// Ends the last packet, whose tail is there. If not `whole`, it came too early.
    pub fn tail(&mut self, now: SimTime, whole: bool, checking: Checking) {
        let first = self.waiting.len() == 1;
        let taken = match first {
            true => self.stored as u64 + u64::from(self.pending),
            false => 0,
        };
        let Some(incoming) = self.coming() else {
            return;
        };
        incoming.tail = Some(now);
        if whole {
            return;
        }
        incoming.cut(incoming.line.passed(now).max(taken + 1));
        if first && !self.form.is_empty() {
            let packet = &self.waiting[0].packet;
            let mut cut = form(packet, checking);
            cut.resize(cut.len().max(taken as usize), 0);
            self.form = cut;
        }
    }

    /// Arms the receiver, after a write of its limit.
    pub fn arm(&mut self, limit: u32, now: SimTime) {
        self.limit = limit;
        if !self.armed {
            self.ready = now;
        }
        self.armed = true;
    }

    /// Bytes between the pointer and the end of the unit at the limit.
    fn room(&self) -> u32 {
        let unit = self.generation.unit_bytes();
        let (pointer, last) = (self.pointer & !(unit - 1), self.limit & !(unit - 1));
        last.checked_sub(pointer)
            .map_or(0, |room| room.saturating_add(unit))
    }

    /// The part that comes in next, if the receiver is armed and its bytes are on their way. The last part is known once the tail is
    /// there.
    pub fn next(&mut self, now: SimTime, burst: u32, checking: Checking) -> Option<Part> {
        let room = self.room();
        let first = self.waiting.front()?;
        if !self.armed || self.pending != 0 {
            return None;
        }
        if self.form.is_empty() {
            self.form = form(&first.packet, checking);
            self.stored = 0;
        }
        let left = (self.form.len() - self.stored) as u32;
        let part = left.min(burst.max(8) & !7).min(room);
        let there = first.line.time_of(self.stored as u64 + u64::from(part));
        let there = match first.tail {
            Some(tail) => there.map_or(tail, |time| time.min(tail)),
            None if part == left => return None,
            None => there?,
        };
        // A packet that waited goes on at the rate of the link.
        let span = first.line.byte_time.ps().saturating_mul(part.into());
        let at_rate = self.ready.saturating_add(SimTime::from_ps(span));
        self.step = self.step.wrapping_add(1);
        self.pending = part.max(1);
        Some(Part {
            step: self.step,
            end: there.max(at_rate).max(now),
            last: part == left,
        })
    }

    /// The part of a step: its address and bytes; `None` if the step is over.
    #[must_use]
    pub fn part(&self, step: u32) -> Option<(u32, &[u8])> {
        if step != self.step || self.pending == 0 {
            return None;
        }
        let end = self
            .form
            .len()
            .min(self.stored + self.pending.min(self.room()) as usize);
        let unit = self.generation.unit_bytes();
        Some((self.pointer & !(unit - 1), self.form.get(self.stored..end)?))
    }

    /// Whether the residue of the first packet says that it is damaged. One that was cut short is a loss of its cable.
    #[must_use]
    pub fn is_damaged(&self, checking: Checking) -> bool {
        let residue_bytes = match checking {
            Checking::Off => 0,
            Checking::Crc8 => 1,
            Checking::Crc32 => 4,
        };
        let residue = self.form.iter().rev().take(residue_bytes);
        let is_cut = self.waiting.front().is_none_or(|first| first.is_cut);
        !is_cut && residue.into_iter().any(|&byte| byte != 0)
    }

    /// Notes that a part of `length` bytes is stored at `now`. Returns the result of the step.
    pub fn stored(&mut self, length: u32, now: SimTime) -> StoreOutcome {
        self.pending = 0;
        self.ready = now;
        self.stored += length as usize;
        let unit = self.generation.unit_bytes();
        let units = length.next_multiple_of(unit);
        self.pointer = (self.pointer & !(unit - 1)).wrapping_add(units);
        if self.stored >= self.form.len() {
            let length = std::mem::take(&mut self.form).len() as u32;
            self.waiting.pop_front();
            self.stored = 0;
            self.armed = false;
            let overshoot = length.next_multiple_of(unit) - length;
            return StoreOutcome::Tail { length, overshoot };
        }
        if self.room() == 0 {
            self.armed = false;
            return StoreOutcome::Full;
        }
        StoreOutcome::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming(bytes: &[u8]) -> Incoming {
        let tail = 100 + 10 * (bytes.len() as u64 + 1);
        let [head, tail, byte_time] = [100, tail, 10].map(SimTime::from_ns);
        Incoming::new(Packet::new(bytes.to_vec()), head, Some(tail), byte_time)
    }

    fn all(receiver: &mut Receiver, checking: Checking) -> (Vec<u8>, Vec<u32>, StoreOutcome) {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        loop {
            let part = receiver.next(SimTime::ZERO, 8, checking).unwrap();
            let (at, piece) = receiver.part(part.step).unwrap();
            places.push(at);
            bytes.extend(piece);
            let length = piece.len() as u32;
            match receiver.stored(length, part.end) {
                StoreOutcome::More => {}
                outcome => return (bytes, places, outcome),
            }
        }
    }

    #[test]
    fn a_packet_is_stored_with_its_residue() {
        let check = |generation, length: u32, pointer, overshoot| {
            let mut receiver = Receiver::new(generation);
            let bytes: Vec<u8> = (1..=length as u8).collect();
            receiver.push(incoming(&bytes));
            assert_eq!(receiver.next(SimTime::ZERO, 8, Checking::Crc8), None);
            receiver.pointer = 0x100;
            receiver.arm(0x1FC, SimTime::ZERO);
            let (stored, places, outcome) = all(&mut receiver, Checking::Crc8);
            assert_eq!(stored, [&bytes[..], &[0]].concat());
            assert_eq!(places.first(), Some(&0x100));
            let length = length + 1;
            assert_eq!(outcome, StoreOutcome::Tail { length, overshoot });
            assert_eq!(receiver.pointer, pointer);
        };
        check(Generation::L4, 10, 0x10C, 1);
        check(Generation::L4, 11, 0x10C, 0);
        check(Generation::L7, 10, 0x110, 5);
        check(Generation::L9, 32, 0x128, 7);
    }

    #[test]
    fn a_limit_before_the_tail_ends_the_buffer() {
        let mut receiver = Receiver::new(Generation::L4);
        receiver.push(incoming(&[7; 20]));
        receiver.pointer = 0x100;
        receiver.arm(0x108, SimTime::ZERO);
        let (stored, _, outcome) = all(&mut receiver, Checking::Crc8);
        assert_eq!((stored.len(), outcome), (12, StoreOutcome::Full));
        assert_eq!(receiver.next(SimTime::ZERO, 8, Checking::Crc8), None);
        receiver.arm(0x200, SimTime::ZERO);
        let (rest, places, outcome) = all(&mut receiver, Checking::Crc8);
        assert_eq!((rest.len(), places[0]), (9, 0x10C));
        let (length, overshoot) = (21, 3);
        assert_eq!(outcome, StoreOutcome::Tail { length, overshoot });
    }

    #[test]
    fn residues_tell_damage() {
        let bytes = [1, 2, 3, 4];
        let long = [&bytes[..], &crc32(&bytes).to_be_bytes()].concat();
        let check = |packet: Packet, checking, tail: &[u8]| {
            let stored = form(&packet, checking);
            assert_eq!(stored, [&bytes[..], tail].concat());
        };
        check(Packet::new(bytes.to_vec()), Checking::Crc8, &[0]);
        check(
            Packet::with_crc(bytes.to_vec(), crc8(&bytes) ^ 5),
            Checking::Crc8,
            &[5],
        );
        check(Packet::with_crc(bytes.to_vec(), 9), Checking::Off, &[9]);
        check(Packet::new(long), Checking::Crc32, &[0; 4]);
        assert_eq!(
            form(&Packet::new(vec![1]), Checking::Crc32),
            crc32(&[1]).to_be_bytes()
        );
    }

    #[test]
    fn the_last_part_waits_for_the_tail() {
        let mut receiver = Receiver::new(Generation::L9);
        let [head, byte_time] = [100, 10].map(SimTime::from_ns);
        let packet = Packet::new(vec![7; 20]);
        receiver.push(Incoming::new(packet, head, None, byte_time));
        receiver.arm(0x200, SimTime::ZERO);
        let mut store = |now: u64| {
            let now = SimTime::from_ns(now);
            let part = receiver.next(now, 16, Checking::Crc8)?;
            let length = receiver.part(part.step).unwrap().1.len() as u32;
            let outcome = receiver.stored(length, part.end);
            Some((part.end.ps() / 1000, outcome))
        };
        assert_eq!(store(100), Some((260, StoreOutcome::More)));
        assert_eq!(store(260), None);
        receiver.tail(SimTime::from_ns(400), true, Checking::Crc8);
        let part = receiver.next(SimTime::from_ns(400), 16, Checking::Crc8);
        // As the bytes came: the rest is there since 310 ns.
        assert_eq!(part.map(|part| part.end), Some(SimTime::from_ns(400)));
    }

    #[test]
    fn stop_keeps_bytes_away() {
        let mut line = Incoming::new(
            Packet::new(vec![7; 20]),
            SimTime::from_ns(100),
            None,
            SimTime::from_ns(10),
        )
        .line;
        line.stop(SimTime::from_ns(157));
        assert_eq!(line.passed(SimTime::from_ns(500)), 5);
        assert_eq!(line.time_of(5), Some(SimTime::from_ns(150)));
        assert_eq!(line.time_of(6), None);
        line.go(SimTime::from_ns(300));
        assert_eq!(line.time_of(6), Some(SimTime::from_ns(310)));
        assert_eq!(line.passed(SimTime::from_ns(325)), 7);
    }

    #[test]
    fn a_packet_that_is_cut_ends_early() {
        let check = |time, checking, stored: u32, length| {
            let mut receiver = Receiver::new(Generation::L9);
            let [head, byte_time] = [100, 10].map(SimTime::from_ns);
            let packet = Packet::new((1..41).collect());
            receiver.push(Incoming::new(packet, head, None, byte_time));
            receiver.arm(0x200, SimTime::ZERO);
            let mut left = stored;
            while left > 0 {
                let part = receiver.next(SimTime::ZERO, 8, checking).unwrap();
                assert!(receiver.part(part.step).is_some());
                receiver.stored(8, part.end);
                left -= 8;
            }
            receiver.tail(SimTime::from_ns(time), false, checking);
            let (bytes, _, outcome) = all(&mut receiver, checking);
            assert_eq!(bytes.len() as u32, length - stored);
            assert!(matches!(outcome, StoreOutcome::Tail { length: told, .. } if told == length));
        };
        check(300, Checking::Crc8, 16, 20);
        check(300, Checking::Off, 0, 20);
        check(300, Checking::Crc32, 8, 19);
        check(100, Checking::Crc8, 0, 1);
        check(9_999, Checking::Crc8, 0, 40);
    }
}
