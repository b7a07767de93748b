//! Decoded code that boards share.

use super::lanai;
use super::pages::SharedPages;

/// Decoded code that the boards of a world share: those that execute the same bytes use the same pages. Only the speed and the memory of
/// runs depend on it.
#[derive(Debug, Clone, Default)]
pub struct SharedCode {
    pub(crate) lanai: SharedPages<lanai::Op>,
}
