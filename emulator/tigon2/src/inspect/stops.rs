//! Breakpoints and watchpoints on instructions and memory of a board. Hits are recorded as events
//! ([`Details::STOPS`]) while an observer requests them, without other effects.

use std::collections::BTreeSet;

use defs::tigon2::map::SRAM_LIMIT;

use crate::fabric::{BoardContext, Fabric};
use emulator_base::initiator::{Actor, Initiator};
use emulator_board::{CpuId, Stops, Watchpoint};
use emulator_observe::event::{Details, TraceKind};

/// Whether a CPU has a breakpoint there; optimised for CPUs without breakpoints.
#[inline(always)]
pub(crate) fn breaks_at(stops: &Stops, cpu: usize, pc: u32) -> bool {
    let breakpoints = stops.breakpoints(CpuId::new(cpu));
    !breakpoints.is_empty() && breakpoints.contains(&pc)
}

/// Whether writes to SRAM are watched, and whether those to a CPU's scratchpad are.
#[inline(always)]
pub(crate) fn watched(stops: &Stops, cpu: usize) -> (bool, bool) {
    if stops.watches.is_empty() {
        return (false, false);
    }
    let any = |is: &dyn Fn(&Watchpoint) -> bool| stops.watches.iter().any(is);
    let in_sram = |watch: &Watchpoint| watch.address < SRAM_LIMIT;
    let own = any(&|watch| !in_sram(watch) && watch.cpu.index() == cpu);
    (any(&in_sram), own)
}

impl Fabric {
    /// Whether any watchpoint is set.
    #[inline(always)]
    pub(crate) const fn watches_memory(&self) -> bool {
        !self.stops.watches.is_empty()
    }

    /// Reports a write by a device or the host, before it happens.
    #[inline(always)]
    pub(crate) fn watch(&self, address: u32, length: u32, who: Initiator, ctx: &mut BoardContext) {
        if self.watches_memory() && length > 0 {
            self.watch_by(address, length, Actor::from(who), None, ctx);
        }
    }

    /// Reports a write at `ctx.now`, before it happens; `cpu` is the owner of a written scratchpad.
    // Only with a watchpoint, and so kept out of the paths of all writes.
    #[cold]
    #[inline(never)]
    pub(crate) fn watch_by(
        &self,
        address: u32,
        length: u32,
        who: Actor,
        cpu: Option<usize>,
        ctx: &mut BoardContext,
    ) {
        let mask = self.sram.size_bytes() as u32 - 1;
        let place = |address: u32| match address < SRAM_LIMIT {
            true => (true, address & mask),
            false => (false, address),
        };
        let (in_sram, first) = place(address);
        // Start of the write in the alias of the watchpoint: SRAM repeats.
        let as_watched = |watch: &Watchpoint| {
            let (watched_sram, watched) = place(watch.address);
            let meets = in_sram == watched_sram
                && (in_sram || cpu == Some(watch.cpu.index()))
                && first < watched.saturating_add(watch.length)
                && watched < first.saturating_add(length);
            let offset = first.wrapping_sub(watched);
            meets.then_some(watch.address.wrapping_add(offset))
        };
        if !ctx.trace.wants(Details::STOPS) {
            return;
        }
        let met: BTreeSet<u32> = self.stops.watches.iter().filter_map(as_watched).collect();
        for address in met {
            let kind = TraceKind::MemoryWrite { address, length };
            ctx.trace
                .record_detail(ctx.now, who.initiator, who.pc, kind);
        }
    }
}
