//! Settings that a CPU keeps for itself, and the loop of all CPUs.

use defs::ethernet;
use tigon2_hal::cpu::{Any, Executing};
use tigon2_hal::{any, event, regs, scratchpad_n, sram, wait_enter, wait_exit};

use crate::{receive, send};

/// Settings of the host, and the CPU's sides of semaphores.
pub struct Cpu {
    /// Lock of the claims of sending.
    pub send_lock: u32,
    /// Lock of the claims of receiving.
    pub receive_lock: u32,
    /// Lock of the order of sending, without bit instructions.
    pub send_order: u32,
    /// Lock of the order of receiving.
    pub receive_order: u32,
    /// The board has bit instructions.
    pub bits: bool,
    /// Most frames of a piece of work.
    pub batch: u32,
    /// The host's send ring.
    pub send_ring: u32,
    /// The host's receive ring.
    pub receive_ring: u32,
    /// The host's return ring.
    pub return_ring: u32,
    /// The host's status.
    pub status: u32,
}

/// Result of a look for work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A piece, or another CPU that claims one.
    Something,
    /// No work.
    Nothing,
}

impl Cpu {
    /// Reads the settings, on the executing CPU.
    #[cold]
    pub fn new() -> Self {
        let options = sram::read(ethernet::OPTIONS);
        let batch = options & ethernet::OPTION_BATCH;
        Self {
            send_lock: any::semaphore_of(0),
            receive_lock: any::semaphore_of(1),
            send_order: any::semaphore_of(2),
            receive_order: any::semaphore_of(3),
            bits: options & ethernet::OPTION_BITS != 0,
            batch: batch.clamp(1, ethernet::MOST_BATCH),
            send_ring: sram::read(ethernet::SEND_RING),
            receive_ring: sram::read(ethernet::RECEIVE_RING),
            return_ring: sram::read(ethernet::RETURN_RING),
            status: sram::read(ethernet::STATUS),
        }
    }
}

scratchpad_n! {
    /// Works for ever. Receiving goes first: who sends can wait.
    pub fn run(cpu: &Cpu) -> ! {
        let event = any::event_register();
        let mail = Any::mailbox_event();
        loop {
            if look(cpu) == Found::Something {
                continue;
            }
            // What comes after this ends the wait.
            regs::write(mail, u32::MAX);
            let [arrived, written, read, sent] = [
                regs::read(regs::RX_DESCRIPTOR_PRODUCER),
                regs::read(regs::WRITE_RING_REFERENCE),
                regs::read(regs::READ_RING_REFERENCE),
                regs::read(regs::TX_DESCRIPTOR_REFERENCE),
            ];
            if look(cpu) == Found::Something {
                continue;
            }
            wait_enter!("work");
            while regs::read(event) & 1 << event::MAILBOX == 0
                && regs::read(regs::RX_DESCRIPTOR_PRODUCER) == arrived
                && regs::read(regs::WRITE_RING_REFERENCE) == written
                && regs::read(regs::READ_RING_REFERENCE) == read
                && regs::read(regs::TX_DESCRIPTOR_REFERENCE) == sent
            {}
            wait_exit!("work");
        }
    }

    fn look(cpu: &Cpu) -> Found {
        let received = receive::serve(cpu);
        let sent = send::serve(cpu);
        if sent == Found::Nothing { received } else { sent }
    }
}
