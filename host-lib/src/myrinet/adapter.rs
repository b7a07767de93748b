//! A Myrinet adapter through its window: memory, registers, control, EEPROM (docs/lanai.md, section 3.11).

use defs::lanai::window::{RESET_OFF, RESET_ON, four, later};

use super::error::HostError;
use super::journal::{EntryKind, Journal};
use crate::address::MacAddress;
use crate::firmware::Firmware;
use crate::window::{AnySystem, AnyWindow, System, VirtualAddress, Window};

/// The signal of the LANai to the host, in ISR and EIMR.
pub const HOST_SIG: u32 = 1 << 30;

/// Words written in one PIO burst.
const BURST_WORDS: usize = 1024;
/// Longest pause between two looks at a word.
const LONGEST_PAUSE_NS: u64 = 20_000;

/// Generation of an adapter's chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChipGeneration {
    /// LANai 4.
    L4,
    /// LANai 7.
    L7,
    /// LANai 9.
    L9,
}

/// A special register that the host uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialRegister {
    /// Interrupt status.
    Isr,
    /// Mask of the host's interrupt.
    Eimr,
    /// Send pointer.
    Smp,
}

/// A command of the control register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Begin the chip's reset.
    Reset,
    /// End the chip's reset.
    Release,
    /// Let the board interrupt the host.
    InterruptsOn,
    /// Do not let the board interrupt the host.
    InterruptsOff,
    /// Raise WAKE (LANai 4 only).
    Wake,
    /// Wake DMA channels, a bit for each (LANai 7 and 9 only).
    Channels(u32),
}

impl ChipGeneration {
    const fn register(self, register: SpecialRegister) -> u32 {
        let (first, offset) = match (self, register) {
            (Self::L4, SpecialRegister::Isr) => (four::REGISTERS, 0x28),
            (Self::L4, SpecialRegister::Eimr) => (four::REGISTERS, 0x2C),
            (Self::L4, SpecialRegister::Smp) => (four::REGISTERS, 0x50),
            (_, SpecialRegister::Isr) => (later::REGISTERS, 0x50),
            (_, SpecialRegister::Eimr) => (later::REGISTERS, 0x58),
            (_, SpecialRegister::Smp) => (later::REGISTERS, 0xF0),
        };
        first + offset
    }

    const fn control(self) -> u32 {
        match self {
            Self::L4 => four::CONTROL,
            Self::L7 | Self::L9 => later::CONTROL,
        }
    }

    const fn command(self, control: Control) -> u32 {
        let old = matches!(self, Self::L4);
        match control {
            Control::Reset => RESET_ON,
            Control::Release => RESET_OFF,
            Control::InterruptsOn if old => four::INTERRUPTS_ON,
            Control::InterruptsOff if old => four::INTERRUPTS_OFF,
            Control::Wake if old => four::WAKE,
            Control::InterruptsOn => later::INTERRUPTS_ON,
            Control::InterruptsOff => later::INTERRUPTS_OFF,
            Control::Channels(channels) if !old => (channels & 15) << 20,
            Control::Wake | Control::Channels(_) => 0,
        }
    }

    const fn eeprom(self) -> u32 {
        match self {
            Self::L4 => four::EEPROM,
            Self::L7 | Self::L9 => later::EEPROM,
        }
    }

    /// Window offset of a local address. Boards with a LANai 4 show all of a larger memory in the second view only.
    const fn memory(self, address: u32) -> u32 {
        match self {
            Self::L4 if address >= four::SRAM_BYTES => address.wrapping_add(four::LARGE_SRAM),
            _ => address,
        }
    }
}

/// An adapter, and the host that drives it.
#[derive(Debug)]
pub struct Adapter {
    window: AnyWindow,
    /// The host.
    pub(super) system: AnySystem,
    chip: ChipGeneration,
    journal: Journal,
    sram_bytes: u32,
    address: MacAddress,
    /// Signals of the LANai that the host has seen and cleared.
    pub(super) signals: u64,
}

impl Adapter {
    /// Takes over the adapter, holds its chip in reset and reads its EEPROM.
    pub async fn take_over(
        window: AnyWindow,
        system: AnySystem,
        chip: ChipGeneration,
        journal: Journal,
    ) -> Self {
        let mut adapter = Self {
            window,
            system,
            chip,
            journal,
            sram_bytes: 0,
            address: MacAddress([0; 6]),
            signals: 0,
        };
        adapter.control(Control::Reset).await;
        adapter.control(Control::InterruptsOff).await;
        let mut words = [0; 4];
        for (word, offset) in words.iter_mut().zip((chip.eeprom()..).step_by(4)) {
            *word = adapter.window.read(offset).await;
        }
        let [_, version, low, sram_bytes] = words;
        adapter.address = MacAddress::from_words(version, low);
        adapter.sram_bytes = sram_bytes;
        let address = adapter.address;
        adapter.milestone(
            "eeprom",
            format!(
                "EEPROM: chip {:x}.{:x}, address {address}, {} KB of memory",
                version >> 24,
                version >> 16 & 0xFF,
                sram_bytes >> 10
            ),
        );
        adapter
    }

    /// The address in the EEPROM.
    #[must_use]
    pub const fn address(&self) -> MacAddress {
        self.address
    }

    /// The chip.
    #[must_use]
    pub const fn chip(&self) -> ChipGeneration {
        self.chip
    }

    /// Records a milestone.
    pub(super) fn milestone(&self, name: &'static str, text: String) {
        let time_ps = self.system.now_ps();
        self.journal.add(time_ps, EntryKind::Milestone(name), text);
    }

