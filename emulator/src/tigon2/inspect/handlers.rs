//! Where a core is in its dispatch loop (docs/tigon2.md, section 3): which handler runs, for the trace.
//!
//! A round begins with a read of the event register and leads to a `JOFF`, which jumps into the table of handlers.
//! Handlers may read the event register too. The read that begins a round is the one that stands where the last
//! read before the last `JOFF` stood.

use crate::cpu::mips::bus::Width;
use crate::cpu::mips::exec::Core;
use crate::cpu::mips::isa::{self, Kind};
use crate::tigon2::map::{self, Place};

use crate::tigon2::cores::CorePrivate;
use crate::tigon2::sram::Sram;

/// What is known of a core's dispatch loop.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tigon2) struct Dispatch {
    /// A handler runs.
    inside: bool,
    /// Where the event register was last read.
    last_read: u32,
    /// Where the read stands that begins a round.
    round: Option<u32>,
}

/// A `JOFF` that leads to a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tigon2) struct Jump {
    /// The event's bit.
    pub(in crate::tigon2) event: u32,
    /// Where its handler begins.
    pub(in crate::tigon2) handler: u32,
}

impl Dispatch {
    /// The core reads its event register at `pc`. Tells whether a handler is over with that.
    pub(in crate::tigon2) fn read(&mut self, pc: u32) -> bool {
        self.last_read = pc;
        self.round == Some(pc) && std::mem::take(&mut self.inside)
    }

    /// The core dispatches, to a handler or to its idle loop. Tells whether a handler is over with that: one
    /// that ended in a way of its own.
    pub(in crate::tigon2) fn dispatch(&mut self, to_handler: bool) -> bool {
        self.round = Some(self.last_read);
        std::mem::replace(&mut self.inside, to_handler)
    }
}

/// Where the `JOFF` at which the core stands leads: `None` if it stands at none, `Some(None)` if no event is due.
pub(in crate::tigon2) fn jump(
    core: &Core,
    private: &CorePrivate,
    sram: &Sram,
) -> Option<Option<Jump>> {
    let word = |address: u32| match map::place(private.who, address) {
        Place::Scratchpad => private.scratchpad.read(address, Width::Word),
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
