//! A driver for the Ethernet firmware that runs on any number of CPUs (`ether-n`): rings of frames to send, of buffers, and of frames that
//! came (`defs::ethernet`).
//!
//! Indices that the board writes are checked before they are used. Calls that touch host memory only take no time of the host: a program
//! that is to pay for its work charges it.

mod error;

#[cfg(test)]
mod tests;

use defs::ethernet as ether;
use defs::tigon2::counters;
use defs::tigon2::regs::{MAC_ADDRESS_HIGH, MAC_ADDRESS_LOW};

use crate::acenic::memory::DmaRegion;
use crate::address::MacAddress;
use crate::board::BoardWindow;
use crate::firmware::Firmware;
use crate::window::{AnySystem, AnyWindow, System};

pub use error::{EthernetError, Mistake};

/// SRAM that is cleared before the firmware is loaded, whose zeroed data is not part of the file.
const CLEARED: std::ops::Range<u32> = 0x80..0x400;
/// Longest wait for the firmware's start.
const START_NS: u64 = 10_000_000;
/// Time between two looks at it.
const LOOK_NS: u64 = 1_000;

/// Ways to restore the order of frames that several CPUs work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// The board's bit instructions; without them its CPUs stop.
    Bits,
    /// Flags in memory, under locks.
    Locks,
}

/// Settings of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Address of the interface.
    pub address: MacAddress,
    /// Way to restore the order of frames.
    pub ordering: Ordering,
    /// Most frames that a CPU takes at a time, from 1 to [`ether::MOST_BATCH`].
    pub batch: u32,
}

/// A frame that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Bytes without FCS.
    pub bytes: Vec<u8>,
    /// Status bits of the MAC; 0 for a frame that is whole.
    pub status: u32,
}

/// The driver of a board.
#[derive(Debug)]
pub struct Ethernet {
    board: BoardWindow,
    system: AnySystem,
    send_ring: DmaRegion,
    send_buffers: DmaRegion,
    receive_ring: DmaRegion,
    receive_buffers: DmaRegion,
    return_ring: DmaRegion,
    status: DmaRegion,
    /// Frames in the send ring so far, those of them that the board knows of, and those that it has sent.
    queued: u32,
    posted: u32,
    sent: u32,
    /// Buffers in the receive ring so far, those of them that the board knows of, and those that were taken back.
    provided: u32,
    offered: u32,
    taken: u32,
}

impl Ethernet {
    /// Resets the board behind `window`, loads and starts the firmware, waits until it serves the rings, and gives it all buffers.
    ///
    /// # Errors
    /// [`EthernetError`].
    pub async fn start(
        window: AnyWindow,
        mut system: AnySystem,
        firmware: &Firmware,
        config: Config,
    ) -> Result<Self, EthernetError> {
        if !(1..=ether::MOST_BATCH).contains(&config.batch) {
            return Err(EthernetError::Batch {
                batch: config.batch,
            });
        }
        let mut board = BoardWindow::new(window);
        board.reset().await?;
        let zeros = vec![0; (CLEARED.len() / 4).min(0x400)];
        board.write_sram_burst(CLEARED.start, &zeros).await;
        firmware.load(&mut board).await?;
        let mut ring = |entry_bytes| allocate(&mut system, ether::RING_ENTRIES * entry_bytes);
        let mut driver = Self {
            send_ring: ring(ether::SEND_BYTES)?,
            send_buffers: ring(ether::BUFFER_BYTES)?,
            receive_ring: ring(ether::RECEIVE_BYTES)?,
            receive_buffers: ring(ether::BUFFER_BYTES)?,
            return_ring: ring(ether::RETURN_BYTES)?,
            status: allocate(&mut system, ether::STATUS_BYTES)?,
            board,
            system,
            queued: 0,
            posted: 0,
            sent: 0,
            provided: 0,
            offered: 0,
            taken: 0,
        };
        driver.configure(&config).await?;
        driver.board.start_cpu_a(firmware.entry).await;
        driver.wait_ready().await?;
        driver.provide_all();
        driver.ring_bells().await;
        Ok(driver)
    }

    /// Writes the settings that the firmware reads as it starts.
    async fn configure(&mut self, config: &Config) -> Result<(), EthernetError> {
        let order = match config.ordering {
            Ordering::Bits => ether::OPTION_BITS,
            Ordering::Locks => 0,
        };
        let low = |region: &DmaRegion| region.bus_words(0)[1];
        let words = [
            (ether::SEND_RING, low(&self.send_ring)),
            (ether::RECEIVE_RING, low(&self.receive_ring)),
            (ether::RETURN_RING, low(&self.return_ring)),
            (ether::STATUS, low(&self.status)),
            (ether::OPTIONS, order | config.batch),
        ];
        for (address, word) in words {
            self.board.write_sram(address, word).await;
        }
        let (high, low) = (config.address.high(), config.address.low());
        self.board.write_register(MAC_ADDRESS_HIGH, high).await;
        self.board.write_register(MAC_ADDRESS_LOW, low).await;
        // Receive buffers do not move.
        for entry in 0..ether::RING_ENTRIES {
            let [_, address] = self.receive_buffers.bus_words(entry * ether::BUFFER_BYTES);
            let at = entry * ether::RECEIVE_BYTES;
            self.receive_ring
                .write_words(&mut self.system, at, &[address])?;
        }
        Ok(())
    }

