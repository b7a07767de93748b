//! Matching of messages and receives.
//!
//! A message goes to the oldest receive that it matches, a receive takes the oldest message. Messages of one sender are
//! kept in the order in which they came, so no message overtakes another one that the same receive matches.

use std::collections::VecDeque;

use super::envelope::MessageLabel;

/// Criteria by which a receive takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) context: u32,
    /// `None`: any.
    pub(super) source: Option<u32>,
    /// `None`: any of a program's own, which are not negative.
    pub(super) tag: Option<i32>,
}

impl Pattern {
    pub(super) fn matches(&self, label: &MessageLabel) -> bool {
        self.context == label.context
            && self.source.is_none_or(|source| source == label.source)
            && self.tag.map_or(label.tag >= 0, |tag| tag == label.tag)
    }
}

/// Receives without a message, and messages without a receive. `R` names a receive, `M` is a message.
#[derive(Debug)]
pub(super) struct Matching<R, M> {
    posted: Vec<(Pattern, R)>,
    unexpected: VecDeque<(MessageLabel, M)>,
}

impl<R, M> Matching<R, M> {
    pub(super) const fn new() -> Self {
        Self {
            posted: Vec::new(),
            unexpected: VecDeque::new(),
        }
    }
}

impl<R: PartialEq, M> Matching<R, M> {
    /// The receive for a message that has come, which has one now.
    pub(super) fn arrive(&mut self, label: &MessageLabel) -> Option<R> {
        let found = self
            .posted
            .iter()
            .position(|(pattern, _)| pattern.matches(label));
        found.map(|at| self.posted.remove(at).1)
    }

    /// Keeps a message without a receive.
    pub(super) fn keep(&mut self, label: MessageLabel, message: M) {
        self.unexpected.push_back((label, message));
    }

    /// The message for a new receive, if it has come.
    pub(super) fn take(&mut self, pattern: &Pattern) -> Option<(MessageLabel, M)> {
        let found = self
            .unexpected
            .iter()
            .position(|(label, _)| pattern.matches(label));
        found.and_then(|at| self.unexpected.remove(at))
    }

    /// The message that a receive would take.
    pub(super) fn peek(&self, pattern: &Pattern) -> Option<&(MessageLabel, M)> {
        self.unexpected
            .iter()
            .find(|(label, _)| pattern.matches(label))
    }

    /// Adds a receive for which no message has come.
    pub(super) fn post(&mut self, pattern: Pattern, receive: R) {
        self.posted.push((pattern, receive));
    }

    /// Removes a receive that has no message.
    pub(super) fn withdraw(&mut self, receive: &R) -> bool {
        let found = self.posted.iter().position(|(_, one)| one == receive);
        found.map(|at| self.posted.remove(at)).is_some()
    }

    /// The receives without a message.
    pub(super) fn posted(&self) -> impl Iterator<Item = &(Pattern, R)> {
        self.posted.iter()
    }

    /// Number of messages without a receive.
    pub(super) fn unexpected(&self) -> usize {
        self.unexpected.len()
    }
}
