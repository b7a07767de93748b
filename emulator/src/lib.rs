//! Cycle-approximate emulation of programmable NICs.
//!
//! ARCHITECTURE.md tells how the parts fit together. [`tigon2`] and [`lanai`] are the boards; [`sim`] joins
//! boards, [`host`]s and [`wire`]s into a world.
#![deny(missing_docs)]

pub mod boards;

pub use emulator_base::random;
pub use emulator_board as board;
pub use emulator_cpu as cpu;
pub use emulator_debug as debug;
pub use emulator_host as host;
pub use emulator_image as image;
pub use emulator_lanai as lanai;
pub use emulator_observe as observe;
pub use emulator_profile as profile;
pub use emulator_sim as sim;
pub use emulator_state as state;
pub use emulator_state::{state, value_enum, value_struct};
pub use emulator_tigon2 as tigon2;
pub use emulator_wire as wire;
