//! Idle loops that follow the timer and come round periodically, as a poll once in 5 us: whole periods are skipped.
//!
//! Such a loop finds other values each time, since it reads the timer, counts, or moves its alarm. [`find`] executes
//! it on a copy of the core, with the costs of all instructions, until the loop comes back to the same instruction a
//! whole number of microseconds later. The differences are what changes in each period, if the loop does the same each
//! time: an execution of the next period with linear values proves that ([`LinearCore`]). What follows is certain until
//! another actor changes what the loop reads.
//!
//! A loop is allowed registers, its scratchpad, its alarm and reads of chip registers; any other access ends the
//! search. A proof is used at once, for the state that it starts from, and not kept: so no later change can make it
//! wrong.

use defs::tigon2::map::SRAM_LIMIT;
use defs::tigon2::regs;

use crate::cores::CorePrivate;
use crate::fabric::Fabric;
use crate::map::{self, CpuTarget};
use crate::run::idle::{IdleDetector, Rest, Round, stands_still};
use emulator_base::time::SimTime;
use emulator_board::{CpuId, ProbeTable};
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::mips::bus::Width;
use emulator_cpu::mips::exec::Core;
use emulator_cpu::mips::isa::Op;
use emulator_cpu::mips::linear::{Linear, LinearBus, LinearCore};

/// Most instructions that a search executes: bounds the time that a loop without a period loses.
const MOST_STEPS: u32 = 1 << 16;
/// Longest period, in microseconds.
const LONGEST_US: u64 = 500;
/// Most words of the scratchpad that a period may write: each access of a trial searches a list of them.
const MOST_WORDS: usize = 32;
/// Picoseconds of a tick of the timer.
const PS_PER_TIMER_TICK: u64 = 1_000_000;
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// Two periods of a loop, from which all others follow.
#[derive(Debug)]
pub(crate) struct Period {
    /// The length of one period.
    pub round: Round,
    /// Earliest time at which the loop changes by itself: its alarm comes at a fixed time.
    pub until: SimTime,
    /// The loop reads registers that others change, besides its event register.
    pub watches: bool,
    /// The alarm moves.
    pub moves_alarm: bool,
    first: EndState,
    second: EndState,
}

/// The state at the end of a period.
#[derive(Debug)]
struct EndState {
    core: Core,
    idle: IdleDetector,
    words: Vec<(u32, Linear)>,
    reference: u32,
}

impl Period {
    /// Executes `times` periods at once, two at least; `core` is the one for which the period was found.
    pub fn repeat(
        &self,
        times: u64,
        core: &mut Core,
        private: &mut CorePrivate,
        fabric: &mut Fabric,
    ) {
        let Round {
            ticks,
            cycles,
            instructions,
        } = self.round;
        core.skip(times * instructions, times * cycles, times * ticks);
        let further = (times - 2) as u32;
        let moved = |first: u32, second: u32| {
            let slope = second.wrapping_sub(first);
            second.wrapping_add(slope.wrapping_mul(further))
        };
        for index in 0..32 {
            let (first, second) = (&self.first.core, &self.second.core);
            core.set_register(index, moved(first.register(index), second.register(index)));
        }
        for &(address, Linear { value, slope }) in &self.second.words {
            let value = value.wrapping_add(slope.wrapping_mul(further));
            private.scratchpad.write(address, Width::Word, value);
        }
        if self.moves_alarm {
            let reference = moved(self.first.reference, self.second.reference);
            fabric.timer.set_reference(private.index(), reference);
        }
        private
            .idle
            .repeat(&self.first.idle, &self.second.idle, times - 2);
    }

    /// The part of the period that the idle detector keeps.
    pub fn rest(&self) -> Rest {
        Rest {
            ticks: self.round.ticks,
            until: self.until,
            watches: self.watches,
        }
    }
}

/// A bus that executes a core on trial: it keeps a copy of the state that the loop changes, which is words of the scratchpad, the alarm and
/// the idle rounds.
#[derive(Clone)]
struct PeriodProbe<'a> {
    private: &'a CorePrivate,
    fabric: &'a Fabric,
    probes: &'a ProbeTable,
    /// Timer ticks of a period; 0 while it is not known.
    shift: u32,
    /// Words that were written.
    words: Vec<(u32, Linear)>,
    reference: Linear,
    writes_reference: bool,
    watches: bool,
    idle: IdleDetector,
}

impl<'a> PeriodProbe<'a> {
    /// A copy of the present state.
    fn new(private: &'a CorePrivate, fabric: &'a Fabric, probes: &'a ProbeTable) -> Self {
        let reference = fabric.timer.reference(private.index());
        Self {
            private,
            fabric,
            probes,
            shift: 0,
            words: Vec::new(),
            reference: Linear::constant(reference),
            writes_reference: false,
            watches: false,
            idle: private.idle.clone(),
        }
    }

