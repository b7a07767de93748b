//! Loops that follow the timer and come round periodically, as a poll once in 5 us: they are skipped by whole
//! periods, exactly.
//!
//! Such a loop finds other values each time, since it reads the timer, counts, or moves its alarm. When a core has
//! read its event register several times without touching anything that others see, [`find`] carries on from
//! there on a copy, with the costs of all instructions, until the loop comes back to the same read a whole number of
//! microseconds later. What has changed by then is what changes in each period, if the loop does the same each
//! time: a second execution with linear values proves that ([`LinearCore`]). What follows is certain until
//! somebody else changes what the loop reads.

use defs::tigon2::map::SRAM_LIMIT;
use defs::tigon2::regs;

use crate::cpu::clock::TICKS_PER_CYCLE;
use crate::cpu::mips::bus::Width;
use crate::cpu::mips::exec::Core;
use crate::cpu::mips::isa::Op;
use crate::cpu::mips::linear::{Linear, LinearBus, LinearCore};
use crate::sim::time::SimTime;
use crate::tigon2::cores::CorePrivate;
use crate::tigon2::fabric::Fabric;
use crate::tigon2::map::{self, Place};
use crate::tigon2::run::idle::{Round, stands_still};
use crate::value_struct;

/// Most instructions of a period.
const MOST_INSTRUCTIONS: u64 = 16_384;
/// Most places at which a period is tried to end.
const MOST_ENDS: usize = 32;
/// Most words of the scratchpad that a period may write.
const MOST_WORDS: usize = 32;
/// Picoseconds of a tick of the timer.
const PS_PER_TIMER_TICK: u64 = 1_000_000;
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// One period of a loop, and what changes from one to the next.
#[derive(Debug, Clone)]
pub(in crate::tigon2) struct Period {
    /// Ticks, cycles and instructions.
    pub round: Round,
    /// The core's count of instructions when a period begins.
    pub begins_at: u64,
    /// What is added to each general register.
    registers: [u32; 32],
    /// Words of the scratchpad that change, and what is added.
    words: Vec<(u32, u32)>,
    /// What is added to the core's timer reference.
    pub reference: u32,
    /// The loop reads registers that others change, besides its event register.
    pub watches: bool,
}

value_struct!(Period {
    round: round,
    begins_at: begins_at,
    registers: registers,
    words: words,
    reference: reference,
    watches: watches,
});

impl Period {
    /// Carries out `times` periods at once; the core stands at the beginning of one.
    pub fn repeat(
        &mut self,
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
        self.begins_at += times * instructions;
        let moved = |value: u32, slope: u32| value.wrapping_add(slope.wrapping_mul(times as u32));
        for (index, &slope) in self.registers.iter().enumerate() {
            core.set_register(index, moved(core.register(index), slope));
        }
        for &(address, slope) in &self.words {
            let value = private.scratchpad.read(address, Width::Word);
            private
                .scratchpad
                .write(address, Width::Word, moved(value, slope));
        }
        if self.reference != 0 {
            let cpu = private.index();
            let reference = fabric.timer.reference(cpu);
            fabric
                .timer
                .set_reference(cpu, moved(reference, self.reference));
        }
    }
}

/// A copy of what the loop changes: words of its scratchpad and its timer reference.
struct Trial<'a> {
    private: &'a CorePrivate,
    fabric: &'a Fabric,
    /// When the period begins, on the core's clock.
    begin: u64,
    /// Timer ticks of a period.
    shift: u32,
    /// Words that were written: address, before, now.
    words: Vec<(u32, Linear, Linear)>,
    reference: Linear,
    writes_reference: bool,
    watches: bool,
}

impl<'a> Trial<'a> {
    /// A copy as things are; `slopes` says what is added in each period.
    fn new(
        core: &Core,
        private: &'a CorePrivate,
        fabric: &'a Fabric,
        slopes: Option<&Period>,
    ) -> Self {
        let words = slopes.map_or(&[][..], |period| &period.words);
        let word = |&(address, slope): &(u32, u32)| {
            let value = private.scratchpad.read(address, Width::Word);
            (address, Linear { value, slope }, Linear { value, slope })
        };
        let tick = timer_tick(fabric).unwrap_or(1);
        Self {
            private,
            fabric,
            begin: core.clock.now,
            shift: slopes.map_or(0, |period| period.round.ticks / tick) as u32,
            words: words.iter().map(word).collect(),
            reference: Linear {
                value: fabric.timer.reference(private.index()),
                slope: slopes.map_or(0, |period| period.reference),
            },
            writes_reference: false,
            watches: false,
        }
    }

