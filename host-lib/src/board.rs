//! A driver's view of a Tigon2: registers, SRAM through the window, and chip bring-up.
//!
//! The window shows all registers, the lowest 1 KB of SRAM, and a movable 2 KB view of the rest
//! (docs/tigon2-registers.md, section 2). This module keeps the view's base: it writes `WINDOW_BASE` only when an
//! access needs a different base. That is sound because a [`BoardWindow`] is the only user of its window
//! and its methods take `&mut self`. Users who share a window take turns, and forget the base after another one's turn.

use defs::tigon2::map::{
    WINDOW_LOW_SRAM, WINDOW_REGISTERS, WINDOW_VIEW, WINDOW_VIEW_BYTES, mailbox_low,
};
use defs::tigon2::regs::{
    CPU_B, CPU_PC, CPU_STATE, CpuState, HOST_CONTROL, HostControl, LOCAL_CONTROL, LocalControl,
    MISC_CONFIG, MiscConfig, REVISION_SHIFT, REVISION_TIGON2, WINDOW_BASE,
};
use smallvec::SmallVec;
use thiserror::Error;

use crate::window::{AnySystem, AnyWindow, FoundWord, PolledWord, System, Window, WindowWatch};

/// Bytes of SRAM that the window always shows.
const LOW_SRAM_BYTES: u32 = WINDOW_VIEW - WINDOW_LOW_SRAM;
/// Bytes of a word.
const WORD_BYTES: u32 = 4;

/// Bring-up of the chip failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ChipError {
    /// The revision is not that of a Tigon2.
    #[error("the chip reports revision {revision}, a Tigon2 reports {REVISION_TIGON2}")]
    Revision {
        /// Reported revision (15 when nothing answers on the bus).
        revision: u32,
    },
    /// A CPU does not halt.
    #[error("CPU {cpu:?} does not halt (state {state:#x})")]
    NotHalted {
        /// The CPU that does not halt.
        cpu: Cpu,
        /// State register of the CPU.
        state: u32,
    },
}

/// Polls of several words, mostly of few.
struct Polls {
    watches: SmallVec<[WindowWatch; 4]>,
    /// The view's base for each word; `None` for one that needs none.
    bases: SmallVec<[Option<u32>; 4]>,
    /// All words that need a view have the same.
    one_view: bool,
    /// The view before.
    before: Option<u32>,
}

impl Polls {
    /// The view once this word is as expected.
    fn view_after(&self, index: usize) -> Option<u32> {
        match self.one_view {
            true => self.before,
            false => self.bases[..=index].iter().copied().flatten().next_back(),
        }
    }
}

/// One of the chip's CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// The one that the host starts.
    A,
    /// The one that CPU A starts.
    B,
}

impl Cpu {
    /// Distance from CPU A's registers to those of this CPU, in bytes.
    const fn registers(self) -> u32 {
        match self {
            Self::A => 0,
            Self::B => CPU_B,
        }
    }
}

/// A board accessed through its window.
///
/// SRAM addresses are byte addresses of words. Their two low bits are ignored: the window has 32-bit
/// accesses only.
#[derive(Debug)]
pub struct BoardWindow {
    window: AnyWindow,
    /// The base of the 2 KB view, if it is known.
    view: Option<u32>,
}

impl BoardWindow {
    /// Takes over a window, which must have no other user from now on.
    pub const fn new(window: AnyWindow) -> Self {
        Self { window, view: None }
    }

    /// Another user of the window may have moved the view.
    pub const fn forget_view(&mut self) {
        self.view = None;
    }

    /// Returns the window.
    pub fn into_inner(self) -> AnyWindow {
        self.window
    }

    /// Reads the register at `offset`.
    pub async fn read_register(&mut self, offset: u32) -> u32 {
        self.window.read(WINDOW_REGISTERS + offset).await
    }

