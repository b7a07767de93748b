//! Transmitters: when the bytes of a packet leave the beginning of a channel.

use super::Control;
use super::event::Step;
use super::flow::{Flow, follow};
use super::segment::Joined;
use super::worm::HopId;
use crate::medium::Delivery;
use emulator_base::time::SimTime;
use emulator_base::unit::Arrival;

/// A new plan of a transmitter.
struct TransmitPlan {
    channel: usize,
    flow: Flow,
    length: u64,
    version: u64,
    /// Time at which the tail has left, if nothing changes and all bytes are known to come.
    tail: Option<SimTime>,
    /// Time at which the transmitter catches up with what comes in.
    caught_up: Option<SimTime>,
    head_in: bool,
    reports: bool,
}

impl Joined<'_> {
    /// Plans again how the bytes of a hop leave from `time` on. That time is later than now for a node's transmitter, which knows what STOP
    /// and GO are on their way to it.
    pub fn replan(&mut self, id: HopId, time: SimTime) {
        let Some(plan) = self.plan(id, time) else {
            return;
        };
        let channel = &self.network.channels[plan.channel];
        let (propagation, away) = (channel.link.propagation, channel.sender().is_some());
        match self.network.delay(plan.channel) {
            Some(delay) => {
                let step = Step::Flow(id, plan.flow.delayed(delay));
                self.schedule(time.saturating_add(delay), plan.channel, step);
            }
            None if !plan.head_in && plan.flow.limit > 0 => {
                self.schedule(plan.flow.from, plan.channel, Step::Begin(id, plan.version));
            }
            None => {}
        }
        if let Some(tail) = plan.tail {
            self.schedule(tail, plan.channel, Step::TailOut(id, plan.version));
            if away && plan.reports {
                // A STOP that leaves the far end later comes too late.
                let settled = tail.saturating_sub(propagation).max(self.now);
                self.schedule(settled, plan.channel, Step::Settle(id, plan.version));
            }
        }
        if let Some(time) = plan.caught_up {
            self.schedule(time, plan.channel, Step::Replan(id, plan.version));
        }
        debug_assert!(plan.flow.limit <= plan.length);
        if let Some(before) = self.before(id) {
            self.watch(before);
        }
    }

    /// The new plan of a hop, which is noted there; `None` if it is the old one.
    fn plan(&mut self, (number, index): HopId, time: SimTime) -> Option<TransmitPlan> {
        let worm = self.network.worm(number)?;
        let hop = worm.hops.get(index)?;
        let next = hop.sent.passed_before(time);
        if !hop.granted || next >= hop.length {
            return None;
        }
        let channel = &self.network.channels[hop.channel];
        let step = channel.link.byte_time;
        let ready = time.max(hop.sent.time_of(next));
        let idle = Flow {
            from: ready,
            first: next,
            step,
            limit: next,
        };
        let supply = index.checked_sub(1).map(|before| worm.hops[before].arrived);
        let flow = match supply {
            _ if channel.gate.is_stopped(time) => idle,
            Some(supply) => follow(&supply, next, ready, step),
            None => Flow {
                limit: hop.length,
                ..idle
            },
        };
        let stopped = flow.limit == next;
        let known = supply.map_or(hop.length, |supply| supply.limit.saturating_sub(1));
        // An unchanged line may end where it did because the supply was short, and now because it catches up: then it must be planned
        // again.
        let catches_up = flow.limit < known && !stopped;
        if !catches_up && hop.sent.continues(&flow, next) {
            return None;
        }
        let mut plan = TransmitPlan {
            channel: hop.channel,
            flow,
            length: hop.length,
            version: hop.version + 1,
            tail: None,
            caught_up: None,
            head_in: hop.head_in,
            reports: worm.reports,
        };
        if flow.limit == hop.length {
            plan.tail = Some(flow.time_of(hop.length - 1).saturating_add(step));
        } else if catches_up {
            plan.caught_up = Some(flow.time_of(flow.limit));
        }
        let hop = self.network.hop_mut((number, index))?;
        (hop.sent, hop.version) = (flow, plan.version);
        Some(plan)
    }

    /// The channel before that of a hop.
    fn before(&self, (number, hop): HopId) -> Option<usize> {
        let before = self.network.hop((number, hop.checked_sub(1)?))?;
        Some(before.channel)
    }

    /// Updates the flow of bytes that comes in at a crossbar.
    pub fn flow_changes(&mut self, id: HopId, flow: Flow) {
        let now = self.now;
        let Some(hop) = self.network.hop_mut(id) else {
            return;
        };
        hop.arrived = flow;
        let channel = hop.channel;
        if !hop.head_in && flow.limit > 0 {
            if flow.from <= now {
                return self.head_arrives(id);
            }
            return self.schedule(flow.from, channel, Step::Head(id));
        }
        self.replan((id.0, id.1 + 1), now);
        self.watch(channel);
    }

    /// A head leaves for a node.
    pub fn begin(&mut self, (number, index): HopId) {
        let Some(worm) = self.network.worm_mut(number) else {
            return;
        };
        let hop = &mut worm.hops[index];
        if std::mem::replace(&mut hop.head_in, true) {
            return;
        }
        let (from, index_of_channel) = (hop.sent.from, hop.channel);
        let unit = worm.packet_at(index);
        let channel = &self.network.channels[index_of_channel];
        let head = from.saturating_add(channel.link.propagation);
        if let Some(node) = channel.receiver() {
            let tail = None;
            let arrival = Arrival { head, tail, unit };
            self.announce(node, head, Delivery::Unit(arrival));
        }
    }

    /// A node's tail leaves at the time that is planned, whatever happens.
    pub fn settle(&mut self, (number, index): HopId) {
        let Some(worm) = self.network.worm_mut(number) else {
            return;
        };
        worm.reports = false;
        self.nearness.changes_packet(number);
        let hop = &worm.hops[index];
        let (place, last) = (hop.channel, hop.sent.time_of(hop.length.saturating_sub(1)));
        let channel = &self.network.channels[place];
        let tail = last.saturating_add(channel.link.byte_time);
        if let Some(node) = channel.sender() {
            self.announce_control(node, tail, Control::Sent { whole: true });
        }
    }

    /// A tail has left the beginning of a channel.
    pub fn tail_out(&mut self, id: HopId) {
        let before = self.before(id);
        let Some(hop) = self.network.hop_mut(id) else {
            return;
        };
        hop.tail_out = true;
        let (index, length) = (hop.channel, hop.length);
        self.nearness.changes_packet(id.0);
        let channel = &mut self.network.channels[index];
        channel.release(self.now);
        let free_at = channel.free_at;
        channel.lane.carried_bytes(length);
        let there = self.now.saturating_add(channel.link.propagation);
        if let Some(node) = channel.receiver() {
            self.take_out(id.0);
            self.network.counts.delivered += 1;
            self.announce_control(node, there, Control::Tail { whole: true });
        }
        if let Some(before) = before {
            let place = (id.0, id.1 - 1);
            self.network.channels[before]
                .inside
                .retain(|&inside| inside != place);
            self.forward_first(before);
            self.watch(before);
        }
        self.schedule(free_at, index, Step::Free);
    }
}
