//! All-to-all broadcasts that boards execute.

use defs::gm::gossip::{
    BLOCK_BYTES, DOUBLING, GOSSIP, GROUP, GROUP_COUNT, GROUP_DESCRIPTOR_BYTES, GROUP_LIMIT,
    group_descriptor,
};

use defs::gm::layout::LARGE_GROUP_LIMIT;

use super::board::{BoardOperation, PostError};
use super::group::Group;
use crate::gm::call::Call;
use crate::gm::memory::Buffer;
use crate::gm::{Gm, MemoryError};
use crate::window::{System, VirtualAddress};

/// Most bytes of a block that a board broadcasts.
pub const LONGEST_BLOCK_BYTES: usize = BLOCK_BYTES as usize;
/// Most members of a group of all-to-all broadcasts on boards with the usual images; those for large clusters have [`LARGE_GOSSIP_MEMBERS`].
pub const MOST_GOSSIP_MEMBERS: usize = GROUP_LIMIT as usize;
/// Most members of such a group on boards with an image for large clusters.
pub const LARGE_GOSSIP_MEMBERS: usize = LARGE_GROUP_LIMIT as usize;

/// Algorithm of an all-to-all broadcast on boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gossip {
    /// Each block goes along a binomial tree of its own
    /// ([`concurrent_broadcast`](super::schedule::concurrent_broadcast)).
    ConcurrentBroadcasting,
    /// Each step doubles the blocks that a member has.
    RecursiveDoubling,
}

/// A group that a port's board knows, with its two channels in host memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardGroup {
    group: Group,
    number: u8,
    channels: [Buffer; 2],
    operations: u16,
}

impl BoardGroup {
    /// The group.
    #[must_use]
    pub const fn group(&self) -> &Group {
        &self.group
    }

    /// The channel of the operation that was posted last.
    fn channel(&self) -> VirtualAddress {
        self.channels[usize::from(self.operations & 1)].address
    }

    /// Offset of a rank's block in a channel.
    fn place(&self, rank: usize, bytes: usize, algorithm: Gossip) -> u64 {
        let place = match algorithm {
            Gossip::ConcurrentBroadcasting => rank * LONGEST_BLOCK_BYTES,
            Gossip::RecursiveDoubling => {
                let size = self.group.size();
                (rank + size - self.group.rank()) % size * bytes
            }
        };
        place as u64
    }
}

/// Bytes of host memory that the channels of a group take.
#[must_use]
pub const fn channel_bytes(members: usize) -> u64 {
    2 * (members * LONGEST_BLOCK_BYTES) as u64
}

/// Bytes of a block on the network: whole words.
const fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

impl Gm {
    /// Makes a group known to the board, for [`post_all_to_all`](Self::post_all_to_all). `number` is the same for all members, and another one
    /// for each group of a port. No member may post an operation before all have done this.
    ///
    /// # Errors
    /// [`PostError`].
    pub async fn open_group(
        &mut self,
        group: &Group,
        number: u16,
    ) -> Result<BoardGroup, PostError> {
        let own = self.check_own(group)?;
        let members = group.size();
        let layout = self.layout;
        let limit = layout.members();
        if members > limit as usize {
            return Err(PostError::Members { members, limit });
        }
        let port = self.port(own)?;
        let place = port.operations.groups;
        if u32::from(place) >= GROUP_COUNT {
            return Err(PostError::Busy { port: own });
        }
        port.operations.groups += 1;
        let bytes = (members * LONGEST_BLOCK_BYTES) as u32;
        let channels = [self.allocate_dma(bytes)?, self.allocate_dma(bytes)?];
        let mut words = Vec::with_capacity(GROUP_DESCRIPTOR_BYTES as usize / 4);
        let rank = group.rank();
        let (own_rank, last) = (rank as u32, members as u32 - 1);
        words.push(match layout.has_wide_groups() {
            true => u32::from(number) << 16 | own_rank,
            false => u32::from(number) << 16 | own_rank << 8 | last,
        });
        for channel in channels {
            words.push((channel.address.0 >> 32) as u32);
            words.push(channel.address.0 as u32);
        }
        let distances = || (0..layout.levels).map(|level| (1 << level) % members);
        for distance in distances() {
            words.push(super::board::entry(group, (rank + distance) % members)?);
        }
        for distance in distances() {
            let back = (rank + members - distance) % members;
            words.push(super::board::entry(group, back)?);
        }
        if layout.has_wide_groups() {
            words.push(last);
        }
        let at = group_descriptor(own.into(), place.into());
        self.board.write_sram_burst(at, &words).await;
        self.write_post(own, 0, u32::from(place) << 8 | GROUP)
            .await?;
        Ok(BoardGroup {
            group: group.clone(),
            number: place,
            channels,
            operations: 0,
        })
    }

    /// Begins an all-to-all broadcast: gives the own block. At its end there is an
    /// [`Event::Completed`](crate::gm::Event::Completed); then [`blocks`](Self::blocks) has those of all members. An operation must be
    /// complete before the next one of its group is posted.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    #[doc(alias = "gm_gossip")]
    pub async fn post_all_to_all(
        &mut self,
        group: &mut BoardGroup,
        algorithm: Gossip,
        block: &[u8],
    ) -> Result<BoardOperation, PostError> {
        let own = group.group.own().port;
        let call = Call::AllToAll(own);
        self.system.call_begins(&call);
        let posted = self.write_all_to_all(own, group, algorithm, block).await;
        self.system.call_returns(&call);
        posted
    }

    async fn write_all_to_all(
        &mut self,
        own: u8,
        group: &mut BoardGroup,
        algorithm: Gossip,
        block: &[u8],
    ) -> Result<BoardOperation, PostError> {
        let bytes = padded(block.len());
        if block.is_empty() || block.len() > LONGEST_BLOCK_BYTES {
            let bytes = block.len();
            return Err(PostError::Block { bytes });
        }
        let operation = BoardOperation::AllToAll(group.number);
        self.take_token(own, operation)?;
        group.operations = group.operations.wrapping_add(1);
        let place = group.place(group.group.rank(), bytes, algorithm);
        let at = VirtualAddress(group.channel().0 + place);
        self.system
            .write_memory(at, block)
            .map_err(|at| PostError::Memory(MemoryError::NotMapped(at)))?;
        self.system.compute(self.overhead_ns).await;
        let doubling = match algorithm {
            Gossip::ConcurrentBroadcasting => 0,
            Gossip::RecursiveDoubling => DOUBLING,
        };
        let word = doubling | u32::from(group.number) << 8 | GOSSIP;
        self.write_post(own, bytes as u32, word).await?;
        Ok(operation)
    }

    /// The blocks of all members, in the order of their ranks, after the operation posted last is complete. Each has `bytes` bytes.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`].
    pub fn blocks(
        &self,
        group: &BoardGroup,
        algorithm: Gossip,
        bytes: usize,
    ) -> Result<Vec<u8>, MemoryError> {
        let size = group.group.size();
        let mut all = vec![0; size * bytes];
        for (rank, block) in all.chunks_exact_mut(bytes.max(1)).enumerate() {
            let place = group.place(rank, padded(bytes), algorithm);
            let at = VirtualAddress(group.channel().0 + place);
            self.system
                .read_memory(at, block)
                .map_err(MemoryError::NotMapped)?;
        }
        Ok(all)
    }
}
