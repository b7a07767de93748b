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
        /// The instruction's 20-bit code (assemblers put a single operand into its upper half).
        code: u32,
    },
    /// The core cannot execute the instruction at its `pc` and stays there.
    Fault(Fault),
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
