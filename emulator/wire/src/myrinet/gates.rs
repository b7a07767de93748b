//! STOP and GO: a port says STOP when its slack buffer fills and GO when it empties.

use super::event::Step;
use super::segment::Joined;
use super::{Control, Direction};
use crate::port::Port;
use emulator_base::time::SimTime;

impl Joined<'_> {
    /// The node at a channel's end sends a control.
    pub fn hear(&mut self, channel: usize, control: Control) {
        match control {
            Control::Stop | Control::Go => {
                let stop = control == Control::Stop;
                self.network.channels[channel].stopping = stop;
                self.send_gate(channel, stop);
            }
            Control::Reset(Direction::Send) => self.reset(self.network.back(channel)),
            Control::Reset(Direction::Receive) => self.reset(channel),
            // Only ports say these.
            Control::Sent { .. } | Control::Tail { .. } => {}
        }
    }

    /// The end of a channel sends STOP or GO to its beginning.
    fn send_gate(&mut self, index: usize, stop: bool) {
        let now = self.now;
        let channel = &mut self.network.channels[index];
        match stop {
            true => channel.counts.stops += 1,
            false => channel.counts.gos += 1,
        }
        let there = now.saturating_add(channel.link.propagation);
        let Some(node) = channel.sender() else {
            return self.schedule(there, index, Step::Gate(stop));
        };
        channel.gate.change(now, there, stop);
        let control = if stop { Control::Stop } else { Control::Go };
        let holder = channel.holder;
        self.announce_control(node, there, control);
        if let Some(holder) = holder {
            self.replan(holder, there);
        }
    }

    /// STOP or GO reaches the beginning of a channel in a crossbar.
    pub fn gate_changes(&mut self, index: usize, stop: bool) {
        let now = self.now;
        let channel = &mut self.network.channels[index];
        channel.gate.change(now, now, stop);
        if let Some(holder) = channel.holder {
            self.replan(holder, now);
        }
    }

    /// Bytes in the slack buffer at a channel's end at `time`, if nothing changes until then.
    fn fill(&self, index: usize, time: SimTime) -> u64 {
        let inside = self.network.channels[index].inside.iter();
        let held = inside.map(|&(number, index)| {
            let Some(worm) = self.network.worm(number) else {
                return 0;
            };
            let arrived = worm.hops[index].arrived.passed(time);
            let next = worm.hops.get(index + 1).filter(|next| next.granted);
            // The route byte leaves the buffer with the head.
            let left = next.map_or(0, |next| next.sent.passed(time) + 1);
            arrived.saturating_sub(left)
        });
        held.sum()
    }

    /// Looks at the slack buffer at a channel's end: sends STOP or GO if they are due, and predicts when they will be.
    pub fn watch(&mut self, index: usize) {
        let channel = &self.network.channels[index];
        let Port::Switch { switch, .. } = channel.lane.to() else {
            return;
        };
        let Some(crossbar) = self.network.crossbars.get(switch) else {
            return;
        };
        let marks = crossbar.config.watermarks;
        let fill = self.fill(index, self.now);
        let stopping = channel.stopping;
        let due = match stopping {
            false => fill >= marks.stop_bytes,
            true => fill <= marks.go_bytes,
        };
        let channel = &mut self.network.channels[index];
        channel.counts.fullest_bytes = channel.counts.fullest_bytes.max(fill);
        channel.prediction += 1;
        let prediction = channel.prediction;
        if due {
            channel.stopping = !stopping;
            self.send_gate(index, !stopping);
        }
        let crossing = match stopping != due {
            false => self.rises_to(index, marks.stop_bytes),
            true => self.falls_to(index, marks.go_bytes),
        };
        if let Some(time) = crossing {
            self.schedule(time, index, Step::Watermark(prediction));
        }
    }

    /// The time at which the buffer at a channel's end holds `bytes` or more, if it fills and nothing changes.
    fn rises_to(&self, index: usize, bytes: u64) -> Option<SimTime> {
        let channel = &self.network.channels[index];
        let last = self.network.hop(*channel.inside.back()?)?;
        let supply = last.arrived;
        let drain = channel.inside.front().and_then(|&(number, hop)| {
            let drain = self.network.hop((number, hop + 1))?.sent;
            (drain.passed(self.now) < drain.limit).then_some(drain.step)
        });
        if drain.is_some_and(|drain| drain <= supply.step) {
            return None;
        }
        let enough = |time| self.fill(index, time) >= bytes;
        first(
            supply.passed(self.now),
            supply.limit,
            |n| supply.time_of(n),
            enough,
        )
    }

    /// The time at which the buffer at a channel's end holds `bytes` or less, if it empties and nothing changes.
    fn falls_to(&self, index: usize, bytes: u64) -> Option<SimTime> {
        let channel = &self.network.channels[index];
        let &(number, hop) = channel.inside.front()?;
        let drain = self.network.hop((number, hop + 1))?.sent;
        let enough = |time| self.fill(index, time) <= bytes;
        first(
            drain.passed(self.now),
            drain.limit,
            |n| drain.time_of(n),
            enough,
        )
    }
}

/// The time of the first byte from `low` to `high`, not included, at which something holds that holds for all later ones too.
fn first(
    mut low: u64,
    high: u64,
    time_of: impl Fn(u64) -> SimTime,
    holds: impl Fn(SimTime) -> bool,
) -> Option<SimTime> {
    if low >= high || !holds(time_of(high - 1)) {
        return None;
    }
    let mut high = high - 1;
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(time_of(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(time_of(low))
}
