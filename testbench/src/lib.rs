//! The `lanigon` command and the end-to-end tests: experiments, tables, tools.
#![deny(missing_docs)]

pub mod acenic;
pub mod bench;
pub mod capture;
pub mod cli;
pub mod cluster;
pub mod commands;
pub mod debug;
pub mod experiments;
pub mod faults;
pub mod gdb;
pub mod interrupt;
pub mod kernel;
pub mod kit;
pub mod ledger;
pub mod logging;
pub mod messages;
pub mod output;
pub mod profile;
pub mod profiler;
pub mod programs;
pub mod progress;
pub mod published;
pub mod reproduce;
pub mod scenario;
pub mod simulation;
pub mod timeline;
pub mod trace;
