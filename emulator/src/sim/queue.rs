//! The event queue of a node: one total order, whoever schedules.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::initiator::Initiator;
use super::time::SimTime;

/// The place of an event in a node's total order: time, then the initiator's rank, then that
/// initiator's own sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// When.
    pub time: SimTime,
    /// Who.
    pub initiator: Initiator,
    /// The how-manieth event of this initiator.
    pub sequence: u64,
}

#[derive(Debug)]
struct Entry<E> {
    key: EventKey,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Pending events in their total order.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    sequences: [u64; Initiator::COUNT],
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            sequences: [0; Initiator::COUNT],
        }
    }
}

impl<E> EventQueue<E> {
    /// Schedules `event` for `time`.
    pub fn schedule(&mut self, time: SimTime, initiator: Initiator, event: E) {
        let sequence = &mut self.sequences[initiator as usize];
        *sequence += 1;
        let key = EventKey {
            time,
            initiator,
            sequence: *sequence,
        };
        self.heap.push(Reverse(Entry { key, event }));
    }

    /// When the next event is due; [`SimTime::MAX`] when none is pending.
    #[must_use]
    pub fn next_time(&self) -> SimTime {
        self.heap
            .peek()
            .map_or(SimTime::MAX, |Reverse(entry)| entry.key.time)
    }

    /// Takes the next event if it is due before `horizon`.
    pub fn pop_before(&mut self, horizon: SimTime) -> Option<(EventKey, E)> {
        if self.next_time() >= horizon {
            return None;
        }
        self.heap
            .pop()
            .map(|Reverse(entry)| (entry.key, entry.event))
    }

    /// The number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
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
        queue.schedule(t(9), Initiator::MacReceive, "late");
        let mut order = Vec::new();
        while let Some((_, event)) = queue.pop_before(t(9)) {
            order.push(event);
        }
        assert_eq!(order, ["early", "read", "host, first", "host, second"]);
        assert_eq!(queue.next_time(), t(9));
    }
}
