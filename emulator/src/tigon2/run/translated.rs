//! Translated code of both cores, which take turns.
//!
//! Each core executes up to its next access to SRAM that is not in turn, or out of translated code. In the first case the other one goes
//! on, here: the general loop, with its bus for each core, costs several times as much as the seven or so instructions between two
//! accesses. In short loops translated code exchanges the cores by itself. The cores follow their guests when all is done.

use std::cell::Cell;
use std::mem;

use defs::tigon2::map::SRAM_LIMIT;
use translator::{Guest, Leave, SharedBus};

use super::bus::CpuBus;
use crate::cpu::mips::exec::Core;
use crate::cpu::mips::isa::Op;
use crate::cpu::mips::translation;
use crate::cpu::translation::{CoreTranslation, Usage};
use crate::tigon2::cores::CorePrivate;
use crate::tigon2::inspect::stops;
use crate::tigon2::run::idle::IdleDetector;
use crate::tigon2::scratchpad::Scratchpad;
use crate::tigon2::sram;
use crate::tigon2::sram_bus::SramBus;

/// Why a core stopped.
enum Stop {
    /// Its access must wait for the other core.
    Turn,
    /// Anything else.
    Other,
}

/// A core that executes translated code.
struct Walker<'a> {
    core: &'a mut Core,
    guest: Guest<'a>,
    scratchpad: &'a Scratchpad,
    idle: &'a mut IdleDetector,
    in_turn_until: &'a mut u64,
    usage: &'a mut Usage,
    lacks: &'a mut u64,
    /// 1 if it goes first when both are at the same tick.
    goes_first: u64,
    /// It stands before an access that must wait.
    waits: bool,
}

impl<'a> Walker<'a> {
    /// A core with its code, if there is some; it begins its instructions before `until`.
    fn new(
        core: &'a mut Core,
        private: &'a mut CorePrivate,
        (shared, lines): (&'a [Cell<u8>], &'a [Cell<u8>]),
        (goes_first, until): (u64, u64),
    ) -> Option<Self> {
        let CorePrivate {
            scratchpad,
            translation,
            idle,
            in_turn_until,
            ..
        } = private;
        let (own, changes) = scratchpad.words();
        let (code, usage, lacks) = CoreTranslation::code(translation, changes)?;
        let memory = translator::Memory {
            own,
            decoded: scratchpad.ops(),
            shared,
            lines,
        };
        let mut guest = code.guest(memory)?;
        core.start_guest(&mut guest, until);
        Some(Self {
            core,
            guest,
            scratchpad,
            idle,
            in_turn_until,
            usage,
            lacks,
            goes_first,
            waits: false,
        })
    }

    /// The core follows its guest.
    fn follow(&mut self) {
        let stretch = self.core.follow_guest(&self.guest);
        if stretch.disturbed {
            self.idle.disturb();
        }
        if let Some(before) = stretch.accessed_after {
            *self.in_turn_until = before + 1;
        }
        self.usage.cycles += stretch.cycles;
    }

    /// The core stands where its guest does, and holds the instruction whose access must wait.
    fn finish(mut self) {
        self.follow();
        let op = self.scratchpad.find_op(self.core.pc());
        if let Some(op) = op.filter(|_| self.waits) {
            self.core.hold(op);
        }
    }

    /// Executes up to an access that is not in turn, at `turn` or later, or out of translated code.
    #[inline(always)]
    fn go_up_to(&mut self, turn: u64, until: u64, bus: &mut SramBus, lines: &[Cell<u8>]) -> Stop {
        // An access that has begun to wait for the bus is carried out once the bus is free, even if the other core or a burst is due then.
        let mut admitted_until = 0;
        loop {
            let mut own = SharedBus {
                free_at: bus.free_at,
                next_burst: turn.min(bus.next_burst).max(admitted_until),
            };
            self.usage.entries += 1;
            let leave = self.core.run_guest(&mut self.guest, &mut own);
            bus.free_at = own.free_at;
            if leave != Leave::Access || self.guest.now() < admitted_until {
                if leave == Leave::Step {
                    self.note_lack();
                }
                return Stop::Other;
            }
            let now = self.guest.now();
            if now >= turn {
                return Stop::Turn;
            }
            let op = access_at(self.core, &self.guest, self.scratchpad, lines);
            let free_at = op.map(|_| bus.free_from(now).max(now));
            let Some(free_at) = free_at.filter(|&tick| tick < until) else {
                return Stop::Other;
            };
            self.follow();
            self.core.clock.stall_until(free_at);
            self.core.start_guest(&mut self.guest, until);
            admitted_until = free_at + 1;
        }
    }

    /// Executes both cores in code that exchanges them by itself, as far as there is some; tells whether the turn is that of the other
    /// one then.
    #[inline(always)]
    fn exchange(&mut self, other: &mut Self, until: u64, bus: &mut SramBus) -> bool {
        let mut shared = SharedBus {
            free_at: bus.free_at,
            next_burst: bus.next_burst,
        };
        let guests = (&mut self.guest, &mut other.guest);
        let order = (self.goes_first != 0, until);
        let turns = self.core.run_guests(other.core, guests, &mut shared, order);
        let Some(turns) = turns else {
            return false;
        };
        bus.free_at = shared.free_at;
        self.usage.entries += 1;
        other.usage.entries += u64::from(turns.waits);
        let waiter = if turns.changed { self } else { other };
        waiter.waits |= turns.waits;
        turns.changed
    }

