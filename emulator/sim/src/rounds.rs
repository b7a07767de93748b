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
use super::departure_tree::{DepartureTree, Departures};
use super::slot::ReplySpans;
use super::team::WorkerTeam;
use super::threads::ThreadPool;
use emulator_base::time::SimTime;
use emulator_wire::network::Segment;

/// Least number of nodes in a round that is shared among threads: with fewer, the threads save less than it takes to hand the orders out.
const SHARED_FROM: usize = 4;

/// The nodes of a segment, numbered from 0, and the threads on which they run.
pub(super) trait NodeSet {
    /// Number of nodes.
    fn len(&self) -> usize;

    /// Calls `act` with a node. Only between runs: then no thread uses it.
    fn with<R>(&mut self, index: usize, act: impl FnOnce(&mut Member<'_>) -> R) -> R;

    /// Runs those of the nodes `which`, in ascending order, that this process executes, each to its target. Adds the report of each of
    /// them to `reports`, in any order.
    fn run(
        &mut self,
        which: &[usize],
        target: impl Fn(usize) -> RunTarget,
        reports: &mut Vec<(usize, NodeRoundState)>,
    );
}

/// State of a node at the end of its run. The thread that ran the node computes the report, so that the thread that leads the round need
/// not look at nodes from which nothing left.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeRoundState {
    /// The earliest times at which a unit, and a control, could leave.
    departures: Departures,
    /// The time that the node has reached.
    now: SimTime,
    /// The earliest time at which the node could send, if something reached it at the time `now`.
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
        reports: &mut Vec<(usize, NodeRoundState)>,
    ) {
        for &index in which {
            let report = self.0[index].run_to(target(index));
            reports.extend(report.map(|report| (index, report)));
        }
    }
}

/// Nodes that run in parallel, on the threads of a team.
struct ParallelNodes<'t, 'm, 'a, F>(
    &'t WorkerTeam<&'m mut Member<'a>, RunTarget, Option<NodeRoundState>, F>,
);

impl<'m, 'a, F> NodeSet for ParallelNodes<'_, 'm, 'a, F>
where
    F: Fn(&mut &'m mut Member<'a>, RunTarget) -> Option<NodeRoundState> + Sync,
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
        reports: &mut Vec<(usize, NodeRoundState)>,
    ) {
        let orders = which.iter().map(|&index| (index, target(index)));
        let add = |index, report: Option<NodeRoundState>| {
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

/// The plan for a segment whose links and switches each process simulates as a whole: rounds up to `end`.
pub(super) struct RoundsPlan<'a, C> {
    pub(super) segment: &'a mut dyn Segment,
    pub(super) end: SimTime,
    pub(super) peers: C,
}

impl<C: Peers> RunPlan for RoundsPlan<'_, C> {
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
    /// `reports`. Times are sent as differences from `base`, which is equal at all processes and near the nodes' times, so that few bytes
    /// do. Returns whether the run is to end: all processes get the same answer.
    fn announce(
        &mut self,
        members: &mut impl NodeSet,
        which: &[usize],
        base: SimTime,
        reports: &mut Vec<(usize, NodeRoundState)>,
    ) -> Result<bool, Self::Error>;

    /// Exchanges what left the nodes at the end of a slice.
    fn announce_outboxes(
        &mut self,
        members: &mut impl NodeSet,
        which: &[usize],
    ) -> Result<(), Self::Error>;
}

/// The only process: it executes all nodes, so nothing is exchanged. Its function says whether the run is to end.
pub(super) struct SingleProcess<F>(pub(super) F);

impl<F: Fn() -> bool> Peers for SingleProcess<F> {
    type Error = Infallible;

