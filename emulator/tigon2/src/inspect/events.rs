//! Causes of events (docs/tigon2.md, section 3).

use defs::tigon2::banks::{mailbox_event, timer_reference};
use defs::tigon2::event::{self, HARDWARE_MASK};
use defs::tigon2::map::SCRATCHPAD_BASE;
use defs::tigon2::regs;

use crate::board::Tigon2;
use emulator_base::time::SimTime;
use emulator_board::{CpuId, Inspect};
use emulator_cpu::mips::disasm::REGISTER_NAMES;
use emulator_cpu::mips::isa::{self, Kind};

/// Most instructions between a `PRI` and the `JOFF` that uses its result.
const DISPATCH_STEPS: u32 = 8;

impl Tigon2 {
    /// The cause of a set bit in the event register of a CPU.
    pub(super) fn cause_of_event(&self, cpu: usize, bit: u32, now: SimTime) -> String {
        let read = |offset| self.register(offset, now);
        match bit {
            event::TIMER => {
                let (count, reference) = (read(regs::TIMER), read(timer_reference(cpu)));
                format!("the timer, at {count} us, has passed the reference {reference}")
            }
            event::MAILBOX => {
                let mailboxes = read(mailbox_event(cpu));
                format!("the host has written mailboxes {}", numbers(mailboxes))
            }
            event::RX_COMPLETE => "the MAC: received frames wait".into(),
            event::READ_DMA_DONE => "the DMA assist: descriptors of the read ring are done".into(),
            event::WRITE_DMA_DONE => {
                "the DMA assist: descriptors of the write ring are done".into()
            }
            event::READ_DMA_ATTENTION => "the DMA read channel: an error".into(),
            event::WRITE_DMA_ATTENTION => "the DMA write channel: an error".into(),
            event::MAC_RX_ATTENTION => "the receive side of the MAC: an attention bit".into(),
            event::MAC_TX_ATTENTION => "the transmit side of the MAC: an attention bit".into(),
            _ if HARDWARE_MASK >> bit & 1 != 0 => "hardware".into(),
            _ => "software: a write to this register".into(),
        }
    }

    /// The dispatch mask of a CPU: the second operand of the `PRI` in its dispatch loop, whose result a `JOFF` behind it uses. The loop is
    /// looked for in the CPU's scratchpad first.
    pub(super) fn dispatch_mask(&self, cpu: CpuId, now: SimTime) -> Option<(String, u32)> {
        let registers = self.unit(cpu)?.core.registers();
        let word = |at| self.peek(cpu, at, now);
        let of = |at: u32| {
            let pri = word(at).filter(|&word| kind(word) == Some(Kind::Pri))?;
            let [_, mask, result] = [21, 16, 11].map(|place| pri >> place & 31);
            let uses = |word: u32| kind(word) == Some(Kind::Joff) && word >> 16 & 31 == result;
            let mut behind = (1..=DISPATCH_STEPS).filter_map(|step| word(at + 4 * step));
            (result > 0 && behind.any(uses)).then_some(mask as usize)
        };
        let places = [SCRATCHPAD_BASE, 0].into_iter().flat_map(|start| {
            let end = self
                .area(cpu, start)
                .map_or(start, |area| area.installed_end);
            (start..end).step_by(4)
        });
        let mask = { places }.find_map(of)?;
        Some((format!("${}", REGISTER_NAMES[mask]), registers[mask]))
    }

    /// The mailbox event register of a CPU.
    pub(super) fn mailbox_note(&self, cpu: usize, now: SimTime) -> String {
        match self.register(mailbox_event(cpu), now) {
            0 => "mailbox event register: 00000000, no mailbox was written".into(),
            mailboxes => {
                let numbers = numbers(mailboxes);
                format!("mailbox event register: {mailboxes:08x}, mailboxes {numbers}")
            }
        }
    }
}

fn kind(word: u32) -> Option<Kind> {
    isa::lookup(word).map(|row| row.kind)
}

fn numbers(bits: u32) -> String {
    let set = (0..u32::BITS).filter(|bit| bits >> bit & 1 != 0);
    let numbers: Vec<_> = set.map(|bit| bit.to_string()).collect();
    numbers.join(", ")
}
