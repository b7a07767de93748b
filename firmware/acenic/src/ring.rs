//! A ring in host memory whose descriptors are fetched into a cache of equal layout.
//!
//! Four indices follow each other around the ring: the host produces, the firmware requests, DMA fetches,
//! the firmware consumes.

/// Consecutive descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Index of the first descriptor.
    pub first: u32,
    /// Number of descriptors; they do not wrap.
    pub count: u32,
}

/// The indices of a ring.
#[derive(Debug, Clone)]
pub struct CachedRing {
    entries: u32,
    producer: u32,
    requested: u32,
    fetched: u32,
    taken: u32,
    /// Fetches in progress.
    fetches: u32,
    /// Number of the oldest fetches that a reset has invalidated.
    void: u32,
}

impl CachedRing {
    /// An empty ring. A ring of no entries accepts no descriptors.
    #[must_use]
    pub const fn new(entries: u32) -> Self {
        Self {
            entries,
            producer: 0,
            requested: 0,
            fetched: 0,
            taken: 0,
            fetches: 0,
            void: 0,
        }
    }

    /// `index` + `count` modulo the ring size; both are at most the number of entries.
    #[inline(always)]
    const fn advance(&self, index: u32, count: u32) -> u32 {
        let sum = index + count;
        if sum >= self.entries {
            sum - self.entries
        } else {
            sum
        }
    }

    #[inline(always)]
    const fn distance(&self, from: u32, to: u32) -> u32 {
        if to >= from {
            to - from
        } else {
            to + self.entries - from
        }
    }

    /// Sets the host's producer index. Returns whether it lies in the ring; otherwise nothing changes.
    #[inline(always)]
    pub const fn set_producer(&mut self, producer: u32) -> bool {
        // A host may count up to the number of entries, which is equivalent to 0.
        let inside = producer <= self.entries && self.entries != 0;
        if inside {
            self.producer = self.advance(producer, 0);
        }
        inside
    }

    /// The next descriptors to fetch.
    #[inline(always)]
    #[must_use]
    pub const fn to_request(&self) -> Option<Span> {
        let first = self.requested;
        let end = if self.producer >= first {
            self.producer
        } else {
            self.entries
        };
        if first == end {
            None
        } else {
            Some(Span {
                first,
                count: end - first,
            })
        }
    }

    /// Records a started fetch of the next `count` descriptors.
    #[inline(always)]
    pub const fn request(&mut self, count: u32) {
        self.requested = self.advance(self.requested, count);
        self.fetches += 1;
    }

    /// Records the end of the oldest fetch, of `count` descriptors.
    #[inline(always)]
    pub const fn arrived(&mut self, count: u32) {
        self.fetches = self.fetches.saturating_sub(1);
        if self.void != 0 {
            self.void -= 1;
        } else {
            self.fetched = self.advance(self.fetched, count);
        }
    }

    /// Marks all produced descriptors as available without a fetch.
    #[inline(always)]
    pub const fn all_at_hand(&mut self) {
        self.requested = self.producer;
        self.fetched = self.producer;
    }

    /// Number of available descriptors.
    #[inline(always)]
    #[must_use]
    pub const fn available(&self) -> u32 {
        self.distance(self.taken, self.fetched)
    }

    /// Whether every produced descriptor was taken.
    #[inline(always)]
    #[must_use]
    pub const fn is_dry(&self) -> bool {
        self.taken == self.producer
    }

    /// Index of the available descriptor `ahead` of the next one.
    #[inline(always)]
    #[must_use]
    pub const fn peek(&self, ahead: u32) -> u32 {
        self.advance(self.taken, ahead)
    }

    /// Takes the next `count` available descriptors.
    #[inline(always)]
    pub const fn take(&mut self, count: u32) {
        self.taken = self.advance(self.taken, count);
    }

    /// Entries of the ring.
    #[inline(always)]
    #[must_use]
    pub const fn entries(&self) -> u32 {
        self.entries
    }

    /// Discards all descriptors; the host starts again at index 0.
    pub const fn reset(&mut self) {
        let fetches = self.fetches;
        *self = Self::new(self.entries);
        self.fetches = fetches;
        self.void = fetches;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fetches_do_not_wrap() {
        let mut ring = CachedRing::new(8);
        assert!(ring.set_producer(6));
        assert_eq!(ring.to_request(), Some(Span { first: 0, count: 6 }));
        ring.request(6);
        assert_eq!((ring.to_request(), ring.available()), (None, 0));
        ring.arrived(6);
        assert_eq!((ring.available(), ring.peek(5)), (6, 5));
        ring.take(5);
        assert!(ring.set_producer(3));
        assert_eq!(ring.to_request(), Some(Span { first: 6, count: 2 }));
        ring.request(2);
        assert_eq!(ring.to_request(), Some(Span { first: 0, count: 3 }));
        ring.request(3);
        ring.arrived(2);
        ring.arrived(3);
        assert_eq!((ring.available(), ring.peek(3)), (6, 0));
        ring.take(6);
        assert!(ring.is_dry());
    }

    #[test]
    fn bad_indices_are_refused() {
        let mut ring = CachedRing::new(8);
        assert!(!ring.set_producer(9));
        assert!(ring.is_dry());
        assert!(ring.set_producer(8));
        assert!(ring.is_dry());
        assert!(!CachedRing::new(0).set_producer(0));
    }

    #[test]
    fn a_reset_makes_fetches_void() {
        let mut ring = CachedRing::new(8);
        ring.set_producer(4);
        ring.request(2);
        ring.request(2);
        ring.reset();
        ring.set_producer(3);
        ring.request(3);
        ring.arrived(2);
        ring.arrived(2);
        assert_eq!(ring.available(), 0);
        ring.arrived(3);
        assert_eq!(ring.available(), 3);
    }

    proptest! {
        /// Every descriptor that the host produces is taken exactly once, in order.
        #[test]
        fn nothing_is_lost(entries in 2u32..40, steps in prop::collection::vec((0u32..40, 0u32..40), 1..200)) {
            let mut ring = CachedRing::new(entries);
            let (mut produced, mut taken) = (0u32, 0u32);
            let mut under_way = std::collections::VecDeque::new();
            for (more, some) in steps {
                let room = entries - 1 - (produced - taken);
                produced += more.min(room);
                prop_assert!(ring.set_producer(produced % entries));
                while let Some(span) = ring.to_request() {
                    prop_assert!(span.first + span.count <= entries);
                    ring.request(span.count);
                    under_way.push_back(span.count);
                }
                if let Some(count) = under_way.pop_front() {
                    ring.arrived(count);
                }
                let count = some.min(ring.available());
                prop_assert!(taken + ring.available() <= produced);
                prop_assert_eq!(ring.peek(0), taken % entries);
                ring.take(count);
                taken += count;
            }
            while let Some(count) = under_way.pop_front() {
                ring.arrived(count);
            }
            prop_assert_eq!(taken + ring.available(), produced);
        }
    }

    extern crate std;
}
