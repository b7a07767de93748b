//! Sending: descriptors come from the host in groups, and frames follow them into the transmit buffer.

use core::mem::offset_of;

use defs::ethernet::{RECEIVE_BYTES, RING_ENTRIES, SEND_BYTES};
use defs::tigon2::regs::DmaState;
use defs::tigon2::rings::{
    DMA_DESCRIPTOR_BYTES, DMA_RING_BYTES, DmaDescriptor, MAC_DESCRIPTOR_BYTES, MAC_TX_ENTRIES,
};
use tigon2_hal::dma::{COPY_BYTES, COPY_WORDS};
use tigon2_hal::{regs, semaphore, sram};

use crate::cpu::{Cpu, Found};
use crate::map;
use crate::order::{self, Sending};

/// Most descriptors of a fetch.
const MOST_FETCHED: u32 = 32;
/// Fewest descriptors that are fetched while others are there.
const FEW: u32 = 8;
/// Bytes of the ring of frames to send.
const TX_RING_BYTES: u32 = MAC_DESCRIPTOR_BYTES * MAC_TX_ENTRIES;

/// A ring of the host of which the board has a part in a cache.
struct Source {
    mailbox: u32,
    claimed: u32,
    fetched: u32,
    requested: u32,
    fetch: u32,
    cache: u32,
    entry_bytes: u32,
}

const SENDS: Source = Source {
    mailbox: map::SEND_MAILBOX,
    claimed: map::SENDS_CLAIMED,
    fetched: map::SENDS_FETCHED,
    requested: map::SENDS_REQUESTED,
    fetch: map::SENDS_FETCH,
    cache: map::SENDS,
    entry_bytes: SEND_BYTES,
};

const BUFFERS: Source = Source {
    mailbox: map::RECEIVE_MAILBOX,
    claimed: map::BUFFERS_CLAIMED,
    fetched: map::BUFFERS_FETCHED,
    requested: map::BUFFERS_REQUESTED,
    fetch: map::BUFFERS_FETCH,
    cache: map::BUFFERS,
    entry_bytes: RECEIVE_BYTES,
};

/// A fetch of descriptors: their number, the first one, and how many there are.
struct Fetch {
    first: u32,
    count: u32,
}

impl Source {
    /// Whether the fetch has ended. `place` is the free place in the ring of DMA reads.
    #[inline(always)]
    fn has_come(&self, place: u32) -> bool {
        let fetch = sram::read(self.fetch);
        fetch != 0 && {
            let left = place.wrapping_sub(regs::read(regs::READ_RING_REFERENCE));
            let behind = place.wrapping_sub(fetch - 1);
            left & (DMA_RING_BYTES - 1) < behind & (DMA_RING_BYTES - 1)
        }
    }

    /// The next fetch, if one is due.
    #[inline(always)]
    fn due(&self) -> Option<Fetch> {
        let first = sram::read(self.requested);
        let waiting = sram::read(self.mailbox).wrapping_sub(first);
        if waiting == 0 || sram::read(self.fetch) != 0 {
            return None;
        }
        let unused = first.wrapping_sub(sram::read(self.claimed));
        let count = waiting
            .min(MOST_FETCHED)
            .min((map::CACHE_ENTRIES / 2).saturating_sub(unused))
            .min(map::CACHE_ENTRIES - first % map::CACHE_ENTRIES);
        (count != 0 && (count >= FEW || unused <= FEW)).then_some(Fetch { first, count })
    }

    /// Whether there is anything to do for it under the lock.
    #[inline(always)]
    fn wants(&self, place: u32) -> bool {
        self.has_come(place) || self.due().is_some()
    }

    /// Notes the end of the fetch, under the lock.
    #[inline(always)]
    fn take(&self, place: u32) {
        if self.has_come(place) {
            sram::write(self.fetch, 0);
            sram::write(self.fetched, sram::read(self.requested));
        }
    }

    /// Claims a fetch under the lock.
    #[inline(always)]
    fn claim(&self, fetch: &Fetch, place: u32) {
        sram::write(self.requested, fetch.first.wrapping_add(fetch.count));
        sram::write(self.fetch, place + 1);
    }

    /// Makes the descriptor of a fetch at `at`.
    #[inline(always)]
    fn describe(&self, fetch: &Fetch, ring: u32, at: u32) {
        let in_ring = fetch.first % RING_ENTRIES * self.entry_bytes;
        let in_cache = fetch.first % map::CACHE_ENTRIES * self.entry_bytes;
        let bytes = fetch.count * self.entry_bytes;
        describe(at, ring + in_ring, self.cache + in_cache, bytes, COPY_WORDS);
    }
}

/// Makes a DMA descriptor at `at`. The high word of all host addresses is 0.
#[inline(always)]
pub fn describe(at: u32, host: u32, local: u32, length: u32, state: DmaState) {
    sram::write(at + offset_of!(DmaDescriptor, host_low) as u32, host);
    sram::write(at + offset_of!(DmaDescriptor, local) as u32, local);
    sram::write(at + offset_of!(DmaDescriptor, length) as u32, length);
    sram::write(at + offset_of!(DmaDescriptor, state) as u32, state.bits());
}