    /// Writes the register at `offset`.
    pub async fn write_register(&mut self, offset: u32, value: u32) {
        if offset == WINDOW_BASE {
            self.view = None;
        }
        self.window.write(WINDOW_REGISTERS + offset, value).await;
    }

    /// Reads the SRAM word at `address`.
    pub async fn read_sram(&mut self, address: u32) -> u32 {
        let place = self.locate(address).await;
        self.window.read(place.offset).await
    }

    /// Writes the SRAM word at `address`.
    pub async fn write_sram(&mut self, address: u32, value: u32) {
        let place = self.locate(address).await;
        self.window.write(place.offset, value).await;
    }

    /// Writes `values` to the SRAM words from `address`, in one PIO burst per position of the view.
    pub async fn write_sram_burst(&mut self, address: u32, values: &[u32]) {
        let mut address = address;
        let mut rest = values;
        while !rest.is_empty() {
            let place = self.locate(address).await;
            let (now, later) = rest.split_at(rest.len().min(place.words_left));
            self.window.write_burst(place.offset, now).await;
            address = address.wrapping_add(place.words_left as u32 * WORD_BYTES);
            rest = later;
        }
    }

    /// Reads the SRAM words from `address` into `values`, word by word: the bus has no burst reads.
    pub async fn read_sram_block(&mut self, address: u32, values: &mut [u32]) {
        let mut address = address;
        for value in values {
            *value = self.read_sram(address).await;
            address = address.wrapping_add(WORD_BYTES);
        }
    }

    /// Polls the SRAM word at `address` until `(value & mask) == expected`; returns the value.
    pub async fn poll_sram(
        &mut self,
        address: u32,
        mask: u32,
        expected: u32,
        why: &'static str,
    ) -> u32 {
        let place = self.locate(address).await;
        self.window
            .poll_until(place.offset, mask, expected, why)
            .await
    }

    /// Polls the SRAM words at `addresses` in turn until one of them has `(value & mask) == expected`;
    /// returns its index and value. `None` for an empty list. If the words need several positions of the
    /// view, each move of the view costs a write.
    pub async fn poll_sram_any(
        &mut self,
        addresses: &[u32],
        mask: u32,
        expected: u32,
        why: &'static str,
    ) -> Option<(usize, u32)> {
        let polls = self.begin_polls(addresses, mask, expected).await;
        let (index, value) = self.window.poll_any(&polls.watches, why).await?;
        self.view = polls.view_after(index);
        Some((index, value))
    }

    /// [`poll_sram_any`](Self::poll_sram_any) for `timeout_ns` at most; `None` if no word is as expected in time.
    pub async fn poll_sram_any_within(
        &mut self,
        system: &mut AnySystem,
        addresses: &[u32],
        (mask, expected): (u32, u32),
        timeout_ns: u64,
        why: &'static str,
    ) -> Option<(usize, u32)> {
        let polls = self.begin_polls(addresses, mask, expected).await;
        let words = polls.watches.iter().copied().map(PolledWord::Window);
        let words: Vec<_> = words.collect();
        let found = system.poll_words(&words, Some(timeout_ns), why).await;
        let FoundWord { index, value } = found.ok()?;
        self.view = polls.view_after(index);
        Some((index, value))
    }

    /// Begins to poll words. Until the end the window's base is unknown, also if the wait is dropped.
    async fn begin_polls(&mut self, addresses: &[u32], mask: u32, expected: u32) -> Polls {
        let bases: SmallVec<[_; 4]> = addresses.iter().map(|&address| base(address)).collect();
        let mut used = bases.iter().copied().flatten();
        let first = used.next();
        let one_view = used.all(|base| Some(base) == first);
        let mut view = first.filter(|_| one_view);
        if let Some(base) = view {
            self.move_view(base).await;
        }
        let mut watches = SmallVec::with_capacity(addresses.len());
        for (&address, &base) in addresses.iter().zip(&bases) {
            let moves = base.filter(|_| base != view);
            view = base.or(view);
            watches.push(WindowWatch {
                before: moves.map(|base| (WINDOW_REGISTERS + WINDOW_BASE, base)),
                offset: place(address).offset,
                mask,
                expected,
            });
        }
        Polls {
            watches,
            bases,
            one_view,
            before: std::mem::take(&mut self.view),
        }
    }

