//! The boards that run GM, as the library sees them: SRAM, start of the firmware, and what Ethernet needs.

use defs::gm::layout::Layout;
use defs::gm::mac::{ETHERTYPE, POST_MAILBOX, SRAM_BYTES as MAC_SRAM_BYTES};
use defs::gm::map::{COMMAND, GLOBALS, READ_BLOCKS, READY, RECORDS, SEND_QUEUES, WRITE_BLOCKS};
use defs::gm::map::{PEER_BYTES, ROUTE_LIMIT, SRAM_BYTES, sram_bytes};
use defs::gm::mapping::{MAP_VERSION, PROBES_TAKEN};
use defs::lanai::{HOST_SIG, l4, l9};
use defs::tigon2::regs::{MAC_ADDRESS_HIGH, MAC_ADDRESS_LOW};

use super::error::StartError;
use super::mapper::UniqueId;
use super::view::{View, ViewGuard};
use crate::address::MacAddress;
use crate::board::BoardWindow;
use crate::firmware::Firmware;
use crate::lanai::{self, LanaiBoard};
use crate::window::AnyWindow;

/// A family of boards that run GM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Boards with a LANai, on Myrinet.
    Lanai(lanai::Family),
    /// A Tigon2, on Ethernet.
    Tigon2,
}

impl From<lanai::Family> for Family {
    fn from(family: lanai::Family) -> Self {
        Self::Lanai(family)
    }
}

/// The route over Ethernet: what a packet begins with.
#[must_use]
pub fn ethernet_route(from: MacAddress, to: MacAddress) -> Vec<u8> {
    let mut route = Vec::with_capacity(ROUTE_LIMIT as usize);
    route.extend(to.0);
    route.extend(from.0);
    route.extend(ETHERTYPE.to_be_bytes());
    // The header begins at a multiple of 4.
    route.extend([0, 0]);
    route
}

/// The sender's address in a route over Ethernet.
fn sender(route: &[u8]) -> Option<MacAddress> {
    let bytes = route.get(6..12)?.try_into().ok()?;
    Some(MacAddress(bytes))
}

/// A node's board.
#[derive(Debug)]
pub(super) enum Board {
    /// With a LANai.
    Lanai(LanaiBoard),
    /// A Tigon2. Its firmware looks at the host's words when a mailbox rings.
    Tigon2(BoardWindow, View),
}

/// The registers of interrupts: status and mask.
const fn interrupt_registers(family: lanai::Family) -> (u32, u32) {
    match family {
        lanai::Family::Four => (l4::ISR, l4::EIMR),
        lanai::Family::Later => (l9::ISR, l9::EIMR),
    }
}

/// Whether the firmware of a Tigon2 is told of a write: a post or a command.
const fn is_post(address: u32) -> bool {
    address == COMMAND || (address >= SEND_QUEUES && address < RECORDS)
}

impl Board {
    /// The board of a family behind a window.
    pub(super) fn new(window: AnyWindow, family: Family) -> Self {
        match family {
            Family::Lanai(family) => Self::Lanai(LanaiBoard::new(window, family)),
            Family::Tigon2 => Self::Tigon2(BoardWindow::new(window), View::default()),
        }
    }

    /// Access to this board for another process of the host.
    pub(super) fn process(&self, window: AnyWindow, process: u8) -> Board {
        match self {
            Self::Lanai(board) => Board::Lanai(LanaiBoard::new(window, board.family())),
            Self::Tigon2(_, view) => {
                Board::Tigon2(BoardWindow::new(window), view.for_process(process))
            }
        }
    }

    /// Reads the SRAM word at `address`.
    pub(super) async fn read_sram(&mut self, address: u32) -> u32 {
        match self {
            Self::Lanai(board) => board.read_sram(address).await,
            Self::Tigon2(board, view) => {
                let _taken = taken(board, view).await;
                board.read_sram(address).await
            }
        }
    }

    /// Writes the SRAM word at `address`. The firmware sees a command.
    pub(super) async fn write_sram(&mut self, address: u32, value: u32) {
        match self {
            Self::Lanai(board) => board.write_sram(address, value).await,
            Self::Tigon2(board, view) => {
                let _taken = taken(board, view).await;
                board.write_sram(address, value).await;
                if is_post(address) {
                    board.write_mailbox(POST_MAILBOX, address).await;
                }
            }
        }
    }

    /// Writes SRAM words from `address` on. The firmware sees a post or a command.
    pub(super) async fn write_sram_burst(&mut self, address: u32, values: &[u32]) {
        match self {
            Self::Lanai(board) => board.write_sram_burst(address, values).await,
            Self::Tigon2(board, view) => {
                let _taken = taken(board, view).await;
                board.write_sram_burst(address, values).await;
                if is_post(address) {
                    board.write_mailbox(POST_MAILBOX, address).await;
                }
            }
        }
    }

    /// Checks that the board has the memory for this many nodes with the firmware's layout.
    pub(super) fn check_layout(&self, layout: &Layout, nodes: u32) -> Result<(), StartError> {
        let Self::Lanai(board) = self else {
            return Ok(());
        };
        let needed = layout.sram_bytes(nodes);
        match board.record() {
            Some(record) if record.sram_bytes < needed => Err(StartError::Sram {
                sram_bytes: record.sram_bytes,
                needed,
            }),
            _ => Ok(()),
        }
    }

