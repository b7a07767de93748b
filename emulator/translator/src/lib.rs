//! Translated code: machine code of the host for pre-decoded instructions of the Tigon2's MIPS core.
//!
//! A [`Program`] is a memory of instructions, as far as they are known, with what each costs. [`Code::translate`] makes one
//! function of it, with an entry at each instruction. A [`Guest`] is a core that it executes, from a program counter on;
//! it leaves before the first one that needs more than registers and the memory that it was given. What it leaves behind
//! (registers, program counter, cycles) is what an interpreter has there.
//!
//! Each instruction is translated twice. *Careful* code compares the cycles that are left before each instruction, and may be entered at
//! any of them. *Fast* code is a run of instructions without a branch: it is entered at its first one if the cycles
//! suffice for all, and keeps registers in those of the host. Where they do not suffice, careful code goes on.
//!
//! Two guests may take turns: functions for the accesses of short loops exchange them without leaving translated code.
//!
//! This is the only crate on the host's side with unsafe code. Two things need it: to call the function, and to release it. All
//! accesses of the function to memory are compared with the sizes for which it was translated, and [`Code::guest`]
//! compares these with the memory that it is given.

mod accesses;
mod blocks;
mod budget;
mod emit;
mod guest;
mod machine;
mod pair;
mod program;
mod shared;
mod sites;
mod stamp;
mod turns;
mod values;

pub use guest::{End, Guest, SharedBus, Spent, Start};
pub use machine::{Code, Leave, Memory, TranslationError};
pub use pair::Turns;
pub use program::{Costs, Instruction, Layout, Operation, Program};