    /// The copy for the next period: what was changed in this one changes by the same amounts.
    fn next(&self, shift: u32) -> Self {
        let mut next = self.clone();
        next.shift = shift;
        for (address, word) in &mut next.words {
            let before = self.private.scratchpad.read(*address, Width::Word);
            word.slope = word.value.wrapping_sub(before);
        }
        let before = self.fabric.timer.reference(self.private.index());
        next.reference.slope = self.reference.value.wrapping_sub(before);
        next
    }

    /// Whether a period that began with the state `before` has changed everything by the expected amounts.
    fn follows(&self, before: &Self) -> bool {
        let alarm_moves = self.reference.slope == self.shift;
        let alarm_stands = self.reference.slope == 0 && !self.writes_reference;
        let word = |&(address, now): &(u32, Linear)| {
            before.word(address).is_some_and(|word| word.next() == now)
        };
        (alarm_moves || alarm_stands)
            && self.reference == before.reference.next()
            && self.words.iter().all(word)
    }

    fn end(self, core: Core) -> EndState {
        EndState {
            core,
            idle: self.idle,
            words: self.words,
            reference: self.reference.value,
        }
    }

    fn time(&self, core: &Core) -> SimTime {
        self.fabric.ticks.time_of(core.clock.now)
    }

    /// The event register: its timer bit as the alarm of the copy has it.
    fn event(&self, core: &Core) -> u32 {
        let now = self.fabric.timer.read(self.time(core));
        let reached = now.wrapping_sub(self.reference.value) < 1 << 31;
        let timer = u32::from(reached) << defs::tigon2::event::TIMER;
        let cpu = self.private.index();
        let mailbox = self.fabric.mailbox.read(cpu);
        self.fabric.events.read(cpu, mailbox, timer)
    }

    /// A read of the event register. Idle rounds are skipped as the board does it.
    fn poll(&mut self, core: &mut Core) -> Option<u32> {
        let value = self.event(core);
        if !self.idle.poll(core, value) {
            return Some(value);
        }
        if self.shift != 0 && self.reference.slope != self.shift {
            return None;
        }
        let now = self.time(core);
        let change = self.fabric.timer.next_change_for(self.reference.value, now);
        let change = self.fabric.ticks.first_at(change);
        self.idle.skip_rounds(core, change, u64::MAX);
        let value = self.event(core);
        self.idle.poll(core, value);
        Some(value)
    }

    fn load_register(&mut self, core: &mut Core, offset: u32) -> Option<Linear> {
        if offset == self.private.event_register {
            return self.poll(core).map(Linear::constant);
        }
        let value = if offset == self.private.alarm {
            self.reference
        } else if offset == regs::TIMER {
            Linear {
                value: self.fabric.timer.read(self.time(core)),
                slope: self.shift,
            }
        } else if stands_still(offset) && !is_alarm(offset) {
            self.watches = true;
            Linear::constant(self.fabric.read_register(offset, self.time(core)))
        } else {
            return None;
        };
        self.idle.watch(offset, value.value);
        Some(value)
    }

    fn word(&self, address: u32) -> Option<Linear> {
        let written = self.words.iter().find(|(at, _)| *at == address);
        if let Some((_, value)) = written {
            return Some(*value);
        }
        let scratchpad = &self.private.scratchpad;
        scratchpad.get(address, Width::Word).map(Linear::constant)
    }

    fn set_word(&mut self, address: u32, value: Linear) -> Option<()> {
        self.word(address)?;
        let room = self.words.len() < MOST_WORDS;
        match self.words.iter_mut().find(|(at, _)| *at == address) {
            Some((_, word)) => *word = value,
            None if room => self.words.push((address, value)),
            None => return None,
        }
        Some(())
    }

    /// A store of a part of a word.
    fn set_part(&mut self, address: u32, width: Width, value: Linear) -> Option<()> {
        let old = self.word(address & !3)?;
        if old.slope != 0 || value.slope != 0 {
            return None;
        }
        let (mask, shift) = (width.mask(), width.shift(address));
        let word = old.value & !(mask << shift) | (value.value & mask) << shift;
        self.set_word(address & !3, Linear::constant(word))
    }
}