    /// The code lacks the instruction before which the core stands, unless that carries a probe.
    #[cold]
    fn note_lack(&mut self) {
        let op = self.scratchpad.find_op(self.guest.end().pc);
        *self.lacks += u64::from(op.is_some_and(|op| !op.has_probe()));
    }
}

impl<'a, const ALONE: bool, const LOGGED: bool> CpuBus<'a, '_, ALONE, LOGGED> {
    /// Executes translated code of both cores up to `until`, as far as that goes; `core` is the one whose turn it is. What is left to
    /// do is for the general loop.
    #[inline(always)]
    pub fn take_translated_turns(&mut self, core: &mut &'a mut Core, until: u64) {
        if ALONE || LOGGED {
            return;
        }
        if !self.walks {
            self.private.translation.note_stretch();
        } else if core.clock.now < self.turns_until
            && core.pc() >= SRAM_LIMIT
            && self.other_core.pc() >= SRAM_LIMIT
        {
            self.take_turns(core, until);
        }
    }

    /// Looks whether the cores take turns, both have translated code, and nothing watches memory.
    #[inline(always)]
    pub fn prepare_turns(&mut self) {
        if ALONE || LOGGED || self.turns_until == 0 {
            return;
        }
        let watched = |private: &CorePrivate| stops::watched(&self.fabric.stops, private.index());
        let watches = [watched(self.private), watched(self.other_private)];
        self.walks = watches == [(false, false); 2]
            && is_translated(self.private)
            && is_translated(self.other_private);
    }

    #[inline(never)]
    fn take_turns(&mut self, core: &mut &'a mut Core, until: u64) {
        let late = core.clock.now >= until || self.other_core.clock.now >= until;
        if late || !may_enter(core, self.private) || !may_enter(self.other_core, self.other_private)
        {
            return;
        }
        match self.walk(core, until) {
            Some(true) => self.change_core(core, until),
            Some(false) => self.set_limit(until),
            None => self.walks = false,
        }
    }

    /// Executes both cores; tells whether the turn is that of the other one then.
    fn walk(&mut self, core: &mut Core, until: u64) -> Option<bool> {
        let (_, mut sram) = self.fabric.sram.open();
        let (shared, lines, bus) = sram.parts();
        let first = (self.goes_first, until);
        let mut walkers = (
            Walker::new(core, self.private, (shared, lines), first)?,
            Walker::new(
                self.other_core,
                self.other_private,
                (shared, lines),
                (1 - self.goes_first, until),
            )?,
        );
        let (mut walker, mut other) = (&mut walkers.0, &mut walkers.1);
        for walker in [&mut *walker, &mut *other] {
            walker.waits = walker.core.let_go();
        }
        let mut changed = false;
        loop {
            if walker.exchange(other, until, bus) {
                mem::swap(&mut walker, &mut other);
                changed = !changed;
            }
            walker.waits = false;
            if walker.guest.in_taken_slot() {
                break;
            }
            let turn = other.guest.now() + walker.goes_first;
            match walker.go_up_to(turn, until, bus, lines) {
                Stop::Turn if other.guest.now() < until && !other.guest.in_taken_slot() => {
                    walker.waits = true;
                    mem::swap(&mut walker, &mut other);
                    changed = !changed;
                }
                Stop::Turn => {
                    walker.waits = true;
                    break;
                }
                Stop::Other => break,
            }
        }
        walkers.0.finish();
        walkers.1.finish();
        Some(changed)
    }
}

/// Whether the core has translated code.
#[inline(always)]
fn is_translated(private: &mut CorePrivate) -> bool {
    let (_, changes) = private.scratchpad.words();
    private.translation.code(changes).is_some()
}

/// Whether translated code may execute the core from where it stands.
fn may_enter(core: &Core, private: &CorePrivate) -> bool {
    let op = private.scratchpad.find_op(core.pc());
    let known = op.is_some_and(|op| !op.has_probe());
    known && !private.observed() && !private.ahead.is_active() && core.may_enter(op)
}

/// The load from SRAM or store to it before which the guest stands. `None` if it is anything else, comes in a delay slot, or writes to
/// code, which concerns others.
fn access_at(
    core: &Core,
    guest: &Guest<'_>,
    scratchpad: &Scratchpad,
    lines: &[Cell<u8>],
) -> Option<Op> {
    let op = scratchpad.find_op(guest.end().pc)?;
    let operation = translation::instruction(op)?.operation;
    let bytes = operation.access_bytes();
    let address = core.address_of(op);
    let fits = bytes > 0
        && address < SRAM_LIMIT
        && address.is_multiple_of(bytes)
        && !guest.in_taken_slot();
    let is_data = || sram::line_of(lines, address).is_some_and(|line| line.get() == 0);
    (fits && (!operation.stores() || is_data())).then_some(op)
}
