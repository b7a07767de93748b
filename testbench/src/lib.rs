//! The `lanigon` command and the end-to-end tests: experiments, tables, tools.
#![deny(missing_docs)]

pub mod kernel;
