//! Ports: the ends of links.

use std::fmt;

/// An end of a link. Units that leave at one time are taken in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The one port of a node.
    Node(usize),
    /// A port of a switch.
    Switch {
        /// The switch.
        switch: usize,
        /// Number of the switch's port.
        port: usize,
    },
}

impl Port {
    /// The number of a switch's port; a node has but one.
    #[must_use]
    pub const fn number(self) -> Option<usize> {
        match self {
            Self::Node(_) => None,
            Self::Switch { port, .. } => Some(port),
        }
    }
}

impl From<usize> for Port {
    fn from(node: usize) -> Self {
        Self::Node(node)
    }
}

impl From<(usize, usize)> for Port {
    /// A switch and the number of its port.
    fn from((switch, port): (usize, usize)) -> Self {
        Self::Switch { switch, port }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::Switch { switch, port } => write!(f, "port {port} of switch {switch}"),
        }
    }
}
