//! Recognises a core that idles in its dispatch loop, so that the loop can be skipped exactly.
//!
//! Firmware idles by reading its event register over and over. When the core comes back to the
//! same read with the same registers and the same value, having written nothing and read nothing
//! else that can change, then every further round is like the last one until an event, the timer
//! or the other core changes what it reads. The board may then skip whole rounds: clock, cycles
//! and instruction count advance by multiples of one round.

use crate::cpu::mips::exec::Core;

/// One round of an idle loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Ticks of the clock.
    pub ticks: u64,
    /// Own cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
}

/// What a core was like at its last read of the event register.
#[derive(Debug, Clone)]
struct Poll {
    pc: u32,
    value: u32,
    registers: [u32; 32],
    ticks: u64,
    cycles: u64,
    stalled: u64,
    instructions: u64,
}

/// Watches one core.
#[derive(Debug, Default)]
pub struct IdleDetector {
    last: Option<Box<Poll>>,
    /// Something other than pure work happened since the last poll.
    disturbed: bool,
    /// The round that will repeat.
    idle: Option<Round>,
}

impl IdleDetector {
    /// The core did something that makes the next round differ, or that others can see.
    #[inline(always)]
    pub fn disturb(&mut self) {
        self.disturbed = true;
    }

    /// What the core waits for may have changed, or the core itself was: it must look again.
    pub fn wake(&mut self) {
        self.idle = None;
        self.disturbed = true;
    }

    /// The round that the core repeats, if it idles.
    #[must_use]
    pub const fn idle(&self) -> Option<Round> {
        self.idle
    }

    /// What the event register read when the core was last seen to idle, if it idles.
    #[must_use]
    pub fn idle_at(&self) -> Option<u32> {
        self.idle.and(self.last.as_ref()).map(|last| last.value)
    }

    /// The core is about to read `value` from its event register. Tells whether it idles.
    pub fn poll(&mut self, core: &Core, value: u32) -> bool {
        let clean = !std::mem::take(&mut self.disturbed);
        match &mut self.last {
            Some(last) if clean && last.repeats(core, value) => {
                let round = last.round(core);
                let steady = round.instructions > 0 && core.clock.stalled == last.stalled;
                last.remember_time(core);
                if steady {
                    self.idle = Some(round);
                }
                // Directly after a skip no instruction has passed: the core carries on.
                steady
            }
            Some(last) => {
                last.remember(core, value);
                self.idle = None;
                false
            }
            last @ None => {
                *last = Some(Box::new(Poll::new(core, value)));
                false
            }
        }
    }

    /// `rounds` whole rounds were skipped, wherever in its loop the core stands: the last read moves
    /// along, so that the next one is still one round away from it.
    pub fn skipped(&mut self, round: Round, rounds: u64) {
        if let Some(last) = &mut self.last {
            last.ticks += rounds * round.ticks;
            last.cycles += rounds * round.cycles;
            last.instructions += rounds * round.instructions;
        }
    }
}

impl Poll {
    fn new(core: &Core, value: u32) -> Self {
        let mut poll = Self {
            pc: 0,
            value: 0,
            registers: [0; 32],
            ticks: 0,
            cycles: 0,
            stalled: 0,
            instructions: 0,
        };
        poll.remember(core, value);
        poll
    }

    fn remember(&mut self, core: &Core, value: u32) {
        self.pc = core.pc();
        self.value = value;
        self.registers.copy_from_slice(core.registers());
        self.remember_time(core);
    }

    fn remember_time(&mut self, core: &Core) {
        self.ticks = core.clock.now;
        self.cycles = core.clock.cycles;
        self.stalled = core.clock.stalled;
        self.instructions = core.instructions();
    }

    fn repeats(&self, core: &Core, value: u32) -> bool {
        self.pc == core.pc()
            && self.value == value
            && !core.in_taken_slot()
            && self.registers == *core.registers()
    }

    const fn round(&self, core: &Core) -> Round {
        Round {
            ticks: core.clock.now - self.ticks,
            cycles: core.clock.cycles - self.cycles,
            instructions: core.instructions() - self.instructions,
        }
    }
}
