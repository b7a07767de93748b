//! Registers of a board with another number of CPUs than the chip has (`tigon-n`), beyond those of CPU A and CPU B.
//!
//! The register file of the chip has room for 64 words at most (0x300..0x400), and a CPU has 32 general registers alone. So each further CPU has a
//! bank of its own from [`FIRST_BANK`] on. The offsets `REGISTER_BYTES..BANKS` stay free, since the host sees SRAM there: the offset of a
//! register is that in the host's window, where nothing of the chip answers at [`BANKS`] and behind it. The second half of a bank has
//! the registers of CPU A from [`CPU_PRIVATE`](r::CPU_PRIVATE) on, in their order.

use super::regs as r;

/// Most CPUs of a board.
pub const MOST_CPUS: usize = 8;
/// CPUs of the chip, whose registers are in the register file.
pub const CHIP_CPUS: usize = 2;

/// Most semaphores of a board.
pub const MOST_SEMAPHORES: usize = 8;

/// Start of these registers.
pub const BANKS: u32 = 0x1000;
/// Number of CPUs of the board; read only.
pub const CPU_COUNT: u32 = BANKS;
/// Index of the CPU that reads; read only. Others than CPUs read all ones.
pub const CPU_NUMBER: u32 = BANKS + 4;
/// Number of semaphores of the board; read only.
pub const SEMAPHORE_COUNT: u32 = BANKS + 8;
/// The bank of CPU C. Those of the others follow.
pub const FIRST_BANK: u32 = BANKS + CHIP_CPUS as u32 * BANK_BYTES;
/// Bytes of a bank.
pub const BANK_BYTES: u32 = 0x100;
/// End of all banks.
pub const BANKS_END: u32 = FIRST_BANK + (MOST_CPUS - CHIP_CPUS) as u32 * BANK_BYTES;

/// In a bank: the CPU's side of the semaphore.
pub const SEMAPHORE: u32 = 0x00;
/// In a bank: the timer reference of the CPU.
pub const TIMER_REFERENCE: u32 = 0x04;
/// In a bank: the event register of the CPU.
pub const EVENT: u32 = 0x08;
/// In a bank: the mailbox event register of the CPU, write one to clear.
pub const MAILBOX_EVENT: u32 = 0x0C;
/// In a bank, that of CPU A and CPU B too: the CPU's side of the second semaphore. Those of further ones follow.
pub const FURTHER_SEMAPHORES: u32 = 0x10;
const FURTHER_SEMAPHORES_END: u32 = FURTHER_SEMAPHORES + 4 * (MOST_SEMAPHORES as u32 - 1);
/// In a bank: the first register that the CPU has as CPU A has it.
pub const PRIVATE: u32 = r::CPU_PRIVATE % BANK_BYTES;

/// Start of the bank of a CPU behind CPU B, by its index.
#[must_use]
pub const fn bank(cpu: usize) -> u32 {
    BANKS + BANK_BYTES * cpu as u32
}

/// The index of the CPU in whose bank an offset is, and the offset in it.
#[must_use]
pub const fn in_bank(offset: u32) -> Option<(usize, u32)> {
    match offset {
        FIRST_BANK..BANKS_END => {
            let at = offset - BANKS;
            Some(((at / BANK_BYTES) as usize, at % BANK_BYTES))
        }
        _ => None,
    }
}

/// Amount that is added to an offset of CPU A (`CPU_PRIVATE..CPU_PRIVATE_END`) for a CPU.
#[must_use]
pub const fn private_of(cpu: usize) -> u32 {
    match cpu {
        0 => 0,
        1 => r::CPU_B,
        _ => bank(cpu) + PRIVATE - r::CPU_PRIVATE,
    }
}

/// A CPU's side of the semaphore.
#[must_use]
pub const fn semaphore(cpu: usize) -> u32 {
    match cpu {
        0 => r::SEMAPHORE_A,
        1 => r::SEMAPHORE_B,
        _ => bank(cpu) + SEMAPHORE,
    }
}

/// A CPU's side of a semaphore by its number, from 0 on: that of the chip is the first one.
#[must_use]
pub const fn semaphore_of(number: usize, cpu: usize) -> u32 {
    match number {
        0 => semaphore(cpu),
        _ => bank(cpu) + FURTHER_SEMAPHORES + 4 * (number as u32 - 1),
    }
}

