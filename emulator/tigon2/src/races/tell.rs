//! The board tells its search for races who accesses what.

use super::orders::TakenRing;
use super::{BoardRaces, hardware};
use crate::board::Tigon2;
use crate::fabric::Fabric;
use crate::window::Target;
use emulator_base::initiator::{Actor, Initiator};
use emulator_base::time::SimTime;
use emulator_board::races::{Agent, WordAccess};

impl Fabric {
    /// Tells the search for races, if there is one.
    #[inline(always)]
    pub(crate) fn tell_races(&mut self, tell: impl FnOnce(&mut BoardRaces)) {
        if let Some(races) = &mut self.races {
            tell(races);
        }
    }

    /// Tells the search that a register is about to be written.
    // Out of line: registers are written in the hot loop, and few runs search for races.
    #[cold]
    #[inline(never)]
    pub(crate) fn register_races(&mut self, offset: u32, value: u32, who: Actor, now: SimTime) {
        let old = self.read_register(offset, now);
        let access = WordAccess {
            agent: Agent::of(who.initiator),
            pc: who.pc,
            time: now,
        };
        let ring = TakenRing::with_producer(offset);
        let pointers = ring.map(|ring| match ring {
            TakenRing::DmaRead => &self.assist.read,
            TakenRing::DmaWrite => &self.assist.write,
            TakenRing::Transmit => &self.mac.tx,
        });
        let (from, to, next) = pointers.map_or((0, 0, None), |pointers| {
            let next = pointers.clone();
            (pointers.producer, pointers.index(value), Some(next))
        });
        self.tell_races(|races| {
            if let (Some(ring), Some(pointers)) = (ring, next) {
                let entries = std::iter::successors(Some(from), |at| Some(pointers.next(*at)));
                races.produced(access.agent, ring, entries.take_while(|at| *at != to));
            }
            races.register_written(&access, offset, old, value);
        });
    }
}

impl Tigon2 {
    /// Tells the search that the host reads a word of its window.
    // Out of line, as the writes of registers.
    #[cold]
    #[inline(never)]
    pub(crate) fn host_reads(&mut self, offset: u32, value: u32, now: SimTime) {
        let target = self.fabric.window.target(offset);
        self.fabric.tell_races(|races| match target {
            Target::Register(offset) => {
                races.register_read(&hardware(Initiator::Host, now), offset, value);
            }
            Target::Sram(address) => races.host_read(address),
            Target::Nothing => {}
        });
    }
}
