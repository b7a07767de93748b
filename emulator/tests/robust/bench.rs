//! A node for drivers and tests.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use defs::tigon2::banks::private_of;
use defs::tigon2::map::{WINDOW_LOW_SRAM, WINDOW_VIEW};
use defs::tigon2::regs::{
    ASSIST_STATE, AssistState, HOST_CONTROL, HostControl, MAC_RX_STATE, MAC_TX_STATE, MacRxState,
    MacTxState, RX_BUFFER_BASE, RX_BUFFER_CONSUMER, RX_BUFFER_PRODUCER, SCRATCH_ADDRESS,
    SCRATCH_DATA, TX_BUFFER_BASE, TX_BUFFER_CONSUMER, TX_BUFFER_PRODUCER, WINDOW_BASE,
};
use emulator::board::Board;
use emulator::cpu::mips::asm::assemble;
use emulator::observe::event::TraceKind;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::cpus::CpuPlan;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::sram_banks::BankPlan;
use emulator::tigon2::timing::Timing;

/// Address of code in SRAM.
pub const CODE: u32 = 0x4000;
pub const TX_BUFFER: u32 = 0x1C_0000;
pub const RX_BUFFER: u32 = 0x1D_0000;

/// Time limit of a case.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time after a reset at which nothing may be in progress: the longest frame has ended.
const CALM: SimTime = SimTime::from_us(1000);

/// Runs `case` in its own thread; fails if it does not end.
pub fn finishes(case: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let thread = thread::spawn(move || {
        case();
        // The receiver is gone after the time limit.
        let _ = done.send(());
    });
    match wait.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Timeout) => panic!("the case hangs"),
        _ => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
    }
}

/// Assembles a program to words.
pub fn words(source: &str) -> Vec<u32> {
    let program = assemble(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    program.words().map(|(_, word)| word).collect()
}

/// Options of a `tigon-n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardOptions {
    pub banks: BankPlan,
    pub semaphores: u32,
    pub bit_instructions: bool,
}

impl BoardOptions {
    /// The options of the chip.
    pub const CHIP: Self = Self {
        banks: BankPlan::CHIP,
        semaphores: 1,
        bit_instructions: false,
    };

    /// So many banks, several semaphores, and the bit instructions.
    pub fn all(banks: u32, interleave_bytes: u32) -> Self {
        Self {
            banks: BankPlan::new(banks, interleave_bytes).unwrap(),
            semaphores: 3,
            bit_instructions: true,
        }
    }
}

pub struct Bench(pub Node);

impl Bench {
    /// A board after power-on, with a cable and host memory.
    pub fn bare(sram: SramSize) -> Self {
        Self::bare_with(sram, Timing::built_in("tigon2-88mhz").unwrap())
    }

    fn bare_with(sram: SramSize, timing: Timing) -> Self {
        let mut board = Tigon2::new(sram, timing);
        let link = board.fabric.link;
        board.plug_in(&link);
        let mut bench = Self(Node::new(0, board, &timing.host, 1));
        if sram == SramSize::K512 {
            // Whatever happens on these boards is looked at for races too.
            bench.0.inspect_mut().look_for_races();
        }
        bench
            .0
            .with_board::<Tigon2, _>(|_, ctx| ctx.with_memory(|memory| memory.allocate(0x8000)));
        bench
    }

    /// Like [`bare`](Self::bare), with MAC and DMA assist enabled.
    pub fn new(sram: SramSize) -> Self {
        Self::with_cpus(sram, 2)
    }

    /// Like [`new`](Self::new), with so many CPUs: the chip, or a `tigon-n`.
    pub fn with_cpus(sram: SramSize, cpus: usize) -> Self {
        Self::with_options(sram, cpus, BoardOptions::CHIP)
    }

