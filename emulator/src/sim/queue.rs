//! The event queue of a node: one total order of all events.

use std::collections::VecDeque;

use super::initiator::Initiator;
use super::time::SimTime;
use crate::state::{Reader, State, StateError, Value, Writer};
use crate::value_struct;

/// Position of an event in a node's total order: time, then the initiator's rank. Of events with equal keys the one that was scheduled first
/// comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// Time of the event.
    pub time: SimTime,
    /// Initiator of the event.
    pub initiator: Initiator,
}

value_struct!(EventKey {
    time: time,
    initiator: initiator
});

/// A queue keeps places for so many events.
const ROOM: usize = 16;

/// Pending events in their total order.
///
/// A node has few pending events, and most new ones are due soon: in a sorted list their position is found
/// in a few steps from the end. A host that writes much to its board is ahead of its bus: then thousands are pending, and each new one
/// is the last.
#[derive(Debug)]
pub struct EventQueue<E> {
    /// Sorted, with the next event at the end.
    pending: VecDeque<(EventKey, E)>,
    /// Time of the next event; [`SimTime::MAX`] if none is pending. It is read once in a few emulated instructions.
    next_time: SimTime,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            next_time: SimTime::MAX,
        }
    }
}

impl<E: Value> State for EventQueue<E> {
    fn save(&self, out: &mut Writer) {
        let Self {
            pending,
            next_time: _,
        } = self;
        pending.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.pending.load(from)?;
        self.note_next();
        Ok(())
    }
}

impl<E> EventQueue<E> {
    /// Schedules `event` for `time`.
    pub fn schedule(&mut self, time: SimTime, initiator: Initiator, event: E) {
        let key = EventKey { time, initiator };
        self.next_time = self.next_time.min(time);
        let is_later = |other: &EventKey| other.time > time || (other.time == time && *other > key);
        match self.pending.back() {
            // Mostly the new event is the next one.
            Some((next, _)) if is_later(next) => return self.pending.push_back((key, event)),
            _ => {}
        }
        match self.pending.front() {
            Some((latest, _)) if is_later(latest) => {
                let later = self.pending.iter().rposition(|(other, _)| is_later(other));
                let place = later.map_or(0, |at| at + 1);
                self.pending.insert(place, (key, event));
            }
            _ => self.pending.push_front((key, event)),
        }
    }

    /// Time of the next event; [`SimTime::MAX`] if none is pending.
    #[must_use]
    #[inline(always)]
    pub const fn next_time(&self) -> SimTime {
        self.next_time
    }

    /// Events were taken away.
    fn note_next(&mut self) {
        let next = self.pending.back();
        self.next_time = next.map_or(SimTime::MAX, |(key, _)| key.time);
    }

    /// The earliest of `limit` and of the times that `time_of` gives to events, none of which is before the event itself.
    #[must_use]
    pub fn earliest(&self, limit: SimTime, time_of: impl Fn(SimTime, &E) -> SimTime) -> SimTime {
        if self.next_time >= limit {
            return limit;
        }
        let mut earliest = limit;
        for (key, event) in self.pending.iter().rev() {
            if key.time >= earliest {
                break;
            }
            earliest = earliest.min(time_of(key.time, event));
        }
        earliest
    }

    /// The next event.
    #[must_use]
    pub fn next(&self) -> Option<(EventKey, &E)> {
        self.pending.back().map(|(key, event)| (*key, event))
    }

    /// Takes the next event if it is due before `horizon`.
    pub fn pop_before(&mut self, horizon: SimTime) -> Option<(EventKey, E)> {
        if self.next_time >= horizon {
            return None;
        }
        let event = self.pending.pop_back();
        self.note_next();
        event
    }

    /// Gives up places that have become many too many. They are used in turn: the more there are, the longer has the next one not been in
    /// a cache.
    pub(super) fn give_up_room(&mut self) {
        let room = ROOM.max(2 * self.pending.len());
        if self.pending.capacity() > 4 * room {
            self.pending.shrink_to(room);
        }
    }

    /// Takes the next event if it is as asked.
    pub fn pop_if(&mut self, is: impl FnOnce(&E) -> bool) -> Option<(EventKey, E)> {
        let event = self.pending.pop_back_if(|(_, event)| is(event))?;
        self.note_next();
        Some(event)
    }

    /// All pending events.
    pub(crate) fn events_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.pending.iter_mut().map(|(_, event)| event)
    }

    /// Removes pending events for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(&E) -> bool) {
        self.pending.retain(|(_, event)| keep(event));
        self.note_next();
    }

    /// The number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_time_then_rank_then_scheduling() {
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

    /// Events of equal times keep their order wherever they are put, also before and behind all others.
    #[test]
    fn many_events_keep_their_order() {
        let mut queue = EventQueue::default();
        let times = (0..4000_u64).map(|index| index * 7919 % 1000);
        for (index, time) in times.clone().enumerate() {
            queue.schedule(SimTime::from_ns(time), Initiator::Host, index);
        }
        let mut expected: Vec<_> = times.zip(0..).collect();
        expected.sort_unstable();
        let taken = std::iter::from_fn(|| queue.pop_before(SimTime::MAX));
        let taken: Vec<_> = taken.map(|(key, index)| (key.time, index)).collect();
        let expected = expected.into_iter();
        let expected: Vec<_> = expected
            .map(|(time, index)| (SimTime::from_ns(time), index))
            .collect();
        assert_eq!(taken, expected);
    }
}
