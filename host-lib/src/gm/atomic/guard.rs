//! Words that a process changes itself, besides the operations that its board executes on them: Peterson's algorithm for two
//! (docs/gm-atomics.md, section 7).
//!
//! The board writes its word, waits for that DMA, sets the turn, polls the other two. The host writes its word and the turn and reads the turn
//! back; then it polls host memory, and the turn again after 20 ns, 40 ns and so on up to 20 us.

use defs::gm::atomic::{GUARD_HOST, GUARD_INTERESTED, GUARD_LOW, GUARD_TURN};
use defs::gm::port::control_block;

use super::{AtomicError, AtomicOperation, memory};
use crate::gm::collective::PostError;
use crate::gm::{Gm, MemoryError};
use crate::window::{MemoryWatch, PollError, System, VirtualAddress};

/// First time between two looks at the board's memory, in ns; each is twice as long as the one before.
const FIRST_PAUSE_NS: u64 = 20;
/// Longest of these times, in ns.
const LONGEST_PAUSE_NS: u64 = 20_000;
/// Description of the polls while the board changes a word.
const BOARD_LEAVES: &str = "the board to leave the words";

/// Mutual exclusion between a process and its board: Peterson's algorithm for two, in which each polls the memory next to it.
///
/// The word that says whether the board is interested is in host memory, the host's word and the turn are on the board. The host
/// polls the former and looks at the turn rarely: it only decides when both come at the same time.
#[derive(Debug)]
pub struct Guard {
    port: u8,
    /// Whether the board is interested.
    interested: VirtualAddress,
}

impl Guard {
    /// From now on the board executes operations on words of this process, asked for by its port, only while the process has not
    /// [entered](Self::enter). Before others use the words.
    ///
    /// # Errors
    /// [`AtomicError`].
    pub async fn new(gm: &mut Gm, port: u8) -> Result<Self, AtomicError> {
        if !gm.has_collectives {
            return Err(PostError::Unsupported.into());
        }
        gm.port(port).map_err(PostError::Port)?;
        let interested = gm.allocate_dma(4)?.address;
        let block = control_block(port.into());
        let words = [
            0,
            GUARD_HOST,
            (interested.0 >> 32) as u32,
            interested.0 as u32,
        ];
        const { assert!(GUARD_INTERESTED + 12 == GUARD_LOW && GUARD_TURN == GUARD_INTERESTED + 4) }
        gm.board
            .write_sram_burst(block + GUARD_INTERESTED, &words)
            .await;
        Ok(Self { port, interested })
    }

    /// Waits until the board does not change words. It changes none until [`leave`](Self::leave); operations wait, and are asked for again
    /// if that takes long.
    ///
    /// # Errors
    /// [`AtomicError::Memory`].
    pub async fn enter(&mut self, gm: &mut Gm) -> Result<(), AtomicError> {
        let block = control_block(self.port.into());
        gm.board
            .write_sram_burst(block + GUARD_INTERESTED, &[1, GUARD_HOST])
            .await;
        let free = MemoryWatch {
            address: self.interested,
            mask: u32::MAX,
            expected: 0,
        };
        let mut pause_ns = FIRST_PAUSE_NS;
        // The first read also brings the words to the board that were written before it.
        while gm.board.read_sram(block + GUARD_TURN).await == GUARD_HOST {
            let left = gm.system.poll_memory(free, Some(pause_ns), BOARD_LEAVES);
            match left.await {
                Ok(_) => break,
                Err(PollError::TimedOut(_)) => pause_ns = (2 * pause_ns).min(LONGEST_PAUSE_NS),
                Err(PollError::BadAddress(address)) => {
                    return Err(MemoryError::NotMapped(address).into());
                }
                Err(PollError::NoWords) => {
                    return Err(MemoryError::NotMapped(self.interested).into());
                }
            }
        }
        Ok(())
    }

    /// The process has changed its words.
    pub async fn leave(&mut self, gm: &mut Gm) {
        let block = control_block(self.port.into());
        gm.board.write_sram(block + GUARD_INTERESTED, 0).await;
    }

    /// Changes a word of the process by loads and stores, of which the last one comes `inside_ns` after the first; the word before it.
    ///
    /// # Errors
    /// [`AtomicError::Memory`].
    pub async fn change(
        &mut self,
        gm: &mut Gm,
        address: VirtualAddress,
        operation: AtomicOperation,
        inside_ns: u64,
    ) -> Result<u32, AtomicError> {
        self.enter(gm).await?;
        let before = memory::read(gm, address).map_err(MemoryError::NotMapped)?;
        gm.system.compute(inside_ns).await;
        let after = operation.apply(before).to_be_bytes();
        gm.system
            .write_memory(address, &after)
            .map_err(MemoryError::NotMapped)?;
        self.leave(gm).await;
        Ok(before)
    }
}
