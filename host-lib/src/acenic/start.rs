//! Start-up, in the order of docs/tigon2-driver.md, section 8: chip, modes and own address, memory, general
//! information block and words, release.

use defs::acenic as ace;
use defs::acenic::info::{self, INFO_BYTES, RingFlags};
use defs::tigon2::map::{COMMAND_RING_BASE, MAILBOX_BASE, mailbox_low};
use defs::tigon2::regs::{ASSIST_STATE, AssistState, CPU_PC, PCI_STATE};

use super::config::{Config, SendRing};
use super::error::{MemoryError, StartError, WaitError};
use super::event::Event;
use super::memory::DmaRegion;
use super::receive::{MINI_BYTES, Receiver, STANDARD_BYTES};
use super::send::Sender;
use super::service::ServiceResults;
use super::{AceNic, EVENT_PRODUCER, INDEX_BYTES, RETURN_PRODUCER, SEND_CONSUMER, eeprom};
use crate::address::MacAddress;
use crate::board::{BoardWindow, Cpu};
use crate::firmware::Firmware;
use crate::window::{AnySystem, AnyWindow};

/// SRAM that is cleared before the firmware is loaded: its zeroed data is not part of the file. The range
/// fits the smallest board.
const CLEARED: std::ops::Range<u32> = 0x2000..0x8_0000;
/// PCI commands for DMA: memory reads of whole lines, memory writes; no limit on a burst's length.
const PCI_COMMANDS: u32 = 0x7602_0000;
/// Read: the PCI bus runs at 66 MHz. The driver preserves the bit.
const PCI_66_MHZ: u32 = 0x0008_0000;
/// DMA thresholds, for both directions.
const DMA_THRESHOLDS: u32 = 0x80;
/// Address of the command ring: an SRAM address.
const COMMAND_RING_ADDRESS: [u32; 2] = [0, MAILBOX_BASE];
/// Interface number: this is the host's only interface.
const INTERFACE: u32 = 1;

impl AceNic {
    /// Resets the board behind `window`, loads the firmware, writes the settings and starts it.
    /// [`AceNic::wait_running`] waits for its start report.
    ///
    /// # Errors
    /// [`StartError`]: settings, chip, EEPROM, image or host memory are not usable.
    pub async fn start(
        window: AnyWindow,
        mut system: AnySystem,
        firmware: &Firmware,
        config: Config,
    ) -> Result<Self, StartError> {
        config.check()?;
        let mut board = BoardWindow::new(window);
        reset(&mut board).await?;
        board.write_sram(ace::MODE, config.mode.bits()).await;
        let address = match config.address {
            Some(address) => address,
            None => eeprom::read_address(&mut board, &mut system).await?,
        };
        write_words(&mut board, &address_words(address)).await;
        let pci = board.read_register(PCI_STATE).await & PCI_66_MHZ;
        board.write_register(PCI_STATE, PCI_COMMANDS | pci).await;
        let mut nic = Self {
            events: DmaRegion::allocate(
                &mut system,
                ace::EVENT_ENTRIES * ace::message::EVENT_BYTES,
            )?,
            indices: DmaRegion::allocate(&mut system, INDEX_BYTES)?,
            info: DmaRegion::allocate(&mut system, INFO_BYTES)?,
            sender: Sender::new(&mut system, &config)?,
            receiver: Receiver::new(&mut system, &config)?,
            board,
            system,
            config,
            address,
            commands: 0,
            event_consumer: 0,
            seen: Default::default(),
            news_left: false,
            history: Vec::new(),
            mistakes: 0,
            first_mistakes: Vec::new(),
            released_ps: 0,
        };
        nic.write_info()?;
        nic.load(firmware).await?;
        nic.configure().await;
        nic.release(firmware.entry).await;
        Ok(nic)
    }

    /// Fills the general information block.
    fn write_info(&mut self) -> Result<(), MemoryError> {
        let rings = self.config.rings;
        let host_ring = match self.config.send_ring {
            SendRing::Host => RingFlags::HOST_RING,
            SendRing::Nic { .. } => RingFlags::empty(),
        };
        let receiver = &self.receiver;
        let none = RingFlags::empty();
        for (at, address, length, flags) in [
            (info::EVENT_RING, self.events.bus_words(0), 0, none),
            (info::COMMAND_RING, COMMAND_RING_ADDRESS, 0, none),
            (
                info::SEND_RING,
                self.sender.address(),
                self.sender.entries,
                rings.send | host_ring,
            ),
            (
                info::STANDARD_RING,
                receiver.standard.ring_address(),
                STANDARD_BYTES,
                rings.standard,
            ),
            (
                info::JUMBO_RING,
                receiver.jumbo.ring_address(),
                receiver.jumbo.announced_bytes(),
                rings.jumbo,
            ),
            (
                info::MINI_RING,
                receiver.mini.ring_address(),
                MINI_BYTES,
                rings.mini,
            ),
            (
                info::RETURN_RING,
                receiver.return_address(),
                self.config.return_entries,
                none,
            ),
        ] {
            let [high, low] = address;
            let words = [high, low, length << 16 | flags.bits(), 0];
            self.info.write_words(&mut self.system, at, &words)?;
        }
        for (at, address) in [
            (
                info::EVENT_PRODUCER_POINTER,
                self.indices.bus_words(EVENT_PRODUCER),
            ),
            (
                info::RETURN_PRODUCER_POINTER,
                self.indices.bus_words(RETURN_PRODUCER),
            ),
            (
                info::SEND_CONSUMER_POINTER,
                self.indices.bus_words(SEND_CONSUMER),
            ),
            (
                info::STATISTICS_POINTER,
                self.info.bus_words(info::STATISTICS),
            ),
        ] {
            self.info.write_words(&mut self.system, at, &address)?;
        }
        Ok(())
    }

