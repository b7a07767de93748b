//! Quiet nodes: no packet under way is so near to them that they can hear of anything soon.
//!
//! A node hears of what happens to its own packets, and to those on the cable that leads to it. A packet asks for that cable when its head
//! is in at the last crossbar, a delay after it was given the cable before it. So if no packet has that cable yet, and the node has no
//! packet of its own, it hears of nothing for that delay after the first event, whatever the events are: a packet that is
//! lost lets others go on, but these need the delay too.

use super::event::{Event, Step};
use super::network::MyrinetNetwork;
use super::segment::Joined;
use super::worm::Worm;
use crate::sim::time::SimTime;

/// From any event to the first moment at which a quiet node can hear of what follows from it. `None` if a cable of a node does not lead to
/// a crossbar.
pub(super) fn span_of(network: &MyrinetNetwork, far: SimTime) -> Option<SimTime> {
    let channels = 0..network.channels.len();
    let delays = channels.filter_map(|channel| match network.delay(channel) {
        Some(delay) => Some(Some(delay)),
        None => {
            let of_node = network.channels[channel].sender();
            of_node.map(|_| None)
        }
    });
    let least = delays.reduce(|a, b| Some(a?.min(b?)))??;
    Some(least.saturating_add(far))
}

impl Joined<'_> {
    /// Marks the nodes that are not quiet. Returns whether any are.
    pub(super) fn mark_near(&self, near: &mut Vec<bool>) -> bool {
        near.clear();
        near.resize(self.nodes.len(), false);
        let mut mark = |node: Option<usize>| {
            let member = node.and_then(|node| self.member(node));
            if let Some(place) = member.and_then(|member| near.get_mut(member)) {
                *place = true;
            }
        };
        for Event { channel, step, .. } in &self.network.pending.0 {
            let channel = &self.network.channels[*channel];
            match step {
                // Cables change.
                Step::Cut(_) | Step::Replug(_) => return false,
                // A packet that no board has sent begins on a node's last cable.
                Step::Leave(..) => mark(channel.receiver()),
                _ => {}
            }
            mark(channel.sender());
        }
        for worm in &self.network.worms {
            mark(self.tied_sender(worm));
            mark(self.next_receiver(worm));
        }
        near.contains(&false)
    }

    /// The sender of a packet that is not clear of it yet.
    fn tied_sender(&self, worm: &Worm) -> Option<usize> {
        let is_clear = worm.hops.get(1).is_some_and(|second| second.tail_out);
        let first = worm.hops.first()?;
        match is_clear && !worm.reports {
            true => None,
            false => self.network.channels[first.channel].sender(),
        }
    }

    /// The node to which a packet is on its last cable, or on the one before it.
    fn next_receiver(&self, worm: &Worm) -> Option<usize> {
        let (index, last) = worm.hops.iter().enumerate().next_back()?;
        let channels = &self.network.channels;
        if let Some(receiver) = channels[last.channel].receiver() {
            return Some(receiver);
        }
        if !last.granted {
            return None;
        }
        let out = self.egress(last.channel, (worm.number, index)).ok()?;
        channels[out].receiver()
    }
}
