//! The event queue of a node: one total order of all events.

use super::initiator::Initiator;
use super::time::SimTime;
use crate::state::{Reader, State, StateError, Value, Writer};
use crate::value_struct;

/// Position of an event in a node's total order: time, then the initiator's rank, then that initiator's own
/// sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// Time of the event.
    pub time: SimTime,
    /// Initiator of the event.
    pub initiator: Initiator,
    /// Sequence number among this initiator's events.
    pub sequence: u64,
}

value_struct!(EventKey {
    time: time,
    initiator: initiator,
    sequence: sequence
});

/// Pending events in their total order.
///
/// A node has few pending events, and most new ones are due soon: in a sorted list their position is found
/// in a few steps from the end.
#[derive(Debug)]
pub struct EventQueue<E> {
    /// Sorted, with the next event at the end.
    pending: Vec<(EventKey, E)>,
    /// Number of events so far, by [number](Initiator::number) of the initiator.
    sequences: Vec<u64>,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            pending: Vec::new(),
            sequences: Vec::new(),
        }
    }
}

impl<E: Value> State for EventQueue<E> {
    fn save(&self, out: &mut Writer) {
        let Self { pending, sequences } = self;
        pending.len().save(out);
        for (key, event) in pending {
            key.save(out);
            event.save(out);
        }
        sequences.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.pending.load(from)?;
        self.sequences.load(from)
    }
}

impl<E> EventQueue<E> {
    /// Schedules `event` for `time`.
    pub fn schedule(&mut self, time: SimTime, initiator: Initiator, event: E) {
        let sequence = self.sequence(initiator);
        *sequence += 1;
        let key = EventKey {
            time,
            initiator,
            sequence: *sequence,
        };
        let is_later = |other: &EventKey| other.time > time || (other.time == time && *other > key);
        let later = self.pending.iter().rposition(|(other, _)| is_later(other));
        self.pending
            .insert(later.map_or(0, |at| at + 1), (key, event));
    }

    #[inline]
    fn sequence(&mut self, initiator: Initiator) -> &mut u64 {
        let index = usize::from(initiator.number());
        if index >= self.sequences.len() {
            self.sequences.resize(index + 1, 0);
        }
        &mut self.sequences[index]
    }

    /// Time of the next event; [`SimTime::MAX`] if none is pending.
    #[must_use]
    pub fn next_time(&self) -> SimTime {
        self.pending
            .last()
            .map_or(SimTime::MAX, |(key, _)| key.time)
    }

    /// Time of the next event for which `counts` is true.
    #[must_use]
    pub fn next_time_of(&self, counts: impl Fn(&E) -> bool) -> SimTime {
        let mut events = self.pending.iter().rev();
        let next = events.find(|(_, event)| counts(event));
        next.map_or(SimTime::MAX, |(key, _)| key.time)
    }

    /// The next event.
    #[must_use]
    pub fn next(&self) -> Option<(EventKey, &E)> {
        self.pending.last().map(|(key, event)| (*key, event))
    }

    /// Takes the next event if it is due before `horizon`.
    pub fn pop_before(&mut self, horizon: SimTime) -> Option<(EventKey, E)> {
        self.pending.pop_if(|(key, _)| key.time < horizon)
    }

    /// All pending events.
    pub(crate) fn events_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.pending.iter_mut().map(|(_, event)| event)
    }

    /// Removes pending events for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(&E) -> bool) {
        self.pending.retain(|(_, event)| keep(event));
    }

    /// The number of pending events.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether nothing is pending.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_time_then_rank_then_sequence() {
        let mut queue = EventQueue::default();
        let t = SimTime::from_ns;
        queue.schedule(t(5), Initiator::Host, "host, first");
        queue.schedule(t(5), Initiator::DmaRead, "read");
        queue.schedule(t(5), Initiator::Host, "host, second");
        queue.schedule(t(4), Initiator::Host, "early");
        queue.schedule(t(9), Initiator::Receiver, "late");
        let mut order = Vec::new();
        while let Some((_, event)) = queue.pop_before(t(9)) {
            order.push(event);
        }
        assert_eq!(order, ["early", "read", "host, first", "host, second"]);
        assert_eq!(queue.next_time(), t(9));
    }
}
