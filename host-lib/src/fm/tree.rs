//! Trees of multicasts (dissertation, 2.3): the best one of the postal model, and the binomial one.
//!
//! Nodes are ranks; 0 is the root. Parents have lower ranks than their children.

use std::collections::VecDeque;

use thiserror::Error;

/// A tree is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TreeError {
    /// There are no nodes.
    #[error("a tree needs a node")]
    Empty,
    /// The times of the model are not usable.
    #[error(
        "a node can send on {latency} after a packet's start and begins the next packet {gap} after it: the second time is at least 1, the first one not shorter"
    )]
    Postal {
        /// [`Postal::latency`].
        latency: u64,
        /// [`Postal::gap`].
        gap: u64,
    },
}

/// The postal model of Bar-Noy and Kipnis, as the dissertation uses it for boards: lambda is `latency / gap`. Both are in one unit of any
/// length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Postal {
    /// From the start of a transmission until its receiver can transmit the packet.
    pub latency: u64,
    /// From the start of a transmission until the next one of the same sender.
    pub gap: u64,
}

impl Postal {
    /// Whole values of lambda.
    #[must_use]
    pub const fn lambda(lambda: u32) -> Self {
        Self {
            latency: lambda as u64,
            gap: 1,
        }
    }

    /// Refuses a packet that arrives before it has left.
    ///
    /// # Errors
    /// [`TreeError::Postal`].
    pub const fn check(self) -> Result<Self, TreeError> {
        let Self { latency, gap } = self;
        if gap == 0 || latency < gap {
            return Err(TreeError::Postal { latency, gap });
        }
        Ok(self)
    }
}

/// A tree: the children of each node, in the order in which they are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    children: Vec<Vec<usize>>,
    parents: Vec<Option<usize>>,
}

/// A node that waits for its next child, and the time at which it can send to it.
#[derive(Debug, Clone, Copy)]
struct WaitingNode {
    time: u64,
    rank: usize,
}

impl Tree {
    fn root_of(nodes: usize) -> Result<Self, TreeError> {
        if nodes == 0 {
            return Err(TreeError::Empty);
        }
        Ok(Self {
            children: vec![Vec::new(); nodes],
            parents: vec![None; nodes],
        })
    }

    fn join(&mut self, parent: usize, child: usize) {
        self.children[parent].push(child);
        self.parents[child] = Some(parent);
    }

    /// The tree in which the last of `nodes` nodes gets a packet as early as possible in the postal model, by the greedy algorithm of
    /// section 2.3. Of two nodes that can send at the same time the one that has sent before takes the next child.
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn optimal(nodes: usize, postal: Postal) -> Result<Self, TreeError> {
        let postal = postal.check()?;
        let mut tree = Self::root_of(nodes)?;
        // Times within each queue never decrease, so the first entries are the earliest.
        let mut new = VecDeque::from([WaitingNode { time: 0, rank: 0 }]);
        let mut old: VecDeque<WaitingNode> = VecDeque::new();
        for child in 1..nodes {
            let has_sent = match (old.front(), new.front()) {
                (Some(old), Some(new)) => old.time <= new.time,
                (first, _) => first.is_some(),
            };
            let queue = if has_sent { &mut old } else { &mut new };
            // One queue at least has the node that was sent to last.
            let Some(WaitingNode { time, rank }) = queue.pop_front() else {
                break;
            };
            tree.join(rank, child);
            new.push_back(WaitingNode {
                time: time.saturating_add(postal.latency),
                rank: child,
            });
            old.push_back(WaitingNode {
                time: time.saturating_add(postal.gap),
                rank,
            });
        }
        Ok(tree)
    }

    /// The binomial tree of MPI's broadcasts: a node's child with the largest subtree is the first one.
    ///
    /// # Errors
    /// [`TreeError::Empty`].
    pub fn binomial(nodes: usize) -> Result<Self, TreeError> {
        let mut tree = Self::root_of(nodes)?;
        for rank in 0..nodes {
            // A rank's children have one bit more, below its lowest one.
            let lowest = match rank {
                0 => nodes.next_power_of_two(),
                _ => 1 << rank.trailing_zeros(),
            };
            let mut distance = lowest / 2;
            while distance > 0 {
                if rank + distance < nodes {
                    tree.join(rank, rank + distance);
                }
                distance /= 2;
            }
        }
        Ok(tree)
    }

    /// Number of nodes.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.children.len()
    }

    /// The children of a node, in the order in which they are sent to; none if there is no such node.
    #[must_use]
    pub fn children(&self, rank: usize) -> &[usize] {
        self.children.get(rank).map_or(&[], Vec::as_slice)
    }

    /// The parent of a node; `None` at the root.
    #[must_use]
    pub fn parent(&self, rank: usize) -> Option<usize> {
        self.parents.get(rank).copied().flatten()
    }

    /// Edges between the root and a node.
    #[must_use]
    pub fn level(&self, rank: usize) -> usize {
        std::iter::successors(self.parent(rank), |&rank| self.parent(rank)).count()
    }

    /// Edges between the root and the node that is furthest from it.
    #[must_use]
    pub fn depth(&self) -> usize {
        let levels = (0..self.nodes()).map(|rank| self.level(rank));
        levels.max().unwrap_or_default()
    }

    /// The leaves that are the last children of their parents: one of them gets a message last (dissertation, 2.5). The root, if it is
    /// alone.
    #[must_use]
    pub fn last_leaves(&self) -> Vec<usize> {
        let is_leaf = |rank: &usize| self.children[*rank].is_empty();
        let last = |rank: &usize| match self.parents[*rank] {
            Some(parent) => self.children[parent].last() == Some(rank),
            None => true,
        };
        (0..self.nodes())
            .filter(|rank| is_leaf(rank) && last(rank))
            .collect()
    }
}

/// Time at which each node can send on in the postal model, in its unit.
#[must_use]
pub fn postal_times(tree: &Tree, postal: Postal) -> Vec<u64> {
    let mut times = vec![0_u64; tree.nodes()];
    for rank in 0..tree.nodes() {
        for (place, &child) in (0..).zip(tree.children(rank)) {
            times[child] = times[rank] + place * postal.gap + postal.latency;
        }
    }
    times
}
