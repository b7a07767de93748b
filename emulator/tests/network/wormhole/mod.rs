//! A second medium, for tests of what a medium may do: packets whose heads and tails have times of their own, and a reverse
//! direction.

pub mod medium;
pub mod nic;
pub mod segment;
