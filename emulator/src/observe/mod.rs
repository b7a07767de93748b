//! Seeing inside: one [`TraceEvent`](event::TraceEvent); everything else is an
//! [`Observer`](stream::Observer) of the stream of events.

pub mod event;
mod line;
pub mod stream;
pub mod text;
pub mod tracer;