    async fn wait_ready(&mut self) -> Result<(), EthernetError> {
        for _ in 0..START_NS / LOOK_NS {
            if self.board.read_sram(ether::READY).await == ether::READY_VALUE {
                return Ok(());
            }
            if let Some(pc) = self.board.halted_at().await {
                return Err(EthernetError::Halted { pc });
            }
            self.system.compute(LOOK_NS).await;
        }
        Err(EthernetError::NotReady)
    }

    /// The program counter of CPU A, if it has halted.
    pub async fn halted_at(&mut self) -> Option<u32> {
        self.board.halted_at().await
    }

    /// The host system.
    pub const fn system_mut(&mut self) -> &mut AnySystem {
        &mut self.system
    }

    /// Frames that fit into the send ring.
    #[must_use]
    pub const fn send_free(&self) -> u32 {
        ether::RING_ENTRIES - self.queued.wrapping_sub(self.sent)
    }

    /// Frames that the board has sent so far.
    #[must_use]
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Puts a frame without FCS into the send ring. [`ring_bells`](Self::ring_bells) tells the board.
    ///
    /// # Errors
    /// The length is not that of a frame, or the ring is full.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), EthernetError> {
        let frames = ether::SHORTEST_BYTES as usize..=ether::LONGEST_BYTES as usize;
        if !frames.contains(&bytes.len()) {
            return Err(EthernetError::Length { bytes: bytes.len() });
        }
        if self.send_free() == 0 {
            return Err(EthernetError::RingFull);
        }
        let entry = self.queued % ether::RING_ENTRIES;
        let buffer = entry * ether::BUFFER_BYTES;
        self.send_buffers
            .write_bytes(&mut self.system, buffer, bytes)?;
        let [_, address] = self.send_buffers.bus_words(buffer);
        let words = [address, bytes.len() as u32];
        self.send_ring
            .write_words(&mut self.system, entry * ether::SEND_BYTES, &words)?;
        self.queued = self.queued.wrapping_add(1);
        Ok(())
    }

    /// Gives all free buffers to the board.
    const fn provide_all(&mut self) {
        self.provided = self.taken.wrapping_add(ether::RING_ENTRIES);
    }

    /// Tells the board of new frames and buffers.
    pub async fn ring_bells(&mut self) {
        if self.provided != self.offered {
            self.offered = self.provided;
            self.board
                .write_mailbox(ether::RECEIVE_MAILBOX, self.offered)
                .await;
        }
        if self.queued != self.posted {
            self.posted = self.queued;
            self.board
                .write_mailbox(ether::SEND_MAILBOX, self.posted)
                .await;
        }
    }

    /// Takes the frames that came since the last call, and notes those that were sent. Their buffers are the board's again after
    /// [`ring_bells`](Self::ring_bells).
    ///
    /// # Errors
    /// [`Mistake`]: an index or a length of the board is none.
    pub fn poll(&mut self) -> Result<Vec<Received>, EthernetError> {
        let [sent, returned] = self.status.read_words(&self.system, 0)?;
        if sent.wrapping_sub(self.sent) > self.posted.wrapping_sub(self.sent) {
            return Err(Mistake::Sent { index: sent }.into());
        }
        self.sent = sent;
        let count = returned.wrapping_sub(self.taken);
        if count > self.offered.wrapping_sub(self.taken) {
            return Err(Mistake::Returned { index: returned }.into());
        }
        let mut frames = Vec::with_capacity(count as usize);
        for _ in 0..count {
            frames.push(self.take()?);
        }
        self.provide_all();
        Ok(frames)
    }

    /// Takes the next frame of the return ring.
    fn take(&mut self) -> Result<Received, EthernetError> {
        let entry = self.taken % ether::RING_ENTRIES;
        let at = entry * ether::RETURN_BYTES;
        let word = self.return_ring.read_word(&self.system, at)?;
        let (status, length) = ether::parts_of_returned(word);
        if length > ether::BUFFER_BYTES {
            return Err(Mistake::Length { entry, word }.into());
        }
        let mut bytes = vec![0; length as usize];
        let buffer = entry * ether::BUFFER_BYTES;
        self.receive_buffers
            .read_bytes(&self.system, buffer, &mut bytes)?;
        self.taken = self.taken.wrapping_add(1);
        Ok(Received { bytes, status })
    }

    /// Frames that the board has dropped for lack of space.
    pub async fn dropped(&mut self) -> u32 {
        self.board.read_sram(counters::DROPPED_SPACE).await
    }
}

/// Memory whose addresses the firmware can use: below 4 GB.
fn allocate(system: &mut AnySystem, bytes: u32) -> Result<DmaRegion, EthernetError> {
    let region = DmaRegion::allocate(system, bytes)?;
    match region.bus_words(bytes)[0] {
        0 => Ok(region),
        _ => Err(EthernetError::HighMemory),
    }
}
