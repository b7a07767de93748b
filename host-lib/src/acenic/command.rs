//! Commands to the firmware, through the command ring in SRAM (docs/tigon2-driver.md, section 8).

use defs::acenic::message::{self as m, word};
use defs::acenic::{
    COMMAND_CONSUMER, COMMAND_ENTRIES, MAC_HIGH, MAC_LOW, MAILBOX_COMMAND, MULTICAST_HIGH,
    MULTICAST_LOW,
};
use defs::tigon2::map::{COMMAND_RING_BASE, mailbox_low};

use super::AceNic;
use super::error::CommandError;
use super::memory::WORD_BYTES;
use crate::address::MacAddress;
use crate::window::System;

/// A command to the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// The protocol stack is up: deliver frames.
    StackUp,
    /// The protocol stack is down.
    StackDown,
    /// Read the general communication words again.
    UpdateGeneral,
    /// Discard the jumbo ring's buffers.
    ResetJumbo,
    /// Report part of a frame when this many bytes have arrived; 0: never.
    PartialReceive {
        /// Number of bytes.
        count: u32,
    },
    /// Accept frames for this group.
    AddMulticast(MacAddress),
    /// Stop accepting frames for this group.
    RemoveMulticast(MacAddress),
    /// Like [`Command::AddMulticast`], with the address in the ring.
    AddMulticastExtended(MacAddress),
    /// Like [`Command::RemoveMulticast`], with the address in the ring.
    RemoveMulticastExtended(MacAddress),
    /// Accept all frames, or only those for this node.
    Promiscuous(bool),
    /// Accept the frames of all groups, or only of added ones.
    AllMulticast(bool),
    /// Negotiate the link again.
    NegotiateLink,
    /// Set the own address.
    SetAddress(MacAddress),
    /// Clear the counters.
    ClearStatistics,
    /// Load the counters from the statistics block in host memory: what the firmware has counted since its last
    /// report is lost. [`AceNic::next_statistics`] gets a report.
    LoadStatistics,
    /// Any word, valid or not.
    Word(u32),
}

/// Encoding of a command.
struct Encoded {
    /// General words to write first.
    general: Option<[(u32, u32); 2]>,
    /// Entries of the ring.
    entries: Vec<u32>,
}

const fn switch(command: u32, on: bool) -> u32 {
    let code = if on { m::CODE_ON } else { m::CODE_OFF };
    word(command, code, 0)
}

impl Command {
    /// The group address in the command.
    const fn group(self) -> Option<MacAddress> {
        match self {
            Self::AddMulticast(group)
            | Self::RemoveMulticast(group)
            | Self::AddMulticastExtended(group)
            | Self::RemoveMulticastExtended(group) => Some(group),
            _ => None,
        }
    }

    fn encode(self) -> Encoded {
        let plain = |entry| Encoded {
            general: None,
            entries: vec![entry],
        };
        let general = |command, high, low, address: MacAddress| Encoded {
            general: Some([(high, address.high()), (low, address.low())]),
            entries: vec![word(command, 0, 0)],
        };
        let multicast = |command, group| general(command, MULTICAST_HIGH, MULTICAST_LOW, group);
        let extended = |command, group: MacAddress| Encoded {
            general: None,
            entries: vec![word(command, 0, 0), group.high(), group.low()],
        };
        match self {
            Self::StackUp => plain(switch(m::HOST_STATE, true)),
            Self::StackDown => plain(switch(m::HOST_STATE, false)),
            Self::UpdateGeneral => plain(word(m::UPDATE_GENERAL, 0, 0)),
            Self::ResetJumbo => plain(word(m::RESET_JUMBO, 0, 0)),
            Self::PartialReceive { count } => plain(word(m::PARTIAL_RECEIVE, 0, count)),
            Self::AddMulticast(group) => multicast(m::ADD_MULTICAST, group),
            Self::RemoveMulticast(group) => multicast(m::DELETE_MULTICAST, group),
            Self::AddMulticastExtended(group) => extended(m::EXTENDED_ADD_MULTICAST, group),
            Self::RemoveMulticastExtended(group) => extended(m::EXTENDED_DELETE_MULTICAST, group),
            Self::Promiscuous(on) => plain(switch(m::SET_PROMISCUOUS, on)),
            Self::AllMulticast(on) => plain(switch(m::SET_ALL_MULTICAST, on)),
            Self::NegotiateLink => plain(word(m::NEGOTIATE_LINK, 0, 0)),
            Self::SetAddress(address) => general(m::SET_MAC_ADDRESS, MAC_HIGH, MAC_LOW, address),
            Self::ClearStatistics => plain(word(m::CLEAR_STATISTICS, 0, 0)),
            Self::LoadStatistics => plain(word(m::LOAD_STATISTICS, 0, 0)),
            Self::Word(entry) => plain(entry),
        }
    }
}

/// Timeout of a command.
const COMMAND_TIMEOUT_NS: u64 = 100_000_000;
/// Poll interval of the firmware's index.
const COMMAND_POLL_NS: u64 = 10_000;

impl AceNic {
    /// Gives a command to the firmware, without waiting for its execution.
    ///
    /// # Errors
    /// [`CommandError`]: the command was not given.
    pub async fn command(&mut self, command: Command) -> Result<(), CommandError> {
        if let Some(address) = command.group()
            && !address.is_group()
        {
            return Err(CommandError::NotGroup { address });
        }
        let Encoded { general, entries } = command.encode();
        self.check_command_space(entries.len() as u32).await?;
        for (address, value) in general.into_iter().flatten() {
            self.board.write_sram(address, value).await;
        }
        for entry in entries {
            let place = COMMAND_RING_BASE + self.commands * WORD_BYTES;
            self.board.write_sram(place, entry).await;
            self.commands = (self.commands + 1) % COMMAND_ENTRIES;
        }
        self.board
            .write_sram(mailbox_low(MAILBOX_COMMAND), self.commands)
            .await;
        if let Command::SetAddress(address) = command {
            self.address = address;
        }
        Ok(())
    }

    /// Gives a command and waits until the firmware has taken it. (Some commands are followed by an event.)
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn command_taken(&mut self, command: Command) -> Result<(), CommandError> {
        const WHAT: &str = "the firmware to take a command";
        self.command(command).await?;
        for _ in 0..COMMAND_TIMEOUT_NS / COMMAND_POLL_NS {
            if self.board.read_sram(COMMAND_CONSUMER).await == self.commands {
                return Ok(());
            }
            self.system.compute(COMMAND_POLL_NS).await;
        }
        Err(self.timed_out(WHAT, COMMAND_TIMEOUT_NS).await.into())
    }

    async fn check_command_space(&mut self, needed: u32) -> Result<(), CommandError> {
        let consumer = self.board.read_sram(COMMAND_CONSUMER).await;
        if consumer >= COMMAND_ENTRIES {
            return Err(CommandError::Consumer { consumer });
        }
        // One entry stays free: a full ring would look empty.
        let free = (consumer + COMMAND_ENTRIES - self.commands - 1) % COMMAND_ENTRIES;
        if needed > free {
            return Err(CommandError::Full { needed, free });
        }
        Ok(())
    }
}
