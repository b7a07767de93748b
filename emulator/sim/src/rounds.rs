//! Rounds: the nodes of a segment run in parallel, up to a common horizon.
//!
//! In a round all nodes run up to one horizon, on whatever threads there are; then the segment takes the
//! units and controls that left, in an order of its own, and tells nodes of those that will reach them. The horizon is the
//! first moment at which a unit that no node knows of yet can reach a node: it follows from the state at the
//! round's begin alone. A node from which nothing can leave before the horizon stays where it is, and follows when something can: a
//! round costs as much as the nodes that run in it.
//!
//! If other processes execute some of the nodes, each process learns after each round what left their nodes, and how soon more can
//! ([`Peers`]); everything else is the same.

use std::convert::Infallible;

use super::component::Member;
use super::earliest::{Departures, Earliest};
use super::slot::Replies;
use super::team::WorkerTeam;
use super::threads::ThreadPool;
use emulator_base::time::SimTime;
use emulator_wire::network::Segment;

/// Least number of nodes in a round that is shared among threads. To wake the threads for fewer costs more than it saves.
const SHARED_FROM: usize = 4;

/// The nodes of a segment, numbered from 0, and the threads on which they run.
pub(super) trait NodeSet {
    /// Number of nodes.
    fn len(&self) -> usize;

    /// Calls `act` with a node, between rounds.
    fn with<R>(&mut self, index: usize, act: impl FnOnce(&mut Member<'_>) -> R) -> R;

    /// Runs those of the nodes `which`, in ascending order, that this process executes, each to its target. Adds the report of each of
    /// them to `reports`, in any order.
    fn run(
        &mut self,
        which: &[usize],
        target: impl Fn(usize) -> RunTarget,
        reports: &mut Vec<(usize, Report)>,
    );
}

/// State of a node at the end of its run. The thread that ran it computes the report, so that the thread that leads the round need not look
/// at nodes from which nothing left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    /// The earliest times at which a unit, and a control, could leave.
    departures: Departures,
    /// The time that the node has reached.
    now: SimTime,
    /// The earliest time at which the answer to something that it hears now could leave.
    answers: SimTime,
    /// Whether units or controls left, which the segment has not taken.
    has_sent: bool,
}

/// Nodes that run one after the other, on the caller's thread.
struct SequentialNodes<'m, 'a>(&'m mut [Member<'a>]);

impl NodeSet for SequentialNodes<'_, '_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn with<R>(&mut self, index: usize, act: impl FnOnce(&mut Member<'_>) -> R) -> R {
        act(&mut self.0[index])
    }

    fn run(
        &mut self,
        which: &[usize],
        target: impl Fn(usize) -> RunTarget,
        reports: &mut Vec<(usize, Report)>,
    ) {
        for &index in which {
            let report = self.0[index].go(target(index));
            reports.extend(report.map(|report| (index, report)));
        }
    }
}

/// Nodes that run in parallel, on the threads of a team.
struct ParallelNodes<'t, 'm, 'a, F>(
    &'t WorkerTeam<&'m mut Member<'a>, RunTarget, Option<Report>, F>,
);

impl<'m, 'a, F> NodeSet for ParallelNodes<'_, 'm, 'a, F>
where
    F: Fn(&mut &'m mut Member<'a>, RunTarget) -> Option<Report> + Sync,
{
    fn len(&self) -> usize {
        self.0.len()
    }

    fn with<R>(&mut self, index: usize, act: impl FnOnce(&mut Member<'_>) -> R) -> R {
        self.0.with(index, |member| act(member))
    }

    fn run(
        &mut self,
        which: &[usize],
        target: impl Fn(usize) -> RunTarget,
        reports: &mut Vec<(usize, Report)>,
    ) {
        let orders = which.iter().map(|&index| (index, target(index)));
        let add = |index, report: Option<Report>| {
            reports.extend(report.map(|report| (index, report)));
        };
        match which.len() < SHARED_FROM {
            true => self.0.run_on_leader(orders, add),
            false => self.0.run_on_team(orders, add),
        }
    }
}

/// A way to bring the nodes of a segment to the end of a slice of time.
pub(super) trait RunPlan {
    /// Reason why the run fails.
    type Error;

    /// Runs the nodes up to the end of the slice, unless the run is interrupted.
    fn advance(self, members: &mut impl NodeSet) -> Result<(), Self::Error>;
}

/// The plan for a segment whose links and switches this process simulates alone: rounds up to `end`.
pub(super) struct Rounds<'a, C> {
    pub(super) segment: &'a mut dyn Segment,
    pub(super) end: SimTime,
    pub(super) peers: C,
}

impl<C: Peers> RunPlan for Rounds<'_, C> {
    type Error = C::Error;

    fn advance(self, members: &mut impl NodeSet) -> Result<(), C::Error> {
        advance(members, self.segment, self.end, self.peers)
    }
}

/// The processes that execute the nodes of a segment.
pub(super) trait Peers {
    /// Reason why the exchange fails.
    type Error;

