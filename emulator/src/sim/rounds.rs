//! Rounds: how the nodes of a segment run.
//!
//! In a round all nodes run up to one horizon, on whatever threads there are; then the segment takes the
//! units and controls that left, in an order of its own, and tells nodes of those that will reach them. The horizon is the
//! first moment at which a unit that no node knows of yet can reach a node: it follows from the state at the
//! round's begin alone. A node from which nothing can leave before the horizon stays where it is, and follows when something can: a
//! round costs as much as the nodes that run in it.
//!
//! If other processes execute some of the nodes, each process learns after each round what left their nodes, and how soon more can
//! ([`Company`]); everything else is the same.

use std::convert::Infallible;

use super::component::Member;
use super::earliest::{Departures, Earliest};
use super::slot::Replies;
use super::team::Team;
use super::threads::Crew;
use super::time::SimTime;
use crate::wire::network::Segment;

/// Fewer nodes in a round are not worth sharing among threads.
const SHARED_FROM: usize = 4;

/// The nodes of a segment, numbered from 0.
pub(super) trait Crowd {
    /// Number of nodes.
    fn len(&self) -> usize;

    /// Uses a node between rounds.
    fn with<R>(&mut self, index: usize, act: impl FnOnce(&mut Member<'_>) -> R) -> R;

    /// Lets the nodes `which`, in ascending order, run, as far as this process executes them. What each of them tells then is added to
    /// `reports`, in any order.
    fn run(
        &mut self,
        which: &[usize],
        goal: impl Fn(usize) -> Goal,
        reports: &mut Vec<(usize, Report)>,
    );
}

/// What a node tells at the end of its run. The thread that ran it finds this out, so that the thread that leads the round need not look at
/// nodes from which nothing left.
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

/// Nodes that run one after the other.
struct OneByOne<'m, 'a>(&'m mut [Member<'a>]);

impl Crowd for OneByOne<'_, '_> {
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
        goal: impl Fn(usize) -> Goal,
        reports: &mut Vec<(usize, Report)>,
    ) {
        for &index in which {
            let report = self.0[index].go(goal(index));
            reports.extend(report.map(|report| (index, report)));
        }
    }
}

/// Nodes that run on several threads.
struct Shared<'t, 'm, 'a, F>(&'t Team<&'m mut Member<'a>, Goal, Option<Report>, F>);

impl<'m, 'a, F> Crowd for Shared<'_, 'm, 'a, F>
where
    F: Fn(&mut &'m mut Member<'a>, Goal) -> Option<Report> + Sync,
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
        goal: impl Fn(usize) -> Goal,
        reports: &mut Vec<(usize, Report)>,
    ) {
        let orders = which.iter().map(|&index| (index, goal(index)));
        let told = |index, report: Option<Report>| {
            reports.extend(report.map(|report| (index, report)));
        };
        match which.len() < SHARED_FROM {
            true => self.0.carry_out(orders, told),
            false => self.0.give_out(orders, told),
        }
    }
}

/// What nodes do up to the end of a slice.
pub(super) trait Course {
    /// Why they cannot go on.
    type Error;

    /// Brings the nodes there, unless the run is interrupted.
    fn advance(self, members: &mut impl Crowd) -> Result<(), Self::Error>;
}

/// The rounds of the nodes of a segment up to a time, when this process runs all of the segment.
pub(super) struct Rounds<'a, C> {
    pub(super) segment: &'a mut dyn Segment,
    pub(super) end: SimTime,
    pub(super) company: C,
}

impl<C: Company> Course for Rounds<'_, C> {
    type Error = C::Error;

    fn advance(self, members: &mut impl Crowd) -> Result<(), C::Error> {
        advance(members, self.segment, self.end, self.company)
    }
}

/// The processes that execute the nodes of a segment.
pub(super) trait Company {
    /// Why they cannot go on.
    type Error;

    /// Exchanges what left the nodes `which`, in ascending order, and how soon more can; adds what the nodes of other processes tell to
    /// `reports`. `base`: a time near theirs. Returns whether the run is to end: the same at all processes.
    fn announce(
        &mut self,
        members: &mut impl Crowd,
        which: &[usize],
        base: SimTime,
        reports: &mut Vec<(usize, Report)>,
    ) -> Result<bool, Self::Error>;

    /// Exchanges what left the nodes at the end of a slice.
    fn announce_outboxes(
        &mut self,
        members: &mut impl Crowd,
        which: &[usize],
    ) -> Result<(), Self::Error>;
}

/// The process that executes all nodes, with the answer whether the run is to end.
pub(super) struct Alone<F>(pub(super) F);

impl<F: Fn() -> bool> Company for Alone<F> {
    type Error = Infallible;

    fn announce(
        &mut self,
        _: &mut impl Crowd,
        _: &[usize],
        _: SimTime,
        _: &mut Vec<(usize, Report)>,
    ) -> Result<bool, Infallible> {
        Ok(self.0())
    }

