//! Registers behave alike for CPUs and the host (docs/tigon2-registers.md, section 2).
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use defs::tigon2::counters;
use defs::tigon2::map::{WINDOW_LOW_SRAM, WINDOW_VIEW};
use defs::tigon2::regs as r;
use defs::tigon2::regs::{CpuState, HostControl, MacRxState, MacTxState};
use emulator::board::Board;
use emulator::cpu::mips::asm;
use emulator::observe::event::TraceKind;
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Link;

const HALT: u32 = CpuState::HALT.bits();

struct Bench(Node);

impl Bench {
    fn new() -> Self {
        let timing = Timing::built_in("tigon2-88mhz").unwrap();
        let mut board = Tigon2::new(SramSize::M1, timing);
        board.plug_in(&Link {
            byte_time: timing.wire.byte_time,
            propagation: timing.wire.propagation,
        });
        let mut node = Node::new(0, board, &timing.host, 1);
        node.trace.keep(true);
        Self(node)
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.0
            .with_board::<Tigon2, _>(|board, ctx| board.window_write(offset, value, ctx));
    }

    fn read(&mut self, offset: u32) -> u32 {
        self.0
            .with_board::<Tigon2, _>(|board, ctx| board.window_read(offset, ctx))
    }

    fn run_us(&mut self, us: u64) {
        self.0.run_until(self.0.now() + SimTime::from_us(us));
    }

    /// Puts a program at an address of SRAM and starts a CPU there; $gp is the register file's address.
    fn start(&mut self, cpu: usize, address: u32, source: &str) {
        let text = format!(".org {address:#x}\nlui $gp, 0xC000\n{source}");
        for (address, word) in asm::assemble(&text).unwrap().words() {
            self.0
                .board_mut::<Tigon2>()
                .fabric
                .sram
                .set_word(address, word);
        }
        self.0
            .with_board::<Tigon2, _>(|board, ctx| board.start_core(cpu, address, ctx));
    }

    /// The mistakes that were logged: who made them, and what they are.
    fn mistakes(&mut self) -> Vec<(Initiator, String)> {
        let events = self.0.trace.take().into_iter();
        let mistakes = events.filter_map(|event| match event.kind {
            TraceKind::GuestMistake { text } => Some((event.initiator, text.to_string())),
            _ => None,
        });
        mistakes.collect()
    }
}

const LOOP: &str = "here: b here\n nop";

#[test]
fn a_write_to_the_pc_of_a_running_cpu_is_logged_whoever_makes_it() {
    let expected = "write of 0x244 while the CPU runs: no effect".to_owned();
    let mut bench = Bench::new();
    bench.start(1, 0x5000, LOOP);
    bench.write(r::CPU_B + r::CPU_PC, 0x6000);
    assert_eq!(bench.mistakes(), [(Initiator::Host, expected.clone())]);
    bench.start(0, 0x4000, &format!("sw $zero, 0x244($gp)\n {LOOP}"));
    bench.run_us(5);
    assert_eq!(bench.mistakes(), [(Initiator::Cpu(0), expected)]);
    let pc = bench.read(r::CPU_B + r::CPU_PC);
    assert!((0x5000..0x5010).contains(&pc), "B went to {pc:#x}");
}

#[test]
fn a_write_to_a_general_register_says_that_it_is_read_only() {
    let expected = "write of 0x2a0, which is read only: no effect".to_owned();
    let mut bench = Bench::new();
    bench.write(0x2A0, 7);
    assert_eq!(bench.mistakes(), [(Initiator::Host, expected.clone())]);
    bench.start(0, 0x4000, &format!("sw $gp, 0x2A0($gp)\n {LOOP}"));
    bench.run_us(5);
    assert_eq!(bench.mistakes(), [(Initiator::Cpu(0), expected)]);
    assert_eq!(bench.read(0x2A0), 0);
}

#[test]
fn a_cpu_can_reset_the_chip_as_the_host_can() {
    let mut bench = Bench::new();
    bench.write(r::MAC_ADDRESS_LOW, 0x1234);
    bench.start(1, 0x5000, LOOP);
    bench.start(
        0,
        0x4000,
        &format!("li $t0, 8\n sw $t0, 0x40($gp)\n li $t1, 1\n {LOOP}"),
    );
    bench.run_us(5);
    assert_eq!(bench.read(r::MAC_ADDRESS_LOW), 0);
    for cpu in [0, r::CPU_B] {
        assert_eq!(bench.read(cpu + r::CPU_STATE) & HALT, HALT);
    }
    assert_eq!(
        bench.0.board::<Tigon2>().cores[0].core.register(9),
        0,
        "A went on"
    );
}