    /// Resets the chip; both CPUs are halted then (docs/tigon2-driver.md, section 8, steps 1 and 2). The window
    /// then preserves values: a host word equals the NIC's big-endian word.
    ///
    /// # Errors
    /// [`ChipError`] when the chip is no Tigon2 or does not halt.
    pub async fn reset(&mut self) -> Result<(), ChipError> {
        self.reset_chip().await?;
        self.halt(Cpu::A).await?;
        self.halt(Cpu::B).await?;
        self.set_up_memory().await;
        Ok(())
    }

    /// Resets the chip and sets the byte order (section 8, step 1).
    pub(crate) async fn reset_chip(&mut self) -> Result<(), ChipError> {
        self.view = None;
        self.write_register(HOST_CONTROL, in_any_byte_order(HostControl::RESET))
            .await;
        // Reading back ensures that the posted write has reached the chip.
        self.read_register(HOST_CONTROL).await;
        self.write_register(
            HOST_CONTROL,
            in_any_byte_order(HostControl::WORD_SWAP | HostControl::CLEAR_INTERRUPT),
        )
        .await;
        let revision = self.read_register(HOST_CONTROL).await >> REVISION_SHIFT;
        if revision != REVISION_TIGON2 {
            return Err(ChipError::Revision { revision });
        }
        Ok(())
    }

    /// Configures the chip's memory (section 8, step 2).
    pub(crate) async fn set_up_memory(&mut self) {
        self.write_register(LOCAL_CONTROL, LocalControl::SRAM_BANK_512K.bits())
            .await;
        self.write_register(MISC_CONFIG, MiscConfig::SYNCHRONOUS_SRAM.bits())
            .await;
    }

    /// Writes the low word of a mailbox; this raises an event on the NIC.
    pub async fn write_mailbox(&mut self, index: u32, value: u32) {
        self.write_sram(mailbox_low(index), value).await;
    }

    /// Starts CPU A at `entry`. CPU A starts CPU B.
    pub async fn start_cpu_a(&mut self, entry: u32) {
        self.write_register(CPU_PC, entry).await;
        self.release_cpu_a().await;
    }

    /// Lets CPU A run from its current program counter.
    pub(crate) async fn release_cpu_a(&mut self) {
        let state = CpuState::from_bits_retain(self.read_register(CPU_STATE).await);
        let running = state.difference(CpuState::HALT | CpuState::STEP);
        self.write_register(CPU_STATE, running.bits()).await;
    }

    /// The program counter of CPU A if it is halted; firmware never halts it on purpose.
    pub async fn halted_at(&mut self) -> Option<u32> {
        let state = CpuState::from_bits_retain(self.read_register(CPU_STATE).await);
        if state.contains(CpuState::HALT) {
            Some(self.read_register(CPU_PC).await)
        } else {
            None
        }
    }

    /// Halts a CPU and verifies it.
    pub(crate) async fn halt(&mut self, cpu: Cpu) -> Result<(), ChipError> {
        let register = CPU_STATE + cpu.registers();
        let state = self.read_register(register).await;
        self.write_register(register, state | CpuState::HALT.bits())
            .await;
        let state = self.read_register(register).await;
        if CpuState::from_bits_retain(state).contains(CpuState::HALT) {
            Ok(())
        } else {
            Err(ChipError::NotHalted { cpu, state })
        }
    }

    /// Finds the window offset of an SRAM address; moves the view if necessary.
    async fn locate(&mut self, address: u32) -> WindowSpan {
        if let Some(base) = base(address) {
            self.move_view(base).await;
        }
        place(address)
    }

