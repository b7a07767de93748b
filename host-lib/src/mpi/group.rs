//! New communicators.

use super::communicator::{COLLECTIVE, Communicator};
use super::error::MpiError;
use super::transport::Transport;
use super::{Mpi, Operation};

impl<T: Transport> Mpi<T> {
    /// A communicator with the same members, whose messages do not mix. All members call it.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Comm_dup")]
    pub async fn duplicate(&mut self, world: &Communicator) -> Result<Communicator, MpiError> {
        let context = self.new_context(world).await?;
        let twin = Communicator {
            context,
            ..world.clone()
        };
        self.engine.bypassing.add(&twin);
        Ok(twin)
    }

    /// One communicator for all members with the same color, in the order of their keys, of equal ones in that of ranks; none for members
    /// without a color. All members call it.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Comm_split")]
    #[doc(alias = "split_by_color_with_key")]
    pub async fn split(
        &mut self,
        world: &Communicator,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<Communicator>, MpiError> {
        let context = self.new_context(world).await?;
        let own = [color.map_or(-1, i64::from), key.into()];
        let all = self.all_gather(world, &own).await?;
        let Some(color) = color else {
            return Ok(None);
        };
        let mut chosen: Vec<(i64, usize)> = all
            .chunks_exact(2)
            .enumerate()
            .filter(|(_, one)| one[0] == i64::from(color))
            .map(|(rank, one)| (one[1], rank))
            .collect();
        chosen.sort_unstable();
        let place = chosen.iter().position(|(_, rank)| *rank == world.rank);
        let members = chosen.iter().map(|(_, rank)| world.members[*rank]);
        let part = place.map(|rank| Communicator {
            context,
            members: members.collect(),
            rank,
        });
        if let Some(part) = &part {
            self.engine.bypassing.add(part);
        }
        Ok(part)
    }

    /// A context that no member has used.
    async fn new_context(&mut self, world: &Communicator) -> Result<u32, MpiError> {
        let wanted = [self.next_context];
        let agreed = self.all_reduce(world, Operation::Max, &wanted).await?;
        let context = agreed.first().copied().unwrap_or_default();
        self.next_context = (context + 1) & !COLLECTIVE;
        Ok(context)
    }
}
