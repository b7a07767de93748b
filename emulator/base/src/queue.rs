//! The event queue of a node: one total order of all events.

use std::collections::VecDeque;

use super::initiator::Initiator;
use super::time::SimTime;
use emulator_state::value_struct;
use emulator_state::{Reader, State, StateError, Value, Writer};

/// Position of an event in a node's total order: time, then the initiator's rank. Of events with equal keys the one that was scheduled
/// first comes first.
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

/// Number of events for which a queue keeps places.
const ROOM: usize = 16;

/// Number of events in long form, which is the quicker one, before any gets the short one.
const LONG: usize = 128;

/// An event of which there may be thousands, and which then has a short form.
pub trait Shorten: Sized {
    /// The short form.
    type Short: Copy + std::fmt::Debug;

    /// The short form, if this event has one.
    fn short(&self) -> Option<Self::Short>;

    /// The event.
    fn from_short(short: Self::Short) -> Self;
}

/// Whether an event comes behind a new one. Mostly the times differ.
#[inline(always)]
fn is_later(other: &EventKey, new: EventKey) -> bool {
    other.time > new.time || (other.time == new.time && *other > new)
}

/// The key of an event of the host: others are not kept in short form.
const fn of_host(time: SimTime) -> EventKey {
    let initiator = Initiator::Host;
    EventKey { time, initiator }
}

/// Pending events in their total order.
///
/// A node has few pending events, and most new ones are due soon: in a sorted list their position is found
/// in a few steps from the end. A host that writes much to its board is ahead of its bus: then thousands are pending, and each new one
/// is the last. Where so many boards start at once, these writes would be half of all memory: most of them are kept in short form.
#[derive(Debug)]
pub struct EventQueue<E: Shorten> {
    /// Pending events in long form, sorted, with the next one at the end.
    pending: VecDeque<(EventKey, E)>,
    /// Time of the next event; [`SimTime::MAX`] if none is pending. It is read once in a few emulated instructions.
    next_time: SimTime,
    /// Further events of the host, each later than the one before. The next event is never among them, nor is one with the key of
    /// another event: keys alone tell their places.
    short: VecDeque<(SimTime, E::Short)>,
}

impl<E: Shorten> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            next_time: SimTime::MAX,
            short: VecDeque::new(),
        }
    }
}

impl<E: Shorten + Value> State for EventQueue<E> {
    /// Saves all events as one list, whatever their form.
    fn save(&self, out: &mut Writer) {
        let Self {
            pending,
            next_time: _,
            short,
        } = self;
        let mut short = short.iter().rev().peekable();
        self.len().save(out);
        for (key, event) in pending {
            while let Some((time, event)) = short.next_if(|(time, _)| of_host(*time) > *key) {
                of_host(*time).write(out);
                E::from_short(*event).write(out);
            }
            key.write(out);
            event.write(out);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.short.clear();
        self.pending.load(from)?;
        self.note_next();
        Ok(())
    }
}

impl<E: Shorten> EventQueue<E> {
    /// Schedules `event` for `time`.
    pub fn schedule(&mut self, time: SimTime, initiator: Initiator, event: E) {
        let key = EventKey { time, initiator };
        self.next_time = self.next_time.min(time);
        match self.pending.back() {
            // Mostly the new event is the next one.
            Some((next, _)) if is_later(next, key) => return self.pending.push_back((key, event)),
            _ => {}
        }
        if (self.pending.len() >= LONG || !self.short.is_empty())
            && let Some(short) = self.shorten(key, &event)
        {
            return self.short.push_back((time, short));
        }
        match self.pending.front() {
            Some((latest, _)) if is_later(latest, key) => {
                let mut pending = self.pending.iter();
                let later = pending.rposition(|(other, _)| is_later(other, key));
                let place = later.map_or(0, |at| at + 1);
                self.pending.insert(place, (key, event));
            }
            _ => self.pending.push_front((key, event)),
        }
    }

