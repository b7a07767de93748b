//! Nodes and switches that several ranks carry out: how their parts run.
//!
//! The ranks exchange what passes between them, and agree on the earliest time at which a unit can leave any node, and that of the
//! earliest event of any part. From these two every rank decides the same: it carries out events of its part, as long as there are any
//! before the next unit can have an event; else it runs its nodes, as far as in a round (`rounds.rs`). Then they exchange again.
//!
//! Each rank sends what passes, and the earliest times that it knows, to the ranks at the other ends of its cables. If there are more than
//! two ranks, the earliest times of all spread in steps: in each step a rank tells one that is twice as far away as in the step before.
//! So a rank sends as many messages as it has neighbours, and the logarithm of the number of ranks.

use super::{RankError, Ranks};
use crate::departure_tree::DepartureTree;
use crate::rounds::{NodeSet, RoundLimits, RunPlan, RunReports, RunTarget, deliver};
use emulator_base::time::SimTime;
use emulator_state::value_struct;
use emulator_state::{Reader, StateError, Value, Writer};
use emulator_wire::part::Part;

/// The earliest times of some ranks.
#[derive(Debug, Clone, Copy)]
struct EarliestTimes {
    /// At which a unit can leave a node.
    unit: SimTime,
    /// At which the next event is due.
    event: SimTime,
}

value_struct!(EarliestTimes {
    unit: unit,
    event: event
});

impl EarliestTimes {
    /// The earliest times of both.
    fn and(self, other: Self) -> Self {
        Self {
            unit: self.unit.min(other.unit),
            event: self.event.min(other.event),
        }
    }
}

/// The plan for a segment of which each rank carries out a part, with the function that says whether this rank is to end the run.
pub(crate) struct PartsPlan<'a, F> {
    pub(crate) part: &'a mut dyn Part,
    pub(crate) ranks: &'a mut Ranks,
    pub(crate) end: SimTime,
    pub(crate) interrupted: F,
}

impl<F: Fn() -> bool> RunPlan for PartsPlan<'_, F> {
    type Error = RankError;

    fn advance(self, members: &mut impl NodeSet) -> Result<(), RankError> {
        let Self {
            part,
            ranks,
            end,
            interrupted,
        } = self;
        let mut mine = OwnNodes::new(members, part);
        // The time that the nodes have reached.
        let mut now = SimTime::ZERO;
        loop {
            ranks.want_end(interrupted());
            let EarliestTimes { unit, event } = mine.exchange(members, part, ranks)?;
            if ranks.is_interrupted() {
                break;
            }
            let until = part.events_until(unit.min(end), event);
            // Before `until` no unit that leaves a node can have an event: the parts need not wait for the nodes.
            if event < until {
                part.run_events(until);
                deliver(part, members, &mut mine.departures);
            } else if unit.min(now) < end {
                now = part.nodes_until(unit, event).min(end);
                ranks.exchanged.rounds += 1;
                mine.run(members, part, now);
            } else {
                break;
            }
        }
        mine.run_idle(members, part, now);
        mine.exchange(members, part, ranks)?;
        Ok(())
    }
}

/// The nodes of this rank.
struct OwnNodes {
    nodes: Vec<usize>,
    departures: DepartureTree,
    reports: RunReports,
    due: Vec<usize>,
}

impl OwnNodes {
    fn new(members: &mut impl NodeSet, part: &mut dyn Part) -> Self {
        let mut mine = Self {
            nodes: Vec::new(),
            departures: DepartureTree::new(members.len()),
            reports: RunReports::default(),
            due: Vec::new(),
        };
        for index in 0..members.len() {
            let report = members.with(index, |member| member.is_mine.then(|| member.begin_slice()));
            if let Some(report) = report {
                mine.nodes.push(index);
                mine.reports.entries.push((index, report));
            }
        }
        mine.process_reports(members, part);
        mine
    }

