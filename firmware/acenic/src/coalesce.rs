//! Coalescing: an index is reported to the host after a number of descriptors or after a time.

/// The host's coalescing limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Report at this number of descriptors; 0: no limit.
    pub descriptors: u32,
    /// Report at this delay after the first descriptor; 0: at once.
    pub ticks_us: u32,
}

/// Next action after [`Coalescer::add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporting {
    /// Report now.
    Report,
    /// Set the alarm to `ticks_us` from now: these are the first waiting descriptors.
    SetAlarm,
    /// Wait: the alarm is set already.
    Wait,
}

/// Counts descriptors that are not reported yet.
#[derive(Debug, Clone, Default)]
pub struct Coalescer {
    waiting: u32,
}

impl Coalescer {
    /// A coalescer without waiting descriptors.
    #[must_use]
    pub const fn new() -> Self {
        Self { waiting: 0 }
    }

    /// Adds `count` finished descriptors.
    #[inline(always)]
    pub const fn add(&mut self, count: u32, limits: &Limits) -> Reporting {
        let first = self.waiting == 0;
        self.waiting += count;
        let enough = limits.descriptors != 0 && self.waiting >= limits.descriptors;
        if enough || limits.ticks_us == 0 {
            Reporting::Report
        } else if first {
            Reporting::SetAlarm
        } else {
            Reporting::Wait
        }
    }

    /// Marks all waiting descriptors as reported; returns whether there were any.
    #[inline(always)]
    pub const fn take(&mut self) -> bool {
        let any = self.waiting != 0;
        self.waiting = 0;
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(descriptors: u32, ticks_us: u32, counts: &[u32], expected: &[Reporting]) {
        let limits = Limits {
            descriptors,
            ticks_us,
        };
        let mut coalescer = Coalescer::new();
        let steps = counts.iter().map(|&count| {
            let step = coalescer.add(count, &limits);
            if step == Reporting::Report {
                assert!(coalescer.take());
            }
            step
        });
        assert!(steps.eq(expected.iter().copied()), "{limits:?} {counts:?}");
    }

    #[test]
    fn a_number_or_a_time() {
        use Reporting::{Report, SetAlarm, Wait};
        check(3, 100, &[1, 1, 1, 1], &[SetAlarm, Wait, Report, SetAlarm]);
        check(3, 100, &[2, 2, 4], &[SetAlarm, Report, Report]);
        check(0, 100, &[1000, 1000], &[SetAlarm, Wait]);
        check(5, 0, &[1, 1], &[Report, Report]);
        assert!(!Coalescer::new().take());
    }
}
