//! Far nodes: no packet under way is so near to them that they can hear of anything soon.
//!
//! A node hears of what happens to its own packets, and to those on the cable that leads to it. A packet asks for that cable when its head
//! is in at the last crossbar, a delay after it was given the cable before it. So if no packet has that cable yet, and the node has no
//! packet of its own, it hears of nothing for that delay after the first event, whatever the events are: a packet that is
//! lost lets others go on, but these need the delay too.
//!
//! With many nodes there are hundreds of packets and events, and each round asks which nodes are far. So the segment counts for each node
//! what is near it: each event when it begins to be pending and when it is over ([`Nearness::begins`], [`Nearness::is_over`]), and each
//! packet whose way has changed ([`Joined::note_changed_packets`]).

use super::event::{Event, Step};
use super::network::MyrinetNetwork;
use super::segment::Joined;
use super::worm::Worm;
use emulator_base::time::SimTime;

/// The span from any event to the first moment at which a far node can hear of what follows from it. `None` if a cable of a node does not
/// lead to a crossbar.
pub(super) fn span_of(network: &MyrinetNetwork, shortest_cable: SimTime) -> Option<SimTime> {
    let channels = 0..network.channels.len();
    let delays = channels.filter_map(|channel| match network.delay(channel) {
        Some(delay) => Some(Some(delay)),
        None => {
            let of_node = network.channels[channel].sender();
            of_node.map(|_| None)
        }
    });
    let least = delays.reduce(|a, b| Some(a?.min(b?)))??;
    Some(least.saturating_add(shortest_cable))
}

/// The nodes at the ends of a channel, or of what is left of a packet's way, by their numbers in the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ends {
    sender: Option<u32>,
    receiver: Option<u32>,
}

/// Counts of the events and packets that are near nodes.
#[derive(Debug)]
pub(super) struct Nearness {
    /// The ends of each channel.
    channels: Vec<Ends>,
    /// For each node of the segment, the number of pending events and packets that are near it.
    near: Vec<u32>,
    /// Pending events by which cables change. No node is far while there are some.
    cables: u32,
    /// Packets of which it is to be found out anew what they are near to.
    changed: Vec<u64>,
}

impl Nearness {
    /// The counts for these nodes, without the packets, which are all noted as changed.
    pub fn new(network: &mut MyrinetNetwork, nodes: &[usize]) -> Self {
        network.worms.forget_notes();
        let member = |node: Option<usize>| {
            let member = nodes.binary_search(&node?).ok()?;
            u32::try_from(member).ok()
        };
        let ends = network.channels.iter().map(|channel| Ends {
            sender: member(channel.sender()),
            receiver: member(channel.receiver()),
        });
        let mut nearness = Self {
            channels: ends.collect(),
            near: vec![0; nodes.len()],
            cables: 0,
            changed: network.worms.iter().map(|worm| worm.number).collect(),
        };
        for event in &network.pending.0 {
            nearness.begins(event.channel, &event.step);
        }
        nearness
    }

    /// An event begins to be pending.
    pub fn begins(&mut self, channel: usize, step: &Step) {
        self.count(channel, step, |number| number + 1);
    }

    /// An event is pending no longer.
    pub fn is_over(&mut self, channel: usize, step: &Step) {
        self.count(channel, step, |number| number - 1);
    }

    /// Something of a packet has changed that decides which nodes it is near to.
    pub fn changes_packet(&mut self, number: u64) {
        if self.changed.last() != Some(&number) {
            self.changed.push(number);
        }
    }

    /// Says of each node whether an event or a packet is near it.
    pub fn mark(&self, near: &mut Vec<bool>) {
        near.clear();
        let all = self.cables > 0;
        near.extend(self.near.iter().map(|&number| all || number > 0));
    }

    fn count(&mut self, channel: usize, step: &Step, change: impl Fn(u32) -> u32) {
        if changes_cables(step) {
            self.cables = change(self.cables);
        }
        let near = ends_of_event(self.channels[channel], step);
        self.count_nodes(near, change);
    }

    fn count_nodes(&mut self, Ends { sender, receiver }: Ends, change: impl Fn(u32) -> u32) {
        for node in [sender, receiver].into_iter().flatten() {
            let number = &mut self.near[node as usize];
            *number = change(*number);
        }
    }
}

/// Whether cables change at an event.
const fn changes_cables(step: &Step) -> bool {
    matches!(step, Step::Cut(_) | Step::Replug(_))
}

/// The nodes that an event of a channel with these ends is near to: a packet that no board has sent may begin on a node's last cable.
const fn ends_of_event(channel: Ends, step: &Step) -> Ends {
    let receiver = match step {
        Step::Leave(..) => channel.receiver,
        _ => None,
    };
    Ends {
        receiver,
        ..channel
    }
}

impl Joined<'_> {
    /// Finds out anew which nodes are near to the packets that have changed.
    pub(super) fn note_changed_packets(&mut self) {
        while let Some(number) = self.nearness.changed.pop() {
            let Some(place) = self.network.worms.place(number) else {
                continue;
            };
            let ends = self.ends_of_packet(self.network.worms.at(place));
            let before = self.network.worms.note(place, ends);
            if before != ends {
                self.nearness.count_nodes(before, |number| number - 1);
                self.nearness.count_nodes(ends, |number| number + 1);
            }
        }
    }

    /// Takes a packet out of the network.
    pub(super) fn take_out(&mut self, number: u64) -> Option<Worm> {
        let (worm, near) = self.network.worms.remove(number)?;
        self.nearness.count_nodes(near, |number| number - 1);
        Some(worm)
    }

    /// The nodes that an event or a packet is near, found by a look at everything.
    pub(super) fn find_near(&self) -> Vec<bool> {
        let mut near = vec![false; self.nodes.len()];
        let mut mark = |Ends { sender, receiver }: Ends| {
            for node in [sender, receiver].into_iter().flatten() {
                near[node as usize] = true;
            }
        };
        for Event { channel, step, .. } in &self.network.pending.0 {
            if changes_cables(step) {
                return vec![true; self.nodes.len()];
            }
            mark(ends_of_event(self.nearness.channels[*channel], step));
        }
        for worm in self.network.worms.iter() {
            mark(self.ends_of_packet(worm));
        }
        near
    }

    /// The nodes that a packet is near to.
    fn ends_of_packet(&self, worm: &Worm) -> Ends {
        Ends {
            sender: self.tied_sender(worm),
            receiver: self.next_receiver(worm),
        }
    }

    /// The sender of a packet that is not clear of it yet.
    fn tied_sender(&self, worm: &Worm) -> Option<u32> {
        let is_clear = worm.hops.get(1).is_some_and(|second| second.tail_out);
        let first = worm.hops.first()?;
        match is_clear && !worm.reports {
            true => None,
            false => self.nearness.channels[first.channel].sender,
        }
    }

    /// The node to which a packet is on its last cable, or on the one before it.
    fn next_receiver(&self, worm: &Worm) -> Option<u32> {
        let (index, last) = worm.hops.iter().enumerate().next_back()?;
        let channels = &self.nearness.channels;
        if let Some(receiver) = channels[last.channel].receiver {
            return Some(receiver);
        }
        if !last.granted {
            return None;
        }
        let out = self.egress(last.channel, worm, index).ok()?;
        channels[out].receiver
    }
}
