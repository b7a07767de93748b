//! Collective operations whose blocks have different lengths. Lengths come with the messages: no member has to know those of the others.

use super::Mpi;
use super::collective::{CollectiveCall, CollectiveKind};
use super::communicator::Communicator;
use super::datatype::{Datatype, from_bytes, to_bytes};
use super::error::MpiError;
use super::transport::Transport;
use crate::gm::collective::schedule::{self, ExchangeStep};

impl<T: Transport> Mpi<T> {
    /// Gives the root the `data` of each member, in the order of ranks.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Gatherv")]
    #[doc(alias = "gather_varcount_into_root")]
    pub async fn gather_varying<D: Datatype>(
        &mut self,
        world: &Communicator,
        root: usize,
        data: &[D],
    ) -> Result<Option<Vec<Vec<D>>>, MpiError> {
        world.check_root(root)?;
        let call = self.operation(world, CollectiveKind::GatherVarying, "gather_varying");
        if world.rank() != root {
            self.send_to(world, call, root, &to_bytes(data)).await?;
            return Ok(None);
        }
        let mut requests = Vec::with_capacity(world.size());
        for from in (0..world.size()).filter(|from| *from != root) {
            requests.push((from, self.await_member(world, call, from).await?));
        }
        let mut blocks = vec![Vec::new(); world.size()];
        blocks[root] = data.to_vec();
        for (from, request) in requests {
            blocks[from] = self.member_block(call, from, request).await?;
        }
        Ok(Some(blocks))
    }

    /// Gives each member its block of the root's.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Blocks`] if the root has not a block for each rank.
    #[doc(alias = "MPI_Scatterv")]
    #[doc(alias = "scatter_varcount_into_root")]
    pub async fn scatter_varying<D: Datatype>(
        &mut self,
        world: &Communicator,
        root: usize,
        blocks: Option<&[Vec<D>]>,
    ) -> Result<Vec<D>, MpiError> {
        world.check_root(root)?;
        let name = "scatter_varying";
        let blocks = blocks.unwrap_or_default();
        if world.rank() == root {
            world.check_blocks(name, blocks.len())?;
        }
        let call = self.operation(world, CollectiveKind::ScatterVarying, name);
        if world.rank() != root {
            let request = self.await_member(world, call, root).await?;
            return self.member_block(call, root, request).await;
        }
        let mut sends = Vec::with_capacity(blocks.len());
        for to in (0..world.size()).filter(|to| *to != root) {
            let bytes = to_bytes(&blocks[to]);
            sends.push(self.member_send(world, call, to, &bytes).await?);
        }
        for sent in sends {
            self.engine.wait(sent, call.name).await?;
        }
        Ok(blocks[root].clone())
    }

    /// Gives all members the `data` of each, in the order of ranks, around a ring.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Allgatherv")]
    #[doc(alias = "all_gather_varcount_into")]
    pub async fn all_gather_varying<D: Datatype>(
        &mut self,
        world: &Communicator,
        data: &[D],
    ) -> Result<Vec<Vec<D>>, MpiError> {
        let call = self.operation(
            world,
            CollectiveKind::AllGatherVarying,
            "all_gather_varying",
        );
        self.ring(world, call, data, None).await
    }

    /// Passes the blocks of all members around a ring. `count`: the elements of each block, if that is known.
    pub(super) async fn ring<D: Datatype>(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        data: &[D],
        count: Option<usize>,
    ) -> Result<Vec<Vec<D>>, MpiError> {
        let mut blocks = vec![Vec::new(); world.size()];
        blocks[world.rank()] = data.to_vec();
        for ExchangeStep { send, receive } in schedule::ring(world.position()) {
            // A long block is taken only when its receive has begun, so no rank waits for its send before that.
            let mut sends = Vec::new();
            if let Some(part) = send {
                for rank in part.blocks.into_iter().flatten() {
                    let bytes = to_bytes(&blocks[rank]);
                    sends.push(self.member_send(world, call, part.peer, &bytes).await?);
                }
            }
            if let Some(part) = receive {
                for rank in part.blocks.into_iter().flatten() {
                    let request = self.await_member(world, call, part.peer).await?;
                    blocks[rank] = match count {
                        Some(count) => {
                            self.member_elements(call, part.peer, count, request)
                                .await?
                        }
                        None => self.member_block(call, part.peer, request).await?,
                    };
                }
            }
            for sent in sends {
                self.engine.wait(sent, call.name).await?;
            }
        }
        Ok(blocks)
    }

    /// Gives each member its block of those of each, in the order of ranks.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Blocks`] if there is not a block for each rank.
    #[doc(alias = "MPI_Alltoallv")]
    #[doc(alias = "all_to_all_varcount_into")]
    pub async fn all_to_all_varying<D: Datatype>(
        &mut self,
        world: &Communicator,
        blocks: &[Vec<D>],
    ) -> Result<Vec<Vec<D>>, MpiError> {
        let name = "all_to_all_varying";
        world.check_blocks(name, blocks.len())?;
        let call = self.operation(world, CollectiveKind::AllToAllVarying, name);
        let (rank, ranks) = (world.rank(), world.size());
        let mut all = vec![Vec::new(); ranks];
        all[rank].clone_from(&blocks[rank]);
        for distance in 1..ranks {
            let to = (rank + distance) % ranks;
            let from = (rank + ranks - distance) % ranks;
            let receive = self.await_member(world, call, from).await?;
            let bytes = to_bytes(&blocks[to]);
            let send = self.member_send(world, call, to, &bytes).await?;
            all[from] = self.member_block(call, from, receive).await?;
            self.engine.wait(send, call.name).await?;
        }
        Ok(all)
    }

    /// A block of any length.
    async fn member_block<D: Datatype>(
        &mut self,
        call: CollectiveCall,
        from: usize,
        request: u32,
    ) -> Result<Vec<D>, MpiError> {
        let ended = self.member_message(call, from, request).await?;
        from_bytes(&ended.bytes)
    }
}
