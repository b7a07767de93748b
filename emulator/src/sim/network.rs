//! The network of a component: what is under way between its nodes.

/// Something that will happen to a frame under way.
#[derive(Debug)]
pub(super) struct Event;
