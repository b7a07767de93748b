//! The receiver of packets (docs/lanai.md, section 3.6).

use std::collections::VecDeque;

use super::chip::Generation;
use super::crc::{crc8, crc32};
use super::medium::{Incoming, Packet};
use crate::sim::time::SimTime;
use crate::state;
use crate::wire::unit::Unit;

/// What is stored in place of the check sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checking {
    /// The CRC-8 as it came.
    Off,
    /// The residue of the CRC-8, a byte.
    Crc8,
    /// The residue of the CRC-32, a word; the CRC-8 of the link is dropped.
    Crc32,
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
    /// Packets in the link; the first one is being stored once part of it is.
    waiting: VecDeque<Incoming>,
    /// What is stored of the first packet, once its storing has begun: bytes and residue.
    form: Vec<u8>,
    /// Bytes of that which are stored.
    stored: usize,
    /// Number of the step that is under way; steps with other numbers are over.
    step: u32,
    /// Bytes of that step; 0 if none is under way.
    pending: u32,
}

state!(Receiver {
    pointer,
    limit,
    armed,
    waiting,
    form,
    stored,
    step,
    pending
} fixed { generation });

/// A part of a packet that comes in next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Number of the step.
    pub step: u32,
    /// When its last byte is there.
    pub end: SimTime,
    /// Whether it is the packet's last part.
    pub last: bool,
}

/// What the receiver has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
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
    let check = packet.check() as u8;
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
    /// Not armed, no packet in the link.
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
        }
    }

    /// After a reset. Packets in the link are absorbed.
    pub fn reset(&mut self) {
        let step = self.step.wrapping_add(1);
        *self = Self {
            step,
            ..Self::new(self.generation)
        };
    }

    /// Number of packets in the link.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A packet is in the link.
    pub fn push(&mut self, incoming: Incoming) {
        self.waiting.push_back(incoming);
    }

    /// The limit was written.
    pub const fn arm(&mut self, limit: u32) {
        self.limit = limit;
        self.armed = true;
    }

    /// Bytes between the pointer and the end of the unit at the limit.
    fn room(&self) -> u32 {
        let unit = self.generation.unit_bytes();
        let (pointer, last) = (self.pointer & !(unit - 1), self.limit & !(unit - 1));
        last.checked_sub(pointer)
            .map_or(0, |room| room.saturating_add(unit))
    }

    /// The part that comes in next, if the receiver is armed and a packet is in the link.
    pub fn next(&mut self, now: SimTime, burst: u32, checking: Checking) -> Option<Part> {
        let first = self.waiting.front()?;
        if !self.armed || self.pending != 0 {
            return None;
        }
        if self.form.is_empty() {
            self.form = form(&first.packet, checking);
            self.stored = 0;
        }
        let left = (self.form.len() - self.stored) as u32;
        let part = left.min(burst.max(8) & !7).min(self.room());
        let span = |bytes: u64| SimTime::from_ps(first.byte_time.ps().saturating_mul(bytes));
        // A packet that waited goes on at the rate of the link.
        let at_rate = first
            .head
            .saturating_add(span(self.stored as u64 + u64::from(part)));
        let end = at_rate.max(now.saturating_add(span(part.into())));
        self.step = self.step.wrapping_add(1);
        self.pending = part.max(1);
        Some(Part {
            step: self.step,
            end,
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

    /// That part of `length` bytes is stored.
    pub fn stored(&mut self, length: u32) -> Outcome {
        self.pending = 0;
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
            return Outcome::Tail { length, overshoot };
        }
        if self.room() == 0 {
            self.armed = false;
            return Outcome::Full;
        }
        Outcome::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming(bytes: &[u8]) -> Incoming {
        Incoming {
            packet: Packet::new(bytes.to_vec()),
            head: SimTime::from_ns(100),
            byte_time: SimTime::from_ns(10),
        }
    }

    fn all(receiver: &mut Receiver, checking: Checking) -> (Vec<u8>, Vec<u32>, Outcome) {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        loop {
            let part = receiver.next(SimTime::ZERO, 8, checking).unwrap();
            let (at, piece) = receiver.part(part.step).unwrap();
            places.push(at);
            bytes.extend(piece);
            let length = piece.len() as u32;
            match receiver.stored(length) {
                Outcome::More => {}
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
            receiver.arm(0x1FC);
            let (stored, places, outcome) = all(&mut receiver, Checking::Crc8);
            assert_eq!(stored, [&bytes[..], &[0]].concat());
            assert_eq!(places.first(), Some(&0x100));
            let length = length + 1;
            assert_eq!(outcome, Outcome::Tail { length, overshoot });
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
        receiver.arm(0x108);
        let (stored, _, outcome) = all(&mut receiver, Checking::Crc8);
        assert_eq!((stored.len(), outcome), (12, Outcome::Full));
        assert_eq!(receiver.next(SimTime::ZERO, 8, Checking::Crc8), None);
        receiver.arm(0x200);
        let (rest, places, outcome) = all(&mut receiver, Checking::Crc8);
        assert_eq!((rest.len(), places[0]), (9, 0x10C));
        let (length, overshoot) = (21, 3);
        assert_eq!(outcome, Outcome::Tail { length, overshoot });
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
            Packet::with_check(bytes.to_vec(), crc8(&bytes) ^ 5),
            Checking::Crc8,
            &[5],
        );
        check(Packet::with_check(bytes.to_vec(), 9), Checking::Off, &[9]);
        check(Packet::new(long), Checking::Crc32, &[0; 4]);
        assert_eq!(
            form(&Packet::new(vec![1]), Checking::Crc32),
            crc32(&[1]).to_be_bytes()
        );
    }
}
