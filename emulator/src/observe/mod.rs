//! Seeing inside: one [`TraceEvent`](event::TraceEvent), and everything else is a sink.

pub mod event;
mod line;
pub mod text;
pub mod tracer;