/// The number of the semaphore of which a side is at an offset, and the index of the side's CPU.
#[must_use]
pub const fn side_at(offset: u32) -> Option<(usize, usize)> {
    match offset {
        r::SEMAPHORE_A => Some((0, 0)),
        r::SEMAPHORE_B => Some((0, 1)),
        BANKS..BANKS_END => {
            let (cpu, at) = ((offset - BANKS) / BANK_BYTES, (offset - BANKS) % BANK_BYTES);
            match at {
                SEMAPHORE if cpu >= CHIP_CPUS as u32 => Some((0, cpu as usize)),
                FURTHER_SEMAPHORES..FURTHER_SEMAPHORES_END => {
                    Some((1 + ((at - FURTHER_SEMAPHORES) / 4) as usize, cpu as usize))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The mailbox event register of a CPU.
#[must_use]
pub const fn mailbox_event(cpu: usize) -> u32 {
    match cpu {
        0 => r::MAILBOX_EVENT_A,
        1 => r::MAILBOX_EVENT_B,
        _ => bank(cpu) + MAILBOX_EVENT,
    }
}

/// The event register of a CPU.
#[must_use]
pub const fn event_register(cpu: usize) -> u32 {
    match cpu {
        0 => r::EVENT_A,
        1 => r::EVENT_B,
        _ => bank(cpu) + EVENT,
    }
}

/// The timer reference of a CPU.
#[must_use]
pub const fn timer_reference(cpu: usize) -> u32 {
    match cpu {
        0 => r::TIMER_REFERENCE_A,
        1 => r::TIMER_REFERENCE_B,
        _ => bank(cpu) + TIMER_REFERENCE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tigon2::map::{REGISTER_BYTES, WINDOW_USED_BYTES};

    #[test]
    fn registers_of_the_cpus_do_not_overlap() {
        assert!(BANKS >= REGISTER_BYTES.max(WINDOW_USED_BYTES));
        let taken = || {
            let of_cpu = |cpu| {
                let shared = [semaphore, mailbox_event, event_register, timer_reference];
                let shared = shared.map(|register| register(cpu));
                let private = (r::CPU_PRIVATE..r::CPU_PRIVATE_END).step_by(4);
                let private = private.map(move |offset| offset + private_of(cpu));
                let sides = (1..MOST_SEMAPHORES).map(move |number| semaphore_of(number, cpu));
                shared.into_iter().chain(private).chain(sides)
            };
            let cpus = (0..MOST_CPUS).flat_map(of_cpu);
            [CPU_COUNT, CPU_NUMBER, SEMAPHORE_COUNT]
                .into_iter()
                .chain(cpus)
        };
        for offset in taken() {
            assert!(offset < BANKS_END);
            assert_eq!(taken().filter(|other| *other == offset).count(), 1);
        }
    }

    #[test]
    fn a_side_leads_back_to_its_semaphore_and_cpu() {
        for number in 0..MOST_SEMAPHORES {
            for cpu in 0..MOST_CPUS {
                assert_eq!(side_at(semaphore_of(number, cpu)), Some((number, cpu)));
            }
        }
        for offset in [CPU_COUNT, CPU_NUMBER, SEMAPHORE_COUNT, event_register(2)] {
            assert_eq!(side_at(offset), None);
        }
        for offset in [BANKS + BANK_BYTES, private_of(2) + r::CPU_STATE, BANKS_END] {
            assert_eq!(side_at(offset), None);
        }
    }

    #[test]
    fn a_bank_leads_back_to_its_cpu() {
        for cpu in CHIP_CPUS..MOST_CPUS {
            assert_eq!(in_bank(event_register(cpu)), Some((cpu, EVENT)));
            let last = r::CPU_PRIVATE_END - 4 + private_of(cpu);
            assert_eq!(in_bank(last), Some((cpu, BANK_BYTES - 4)));
        }
        for offset in [0, r::EVENT_B, CPU_NUMBER, FIRST_BANK - 4, BANKS_END] {
            assert_eq!(in_bank(offset), None);
        }
    }
}
