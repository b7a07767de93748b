//! A board takes whatever hosts, firmware and wires do to it: time goes on, nothing panics, and after
//! a reset it works as ever.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::panic::resume_unwind;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use defs::tigon2::map::{
    REGISTER_BASE, RX_BUFFER_LIMIT, SCRATCHPAD_BASE, WINDOW_BYTES, WINDOW_LOW_SRAM, WINDOW_VIEW,
};
use defs::tigon2::regs::{
    ASSIST_STATE, AssistState, CPU_B, HOST_CONTROL, HostControl, MAC_RX_STATE, MAC_TX_STATE,
    MacRxState, MacTxState, RX_BUFFER_BASE, RX_BUFFER_CONSUMER, RX_BUFFER_PRODUCER,
    SCRATCH_ADDRESS, SCRATCH_DATA, TX_BUFFER_BASE, TX_BUFFER_CONSUMER, TX_BUFFER_PRODUCER,
    WINDOW_BASE,
};
use emulator::cpu::mips::asm::assemble;
use emulator::sim::board::Board;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Profile;
use emulator::wire::frame::Frame;
use proptest::collection::vec;
use proptest::prelude::*;

/// Where code lies in SRAM.
const CODE: u32 = 0x4000;
const TX_BUFFER: u32 = 0x1C_0000;
const RX_BUFFER: u32 = 0x1D_0000;

/// A case that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `case` in a thread of its own; fails when it does not come back.
fn finishes(case: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let thread = thread::spawn(move || {
        case();
        // Nobody listens any more if the patience has ended.
        let _ = done.send(());
    });
    match wait.recv_timeout(PATIENCE) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("the case hangs"),
        _ => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
    }
}

/// A node as a driver and a test see it.
struct Bench(Node<Tigon2>);

impl Bench {
    /// A board whose MAC and DMA assist are on, with some host memory.
    fn new() -> Self {
        let timing = Profile::built_in("tigon2-88mhz").unwrap().timing;
        let board = Tigon2::new(SramSize::K512, timing);
        let mut bench = Self(Node::new(0, board, &timing.host, 1));
        bench
            .0
            .with_board(|_, ctx| ctx.with_memory(|memory| memory.allocate(0x8000)));
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

    fn write(&mut self, offset: u32, value: u32) {
        self.0
            .with_board(|board, ctx| board.window_write(offset, value, ctx));
    }

    fn read(&mut self, offset: u32) -> u32 {
        self.0
            .with_board(|board, ctx| board.window_read(offset, ctx))
    }

    fn run(&mut self, span: SimTime) {
        let end = self.0.now() + span;
        self.0.run_until(end);
        assert_eq!(self.0.now(), end);
        self.0.take_departures();
    }

    /// Writes words to SRAM through the window.
    fn load(&mut self, address: u32, words: &[u32]) {
        for (address, word) in (address..).step_by(4).zip(words) {
            self.write(WINDOW_BASE, address);
            self.write(WINDOW_VIEW + address % 0x800, *word);
        }
    }

    /// Writes words to the start of a CPU's scratchpad, which must be halted.
    fn load_scratchpad(&mut self, cpu: usize, words: &[u32]) {
        let registers = CPU_B * cpu as u32;
        for (address, word) in (SCRATCHPAD_BASE..).step_by(4).zip(words) {
            self.write(registers + SCRATCH_ADDRESS, address);
            self.write(registers + SCRATCH_DATA, *word);
        }
    }

    fn start(&mut self, cpu: usize, pc: u32) {
        self.0
            .with_board(|board, ctx| board.start_core(cpu, pc, ctx));
    }

    /// A reset brings the board back, whatever has happened: CPU A runs a program.
    fn recovers(&mut self) {
        self.0.board.instruction_limit = u64::MAX;
        self.write(HOST_CONTROL, HostControl::RESET.bits());
        let program = "li $t0, 0x600D\n sw $t0, 0x200($zero)\n here: b here\n nop";
        self.write(WINDOW_LOW_SRAM + 0x200, 0);
        self.load(CODE, &words(program));
        self.start(0, CODE);
        self.run(SimTime::from_us(5));
        assert_eq!(self.read(WINDOW_LOW_SRAM + 0x200), 0x600D);
    }
}

/// A program's instructions.
fn words(source: &str) -> Vec<u32> {
    let program = assemble(source).unwrap();
    program.words().map(|(_, word)| word).collect()
}

/// Any word, and often one that means something to a register.
fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        Just(0),
        Just(u32::MAX),
        (0..32u32).prop_map(|bit| 1 << bit),
        0..0x800u32,
        TX_BUFFER - 0x3000..RX_BUFFER_LIMIT + 0x100,
        0xFFFF_F000..=u32::MAX,
        (0x10_0000..0x11_0000u32),
    ]
}

/// What happens to the board.
#[derive(Debug, Clone)]
enum Act {
    Write(u32, u32),
    Read(u32),
    Run(SimTime),
    /// Bytes, and whether they are damaged.
    Frame(Vec<u8>, bool),
}

fn act() -> impl Strategy<Value = Act> {
    let offset = || prop_oneof![6 => 0..0x400u32, 2 => 0..WINDOW_BYTES, 1 => any::<u32>()];
    let frame = (vec(any::<u8>(), 0..100), any::<bool>(), 1..100usize);
    prop_oneof![
        10 => (offset(), value()).prop_map(|(offset, value)| Act::Write(offset, value)),
        3 => offset().prop_map(Act::Read),
        4 => (0..50_000u64).prop_map(|ns| Act::Run(SimTime::from_ns(ns))),
        1 => frame.prop_map(|(bytes, damaged, times)| Act::Frame(bytes.repeat(times), damaged)),
    ]
}