    fn time(&self, cycles: u64) -> SimTime {
        self.fabric
            .ticks
            .time_of(self.begin + cycles * TICKS_PER_CYCLE)
    }

    fn timer(&self, cycles: u64) -> Linear {
        Linear {
            value: self.fabric.timer.read(self.time(cycles)),
            slope: self.shift,
        }
    }

    /// What the core's event register reads: the timer's bit as the reference of the copy has it.
    fn event(&self, cycles: u64) -> u32 {
        let now = self.timer(cycles).value;
        let reached = now.wrapping_sub(self.reference.value) < 1 << 31;
        let timer = u32::from(reached) << defs::tigon2::event::TIMER;
        let cpu = self.private.index();
        let mailbox = self.fabric.mailbox.read(cpu);
        self.fabric.events.read(cpu, mailbox, timer)
    }

    fn load_register(&mut self, offset: u32, cycles: u64) -> Option<Linear> {
        let cpu = self.private.index();
        if offset == regs::event_register(cpu) {
            return Some(Linear::constant(self.event(cycles)));
        }
        if offset == regs::timer_reference(cpu) {
            return Some(self.reference);
        }
        if offset == regs::TIMER {
            return Some(self.timer(cycles));
        }
        if !stands_still(offset) || offset == regs::timer_reference(1 - cpu) {
            return None;
        }
        self.watches = true;
        let value = self.fabric.read_register(offset, self.time(cycles));
        Some(Linear::constant(value))
    }

    fn word(&self, address: u32) -> Option<Linear> {
        let written = self.words.iter().find(|(at, _, _)| *at == address);
        if let Some((_, _, now)) = written {
            return Some(*now);
        }
        let scratchpad = &self.private.scratchpad;
        scratchpad.get(address, Width::Word).map(Linear::constant)
    }

    fn set_word(&mut self, address: u32, value: Linear) -> Option<()> {
        let before = self.word(address)?;
        let holds_code = self.private.scratchpad.op(address) != Op::UNDECODED;
        if holds_code {
            return None;
        }
        let room = self.words.len() < MOST_WORDS;
        match self.words.iter_mut().find(|(at, _, _)| *at == address) {
            Some((_, _, now)) => *now = value,
            None if room => self.words.push((address, before, value)),
            None => return None,
        }
        Some(())
    }

    /// The words that are not what they were, and what is added to them.
    fn changed_words(&self) -> Vec<(u32, u32)> {
        let changed = self.words.iter().filter_map(|(address, before, now)| {
            let slope = now.value.wrapping_sub(before.value);
            (slope != 0).then_some((*address, slope))
        });
        changed.collect()
    }

    /// Whether everything has changed as it was to change in a period.
    fn has_moved(&self, period: &Period) -> bool {
        let moved = |before: Linear, now: Linear| {
            now.slope == before.slope && now.value == before.value.wrapping_add(before.slope)
        };
        let reference = self.fabric.timer.reference(self.private.index());
        let before = Linear {
            value: reference,
            slope: period.reference,
        };
        self.words
            .iter()
            .all(|(_, before, now)| moved(*before, *now))
            && moved(before, self.reference)
    }
}

