//! The host's access to boards of any type.

use emulator::host::machine::Machine;
use host_lib::board::BoardWindow;
use host_lib::firmware::Firmware;
use host_lib::lanai::LanaiBoard;
use host_lib::window::Window;
use lanigon_worlds::boards::HostView;

use super::error::HostError;

/// The driver of a node's board.
#[derive(Debug)]
pub(super) enum Driver {
    Tigon2(BoardWindow<Machine>),
    Lanai(LanaiBoard<Machine>),
}

impl Driver {
    pub(super) const fn new(view: HostView, machine: Machine) -> Self {
        match view {
            HostView::Tigon2 => Self::Tigon2(BoardWindow::new(machine)),
            HostView::Lanai(family) => Self::Lanai(LanaiBoard::new(machine, family)),
        }
    }

    /// Resets the board, loads the firmware and starts its first CPU.
    pub(super) async fn boot(&mut self, firmware: &Firmware) -> Result<(), HostError> {
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

    pub(super) async fn read_sram(&mut self, address: u32) -> u32 {
        match self {
            Self::Tigon2(board) => board.read_sram(address).await,
            Self::Lanai(board) => board.read_sram(address).await,
        }
    }

    pub(super) async fn write_sram(&mut self, address: u32, value: u32) {
        match self {
            Self::Tigon2(board) => board.write_sram(address, value).await,
            Self::Lanai(board) => board.write_sram(address, value).await,
        }
    }

    pub(super) async fn write_sram_burst(&mut self, address: u32, values: &[u32]) {
        match self {
            Self::Tigon2(board) => board.write_sram_burst(address, values).await,
            Self::Lanai(board) => board.write_sram_burst(address, values).await,
        }
    }

    pub(super) async fn read_register(&mut self, offset: u32) -> u32 {
        match self {
            Self::Tigon2(board) => board.read_register(offset).await,
            Self::Lanai(board) => board.read_register(offset).await,
        }
    }

    pub(super) async fn write_register(&mut self, offset: u32, value: u32) {
        match self {
            Self::Tigon2(board) => board.write_register(offset, value).await,
            Self::Lanai(board) => board.write_register(offset, value).await,
        }
    }

    /// Polls the SRAM word at `address` until it is `expected`.
    pub(super) async fn wait_for(
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
