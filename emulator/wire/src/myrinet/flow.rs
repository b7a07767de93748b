//! Flows: when the bytes of a packet pass a place, as a line. Bytes follow each other at a constant distance until something
//! changes; so an unhindered packet costs a few events, however long it is.

use emulator_base::time::SimTime;
use emulator_state::value_struct;

/// Bytes that pass a place: number `first` at `from`, then one each `step`, as far as number `limit`, which does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flow {
    pub from: SimTime,
    pub first: u64,
    pub step: SimTime,
    pub limit: u64,
}

value_struct!(Flow {
    from: from,
    first: first,
    step: step,
    limit: limit
});

impl Flow {
    /// The time at which byte `number` passes, if the line reaches that far; `number` is not below `first`.
    pub const fn time_of(&self, number: u64) -> SimTime {
        let bytes = number.saturating_sub(self.first);
        let span = self.step.ps().saturating_mul(bytes);
        self.from.saturating_add(SimTime::from_ps(span))
    }

    /// The time at which byte `number` passes, or one that is not later, for bytes that passed before this line began.
    pub const fn arrival_of(&self, number: u64) -> SimTime {
        if number < self.first {
            SimTime::ZERO
        } else {
            self.time_of(number)
        }
    }

    /// Number of bytes that have passed at `time`, with one that passes just then.
    pub fn passed(&self, time: SimTime) -> u64 {
        if time < self.from {
            return self.first;
        }
        let steps = (time - self.from).ps().checked_div(self.step.ps());
        let passed = steps.map_or(self.limit, |steps| {
            self.first.saturating_add(steps).saturating_add(1)
        });
        passed.min(self.limit)
    }

    /// Number of bytes that have passed before `time`.
    pub fn passed_before(&self, time: SimTime) -> u64 {
        match time.ps().checked_sub(1) {
            Some(ps) => self.passed(SimTime::from_ps(ps)),
            None => self.first,
        }
    }

    /// The flow of these bytes at a place further on, `span` later.
    pub const fn delayed(&self, span: SimTime) -> Self {
        Self {
            from: self.from.saturating_add(span),
            ..*self
        }
    }

    /// Whether two lines say the same about all bytes from `number` on.
    pub fn continues(&self, other: &Self, number: u64) -> bool {
        let none = self.limit <= number;
        self.limit == other.limit
            && (none
                || self.time_of(number) == other.time_of(number)
                    && (self.step == other.step || self.limit == number + 1))
    }
}

/// The line on which a transmitter sends byte `next` and those behind it, not before `ready` and one each `step`, while they come in as
/// `supply` says. Byte `n` here is byte `n + 1` there, because the route byte is taken off.
pub(super) fn follow(supply: &Flow, next: u64, ready: SimTime, step: SimTime) -> Flow {
    let idle = Flow {
        from: ready,
        first: next,
        step,
        limit: next,
    };
    let limit = supply.limit.saturating_sub(1);
    if limit <= next {
        return idle;
    }
    let comes = supply.arrival_of(next + 1);
    if comes >= ready {
        return Flow {
            from: comes,
            step: step.max(supply.step),
            limit,
            ..idle
        };
    }
    if supply.step <= step {
        return Flow { limit, ..idle };
    }
    // It sends faster than the bytes come in. It catches up with the first byte that would leave before it came.
    let (mut low, mut high) = (next.max(supply.first.saturating_sub(1)), limit);
    while low < high {
        let middle = low + (high - low) / 2;
        if idle.time_of(middle) < supply.arrival_of(middle + 1) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Flow { limit: low, ..idle }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    fn line(from: u64, first: u64, step: u64, limit: u64) -> Flow {
        Flow {
            from: ns(from),
            first,
            step: ns(step),
            limit,
        }
    }

    #[test]
    fn bytes_pass_one_by_one() {
        let flow = line(100, 5, 10, 8);
        let passed = [99, 100, 109, 110, 120, 1000].map(|at| flow.passed(ns(at)));
        assert_eq!(passed, [5, 6, 6, 7, 8, 8]);
        assert_eq!(flow.passed_before(ns(110)), 6);
        assert_eq!(flow.passed(SimTime::MAX), 8);
    }

    #[test]
    fn a_transmitter_follows_its_supply() {
        // At one rate: byte 0 leaves when byte 1 is there.
        let supply = line(100, 0, 10, 21);
        assert_eq!(follow(&supply, 0, ns(100), ns(10)), line(110, 0, 10, 20));
        // Late: at its own rate, from a full buffer.
        assert_eq!(follow(&supply, 0, ns(500), ns(10)), line(500, 0, 10, 20));
        // Slower than its supply.
        assert_eq!(follow(&supply, 0, ns(100), ns(25)), line(110, 0, 25, 20));
        // Faster: byte 4 would leave at 148 and comes at 150.
        assert_eq!(follow(&supply, 0, ns(140), ns(2)), line(140, 0, 2, 4));
        assert_eq!(follow(&supply, 4, ns(148), ns(2)), line(150, 4, 10, 20));
        // Nothing more comes in.
        assert_eq!(follow(&line(0, 7, 1, 7), 6, ns(50), ns(2)).limit, 6);
    }
}