impl LinearBus for Trial<'_> {
    fn fetch(&mut self, pc: u32) -> Option<Op> {
        if pc < SRAM_LIMIT {
            let held = self.private.cache.holds(pc);
            return held.then(|| self.fabric.sram.op(pc));
        }
        match map::place(self.private.who, pc) {
            Place::Scratchpad => Some(self.private.scratchpad.op(pc)),
            _ => None,
        }
    }

    fn load(&mut self, address: u32, width: Width, cycles: u64) -> Option<(Linear, u32)> {
        let timing = &self.fabric.timing;
        let (word, cost) = match map::place(self.private.who, address) {
            Place::Scratchpad => (self.word(address & !3)?, timing.scratchpad_load_cycles),
            Place::Register(offset) if width == Width::Word => {
                let cost = timing.register_load_cycles;
                (self.load_register(offset, cycles)?, cost)
            }
            _ => return None,
        };
        if width == Width::Word {
            return Some((word, cost));
        }
        let part = word.value >> width.shift(address) & width.mask();
        (word.slope == 0).then(|| (Linear::constant(part), cost))
    }

    fn store(&mut self, address: u32, width: Width, value: Linear) -> Option<u32> {
        let timing = &self.fabric.timing;
        match map::place(self.private.who, address) {
            Place::Scratchpad if width == Width::Word => {
                let cost = timing.scratchpad_store_cycles;
                self.set_word(address, value)?;
                Some(cost)
            }
            Place::Scratchpad => {
                let cost = timing.scratchpad_store_cycles;
                let old = self.word(address & !3)?;
                if old.slope != 0 || value.slope != 0 {
                    return None;
                }
                let (mask, shift) = (width.mask(), width.shift(address));
                let word = old.value & !(mask << shift) | (value.value & mask) << shift;
                self.set_word(address & !3, Linear::constant(word))?;
                Some(cost)
            }
            Place::Register(offset)
                if width == Width::Word
                    && offset == regs::timer_reference(self.private.index()) =>
            {
                let cost = timing.register_store_cycles;
                self.reference = value;
                self.writes_reference = true;
                Some(cost)
            }
            _ => None,
        }
    }
}

/// Ticks of the core's clock in one of the timer, if that is a whole number.
fn timer_tick(fabric: &Fabric) -> Option<u64> {
    let per_second = fabric.timing.core_clock_hz * TICKS_PER_CYCLE;
    let product = per_second.checked_mul(PS_PER_TIMER_TICK)?;
    (product % PS_PER_SECOND == 0).then_some(product / PS_PER_SECOND)
}

/// The period in which the core comes back to the read of its event register before which it stands, with the same
/// value; `None` if none is found. Nothing is changed.
pub(in crate::tigon2) fn find(
    core: &Core,
    private: &CorePrivate,
    fabric: &Fabric,
    most_instructions: u64,
) -> Option<Period> {
    let tick = timer_tick(fabric)?;
    if core.clock.ticks_per_cycle != TICKS_PER_CYCLE || core.in_taken_slot() {
        return None;
    }
    let mut trial = Trial::new(core, private, fabric, None);
    let mut copy = LinearCore::new(core, None);
    let value = trial.event(0);
    let mut ends = 0;
    while copy.instructions < most_instructions.min(MOST_INSTRUCTIONS) && ends < MOST_ENDS {
        copy.step(&mut trial)?;
        let ticks = copy.cycles * TICKS_PER_CYCLE;
        let back = copy.pc() == core.pc() && !copy.in_taken_slot() && ticks.is_multiple_of(tick);
        if back && ticks > 0 && trial.event(copy.cycles) == value {
            ends += 1;
            let period = Period {
                round: Round {
                    ticks,
                    cycles: copy.cycles,
                    instructions: copy.instructions,
                },
                begins_at: core.instructions(),
                registers: std::array::from_fn(|index| {
                    let now = copy.register(index).value;
                    now.wrapping_sub(core.register(index))
                }),
                words: trial.changed_words(),
                reference: trial
                    .reference
                    .value
                    .wrapping_sub(fabric.timer.reference(private.index())),
                watches: trial.watches,
            };
            if repeats(&period, core, private, fabric) {
                return Some(period);
            }
        }
    }
    None
}

/// Whether each period after this one is like it.
fn repeats(period: &Period, core: &Core, private: &CorePrivate, fabric: &Fabric) -> bool {
    let mut trial = Trial::new(core, private, fabric, Some(period));
    // An alarm that does not move rises or falls once: until then the event register reads the same.
    if period.reference != 0 && period.reference != trial.shift {
        return false;
    }
    let mut copy = LinearCore::new(core, Some(&period.registers));
    while copy.instructions < period.round.instructions {
        let stepped = copy.step(&mut trial);
        let moves_along = trial.reference.slope == trial.shift;
        if stepped.is_none() || trial.writes_reference && !moves_along {
            return false;
        }
    }
    let register = |index: usize| {
        let (now, slope) = (copy.register(index), period.registers[index]);
        let moved = core.register(index).wrapping_add(slope);
        now.value == moved && now.slope == slope
    };
    copy.pc() == core.pc()
        && copy.cycles == period.round.cycles
        && (0..32).all(register)
        && trial.has_moved(period)
}
