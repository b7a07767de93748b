//! Nodes that can reach each other through cables: what one thread works on for a slice of time.

use super::board::Board;
use super::node::Node;
use super::time::SimTime;
use super::topology::Topology;
use crate::observe::tracer::Tracer;
use crate::wire::link::Link;

/// What is plugged into a node: where the cable leads, and what it is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cable {
    pub(super) peer: usize,
    pub(super) link: Link,
}

/// A node and its cable; `peer` counts within the component.
#[derive(Debug)]
struct Member<'a, B: Board> {
    node: &'a mut Node<B>,
    cable: Option<Cable>,
}

/// A set of nodes that share no cable with any other node, in the order of the nodes.
#[derive(Debug)]
pub(super) struct Component<'a, B: Board> {
    members: Vec<Member<'a, B>>,
}

impl<'a, B: Board> Component<'a, B> {
    /// Splits a world into its components, in the order of their first nodes.
    pub(super) fn split(nodes: &'a mut [Node<B>], topology: &'a mut Topology) -> Vec<Self> {
        let mut components: Vec<Self> = Vec::new();
        // For each node, its component.
        let mut places: Vec<usize> = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter_mut().enumerate() {
            let cable = topology.plain_peer(index);
            let known = cable.filter(|(peer, _)| *peer < index);
            let place = known.map_or(components.len(), |(peer, _)| places[peer]);
            places.push(place);
            if place == components.len() {
                let members = Vec::with_capacity(2);
                components.push(Self { members });
            }
            let members = &mut components[place].members;
            let cable = cable.map(|(_, link)| Cable {
                peer: 1 - members.len(),
                link,
            });
            members.push(Member { node, cable });
        }
        components
    }

    fn nodes(&self) -> impl Iterator<Item = &Node<B>> {
        self.members.iter().map(|member| &*member.node)
    }

    /// The traces of its nodes.
    pub(super) fn traces(&mut self) -> impl Iterator<Item = &mut Tracer> {
        self.members.iter_mut().map(|member| &mut member.node.trace)
    }

    /// The time up to which every node has come.
    pub(super) fn now(&self) -> SimTime {
        self.nodes().map(Node::now).min().unwrap_or(SimTime::MAX)
    }

    /// The earliest time at which anything can happen.
    pub(super) fn next_activity(&self) -> SimTime {
        let times = self.nodes().map(Node::next_activity);
        times.min().unwrap_or(SimTime::MAX)
    }

    pub(super) fn programs_ended(&self) -> bool {
        self.nodes().all(|node| node.programs.all_ended())
    }

    /// Whether something other than fruitless polling can happen.
    pub(super) fn is_live(&self) -> bool {
        self.nodes().any(Node::is_live)
    }

    /// Brings every node to `end`, unless somebody interrupts.
    pub(super) fn run_until(&mut self, end: SimTime, interrupted: impl Fn() -> bool) {
        while self.now() < end && !interrupted() {
            for index in 0..self.members.len() {
                self.run_member(index, end);
            }
        }
        for member in &mut self.members {
            let now = member.node.now();
            member.node.run_until(now);
        }
    }

    /// Lets a node run as far as no frame from another one can reach it.
    fn run_member(&mut self, index: usize, end: SimTime) {
        let Some(Cable { peer, link }) = self.members[index].cable else {
            let node = &mut *self.members[index].node;
            node.run_until(end);
            // Nobody is there to see them.
            node.take_departures();
            return;
        };
        let other = &self.members[peer].node;
        let earliest = other.next_activity().max(other.board.transmitter_free_at());
        let horizon = earliest.saturating_add(link.look_ahead()).min(end);
        let node = &mut *self.members[index].node;
        if horizon <= node.now() {
            return;
        }
        let round_trip = link.look_ahead() + link.look_ahead();
        node.run_until_reply(horizon, round_trip);
        for departure in node.take_departures() {
            let first_bit = departure.first_bit + link.propagation;
            let receiver = &mut *self.members[peer].node;
            receiver.frame_arrives(departure.frame, first_bit);
        }
    }
}
