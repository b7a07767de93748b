//! Identity and symbols of an image, as traces and profiles store them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Image, Symbols};
use emulator_base::digest::Digest;

/// Identifies an image: a hash of the entry point and of everything that is loaded. Names, lines and probes
/// are not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity(pub u64);

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Symbols of an image, for readers without the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolTable {
    /// Identity of the image.
    pub identity: Identity,
    /// Symbols by address.
    pub symbols: Symbols,
}

impl Image {
    /// Computes the image's identity.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let mut digest = Digest::NEW;
        digest.number(self.entry.into());
        for segment in &self.segments {
            digest.number(segment.load_address.into());
            digest.number(segment.run_address.into());
            digest.number(segment.memory_bytes.into());
            digest.bytes(&segment.bytes);
        }
        Identity(digest.value())
    }

    /// Identifies the marks of the probes, which cost no time: equal code is slower without them.
    #[must_use]
    pub fn marks_identity(&self) -> Identity {
        let mut digest = Digest::NEW;
        for probe in &self.probes {
            digest.number(probe.address.into());
            digest.number(probe.kind as u64);
        }
        Identity(digest.value())
    }

    /// The image's symbols with its identity.
    #[must_use]
    pub fn symbol_table(&self) -> SymbolTable {
        SymbolTable {
            identity: self.identity(),
            symbols: self.symbols.clone(),
        }
    }
}
