//! The interface of a MIPS core to its board.

use std::cell::Cell;

use super::exec::Core;
use super::isa::Op;
use super::witness::Witness;

/// Reason why an access did not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusStop {
    /// Another actor of the board must act first. There were no effects and no costs:
    /// the core will repeat the instruction.
    Wait,
    /// The instruction was executed, and the board must handle its effect (a device was
    /// started, a core was halted) before the core continues.
    Yield,
    /// The access is impossible; the core stops at the instruction.
    Fault(Fault),
}

/// Reason why a core stopped for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A word or halfword access that is not aligned.
    #[error("misaligned {width}-byte access to {address:#010x}")]
    Misaligned {
        /// The address.
        address: u32,
        /// Bytes of the access.
        width: u32,
    },
    /// The program counter left all memory that holds code.
    #[error("no memory to execute at {address:#010x}")]
    NoCode {
        /// The address.
        address: u32,
    },
    /// An instruction that the chip does not have.
    #[error("the chip has no instruction {word:#010x}")]
    Illegal {
        /// The instruction word.
        word: u32,
    },
    /// An instruction that the core knows but the chip lacks (multiply, unaligned access, ...).
    #[error("the chip has no {mnemonic} instruction ({word:#010x})")]
    Missing {
        /// The instruction's name in the MIPS manuals.
        mnemonic: &'static str,
        /// The instruction word.
        word: u32,
    },
}

/// Memory that only the core accesses while it runs.
///
/// `left` is the number of the core's remaining cycles before the access.
pub trait OwnMemory {
    /// Starts a run of this many cycles.
    fn begin(&mut self, cycles: u64);

    /// Reads a value, zero-extended, and returns it with the cycles of the access. `None` if the core must use its
    /// bus. `address` is aligned to `width`.
    fn load(&mut self, address: u32, width: Width, left: u64) -> Option<(u32, u32)>;

    /// Writes the `width` low bytes of a value, and returns the cycles of the access; `None` as for
    /// [`load`](Self::load).
    fn store(&mut self, address: u32, width: Width, value: u32, left: u64) -> Option<u32>;
}

/// No memory.
impl OwnMemory for () {
    fn begin(&mut self, _: u64) {}

    fn load(&mut self, _: u32, _: Width, _: u64) -> Option<(u32, u32)> {
        None
    }

    fn store(&mut self, _: u32, _: Width, _: u32, _: u64) -> Option<u32> {
        None
    }
}

/// Code and memory that a core accesses without its bus ([`Bus::private`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct Private<'a, M, W> {
    /// Pre-decoded instructions whose fetch has no cost. The core stops before one with a probe ([`Op::has_probe`]) or
    /// without a decoding ([`Op::UNDECODED`]).
    pub ops: &'a [Cell<Op>],
    /// Address of the first one.
    pub base: u32,
    /// Data.
    pub memory: M,
    /// Who looks.
    pub witness: W,
}

impl<M, W> Private<'_, M, W> {
    /// The instruction at `pc`, if it is among these.
    ///
    /// The rotation makes one comparison of two: the low bits of an unaligned address become high bits
    /// of the index.
    #[inline(always)]
    pub(super) fn at(&self, pc: u32) -> Option<Op> {
        let index = pc.wrapping_sub(self.base).rotate_right(2);
        self.ops.get(index as usize).map(Cell::get)
    }
}

/// Width of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    Byte = 1,
    /// Two bytes.
    Half = 2,
    /// Four bytes.
    Word = 4,
}

impl Width {
    /// The bits of a value of this width.
    #[must_use]
    #[inline(always)]
    pub const fn mask(self) -> u32 {
        u32::MAX >> (32 - 8 * self as u32)
    }

    /// Shift of a value at `address`, aligned, within its big-endian word.
    #[must_use]
    #[inline(always)]
    pub const fn shift(self, address: u32) -> u32 {
        8 * (4 - self as u32 - (address & (4 - self as u32)))
    }
}

/// The bus of a core.
///
/// Each access takes place at `core.clock.now`. The bus charges the access's own cost with
/// [`CpuClock::charge`](crate::cpu::clock::CpuClock::charge) and waiting with `stall_until`; the
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

    /// Who looks.
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

    /// Handles an instruction that carries a probe (`Op::probe` is set), before its execution.
    /// The bus may change the clock's `ticks_per_cycle`. Called once per execution, after the
    /// fetch and before any effect. Returns whether it is a probe of the firmware, which has a `nop` of its own.
    fn probe(&mut self, core: &mut Core, pc: u32) -> bool;
}