/// Both cores: wait for events, count them in SRAM, touch DMA and MAC registers.
const BUSY: &str = "
    lui $t0, 0xC000
    again: lw $t1, 0x60($t0)
    lw $t2, 0x210($zero)
    beq $t1, $zero, again
    addu $t2, $t2, $t1
    sw $t2, 0x210($zero)
    lw $t3, 0xE0($t0)
    sw $t3, 0xE4($t0)
    sw $t3, 0xE8($t0)
    lw $t3, 0x104($t0)
    b again
    sw $t3, 0x108($t0)";

fn perform(acts: Vec<Act>) {
    let mut bench = Bench::new();
    bench.load(CODE, &words(BUSY));
    bench.start(0, CODE);
    bench.start(1, CODE);
    // A core's program may be overwritten: it must not run on for ever without a limit.
    bench.0.board.instruction_limit = 1_000_000;
    for act in acts {
        match act {
            Act::Write(offset, value) => bench.write(offset, value),
            Act::Read(offset) => {
                bench.read(offset);
            }
            Act::Run(span) => bench.run(span),
            Act::Frame(bytes, damaged) => {
                let good = Frame::new(bytes.clone());
                let frame = Frame::with_fcs(bytes, good.fcs() ^ u32::from(damaged));
                let now = bench.0.now();
                bench.0.frame_arrives(frame, now);
            }
        }
    }
    bench.run(SimTime::from_us(200));
    bench.recovers();
}

/// A random instruction: anything, or one that reaches memory and registers through $1 to $4.
fn instruction() -> impl Strategy<Value = u32> {
    // lb, lh, lwl, lw, lbu, lhu, lwr, sb, sh, swl, sw, swr.
    let memory = prop::sample::select(vec![
        0x20u32, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x28, 0x29, 0x2A, 0x2B, 0x2E,
    ]);
    let offset = prop_oneof![0..0x100u32, any::<u16>().prop_map(u32::from)];
    let memory = (memory, 1..5u32, 0..32u32, offset);
    // beq, bne, blez, bgtz, and their likely forms, a few instructions back or forth.
    let branch = (
        prop::sample::select(vec![4u32, 5, 6, 7, 0x14, 0x15]),
        0..32u32,
        0..32u32,
        -20..20i16,
    );
    let arithmetic = (8..16u32, 0..32u32, 5..32u32, value());
    prop_oneof![
        2 => any::<u32>(),
        6 => memory.prop_map(|(op, base, rt, offset)| {
            op << 26 | base << 21 | rt << 16 | (offset * 4) & 0xFFFF
        }),
        2 => branch.prop_map(|(op, rs, rt, offset)| {
            op << 26 | rs << 21 | rt << 16 | u32::from(offset.cast_unsigned())
        }),
        3 => arithmetic.prop_map(|(op, rs, rt, value)| {
            op << 26 | rs << 21 | rt << 16 | value & 0xFFFF
        }),
    ]
}

/// Code that knows where everything is, then does anything, over and over.
fn program(body: &[u32]) -> Vec<u32> {
    let pointers = format!(
        "li $1, {REGISTER_BASE:#x}\n li $2, {TX_BUFFER:#x}\n li $3, {SCRATCHPAD_BASE:#x}\n li $4, 0x4000\n"
    );
    let mut code = words(&pointers);
    code.extend(body);
    // Back to the start: beq $zero, $zero.
    let back = (code.len() as u32 + 1).wrapping_neg();
    code.extend([0x1000_0000 | back & 0xFFFF, 0]);
    code
}

/// Executes random instructions on both cores, from SRAM or scratchpad; a core that stops goes on
/// elsewhere. Gives the hash of the trace.
fn execute(body: &[u32], scratchpad: bool, skip_idle: bool) -> u64 {
    const STEPS: u32 = 40;
    let mut bench = Bench::new();
    let code = program(body);
    bench.load(CODE, &code);
    for cpu in 0..2 {
        bench.load_scratchpad(cpu, &code);
    }
    bench.0.board.skip_idle = skip_idle;
    bench.0.board.instruction_limit = 100_000;
    let base = if scratchpad { SCRATCHPAD_BASE } else { CODE };
    for step in 0..STEPS {
        for cpu in 0..2 {
            let skipped = if step == 0 { 0 } else { step * 7 + cpu as u32 };
            bench.start(cpu, base + 4 * (skipped % code.len() as u32));
        }
        let now = bench.0.now();
        bench
            .0
            .frame_arrives(Frame::new(vec![step as u8; 60 + step as usize]), now);
        bench.run(SimTime::from_us(20));
    }
    let hash = bench.0.trace.hash();
    bench.recovers();
    hash
}

fn quickly(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(quickly(256))]

    #[test]
    fn any_accesses_of_the_host(acts in vec(act(), 1..120)) {
        finishes(move || perform(acts));
    }
}

proptest! {
    #![proptest_config(quickly(128))]

    #[test]
    fn any_instructions(body in vec(instruction(), 8..200), scratchpad: bool) {
        finishes(move || {
            execute(&body, scratchpad, true);
        });
    }

    #[test]
    fn any_instructions_stepped_or_skipped(body in vec(instruction(), 8..100), scratchpad: bool) {
        finishes(move || {
            let [stepped, skipped] = [false, true].map(|skip| execute(&body, scratchpad, skip));
            assert_eq!(stepped, skipped);
        });
    }
}
