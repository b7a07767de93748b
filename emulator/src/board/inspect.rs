//! What tools see of any board.

/// A board, as reports and debuggers look at it. To look changes nothing.
pub trait Inspect {
    /// One line for each core: where it stands, for reports.
    fn describe_cores(&self) -> Vec<String>;
}
