//! A world: nodes that meet only through links.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::board::Board;
use super::node::Node;
use super::time::SimTime;
use crate::wire::link::Link;

/// A cable between two nodes.
#[derive(Debug, Clone, Copy)]
struct Cable {
    ends: [usize; 2],
    link: Link,
}

/// When a run ends, beside the end of its programs.
#[derive(Debug, Clone, Default)]
pub struct RunLimits {
    /// At this simulated time.
    pub max_time: Option<SimTime>,
    /// When somebody sets this.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every program has ended, or the caller has seen enough.
    Completed,
    /// Programs wait, and nothing can happen any more: who waits for what.
    Deadlock(Vec<String>),
    /// The time limit was reached: who was at what.
    TimeLimit(Vec<String>),
    /// The run was interrupted.
    Interrupted,
}

/// Why a world cannot be built so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A cable to a node that does not exist.
    #[error("a cable leads to node {0}, which does not exist")]
    NoSuchNode(usize),
    /// A second cable in the same board.
    #[error("node {0} has a cable already")]
    Occupied(usize),
    /// A cable from a node to itself.
    #[error("a cable leads from node {0} to itself")]
    Loop(usize),
}

/// Nodes and cables.
#[derive(Debug)]
pub struct World<B: Board> {
    /// The nodes.
    pub nodes: Vec<Node<B>>,
    cables: Vec<Cable>,
}

impl<B: Board> World<B> {
    /// Nodes without cables.
    #[must_use]
    pub const fn new(nodes: Vec<Node<B>>) -> Self {
        Self {
            nodes,
            cables: Vec::new(),
        }
    }

    /// Joins two nodes.
    ///
    /// # Errors
    /// If an end does not exist or has a cable already.
    pub fn connect(&mut self, a: usize, b: usize, link: Link) -> Result<(), WorldError> {
        if a == b {
            return Err(WorldError::Loop(a));
        }
        for end in [a, b] {
            if end >= self.nodes.len() {
                return Err(WorldError::NoSuchNode(end));
            }
            if self.cables.iter().any(|cable| cable.ends.contains(&end)) {
                return Err(WorldError::Occupied(end));
            }
        }
        self.cables.push(Cable { ends: [a, b], link });
        Ok(())
    }

    /// The time up to which every node has come.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.nodes
            .iter()
            .map(Node::now)
            .min()
            .unwrap_or(SimTime::ZERO)
    }

    /// A hash over the traces of all nodes.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.nodes
            .iter()
            .fold(0, |hash: u64, node| hash.rotate_left(7) ^ node.trace.hash())
    }

    /// Runs until every program has ended, or a limit.
    pub fn run(&mut self, limits: &RunLimits) -> RunEnd {
        self.run_until(limits, || false)
    }

    /// Runs until every program has ended, or `done` says that somebody has seen enough, or a limit.
    pub fn run_until(&mut self, limits: &RunLimits, mut done: impl FnMut() -> bool) -> RunEnd {
        let max_time = limits.max_time.unwrap_or(SimTime::MAX);
        loop {
            if done() || self.nodes.iter().all(|node| node.programs.all_ended()) {
                return RunEnd::Completed;
            }
            if let Some(flag) = &limits.interrupt
                && flag.load(Ordering::Relaxed)
            {
                return RunEnd::Interrupted;
            }
            if !self.nodes.iter().any(Node::is_live) {
                return RunEnd::Deadlock(self.describe());
            }
            if self.now() >= max_time {
                return RunEnd::TimeLimit(self.describe());
            }
            self.advance(max_time);
        }
    }

    /// Lets every node run as far as no frame from another one can reach it.
    fn advance(&mut self, max_time: SimTime) {
        for index in 0..self.nodes.len() {
            let horizon = self.horizon(index).min(max_time);
            if horizon > self.nodes[index].now() {
                self.nodes[index].run_until(horizon);
                self.deliver(index);
            }
        }
    }

    /// No frame from outside can matter to the node before this time.
    fn horizon(&self, index: usize) -> SimTime {
        /// A node without a cable need not wait for anybody, but must come back now and then.
        const ALONE: SimTime = SimTime::from_us(100);
        let node = &self.nodes[index];
        match self.peer(index) {
            None => node.now() + ALONE,
            Some((peer, link)) => {
                let peer = &self.nodes[peer];
                let earliest = peer.next_activity().max(peer.board.transmitter_free_at());
                // A node never runs so far ahead that limits are noticed late.
                earliest
                    .saturating_add(link.look_ahead())
                    .min(node.now().max(peer.now()) + ALONE)
            }
        }
    }

    fn peer(&self, index: usize) -> Option<(usize, Link)> {
        self.cables.iter().find_map(|cable| match cable.ends {
            [a, b] if a == index => Some((b, cable.link)),
            [a, b] if b == index => Some((a, cable.link)),
            _ => None,
        })
    }

    /// Hands the frames that began to leave a node to its peer.
    fn deliver(&mut self, index: usize) {
        let departures = self.nodes[index].take_departures();
        let Some((peer, link)) = self.peer(index) else {
            return;
        };
        for departure in departures {
            let first_bit = departure.first_bit + link.propagation;
            self.nodes[peer].frame_arrives(departure.frame, first_bit);
        }
    }

    fn describe(&self) -> Vec<String> {
        self.nodes
            .iter()
            .enumerate()
            .flat_map(|(index, node)| {
                let programs = node.programs.describe().into_iter();
                let cores = node.board.describe_cores().into_iter();
                programs
                    .chain(cores)
                    .map(move |line| format!("node {index}: {line}"))
            })
            .collect()
    }
}
