//! The types of boards of this crate, by the names that files use for them. A new type is registered here and with the
//! testbench, nowhere else.

use crate::lanai::inspect::names::LANAI_NAMES;
use crate::observe::names::BoardNames;
use crate::tigon2;

/// The names of all types of boards. The first is that of files from before files named boards.
pub const BOARDS: &[&BoardNames] = &[
    &tigon2::inspect::names::NAMES,
    &LANAI_NAMES[0],
    &LANAI_NAMES[1],
    &LANAI_NAMES[2],
];

/// The names of the type of board with this name.
#[must_use]
pub fn names_of(board: &str) -> Option<&'static BoardNames> {
    BOARDS.iter().find(|names| names.board == board).copied()
}
