//! Components: nodes that can reach each other, which a run works on for a slice of time.
//!
//! Two nodes that can take turns do so. Nodes that are joined in any other way run in rounds (`rounds.rs`).

use super::node::Node;
use super::quiet::{Patience, QuietWatch};
use super::ranks::{NodeGroup, PartsPlan, PeerRanks, RankError, Ranks};
use super::rounds::{self, RoundsPlan, SingleProcess};
use super::slot::ReplySpans;
use super::threads::ThreadPool;
use emulator_base::time::SimTime;
use emulator_observe::capture::Tap;
use emulator_observe::tracer::Tracer;
use emulator_wire::network::{Network, Segment, Turns};

/// A node of a component, with the earliest times at which something may leave it.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub(super) node: &'a mut Node,
    /// Number of the node in the world.
    pub(super) index: usize,
    /// The process that executes it.
    pub(super) owner: usize,
    /// Whether this process executes it.
    pub(super) is_mine: bool,
    /// The time that it has reached.
    pub(super) now: SimTime,
    /// DepartureTree time at which something happens in it that could be noticed outside.
    pub(super) effect: SimTime,
    /// DepartureTree time at which a further unit leaves.
    pub(super) transmitter_free_at: SimTime,
    /// DepartureTree time at which a control leaves.
    pub(super) next_control: SimTime,
    /// Shortest spans from whatever makes the board send a unit, or a control, to its departure.
    pub(super) leads: [SimTime; 2],
}

impl<'a> Member<'a> {
    fn new(index: usize, node: &'a mut Node, ranks: Option<&Ranks>) -> Self {
        Self {
            leads: node.leads(),
            now: node.now(),
            node,
            index,
            owner: ranks.map_or(0, |ranks| ranks.owner(index)),
            is_mine: ranks.is_none_or(|ranks| ranks.owns(index)),
            effect: SimTime::ZERO,
            transmitter_free_at: SimTime::ZERO,
            next_control: SimTime::ZERO,
        }
    }
}

/// A set of nodes that no other node can reach, in the order of the nodes.
#[derive(Debug)]
pub(super) struct Component<'a> {
    pub(super) members: Vec<Member<'a>>,
    /// The segment that joins them; a node without a cable has none.
    pub(super) segment: Option<Box<dyn Segment + 'a>>,
}

impl<'a> Component<'a> {
    /// Splits a world into its components, in the order of their first nodes. Without `ranks` this process executes all nodes.
    pub(super) fn split(
        nodes: &'a mut [Node],
        networks: &'a mut [Box<dyn Network>],
        ranks: Option<&Ranks>,
    ) -> Vec<Self> {
        let mut segment_of = vec![None; nodes.len()];
        let mut segments = Vec::new();
        for (nodes, segment) in networks.iter_mut().flat_map(|network| network.segments()) {
            for node in nodes {
                segment_of[node] = Some(segments.len());
            }
            segments.push(Some(segment));
        }
        let mut components: Vec<Self> = Vec::new();
        let mut component_of = vec![0; segments.len()];
        for (number, (node, segment)) in nodes.iter_mut().zip(segment_of).enumerate() {
            let member = Member::new(number, node, ranks);
            let first = segment.and_then(|index: usize| segments[index].take());
            match segment {
                Some(index) if first.is_none() => {
                    components[component_of[index]].members.push(member);
                    continue;
                }
                Some(index) => component_of[index] = components.len(),
                None => {}
            }
            components.push(Self {
                members: vec![member],
                segment: first,
            });
        }
        components
    }

    /// The nodes that this process executes.
    fn nodes(&self) -> impl Iterator<Item = &Node> {
        let mine = self.members.iter().filter(|member| member.is_mine);
        mine.map(|member| &*member.node)
    }

    /// The nodes, and whether several processes can execute them.
    pub(super) fn group(&self) -> NodeGroup {
        let segment = self.segment.as_ref();
        NodeGroup {
            nodes: self.members.iter().map(|member| member.index).collect(),
            divisible: segment.is_some_and(|segment| segment.turns().is_none()),
        }
    }

    /// Whether this process executes any of its nodes.
    pub(super) fn is_mine(&self) -> bool {
        self.members.iter().any(|member| member.is_mine)
    }

    /// Whether several processes execute its nodes.
    pub(super) fn is_divided(&self) -> bool {
        let mut owners = self.members.iter().map(|member| member.owner);
        let first = owners.next();
        owners.any(|owner| Some(owner) != first)
    }

    /// Number of threads that can work on it at a time.
    pub(super) fn most_threads(&self) -> usize {
        match &self.segment {
            Some(segment) if segment.turns().is_none() => self.members.len(),
            _ => 1,
        }
    }

    /// The traces of its nodes, links and switches.
    pub(super) fn traces(&mut self) -> impl Iterator<Item = &mut Tracer> {
        let nodes = self.members.iter_mut();
        let nodes = nodes.map(|member| &mut member.node.trace);
        let segment = self.segment.as_mut().map(|segment| segment.traces_mut());
        nodes.chain(segment.into_iter().flatten())
    }

