//! Receiving: frames go to the host's buffers, words about them to its return ring, then the numbers to its status.

use core::mem::offset_of;

use defs::ethernet::{
    BUFFER_BYTES, RECEIVE_BYTES, RETURN_BYTES, RING_ENTRIES, STATUS_BYTES, returned,
};
use defs::tigon2::regs::DmaState;
use defs::tigon2::rings::{
    CRC_BYTES, DMA_DESCRIPTOR_BYTES, DmaDescriptor, MAC_DESCRIPTOR_BYTES, MAC_RX_ENTRIES,
    MacRxDescriptor,
};
use tigon2_hal::dma::{COPY_BYTES, COPY_WORDS};
use tigon2_hal::{regs, scratchpad_n, semaphore, sram};

use crate::cpu::{Cpu, Found};
use crate::order::{self, Receiving};
use crate::send::{describe, in_ring, room, unsent};
use crate::{fetch, map};

/// Bytes of the ring of received frames.
const RX_RING_BYTES: u32 = MAC_DESCRIPTOR_BYTES * MAC_RX_ENTRIES;
/// Sent frames after which the host is told without a received one.
const MOST_UNREPORTED: u32 = 16;
/// DMA writes of a piece beside those of frames: words of the return ring, the status.
const FURTHER_WRITES: u32 = 2;

/// A claimed piece.
struct Piece {
    number: u32,
    /// Number of the first frame, and how many there are.
    first: u32,
    count: u32,
    /// Place of the first descriptor in the ring of DMA writes.
    place: u32,
    /// Sent frames.
    sent: u32,
}

/// Number of sent frames, and whether it is time to tell the host.
#[inline(always)]
fn sent() -> (u32, bool) {
    let reference = regs::read(regs::TX_DESCRIPTOR_REFERENCE);
    let claimed = sram::read(map::SENDS_CLAIMED);
    let unsent = unsent(claimed, reference);
    let sent = claimed.wrapping_sub(unsent);
    let untold = sent.wrapping_sub(sram::read(map::REPORTED));
    (
        sent,
        untold >= MOST_UNREPORTED || unsent == 0 && untold != 0,
    )
}

/// Frames that have come behind the first `claimed` ones. The descriptor of frame `n` is entry `n` of the MAC's ring.
#[inline(always)]
fn arrived(claimed: u32) -> u32 {
    let producer = regs::read(regs::RX_DESCRIPTOR_PRODUCER);
    let bytes = producer.wrapping_sub(claimed * MAC_DESCRIPTOR_BYTES);
    (bytes & (RX_RING_BYTES - 1)) / MAC_DESCRIPTOR_BYTES
}

scratchpad_n! {
    /// Does a piece of receiving, if there is one.
    pub fn serve(cpu: &Cpu) -> Found {
        let claimed = sram::read(map::BUFFERS_CLAIMED);
        let buffers = sram::read(map::BUFFERS_FETCHED).wrapping_sub(claimed);
        if buffers <= fetch::FEW && fetch::buffers(cpu) == Found::Something {
            return Found::Something;
        }
        let can_receive = buffers != 0 && arrived(claimed) != 0;
        if !can_receive && !sent().1 {
            return Found::Nothing;
        }
        if !semaphore::try_lock_at(cpu.receive_lock) {
            return Found::Something;
        }
        let Some(piece) = claim(cpu) else {
            semaphore::spin_unlock_at(cpu.receive_lock);
            return Found::Nothing;
        };
        semaphore::spin_unlock_at(cpu.receive_lock);
        let place = describe_frames(&piece);
        let end = tell_host(cpu, &piece, place);
        // The descriptor of the last frame stays in use, so that a full buffer does not look empty.
        let last = (piece.first + piece.count).wrapping_sub(1) * MAC_DESCRIPTOR_BYTES;
        finish(piece.number, last, end, cpu);
        Found::Something
    }
}

