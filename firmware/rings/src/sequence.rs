//! Release of pieces of work in their order, which several CPUs do at a time and end in any order.
//!
//! Pieces have numbers from 0 on. A CPU that has done one marks it. Then the CPU that finds the first piece that is not released marked
//! takes the run of marked pieces from there on, releases them by one change of a hardware index, and only then says where the next run
//! begins.
//!
//! With marks that are taken at once (the instructions `setb` and `update` of the board `tigon-n`) this needs no lock: a run is taken by
//! one CPU, and no CPU can take the run behind it before that CPU has released its own. A piece that was marked in between is not
//! forgotten: its CPU finds nothing to take, but the one with the run looks again behind it. Without such marks the same steps are done
//! under a lock.
//!
//! Marks are a ring. A CPU must not stand still, between its look at the next piece and its attempt to take a run there, for as long as
//! others release all pieces of a whole ring.

/// Marks of pieces, the number of the first piece that is not released, and the hardware index that releases pieces.
pub trait Sequence {
    /// Marks a piece: it is done.
    fn mark(&mut self, piece: u32);
    /// Takes the marks of the run from `next` on; returns the first piece that it has not taken. It may end before the run does.
    fn take(&mut self, next: u32) -> u32;
    /// The first piece that is not released.
    fn next(&self) -> u32;
    /// Releases all pieces before `end`.
    fn release(&mut self, end: u32);
    /// Says that all pieces before `end` are released.
    fn set_next(&mut self, end: u32);
}

/// Ends a piece, and releases all that can be, with marks that are taken at once.
#[inline(always)]
pub fn finish(sequence: &mut impl Sequence, piece: u32) {
    sequence.mark(piece);
    while release_run(sequence) {}
}

/// [`finish`] for marks that are changed under a lock, which the caller holds. A run is taken as a whole.
#[inline(always)]
pub fn finish_locked(sequence: &mut impl Sequence, piece: u32) {
    sequence.mark(piece);
    release_run(sequence);
}

/// Releases the run of marked pieces in front; returns whether there was one.
#[inline(always)]
fn release_run(sequence: &mut impl Sequence) -> bool {
    let next = sequence.next();
    let end = sequence.take(next);
    let any = end != next;
    if any {
        sequence.release(end);
        sequence.set_next(end);
    }
    any
}
