//! What a MIPS core needs from the board around it.

use super::exec::Core;
use super::isa::Op;

/// Why an access could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusStop {
    /// Another actor of the board must act first. Nothing has happened and nothing was charged:
    /// the core stands before the instruction and will repeat it.
    Wait,
    /// The instruction was carried out and the board wants to look at what it caused (a device was
    /// started, a core was halted) before the core goes on.
    Yield,
    /// The access is impossible; the core stops at the instruction.
    Fault(Fault),
}

/// Why a core stopped for good.
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

/// The board as a core sees it.
///
/// Each access takes place at `core.clock.now`. The bus charges the access's own cost with
/// [`CpuClock::charge`](crate::cpu::clock::CpuClock::charge) and waiting with `stall_until`; the
/// core itself charges the cycle of the instruction. Values are zero-extended; the core extends
/// the sign. `address` is aligned to `width`: the core checks that first.
pub trait Bus {
    /// The pre-decoded instruction at `pc`, if that is all there is to its fetch: it has no cost, no
    /// order and no probe. The core asks this first, and [`fetch`](Self::fetch) only then. `pc` may
    /// be unaligned, and has no instruction then.
    #[inline(always)]
    fn fetch_private(&self, _pc: u32) -> Option<Op> {
        None
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

    /// The core is about to execute an instruction that carries a probe (`Op::probe` is set).
    /// The bus may change the clock's `ticks_per_cycle`. Called once for each execution, after the
    /// fetch and before any effect.
    fn probe(&mut self, core: &mut Core, pc: u32);
}
