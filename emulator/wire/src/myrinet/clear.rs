//! Packets that are taken out of the network: routes that lead nowhere, cut cables, dead crossbars, watchdogs.

use super::Control;
use super::event::Step;
use super::segment::Joined;
use super::worm::{HopId, Worm};
use emulator_base::loss::LossReason;

impl Joined<'_> {
    /// A packet gets no further. The loss is counted at a channel.
    pub fn lose(&mut self, (number, hop): HopId, channel: usize, reason: LossReason) {
        let packet = self.network.worm(number).map(|worm| worm.packet_at(hop));
        if let Some(packet) = packet {
            let lane = &mut self.network.channels[channel].lane;
            lane.lose_under_way(self.now, reason, &packet);
        }
        self.clear(number);
    }

    /// A packet is lost that does not get on the wire of a channel.
    pub fn lose_unsent(&mut self, (number, hop): HopId, channel: usize, reason: LossReason) {
        let packet = self.network.worm(number).map(|worm| worm.packet_at(hop));
        if let Some(packet) = packet {
            let notes = self.notes_before(channel, (number, hop));
            let lane = &mut self.network.channels[channel].lane;
            lane.lose_unheard(self.now, reason, &packet, notes);
        }
        self.clear(number);
    }

    /// Takes a packet out of the network: its channels are free at once, and its receiver hears that it ends.
    pub fn clear(&mut self, number: u64) {
        let Some(worm) = self.take_out(number) else {
            return;
        };
        for (index, hop) in worm.hops.iter().enumerate() {
            let id = (number, index);
            self.end_wait(hop.channel, id);
            let channel = &mut self.network.channels[hop.channel];
            channel.inside.retain(|&inside| inside != id);
            if channel.holder == Some(id) {
                channel.release(self.now);
            }
            let free_at = channel.free_at.max(self.now);
            self.schedule(free_at, hop.channel, Step::Free);
        }
        self.tell_sender(&worm);
        self.tell_receiver(&worm);
    }

    /// The sender of a packet that was taken out sends the rest into nothing, unless it was stopped.
    fn tell_sender(&mut self, worm: &Worm) {
        let (true, Some(first)) = (worm.reports, worm.hops.first()) else {
            return;
        };
        let channel = &self.network.channels[first.channel];
        let (link, soon) = (
            channel.link,
            self.now.saturating_add(channel.link.propagation),
        );
        let Some(node) = channel.sender() else {
            return;
        };
        let last = first.length.saturating_sub(1);
        let (time, whole) = match first.granted {
            false => (self.now.saturating_add(link.span(first.length)), true),
            true if first.sent.limit < first.length => (soon, false),
            true => (
                first.sent.time_of(last).saturating_add(link.byte_time),
                true,
            ),
        };
        self.announce_control(node, time.max(soon), Control::Sent { whole });
    }

    /// The receiver of a packet that was taken out hears of it, if it knows of the head.
    fn tell_receiver(&mut self, worm: &Worm) {
        let last = worm.hops.last().filter(|last| last.head_in);
        let channel = last.map(|last| &self.network.channels[last.channel]);
        let node = channel.and_then(|channel| Some((channel.receiver()?, channel.link)));
        match node {
            Some((node, link)) => {
                self.network.counts.cut_short += 1;
                let time = self.now.saturating_add(link.propagation);
                self.announce_control(node, time, Control::Tail { whole: false });
            }
            None => self.network.counts.lost += 1,
        }
    }

    /// A cable is cut. Packets that are on it are lost, and those in the buffer at its end if the crossbar there fails with it.
    pub fn cut(&mut self, index: usize, crossbar: bool) {
        let now = self.now;
        let channel = &self.network.channels[index];
        let mut lost = Vec::new();
        for &id in channel.inside.iter().chain(&channel.holder) {
            let Some(hop) = self.network.hop(id) else {
                continue;
            };
            let in_whole = hop.arrived.passed(now) == hop.length;
            if (crossbar || !in_whole) && !lost.contains(&id) {
                lost.push(id);
            }
        }
        for id in lost {
            self.lose(id, index, LossReason::Cut);
        }
    }

    /// A cable is pulled out and another one is plugged in. Packets on the old one are lost. A node that had stopped what comes in
    /// still does; one that was stopped goes on.
    pub fn replug(&mut self, old: usize, new: usize) {
        for channel in [old, old ^ 1] {
            self.cut(channel, false);
        }
        self.network.plug_in(old, new);
        // Routes lead elsewhere now.
        for worm in self.network.worms.iter() {
            self.nearness.changes_packet(worm.number);
        }
        for old in [old, old ^ 1] {
            let channel = &self.network.channels[old];
            let stopping = channel.receiver().is_some() && channel.stopping;
            if stopping {
                let now = self.now;
                let back = self.network.current_back(old);
                let back = &mut self.network.channels[back];
                back.stopping = true;
                back.gate.change(now, now, true);
            }
            let channel = &self.network.channels[old];
            if let (Some(node), Some((time, true))) = (channel.sender(), channel.gate.last()) {
                let soon = self.now.saturating_add(channel.link.propagation);
                self.announce_control(node, time.max(soon), Control::Go);
            }
        }
    }

    /// A packet has waited for a channel for too long, if it still does.
    pub fn bark(&mut self, channel: usize, id: HopId) {
        if self.network.channels[channel].waiting.contains(&id) {
            self.lose(id, channel, LossReason::Blocked);
        }
    }

    /// A node resets its port: the packet that is on the channel, or waits for it first, is taken out.
    pub fn reset(&mut self, index: usize) {
        let channel = &self.network.channels[index];
        let first = channel.holder.or_else(|| match channel.sender() {
            Some(_) => channel.waiting.front().copied(),
            None => None,
        });
        if let Some(id) = first {
            self.lose(id, index, LossReason::Blocked);
        }
    }
}
