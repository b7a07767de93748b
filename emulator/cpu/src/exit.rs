//! Reasons why a core returns to its board.

use super::bus::Fault;

/// Reason why a core's run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// The clock has reached the time given.
    Until,
    /// The number of instructions given was executed.
    Limit,
    /// Another actor must go first. The next run continues with this instruction.
    Wait,
    /// The instruction was executed, and the board must act before the core continues.
    Yield,
    /// The core executed a `break` and stays at it. A LANai has no such instruction.
    Break {
        /// The instruction's 20-bit code; [`break_number`] makes one number of it.
        code: u32,
    },
    /// The core cannot execute the instruction at its `pc` and stays there.
    Fault(Fault),
}

/// The number that a `break` names, of its 20-bit code, as Linux counts: assemblers put a single operand into the upper half, and
/// a second one into the lower half.
#[must_use]
pub const fn break_number(code: u32) -> u32 {
    const HALF: u32 = 10;
    match code >> HALF {
        0 => code,
        first => (code & ((1 << HALF) - 1)) << HALF | first,
    }
}

/// [`Exit`] in a byte, for the loop of a board. With two busy cores it is needed every few
/// instructions, and is almost always [`Wait`](Self::Wait).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// [`Exit::Until`].
    Until,
    /// [`Exit::Wait`].
    Wait,
    /// Anything else: the core's `take_exit` tells.
    Exit,
}

/// Reason why the fast path of a core returned to the loop that executes any instruction. `O`: a pre-decoded instruction.
pub(super) enum FastExit<O> {
    /// The core stands before this instruction, which carries no probe and begins in time.
    Op(O),
    /// The time may be over.
    Time,
    /// The core stands before an instruction that must be fetched.
    Unknown,
}
