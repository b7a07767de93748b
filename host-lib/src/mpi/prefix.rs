//! Collective operations whose results differ from rank to rank: prefixes, and reductions in blocks.

use super::Mpi;
use super::collective::{CollectiveCall, CollectiveKind};
use super::communicator::Communicator;
use super::datatype::{Datatype, Operation, combine_all, to_bytes};
use super::error::MpiError;
use super::transport::Transport;

impl<T: Transport> Mpi<T> {
    /// Combines the `data` of all ranks up to the own one, element by element.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Scan")]
    #[doc(alias = "scan_into")]
    pub async fn scan<D: Datatype>(
        &mut self,
        world: &Communicator,
        operation: Operation,
        data: &[D],
    ) -> Result<Vec<D>, MpiError> {
        // Refused here, before anything is sent.
        combine_all(&mut data.to_vec(), data, operation)?;
        let call = self.operation(world, CollectiveKind::Scan, "scan");
        let before = self.ranks_before(world, call, operation, data).await?;
        match before {
            None => Ok(data.to_vec()),
            Some(mut values) => {
                combine_all(&mut values, data, operation)?;
                Ok(values)
            }
        }
    }

    /// Combines the `data` of all ranks before the own one, element by element; `None` at the first rank.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Exscan")]
    #[doc(alias = "exclusive_scan_into")]
    pub async fn exclusive_scan<D: Datatype>(
        &mut self,
        world: &Communicator,
        operation: Operation,
        data: &[D],
    ) -> Result<Option<Vec<D>>, MpiError> {
        // Refused here, before anything is sent.
        combine_all(&mut data.to_vec(), data, operation)?;
        let call = self.operation(world, CollectiveKind::ExclusiveScan, "exclusive_scan");
        self.ranks_before(world, call, operation, data).await
    }

    /// In step `k` each rank passes on what it knows of the `2^k` ranks up to its own, to the rank `2^k` further.
    async fn ranks_before<D: Datatype>(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        operation: Operation,
        data: &[D],
    ) -> Result<Option<Vec<D>>, MpiError> {
        let mut running = data.to_vec();
        let mut before: Option<Vec<D>> = None;
        let (rank, size) = (world.rank(), world.size());
        let mut distance = 1;
        while distance < size {
            let mut sent = None;
            if rank + distance < size {
                let bytes = to_bytes(&running);
                let to = rank + distance;
                sent = Some(self.member_send(world, call, to, &bytes).await?);
            }
            if rank >= distance {
                let from = rank - distance;
                let mut values: Vec<D> = self.elements(world, call, from, data.len()).await?;
                let mut with_own = values.clone();
                combine_all(&mut with_own, &running, operation)?;
                running = with_own;
                if let Some(before) = &before {
                    combine_all(&mut values, before, operation)?;
                }
                before = Some(values);
            }
            if let Some(sent) = sent {
                self.engine.wait(sent, call.name).await?;
            }
            distance *= 2;
        }
        Ok(before)
    }

    /// Combines the `data` of all ranks, element by element; each rank gets its block of the result, in the order of ranks. Sums of
    /// floating-point numbers are made in another order for each block.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Blocks`] if the elements are no whole number for each rank, [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Reduce_scatter_block")]
    pub async fn reduce_scatter<D: Datatype>(
        &mut self,
        world: &Communicator,
        operation: Operation,
        data: &[D],
    ) -> Result<Vec<D>, MpiError> {
        let name = "reduce_scatter";
        let count = world.block(name, data.len())?;
        let (rank, ranks) = (world.rank(), world.size());
        let mut own = data[rank * count..(rank + 1) * count].to_vec();
        // Refused here, before anything is sent.
        combine_all(&mut own.clone(), &own, operation)?;
        let call = self.operation(world, CollectiveKind::ReduceScatter, name);
        for distance in 1..ranks {
            let to = (rank + distance) % ranks;
            let from = (rank + ranks - distance) % ranks;
            let receive = self.await_member(world, call, from).await?;
            let block = to_bytes(&data[to * count..(to + 1) * count]);
            let send = self.member_send(world, call, to, &block).await?;
            let others = self.member_elements(call, from, count, receive).await?;
            combine_all(&mut own, &others, operation)?;
            self.engine.wait(send, call.name).await?;
        }
        Ok(own)
    }
}
