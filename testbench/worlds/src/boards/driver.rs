//! A host's access to a board of any type.

use emulator::host::machine::Machine;
use host_lib::board::{BoardWindow, ChipError};
use host_lib::firmware::{Firmware, ImageError};
use host_lib::lanai::{LanaiBoard, LanaiError};
use host_lib::window::Window;

use super::HostView;

/// The driver of a node's board.
#[derive(Debug)]
pub enum Driver {
    /// Access to a Tigon2.
    Tigon2(BoardWindow),
    /// Access to a board with a LANai.
    Lanai(LanaiBoard),
}

/// A board does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Bring-up of a Tigon2 failed.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// The firmware does not fit a Tigon2.
    #[error(transparent)]
    Load(#[from] ImageError),
    /// A board with a LANai does not come up, or its firmware does not fit.
    #[error(transparent)]
    Lanai(#[from] LanaiError),
}

impl Driver {
    /// A driver for boards that a host sees like this.
    #[must_use]
    pub fn new(view: HostView, machine: Machine) -> Self {
        match view {
            HostView::Tigon2 => Self::Tigon2(BoardWindow::new(machine.into())),
            HostView::Lanai(family) => Self::Lanai(LanaiBoard::new(machine.into(), family)),
        }
    }

    /// The driver of a Tigon2, if it is one.
    pub const fn board_window(&mut self) -> Option<&mut BoardWindow> {
        match self {
            Self::Tigon2(board) => Some(board),
            Self::Lanai(_) => None,
        }
    }

    /// The driver of a board with a LANai, if it is one.
    pub const fn lanai(&mut self) -> Option<&mut LanaiBoard> {
        match self {
            Self::Lanai(board) => Some(board),
            Self::Tigon2(_) => None,
        }
    }

    /// Resets the board, loads the firmware and starts its first CPU.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn boot(&mut self, firmware: &Firmware) -> Result<(), StartError> {
        match self {
            Self::Tigon2(board) => {
                board.reset().await?;
                firmware.load(board).await?;
                board.start_cpu_a(firmware.entry).await;
            }
            Self::Lanai(board) => {
                board.reset().await?;
                board.load(firmware).await?;
                board.release().await;
            }
        }
        Ok(())
    }

    /// Reads the SRAM word at `address`.
    pub async fn read_sram(&mut self, address: u32) -> u32 {
        match self {
            Self::Tigon2(board) => board.read_sram(address).await,
            Self::Lanai(board) => board.read_sram(address).await,
        }
    }

    /// Writes the SRAM word at `address`.
    pub async fn write_sram(&mut self, address: u32, value: u32) {
        match self {
            Self::Tigon2(board) => board.write_sram(address, value).await,
            Self::Lanai(board) => board.write_sram(address, value).await,
        }
    }

    /// Writes SRAM words from `address` on, in one burst.
    pub async fn write_sram_burst(&mut self, address: u32, values: &[u32]) {
        match self {
            Self::Tigon2(board) => board.write_sram_burst(address, values).await,
            Self::Lanai(board) => board.write_sram_burst(address, values).await,
        }
    }

    /// Reads the register at `offset`.
    pub async fn read_register(&mut self, offset: u32) -> u32 {
        match self {
            Self::Tigon2(board) => board.read_register(offset).await,
            Self::Lanai(board) => board.read_register(offset).await,
        }
    }

    /// Writes the register at `offset`.
    pub async fn write_register(&mut self, offset: u32, value: u32) {
        match self {
            Self::Tigon2(board) => board.write_register(offset, value).await,
            Self::Lanai(board) => board.write_register(offset, value).await,
        }
    }

    /// Polls the SRAM word at `address` until it is `expected`.
    pub async fn wait_for(
        &mut self,
        machine: &mut Machine,
        address: u32,
        what: &'static str,
        expected: u32,
    ) {
        match self {
            Self::Tigon2(board) => {
                board.poll_sram(address, u32::MAX, expected, what).await;
            }
            Self::Lanai(board) => {
                let offset = board.sram_offset(address);
                machine.poll_until(offset, u32::MAX, expected, what).await;
            }
        }
    }
}
