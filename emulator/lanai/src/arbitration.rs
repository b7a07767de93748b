//! The bus of local memory: who gets its cycles (docs/lanai.md, section 3.10).
//!
//! The bus has one or two cycles in a clock of the CPU. An engine that moves data takes one cycle of each clock until it is done; the
//! CPU has what is left, after all engines.

use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_state::state;

/// An engine on the bus, in the order of their ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Host: DMA and accesses through the window.
    Host = 0,
    /// Receiver of packets.
    Receive = 1,
    /// Sender of packets.
    Send = 2,
}

/// A time in which the CPU gets the same number of cycles in each clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Number of cycles that are left to the CPU in each clock.
    pub left: u32,
    /// The tick at which it ends; [`u64::MAX`] if no engine uses the bus.
    pub until: u64,
}

/// The bus.
#[derive(Debug)]
pub struct Arbitration {
    width_bytes: u32,
    cycles_per_clock: u32,
    /// Tick up to which each engine takes a cycle of each clock.
    busy_until: [u64; 3],
}

state!(Arbitration { busy_until } fixed { width_bytes, cycles_per_clock });

impl Arbitration {
    /// An idle bus of `width_bytes` with a number of cycles in each clock of the CPU.
    #[must_use]
    pub const fn new(width_bytes: u32, cycles_per_clock: u32) -> Self {
        Self {
            width_bytes,
            cycles_per_clock,
            busy_until: [0; 3],
        }
    }

    /// Number of cycles that engines take of the clock that begins at `tick`.
    const fn taken(&self, tick: u64) -> u32 {
        let [host, receive, send] = self.busy_until;
        (host > tick) as u32 + (receive > tick) as u32 + (send > tick) as u32
    }

    /// The first tick after `tick` at which an engine is done; [`u64::MAX`] if none uses the bus.
    fn next_end(&self, tick: u64) -> u64 {
        let [host, receive, send] = self.busy_until.map(|end| match end > tick {
            true => end,
            false => u64::MAX,
        });
        host.min(receive).min(send)
    }

    /// An engine moves `bytes` from `tick` on, or from when it gets a cycle; returns the tick at which it is done.
    pub fn occupy(&mut self, engine: Engine, tick: u64, bytes: u32) -> u64 {
        let own = &mut self.busy_until[engine as usize];
        let mut start = tick.max(*own);
        *own = 0;
        while self.taken(start) >= self.cycles_per_clock {
            start = self.next_end(start);
        }
        let clocks = u64::from(bytes.div_ceil(self.width_bytes));
        let end = start + clocks * TICKS_PER_CYCLE;
        self.busy_until[engine as usize] = end;
        end
    }

    /// Number of cycles in the clock at `tick` that are left to the CPU.
    #[must_use]
    #[inline]
    pub const fn left(&self, tick: u64) -> u32 {
        self.cycles_per_clock.saturating_sub(self.taken(tick))
    }

    /// The cycles that an instruction takes: one for its fetch, unless the bus is wide and the instruction came with the one
    /// before it, and one for each access to memory.
    #[must_use]
    #[inline]
    pub const fn demand(&self, pc: u32, accesses: u32) -> u32 {
        accesses + (self.width_bytes < 8 || pc & 4 == 0) as u32
    }

    /// The time from `tick` on in which the CPU gets the same number of cycles in each clock, as far as is known.
    #[must_use]
    pub fn phase(&self, tick: u64) -> Phase {
        Phase {
            left: self.left(tick),
            until: self.next_end(tick),
        }
    }

    /// For instructions at even and at odd words (bits 0 and 1): whether an access of theirs waits a clock, where so many cycles of each
    /// clock are left to the CPU: one at least.
    #[must_use]
    pub const fn access_waits(&self, left: u32) -> u8 {
        let even = (self.demand(0, 1) > left) as u8;
        let odd = (self.demand(4, 1) > left) as u8;
        even | odd << 1
    }

    /// The tick at which the CPU may go on that wants `demand` cycles in the clock at `tick`.
    #[must_use]
    pub fn wait(&self, tick: u64, demand: u32) -> u64 {
        if demand == 0 {
            return tick;
        }
        let mut at = tick;
        while self.left(at) == 0 {
            at = self.next_end(at);
        }
        let late = demand.saturating_sub(self.left(at)).min(1);
        at + u64::from(late) * TICKS_PER_CYCLE
    }

    /// Stops all engines.
    pub const fn reset(&mut self) {
        self.busy_until = [0; 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: u64 = TICKS_PER_CYCLE;

    #[test]
    fn the_cpu_gets_what_engines_leave() {
        let check = |width, cycles, engines: &[Engine], pc, accesses, clocks| {
            let mut bus = Arbitration::new(width, cycles);
            for &engine in engines {
                assert_eq!(bus.occupy(engine, 0, 4 * width), 4 * CLOCK);
            }
            let demand = bus.demand(pc, accesses);
            assert_eq!(bus.wait(0, demand), clocks * CLOCK, "{engines:?}");
            let phase = bus.phase(0);
            let end = if engines.is_empty() {
                u64::MAX
            } else {
                4 * CLOCK
            };
            assert_eq!(phase.until, end);
            if phase.left > 0 && accesses == 1 {
                let waits = bus.access_waits(phase.left);
                assert_eq!(waits >> (pc / 4) & 1, clocks as u8);
            }
        };
        use Engine::{Host, Receive, Send};
        check(4, 2, &[], 0, 1, 0);
        check(4, 2, &[Host], 0, 0, 0);
        check(4, 2, &[Host], 0, 1, 1);
        check(4, 2, &[Host], 4, 1, 1);
        check(8, 2, &[Send], 0, 1, 1);
        check(8, 2, &[Send], 4, 1, 0);
        check(4, 2, &[Host, Send], 0, 0, 4);
        check(8, 1, &[], 0, 0, 0);
        check(8, 1, &[], 0, 1, 1);
        check(8, 1, &[], 4, 1, 0);
        check(8, 1, &[Receive], 4, 0, 0);
        check(8, 1, &[Receive], 0, 0, 4);
        check(8, 1, &[Receive], 0, 1, 5);
    }

    #[test]
    fn engines_wait_for_each_other() {
        let mut bus = Arbitration::new(8, 1);
        assert_eq!(bus.occupy(Engine::Receive, 0, 64), 8 * CLOCK);
        assert_eq!(bus.occupy(Engine::Send, 0, 8), 9 * CLOCK);
        assert_eq!(bus.occupy(Engine::Receive, CLOCK, 8), 10 * CLOCK);
        let mut bus = Arbitration::new(8, 2);
        assert_eq!(bus.occupy(Engine::Receive, 0, 64), 8 * CLOCK);
        assert_eq!(bus.occupy(Engine::Send, 0, 64), 8 * CLOCK);
        assert_eq!(bus.occupy(Engine::Host, 0, 1), 9 * CLOCK);
        assert_eq!(bus.phase(8 * CLOCK).until, 9 * CLOCK);
        assert_eq!(bus.phase(9 * CLOCK).until, u64::MAX);
    }
}