    /// Processes the reports of the last run.
    fn process_reports(&mut self, members: &mut impl NodeSet, part: &mut dyn Part) {
        self.reports
            .process(part, members, &mut self.departures, |_| SimTime::ZERO);
    }

    /// Runs the nodes from which something can leave before `horizon`.
    fn run(&mut self, members: &mut impl NodeSet, part: &mut dyn Part, horizon: SimTime) {
        self.departures.before(horizon, &mut self.due);
        let target = |_| RunTarget::Round(RoundLimits::to(horizon));
        members.run(&self.due, target, &mut self.reports.entries);
        self.process_reports(members, part);
    }

    /// Brings all nodes to a time, with their idle cores.
    fn run_idle(&mut self, members: &mut impl NodeSet, part: &mut dyn Part, time: SimTime) {
        members.run(
            &self.nodes,
            |_| RunTarget::Time(time),
            &mut self.reports.entries,
        );
        self.process_reports(members, part);
    }

    /// Sends and receives what passes between ranks, tells the nodes of what will reach them, and finds the earliest times of all ranks.
    fn exchange(
        &mut self,
        members: &mut impl NodeSet,
        part: &mut dyn Part,
        ranks: &mut Ranks,
    ) -> Result<EarliestTimes, RankError> {
        // Only Ethernet has parts, and it has no controls.
        let [mut unit, _] = self.departures.first();
        for (node, matters) in part.outgoing_arrivals() {
            let lead = members.with(node, |member| member.leads[0]);
            unit = unit.min(matters.saturating_add(lead));
        }
        let event = part.next_event();
        let earliest = ranks.exchange_frames(part, EarliestTimes { unit, event })?;
        deliver(part, members, &mut self.departures);
        ranks.agree_on(earliest)
    }
}

impl Ranks {
    /// Each rank sends what passes to its neighbours, and its earliest times. Returns those of this rank and its neighbours.
    fn exchange_frames(
        &mut self,
        part: &mut dyn Part,
        earliest: EarliestTimes,
    ) -> Result<EarliestTimes, RankError> {
        self.exchanged.exchanges += 1;
        let mut out: Vec<Option<Vec<u8>>> = vec![None; self.ranks()];
        let neighbours = part.neighbours().to_vec();
        let mut sends = vec![false; self.ranks()];
        for &rank in &neighbours {
            let mut message = Writer::default();
            earliest.write(&mut message);
            part.write_outgoing(rank, &mut message);
            let message = message.into_bytes();
            self.exchanged.bytes += message.len() as u64;
            out[rank] = Some(message);
            sends[rank] = true;
        }
        self.is_interrupted |= self.wants_end;
        self.pass(|rank| out[rank].as_deref(), &sends)?;
        let mut all = earliest;
        for rank in neighbours {
            let mut from = Reader::new(&self.messages[rank]);
            let read = EarliestTimes::read(&mut from).and_then(|earliest| {
                part.read_incoming(&mut from)?;
                Ok(earliest)
            });
            all = all.and(read.map_err(|error| RankError::Unreadable { rank, error })?);
        }
        Ok(all)
    }

    /// Finds the earliest times of all ranks. Two ranks know both already, since a cable joins them.
    fn agree_on(&mut self, mut earliest: EarliestTimes) -> Result<EarliestTimes, RankError> {
        let (me, ranks) = (self.rank(), self.ranks());
        let mut distance = 1;
        while ranks > 2 && distance < ranks {
            let [to, from] = [me + distance, me + ranks - distance].map(|rank| rank % ranks);
            let mut message = Writer::default();
            earliest.write(&mut message);
            self.send_part(to, &message.into_bytes(), false)?;
            self.messages[from].clear();
            let wrong = |error| RankError::Unreadable { rank: from, error };
            if self.receive_part(from)? {
                return Err(wrong(StateError::Value("the length of a message")));
            }
            let theirs = EarliestTimes::read(&mut Reader::new(&self.messages[from]));
            earliest = earliest.and(theirs.map_err(wrong)?);
            distance *= 2;
        }
        Ok(earliest)
    }
}
