//! Ethernet: frames, links, lines and switches.

pub mod frame;
pub mod line;
pub mod link;
pub mod switch;
