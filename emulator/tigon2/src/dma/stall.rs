//! Injected stalls of a DMA channel.

use emulator_base::time::SimTime;
pub use emulator_board::StallFrom;
use emulator_state::state;

/// Stalls of one channel.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    /// Stalls that have not begun.
    planned: Vec<(StallFrom, SimTime)>,
    /// End of the stalls that have begun.
    until: SimTime,
    /// Number of transfers begun by the channel.
    transfers: u64,
}

state!(Rests {
    planned,
    until,
    transfers
});

impl Rests {
    pub(crate) fn plan(&mut self, from: StallFrom, span: SimTime) {
        self.planned.push((from, span));
    }

    /// Accounts for the start of a transfer.
    pub(crate) fn transfer_begins(&mut self, now: SimTime) {
        self.transfers += 1;
        let number = StallFrom::Transfer(self.transfers);
        for (_, span) in self.planned.extract_if(.., |(from, _)| *from == number) {
            self.until = self.until.max(now.saturating_add(span));
        }
    }

    /// End of the current stall, if there is one.
    pub(crate) fn until(&mut self, now: SimTime) -> Option<SimTime> {
        if !self.planned.is_empty() {
            self.begin_due(now);
        }
        (self.until > now).then_some(self.until)
    }

    fn begin_due(&mut self, now: SimTime) {
        for (from, span) in &self.planned {
            if let StallFrom::Time(from) = from
                && *from <= now
            {
                self.until = self.until.max(from.saturating_add(*span));
            }
        }
        self.planned
            .retain(|(from, _)| !matches!(from, StallFrom::Time(from) if *from <= now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> SimTime {
        SimTime::from_us(us)
    }

    #[test]
    fn a_rest_begins_at_its_time_and_ends() {
        let mut rests = Rests::default();
        rests.plan(StallFrom::Time(us(10)), us(5));
        assert_eq!(rests.until(us(9)), None);
        assert_eq!(rests.until(us(10)), Some(us(15)));
        assert_eq!(rests.until(us(14)), Some(us(15)));
        assert_eq!(rests.until(us(15)), None);
        rests.plan(StallFrom::Time(us(20)), us(5));
        assert_eq!(rests.until(us(30)), None, "it was over before anybody came");
        assert!(rests.planned.is_empty());
    }

    #[test]
    fn a_rest_begins_with_its_transfer() {
        let mut rests = Rests::default();
        rests.plan(StallFrom::Transfer(2), us(5));
        rests.plan(StallFrom::Transfer(2), us(3));
        rests.transfer_begins(us(1));
        assert_eq!(rests.until(us(1)), None);
        rests.transfer_begins(us(2));
        assert_eq!(rests.until(us(2)), Some(us(7)));
        rests.transfer_begins(us(8));
        assert_eq!(rests.until(us(8)), None);
    }
}