    /// The short form of a new event if it can be kept in that form. Of two events with equal keys, the order in which they were scheduled
    /// counts: both are long then.
    // Only while many events are pending ([`LONG`]), and so kept out of `schedule`.
    #[inline(never)]
    fn shorten(&mut self, key: EventKey, event: &E) -> Option<E::Short> {
        if key.initiator != Initiator::Host {
            return None;
        }
        let last = self.short.back();
        if last.is_some_and(|(last, _)| key.time <= *last) {
            self.lengthen_equal(key);
            return None;
        }
        let has_equal = || {
            let other = self.pending.binary_search_by(|(other, _)| key.cmp(other));
            other.is_ok()
        };
        let short = event.short().filter(|_| self.pending.len() >= LONG)?;
        (!has_equal()).then_some(short)
    }

    /// Gives the event with this key its long form.
    #[cold]
    fn lengthen_equal(&mut self, key: EventKey) {
        let equal = self
            .short
            .binary_search_by_key(&key.time, |(time, _)| *time);
        let Some((_, event)) = equal.ok().and_then(|at| self.short.remove(at)) else {
            return;
        };
        self.pending.push_front((key, E::from_short(event)));
        let later = self.pending.iter().skip(1);
        let later = later.take_while(|(other, _)| *other > key).count();
        for at in 0..later {
            self.pending.swap(at, at + 1);
        }
    }

    /// Time of the next event; [`SimTime::MAX`] if none is pending.
    #[must_use]
    #[inline(always)]
    pub const fn next_time(&self) -> SimTime {
        self.next_time
    }

    /// Updates the time of the next event, after events were taken away.
    fn note_next(&mut self) {
        let next = self.pending.back();
        self.next_time = next.map_or(SimTime::MAX, |(key, _)| key.time);
    }

    /// Gives the event behind the next one its long form: then the next one can be taken.
    // Only while events have short forms, and so kept out of the functions that take events.
    #[inline(never)]
    fn lengthen_second(&mut self) {
        let next = self.pending.pop_back();
        self.lengthen_next();
        self.pending.extend(next);
    }

    /// Gives the first event in short form its long one if none comes before it.
    fn lengthen_next(&mut self) {
        let next = self.pending.back().map(|(key, _)| *key);
        let is_next = |time| next.is_none_or(|next| of_host(time) < next);
        let first = self.short.pop_front_if(|(time, _)| is_next(*time));
        let first = first.map(|(time, event)| (of_host(time), E::from_short(event)));
        self.pending.extend(first);
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
        for &(time, event) in &self.short {
            if time >= earliest {
                break;
            }
            earliest = earliest.min(time_of(time, &E::from_short(event)));
        }
        earliest
    }

    /// The time of the last event that is as asked, among those without a short form.
    #[must_use]
    pub fn latest(&self, is: impl Fn(&E) -> bool) -> Option<SimTime> {
        let mut events = self.pending.iter();
        let latest = events.find(|(_, event)| is(event));
        latest.map(|(key, _)| key.time)
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
        if !self.short.is_empty() {
            self.lengthen_second();
        }
        let event = self.pending.pop_back();
        self.note_next();
        event
    }

    /// Gives up places that have become many too many. They are used in turn: the more there are, the longer has the next one not been in
    /// a cache.
    pub fn give_up_room(&mut self) {
        give_up_room(&mut self.pending);
        give_up_room(&mut self.short);
    }

    /// Takes the next event if it is as asked.
    pub fn pop_if(&mut self, is: impl FnOnce(&E) -> bool) -> Option<(EventKey, E)> {
        if !self.short.is_empty() {
            self.lengthen_second();
        }
        let event = self.pending.pop_back_if(|(_, event)| is(event))?;
        self.note_next();
        Some(event)
    }

    /// All pending events, but for some that have a short form.
    pub fn events_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.pending.iter_mut().map(|(_, event)| event)
    }

