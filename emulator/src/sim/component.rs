//! Nodes that can reach each other: what is worked on for a slice of time.
//!
//! Two nodes on a plain cable take turns. Nodes that are joined in any other way go on in rounds
//! (`rounds.rs`).

use super::network::{Event, Network, Places};
use super::node::Node;
use super::threads::Crew;
use super::time::SimTime;
use super::topology::Topology;
use crate::observe::capture::Tap;
use crate::observe::tracer::Tracer;
use crate::wire::ethernet::line::Line;
use crate::wire::ethernet::link::{Departure, Link};
use crate::wire::port::Port;

/// A node, and what is known of the frames that it may send.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub(super) node: &'a mut Node,
    /// The line that leads away from it.
    pub(super) line: Option<usize>,
    /// Before that time it does nothing that anybody could notice.
    pub(super) effect: SimTime,
    /// Before that time its transmitter is taken.
    pub(super) transmitter_free_at: SimTime,
}

/// What joins the members of a component.
#[derive(Debug)]
enum Joint<'a> {
    /// Nothing: it is one node.
    Nothing,
    /// A cable without fault layers: they are two.
    Cable(Cable<'a>),
    /// Whatever there is.
    Network(Network<'a>),
}

/// A cable without fault layers: its lines do nothing but capture.
#[derive(Debug)]
struct Cable<'a> {
    link: Link,
    /// For each of the two nodes, the line that leads away from it.
    lines: [Option<&'a mut Line>; 2],
}

/// A set of nodes that nobody else can reach, in the order of the nodes.
#[derive(Debug)]
pub(super) struct Component<'a> {
    pub(super) members: Vec<Member<'a>>,
    joint: Joint<'a>,
}

impl<'a> Component<'a> {
    /// Splits a world into its components, in the order of their first nodes.
    pub(super) fn split(
        nodes: &'a mut [Node],
        topology: &'a mut Topology,
        places: &'a Places,
    ) -> Vec<Self> {
        let mut components: Vec<Self> = Vec::new();
        for (index, node) in nodes.iter_mut().enumerate() {
            let place = places.nodes[index];
            if place == components.len() {
                components.push(Self {
                    members: Vec::new(),
                    joint: match (topology.node_lines[index], topology.plain_peer(index)) {
                        (None, _) => Joint::Nothing,
                        (_, Some(link)) => Joint::Cable(Cable {
                            link,
                            lines: [None, None],
                        }),
                        _ => Joint::Network(Network::new(places)),
                    },
                });
            }
            components[place].members.push(Member {
                node,
                line: topology.node_lines[index],
                effect: SimTime::ZERO,
                transmitter_free_at: SimTime::ZERO,
            });
        }
        let pending = std::mem::take(&mut topology.pending);
        for (line, place) in topology.lines.iter_mut().zip(&places.lines) {
            let component = place.component.and_then(|index| components.get_mut(index));
            match (component.map(|component| &mut component.joint), line.from) {
                (Some(Joint::Network(network)), _) => network.add_line(line),
                (Some(Joint::Cable(cable)), Port::Node(node)) => {
                    cable.lines[places.members[node]] = Some(line);
                }
                _ => {}
            }
        }
        for (switch, place) in topology.switches.iter_mut().zip(&places.switches) {
            if let Some(network) = network_of(&mut components, place.component) {
                network.add_switch(switch);
            }
        }
        for event in pending {
            let component = places.lines[event.line()].component;
            if let Some(network) = network_of(&mut components, component) {
                network.resume(event);
            }
        }
        for network in components.iter_mut().filter_map(Self::network) {
            network.measure();
        }
        components
    }

