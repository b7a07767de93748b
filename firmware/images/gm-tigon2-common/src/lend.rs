//! The lock of SEND's half, with which CPU A makes the steps of collective operations (`gm-tigon2-coll`).
//!
//! The lock is Kessels' for two, Peterson's with words of one writer each: a CPU says that it wants SEND's half, then makes the turns
//! alike (SEND's CPU) or different (RECV's), and waits while the other one wants it too and the turns are so. So neither waits for more
//! than one step of SEND's CPU or one packet of RECV's. It costs less than the chip's semaphore, which code of either CPU needs meanwhile.
use defs::gm::map::HARDWARE;
use defs::probe::Published;
use gm::Gm;
use gm::nic::{Packet, Role};
use tigon2_hal::cpu::{A, B, Cpu};
use tigon2_hal::{regs, sram};

use crate::CpuMachines;
use crate::chip::Chip;

/// Word: SEND's CPU wants SEND's half or has it. Blocks of DMA that the LANai has are here, none of this chip.
const WANTED_SEND: u32 = HARDWARE;
/// Word: RECV's CPU wants SEND's half or has it.
const WANTED_RECV: u32 = HARDWARE + 4;
/// Word: the turn of SEND's CPU, 0 or 1.
const TURN_SEND: u32 = HARDWARE + 8;
/// Word: the turn of RECV's CPU.
const TURN_RECV: u32 = HARDWARE + 12;

/// The words of the lock, which order what the CPUs do.
pub const LOCK: [Published; 1] = [Published::words("lock of SEND's half", WANTED_SEND, 4)];

/// Reads of a register between two looks at the lock.
const PAUSE: u32 = 8;

/// SDMA and SEND on CPU B, under the lock.
#[derive(Debug, Clone, Copy)]
pub enum Lender {}
/// RECV and RDMA on CPU A, which carries out requests to SEND under the lock.
#[derive(Debug, Clone, Copy)]
pub enum Receiver {}
/// CPU A while it has the lock.
#[derive(Debug, Clone, Copy)]
pub enum Borrower {}

impl CpuMachines for Lender {
    type Cpu = B;
    const ROLE: Role = Role::Sender;
    const LENDS: bool = true;

    #[inline(always)]
    fn yield_lock() {
        if sram::read(WANTED_RECV) != 0 {
            leave();
            enter();
        }
    }
}

impl CpuMachines for Receiver {
    type Cpu = A;
    const ROLE: Role = Role::Receiver;
    const LENDS: bool = true;

    #[inline(always)]
    fn lend(packet: &Packet, waits: bool) -> bool {
        sram::write(WANTED_RECV, 1);
        if waits {
            let turn = 1 - sram::read(TURN_SEND);
            sram::write(TURN_RECV, turn);
            while sram::read(WANTED_SEND) != 0 && sram::read(TURN_SEND) != turn {
                pause();
            }
        } else if sram::read(WANTED_SEND) != 0 {
            sram::write(WANTED_RECV, 0);
            return false;
        }
        Gm::attach(Chip::<Borrower>::new()).carry_out(packet);
        sram::write(WANTED_RECV, 0);
        true
    }
}

impl CpuMachines for Borrower {
    type Cpu = A;
    const ROLE: Role = Role::Borrower;
    const LENDS: bool = true;
}

/// Frees the lock before either CPU uses it.
pub fn prepare() {
    for word in [WANTED_SEND, WANTED_RECV, TURN_SEND, TURN_RECV] {
        sram::write(word, 0);
    }
}

/// Executes a step of SEND's CPU with the lock of SEND's half.
#[inline(always)]
pub fn step<R>(step: impl FnOnce() -> R) -> R {
    enter();
    let result = step();
    leave();
    result
}

/// Takes the lock on SEND's CPU.
#[inline(always)]
fn enter() {
    sram::write(WANTED_SEND, 1);
    let turn = sram::read(TURN_RECV);
    sram::write(TURN_SEND, turn);
    while sram::read(WANTED_RECV) != 0 && sram::read(TURN_RECV) == turn {
        pause();
    }
}

/// Leaves the lock on SEND's CPU.
#[inline(always)]
fn leave() {
    sram::write(WANTED_SEND, 0);
}

/// Leaves the SRAM to the other CPU for a while.
#[inline(always)]
fn pause() {
    for _ in 0..PAUSE {
        let _ = regs::read(A::EVENT);
    }
}
