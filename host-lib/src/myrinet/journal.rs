//! Record of a host's progress: milestones, remarks and values, shared with the program that shows them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Kind of an entry of a [`Journal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A milestone was reached; its name.
    Milestone(&'static str),
    /// Additional information.
    Remark,
}

/// An entry of a [`Journal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// Time since power-on, in picoseconds.
    pub time_ps: u64,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Description.
    pub text: String,
}

/// A named result that the control program left in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedValue {
    /// Name of the result.
    pub name: String,
    /// Value; words with a sign keep it.
    pub value: i64,
}

/// Entries and values of a journal.
#[derive(Debug, Default)]
struct Content {
    entries: Vec<JournalEntry>,
    values: Vec<NamedValue>,
}

/// Shared record of a host's progress; clones share their contents.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Content>>);

impl Journal {
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, time_ps: u64, kind: EntryKind, text: String) {
        let entry = JournalEntry {
            time_ps,
            kind,
            text,
        };
        self.lock().entries.push(entry);
    }

    pub(super) fn value(&self, name: String, value: i64) {
        self.lock().values.push(NamedValue { name, value });
    }

    /// Entries from number `first` on.
    #[must_use]
    pub fn entries_from(&self, first: usize) -> Vec<JournalEntry> {
        let content = self.lock();
        content.entries.get(first..).unwrap_or_default().to_vec()
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> Vec<NamedValue> {
        self.lock().values.clone()
    }

    /// Whether the milestone with this name was reached.
    #[must_use]
    pub fn has(&self, milestone: &str) -> bool {
        let is = |entry: &JournalEntry| entry.kind_is(milestone);
        self.lock().entries.iter().any(is)
    }
}

impl JournalEntry {
    fn kind_is(&self, milestone: &str) -> bool {
        matches!(self.kind, EntryKind::Milestone(name) if name == milestone)
    }
}