    async fn move_view(&mut self, base: u32) {
        if self.view != Some(base) {
            // If this future is dropped early, the base is unknown, never wrong.
            self.view = None;
            self.write_register(WINDOW_BASE, base).await;
            self.view = Some(base);
        }
    }
}

/// The view base that shows the SRAM word at `address`; `None` if the word is always visible.
const fn base(address: u32) -> Option<u32> {
    if address < LOW_SRAM_BYTES {
        None
    } else {
        Some(address - address % WINDOW_VIEW_BYTES)
    }
}

/// Window position of the SRAM word at `address`, with the view at its base.
const fn place(address: u32) -> WindowSpan {
    let address = address & !(WORD_BYTES - 1);
    if address < LOW_SRAM_BYTES {
        WindowSpan::new(WINDOW_LOW_SRAM, address, LOW_SRAM_BYTES)
    } else {
        WindowSpan::new(WINDOW_VIEW, address % WINDOW_VIEW_BYTES, WINDOW_VIEW_BYTES)
    }
}

/// Position of an SRAM word in the window.
struct WindowSpan {
    offset: u32,
    /// Words from here to the end of this part of the window.
    words_left: usize,
}

impl WindowSpan {
    const fn new(start: u32, within: u32, part_bytes: u32) -> Self {
        Self {
            offset: start + within,
            words_left: ((part_bytes - within) / WORD_BYTES) as usize,
        }
    }
}

