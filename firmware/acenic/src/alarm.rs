//! Several alarms on one timer.

/// Whether `time` is past at `now`; correct for times less than 2^31 us apart.
#[inline(always)]
const fn is_past(time: u32, now: u32) -> bool {
    now.wrapping_sub(time).cast_signed() >= 0
}

/// `COUNT` alarms, each off or set to a time.
#[derive(Debug, Clone)]
pub struct Alarms<const COUNT: usize> {
    times: [Option<u32>; COUNT],
}

impl<const COUNT: usize> Default for Alarms<COUNT> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const COUNT: usize> Alarms<COUNT> {
    /// Alarms that are all off.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            times: [None; COUNT],
        }
    }

    /// Sets an alarm, set or not.
    #[inline(always)]
    pub fn set(&mut self, alarm: usize, time: u32) {
        if let Some(slot) = self.times.get_mut(alarm) {
            *slot = Some(time);
        }
    }

    /// Turns an alarm off.
    #[inline(always)]
    pub fn clear(&mut self, alarm: usize) {
        if let Some(slot) = self.times.get_mut(alarm) {
            *slot = None;
        }
    }

    /// Turns off and returns one alarm whose time is past.
    pub fn take_due(&mut self, now: u32) -> Option<usize> {
        for (alarm, slot) in self.times.iter_mut().enumerate() {
            if slot.is_some_and(|time| is_past(time, now)) {
                *slot = None;
                return Some(alarm);
            }
        }
        None
    }

    /// Time of the next alarm, if one is set.
    #[must_use]
    pub fn next(&self) -> Option<u32> {
        let mut earliest: Option<u32> = None;
        for time in self.times.iter().flatten().copied() {
            if earliest.is_none_or(|other| is_past(time, other)) {
                earliest = Some(time);
            }
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_even_across_the_wrap() {
        let mut alarms = Alarms::<3>::new();
        assert_eq!((alarms.next(), alarms.take_due(0)), (None, None));
        alarms.set(0, 5);
        alarms.set(1, 0xFFFF_FFF0);
        alarms.set(2, 9);
        assert_eq!(alarms.next(), Some(0xFFFF_FFF0));
        assert_eq!(alarms.take_due(0xFFFF_FFEF), None);
        assert_eq!(alarms.take_due(4), Some(1));
        assert_eq!(alarms.take_due(4), None);
        assert_eq!(alarms.next(), Some(5));
        alarms.clear(0);
        assert_eq!(alarms.next(), Some(9));
        assert_eq!(alarms.take_due(9), Some(2));
        assert_eq!(alarms.next(), None);
    }
}
