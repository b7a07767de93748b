//! Turns: the core that runs next, and up to when it overtakes no other one.

use defs::tigon2::banks::MOST_CPUS;

use crate::board::Tigon2;
use crate::cores::CoreUnit;
use crate::run::turns::CoreActivity;

/// The next core to run, and the one that limits it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// The core that runs.
    pub(super) first: usize,
    /// The core that comes next: the first one must not overtake it.
    pub(super) other: usize,
    /// Activity of the first core.
    pub(super) activity: CoreActivity,
    /// The highest activity among all others.
    pub(super) others: CoreActivity,
    /// Both go on in the place of each other.
    pub(super) takes_turns: bool,
    /// The tick of a third core, which both must not overtake while they take turns.
    pub(super) until: u64,
}

impl Tigon2 {
    /// The next turn; `None` if no core may run.
    #[inline(always)]
    pub(super) fn next_turn(&self) -> Option<Turn> {
        match &*self.cores {
            [a, b] => self.turn_of_two(a, b),
            _ => self.turn_of_many(),
        }
    }

    /// The turn of the runnable core with the earlier time; A at equal ticks.
    #[inline(always)]
    fn turn_of_two(&self, a: &CoreUnit, b: &CoreUnit) -> Option<Turn> {
        // Without `map`, which is not always compiled in place.
        let activities = [self.activity(a), self.activity(b)];
        let first = match activities.map(|activity| activity != CoreActivity::Stopped) {
            [true, true] => usize::from(b.core.clock.now < a.core.clock.now),
            [true, false] => 0,
            [false, true] => 1,
            [false, false] => return None,
        };
        Some(Turn {
            first,
            other: 1 - first,
            activity: activities[first],
            others: activities[1 - first],
            takes_turns: activities == [CoreActivity::Busy; 2],
            until: u64::MAX,
        })
    }

    /// The turn of the runnable core with the earliest time; at equal ticks, the one with the lowest index. The next one in
    /// this order is the other core: up to its time the first core overtakes none. If both are busy, they take turns up to
    /// the time of the third one.
    #[inline(never)]
    fn turn_of_many(&self) -> Option<Turn> {
        let (mut runnable, mut count) = ([(0, 0, CoreActivity::Stopped); MOST_CPUS], 0);
        for (index, unit) in self.cores.iter().enumerate().take(MOST_CPUS) {
            let activity = self.activity(unit);
            if activity != CoreActivity::Stopped {
                runnable[count] = (unit.core.clock.now, index, activity);
                count += 1;
            }
        }
        let runnable = &mut runnable[..count];
        runnable.sort_unstable();
        let (&(now, first, activity), others) = runnable.split_first()?;
        let (other, other_activity) = match others {
            [(_, index, activity), ..] => (*index, *activity),
            [] => (usize::from(first == 0), CoreActivity::Stopped),
        };
        let third = others.get(1).map_or(u64::MAX, |(now, ..)| *now);
        let both_busy = [activity, other_activity] == [CoreActivity::Busy; 2];
        let takes_turns = both_busy && now < third;
        let activities = others.iter().map(|(.., activity)| *activity);
        Some(Turn {
            first,
            other,
            activity,
            others: activities.max().unwrap_or(CoreActivity::Stopped),
            takes_turns,
            until: if takes_turns { third } else { u64::MAX },
        })
    }
}
