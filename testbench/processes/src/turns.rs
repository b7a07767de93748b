//! Turns of a process: whether the world's thread looks for its next request before it sleeps.
//!
//! World and process take turns. A process that only exchanges messages has its next request after some microseconds, and a thread that sleeps takes
//! longer than that to wake. So after short turns the world's thread looks again and again for a while, without giving its CPU away.
//! That changes the speed only, never a result.

use std::time::{Duration, Instant};

/// Longest turn of a process that only exchanges messages, and longest time for which the world's thread looks.
pub(crate) const SHORT_TURN: Duration = Duration::from_micros(50);
/// The world's thread looks after so many short turns in a row.
const TURNS: u32 = 8;

/// The turns of one process.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Short turns in a row.
    short: u32,
    /// The present turn's begin.
    begin: Option<Instant>,
}

impl Turns {
    /// The process is answered: its turn begins.
    pub(crate) fn begin(&mut self) {
        self.begin = Some(Instant::now());
    }

    /// The process has a request.
    pub(crate) fn end(&mut self) {
        if let Some(begin) = self.begin.take() {
            self.count(begin.elapsed());
        }
    }

    fn count(&mut self, took: Duration) {
        self.short = match took <= SHORT_TURN {
            true => self.short.saturating_add(1),
            false => 0,
        };
    }

    /// Whether the process's last turns were short.
    pub(crate) const fn are_short(&self) -> bool {
        self.short >= TURNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_short_until_a_long_one() {
        let mut turns = Turns::default();
        for count in 1..=2 * TURNS {
            turns.count(SHORT_TURN);
            assert_eq!(turns.are_short(), count >= TURNS);
        }
        turns.count(SHORT_TURN + Duration::from_nanos(1));
        assert!(!turns.are_short());
    }
}
