//! Worlds from scenarios: nodes, networks, host programs and faults, built and run.

pub mod acenic;
pub mod boards;
pub mod builder;
pub mod calibrate;
pub mod faults;
pub mod files;
pub mod fm;
pub mod gm;
pub mod images;
pub mod interrupt;
pub mod kernel;
pub mod myrinet;
pub mod nodes;
pub mod outcome;
pub mod pairs;
mod panic_text;
pub mod processes;
pub mod profile;
pub mod programs;
pub mod ranks;
pub mod replay;
pub mod scenario;
pub mod simulation;
pub mod stopped;
pub mod text;
pub mod wire;
pub mod workload;
