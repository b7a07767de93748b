//! Cycle-approximate emulation of programmable NICs.
//!
//! ARCHITECTURE.md tells how the parts fit together. [`tigon2`] and [`lanai`] are the boards; [`sim`] joins
//! boards, [`host`]s and [`wire`]s into a world.
#![deny(missing_docs)]

mod base;
pub mod board;
pub mod boards;
pub mod cpu;
pub mod debug;
pub mod host;
pub mod image;
pub mod lanai;
pub mod observe;
pub mod profile;
pub mod sim;
pub mod state;
pub mod tigon2;
pub mod wire;
