//! The engine of experiments: one way from a request to measured points, published numbers, claims, figures and a report.
//!
//! | step | module |
//! |------|--------|
//! | a list of [`Paper`](paper::Paper)s; a request names one, and its options are checked | `paper` |
//! | the paper's [`Experiment`](experiment::Experiment) says what is measured, and how | `experiment` |
//! | its points are scenarios that a file says; or it measures them itself | `scenarios`, `grid`, `scenario`, `path`; `means` |
//! | its points are measured on all threads, each a world of its own | `execute` |
//! | a file states the own numbers beside published ones, claims and figures, as formulas of the points | `statements`, `formula` |
//! | published numbers stand beside measured ones; claims get verdicts that the numbers carry | `published`, `row`, `interval`, `verdict` |
//! | all of it becomes one document, a text, figures and a report, printed or written into a folder | `document`, `drawing`, `page`, `folder` |
//! | several papers become one summary | `summary` |
//!
//! A sweep is an experiment that its user writes (crate `sweep`): it takes threads (`execute`), runs of scenarios (`scenario`), numbers
//! of their documents (`path`, `measure`), means with confidence intervals (`statistics`) and figures (`drawing`) from here, and adds its file
//! format, plan, store and tables.

#![deny(missing_docs)]

pub mod conditions;
pub mod document;
pub mod drawing;
pub mod error;
pub mod execute;
pub mod experiment;
pub mod folder;
pub mod formula;
pub mod grid;
pub mod interval;
pub mod means;
pub mod measure;
pub mod page;
pub mod paper;
pub mod path;
pub mod published;
pub mod row;
pub mod scenario;
pub mod scenarios;
pub mod statements;
pub mod statistics;
pub mod summary;
pub mod verdict;

pub use error::Error;

#[cfg(test)]
mod tests;
