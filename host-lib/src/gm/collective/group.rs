//! Groups of endpoints.

use std::collections::BTreeSet;
use std::fmt;

use defs::gm::layout::LARGE_NODE_LIMIT;
use defs::gm::port::PORT_COUNT;
use thiserror::Error;

/// Most members of a group: four processes on each of the most nodes of a large cluster.
pub const MOST_MEMBERS: usize = 4 * LARGE_NODE_LIMIT as usize;

/// A port of a node: a member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// Number of the node.
    pub node: u16,
    /// Port on the node.
    pub port: u8,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} of node {}", self.port, self.node)
    }
}

/// A group cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GroupError {
    /// The list is empty.
    #[error("a group has no member")]
    Empty,
    /// More members than [`MOST_MEMBERS`].
    #[error("{members} members are more than {MOST_MEMBERS}")]
    TooMany {
        /// Members of the list.
        members: usize,
    },
    /// An endpoint is a member twice.
    #[error("{member} is a member twice")]
    Twice {
        /// The endpoint.
        member: Endpoint,
    },
    /// The own endpoint is no member.
    #[error("the own endpoint, {own}, is no member")]
    Missing {
        /// The own endpoint.
        own: Endpoint,
    },
    /// No node has such a port.
    #[error("no node has a port {}", member.port)]
    UnknownPort {
        /// The endpoint with that port.
        member: Endpoint,
    },
}

/// The members of a collective operation, in an order that all of them know, and the own place among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    members: Vec<Endpoint>,
    rank: usize,
}

impl Group {
    /// A group of these members, as seen by the member `own`. All members need the same list.
    ///
    /// # Errors
    /// [`GroupError`].
    pub fn new(members: &[Endpoint], own: Endpoint) -> Result<Self, GroupError> {
        if members.is_empty() {
            return Err(GroupError::Empty);
        }
        if members.len() > MOST_MEMBERS {
            let members = members.len();
            return Err(GroupError::TooMany { members });
        }
        let mut known = BTreeSet::new();
        for &member in members {
            if u32::from(member.port) >= PORT_COUNT {
                return Err(GroupError::UnknownPort { member });
            }
            if !known.insert(member) {
                return Err(GroupError::Twice { member });
            }
        }
        let rank = members.iter().position(|member| *member == own);
        Ok(Self {
            members: members.to_vec(),
            rank: rank.ok_or(GroupError::Missing { own })?,
        })
    }

    /// The members, by rank.
    #[must_use]
    pub fn members(&self) -> &[Endpoint] {
        &self.members
    }

    /// Number of members; 1 at least.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.members.len()
    }

    /// The own rank.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// The own endpoint.
    #[must_use]
    pub fn own(&self) -> Endpoint {
        self.members[self.rank]
    }

    /// The endpoint of a rank; `None` if the group is smaller.
    #[must_use]
    pub fn member(&self, rank: usize) -> Option<Endpoint> {
        self.members.get(rank).copied()
    }

    /// The rank of an endpoint; `None` if it is no member.
    #[must_use]
    pub fn rank_of(&self, endpoint: Endpoint) -> Option<usize> {
        self.members.iter().position(|member| *member == endpoint)
    }
}
