//! Sending: frames of fetched descriptors go to the transmit buffer, and from there to the wire.

use core::mem::offset_of;

use defs::ethernet::SEND_BYTES;
use defs::tigon2::regs::DmaState;
use defs::tigon2::rings::{
    DMA_DESCRIPTOR_BYTES, DMA_RING_BYTES, DmaDescriptor, MAC_DESCRIPTOR_BYTES, MAC_TX_ENTRIES,
};
use tigon2_hal::dma::COPY_BYTES;
use tigon2_hal::{regs, scratchpad_n, semaphore, sram};

use crate::cpu::{Cpu, Found};
use crate::order::{self, Sending};
use crate::{fetch, map};

/// Bytes of the ring of frames to send.
const TX_RING_BYTES: u32 = MAC_DESCRIPTOR_BYTES * MAC_TX_ENTRIES;

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

/// Frames that can be claimed, of so many that wait, from number `claimed` on.
#[inline(always)]
fn frames(cpu: &Cpu, waiting: u32, claimed: u32, place: u32) -> u32 {
    let unsent = unsent(claimed, regs::read(regs::TX_DESCRIPTOR_REFERENCE));
    let places = map::MOST_PLACES.saturating_sub(unsent);
    let room = room(place, regs::read(regs::READ_RING_REFERENCE));
    waiting.min(places).min(room).min(cpu.batch)
}

scratchpad_n! {
    /// Does a piece of sending, if there is one.
    pub fn serve(cpu: &Cpu) -> Found {
        let waiting = || {
            let claimed = sram::read(map::SENDS_CLAIMED);
            (sram::read(map::SENDS_FETCHED).wrapping_sub(claimed), claimed)
        };
        let (count, _) = waiting();
        if count <= fetch::FEW && fetch::sends(cpu) == Found::Something {
            return Found::Something;
        }
        if count == 0 {
            return Found::Nothing;
        }
        if !semaphore::try_lock_at(cpu.send_lock) {
            return Found::Something;
        }
        let place = sram::read(map::READ_PLACE);
        let (count, claimed) = waiting();
        let count = frames(cpu, count, claimed, place);
        if count == 0 {
            semaphore::spin_unlock_at(cpu.send_lock);
            return Found::Nothing;
        }
        sram::write(map::SENDS_CLAIMED, claimed.wrapping_add(count));
        let piece = claim(cpu, place, count);
        describe_frames(claimed, count, place);
        end(cpu, &piece)
    }
}

/// Numbers of a claimed piece.
pub struct Piece {
    number: u32,
    /// Frames that are claimed at its end.
    frames: u32,
    /// The free place at its end.
    place: u32,
}

/// Claims a piece with so many DMA reads from `place` on, and releases the lock. Places are counted for ever.
#[inline(always)]
pub fn claim(cpu: &Cpu, place: u32, reads: u32) -> Piece {
    let piece = Piece {
        number: sram::read(map::READ_PIECE),
        frames: sram::read(map::SENDS_CLAIMED),
        place: place.wrapping_add(reads * DMA_DESCRIPTOR_BYTES),
    };
    sram::write(map::READ_PIECE, piece.number.wrapping_add(1));
    sram::write(map::READ_PLACE, piece.place);
    semaphore::spin_unlock_at(cpu.send_lock);
    piece
}

scratchpad_n! {
    /// Ends a piece. The registers keep what indexes their rings.
    pub fn end(cpu: &Cpu, piece: &Piece) -> Found {
        let ends = [piece.frames * MAC_DESCRIPTOR_BYTES, piece.place];
        order::finish::<Sending>(piece.number, ends, cpu.bits, cpu.send_order);
        Found::Something
    }

    /// Describes frames to the DMA channel and to the MAC.
    fn describe_frames(first: u32, count: u32, place: u32) {
        const RELEASING: DmaState = COPY_BYTES.union(DmaState::RELEASE_TX);
        let mut frame = first;
        let mut place = place;
        let end = first.wrapping_add(count);
        while frame != end {
            let from = map::SENDS + frame % map::CACHE_ENTRIES * SEND_BYTES;
            let (host, length) = (sram::read(from), sram::read(from + 4));
            let to = map::LAYOUT.tx_buffer + frame % map::PLACES * map::PLACE_BYTES;
            describe(map::READ_RING + in_ring(place), host, to, length, RELEASING);
            let descriptor = map::TX_RING + frame % MAC_TX_ENTRIES * MAC_DESCRIPTOR_BYTES;
            sram::write(descriptor, to);
            sram::write(descriptor + 4, length);
            place += DMA_DESCRIPTOR_BYTES;
            frame = frame.wrapping_add(1);
        }
    }
}

/// The place in a DMA ring for one that is counted for ever.
#[inline(always)]
pub const fn in_ring(place: u32) -> u32 {
    place % DMA_RING_BYTES
}
