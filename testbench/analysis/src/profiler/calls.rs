//! Who calls whom, and what that takes.

use std::ops::{AddAssign, SubAssign};

use emulator::observe::instructions::Cause;

/// What ticks are spent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spending {
    /// Instructions: their cycles, branches, the own scratchpad.
    Work,
    /// The instruction cache waits for a line.
    Fetch,
    /// Somebody else has the SRAM bus.
    Contention,
    /// SRAM answers.
    Sram,
    /// A register answers.
    Register,
    /// The other CPU has the semaphore, or may have it: all that the wait for it takes.
    Semaphore,
}

impl Spending {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Work,
        Self::Fetch,
        Self::Contention,
        Self::Sram,
        Self::Register,
        Self::Semaphore,
    ];

    /// The name in JSON.
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

/// What some code took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Instructions that began.
    pub instructions: u64,
    /// Ticks, by [`Spending`].
    pub ticks: [u64; Spending::ALL.len()],
}

impl Costs {
    /// Ticks in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ticks.iter().sum()
    }

    /// Ticks pass for `spending`.
    #[inline]
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

/// A function with its callers.
#[derive(Debug, Clone)]
pub struct Node {
    /// The function's number.
    pub function: usize,
    /// Its caller, unless it is a root.
    pub parent: Option<usize>,
    /// What it called.
    pub children: Vec<usize>,
    /// How often it was called so.
    pub calls: u64,
    /// What it took itself.
    pub own: Costs,
}

/// All functions with their callers. A caller comes before what it calls.
#[derive(Debug, Clone, Default)]
pub struct CallTree {
    /// By number.
    pub nodes: Vec<Node>,
    roots: Vec<usize>,
}

impl CallTree {
    /// The node of a function that is called by the one of `parent`.
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
        self.nodes.push(Node {
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

    /// What nobody called.
    #[must_use]
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Ticks of each node with all that it called, by number.
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

    /// Whether the function is among the callers of the node.
    #[must_use]
    pub fn recurs(&self, node: &Node) -> bool {
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
