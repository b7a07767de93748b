//! What a trace or a profile keeps of an image: which one it was, and the names of its addresses.

use std::fmt;
use std::hash::Hasher;

use serde::{Deserialize, Serialize};

use super::{Image, Symbols};
use crate::observe::tracer::Fnv;

/// Tells images apart: a hash of the entry point and of everything that is loaded. Names, lines and probes are no
/// part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity(pub u64);

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The names of an image's addresses, for those who do not have the image any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolTable {
    /// Whose names they are.
    pub identity: Identity,
    /// The names.
    pub symbols: Symbols,
}

impl Image {
    /// What tells this image from others.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let mut hash = Fnv::default();
        hash.write_u32(self.entry);
        for segment in &self.segments {
            hash.write_u32(segment.load_address);
            hash.write_u32(segment.run_address);
            hash.write_u32(segment.memory_bytes);
            hash.write_usize(segment.bytes.len());
            hash.write(&segment.bytes);
        }
        Identity(hash.finish())
    }

    /// The names of its addresses, with its identity.
    #[must_use]
    pub fn symbol_table(&self) -> SymbolTable {
        SymbolTable {
            identity: self.identity(),
            symbols: self.symbols.clone(),
        }
    }
}
