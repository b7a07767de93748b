//! The pool: how many of its buffers are free. CPU A takes them in turn, and CPU B gives them back in the same order, so
//! nothing else need be known.

use defs::tigon2::map::GENERAL_BASE;
use tigon2_hal::cpu::A;
use tigon2_hal::{event, semaphore, sram};

/// Number of buffers in the pool.
pub const BUFFERS: u32 = 8;
/// Address of the number of free buffers. Both CPUs change it.
const FREE: u32 = GENERAL_BASE;

/// All are free.
pub fn fill() {
    sram::write(FREE, BUFFERS);
}

/// Number of free buffers.
pub fn free() -> u32 {
    sram::read(FREE)
}

/// CPU A takes a buffer, if there is one.
#[inline(never)] // docs/debugging.md stops in this function by its name.
pub fn take_buffer() -> bool {
    let free = semaphore::locked::<A, _>(|| {
        let free = sram::read(FREE);
        if free > 0 {
            sram::write(FREE, free - 1);
        }
        free
    });
    event!("take", free);
    free > 0
}

/// CPU B gives a buffer back.
#[inline(never)] // docs/debugging.md stops in this function by its name.
pub fn give_back() {
    let free = sram::read(FREE) + 1;
    sram::write(FREE, free);
    event!("give back", free);
}