    /// Clears SRAM, loads the firmware, and verifies it.
    async fn load(&mut self, firmware: &Firmware) -> Result<(), StartError> {
        let zeros = vec![0; (CLEARED.len()) / 4];
        self.board.write_sram_burst(CLEARED.start, &zeros).await;
        firmware.load(&mut self.board).await?;
        let mut filled = firmware.segments.iter().filter_map(|(address, bytes)| {
            let word = bytes.first_chunk::<4>()?;
            Some((*address, u32::from_be_bytes(*word)))
        });
        if let Some((address, written)) = filled.next() {
            let read = self.board.read_sram(address).await;
            if read != written {
                return Err(StartError::Load {
                    address,
                    written,
                    read,
                });
            }
        }
        Ok(())
    }

    /// Writes the general communication words.
    async fn configure(&mut self) {
        let board = &mut self.board;
        let [info_high, info_low] = self.info.bus_words(0);
        write_words(
            board,
            &[
                (ace::INFO_HIGH, info_high),
                (ace::INFO_LOW, info_low),
                (ace::EVENT_CONSUMER, 0),
            ],
        )
        .await;
        let empty = [0; ace::COMMAND_ENTRIES as usize];
        board.write_sram_burst(COMMAND_RING_BASE, &empty).await;
        let coalescing = self.config.coalescing;
        let link = self.config.link.bits();
        write_words(
            board,
            &[
                (mailbox_low(ace::MAILBOX_COMMAND), 0),
                (ace::COMMAND_CONSUMER, 0),
                (ace::READ_CONFIG, DMA_THRESHOLDS),
                (ace::WRITE_CONFIG, DMA_THRESHOLDS),
                (ace::MASK_INTERRUPTS, 0),
                (ace::INTERFACE_INDEX, INTERFACE),
                (ace::STATISTICS_TICKS, self.config.statistics_ticks),
                (ace::TRACE_MASK, self.config.trace_mask),
                (ace::TX_TICKS, coalescing.tx_ticks),
                (ace::TX_MAX_DESCRIPTORS, coalescing.tx_descriptors),
                (ace::RX_TICKS, coalescing.rx_ticks),
                (ace::RX_MAX_DESCRIPTORS, coalescing.rx_descriptors),
                (ace::TX_BUFFER_RATIO, self.config.tx_buffer_ratio),
                (ace::GIGABIT_LINK, link),
                (ace::FAST_LINK, link),
                (ace::INTERFACE_MTU, self.config.mtu),
            ],
        )
        .await;
    }

    /// Starts CPU A at `entry`.
    async fn release(&mut self, entry: u32) {
        self.board.write_register(CPU_PC, entry).await;
        write_words(
            &mut self.board,
            &[
                (mailbox_low(ace::MAILBOX_INTERRUPT), 0),
                (mailbox_low(ace::MAILBOX_SEND), 0),
                (ace::RETURN_CONSUMER, 0),
            ],
        )
        .await;
        self.board
            .write_register(ASSIST_STATE, AssistState::ENABLE.bits())
            .await;
        self.board.release_cpu_a().await;
        self.released_ps = self.system.now_ps();
    }

    /// Waits until the firmware has reported that it runs.
    ///
    /// # Errors
    /// [`WaitError`]: timeout, CPU A has halted, or the firmware reports an error.
    pub async fn wait_running(&mut self) -> Result<ServiceResults, WaitError> {
        let timeout_ns = self.config.start_timeout_ns;
        self.wait_for(
            Event::FirmwareRunning,
            "the firmware to report that it runs",
            timeout_ns,
        )
        .await
    }

    /// Posts all receive buffers that the firmware does not own. The firmware expects them after its start
    /// report.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub async fn fill_rings(&mut self) -> Result<(), MemoryError> {
        for pool in self.receiver.pools() {
            pool.fill(&mut self.system)?;
        }
        self.tell_receive_rings().await;
        Ok(())
    }
}

/// Resets the chip: both CPUs halted, no interrupt.
async fn reset(board: &mut BoardWindow) -> Result<(), StartError> {
    board.reset_chip().await?;
    board.halt(Cpu::A).await?;
    board
        .write_sram(mailbox_low(ace::MAILBOX_INTERRUPT), 0)
        .await;
    board.halt(Cpu::B).await?;
    board.set_up_memory().await;
    Ok(())
}

const fn address_words(address: MacAddress) -> [(u32, u32); 2] {
    [
        (ace::MAC_HIGH, address.high()),
        (ace::MAC_LOW, address.low()),
    ]
}

async fn write_words(board: &mut BoardWindow, words: &[(u32, u32)]) {
    for &(address, value) in words {
        board.write_sram(address, value).await;
    }
}
