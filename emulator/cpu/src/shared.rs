//! Decoded code that boards share.

use super::lanai;
use super::mips::whole::SharedWhole;
use super::pages::SharedPages;

/// Decoded code that the boards of a world share: those that execute the same code use the same. Only the speed and the memory of
/// runs depend on it.
#[derive(Debug, Clone, Default)]
pub struct SharedCode {
    /// Pages of a LANai's memory.
    pub lanai: SharedPages<lanai::Op>,
    /// Scratchpads of a Tigon2.
    pub scratchpads: SharedWhole,
}