/// Descriptors that are free in a DMA ring whose free place and reference these are.
#[inline(always)]
pub fn room(place: u32, reference: u32) -> u32 {
    let used = place.wrapping_sub(reference) & (DMA_RING_BYTES - 1);
    (DMA_RING_BYTES - DMA_DESCRIPTOR_BYTES - used) / DMA_DESCRIPTOR_BYTES
}

/// Frames that are claimed and not yet sent.
#[inline(always)]
pub fn unsent(claimed: u32, reference: u32) -> u32 {
    let bytes = (claimed * MAC_DESCRIPTOR_BYTES).wrapping_sub(reference);
    (bytes & (TX_RING_BYTES - 1)) / MAC_DESCRIPTOR_BYTES
}

/// Frames that can be claimed, from number `claimed` on.
#[inline(always)]
fn frames(cpu: &Cpu, claimed: u32, place: u32) -> u32 {
    let waiting = sram::read(map::SENDS_FETCHED).wrapping_sub(claimed);
    if waiting == 0 {
        return 0;
    }
    let unsent = unsent(claimed, regs::read(regs::TX_DESCRIPTOR_REFERENCE));
    let places = map::MOST_PLACES.saturating_sub(unsent);
    let room = room(place, regs::read(regs::READ_RING_REFERENCE));
    waiting.min(places).min(room).min(cpu.batch)
}

/// Does a piece of sending, if there is one.
#[inline(always)]
pub fn serve(cpu: &Cpu) -> Found {
    let place = sram::read(map::READ_PLACE);
    let claimed = sram::read(map::SENDS_CLAIMED);
    if frames(cpu, claimed, place) == 0 && !SENDS.wants(place) && !BUFFERS.wants(place) {
        return Found::Nothing;
    }
    if !semaphore::try_lock_at(cpu.send_lock) {
        return Found::Something;
    }
    let place = sram::read(map::READ_PLACE);
    SENDS.take(place);
    BUFFERS.take(place);
    let free = room(place, regs::read(regs::READ_RING_REFERENCE)) != 0;
    if free && let Some(fetch) = SENDS.due() {
        SENDS.claim(&fetch, place);
        let piece = claim(cpu, place, 1);
        SENDS.describe(&fetch, cpu.send_ring, map::READ_RING + place);
        return end(cpu, &piece, behind(place, 1));
    }
    if free && let Some(fetch) = BUFFERS.due() {
        BUFFERS.claim(&fetch, place);
        let piece = claim(cpu, place, 1);
        BUFFERS.describe(&fetch, cpu.receive_ring, map::READ_RING + place);
        return end(cpu, &piece, behind(place, 1));
    }
    let claimed = sram::read(map::SENDS_CLAIMED);
    let count = frames(cpu, claimed, place);
    if count == 0 {
        semaphore::spin_unlock_at(cpu.send_lock);
        return Found::Nothing;
    }
    sram::write(map::SENDS_CLAIMED, claimed.wrapping_add(count));
    let piece = claim(cpu, place, count);
    describe_frames(claimed, count, place);
    end(cpu, &piece, behind(place, count))
}

/// Numbers of a claimed piece.
struct Piece {
    number: u32,
    /// Frames that are claimed at its end.
    frames: u32,
}

/// Claims a piece with so many DMA reads, and releases the lock.
#[inline(always)]
fn claim(cpu: &Cpu, place: u32, reads: u32) -> Piece {
    let number = sram::read(map::READ_PIECE);
    let frames = sram::read(map::SENDS_CLAIMED);
    sram::write(map::READ_PIECE, number.wrapping_add(1));
    sram::write(map::READ_PLACE, behind(place, reads));
    semaphore::spin_unlock_at(cpu.send_lock);
    Piece { number, frames }
}

/// The place in a DMA ring so many descriptors behind `place`.
#[inline(always)]
pub fn behind(place: u32, count: u32) -> u32 {
    (place + count * DMA_DESCRIPTOR_BYTES) & (DMA_RING_BYTES - 1)
}

/// Ends a piece. The registers keep what indexes their rings.
#[inline(always)]
fn end(cpu: &Cpu, piece: &Piece, end: u32) -> Found {
    let ends = [piece.frames * MAC_DESCRIPTOR_BYTES, end];
    order::finish::<Sending>(piece.number, ends, cpu.bits, cpu.send_order);
    Found::Something
}

/// Describes frames to the DMA channel and to the MAC.
#[inline(always)]
fn describe_frames(first: u32, count: u32, place: u32) {
    const RELEASING: DmaState = COPY_BYTES.union(DmaState::RELEASE_TX);
    let mut frame = first;
    let mut place = place;
    let end = first.wrapping_add(count);
    while frame != end {
        let from = map::SENDS + frame % map::CACHE_ENTRIES * SEND_BYTES;
        let (host, length) = (sram::read(from), sram::read(from + 4));
        let to = map::LAYOUT.tx_buffer + frame % map::PLACES * map::PLACE_BYTES;
        describe(map::READ_RING + place, host, to, length, RELEASING);
        let descriptor = map::TX_RING + frame % MAC_TX_ENTRIES * MAC_DESCRIPTOR_BYTES;
        sram::write(descriptor, to);
        sram::write(descriptor + 4, length);
        place = behind(place, 1);
        frame = frame.wrapping_add(1);
    }
}
