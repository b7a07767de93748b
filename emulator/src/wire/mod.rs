//! What joins nodes: frames and links.

pub mod frame;
pub mod link;
