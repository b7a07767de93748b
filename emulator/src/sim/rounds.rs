//! How the nodes of a network go on: in rounds.
//!
//! In a round all nodes run up to one horizon, on whatever threads there are; then the network takes the
//! frames that left, in the order of their times and lines, and hands over what arrives. The horizon is the
//! first moment at which a frame that nobody has sent yet, or one that is under way, could matter to
//! a node: it follows from the state at the round's begin alone. A node that does nothing noticeable before
//! the horizon stays where it is, and comes after when it has something to do.

use super::component::Member;
use super::network::{Arrival, Network};
use super::threads::Crew;
use super::time::SimTime;

/// Fewer nodes are not worth being shared among threads.
const SHARED_FROM: usize = 8;

impl Member<'_> {
    /// The earliest time at which the first bit of another frame could leave.
    fn may_send_at(&self) -> SimTime {
        self.effect.max(self.transmitter_free_at)
    }

    /// Looks again what the node may send.
    fn look(&mut self) {
        self.effect = self.node.next_effect();
        self.transmitter_free_at = self.node.transmitter_free_at();
    }

    /// Brings the node to `horizon`, with all that could be noticed from outside.
    fn run(&mut self, horizon: SimTime) {
        self.node.run_until_reply(horizon, SimTime::MAX);
        self.look();
    }
}

impl Network<'_> {
    /// Brings every node to `end`, unless somebody interrupts.
    pub(super) fn run_rounds(
        &mut self,
        members: &mut [Member<'_>],
        end: SimTime,
        crew: &Crew,
        interrupted: impl Fn() -> bool,
    ) {
        for member in &mut *members {
            // Programs and events may have been added since.
            member.node.start_programs();
            member.look();
        }
        let mut now = SimTime::ZERO;
        while now < end && !interrupted() {
            now = self.horizon(members).min(end);
            let mut due = members.iter().filter(|member| member.may_send_at() < now);
            let shared = due.nth(SHARED_FROM - 1).is_some();
            let run = |member: &mut Member<'_>| {
                if member.may_send_at() < now {
                    member.run(now);
                }
            };
            if shared {
                crew.share(members, run);
            } else {
                members.iter_mut().for_each(run);
            }
            self.collect(members);
            let known = now.saturating_add(self.look_ahead.first_link);
            self.run_until(known);
            self.tell_all(members);
        }
        // Those that stayed behind, and their idle cores, stand there too.
        crew.share(members, |member| member.node.run_until(now));
        self.collect(members);
        self.tell_all(members);
    }

    /// Before that time nothing from outside can matter to any node.
    fn horizon(&self, members: &[Member<'_>]) -> SimTime {
        let sends = members.iter().map(Member::may_send_at).min();
        let sent = sends.unwrap_or(SimTime::MAX);
        let sent = sent.saturating_add(self.look_ahead.path);
        let under_way = self.next_time().saturating_add(self.look_ahead.inside);
        sent.min(under_way)
    }

    /// Tells nodes which frames will reach them.
    fn tell_all(&mut self, members: &mut [Member<'_>]) {
        for arrival in self.arrivals.drain(..) {
            let Arrival { node, frame, .. } = arrival;
            let member = &mut members[self.places.members[node]];
            member.node.frame_arrives(frame, arrival.first_bit);
            member.effect = member.effect.min(arrival.matters);
        }
    }

    /// Takes the frames that began to leave.
    fn collect(&mut self, members: &mut [Member<'_>]) {
        for member in members {
            let Some(line) = member.line else {
                continue;
            };
            for departure in member.node.take_in_vain() {
                self.send_in_vain(line, &departure);
            }
            for departure in member.node.drain_departures() {
                self.leave(line, departure, 0);
            }
        }
    }
}
