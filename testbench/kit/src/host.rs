//! Functions of a test's host program.

use emulator::host::machine::Machine;
use emulator::sim::time::SimTime;
use host_lib::board::BoardWindow;
use host_lib::firmware::Firmware;
use host_lib::lanai::LanaiBoard;
use host_lib::window::{PhysicalAddress, System, SystemPort, VirtualAddress};
use lanigon_worlds::boards::{Driver, HostView};

use super::error::HostError;

/// Interval between two reads in [`HostNode::poll`].
const POLL_GAP_NS: u64 = 500;

/// A host program's access to its node: the board through its PCI window, host memory, and time.
///
/// Every operation takes its time on the real machine.
#[derive(Debug)]
pub struct HostNode {
    node: u16,
    driver: Driver,
    machine: Machine,
    /// The pauses of a [`Schedule`](super::Schedule), in order.
    pauses: std::vec::IntoIter<SimTime>,
}

/// Host memory shared by program and board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Address for the program.
    pub address: VirtualAddress,
    /// Address for the board's DMA; the memory is contiguous.
    pub physical: PhysicalAddress,
    /// Length of the buffer in bytes.
    pub length: u64,
}

impl HostNode {
    pub(super) fn new(node: u16, view: HostView, machine: Machine, pauses: Vec<SimTime>) -> Self {
        Self {
            node,
            driver: Driver::new(view, machine.clone()),
            machine,
            pauses: pauses.into_iter(),
        }
    }

    /// Loads and starts the firmware.
    pub(super) async fn boot(&mut self, firmware: &Firmware) -> Result<(), HostError> {
        Ok(self.driver.boot(firmware).await?)
    }

    /// Number of the node.
    #[must_use]
    pub const fn node(&self) -> u16 {
        self.node
    }

    /// The Tigon2, for operations without a method here.
    ///
    /// # Panics
    /// If the node has another board.
    #[track_caller]
    pub fn board(&mut self) -> &mut BoardWindow {
        let node = self.node;
        let board = self.driver.board_window();
        board.unwrap_or_else(|| panic!("node {node} has a LANai, whose driver is lanai()"))
    }

    /// The board with a LANai, for operations without a method here.
    ///
    /// # Panics
    /// If the node has another board.
    #[track_caller]
    pub fn lanai(&mut self) -> &mut LanaiBoard {
        let node = self.node;
        let board = self.driver.lanai();
        board.unwrap_or_else(|| panic!("node {node} has no LANai; its driver is board()"))
    }

    /// The machine, for operations without a method here.
    pub const fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Current time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.machine.now()
    }

    /// Reads the SRAM word at `address`.
    pub async fn read(&mut self, address: u32) -> u32 {
        self.driver.read_sram(address).await
    }

    /// Writes the SRAM word at `address`.
    pub async fn write(&mut self, address: u32, value: u32) {
        self.driver.write_sram(address, value).await;
    }

    /// Writes SRAM words from `address` on, in one burst.
    pub async fn write_burst(&mut self, address: u32, values: &[u32]) {
        self.driver.write_sram_burst(address, values).await;
    }

    /// Reads the register at this offset (`defs::tigon2::regs`, `defs::lanai`).
    pub async fn read_register(&mut self, offset: u32) -> u32 {
        self.driver.read_register(offset).await
    }

    /// Writes the register at this offset (`defs::tigon2::regs`, `defs::lanai`).
    pub async fn write_register(&mut self, offset: u32, value: u32) {
        self.driver.write_register(offset, value).await;
    }

    /// Writes a mailbox of a Tigon2; this raises an event on the NIC.
    ///
    /// # Panics
    /// If the node has another board: only a Tigon2 has mailboxes.
    pub async fn mailbox(&mut self, index: u32, value: u32) {
        self.board().write_mailbox(index, value).await;
    }

    /// Polls the SRAM word at `address` until `holds` is true; returns the word.
    ///
    /// # Errors
    /// [`HostError::TimedOut`] after `within`; `what` describes the condition.
    pub async fn poll(
        &mut self,
        address: u32,
        what: &'static str,
        within: SimTime,
        holds: impl Fn(u32) -> bool + Send,
    ) -> Result<u32, HostError> {
        let deadline = self.now().saturating_add(within);
        loop {
            let last = self.driver.read_sram(address).await;
            if holds(last) {
                return Ok(last);
            }
            if self.now() >= deadline {
                return Err(HostError::TimedOut { what, within, last });
            }
            self.machine.compute(POLL_GAP_NS).await;
        }
    }

    /// Polls the SRAM word at `address` until it is `expected`, without a timeout. If nothing can happen
    /// any more, the run ends with [`KitError::Deadlock`](super::KitError::Deadlock), which contains
    /// `what`.
    pub async fn wait_for(&mut self, address: u32, what: &'static str, expected: u32) {
        self.driver
            .wait_for(&mut self.machine, address, what, expected)
            .await;
    }

    /// Waits until the board asserts its interrupt line, at most `within`; returns whether it did. Boards with a LANai
    /// interrupt after `lanai().interrupts(true)` only.
    pub async fn interrupt(&mut self, within: SimTime) -> bool {
        let nanoseconds = within.ps() / 1000;
        let waited = self.machine.wait_interrupt(Some(nanoseconds)).await;
        waited.is_ok()
    }

    /// Spends processor time.
    pub async fn wait(&mut self, span: SimTime) {
        self.machine.compute(span.ps() / 1000).await;
    }

    /// A point at which a [`Schedule`](super::Schedule) may delay the program; otherwise it takes no time.
    pub async fn pause(&mut self) {
        match self.pauses.next() {
            Some(span) if span != SimTime::ZERO => self.wait(span).await,
            _ => {}
        }
    }

    /// Allocates zeroed contiguous memory for the board's DMA.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn allocate(&mut self, length: u64) -> Result<Buffer, HostError> {
        let (address, physical) = self
            .machine
            .allocate_contiguous(length)
            .ok_or(HostError::NoMemory(length))?;
        Ok(Buffer {
            address,
            physical,
            length,
        })
    }

    /// Writes host memory.
    ///
    /// # Errors
    /// If an address is not mapped.
    pub fn store(&mut self, address: VirtualAddress, bytes: &[u8]) -> Result<(), HostError> {
        let stored = self.machine.write_memory(address, bytes);
        stored.map_err(HostError::NotMapped)
    }

    /// Reads host memory.
    ///
    /// # Errors
    /// If an address is not mapped.
    pub fn load(&self, address: VirtualAddress, bytes: &mut [u8]) -> Result<(), HostError> {
        let loaded = self.machine.read_memory(address, bytes);
        loaded.map_err(HostError::NotMapped)
    }
}
