//! Call tree with costs.

use std::ops::{AddAssign, SubAssign};

use emulator::observe::instructions::Cause;

/// Category of spent time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spending {
    /// Instructions: cycles, branches, accesses to the own scratchpad.
    Work,
    /// Instruction cache misses.
    Fetch,
    /// Contention for the SRAM bus.
    Contention,
    /// SRAM latency.
    Sram,
    /// Register latency.
    Register,
    /// Semaphore: the complete wait for it.
    Semaphore,
}

impl Spending {
    /// All categories.
    pub const ALL: [Self; 6] = [
        Self::Work,
        Self::Fetch,
        Self::Contention,
        Self::Sram,
        Self::Register,
        Self::Semaphore,
    ];

    /// Name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Fetch => "fetch",
            Self::Contention => "sram_contention",
            Self::Sram => "sram",
            Self::Register => "register",
            Self::Semaphore => "semaphore",
        }
    }
}

impl From<Cause> for Spending {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Branch | Cause::Scratchpad => Self::Work,
            Cause::Fetch => Self::Fetch,
            Cause::Contention => Self::Contention,
            Cause::Sram => Self::Sram,
            Cause::Register => Self::Register,
        }
    }
}

/// Costs of code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Number of started instructions.
    pub instructions: u64,
    /// Ticks, by [`Spending`].
    pub ticks: [u64; Spending::ALL.len()],
}

impl Costs {
    /// Sum of all ticks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ticks.iter().sum()
    }

    /// Adds ticks of a category.
    #[inline] // Runs for each executed instruction.
    pub const fn spend(&mut self, spending: Spending, ticks: u64) {
        self.ticks[spending as usize] += ticks;
    }
}

impl AddAssign<&Self> for Costs {
    fn add_assign(&mut self, other: &Self) {
        self.instructions += other.instructions;
        for (mine, other) in self.ticks.iter_mut().zip(other.ticks) {
            *mine += other;
        }
    }
}

impl SubAssign<&Self> for Costs {
    fn sub_assign(&mut self, other: &Self) {
        self.instructions -= other.instructions;
        for (mine, other) in self.ticks.iter_mut().zip(other.ticks) {
            *mine -= other;
        }
    }
}

/// A function in the context of its callers.
#[derive(Debug, Clone)]
pub struct CallNode {
    /// Number of the function.
    pub function: usize,
    /// Index of the caller; `None` for a root.
    pub parent: Option<usize>,
    /// Indices of the callees.
    pub children: Vec<usize>,
    /// Number of calls in this context.
    pub calls: u64,
    /// Costs without callees.
    pub own: Costs,
}

/// Call tree. Callers precede callees.
#[derive(Debug, Clone, Default)]
pub struct CallTree {
    /// Nodes by number.
    pub nodes: Vec<CallNode>,
    roots: Vec<usize>,
}

impl CallTree {
    /// The node of a function called by `parent`.
    pub(super) fn node(&mut self, parent: Option<usize>, function: usize) -> usize {
        let siblings = match parent {
            Some(parent) => &self.nodes[parent].children,
            None => &self.roots,
        };
        let known = siblings.iter();
        let mut known = known.filter(|&&node| self.nodes[node].function == function);
        if let Some(&node) = known.next() {
            return node;
        }
        let number = self.nodes.len();
        self.nodes.push(CallNode {
            function,
            parent,
            children: Vec::new(),
            calls: 0,
            own: Costs::default(),
        });
        match parent {
            Some(parent) => self.nodes[parent].children.push(number),
            None => self.roots.push(number),
        }
        number
    }

    /// Nodes without a caller.
    #[must_use]
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Ticks of each node including callees, by number.
    #[must_use]
    pub fn totals(&self) -> Vec<u64> {
        let mut totals: Vec<u64> = self.nodes.iter().map(|node| node.own.total()).collect();
        for (number, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                totals[parent] += totals[number];
            }
        }
        totals
    }

    /// Whether the function occurs among the node's callers.
    #[must_use]
    pub fn recurs(&self, node: &CallNode) -> bool {
        let mut above = node.parent;
        while let Some(number) = above {
            if self.nodes[number].function == node.function {
                return true;
            }
            above = self.nodes[number].parent;
        }
        false
    }
}