    /// The taps that capture units between the nodes.
    pub(super) fn taps(&mut self) -> impl Iterator<Item = &mut Tap> {
        let segment = self.segment.as_mut().map(|segment| segment.taps());
        segment.into_iter().flatten()
    }

    /// The time that every node has reached.
    pub(super) fn now(&self) -> SimTime {
        self.nodes().map(Node::now).min().unwrap_or(SimTime::MAX)
    }

    /// The time at which the next event between the nodes is due, if this process runs the segment.
    fn next_of_segment(&self) -> SimTime {
        let segment = self.segment.as_ref().filter(|_| self.is_mine());
        segment.map_or(SimTime::MAX, |segment| segment.next_time())
    }

    /// The earliest time of any activity.
    pub(super) fn next_activity(&self) -> SimTime {
        let times = self.nodes().map(Node::next_activity);
        let segment = self.next_of_segment();
        times.min().unwrap_or(SimTime::MAX).min(segment)
    }

    /// The time at which the component stirred last, or will stir as far as it is known ([`QuietWatch`]).
    pub(super) fn last_stir(
        &self,
        watch: &mut QuietWatch,
        now: SimTime,
        patience: Patience,
    ) -> SimTime {
        let mine = self.members.iter().filter(|member| member.is_mine);
        let nodes = mine.map(|member| watch.last_stir(member.index, member.node, now, patience));
        let nodes = nodes.fold(SimTime::ZERO, SimTime::max);
        match self.next_of_segment() {
            SimTime::MAX => nodes,
            // Units are under way.
            next => nodes.max(next),
        }
    }

    /// Whether the programs of all nodes that this process executes have ended.
    pub(super) fn programs_ended(&self) -> bool {
        self.nodes().all(|node| node.programs.all_ended())
    }

    /// Whether anything but fruitless polling can happen.
    pub(super) fn is_live(&self) -> bool {
        self.next_of_segment() != SimTime::MAX || self.nodes().any(Node::is_live)
    }

    /// Brings every node to `end`, unless it is interrupted.
    pub(super) fn run_until(
        &mut self,
        end: SimTime,
        pool: &ThreadPool,
        interrupted: impl Fn() -> bool,
    ) {
        let members = &mut self.members;
        let Some(segment) = self.segment.as_deref_mut() else {
            for member in members {
                member.node.run_until(end);
                member.node.clear_outbox();
            }
            return;
        };
        match segment.turns() {
            Some(turns) => take_turns(members, segment, turns, end, interrupted),
            None => {
                let peers = SingleProcess(interrupted);
                let plan = RoundsPlan {
                    segment,
                    end,
                    peers,
                };
                let Ok(()) = rounds::run(members, pool, plan);
            }
        }
    }

    /// As [`run_until`](Self::run_until), when several processes execute the nodes: all call it at the same point of the run.
    pub(super) fn run_divided(
        &mut self,
        end: SimTime,
        pool: &ThreadPool,
        interrupted: impl Fn() -> bool,
        ranks: &mut Ranks,
    ) -> Result<(), RankError> {
        let Some(segment) = self.segment.as_deref_mut() else {
            return Ok(());
        };
        if let Some(part) = segment.part() {
            let parts = PartsPlan {
                part,
                ranks,
                end,
                interrupted,
            };
            return rounds::run(&mut self.members, pool, parts);
        }
        let peers = PeerRanks { ranks, interrupted };
        let plan = RoundsPlan {
            segment,
            end,
            peers,
        };
        rounds::run(&mut self.members, pool, plan)
    }
}

/// Runs both nodes of a pair, each as far as no unit from the other one can reach it.
fn take_turns(
    members: &mut [Member<'_>],
    segment: &mut dyn Segment,
    turns: Turns,
    end: SimTime,
    interrupted: impl Fn() -> bool,
) {
    for member in &mut *members {
        member.node.start_programs();
    }
    let now = |members: &[Member<'_>]| members.iter().map(|member| member.node.now()).min();
    while now(members) < Some(end) && !interrupted() {
        for index in 0..members.len() {
            run_member(members, index, segment, turns, end);
        }
    }
    for member in members {
        let now = member.node.now();
        member.node.run_until(now);
    }
}

/// Runs one node of a pair up to where the other one can reach it, and delivers what leaves it.
fn run_member(
    members: &mut [Member<'_>],
    index: usize,
    segment: &mut dyn Segment,
    turns: Turns,
    end: SimTime,
) {
    let peer = 1 - index;
    let other = &members[peer].node;
    let earliest = other.next_effect().max(other.transmitter_free_at());
    let horizon = earliest.saturating_add(turns.look_ahead[peer]).min(end);
    let node = &mut *members[index].node;
    if horizon <= node.now() {
        return;
    }
    // The other node may answer a unit after this span: this one stops there.
    let round_trip = turns.look_ahead[0] + turns.look_ahead[1];
    let replies = ReplySpans {
        after_unit: round_trip,
        ..ReplySpans::NONE
    };
    node.run_until_reply(horizon, replies);
    segment.take_outbox(index, node.outbox());
    segment.deliver(&mut |to, _, delivery| members[to].node.deliver(delivery));
}
