//! Order of pieces of work, by bit instructions or under a lock.

use core::marker::PhantomData;

use tigon2_hal::bits::BitArray;
use tigon2_hal::rings::sequence::{self, Sequence};
use tigon2_hal::{regs, semaphore, sram};

use crate::map;

/// A direction: pieces of sending, in the order of the ring of DMA reads, or of receiving, in that of DMA writes.
pub trait Direction {
    /// Marks of pieces as bits.
    const BITS: BitArray;
    /// Marks of pieces as words.
    const FLAGS: u32;
    /// The first piece that is not released.
    const NEXT: u32;
    /// Two words for each piece: indices at its end.
    const ENDS: u32;
    /// Registers that take them, in this order.
    const REGISTERS: [u32; 2];
}

/// Pieces of sending. The MAC waits for the data of a frame whose descriptor it has.
pub enum Sending {}
/// Pieces of receiving.
pub enum Receiving {}

impl Direction for Sending {
    const BITS: BitArray = map::READ_MARKS;
    const FLAGS: u32 = map::READ_FLAGS;
    const NEXT: u32 = map::READ_NEXT;
    const ENDS: u32 = map::READ_ENDS;
    const REGISTERS: [u32; 2] = [regs::TX_DESCRIPTOR_PRODUCER, regs::READ_RING_PRODUCER];
}

impl Direction for Receiving {
    const BITS: BitArray = map::WRITE_MARKS;
    const FLAGS: u32 = map::WRITE_FLAGS;
    const NEXT: u32 = map::WRITE_NEXT;
    const ENDS: u32 = map::WRITE_ENDS;
    const REGISTERS: [u32; 2] = [regs::RX_DESCRIPTOR_CONSUMER, regs::WRITE_RING_PRODUCER];
}

/// Ends a piece of work: with bits, or under the semaphore with this side.
#[inline(always)]
pub fn finish<D: Direction>(piece: u32, ends: [u32; 2], bits: bool, side: u32) {
    let at = ends_of::<D>(piece);
    sram::write(at, ends[0]);
    sram::write(at + 4, ends[1]);
    if bits {
        sequence::finish(&mut Marks::<D>(PhantomData), piece);
    } else {
        semaphore::spin_lock_at(side);
        sequence::finish_locked(&mut Flags::<D>(PhantomData), piece);
        semaphore::spin_unlock_at(side);
    }
}

#[inline(always)]
const fn ends_of<D: Direction>(piece: u32) -> u32 {
    D::ENDS + 8 * (piece & (map::PIECES - 1))
}

/// Releases pieces before `end`: the indices of the last one stand for all.
#[inline(always)]
fn release<D: Direction>(end: u32) {
    let at = ends_of::<D>(end.wrapping_sub(1));
    let ends = [sram::read(at), sram::read(at + 4)];
    regs::write(D::REGISTERS[0], ends[0]);
    regs::write(D::REGISTERS[1], ends[1]);
}

/// Marks in an array of bits.
struct Marks<D>(PhantomData<D>);

impl<D: Direction> Sequence for Marks<D> {
    #[inline(always)]
    fn mark(&mut self, piece: u32) {
        D::BITS.set_bit(piece);
    }

    #[inline(always)]
    fn take(&mut self, next: u32) -> u32 {
        D::BITS.take_run(next)
    }

    #[inline(always)]
    fn next(&self) -> u32 {
        sram::read(D::NEXT)
    }

    #[inline(always)]
    fn release(&mut self, end: u32) {
        release::<D>(end);
    }

    #[inline(always)]
    fn set_next(&mut self, end: u32) {
        sram::write(D::NEXT, end);
    }
}

/// Marks in a word for each piece, under a lock.
struct Flags<D>(PhantomData<D>);

impl<D: Direction> Flags<D> {
    #[inline(always)]
    const fn flag(piece: u32) -> u32 {
        D::FLAGS + 4 * (piece & (map::PIECES - 1))
    }
}

impl<D: Direction> Sequence for Flags<D> {
    #[inline(always)]
    fn mark(&mut self, piece: u32) {
        sram::write(Self::flag(piece), 1);
    }

    #[inline(always)]
    fn take(&mut self, next: u32) -> u32 {
        let mut end = next;
        while sram::read(Self::flag(end)) != 0 {
            sram::write(Self::flag(end), 0);
            end = end.wrapping_add(1);
        }
        end
    }

    #[inline(always)]
    fn next(&self) -> u32 {
        sram::read(D::NEXT)
    }

    #[inline(always)]
    fn release(&mut self, end: u32) {
        release::<D>(end);
    }

    #[inline(always)]
    fn set_next(&mut self, end: u32) {
        sram::write(D::NEXT, end);
    }
}
