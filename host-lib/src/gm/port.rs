//! Ports: opening and closing.

use std::collections::BTreeMap;

use defs::gm::event::{LAST_WORD, QUEUE_BYTES, SLOT_BYTES, SLOTS};
use defs::gm::map::{COMMAND, COMMAND_CLOSE, COMMAND_OPEN};
use defs::gm::port::{PORT_COUNT, PORT_QUEUE_HIGH, SEND_TOKENS, control_block};

use super::send::Pending;
use super::{Gm, PortError};
use crate::window::{PhysicalAddress, System, VirtualAddress, Window};

/// Poll interval while the firmware carries out a command, in nanoseconds.
pub(super) const POLL_NS: u64 = 20_000;
/// Largest number of polls of a command: 200 ms in all.
pub(super) const POLLS: u32 = 10_000;

/// An open port.
#[derive(Debug)]
pub(super) struct Port {
    /// The receive queue.
    pub(super) queue: VirtualAddress,
    pub(super) queue_physical: PhysicalAddress,
    /// The slot of the next event.
    pub(super) next_event: u32,
    pub(super) next_send_slot: u32,
    pub(super) next_receive_slot: u32,
    /// Numbers of free send tokens.
    pub(super) free_sends: Vec<u8>,
    /// Sends under way, by their tokens.
    pub(super) sends: Vec<Option<Pending>>,
    /// Receive tokens in use.
    pub(super) receives: u32,
    /// Program addresses of the provided buffers, by their physical ones.
    pub(super) buffers: BTreeMap<u64, Vec<VirtualAddress>>,
}

impl<W: Window, S: System> Gm<W, S> {
    /// Opens a port.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_open")]
    pub async fn open(&mut self, port: u8) -> Result<(), PortError> {
        let slot = self.ports.get(usize::from(port));
        match slot {
            None => return Err(PortError::Unknown { port }),
            Some(Some(_)) => return Err(PortError::AlreadyOpen { port }),
            Some(None) => {}
        }
        let memory = self.system.allocate_contiguous(QUEUE_BYTES.into());
        let (queue, physical) = memory.ok_or(PortError::NoMemory)?;
        // The firmware counts in the lower half of addresses.
        let last = physical.0 + u64::from(QUEUE_BYTES);
        if last >> 32 != physical.0 >> 32 {
            return Err(PortError::NoMemory);
        }
        for slot in 0..SLOTS {
            let word = VirtualAddress(queue.0 + u64::from(slot * SLOT_BYTES + LAST_WORD));
            if self.system.write_memory(word, &[0; 4]).is_err() {
                return Err(PortError::NoMemory);
            }
        }
        let block = control_block(port.into());
        let words = [(physical.0 >> 32) as u32, physical.0 as u32];
        self.board
            .write_sram_burst(block + PORT_QUEUE_HIGH, &words)
            .await;
        self.command(COMMAND_OPEN, port).await?;
        self.ports[usize::from(port)] = Some(Port {
            queue,
            queue_physical: physical,
            next_event: 0,
            next_send_slot: 0,
            next_receive_slot: 0,
            free_sends: (0..SEND_TOKENS as u8).rev().collect(),
            sends: (0..SEND_TOKENS).map(|_| None).collect(),
            receives: 0,
            buffers: BTreeMap::new(),
        });
        Ok(())
    }

    /// Closes a port. Its sends are given up; their callbacks are not called. The board does not use the provided buffers
    /// any more.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_close")]
    pub async fn close(&mut self, port: u8) -> Result<(), PortError> {
        self.port(port)?;
        self.command(COMMAND_CLOSE, port).await?;
        self.ports[usize::from(port)] = None;
        Ok(())
    }

    async fn command(&mut self, command: u32, port: u8) -> Result<(), PortError> {
        const { assert!(PORT_COUNT <= 256) }
        self.board
            .write_sram(COMMAND, command | u32::from(port) << 8)
            .await;
        for _ in 0..POLLS {
            if self.board.read_sram(COMMAND).await == 0 {
                return Ok(());
            }
            self.system.sleep(POLL_NS).await;
        }
        Err(PortError::Silent { port })
    }
}
