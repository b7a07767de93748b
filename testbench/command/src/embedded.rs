//! The firmware images and example scenarios in this program (`build.rs` collects them).

use lanigon_worlds::files::own::{Embedded as EmbeddedData, EmbeddedImage};

/// All data in this program.
pub const EMBEDDED: EmbeddedData = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
