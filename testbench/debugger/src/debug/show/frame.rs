//! Display of frame heads.

/// Description of a frame from its first words: fields by name, or the frame's type.
pub(in crate::debug) use lanigon_analysis::capture::head::describe;