/// Claims a piece, under the lock.
#[inline(always)]
fn claim(cpu: &Cpu) -> Option<Piece> {
    let first = sram::read(map::BUFFERS_CLAIMED);
    let buffers = sram::read(map::BUFFERS_FETCHED).wrapping_sub(first);
    let place = sram::read(map::WRITE_PLACE);
    let room = room(place, regs::read(regs::WRITE_RING_REFERENCE));
    let (sent, due) = sent();
    let count = arrived(first)
        .min(buffers)
        .min(room.saturating_sub(FURTHER_WRITES))
        .min(RING_ENTRIES - first % RING_ENTRIES)
        .min(cpu.batch);
    if count == 0 && !(due && room >= FURTHER_WRITES) {
        return None;
    }
    let number = sram::read(map::WRITE_PIECE);
    sram::write(map::WRITE_PIECE, number.wrapping_add(1));
    sram::write(map::REPORTED, sent);
    let writes = if count == 0 {
        1
    } else {
        count + FURTHER_WRITES
    };
    sram::write(
        map::WRITE_PLACE,
        place.wrapping_add(writes * DMA_DESCRIPTOR_BYTES),
    );
    sram::write(map::BUFFERS_CLAIMED, first.wrapping_add(count));
    Some(Piece {
        number,
        first,
        count,
        place,
        sent,
    })
}

scratchpad_n! {
    /// Describes the moves of frames to the host's buffers; returns the place behind them in the ring.
    fn describe_frames(piece: &Piece) -> u32 {
        const FREEING: DmaState = COPY_BYTES.union(DmaState::FREE_RX);
        let mut frame = piece.first;
        let end = piece.first.wrapping_add(piece.count);
        let mut place = piece.place;
        while frame != end {
            let at = map::RX_RING + frame % MAC_RX_ENTRIES * MAC_DESCRIPTOR_BYTES;
            let from = sram::read(at + offset_of!(MacRxDescriptor, address) as u32);
            let word = sram::read(at + offset_of!(MacRxDescriptor, status_length) as u32);
            let length = (word & 0xFFFF).saturating_sub(CRC_BYTES).min(BUFFER_BYTES);
            let buffer = frame % map::CACHE_ENTRIES * RECEIVE_BYTES;
            let host = sram::read(map::BUFFERS + buffer);
            describe(map::WRITE_RING + in_ring(place), host, from, length, FREEING);
            let at = map::RETURNS + frame % RING_ENTRIES * RETURN_BYTES;
            sram::write(at, returned(word >> 16, length));
            place += DMA_DESCRIPTOR_BYTES;
            frame = frame.wrapping_add(1);
        }
        place
    }
}

scratchpad_n! {
    /// Describes the moves of words about the frames and of the numbers; returns the place behind them. The numbers are moved from the
    /// descriptor itself.
    fn tell_host(cpu: &Cpu, piece: &Piece, place: u32) -> u32 {
        let mut place = place;
        if piece.count != 0 {
            let at = piece.first % RING_ENTRIES * RETURN_BYTES;
            let bytes = piece.count * RETURN_BYTES;
            let descriptor = map::WRITE_RING + in_ring(place);
            describe(descriptor, cpu.return_ring + at, map::RETURNS + at, bytes, COPY_WORDS);
            place += DMA_DESCRIPTOR_BYTES;
        }
        let descriptor = map::WRITE_RING + in_ring(place);
        let numbers = descriptor + offset_of!(DmaDescriptor, kind) as u32;
        let received = piece.first.wrapping_add(piece.count);
        sram::write(numbers, piece.sent);
        sram::write(descriptor + offset_of!(DmaDescriptor, index) as u32, received);
        describe(descriptor, cpu.status, numbers, STATUS_BYTES, COPY_WORDS);
        place + DMA_DESCRIPTOR_BYTES
    }
}

scratchpad_n! {
    /// Ends a piece.
    fn finish(piece: u32, last: u32, end: u32, cpu: &Cpu) {
        order::finish::<Receiving>(piece, [last, end], cpu.bits, cpu.receive_order);
    }
}