#[test]
fn after_a_reset_the_timer_counts_from_zero() {
    let mut bench = Bench::new();
    bench.run_us(1_000);
    bench.write(r::TIMER_REFERENCE_A, 2_000);
    bench.write(r::HOST_CONTROL, HostControl::RESET.bits());
    assert_eq!(bench.read(r::TIMER), 0);
    assert_eq!(bench.read(r::TIMER_REFERENCE_A), 0);
    bench.run_us(7);
    assert_eq!(bench.read(r::TIMER), 7);
}

#[test]
fn a_reset_of_a_mac_side_is_a_pulse() {
    let mut bench = Bench::new();
    let state = |bits: u32, reset: u32| bits | reset;
    bench.write(
        r::MAC_TX_STATE,
        state(MacTxState::ENABLE.bits(), MacTxState::RESET.bits()),
    );
    assert_eq!(bench.read(r::MAC_TX_STATE), MacTxState::ENABLE.bits());
    // Losing the signal raises attentions; the reset ends them.
    let now = bench.0.now();
    bench
        .0
        .with_board::<Tigon2, _>(|board, ctx| board.schedule_carrier(false, now, ctx));
    bench.run_us(1);
    let attentions = MacRxState::ATTENTIONS.bits();
    assert_ne!(bench.read(r::MAC_RX_STATE) & attentions, 0);
    bench.write(
        r::MAC_RX_STATE,
        state(MacRxState::ENABLE.bits(), MacRxState::RESET.bits()),
    );
    assert_eq!(bench.read(r::MAC_RX_STATE), MacRxState::ENABLE.bits());
}

/// A receiver that takes every frame, and a frame of 300 bytes to it.
fn receiver() -> (Bench, Vec<u8>) {
    let mut bench = Bench::new();
    for (register, value) in [
        (r::TX_BUFFER_BASE, 0x13_3000),
        (r::RX_BUFFER_BASE, 0x17_6000),
        (r::RX_BUFFER_PRODUCER, 0x17_6000),
        (r::RX_BUFFER_CONSUMER, 0x17_6000),
        (
            r::MAC_RX_STATE,
            (MacRxState::ENABLE | MacRxState::PROMISCUOUS).bits(),
        ),
    ] {
        bench.write(register, value);
    }
    (bench, (0..300).map(|at| (2 * at) as u8).collect())
}

#[test]
fn a_reset_receiver_gives_up_the_frame_that_comes_in() {
    let (mut bench, bytes) = receiver();
    let state = bench.read(r::MAC_RX_STATE);
    let now = bench.0.now();
    bench.0.frame_arrives(Frame::new(bytes.clone()), now);
    bench.run_us(1);
    bench.write(r::MAC_RX_STATE, state | MacRxState::RESET.bits());
    bench.run_us(20);
    let producer = |bench: &mut Bench| bench.read(r::RX_DESCRIPTOR_PRODUCER) & 0xFF8;
    assert_eq!(producer(&mut bench), 0);
    let now = bench.0.now();
    bench.0.frame_arrives(Frame::new(bytes), now);
    bench.run_us(20);
    assert_eq!(producer(&mut bench), 8, "the next one is received");
}

#[test]
fn only_good_frames_are_counted_as_kept() {
    let (mut bench, bytes) = receiver();
    for damage in [0, 1] {
        let fcs = crc32fast::hash(&bytes) ^ damage;
        let now = bench.0.now();
        bench
            .0
            .frame_arrives(Frame::with_fcs(bytes.clone(), fcs), now);
        bench.run_us(20);
    }
    let counter = |bench: &mut Bench, at| bench.read(WINDOW_LOW_SRAM + at);
    assert_eq!(counter(&mut bench, counters::KEPT_UNICAST), 1);
    assert_eq!(counter(&mut bench, counters::CRC_ERRORS), 1);
    assert_eq!(
        bench.read(r::RX_DESCRIPTOR_PRODUCER) & 0xFF8,
        16,
        "both are stored"
    );
}

#[test]
fn window_data_is_the_word_at_the_base() {
    let mut bench = Bench::new();
    bench.write(r::WINDOW_BASE, 0x2_0804);
    assert_eq!(bench.read(r::WINDOW_BASE), 0x2_0804);
    bench.write(r::WINDOW_DATA, 0x600D);
    assert_eq!(bench.0.board::<Tigon2>().fabric.sram.word(0x2_0804), 0x600D);
    assert_eq!(bench.read(WINDOW_VIEW + 4), 0x600D);
    assert_eq!(bench.read(r::WINDOW_DATA), 0x600D);
    bench.write(WINDOW_VIEW + 8, 0xBEEF);
    assert_eq!(bench.0.board::<Tigon2>().fabric.sram.word(0x2_0808), 0xBEEF);
}
