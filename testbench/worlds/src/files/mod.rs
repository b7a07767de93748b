//! Files: what a run reads, with limits; what it writes, complete or not at all; and the project's own data.

pub mod input;
pub mod output;
pub mod own;
pub mod wanted;
