//! The firmware images, example scenarios and sweeps in this program (`build.rs` collects them).

use lanigon_worlds::files::own;

/// All data in this program.
pub const EMBEDDED: own::Embedded = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