    /// What joins its nodes, if that is more than a cable.
    const fn network(&mut self) -> Option<&mut Network<'a>> {
        match &mut self.joint {
            Joint::Network(network) => Some(network),
            Joint::Nothing | Joint::Cable(_) => None,
        }
    }

    /// What is under way in its network.
    pub(super) fn into_pending(self) -> Vec<Event> {
        match self.joint {
            Joint::Network(network) => network.into_pending(),
            Joint::Nothing | Joint::Cable(_) => Vec::new(),
        }
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.members.iter().map(|member| &*member.node)
    }

    /// How many threads can work on it at a time.
    pub(super) const fn most_threads(&self) -> usize {
        match self.joint {
            Joint::Network(_) => self.members.len(),
            Joint::Nothing | Joint::Cable(_) => 1,
        }
    }

    /// The traces of its nodes and of what lies between them.
    pub(super) fn traces(&mut self) -> impl Iterator<Item = &mut Tracer> {
        let nodes = self.members.iter_mut();
        let nodes = nodes.map(|member| &mut member.node.trace);
        let network = match &mut self.joint {
            Joint::Network(network) => Some(network.traces()),
            Joint::Nothing | Joint::Cable(_) => None,
        };
        nodes.chain(network.into_iter().flatten())
    }

    /// Where frames between its nodes are captured.
    pub(super) fn taps(&mut self) -> impl Iterator<Item = &mut Tap> {
        let (cable, network) = match &mut self.joint {
            Joint::Nothing => (None, None),
            Joint::Cable(cable) => (Some(&mut cable.lines), None),
            Joint::Network(network) => (None, Some(network.taps())),
        };
        let lines = cable.into_iter().flatten().flatten();
        let taps = lines.filter_map(|line| line.tap.as_mut());
        taps.chain(network.into_iter().flatten())
    }

    /// The time up to which every node has come.
    pub(super) fn now(&self) -> SimTime {
        self.nodes().map(Node::now).min().unwrap_or(SimTime::MAX)
    }

    /// When the network does something next.
    fn next_of_network(&self) -> SimTime {
        match &self.joint {
            Joint::Network(network) => network.next_time(),
            Joint::Nothing | Joint::Cable(_) => SimTime::MAX,
        }
    }

    /// The earliest time at which anything can happen.
    pub(super) fn next_activity(&self) -> SimTime {
        let times = self.nodes().map(Node::next_activity);
        let network = self.next_of_network();
        times.min().unwrap_or(SimTime::MAX).min(network)
    }

    pub(super) fn programs_ended(&self) -> bool {
        self.nodes().all(|node| node.programs.all_ended())
    }

    /// Whether something other than fruitless polling can happen.
    pub(super) fn is_live(&self) -> bool {
        self.next_of_network() != SimTime::MAX || self.nodes().any(Node::is_live)
    }

    /// Brings every node to `end`, unless somebody interrupts.
    pub(super) fn run_until(&mut self, end: SimTime, crew: &Crew, interrupted: impl Fn() -> bool) {
        match &mut self.joint {
            Joint::Nothing => self.run_alone(end),
            Joint::Cable(cable) => take_turns(&mut self.members, cable, end, interrupted),
            Joint::Network(network) => {
                network.run_rounds(&mut self.members, end, crew, interrupted);
            }
        }
    }

    fn run_alone(&mut self, end: SimTime) {
        for member in &mut self.members {
            member.node.run_until(end);
            // Nobody is there to see them.
            member.node.take_departures();
            member.node.take_in_vain();
        }
    }
}

/// Lets both nodes of a pair run, each as far as no frame from the other one can reach it.
fn take_turns(
    members: &mut [Member<'_>],
    cable: &mut Cable<'_>,
    end: SimTime,
    interrupted: impl Fn() -> bool,
) {
    let now = |members: &[Member<'_>]| members.iter().map(|member| member.node.now()).min();
    while now(members) < Some(end) && !interrupted() {
        for index in 0..members.len() {
            run_member(members, index, cable, end);
        }
    }
    for member in members {
        let now = member.node.now();
        member.node.run_until(now);
    }
}

fn run_member(members: &mut [Member<'_>], index: usize, cable: &mut Cable<'_>, end: SimTime) {
    let (link, line) = (cable.link, &mut cable.lines[index]);
    let peer = 1 - index;
    let other = &members[peer].node;
    let earliest = other.next_effect().max(other.transmitter_free_at());
    let horizon = earliest.saturating_add(link.look_ahead()).min(end);
    let node = &mut *members[index].node;
    if horizon <= node.now() {
        return;
    }
    let round_trip = link.look_ahead() + link.look_ahead();
    node.run_until_reply(horizon, round_trip);
    let in_vain = node.take_in_vain();
    let departures = node.take_departures();
    if let Some(line) = line {
        for Departure { first_bit, frame } in in_vain.iter().chain(&departures) {
            line.capture(*first_bit, frame, Vec::new());
        }
    }
    for departure in departures {
        let first_bit = departure.first_bit + link.propagation;
        let receiver = &mut *members[peer].node;
        receiver.frame_arrives(departure.frame, first_bit);
    }
}

fn network_of<'c, 'a>(
    components: &'c mut [Component<'a>],
    component: Option<usize>,
) -> Option<&'c mut Network<'a>> {
    components.get_mut(component?)?.network()
}