    fn announce_outboxes(&mut self, _: &mut impl Crowd, _: &[usize]) -> Result<(), Infallible> {
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

    /// What the node tells.
    pub(super) fn report(&mut self) -> Report {
        let [unit, control] = self.leads;
        Report {
            departures: self.departures(),
            now: self.now,
            answers: self.now.saturating_add(unit.min(control)),
            has_sent: self.node.has_sent(),
        }
    }

    /// Asks the node how soon something may leave it.
    fn look(&mut self) {
        self.effect = self.node.next_effect();
        self.transmitter_free_at = self.node.transmitter_free_at();
        self.next_control = self.node.next_control(self.effect);
        self.now = self.node.now();
    }

    /// Brings the node to the end of its run, with everything that could be noticed outside.
    fn run(&mut self, Run { horizon, replies }: Run) {
        self.node.run_until_reply(horizon, replies);
        self.look();
    }

    /// Brings the node to a goal, if this process executes it.
    fn go(&mut self, goal: Goal) -> Option<Report> {
        match goal {
            _ if !self.is_mine => return None,
            Goal::Round(run) => self.run(run),
            Goal::Stand(time) => self.node.run_until(time),
        }
        Some(self.report())
    }
}

/// How far a node runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    /// As far as in a round.
    Round(Run),
    /// To a time, with its idle cores.
    Stand(SimTime),
}

/// How far a node runs in a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    horizon: SimTime,
    /// Where it stops earlier, when something has left it.
    replies: Replies,
}

impl Run {
    /// To a horizon, whatever leaves the node.
    pub(super) const fn to(horizon: SimTime) -> Self {
        let replies = Replies::NONE;
        Self { horizon, replies }
    }
}

/// How far the nodes run in a round.
#[derive(Debug, Clone, Copy)]
struct Round<'n> {
    all: Run,
    /// Nodes that are not `near` go on to where the first thing that happens now can reach them.
    quiet: Option<(Run, &'n [bool])>,
    /// The node from which something can leave first goes on to where another one can reach it.
    leader: Option<(usize, Run)>,
}

impl<'n> Round<'n> {
    /// The next round, up to `end` at most. `near`: room for what the segment says of the nodes.
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
        let all = Run { horizon, replies };
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
        let quiet = quiet.map(|horizon| (Run { horizon, replies }, near.as_slice()));
        let leader = goes_on.then_some((leader, Run { horizon, replies }));
        Self { all, quiet, leader }
    }

    /// How far a node runs.
    fn of(&self, node: usize) -> Run {
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

/// Lets nodes take a course, on whatever threads there are.
pub(super) fn run<C: Course>(
    members: &mut [Member<'_>],
    crew: &Crew,
    course: C,
) -> Result<(), C::Error> {
    if crew.is_alone() || members.len() < SHARED_FROM {
        return course.advance(&mut OneByOne(members));
    }
    let go = |member: &mut &mut Member<'_>, goal| member.go(goal);
    crew.team(members.iter_mut(), go, |team| {
        course.advance(&mut Shared(team))
    })
}

/// The rounds up to `end`.
fn advance<C: Company>(
    members: &mut impl Crowd,
    segment: &mut dyn Segment,
    end: SimTime,
    mut company: C,
) -> Result<(), C::Error> {
    let all: Vec<usize> = (0..members.len()).collect();
    let (mut due, mut near, mut told) = (Vec::new(), Vec::new(), Told::default());
    for &index in &all {
        members.with(index, |member| {
            if member.is_mine {
                told.reports.push((index, member.begin()));
            }
        });
    }
    let mut is_over = company.announce(members, &all, end, &mut told.reports)?;
    let mut departures = Earliest::new(members.len());
    told.take(segment, members, &mut departures, |_| SimTime::ZERO);
    let mut now = SimTime::ZERO;
    while now < end && !is_over {
        // Before that time nothing from outside can matter to any node.
        let round = Round::next(&departures, segment, end, &mut near);
        let horizon = round.all.horizon;
        departures.before(horizon, &mut due);
        members.run(
            &due,
            |index| Goal::Round(round.of(index)),
            &mut told.reports,
        );
        is_over = company.announce(members, &due, horizon, &mut told.reports)?;
        let horizon_of = |index| round.of(index).horizon;
        let answers = told.take(segment, members, &mut departures, horizon_of);
        let [unit, control] = departures.first();
        now = horizon.min(answers).min(unit).min(control);
        segment.run_until(now);
        deliver(segment, members, &mut departures);
    }
    // Those that stayed behind, and their idle cores, come there too.
    members.run(&all, |_| Goal::Stand(now), &mut told.reports);
    company.announce_outboxes(members, &all)?;
    for &index in &all {
        members.with(index, |member| segment.take(index, member.node.outbox()));
    }
    deliver(segment, members, &mut departures);
    Ok(())
}

/// What the nodes told at the end of their last runs.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) reports: Vec<(usize, Report)>,
    /// Those that sent something, in ascending order.
    senders: Vec<usize>,
}

impl Told {
    /// Notes when something may leave the nodes, and takes what left them, each of which was to run to `horizon_of` it. Returns the earliest
    /// time of an answer to a reply, for which a node stopped before.
    pub(super) fn take(
        &mut self,
        segment: &mut dyn Segment,
        members: &mut impl Crowd,
        departures: &mut Earliest,
        horizon_of: impl Fn(usize) -> SimTime,
    ) -> SimTime {
        let mut answers = SimTime::MAX;
        self.senders.clear();
        for (index, report) in self.reports.drain(..) {
            departures.set(index, report.departures);
            if report.now < horizon_of(index) {
                answers = answers.min(report.answers);
            }
            if report.has_sent {
                self.senders.push(index);
            }
        }
        self.senders.sort_unstable();
        for &index in &self.senders {
            members.with(index, |member| segment.take(index, member.node.outbox()));
        }
        answers
    }
}

/// Tells nodes of the units and controls that will reach them.
pub(super) fn deliver(
    segment: &mut dyn Segment,
    members: &mut impl Crowd,
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