    /// Like [`with_cpus`](Self::with_cpus), with these options: the chip, if it has so many CPUs and no more than it has.
    pub fn with_options(sram: SramSize, cpus: usize, options: BoardOptions) -> Self {
        let timing = Timing::built_in("tigon-n-88mhz").unwrap();
        let cpus = match (cpus, options) {
            (2, BoardOptions::CHIP) => CpuPlan::CHIP,
            _ => CpuPlan::any_number(cpus as u32).unwrap(),
        };
        let timing = Timing {
            cpus,
            sram_banks: options.banks,
            semaphores: options.semaphores,
            bit_instructions: options.bit_instructions,
            ..timing
        };
        let mut bench = Self::bare_with(sram, timing);
        for (register, value) in [
            (TX_BUFFER_BASE, TX_BUFFER),
            (TX_BUFFER_PRODUCER, TX_BUFFER),
            (TX_BUFFER_CONSUMER, TX_BUFFER),
            (RX_BUFFER_BASE, RX_BUFFER),
            (RX_BUFFER_PRODUCER, RX_BUFFER),
            (RX_BUFFER_CONSUMER, RX_BUFFER),
            (MAC_TX_STATE, MacTxState::ENABLE.bits()),
            (
                MAC_RX_STATE,
                (MacRxState::ENABLE | MacRxState::PROMISCUOUS).bits(),
            ),
            (ASSIST_STATE, AssistState::ENABLE.bits()),
        ] {
            bench.write(register, value);
        }
        bench
    }

    /// Whether the board has recorded that a CPU used the debug registers of one that was ahead of it: the one thing of
    /// which no order is promised (ARCHITECTURE.md, "Compromises"). Needs a trace that is kept; takes it.
    pub fn was_seen_ahead(&mut self) -> bool {
        let mut events = self.0.trace.take().into_iter();
        events.any(|event| match event.kind {
            TraceKind::GuestMistake { text } => text.contains("ahead with code in its scratchpad"),
            _ => false,
        })
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        self.0
            .with_board::<Tigon2, _>(|board, ctx| board.window_write(offset, value, ctx));
    }

    pub fn read(&mut self, offset: u32) -> u32 {
        self.0
            .with_board::<Tigon2, _>(|board, ctx| board.window_read(offset, ctx))
    }

    pub fn run(&mut self, span: SimTime) {
        let end = self.0.now() + span;
        self.0.run_until(end);
        assert_eq!(self.0.now(), end);
        self.0.take_departures();
    }

    /// Writes words to SRAM through the window.
    pub fn load(&mut self, address: u32, words: &[u32]) {
        for (index, word) in (0..).zip(words) {
            let address = address.wrapping_add(4 * index);
            self.write(WINDOW_BASE, address);
            self.write(WINDOW_VIEW + address % 0x800, *word);
        }
    }

    /// Writes words to a CPU's scratchpad. `SCRATCH_ADDRESS` does not point there any more in the end: the CPU need
    /// not execute in turn.
    pub fn load_scratchpad(&mut self, cpu: usize, address: u32, words: &[u32]) {
        let registers = private_of(cpu);
        for (address, word) in (address..).step_by(4).zip(words) {
            self.write(registers + SCRATCH_ADDRESS, address);
            self.write(registers + SCRATCH_DATA, *word);
        }
        self.write(registers + SCRATCH_ADDRESS, 0);
    }

    /// Writes words to the host's memory, in the host's byte order.
    pub fn write_memory(&mut self, physical: u32, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let physical = u64::from(physical);
        self.0.with_board::<Tigon2, _>(|_, ctx| {
            ctx.with_memory(|memory| memory.write_physical(physical, &bytes).unwrap());
        });
    }

    pub fn read_memory(&mut self, physical: u32, words: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * words];
        let physical = u64::from(physical);
        self.0.with_board::<Tigon2, _>(|_, ctx| {
            ctx.with_memory(|memory| memory.read_physical(physical, &mut bytes).unwrap());
        });
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        bytes.chunks_exact(4).map(word).collect()
    }

    pub fn start(&mut self, cpu: usize, pc: u32) {
        self.0
            .with_board::<Tigon2, _>(|board, ctx| board.start_core(cpu, pc, ctx));
    }

    /// Checks that a reset recovers the board from any state: nothing is in progress, and CPU A runs a
    /// program.
    pub fn recovers(&mut self) {
        self.0.board_mut::<Tigon2>().instruction_limit = u64::MAX;
        self.write(HOST_CONTROL, HostControl::RESET.bits());
        self.run(CALM);
        assert_eq!(self.0.pending_events(), 0, "something never ends");
        let program = "li $t0, 0x600D\n sw $t0, 0x200($zero)\n here: b here\n nop";
        self.write(WINDOW_LOW_SRAM + 0x200, 0);
        self.load(CODE, &words(program));
        self.start(0, CODE);
        self.run(SimTime::from_us(5));
        assert_eq!(self.read(WINDOW_LOW_SRAM + 0x200), 0x600D);
    }
}