    /// Removes pending events for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(&E) -> bool) {
        self.pending.retain(|(_, event)| keep(event));
        self.short.retain(|(_, event)| keep(&E::from_short(*event)));
        self.lengthen_next();
        self.note_next();
    }

    /// The number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len() + self.short.len()
    }

    /// Whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

fn give_up_room<T>(list: &mut VecDeque<T>) {
    let room = ROOM.max(2 * list.len());
    if list.capacity() > 4 * room {
        list.shrink_to(room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Shorten for &str {
        type Short = ();

        fn short(&self) -> Option<()> {
            None
        }

        fn from_short((): ()) -> Self {
            ""
        }
    }

    /// Even numbers have a short form.
    impl Shorten for u64 {
        type Short = u32;

        fn short(&self) -> Option<u32> {
            self.is_multiple_of(2).then_some(*self as u32)
        }

        fn from_short(short: u32) -> Self {
            short.into()
        }
    }

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
        for (index, time) in (0_u64..).zip(times.clone()) {
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

    /// Random events with many equal keys, taken now and then, beside a sorted list; long rows of events of the host, as when it writes.
    #[test]
    fn short_forms_keep_the_order() {
        let mut queue = EventQueue::<u64>::default();
        let (mut expected, mut now, mut most) = (Vec::new(), 0, 0);
        let (mut random, mut bus) = (1_u64, 0);
        for step in 0..20_000_u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let number = random >> 33;
            let writes = step % 4000 < 2000;
            let (soon, own) = (now + number / 8 % 2000, number | 1);
            let (time, initiator, number) = match number % 8 {
                0 => (soon, Initiator::DmaRead, number),
                1 => (soon, Initiator::Cpu(0), number),
                2 => (soon, Initiator::Host, own),
                _ => (bus.max(now) + 1, Initiator::Host, 2 * step),
            };
            if initiator == Initiator::Host && number != own {
                bus = time;
            }
            let time = SimTime::from_ns(time);
            let key = EventKey { time, initiator };
            queue.schedule(time, initiator, number);
            expected.push((key, number));
            expected.sort_by_key(|(key, _)| *key);
            most = most.max(queue.short.len());
            let take = if writes { u64::from(step % 16 == 0) } else { 2 };
            for _ in 0..take {
                if let Some((key, number)) = queue.pop_before(SimTime::MAX) {
                    assert_eq!((key, number), expected.remove(0));
                    now = key.time.ps() / 1000;
                }
            }
            let next = expected.first().map_or(SimTime::MAX, |(key, _)| key.time);
            assert_eq!((queue.next_time(), queue.len()), (next, expected.len()));
        }
        assert!(most > 500, "{most} events in short form");
    }

    #[test]
    fn short_forms_are_saved_found_and_removed_like_others() {
        let mut queue = EventQueue::<u64>::default();
        queue.schedule(SimTime::from_ns(950), Initiator::DmaRead, 7);
        for index in 0..1000 {
            let time = SimTime::from_ns(index + 1);
            queue.schedule(time, Initiator::Host, 2 * index);
        }
        assert!(queue.short.len() > 800);
        let saved = |queue: &EventQueue<u64>| {
            let mut out = Writer::default();
            queue.save(&mut out);
            out.into_bytes()
        };
        let bytes = saved(&queue);
        let mut loaded = EventQueue::default();
        loaded.load(&mut Reader::new(&bytes)).unwrap();
        assert!(loaded.short.is_empty());
        assert_eq!(saved(&loaded), bytes);
        // The only event that matters is a late one.
        let matters = |time, event: &u64| if *event == 1800 { time } else { SimTime::MAX };
        for queue in [&mut queue, &mut loaded] {
            assert_eq!(queue.earliest(SimTime::MAX, matters), SimTime::from_ns(901));
            queue.retain(|event| *event >= 1900 || *event == 7);
            assert_eq!(
                (queue.len(), queue.next_time()),
                (51, SimTime::from_ns(950))
            );
        }
        assert_eq!(saved(&loaded), saved(&queue));
    }
}
