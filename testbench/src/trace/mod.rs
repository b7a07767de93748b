//! Traces: how they are recorded, read, shown, searched, counted and compared.

pub mod args;
pub mod open;
pub mod record;
pub mod rows;