    /// The board's id in its EEPROM, and the most nodes for which it has memory.
    pub(super) fn identity(&self, layout: &Layout) -> (Option<UniqueId>, u32) {
        let record = match self {
            Self::Lanai(board) => board.record(),
            Self::Tigon2(..) => None,
        };
        let bytes = record.map_or(SRAM_BYTES, |record| record.sram_bytes);
        let nodes = (bytes.saturating_sub(layout.peers) / PEER_BYTES).min(layout.nodes());
        (record.map(|record| UniqueId(record.address)), nodes)
    }

    /// Whether the board has the memory for collective operations.
    pub(super) fn has_collectives(&self, layout: &Layout) -> bool {
        match self {
            // Of a board whose EEPROM was not read nothing is known.
            Self::Lanai(board) => {
                let record = board.record();
                record.is_some_and(|record| record.sram_bytes >= layout.operations_end)
            }
            Self::Tigon2(..) => true,
        }
    }

    /// Lets the firmware interrupt the host.
    pub(super) async fn enable_interrupts(&mut self) {
        if let Self::Lanai(board) = self {
            let (_, mask) = interrupt_registers(board.family());
            board.write_register(mask, HOST_SIG).await;
            board.interrupts(true).await;
        }
    }

    /// Takes an interrupt of the firmware back.
    pub(super) async fn end_interrupt(&mut self) {
        if let Self::Lanai(board) = self {
            let (status, _) = interrupt_registers(board.family());
            board.write_register(status, HOST_SIG).await;
        }
    }

    /// Resets the board, loads the image and lets it run, for this many nodes.
    pub(super) async fn boot(&mut self, firmware: &Firmware, nodes: u32) -> Result<(), StartError> {
        for (address, bytes) in &firmware.segments {
            let (address, length_bytes) = (*address, bytes.len());
            if u64::from(address) + length_bytes as u64 > u64::from(GLOBALS) {
                return Err(StartError::ImageTooLarge {
                    address,
                    length_bytes,
                });
            }
        }
        match self {
            Self::Lanai(board) => {
                let found = board.reset().await?.sram_bytes;
                let needed = sram_bytes(nodes);
                if found < needed {
                    return Err(StartError::Sram {
                        sram_bytes: found,
                        needed,
                    });
                }
                board.load(firmware).await?;
                // SRAM survives a reset: clear the words of an earlier run.
                for word in [READY, COMMAND, PROBES_TAKEN, MAP_VERSION] {
                    board.write_sram(word, 0).await;
                }
                board.set_chain(0, WRITE_BLOCKS).await;
                board.set_chain(2, READ_BLOCKS).await;
                board.release().await;
            }
            Self::Tigon2(board, _) => {
                board.reset().await?;
                check_sram(board).await?;
                firmware.load(board).await?;
                board.write_sram(READY, 0).await;
                board.write_sram(COMMAND, 0).await;
                board.start_cpu_a(firmware.entry).await;
            }
        }
        Ok(())
    }

    /// Sets what the network needs besides routes: on Ethernet the own address, which every route names.
    pub(super) async fn configure(&mut self, routes: &[Option<Vec<u8>>]) {
        let Self::Tigon2(board, _) = self else {
            return;
        };
        let mut known = routes.iter().flatten();
        let address = known.find_map(|route| sender(route));
        let address = address.unwrap_or(MacAddress([0; 6]));
        board.write_register(MAC_ADDRESS_HIGH, address.high()).await;
        board.write_register(MAC_ADDRESS_LOW, address.low()).await;
    }
}

/// Takes the view of a Tigon2. While another process has it, this one reads a register that changes nothing, again and again.
async fn taken(board: &mut BoardWindow, view: &View) -> ViewGuard {
    loop {
        if let Some((taken, moved)) = view.try_take() {
            if moved {
                board.forget_view();
            }
            return taken;
        }
        board.read_register(MAC_ADDRESS_LOW).await;
    }
}

/// Checks that a Tigon2 has enough memory: addresses repeat behind its end.
async fn check_sram(board: &mut BoardWindow) -> Result<(), StartError> {
    let sram_bytes = MAC_SRAM_BYTES / 2;
    for value in [!READY, READY] {
        board.write_sram(READY, 0).await;
        board.write_sram(READY + sram_bytes, value).await;
        if board.read_sram(READY).await == value {
            return Err(StartError::Sram {
                sram_bytes,
                needed: MAC_SRAM_BYTES,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_over_ethernet_is_the_beginning_of_a_frame() {
        let (from, to) = (
            MacAddress([2, 0, 0, 0, 0, 1]),
            MacAddress([2, 0, 0, 0, 1, 7]),
        );
        let route = ethernet_route(from, to);
        assert_eq!(
            route,
            [2, 0, 0, 0, 1, 7, 2, 0, 0, 0, 0, 1, 0x88, 0xB6, 0, 0]
        );
        assert_eq!(sender(&route), Some(from));
        assert_eq!(sender(&[0x85]), None);
    }
}
