//! Communicators.

/// Set in the contexts of collective operations.
pub(super) const COLLECTIVE: u32 = 1 << 31;

/// An ordered set of processes, whose messages do not mix with those of other communicators.
#[doc(alias = "MPI_Comm")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    pub(super) context: u32,
    /// The members' ranks among all processes.
    pub(super) members: Vec<usize>,
    pub(super) rank: usize,
}

impl Communicator {
    /// The own rank.
    #[doc(alias = "MPI_Comm_rank")]
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Number of ranks.
    #[doc(alias = "MPI_Comm_size")]
    #[must_use]
    pub const fn size(&self) -> usize {
        self.members.len()
    }

    /// The rank of a member among all processes.
    #[must_use]
    pub fn world_rank(&self, rank: usize) -> Option<usize> {
        self.members.get(rank).copied()
    }

    /// Context of messages of collective operations between these members.
    pub(super) const fn collective(&self) -> u32 {
        self.context | COLLECTIVE
    }
}