    /// Records a milestone unless it was reached before.
    pub(super) fn first_milestone(&self, name: &'static str, text: String) {
        if !self.journal.has(name) {
            self.milestone(name, text);
        }
    }

    /// Records a remark.
    pub(super) fn remark(&self, text: String) {
        self.journal
            .add(self.system.now_ps(), EntryKind::Remark, text);
    }

    /// Records a result of the control program.
    pub(super) fn value(&self, name: impl Into<String>, value: i64) {
        self.journal.value(name.into(), value);
    }

    /// Reads a special register.
    pub(super) async fn register(&mut self, register: SpecialRegister) -> u32 {
        self.window.read(self.chip.register(register)).await
    }

    /// Writes a special register.
    pub(super) async fn set_register(&mut self, register: SpecialRegister, value: u32) {
        self.window.write(self.chip.register(register), value).await;
    }

    /// Gives a command to the control register.
    pub(super) async fn control(&mut self, control: Control) {
        let value = self.chip.command(control);
        self.window.write(self.chip.control(), value).await;
    }

    /// Sets the first block of a DMA channel (LANai 7 and 9).
    pub(super) async fn set_chain(&mut self, channel: u32, address: u32) {
        self.window
            .write(later::CHAINS + 4 * channel, address)
            .await;
    }

    /// The next block of a DMA channel (LANai 7 and 9).
    pub(super) async fn chain(&mut self, channel: u32) -> u32 {
        self.window.read(later::CHAINS + 4 * channel).await
    }

    /// Reads a word of local memory.
    pub(super) async fn word(&mut self, address: u32) -> u32 {
        self.window.read(self.chip.memory(address)).await
    }

    /// Writes a word of local memory.
    pub(super) async fn set_word(&mut self, address: u32, value: u32) {
        self.window.write(self.chip.memory(address), value).await;
    }

    /// Writes words of local memory.
    pub(super) async fn set_words(&mut self, address: u32, words: &[u32]) {
        let mut address = address;
        for words in words.chunks(BURST_WORDS) {
            let offset = self.chip.memory(address);
            self.window.write_burst(offset, words).await;
            address = address.wrapping_add(4 * words.len() as u32);
        }
    }

    /// Clears local memory and loads the image. The chip stays in reset.
    ///
    /// # Errors
    /// [`HostError::DoesNotFit`].
    pub async fn load(&mut self, image: &Firmware) -> Result<(), HostError> {
        for (address, bytes) in &image.segments {
            let end = u64::from(*address) + bytes.len() as u64;
            let sram_bytes = self.sram_bytes;
            if end > u64::from(sram_bytes) {
                return Err(HostError::DoesNotFit { end, sram_bytes });
            }
        }
        self.set_words(0, &vec![0; self.sram_bytes as usize / 4])
            .await;
        for (address, bytes) in &image.segments {
            let words: Vec<u32> = bytes.chunks(4).map(big_endian).collect();
            self.set_words(*address, &words).await;
        }
        let bytes: usize = image.segments.iter().map(|(_, bytes)| bytes.len()).sum();
        self.milestone("loaded", format!("image of {bytes} bytes loaded"));
        Ok(())
    }

    /// Masks the interrupt and releases the chip from its reset.
    pub(super) async fn release(&mut self) {
        self.set_register(SpecialRegister::Eimr, 0).await;
        self.control(Control::Release).await;
        self.milestone("released", "chip released from reset".into());
    }

    /// Lets the LANai's signal interrupt the host.
    pub(super) async fn enable_interrupt(&mut self) {
        self.set_register(SpecialRegister::Eimr, HOST_SIG).await;
        self.control(Control::InterruptsOn).await;
    }

    /// Clears the LANai's signal if it is set; returns whether it was.
    pub(super) async fn take_signal(&mut self) -> bool {
        let signalled = self.register(SpecialRegister::Isr).await & HOST_SIG != 0;
        if signalled {
            self.set_register(SpecialRegister::Isr, HOST_SIG).await;
            self.signals += 1;
        }
        signalled
    }

    /// Looks at a word of local memory until `condition` holds; returns the word. Clears signals meanwhile if
    /// `interrupts` says so.
    ///
    /// # Errors
    /// [`HostError::TimedOut`].
    pub(super) async fn wait_for(
        &mut self,
        address: u32,
        condition: impl Fn(u32) -> bool + Send,
        what: &'static str,
        timeout_us: u64,
        interrupts: bool,
    ) -> Result<u32, HostError> {
        let end_ps = self.system.now_ps() + timeout_us * 1_000_000;
        let mut pause_ns = 500;
        loop {
            let word = self.word(address).await;
            if condition(word) {
                return Ok(word);
            }
            if self.system.now_ps() >= end_ps {
                return Err(HostError::TimedOut { what, timeout_us });
            }
            if interrupts {
                self.take_signal().await;
            }
            self.system.sleep(pause_ns).await;
            pause_ns = (2 * pause_ns).min(LONGEST_PAUSE_NS);
        }
    }

    /// Host memory for DMA: virtual address, and the address on the bus.
    ///
    /// # Errors
    /// [`HostError::NoMemory`]: none is left, or not within 32 bits.
    pub(super) fn memory(&mut self, length_bytes: u64) -> Result<(VirtualAddress, u32), HostError> {
        let found = self.system.allocate_contiguous(length_bytes);
        let found = found.and_then(|(at, bus)| Some((at, u32::try_from(bus.0).ok()?)));
        found.ok_or(HostError::NoMemory { length_bytes })
    }
}

/// The big-endian word in at most four bytes; missing ones are 0.
pub(super) fn big_endian(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word.iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    u32::from_be_bytes(word)
}
