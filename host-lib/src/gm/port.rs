//! Ports: opening, closing, settings; the driver's commands.

use std::collections::BTreeMap;

use defs::gm::event::{LAST_WORD, QUEUE_BYTES, SLOT_BYTES, SLOTS};
use defs::gm::map::{
    ARGUMENT_HIGH, COMMAND, COMMAND_ACCEPT, COMMAND_ALLOW, COMMAND_CLOSE, COMMAND_OPEN,
};
use defs::gm::port::{PORT_COUNT, PORT_PROCESS, PORT_QUEUE_HIGH, SEND_TOKENS, control_block};

use super::alarm::Alarms;
use super::collective::Operations;
use super::receive::Provided;
use super::send::{Pending, Priority};
use super::{Gm, PortError, Status};
use crate::window::{System, VirtualAddress};

/// Poll interval while the firmware carries out a command, in nanoseconds.
pub(super) const POLL_NS: u64 = 20_000;
/// Largest number of polls of a command: 200 ms in all.
pub(super) const POLLS: u32 = 10_000;

/// State of a port that a process has opened.
#[derive(Debug)]
pub(super) struct OpenPort {
    /// The receive queue.
    pub(super) queue: VirtualAddress,
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
    /// The provided buffers, by their addresses.
    pub(super) buffers: BTreeMap<u64, Vec<Provided>>,
    /// Sizes that are accepted, of low and high priority.
    accepted: [u32; 2],
    pub(super) alarms: Alarms,
    /// Collective operations on the board.
    pub(super) operations: Operations,
    pub(super) wake: WakeState,
}

/// Whether the next event of a port interrupts the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeState {
    /// The next event raises no interrupt.
    Off,
    /// The process has asked for it; the board has not answered.
    Asked,
    /// The next event raises an interrupt.
    Armed,
}

impl Gm {
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
        {
            let mut driver = self.driver.lock();
            let owner = &mut driver.ports[usize::from(port)];
            if owner.is_some() {
                return Err(PortError::Busy { port });
            }
            *owner = Some(self.process);
        }
        let opened = self.open_queue(port).await;
        if opened.is_err() {
            self.driver.lock().ports[usize::from(port)] = None;
        }
        opened
    }

    async fn open_queue(&mut self, port: u8) -> Result<(), PortError> {
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
        let words = [
            (physical.0 >> 32) as u32,
            physical.0 as u32,
            self.process.into(),
        ];
        const { assert!(PORT_PROCESS == PORT_QUEUE_HIGH + 8) }
        self.board
            .write_sram_burst(block + PORT_QUEUE_HIGH, &words)
            .await;
        self.command(COMMAND_OPEN, port).await?;
        self.ports[usize::from(port)] = Some(OpenPort {
            queue,
            next_event: 0,
            next_send_slot: 0,
            next_receive_slot: 0,
            free_sends: (0..SEND_TOKENS as u8).rev().collect(),
            sends: (0..SEND_TOKENS).map(|_| None).collect(),
            receives: 0,
            buffers: BTreeMap::new(),
            accepted: [u32::MAX; 2],
            alarms: Alarms::default(),
            operations: Operations::default(),
            wake: WakeState::Off,
        });
        Ok(())
    }

    /// Closes a port, also with sends under way: they are given up, and their callbacks are called with
    /// [`Status::PortClosed`]. When this returns, the board does not use the port's buffers any more.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_close")]
    pub async fn close(&mut self, port: u8) -> Result<(), PortError> {
        self.port(port)?;
        self.command(COMMAND_CLOSE, port).await?;
        let closed = self.ports[usize::from(port)].take();
        self.driver.lock().ports[usize::from(port)] = None;
        let sends = closed.into_iter().flat_map(|port| port.sends);
        for callback in sends.flatten().filter_map(|send| send.callback) {
            callback(Status::PortClosed);
        }
        Ok(())
    }

    /// Lets other nodes write and read the registered memory of this process through this port with puts and gets, or
    /// not. A new port does not.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_allow_remote_memory_access")]
    pub async fn allow_remote_memory_access(
        &mut self,
        port: u8,
        allowed: bool,
    ) -> Result<(), PortError> {
        self.port(port)?;
        self.command_with(COMMAND_ALLOW, port, [0, allowed.into()])
            .await
    }

    /// Sets the sizes of messages of a priority that a port accepts: bit `n` for size `n`. A message of another size is
    /// refused ([`Status::Rejected`]) instead of waiting for a buffer. A new port accepts all.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_set_acceptable_sizes")]
    pub async fn set_acceptable_sizes(
        &mut self,
        port: u8,
        priority: Priority,
        sizes: u32,
    ) -> Result<(), PortError> {
        let state = self.port(port)?;
        state.accepted[priority as usize] = sizes;
        let [low, high] = state.accepted;
        self.command_with(COMMAND_ACCEPT, port, [high, low]).await
    }

    async fn command(&mut self, command: u32, port: u8) -> Result<(), PortError> {
        self.command_with(command, port, [0, 0]).await
    }

    /// Gives the firmware a command and waits until it is carried out. The processes of the host take turns.
    pub(super) async fn command_with(
        &mut self,
        command: u32,
        port: u8,
        arguments: [u32; 2],
    ) -> Result<(), PortError> {
        const { assert!(PORT_COUNT <= 256) }
        let mut polls = 0;
        while !self.driver.begin_command() {
            polls += 1;
            if polls > POLLS {
                return Err(PortError::Silent { port });
            }
            self.system.sleep(POLL_NS).await;
        }
        self.board.write_sram_burst(ARGUMENT_HIGH, &arguments).await;
        self.board
            .write_sram(COMMAND, command | u32::from(port) << 8)
            .await;
        let mut done = Err(PortError::Silent { port });
        for _ in 0..POLLS {
            if self.board.read_sram(COMMAND).await == 0 {
                done = Ok(());
                break;
            }
            self.system.sleep(POLL_NS).await;
        }
        self.driver.end_command();
        done
    }
}
