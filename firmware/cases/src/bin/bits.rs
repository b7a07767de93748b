//! Two CPUs do pieces of work in any order, and CPU A takes them in theirs, by the bit instructions of a `tigon-n`.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::hal::bits::BitArray;
use cases::hal::cpu::{self, A, B};
use cases::hal::{entry_a, entry_b, published, sram};
use cases::{log, rest};

const DONE: BitArray = BitArray::new(0x3_0000, 64);
/// The first piece that CPU A has not taken.
const TAKEN: u32 = 0x3_0100;
/// Results of the pieces that are under way.
const RESULTS: u32 = 0x3_0200;
/// Pieces under way at most.
const ROOM: u32 = 64;
const PIECES: u32 = 500;
published!("pieces taken", TAKEN, 1);

entry_a!(main_a);
entry_b!(main_b);

/// Does a piece if there is room for it; tells whether there was.
fn work(piece: u32, taken: u32) -> bool {
    let room = piece - taken < ROOM;
    if room {
        sram::write(RESULTS + 4 * (piece % ROOM), 3 * piece);
        DONE.set_bit(piece);
    }
    room
}

/// Does the even pieces, and takes all.
fn main_a(cpu: A) -> ! {
    DONE.clear();
    sram::write(TAKEN, 0);
    cpu::start_b(&cpu);
    let (mut piece, mut taken, mut sum) = (0, 0, 0);
    while taken < PIECES {
        if piece < PIECES && work(piece, taken) {
            piece += 2;
        }
        let end = DONE.take_run(taken);
        while taken != end {
            sum += sram::read(RESULTS + 4 * (taken % ROOM));
            taken += 1;
        }
        sram::write(TAKEN, taken);
    }
    log!("sum {} of {} pieces", sum, taken);
    rest()
}

/// Does the odd pieces.
fn main_b(_: B) -> ! {
    let mut piece = 1;
    while piece < PIECES {
        if work(piece, sram::read(TAKEN)) {
            piece += 2;
        }
    }
    rest()
}
