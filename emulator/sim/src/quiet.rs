//! Quiet worlds: for a while nothing has happened but what timers bring about.
//!
//! A node *stirs* when a unit leaves it, is on its way to it or ends there, when a program begins or ends, and while a unit of its board or
//! its programs are busy for a considerable share of the time: firmware that computes, transfers. What a timer does again and again (an
//! alarm of firmware, the look of a program at its board every millisecond) is none of these. A wait that states its end (a sleep, a
//! computation, a time-out, the pause of a reset, a cable that will be plugged in again) counts up to that end if it is at least as long as
//! the time after which a run is quiet. Work of boards stirs their nodes for a limited time, if nothing else happens meanwhile: firmware
//! may go round in circles for ever.

use super::node::Node;
use super::ranks::{RankError, Ranks};
use super::world::end_of_slice;
use emulator_base::time::SimTime;
use emulator_board::Traffic;
use emulator_state::value_struct;
use emulator_state::{Reader, State, StateError, Writer};

/// A unit that is busy for one part in so many of the time stirs its node (docs/scenarios.md, `quiet_us`: a tenth).
const IDLE_SHARE: u64 = 10;

/// The times after which a run is quiet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Nothing but timers has happened for this time.
    pub idle: SimTime,
    /// Nothing but timers and work of boards has happened for this time. `None`: boards may work for ever.
    pub work: Option<SimTime>,
}

/// Counts of what stirs a node, apart from its busy units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct StirCounts {
    traffic: Traffic,
    /// Beginnings and ends of programs.
    programs: u64,
}

value_struct!(StirCounts {
    traffic: traffic,
    programs: programs
});

/// Record of one node's last activity.
#[derive(Debug, Clone, Default)]
struct NodeRecord {
    counts: StirCounts,
    /// The node has not stirred since this time.
    since: SimTime,
    /// Nothing but its board's work has stirred the node since this time.
    board_alone: SimTime,
    /// The time of the last look at the node.
    last_look: SimTime,
    /// The time of the first look at which the node had stood still since `since`, and the busy times of its units then.
    busy: Option<(SimTime, Vec<SimTime>)>,
}

value_struct!(NodeRecord {
    counts: counts,
    since: since,
    board_alone: board_alone,
    last_look: last_look,
    busy: busy
});

/// Records of the nodes of a world that this process executes: when each has stirred last.
#[derive(Debug, Clone, Default)]
pub struct QuietWatch(Vec<NodeRecord>);

impl State for QuietWatch {
    fn save(&self, out: &mut Writer) {
        self.0.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.0.load(from)
    }
}

impl QuietWatch {
    /// Takes over what other ranks know of the nodes that they execute, to be saved.
    ///
    /// # Errors
    /// If another rank is gone.
    pub fn gather(&mut self, ranks: &mut Ranks) -> Result<(), RankError> {
        let mine = self.0.iter().cloned().enumerate();
        let mine: Vec<_> = mine.filter(|(node, _)| ranks.owns(*node)).collect();
        for (rank, records) in ranks.gather(&mine)?.into_iter().enumerate() {
            for (node, record) in records {
                if node < ranks.nodes() && ranks.owner(node) == rank {
                    let length = self.0.len().max(node + 1);
                    self.0.resize(length, NodeRecord::default());
                    self.0[node] = record;
                }
            }
        }
        Ok(())
    }
}

/// Busy times of the host's programs, and of the board's units.
fn busy_times(node: &Node) -> Vec<SimTime> {
    let units = node.inspect().busy_units();
    let programs = node.programs.cpu_times(node.now());
    let computing = programs.fold(SimTime::ZERO, |sum, (_, time)| sum + time.computing);
    let units = units.into_iter().map(|unit| unit.time);
    std::iter::once(computing).chain(units).collect()
}

impl QuietWatch {
    /// Looks at a node at `now`, the end of a slice. Returns when it stirred last, or will stir as far as it is known.
    pub(super) fn last_stir(
        &mut self,
        index: usize,
        node: &Node,
        now: SimTime,
        patience: Patience,
    ) -> SimTime {
        let quiet = patience.idle;
        if self.0.len() <= index {
            self.0.resize(index + 1, NodeRecord::default());
        }
        let record = &mut self.0[index];
        if record.last_look == now {
            // The run goes on where it was saved: that look was made before.
            return record.since;
        }
        let counts = StirCounts {
            traffic: node.inspect().traffic(),
            programs: node.programs.beginnings_and_ends(),
        };
        let last_look = std::mem::replace(&mut record.last_look, now);
        // Slices without any activity are joined: then something waited for this time.
        let waited = now.saturating_sub(last_look) >= quiet;
        if waited || counts != record.counts {
            (record.counts, record.busy) = (counts, None);
            record.since = whole_slices(now);
            record.board_alone = record.since;
            return record.since;
        }
        let Some((first, before)) = &record.busy else {
            record.busy = Some((now, busy_times(node)));
            record.since = record.since.max(node.long_waits_end(quiet));
            return record.since;
        };
        if now.saturating_sub(record.since) >= quiet {
            let (span, after) = (now.saturating_sub(*first), busy_times(node));
            let spans = before.iter().zip(&after);
            let works = |(before, after): (&SimTime, &SimTime)| {
                let busy = after.saturating_sub(*before);
                span > SimTime::ZERO && busy.ps() >= span.ps() / IDLE_SHARE
            };
            let mut spans = spans.map(works);
            let (host, board) = (spans.next() == Some(true), spans.any(|works| works));
            if host {
                record.board_alone = whole_slices(now);
            }
            let board_alone = now.saturating_sub(record.board_alone);
            let may_work = patience.work.is_none_or(|work| board_alone < work);
            let until = match host || board && may_work {
                true => whole_slices(now),
                false => node.long_waits_end(quiet),
            };
            if until > record.since {
                (record.since, record.busy) = (until, None);
            }
        }
        record.since
    }
}

/// The end of the slice that ends at or behind `time`: a run may be stopped within a slice, to be saved.
fn whole_slices(time: SimTime) -> SimTime {
    end_of_slice(time.saturating_sub(SimTime::from_ps(1)))
}
