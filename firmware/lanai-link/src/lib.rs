//! From bitcode of `rustc` to images for the Myricom LANai.
//!
//! [`link()`] joins objects for the LANai to an image: it resolves symbols, removes what nothing refers to, applies relocations with
//! range checks, and refuses code that is known to be miscompiled. [`driver`] is what `rustc` calls as its linker: it leads
//! bitcode through LLVM's tools to objects, and links these. `docs/lanai-toolchain.md` describes both.

pub mod driver;
mod error;
mod fingerprint;
mod input;
mod layout;
mod link;
mod output;
mod relocation;
mod symbols;

pub use error::{LinkError, Site, Undefined};
pub use fingerprint::{BadCode, Fault};
pub use input::{Definition, Input, MACHINE, Relocation, Role, Section, Symbol};
pub use link::{Image, Options, link};
pub use relocation::{RelocationError, RelocationKind};
