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
use super::threads::Crew;
use super::time::SimTime;
use crate::wire::network::Segment;

/// Fewer nodes are not worth sharing among threads.
const SHARED_FROM: usize = 8;

/// The processes that execute the nodes of a segment.
pub(super) trait Company {
    /// Why they cannot go on.
    type Error;

    /// Exchanges what left the nodes `which`, in ascending order, and how soon more can. `base`: a time near theirs. Returns whether the
    /// run is to end: the same at all processes.
    fn announce(
        &mut self,
        members: &mut [Member<'_>],
        which: &[usize],
        base: SimTime,
    ) -> Result<bool, Self::Error>;

    /// Exchanges what left the nodes at the end of a slice.
    fn announce_outboxes(
        &mut self,
        members: &mut [Member<'_>],
        which: &[usize],
    ) -> Result<(), Self::Error>;
}

/// The process that executes all nodes, with the answer whether the run is to end.
pub(super) struct Alone<F>(pub(super) F);

impl<F: Fn() -> bool> Company for Alone<F> {
    type Error = Infallible;

    fn announce(
        &mut self,
        _: &mut [Member<'_>],
        _: &[usize],
        _: SimTime,
    ) -> Result<bool, Infallible> {
        Ok(self.0())
    }

    fn announce_outboxes(&mut self, _: &mut [Member<'_>], _: &[usize]) -> Result<(), Infallible> {
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

    /// The earliest time at which the answer to a reply could leave, for which the node stopped before `horizon`.
    fn answers_from(&self, horizon: SimTime) -> SimTime {
        let [unit, control] = self.leads;
        match self.now {
            now if now < horizon => now.saturating_add(unit.min(control)),
            _ => horizon,
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
}

/// How far a node runs in a round.
#[derive(Debug, Clone, Copy)]
struct Run {
    horizon: SimTime,
    /// Where it stops earlier, when something has left it.
    replies: Replies,
}

/// How far the nodes run in a round.
#[derive(Debug, Clone, Copy)]
struct Round {
    all: Run,
    /// The node from which something can leave first goes on to where another one can reach it.
    leader: Option<(usize, Run)>,
}

impl Round {
    /// The next round, up to `end` at most.
    fn next(departures: &Earliest, segment: &dyn Segment, end: SimTime) -> Self {
        let [unit, control] = departures.first();
        let horizon = segment.horizon(unit, control).min(end);
        let replies = Replies {
            units: segment.reply(),
            ..Replies::NONE
        };
        let all = Run { horizon, replies };
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
        let leader = goes_on.then_some((leader, Run { horizon, replies }));
        Self { all, leader }
    }

    /// How far a node runs.
    fn of(&self, node: usize) -> Run {
        match self.leader {
            Some((leader, run)) if leader == node => run,
            _ => self.all,
        }
    }
}

/// Brings every node to `end`, unless it is interrupted.
pub(super) fn run<C: Company>(
    members: &mut [Member<'_>],
    segment: &mut dyn Segment,
    end: SimTime,
    crew: &Crew,
    mut company: C,
) -> Result<(), C::Error> {
    let all: Vec<usize> = (0..members.len()).collect();
    for member in members.iter_mut().filter(|member| member.is_mine) {
        // Programs and events may have been added since the last run.
        member.node.start_programs();
        member.look();
    }
    let mut is_over = company.announce(members, &all, end)?;
    let mut departures = Earliest::new(members.len());
    for (index, member) in members.iter_mut().enumerate() {
        departures.set(index, member.departures());
        // What left a board that was written to between runs.
        segment.take(index, member.node.outbox());
    }
    let mut due = Vec::new();
    let mut now = SimTime::ZERO;
    while now < end && !is_over {
        // Before that time nothing from outside can matter to any node.
        let round = Round::next(&departures, segment, end);
        let horizon = round.all.horizon;
        departures.before(horizon, &mut due);
        bring(members, &due, &round, crew);
        is_over = company.announce(members, &due, horizon)?;
        now = horizon;
        for &index in &due {
            let member = &mut members[index];
            departures.set(index, member.departures());
            segment.take(index, member.node.outbox());
            now = now.min(member.answers_from(round.of(index).horizon));
        }
        let [unit, control] = departures.first();
        now = now.min(unit).min(control);
        segment.run_until(now);
        deliver(segment, members, &mut departures);
    }
    // Those that stayed behind, and their idle cores, come there too.
    crew.share(members, |member| {
        if member.is_mine {
            member.node.run_until(now);
        }
    });
    company.announce_outboxes(members, &all)?;
    for (index, member) in members.iter_mut().enumerate() {
        segment.take(index, member.node.outbox());
    }
    deliver(segment, members, &mut departures);
    Ok(())
}

/// Lets the nodes `due`, in ascending order, take part in a round, as far as this process executes them.
fn bring(members: &mut [Member<'_>], due: &[usize], round: &Round, crew: &Crew) {
    if due.len() < SHARED_FROM || crew.is_alone() {
        for &index in due {
            let member = &mut members[index];
            if member.is_mine {
                member.run(round.of(index));
            }
        }
        return;
    }
    let (mut rest, mut first) = (members.iter_mut(), 0);
    let picked = due.iter().filter_map(|&index| {
        let gap = index - std::mem::replace(&mut first, index + 1);
        Some((index, rest.nth(gap)?))
    });
    let mut picked: Vec<_> = picked.filter(|(_, member)| member.is_mine).collect();
    crew.share(&mut picked, |(index, member)| member.run(round.of(*index)));
}

/// Tells nodes of the units and controls that will reach them.
fn deliver(segment: &mut dyn Segment, members: &mut [Member<'_>], departures: &mut Earliest) {
    segment.deliver(&mut |to, matters, delivery| {
        let member = &mut members[to];
        if member.is_mine {
            member.node.deliver(delivery);
        }
        member.effect = member.effect.min(matters);
        departures.set(to, member.departures());
    });
}
