//! Completion queues.

use std::collections::VecDeque;

use crate::ffi::CqEntry;

/// An entry of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    pub entry: CqEntry,
    /// Address of the sender.
    pub source: Option<u64>,
    /// An error, and the bytes that found no room.
    pub error: Option<(i32, usize)>,
}

/// A completion queue.
#[derive(Debug, Default)]
pub struct EventQueue {
    entries: VecDeque<Completion>,
    /// Number of reads that have found nothing since something was done.
    pub vain_reads: u32,
}

impl EventQueue {
    pub fn push(&mut self, completion: Completion) {
        self.entries.push_back(completion);
    }

    /// Whether an error is next.
    pub fn has_error(&self) -> bool {
        let next = self.entries.front();
        next.is_some_and(|completion| completion.error.is_some())
    }

    /// The next completions without error, so many at most.
    pub fn take(&mut self, most: usize) -> Vec<Completion> {
        let good = self
            .entries
            .iter()
            .take_while(|completion| completion.error.is_none());
        let count = good.take(most).count();
        self.entries.drain(..count).collect()
    }

    /// The next error.
    pub fn take_error(&mut self) -> Option<Completion> {
        self.entries
            .pop_front_if(|completion| completion.error.is_some())
    }
}