    /// Exchanges what left the nodes `which`, in ascending order, and how soon more can; adds the reports of nodes of other processes to
    /// `reports`. `base`: a time near the times of the nodes. Returns whether the run is to end: all processes get the same answer.
    fn announce(
        &mut self,
        members: &mut impl NodeSet,
        which: &[usize],
        base: SimTime,
        reports: &mut Vec<(usize, Report)>,
    ) -> Result<bool, Self::Error>;

    /// Exchanges what left the nodes at the end of a slice.
    fn announce_outboxes(
        &mut self,
        members: &mut impl NodeSet,
        which: &[usize],
    ) -> Result<(), Self::Error>;
}

/// The process that executes all nodes, with the answer whether the run is to end.
pub(super) struct SingleProcess<F>(pub(super) F);

impl<F: Fn() -> bool> Peers for SingleProcess<F> {
    type Error = Infallible;

    fn announce(
        &mut self,
        _: &mut impl NodeSet,
        _: &[usize],
        _: SimTime,
        _: &mut Vec<(usize, Report)>,
    ) -> Result<bool, Infallible> {
        Ok(self.0())
    }

    fn announce_outboxes(&mut self, _: &mut impl NodeSet, _: &[usize]) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Member<'_> {
    /// The earliest times at which the head of another unit, and a control, could leave.
    fn departures(&self) -> Departures {
        let [unit, control] = self.leads.map(|lead| self.effect.saturating_add(lead));
        [
            unit.max(self.transmitter_free_at),
            control.max(self.next_control),
        ]
    }

    /// Begins a slice. Programs and events may have been added since the last run, and a board may have been written to.
    pub(super) fn begin(&mut self) -> Report {
        self.node.start_programs();
        self.look();
        self.report()
    }

    /// The node's report.
    pub(super) fn report(&mut self) -> Report {
        let [unit, control] = self.leads;
        Report {
            departures: self.departures(),
            now: self.now,
            answers: self.now.saturating_add(unit.min(control)),
            has_sent: self.node.has_sent(),
        }
    }

    /// Updates the times at which something may leave the node.
    fn look(&mut self) {
        self.effect = self.node.next_effect();
        self.transmitter_free_at = self.node.transmitter_free_at();
        self.next_control = self.node.next_control(self.effect);
        self.now = self.node.now();
    }

    /// Brings the node to the end of its run, with everything that could be noticed outside.
    fn run(&mut self, RoundLimits { horizon, replies }: RoundLimits) {
        self.node.run_until_reply(horizon, replies);
        self.look();
    }

    /// Brings the node to a target, if this process executes it. Returns its report then.
    fn go(&mut self, target: RunTarget) -> Option<Report> {
        match target {
            _ if !self.is_mine => return None,
            RunTarget::Round(run) => self.run(run),
            RunTarget::Time(time) => self.node.run_until(time),
        }
        Some(self.report())
    }
}

/// The point at which a node ends its run.
#[derive(Debug, Clone, Copy)]
pub(super) enum RunTarget {
    /// The end of a round.
    Round(RoundLimits),
    /// A time, to which idle cores come too.
    Time(SimTime),
}

/// Limits of a node's run in a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundLimits {
    /// The node does not run past this time.
    horizon: SimTime,
    /// The node stops earlier if a reply to a unit that has left it can come earlier.
    replies: Replies,
}

impl RoundLimits {
    /// A run to a horizon, whatever leaves the node.
    pub(super) const fn to(horizon: SimTime) -> Self {
        let replies = Replies::NONE;
        Self { horizon, replies }
    }
}

/// Limits of the runs of all nodes in a round.
#[derive(Debug, Clone, Copy)]
struct Round<'n> {
    /// Limits of the nodes that have no others.
    all: RoundLimits,
    /// Nodes that are not `near` go on to where the first thing that happens now can reach them.
    quiet: Option<(RoundLimits, &'n [bool])>,
    /// The node from which something can leave first goes on to where another one can reach it.
    leader: Option<(usize, RoundLimits)>,
}

impl<'n> Round<'n> {
    /// The next round, up to `end` at most. `near`: buffer that the segment fills, with whether each node is near one that can send.
    fn next(
        departures: &Earliest,
        segment: &dyn Segment,
        end: SimTime,
        near: &'n mut Vec<bool>,
    ) -> Self {
        let [unit, control] = departures.first();
        let horizon = segment.horizon(unit, control).min(end);
        let replies = Replies {
            units: segment.reply(),
            ..Replies::NONE
        };
        let all = RoundLimits { horizon, replies };
        let quiet = segment.quiet_horizon(unit, control, near);
        let leader = departures.leader();
        let [unit, control] = departures.without(leader);
        let horizon = segment.horizon(unit, control).min(end);
        // It hears of what it sends itself.
        let answer = segment.answer();
        let replies = Replies {
            units: replies.units.min(answer),
            controls: answer,
        };
        let goes_on = horizon > all.horizon && answer > SimTime::ZERO;
        let quiet = quiet.map(|until| until.min(end));
        let quiet = quiet.filter(|&until| until > all.horizon && answer > SimTime::ZERO);
        let quiet = quiet.map(|horizon| (RoundLimits { horizon, replies }, near.as_slice()));
        let leader = goes_on.then_some((leader, RoundLimits { horizon, replies }));
        Self { all, quiet, leader }
    }

