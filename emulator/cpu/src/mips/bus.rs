//! The interface of a MIPS core to its board.

use super::bits::BitChange;
use super::exec::Core;
use super::isa::Op;
use super::witness::Witness;
use crate::bus;
pub use crate::bus::{BusStop, Fault, OwnMemory, Width};

/// Code and memory that a MIPS core accesses without its bus ([`Bus::private`]). The core stops before an instruction with
/// a probe ([`Op::has_probe`]) or without a decoding ([`Op::UNDECODED`]).
pub type Private<'a, M, W> = bus::Private<'a, Op, M, W>;

/// The bus of a core.
///
/// Each access takes place at `core.clock.now`. The bus charges the access's own cost with
/// [`CpuClock::charge`](crate::clock::CpuClock::charge) and waiting with `stall_until`; the
/// core itself charges the cycle of the instruction. Values are zero-extended; the core extends
/// the sign. `address` is aligned to `width`: the core checks that first.
pub trait Bus {
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

    /// The witness of the core's execution.
    fn witness(&mut self) -> Self::Witness<'_>;

    /// Private code around the program counter and private memory, as far as known. The core executes
    /// instructions on these alone without further calls.
    fn private(&mut self, core: &Core) -> Private<'_, Self::Own<'_>, Self::Witness<'_>>;

    /// Prepares a stop of the core.
    ///
    /// # Errors
    /// [`BusStop::Wait`] if it is not certain yet that it comes to that.
    fn settle(&mut self, _core: &Core) -> Result<(), BusStop> {
        Ok(())
    }

    /// The fault of a core that comes to an address `pc` that is no multiple of 4.
    fn between_words(&self, _core: &Core, pc: u32) -> Fault {
        let width = Width::Word as u32;
        Fault::Misaligned { address: pc, width }
    }

    /// The pre-decoded instruction at `pc` (which is aligned).
    ///
    /// # Errors
    /// [`BusStop::Wait`] or a fault.
    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop>;

    /// Reads memory or a register.
    ///
    /// # Errors
    /// [`BusStop::Wait`] or a fault; never [`BusStop::Yield`].
    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop>;

    /// Writes memory or a register.
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

    /// Whether the core has the bit instructions.
    fn has_bit_instructions(&self) -> bool {
        true
    }

    /// Changes a word of memory at once: no other actor accesses it in between. Returns the word as it was.
    ///
    /// # Errors
    /// [`BusStop::Wait`] or a fault; never [`BusStop::Yield`].
    fn change_bits(
        &mut self,
        core: &mut Core,
        address: u32,
        change: BitChange,
    ) -> Result<u32, BusStop>;

    /// Handles an instruction that carries a probe (`Op::probe` is set), before its execution.
    /// The bus may change the clock's `ticks_per_cycle`. Called once per execution, after the
    /// fetch and before any effect. Returns whether it is a probe of the firmware, which has a `nop` of its own.
    fn probe(&mut self, core: &mut Core, pc: u32) -> bool;
}
