//! Vector clocks.

/// Number of agents of a board.
pub const AGENTS: usize = 14;

/// Counts of what each agent has published, as far as one of them knows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VectorClock([u32; AGENTS]);

impl VectorClock {
    /// The clock of an agent before its first access. Its own count begins at 1: the others know nothing of it.
    pub(super) fn of_agent(agent: usize) -> Self {
        let mut clock = Self::default();
        clock.advance(agent);
        clock
    }

    /// The count of an agent.
    pub(super) const fn at(&self, agent: usize) -> u32 {
        self.0[agent]
    }

    /// Takes over what another clock knows.
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Counts a publication of the clock's own agent. A count that no longer fits stays: races are then missed, and none is invented.
    pub(super) const fn advance(&mut self, agent: usize) {
        self.0[agent] = self.0[agent].saturating_add(1);
    }
}