    /// The limits of a node's run.
    fn limits_of(&self, node: usize) -> RoundLimits {
        let run = match self.quiet {
            Some((run, near)) if near.get(node) == Some(&false) => run,
            _ => self.all,
        };
        match self.leader {
            Some((leader, leads)) if leader == node && leads.horizon > run.horizon => leads,
            _ => run,
        }
    }
}

/// Executes a plan, on the threads of a pool if the nodes are worth them, and else on the caller's.
pub(super) fn run<C: RunPlan>(
    members: &mut [Member<'_>],
    pool: &ThreadPool,
    plan: C,
) -> Result<(), C::Error> {
    if pool.is_single_threaded() || members.len() < SHARED_FROM {
        return plan.advance(&mut SequentialNodes(members));
    }
    let go = |member: &mut &mut Member<'_>, target| member.go(target);
    pool.with_team(members.iter_mut(), go, |team| {
        plan.advance(&mut ParallelNodes(team))
    })
}

/// Runs rounds up to `end`.
fn advance<C: Peers>(
    members: &mut impl NodeSet,
    segment: &mut dyn Segment,
    end: SimTime,
    mut peers: C,
) -> Result<(), C::Error> {
    let all: Vec<usize> = (0..members.len()).collect();
    let (mut due, mut near, mut reports) = (Vec::new(), Vec::new(), RunReports::default());
    for &index in &all {
        members.with(index, |member| {
            if member.is_mine {
                reports.entries.push((index, member.begin()));
            }
        });
    }
    let mut is_over = peers.announce(members, &all, end, &mut reports.entries)?;
    let mut departures = Earliest::new(members.len());
    reports.process(segment, members, &mut departures, |_| SimTime::ZERO);
    let mut now = SimTime::ZERO;
    while now < end && !is_over {
        // Before that time nothing from outside can matter to any node.
        let round = Round::next(&departures, segment, end, &mut near);
        let horizon = round.all.horizon;
        departures.before(horizon, &mut due);
        members.run(
            &due,
            |index| RunTarget::Round(round.limits_of(index)),
            &mut reports.entries,
        );
        is_over = peers.announce(members, &due, horizon, &mut reports.entries)?;
        let horizon_of = |index| round.limits_of(index).horizon;
        let answers = reports.process(segment, members, &mut departures, horizon_of);
        let [unit, control] = departures.first();
        // The segment must not pass a time at which a unit or control can still leave a node.
        now = horizon.min(answers).min(unit).min(control);
        segment.run_until(now);
        deliver(segment, members, &mut departures);
    }
    // Those that stayed behind, and their idle cores, come there too.
    members.run(&all, |_| RunTarget::Time(now), &mut reports.entries);
    peers.announce_outboxes(members, &all)?;
    for &index in &all {
        members.with(index, |member| {
            segment.take_outbox(index, member.node.outbox())
        });
    }
    deliver(segment, members, &mut departures);
    Ok(())
}

/// The reports of nodes at the end of their last runs.
#[derive(Debug, Default)]
pub(super) struct RunReports {
    /// Each with the number of its node.
    pub(super) entries: Vec<(usize, Report)>,
    /// The nodes that sent something, in ascending order.
    senders: Vec<usize>,
}

impl RunReports {
    /// Removes the reports: updates `departures`, and lets the segment take what left the nodes. `horizon_of`: the time to which a node was
    /// to run. Returns the earliest time of an answer of a node that stopped before its horizon, because of a reply.
    pub(super) fn process(
        &mut self,
        segment: &mut dyn Segment,
        members: &mut impl NodeSet,
        departures: &mut Earliest,
        horizon_of: impl Fn(usize) -> SimTime,
    ) -> SimTime {
        let mut answers = SimTime::MAX;
        self.senders.clear();
        for (index, report) in self.entries.drain(..) {
            departures.set(index, report.departures);
            if report.now < horizon_of(index) {
                answers = answers.min(report.answers);
            }
            if report.has_sent {
                self.senders.push(index);
            }
        }
        // Threads report in any order; the segment takes units in the order of nodes, so that results do not depend on threads.
        self.senders.sort_unstable();
        for &index in &self.senders {
            members.with(index, |member| {
                segment.take_outbox(index, member.node.outbox())
            });
        }
        answers
    }
}

/// Delivers the units and controls that are known to reach nodes.
pub(super) fn deliver(
    segment: &mut dyn Segment,
    members: &mut impl NodeSet,
    departures: &mut Earliest,
) {
    segment.deliver(&mut |to, matters, delivery| {
        members.with(to, |member| {
            if member.is_mine {
                member.node.deliver(delivery);
            }
            member.effect = member.effect.min(matters);
            departures.set(to, member.departures());
        });
    });
}
