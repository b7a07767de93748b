//! Observation of a run: [`TraceEvent`](event::TraceEvent)s. All tools are an
//! [`Observer`](stream::Observer) of the stream of events, or of the frames on the wires
//! ([`FrameObserver`](capture::FrameObserver)).
#![deny(missing_docs)]

pub mod capture;
pub mod event;
pub mod file;
pub mod gauges;
pub mod instructions;
mod line;
pub mod names;
pub mod pcapng;
pub mod stream;
pub mod text;
pub mod tracer;
mod words;
