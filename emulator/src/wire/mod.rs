//! What joins nodes: frames, links, switches, and what goes wrong between them.

pub mod fault;
pub mod frame;
pub mod line;
pub mod link;
pub mod port;
pub mod switch;