    fn announce(
        &mut self,
        _: &mut impl NodeSet,
        _: &[usize],
        _: SimTime,
        _: &mut Vec<(usize, NodeRoundState)>,
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
    pub(super) fn begin_slice(&mut self) -> NodeRoundState {
        self.node.start_programs();
        self.update_times();
        self.report()
    }

    /// The node's report.
    pub(super) fn report(&mut self) -> NodeRoundState {
        let [unit, control] = self.leads;
        NodeRoundState {
            departures: self.departures(),
            now: self.now,
            answers: self.now.saturating_add(unit.min(control)),
            has_sent: self.node.has_sent(),
        }
    }

    /// Updates the times at which something may leave the node.
    fn update_times(&mut self) {
        self.effect = self.node.next_effect();
        self.transmitter_free_at = self.node.transmitter_free_at();
        self.next_control = self.node.next_control(self.effect);
        self.now = self.node.now();
    }

    /// Runs the node in a round. What could be noticed outside has happened then; idle cores may lag.
    fn run_round(&mut self, RoundLimits { horizon, replies }: RoundLimits) {
        self.node.run_until_reply(horizon, replies);
        self.update_times();
    }

    /// Brings the node to a target, if this process executes it. Returns its report then.
    fn run_to(&mut self, target: RunTarget) -> Option<NodeRoundState> {
        match target {
            _ if !self.is_mine => return None,
            RunTarget::Round(limits) => self.run_round(limits),
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
    replies: ReplySpans,
}

impl RoundLimits {
    /// A run to a horizon, whatever leaves the node.
    pub(super) const fn to(horizon: SimTime) -> Self {
        let replies = ReplySpans::NONE;
        Self { horizon, replies }
    }
}

/// Limits of the runs of all nodes in a round.
#[derive(Debug, Clone, Copy)]
struct Round<'n> {
    /// Limits of the nodes that have no others.
    all: RoundLimits,
    /// Limits of the far nodes, and whether each node is near. They go on to where the first thing that happens now can reach them.
    far: Option<(RoundLimits, &'n [bool])>,
    /// The node from which something can leave first, and its limits: it goes on to where another one can reach it.
    soonest: Option<(usize, RoundLimits)>,
}

impl<'n> Round<'n> {
    /// The next round, up to `end` at most. `near`: a buffer, which [`Segment::far_horizon`] fills.
    fn next(
        departures: &DepartureTree,
        segment: &dyn Segment,
        end: SimTime,
        near: &'n mut Vec<bool>,
    ) -> Self {
        let [unit, control] = departures.first();
        let horizon = segment.horizon(unit, control).min(end);
        let replies = ReplySpans {
            after_unit: segment.feedback_span(),
            ..ReplySpans::NONE
        };
        let all = RoundLimits { horizon, replies };
        let far = segment.far_horizon(unit, control, near);
        let soonest = departures.soonest_node();
        let [unit, control] = departures.without(soonest);
        let horizon = segment.horizon(unit, control).min(end);
        // This node, and far nodes, run past the horizon: so they stop where they could hear of what follows from what they send.
        let answer = segment.answer_span();
        let replies = ReplySpans {
            after_unit: replies.after_unit.min(answer),
            after_control: answer,
        };
        let goes_on = horizon > all.horizon && answer > SimTime::ZERO;
        let far = far.map(|until| until.min(end));
        let far = far.filter(|&until| until > all.horizon && answer > SimTime::ZERO);
        let far = far.map(|horizon| (RoundLimits { horizon, replies }, near.as_slice()));
        let soonest = goes_on.then_some((soonest, RoundLimits { horizon, replies }));
        Self { all, far, soonest }
    }

    /// The limits of a node's run.
    fn limits_of(&self, node: usize) -> RoundLimits {
        let limits = match self.far {
            Some((limits, near)) if near.get(node) == Some(&false) => limits,
            _ => self.all,
        };
        match self.soonest {
            Some((soonest, own)) if soonest == node && own.horizon > limits.horizon => own,
            _ => limits,
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
    let run_to = |member: &mut &mut Member<'_>, target| member.run_to(target);
    pool.with_team(members.iter_mut(), run_to, |team| {
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
                reports.entries.push((index, member.begin_slice()));
            }
        });
    }
    let mut is_over = peers.announce(members, &all, end, &mut reports.entries)?;
    let mut departures = DepartureTree::new(members.len());
    reports.process(segment, members, &mut departures, |_| SimTime::ZERO);
    let mut now = SimTime::ZERO;
    while now < end && !is_over {
        // Before its horizon nothing from outside can matter to any node.
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
    // Nodes from which nothing could leave have stayed behind, and idle cores: they come to this time too.
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
    pub(super) entries: Vec<(usize, NodeRoundState)>,
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
        departures: &mut DepartureTree,
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
    departures: &mut DepartureTree,
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
