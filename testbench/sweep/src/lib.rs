//! Sweeps: one scenario, run with many values.
//!
//! A sweep is a TOML file (docs/sweep.md): a scenario, *axes* with values for its keys, seeds to repeat each *point* with, and
//! *measures* to take from the results. Its way to tables and plots:
//!
//! | step | module |
//! |------|--------|
//! | the file becomes a checked [`Sweep`](file::Sweep) | `file`, `axis`; the engine's `path`, `measure` |
//! | its runs are enumerated in a fixed order: axes in the order of the file, the last one fastest, then seeds | `plan` |
//! | each run is a text of its own, that of an ordinary scenario, and has a *key*: the hash of that text, of images, profiles and emulator | `plan` |
//! | runs whose key is in a results file are skipped; the others are distributed to threads, one world on one thread | `execute`; the engine's `execute`, `scenario` |
//! | each result is appended to the results file as one line, the document of `lanigon run --json` | `store` |
//! | results are read back, and become `results.csv`, `summary.csv` and plots | `table`, `plot`; the engine's `statistics`, `drawing` |
//! | folders of several machines are joined | `merge` |
//!
//! The engine is the crate `experiments`. Tables are always made from the lines of results files, never from results in memory. So they do not depend on the number of
//! threads, on the order in which runs end, on interruptions or on shards. A measure that is added to a file needs no new run.

pub mod axis;
pub mod error;
pub mod execute;
pub mod file;
pub mod merge;
pub mod plan;
pub mod plot;
pub mod store;
pub mod table;

/// Identity of the emulator: the package's version, and the hash of the sources that determine a run.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("LANIGON_SOURCE"));
