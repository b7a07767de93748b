//! What a test's host program can do.

use defs::tigon2::map::mailbox_low;
use emulator::host::machine::Machine;
use emulator::sim::time::SimTime;
use host_lib::board::BoardWindow;
use host_lib::window::{PhysicalAddress, System, VirtualAddress};

use super::error::HostError;

/// Between two reads of [`HostNode::poll`].
const POLL_GAP_NS: u64 = 500;

/// A host program's hold on its node: the board behind its PCI window, the host's memory, and time.
///
/// Everything takes the time that it would take on a real machine.
#[derive(Debug)]
pub struct HostNode {
    node: u16,
    board: BoardWindow<Machine>,
    machine: Machine,
    /// The pauses that a [`Schedule`](super::Schedule) asks for, the first one first.
    pauses: std::vec::IntoIter<SimTime>,
}

/// Host memory that program and board share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// As the program has it.
    pub address: VirtualAddress,
    /// As the board's DMA has it; all of it is contiguous.
    pub physical: PhysicalAddress,
    /// Its length in bytes.
    pub length: u64,
}

impl HostNode {
    pub(super) fn new(node: u16, machine: Machine, pauses: Vec<SimTime>) -> Self {
        Self {
            node,
            board: BoardWindow::new(machine.clone()),
            machine,
            pauses: pauses.into_iter(),
        }
    }

    /// The node's number.
    #[must_use]
    pub const fn node(&self) -> u16 {
        self.node
    }

    /// The board, for what this type has no name for.
    pub const fn board(&mut self) -> &mut BoardWindow<Machine> {
        &mut self.board
    }

    /// The machine, for what this type has no name for.
    pub const fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.machine.now()
    }

    /// Reads the word of SRAM at `address`.
    pub async fn read(&mut self, address: u32) -> u32 {
        self.board.read_sram(address).await
    }

    /// Writes the word of SRAM at `address`.
    pub async fn write(&mut self, address: u32, value: u32) {
        self.board.write_sram(address, value).await;
    }

    /// Writes words of SRAM from `address` on, in one burst.
    pub async fn write_burst(&mut self, address: u32, values: &[u32]) {
        self.board.write_sram_burst(address, values).await;
    }

    /// Reads the register at this offset (`defs::tigon2::regs`).
    pub async fn read_register(&mut self, offset: u32) -> u32 {
        self.board.read_register(offset).await
    }

    /// Writes the register at this offset (`defs::tigon2::regs`).
    pub async fn write_register(&mut self, offset: u32, value: u32) {
        self.board.write_register(offset, value).await;
    }

    /// Writes a mailbox, which raises an event on the NIC.
    pub async fn mailbox(&mut self, index: u32, value: u32) {
        self.board.write_sram(mailbox_low(index), value).await;
    }

    /// Reads the word of SRAM at `address` until `holds` is true of it; gives the word.
    ///
    /// # Errors
    /// [`HostError::TimedOut`] when it is not after `within`; `what` says what was waited for.
    pub async fn poll(
        &mut self,
        address: u32,
        what: &'static str,
        within: SimTime,
        holds: impl Fn(u32) -> bool + Send,
    ) -> Result<u32, HostError> {
        let deadline = self.now().saturating_add(within);
        loop {
            let last = self.board.read_sram(address).await;
            if holds(last) {
                return Ok(last);
            }
            if self.now() >= deadline {
                return Err(HostError::TimedOut { what, within, last });
            }
            self.machine.compute(POLL_GAP_NS).await;
        }
    }

    /// Reads the word of SRAM at `address` until it is `expected`, for ever if need be: when nothing can
    /// happen any more, the run ends with [`KitError::Deadlock`](super::KitError::Deadlock), which says `what` is
    /// waited for.
    pub async fn wait_for(&mut self, address: u32, what: &'static str, expected: u32) {
        self.board
            .poll_sram(address, u32::MAX, expected, what)
            .await;
    }

    /// Waits until the board asserts its interrupt line, no longer than `within`; tells whether it did.
    pub async fn interrupt(&mut self, within: SimTime) -> bool {
        let nanoseconds = within.ps() / 1000;
        let waited = self.machine.wait_interrupt(Some(nanoseconds)).await;
        waited.is_ok()
    }

    /// Spends time.
    pub async fn wait(&mut self, span: SimTime) {
        self.machine.compute(span.ps() / 1000).await;
    }

    /// A place where a [`Schedule`](super::Schedule) may let the program lose time; without one it takes none.
    pub async fn pause(&mut self) {
        match self.pauses.next() {
            Some(span) if span != SimTime::ZERO => self.wait(span).await,
            _ => {}
        }
    }

    /// Takes contiguous memory that the board's DMA reaches, all zeros.
    ///
    /// # Errors
    /// When there is no more.
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
    /// Where nothing is mapped.
    pub fn store(&mut self, address: VirtualAddress, bytes: &[u8]) -> Result<(), HostError> {
        let stored = self.machine.write_memory(address, bytes);
        stored.map_err(HostError::NotMapped)
    }

    /// Reads host memory.
    ///
    /// # Errors
    /// Where nothing is mapped.
    pub fn load(&self, address: VirtualAddress, bytes: &mut [u8]) -> Result<(), HostError> {
        let loaded = self.machine.read_memory(address, bytes);
        loaded.map_err(HostError::NotMapped)
    }
}
