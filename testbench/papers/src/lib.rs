//! Reproduction of published results: experiments, published numbers, tables, plots and claims.

pub mod collectives;
pub mod conditions;
pub mod dsm;
pub mod experiments;
pub mod gm;
pub mod interval;
pub mod multicast;
mod page;
pub mod published;
pub mod reproduce;
pub mod table_file;
pub mod verdict;
