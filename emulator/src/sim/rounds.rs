//! Rounds: how the nodes of a segment run.
//!
//! In a round all nodes run up to one horizon, on whatever threads there are; then the segment takes the
//! units and controls that left, in an order of its own, and tells nodes of those that will reach them. The horizon is the
//! first moment at which a unit that no node knows of yet can reach a node: it follows from the state at the
//! round's begin alone. A node from which nothing can leave before the horizon stays where it is, and follows when something can.

use super::component::Member;
use super::threads::Crew;
use super::time::SimTime;
use crate::wire::network::Segment;

/// Fewer nodes are not worth sharing among threads.
const SHARED_FROM: usize = 8;

impl Member<'_> {
    /// The earliest time at which the head of another unit could leave.
    fn next_unit(&self) -> SimTime {
        let caused = self.effect.saturating_add(self.leads[0]);
        caused.max(self.transmitter_free_at)
    }

    /// The earliest time at which a control could leave.
    fn next_control(&self) -> SimTime {
        let caused = self.effect.saturating_add(self.leads[1]);
        caused.max(self.next_control)
    }

    /// The earliest time at which anything could leave.
    fn next_departure(&self) -> SimTime {
        self.next_unit().min(self.next_control())
    }

    /// Asks the node how soon something may leave it.
    fn look(&mut self) {
        self.effect = self.node.next_effect();
        self.transmitter_free_at = self.node.transmitter_free_at();
        self.next_control = self.node.next_control();
    }

    /// Brings the node to `horizon`, with everything that could be noticed outside.
    fn run(&mut self, horizon: SimTime) {
        self.node.run_until_reply(horizon, SimTime::MAX);
        self.look();
        self.ran = true;
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
    for member in &mut *members {
        // Programs and events may have been added since the last run.
        member.node.start_programs();
        member.look();
        member.ran = true;
    }
    // What left a board that was written to between runs.
    take(segment, members);
    let mut now = SimTime::ZERO;
    while now < end && !interrupted() {
        now = horizon(segment, members).min(end);
        let mut due = members
            .iter()
            .filter(|member| member.next_departure() < now);
        let shared = due.nth(SHARED_FROM - 1).is_some();
        let run = |member: &mut Member<'_>| {
            if member.next_departure() < now {
                member.run(now);
            }
        };
        if shared {
            crew.share(members, run);
        } else {
            members.iter_mut().for_each(run);
        }
        take(segment, members);
        segment.run_until(now);
        deliver(segment, members);
    }
    // Those that stayed behind, and their idle cores, come there too.
    crew.share(members, |member| {
        member.node.run_until(now);
        member.ran = true;
    });
    take(segment, members);
    deliver(segment, members);
}

/// The time before which nothing from outside can matter to any node.
fn horizon(segment: &dyn Segment, members: &[Member<'_>]) -> SimTime {
    let first = (SimTime::MAX, SimTime::MAX);
    let (unit, control) = members.iter().fold(first, |(unit, control), member| {
        (
            unit.min(member.next_unit()),
            control.min(member.next_control()),
        )
    });
    segment.horizon(unit, control)
}

/// Tells nodes of the units and controls that will reach them.
fn deliver(segment: &mut dyn Segment, members: &mut [Member<'_>]) {
    segment.deliver(&mut |to, matters, delivery| {
        let member = &mut members[to];
        member.node.deliver(delivery);
        member.effect = member.effect.min(matters);
    });
}

/// Takes the units and controls that left the nodes.
fn take(segment: &mut dyn Segment, members: &mut [Member<'_>]) {
    for (index, member) in members.iter_mut().enumerate() {
        if std::mem::take(&mut member.ran) {
            segment.take(index, member.node.outbox());
        }
    }
}
