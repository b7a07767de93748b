//! A core's position in its dispatch loop (docs/tigon2.md, section 3): the running handler, for the trace.
//!
//! A round begins with a read of the event register and leads to a `JOFF`, which jumps into the table of handlers.
//! Handlers may read the event register too. The read that begins a round is recognised by its address: that of the last
//! read before the last `JOFF`.

use crate::map::{self, CpuTarget};
use emulator_cpu::mips::bus::Width;
use emulator_cpu::mips::exec::Core;
use emulator_cpu::mips::isa::{self, Kind};

use crate::cores::CorePrivate;
use crate::sram::Sram;

/// State of a core's dispatch loop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dispatch {
    /// A handler runs.
    inside: bool,
    /// Address of the last read of the event register.
    last_read: u32,
    /// Address of the read that begins a round.
    round: Option<u32>,
}

/// A `JOFF` that leads to a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jump {
    /// The event's bit.
    pub(crate) event: u32,
    /// Address of its handler.
    pub(crate) handler: u32,
}

impl Dispatch {
    /// Handles a read of the event register at `pc`. Returns whether it ends a handler.
    pub(crate) fn read(&mut self, pc: u32) -> bool {
        self.last_read = pc;
        self.round == Some(pc) && std::mem::take(&mut self.inside)
    }

    /// Handles a dispatch, to a handler or to the idle loop. Returns whether it ends a handler: one
    /// without the regular end.
    pub(crate) fn dispatch(&mut self, to_handler: bool) -> bool {
        self.round = Some(self.last_read);
        std::mem::replace(&mut self.inside, to_handler)
    }
}

/// Target of the `JOFF` at the core's `pc`: `None` if there is no `JOFF`, `Some(None)` if no event is due.
pub(crate) fn jump(core: &Core, private: &CorePrivate, sram: &Sram) -> Option<Option<Jump>> {
    let word = |address: u32| match map::cpu_target(private.viewer(), address) {
        CpuTarget::Scratchpad => private.scratchpad.read(address, Width::Word),
        _ => sram.word(address),
    };
    let kind = |word| isa::lookup(word).map(|row| row.kind);
    let joff = word(core.pc());
    if kind(joff) != Some(Kind::Joff) {
        return None;
    }
    let [table, index] = [21, 16].map(|shift| core.register((joff >> shift) as usize));
    let Some(event) = index.checked_sub(1) else {
        return Some(None);
    };
    let entry = table.wrapping_add(index << 3);
    let first = word(entry & !3);
    let handler = match kind(first) {
        Some(Kind::J) => isa::jump_target(first, entry),
        _ => entry,
    };
    Some(Some(Jump { event, handler }))
}
