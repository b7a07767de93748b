//! The interface of a LANai core to its board.

use super::exec::Core;
use super::op::Op;
pub use crate::bus::{BusStop, Fault, OwnMemory, Width};
use crate::decoded::Place;
use crate::witness::Witness;

/// Decoded code that a core executes without its bus.
pub trait OwnCode {
    /// The decoded instructions from `pc` on that follow one another in memory; none if the one at `pc` must be fetched. The core
    /// stops before an instruction with a probe ([`Op::has_probe`]) or without a decoding ([`Op::UNDECODED`]).
    fn from(&self, pc: u32) -> &[Place<Op>];
}

/// Code from address 0 on.
impl OwnCode for &[Place<Op>] {
    #[inline(always)]
    fn from(&self, pc: u32) -> &[Place<Op>] {
        self.get(pc as usize / 4..).unwrap_or(&[])
    }
}

/// Code and memory that a LANai core accesses without its bus ([`Bus::private`]).
#[derive(Debug)]
pub struct Private<C, M, W> {
    /// Instructions whose fetch has no cost.
    pub code: C,
    /// Data.
    pub memory: M,
    /// Witness of the execution.
    pub witness: W,
    /// The tick up to which all this holds: later than the core's time.
    pub until: u64,
}

/// Nothing.
impl<C: Default, M: Default, W: Default> Default for Private<C, M, W> {
    fn default() -> Self {
        Self {
            code: C::default(),
            memory: M::default(),
            witness: W::default(),
            until: u64::MAX,
        }
    }
}

/// Kind of an instruction that carries a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// An instruction of the firmware, with a mark such as a breakpoint.
    Instruction,
    /// A probe of the firmware, which has a `nop` of its own.
    Probe,
    /// The end of the firmware: the core stops before it.
    End,
}

/// The bus of a core.
///
/// Each access takes place at `core.clock.now`. The bus charges the access's own cost with
/// [`CpuClock::charge`](crate::clock::CpuClock::charge) and waiting with `stall_until`; the
/// core itself charges the cycle of the instruction and the wait for a loaded value. Values are zero-extended; the core
/// extends the sign. `address` is aligned to `width`: the core ignores the low bits that would misalign it.
pub trait Bus {
    /// Private code of a core.
    type Code<'a>: OwnCode
    where
        Self: 'a;

    /// Private memory of a core.
    type Own<'a>: OwnMemory
    where
        Self: 'a;

    /// Witness of the core's execution.
    type Witness<'a>: Witness
    where
        Self: 'a;

    /// Whether execution is recorded.
    const WITNESSED: bool;

    /// The witness.
    fn witness(&mut self) -> Self::Witness<'_>;

    /// Private code and memory, as far as known. The core executes instructions on these alone without further calls.
    fn private(&mut self, core: &Core)
    -> Private<Self::Code<'_>, Self::Own<'_>, Self::Witness<'_>>;

    /// Prepares a stop of the core.
    ///
    /// # Errors
    /// [`BusStop::Wait`] if it is not certain yet that it comes to that.
    fn settle(&mut self, _core: &Core) -> Result<(), BusStop> {
        Ok(())
    }

    /// The instruction at `pc` (which is aligned), decoded for the pipeline of the core.
    ///
    /// # Errors
    /// [`BusStop::Wait`] or a fault.
    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop>;

    /// Reads memory or a device register.
    ///
    /// # Errors
    /// [`BusStop::Wait`] or a fault; never [`BusStop::Yield`].
    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop>;

    /// Writes memory or a device register.
    ///
    /// # Errors
    /// [`BusStop::Wait`], [`BusStop::Yield`] (the write was carried out) or a fault.
    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop>;

    /// Reads the interrupt status, which is register 31 of some pipelines (docs/lanai-core.md, section 1).
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    fn interrupt_status(&mut self, _core: &mut Core) -> Result<u32, BusStop> {
        Ok(0)
    }

    /// Writes the interrupt status. If the same instruction has just accessed memory, it cannot be repeated: the bus
    /// must carry out the write and not answer [`BusStop::Wait`].
    ///
    /// # Errors
    /// As for [`store`](Self::store).
    fn set_interrupt_status(&mut self, _core: &mut Core, _value: u32) -> Result<(), BusStop> {
        Ok(())
    }

    /// Handles an instruction that carries a probe, before its execution.
    /// The bus may change the clock's `ticks_per_cycle`. Called once per execution, after the
    /// fetch and before any effect.
    fn probe(&mut self, core: &mut Core, pc: u32) -> Passed;
}
