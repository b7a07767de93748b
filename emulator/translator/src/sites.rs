//! Ways out of translated code.

use cranelift_codegen::ir::{Block, Value};

use crate::machine::Leave;
use crate::turns::Turn;

/// A way out, and what is known there. The function gives its number. There are thousands, and so each is small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    /// The program counter.
    pub(crate) pc: u32,
    /// The address behind it.
    pub(crate) next_pc: u32,
    /// Cycles that are not yet subtracted from those that are left.
    pub(crate) cycles: u32,
    /// Cycles among them beyond those that each instruction takes.
    pub(crate) extra: u16,
    /// Why.
    pub(crate) leave: Leave,
    /// Which addresses stand in the moment instead.
    pub(crate) held: Held,
}

/// Addresses that stand in the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// None.
    None,
    /// The one behind the program counter.
    Next,
    /// Both.
    Both,
}

/// A site whose code is still to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stub {
    pub(crate) block: Block,
    /// Its number.
    pub(crate) site: usize,
    pub(crate) next_pc: Option<Value>,
    pub(crate) turn: Option<Turn>,
}

/// Number of the site at which the program counter stands in the context.
pub(crate) const ELSEWHERE: usize = 0;

/// That site.
pub(crate) const ELSEWHERE_SITE: Site = Site {
    pc: 0,
    next_pc: 0,
    cycles: 0,
    extra: 0,
    leave: Leave::Step,
    held: Held::Both,
};