/// The chip may have either byte order at this time, so its control bits go into both outer bytes.
const fn in_any_byte_order(bits: HostControl) -> u32 {
    bits.bits() | bits.bits().swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at_once::block_on;
    use crate::fake::Fake;
    use defs::tigon2::regs::TIMER;

    fn check_base_writes(addresses: &[u32], expected: &[u32]) {
        let fake = Fake::new();
        let mut board = BoardWindow::new(fake.clone().into());
        block_on(async {
            for &address in addresses {
                board.write_sram(address, address).await;
                assert_eq!(board.read_sram(address).await, address);
            }
        });
        let machine = fake.lock();
        let bases: Vec<u32> = machine
            .writes
            .iter()
            .filter(|(offset, _)| *offset == WINDOW_BASE)
            .map(|(_, words)| words[0])
            .collect();
        assert_eq!(bases, expected);
        for &address in addresses {
            assert_eq!(machine.word(address), address);
        }
    }

    #[test]
    fn the_base_is_written_only_when_it_changes() {
        check_base_writes(&[0x100, 0x3FC], &[]);
        check_base_writes(&[0x400, 0x7FC, 0x500], &[0]);
        check_base_writes(&[0x4000, 0x47FC, 0x200, 0x4400], &[0x4000]);
        check_base_writes(&[0x47FC, 0x4800, 0x47FC], &[0x4000, 0x4800, 0x4000]);
        check_base_writes(&[0x7F_FFFC], &[0x7F_F800]);
    }

    #[test]
    fn a_foreign_write_to_the_base_is_not_forgotten() {
        let fake = Fake::new();
        let mut board = BoardWindow::new(fake.clone().into());
        block_on(async {
            board.write_sram(0x4000, 1).await;
            board.write_register(WINDOW_BASE, 0x8000).await;
            board.write_sram(0x4004, 2).await;
        });
        assert_eq!(fake.lock().word(0x4004), 2);
        assert_eq!(fake.lock().base_writes(), 3);
    }

    #[test]
    fn bursts_are_split_where_the_window_ends() {
        let fake = Fake::new();
        let mut board = BoardWindow::new(fake.clone().into());
        let words: Vec<u32> = (1..=1030).collect();
        let mut back = vec![0; words.len()];
        block_on(async {
            board.write_sram_burst(0x3F8, &words).await;
            board.read_sram_block(0x3F8, &mut back).await;
            board.write_sram_burst(0x9000, &[]).await;
        });
        assert_eq!(back, words);
        let bursts: Vec<usize> = fake
            .lock()
            .writes
            .iter()
            .filter(|(offset, _)| *offset != WINDOW_BASE)
            .map(|(_, words)| words.len())
            .collect();
        assert_eq!(bursts, [2, 256, 512, 260]);
    }

    /// Polls words of which one, and later another one, is 1; checks the number of writes to the base.
    fn check_polled(addresses: &[u32], found: usize, bases: usize) {
        let fake = Fake::new();
        let mut board = BoardWindow::new(fake.clone().into());
        block_on(async {
            board.write_sram(0x8000, 1).await;
            let before = fake.lock().base_writes();
            fake.lock().sram.insert(addresses[found], 1);
            let result = board.poll_sram_any(addresses, 1, 1, "a word").await;
            assert_eq!(result, Some((found, 1)));
            assert_eq!(fake.lock().base_writes() - before, bases);
            // Whatever happened to the view, the next access finds its word.
            for &address in addresses {
                board.write_sram(address, address).await;
                assert_eq!(fake.lock().word(address), address);
            }
            assert_eq!(board.read_sram(0x8000).await, 1);
        });
    }

    #[test]
    fn several_words_are_polled_behind_any_view() {
        check_polled(&[0x200, 0x300], 1, 0);
        check_polled(&[0x8004, 0x200], 0, 0);
        check_polled(&[0x4000, 0x200, 0x47FC], 2, 1);
        check_polled(&[0x4000, 0x4800, 0x4804, 0x4004], 0, 1);
        check_polled(&[0x4000, 0x4800, 0x4804, 0x4004], 2, 2);
        check_polled(&[0x4000, 0x4800, 0x4804, 0x4004], 3, 3);
        check_polled(&[0x200, 0x4000, 0x4800], 0, 0);
        check_polled(&[0x200, 0x4000, 0x4800], 2, 2);
        let mut board = BoardWindow::new(Fake::new().into());
        assert_eq!(block_on(board.poll_sram_any(&[], 1, 1, "nothing")), None);
    }

    #[test]
    fn a_reset_chip_has_both_cpus_halted() {
        let fake = Fake::new();
        let mut board = BoardWindow::new(fake.clone().into());
        block_on(async {
            board.write_sram(0x4000, 1).await;
            assert_eq!(board.halted_at().await, None);
            board.reset().await.unwrap();
            assert_eq!(board.halted_at().await, Some(0));
            board.start_cpu_a(0x4000).await;
            assert_eq!(board.halted_at().await, None);
            board.write_sram(0x4000, 2).await;
            board.write_register(TIMER, 7).await;
            assert_eq!(board.read_register(TIMER).await, 7);
        });
        let machine = fake.lock();
        let control: Vec<u32> = machine
            .writes
            .iter()
            .filter(|(offset, _)| *offset == HOST_CONTROL)
            .map(|(_, words)| words[0])
            .collect();
        assert_eq!(control, [0x0800_0008, 0x2200_0022]);
        assert_eq!(machine.registers[&(CPU_STATE + CPU_B)], 1 << 16);
        assert_eq!(machine.registers[&CPU_PC], 0x4000);
        assert_eq!(machine.registers[&LOCAL_CONTROL], 0x200);
        assert_eq!(machine.registers[&MISC_CONFIG], 0x10_0000);
        assert_eq!(machine.base_writes(), 2, "a reset forgets the view's base");
    }

    #[test]
    fn another_chip_is_refused() {
        let fake = Fake::new();
        fake.lock().registers.insert(HOST_CONTROL, 0xFFFF_FFFF);
        let result = block_on(BoardWindow::new(fake.into()).reset());
        assert_eq!(result, Err(ChipError::Revision { revision: 15 }));
    }
}