impl LinearBus for PeriodProbe<'_> {
    fn fetch(&mut self, pc: u32) -> Option<Op> {
        if !self.probes.at(pc).is_empty() {
            return None;
        }
        let own = self.private.scratchpad.range();
        let op = match pc {
            ..SRAM_LIMIT => {
                let held = self.private.cache.holds(pc);
                held.then(|| self.fabric.sram.op(pc))?
            }
            _ if own.contains(&pc) => {
                let code = self.probes.code(CpuId::new(self.private.index()));
                if !code.allows(pc)
                    || code.doubts(pc, self.private.scratchpad.read(pc, Width::Word))
                {
                    return None;
                }
                // A loop that executes what it has written has no proof: each period is executed twice, and the second
                // time finds here what the first one has written.
                let written = self.words.iter().any(|(at, _)| *at == pc);
                (!written).then(|| self.private.scratchpad.glance(pc))?
            }
            _ => return None,
        };
        Some(op.without_probe())
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Option<Linear> {
        let timing = &self.fabric.timing;
        let (word, cycles) = match map::cpu_target(self.private.viewer(), address) {
            CpuTarget::Scratchpad => (self.word(address & !3)?, timing.scratchpad_load_cycles),
            CpuTarget::Register(offset) if width == Width::Word => {
                let cycles = timing.register_load_cycles;
                (self.load_register(core, offset)?, cycles)
            }
            _ => return None,
        };
        core.clock.charge(u64::from(cycles));
        if width == Width::Word {
            return Some(word);
        }
        let part = word.value >> width.shift(address) & width.mask();
        (word.slope == 0).then(|| Linear::constant(part))
    }

    fn store(&mut self, core: &mut Core, address: u32, width: Width, value: Linear) -> Option<()> {
        let timing = &self.fabric.timing;
        let alarm = self.private.alarm;
        let cycles = match map::cpu_target(self.private.viewer(), address) {
            CpuTarget::Scratchpad => {
                let cycles = timing.scratchpad_store_cycles;
                match width {
                    Width::Word => self.set_word(address, value)?,
                    _ => self.set_part(address, width, value)?,
                }
                cycles
            }
            CpuTarget::Register(offset) if width == Width::Word && offset == alarm => {
                let moves = value.slope == self.shift;
                let cycles = timing.register_store_cycles;
                self.reference = value;
                self.writes_reference = true;
                moves.then_some(cycles)?
            }
            _ => return None,
        };
        self.idle.disturb();
        core.clock.charge(u64::from(cycles));
        Some(())
    }
}

/// Whether the register at an offset is the alarm of a CPU of the chip.
const fn is_alarm(offset: u32) -> bool {
    matches!(offset, regs::TIMER_REFERENCE_A | regs::TIMER_REFERENCE_B)
}

/// Ticks of the core's clock in one of the timer, if that is a whole number.
fn timer_tick(fabric: &Fabric) -> Option<u64> {
    let per_second = fabric.timing.core_clock_hz * TICKS_PER_CYCLE;
    let product = per_second.checked_mul(PS_PER_TIMER_TICK)?;
    (product % PS_PER_SECOND == 0).then_some(product / PS_PER_SECOND)
}

/// The period in which the core comes back to the instruction before which it stands; `None` if none is found. Nothing
/// is changed.
pub(crate) fn find(
    core: &Core,
    private: &CorePrivate,
    fabric: &Fabric,
    probes: &ProbeTable,
) -> Option<Period> {
    let tick = timer_tick(fabric)?;
    if core.clock.ticks_per_cycle != TICKS_PER_CYCLE {
        return None;
    }
    let mut probe = PeriodProbe::new(private, fabric, probes);
    let mut copy = LinearCore::new(core, &[0; 32]);
    let mut steps = MOST_STEPS;
    loop {
        steps = steps.checked_sub(1)?;
        copy.step(&mut probe)?;
        let there = &copy.core;
        let ticks = there.clock.now - core.clock.now;
        if ticks > LONGEST_US * tick {
            return None;
        }
        let back = (there.pc(), there.next_pc()) == (core.pc(), core.next_pc());
        if back
            && ticks.is_multiple_of(tick)
            && let Some(period) = prove(core, there, &probe, (ticks / tick) as u32, &mut steps)
        {
            return Some(period);
        }
    }
}

/// The period from `core` to `first`, if the next one changes everything by the same amounts, and so each further one.
fn prove(
    core: &Core,
    first: &Core,
    probe: &PeriodProbe<'_>,
    shift: u32,
    steps: &mut u32,
) -> Option<Period> {
    let span = |from: &Core, to: &Core| Round {
        ticks: to.clock.now - from.clock.now,
        cycles: to.clock.cycles - from.clock.cycles,
        instructions: to.instructions() - from.instructions(),
    };
    let round = span(core, first);
    let slopes =
        std::array::from_fn(|index| first.register(index).wrapping_sub(core.register(index)));
    let begin = probe.next(shift);
    let (mut next, mut copy) = (begin.clone(), LinearCore::new(first, &slopes));
    while copy.core.instructions() - first.instructions() < round.instructions {
        *steps = steps.checked_sub(1)?;
        copy.step(&mut next)?;
    }
    let second = &copy.core;
    let register = |index: usize| {
        let begin = Linear {
            value: first.register(index),
            slope: slopes[index],
        };
        copy.register(index) == begin.next()
    };
    let same = (second.pc(), second.next_pc()) == (first.pc(), first.next_pc())
        && span(first, second) == round
        && (0..32).all(register)
        && next.follows(&begin)
        && next.idle.is_like(&probe.idle);
    if !same {
        return None;
    }
    let moves_alarm = next.reference.slope != 0;
    let cpu = probe.private.index();
    let until = match moves_alarm {
        true => SimTime::MAX,
        false => probe.fabric.timer.next_change(cpu, probe.time(core)),
    };
    Some(Period {
        round,
        until,
        watches: next.watches,
        moves_alarm,
        second: next.end(copy.core),
        first: probe.clone().end(first.clone()),
    })
}
