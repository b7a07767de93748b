//! Rounds: how the nodes of a segment run.
//!
//! In a round all nodes run up to one horizon, on whatever threads there are; then the segment takes the
//! units and controls that left, in an order of its own, and tells nodes of those that will reach them. The horizon is the
//! first moment at which a unit that no node knows of yet can reach a node: it follows from the state at the
//! round's begin alone. A node from which nothing can leave before the horizon stays where it is, and follows when something can: a
//! round costs as much as the nodes that run in it.

use super::component::Member;
use super::earliest::{Departures, Earliest};
use super::threads::Crew;
use super::time::SimTime;
use crate::wire::network::Segment;

/// Fewer nodes are not worth sharing among threads.
const SHARED_FROM: usize = 8;

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
        match self.node.now() {
            now if now < horizon => now.saturating_add(unit.min(control)),
            _ => horizon,
        }
    }

    /// Asks the node how soon something may leave it.
    fn look(&mut self) {
        self.effect = self.node.next_effect();
        self.transmitter_free_at = self.node.transmitter_free_at();
        self.next_control = self.node.next_control(self.effect);
    }

    /// Brings the node to `horizon`, with everything that could be noticed outside, or to `reply` after a unit begins to leave.
    fn run(&mut self, horizon: SimTime, reply: SimTime) {
        self.node.run_until_reply(horizon, reply);
        self.look();
    }
}

/// Brings every node to `end`, unless it is interrupted.
pub(super) fn run(
    members: &mut [Member<'_>],
    segment: &mut dyn Segment,
    end: SimTime,
    crew: &Crew,
    interrupted: impl Fn() -> bool,
) {
    let mut departures = Earliest::new(members.len());
    for (index, member) in members.iter_mut().enumerate() {
        // Programs and events may have been added since the last run.
        member.node.start_programs();
        member.look();
        departures.set(index, member.departures());
        // What left a board that was written to between runs.
        segment.take(index, member.node.outbox());
    }
    let (mut due, reply) = (Vec::new(), segment.reply());
    let mut now = SimTime::ZERO;
    while now < end && !interrupted() {
        // Before that time nothing from outside can matter to any node.
        let [unit, control] = departures.first();
        let horizon = segment.horizon(unit, control).min(end);
        departures.before(horizon, &mut due);
        bring(members, &due, (horizon, reply), crew);
        now = horizon;
        for &index in &due {
            let member = &mut members[index];
            departures.set(index, member.departures());
            segment.take(index, member.node.outbox());
            now = now.min(member.answers_from(horizon));
        }
        let [unit, control] = departures.first();
        now = now.min(unit).min(control);
        segment.run_until(now);
        deliver(segment, members, &mut departures);
    }
    // Those that stayed behind, and their idle cores, come there too.
    crew.share(members, |member| member.node.run_until(now));
    for (index, member) in members.iter_mut().enumerate() {
        segment.take(index, member.node.outbox());
    }
    deliver(segment, members, &mut departures);
}

/// Brings the nodes `due`, in ascending order, to a horizon, or to a reply.
fn bring(
    members: &mut [Member<'_>],
    due: &[usize],
    (horizon, reply): (SimTime, SimTime),
    crew: &Crew,
) {
    if due.len() < SHARED_FROM || crew.is_alone() {
        for &index in due {
            members[index].run(horizon, reply);
        }
        return;
    }
    let (mut rest, mut first) = (members.iter_mut(), 0);
    let picked = due.iter().filter_map(|&index| {
        let gap = index - std::mem::replace(&mut first, index + 1);
        rest.nth(gap)
    });
    let mut picked: Vec<_> = picked.collect();
    crew.share(&mut picked, |member| member.run(horizon, reply));
}

/// Tells nodes of the units and controls that will reach them.
fn deliver(segment: &mut dyn Segment, members: &mut [Member<'_>], departures: &mut Earliest) {
    segment.deliver(&mut |to, matters, delivery| {
        let member = &mut members[to];
        member.node.deliver(delivery);
        member.effect = member.effect.min(matters);
        departures.set(to, member.departures());
    });
}
