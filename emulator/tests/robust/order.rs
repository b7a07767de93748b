//! The order of events does not depend on how far a core runs at a time: random programs on all cores,
//! which write to each other's code, memory and registers, give equal results in one run and cycle by
//! cycle.

use std::cell::Cell;

use super::bench::{Bench, BoardOptions, CODE, words};
use cases::cases;
use defs::tigon2::banks::{self, private_of};
use defs::tigon2::map::{REGISTER_BASE, SCRATCHPAD_BASE};
use defs::tigon2::regs::{
    CPU_B, CPU_PC, CPU_STATE, SCRATCH_ADDRESS, SCRATCH_DATA, SEMAPHORE_A, WINDOW_DATA,
};
use emulator::cpu::clock::CpuClock;
use emulator::cpu::mips::bus::Width;
use emulator::cpu::mips::isa::{self, Kind, Operand};
use emulator::observe::event::{Details, TraceEvent, TraceKind};
use emulator::observe::stream::{Observer, Stream};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Instructions of each program.
const LENGTH: usize = 24;
/// Address of a CPU's code outside of scratchpads: programs share lines of the instruction cache.
const fn program_of(cpu: usize) -> u32 {
    CODE + 4 * cpu as u32 * (LENGTH as u32 + 2)
}

/// Data of all.
const DATA: u32 = CODE + 0x400;
/// Duration of a run.
const SPAN_NS: u64 = 12_000;
pub(super) const SPAN: SimTime = SimTime::from_ns(SPAN_NS);
/// Less than a cycle: at most one instruction per core.
pub(super) const INSTANT: SimTime = SimTime::from_ns(8);

/// Programs and their initial registers.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// Programs of the CPUs, as instruction words.
    pub(super) programs: Vec<Vec<u32>>,
    pub(super) in_scratchpad: Vec<bool>,
    /// Whether `SCRATCH_ADDRESS` of each CPU points into its scratchpad from the start.
    pub(super) shown: Vec<bool>,
    pub(super) values: Vec<u32>,
    /// Host writes to the programs' memory: time, address, value.
    pub(super) patches: Vec<(u64, u32, u32)>,
    pub(super) options: BoardOptions,
}

/// All observable results of a run.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    cores: Vec<(Vec<u32>, u32, u64, CpuClock)>,
    memory: Vec<u32>,
    scratchpads: Vec<Vec<u32>>,
    trace: u64,
}

/// An instruction of a board with so many CPUs, and with the bit instructions if `has_bits`. $1 points to the programs, $2 to data, $3 to the scratchpad, $4 to
/// registers; $5 to $7 hold instructions; the others hold data.
fn instruction(cpus: usize, has_bits: bool) -> impl Strategy<Value = u32> {
    let rows = |wanted: fn(&isa::Row) -> bool| {
        let rows: Vec<_> = isa::ROWS.iter().filter(|row| wanted(row)).collect();
        prop::sample::select(rows)
    };
    let accesses =
        rows(|row| row.kind != Kind::Missing && matches!(row.operands, [.., Operand::Memory]));
    let branches = rows(|row| matches!(row.operands, [.., Operand::Branch]));
    let jumps = rows(|row| matches!(row.operands, [Operand::Jump]));
    let values = rows(|row| {
        matches!(row.operands, [Operand::Rd | Operand::RtOut, ..])
            && !matches!(row.kind, Kind::Missing | Kind::Jalr)
            && !row.kind.is_option()
            && !matches!(row.operands, [.., Operand::Memory])
    });
    let offset = || 0..(2 * LENGTH as u32 + 4);
    let access = (accesses, 1..4u32, 5..16u32, offset())
        .prop_map(|(row, base, rt, words)| row.bits | base << 21 | rt << 16 | (4 * words));
    let register = prop_oneof![
        4 => prop::sample::select(lock_and_further(cpus)),
        2 => Just(WINDOW_DATA),
        2 => prop::sample::select(vec![SCRATCH_DATA, SCRATCH_DATA + CPU_B]),
        1 => Just(SCRATCH_ADDRESS + CPU_B),
        4 => (0..0x100u32).prop_map(|word| 4 * word),
    ];
    let device = (any::<bool>(), 5..16u32, register).prop_map(|(store, rt, offset)| {
        let opcode = if store { 0x2B } else { 0x23 };
        opcode << 26 | 4 << 21 | rt << 16 | offset
    });
    let branch = (branches, 0..16u32, 0..16u32, -8..8i16).prop_map(|(row, rs, rt, words)| {
        let operands = rs << 21 | rt << 16 | u32::from(words.cast_unsigned());
        row.bits | operands & !row.mask
    });
    let jump = (jumps, offset()).prop_map(|(row, words)| row.bits | (CODE / 4 + words));
    let dispatch = (5..16u32).prop_map(|rt| joff() | 1 << 21 | rt << 16);
    let value =
        (values, any::<u32>(), 0..16u32, 0..16u32, 8..16u32).prop_map(|(row, bits, rs, rt, rd)| {
            let result_in_rt = matches!(row.operands, [Operand::RtOut, ..]);
            let rt = if result_in_rt { rd } else { rt };
            let operands = rs << 21 | rt << 16 | rd << 11 | bits & 0x7FF;
            row.bits | operands & !row.mask
        });
    // Mostly of the first bits of data, of code or of the scratchpad.
    let index = prop_oneof![2 => Just(0), 1 => 5..16u32];
    let bits = (any::<bool>(), 1..4u32, index, 8..16u32).prop_map(|(update, rs, rt, rd)| {
        let row = rs << 21 | rt << 16;
        row | if update { rd << 11 | 0x29 } else { 0x28 }
    });
    prop_oneof![
        2 * u32::from(has_bits) => bits,
        8 => access,
        1 => device,
        4 => branch,
        1 => jump,
        1 => dispatch,
        10 => value,
        1 => any::<u32>(),
    ]
}

fn joff() -> u32 {
    let row = isa::ROWS.iter().find(|row| row.kind == Kind::Joff);
    row.expect("the chip has it").bits
}

/// The semaphore as CPU A has it, and registers of further CPUs.
fn lock_and_further(cpus: usize) -> Vec<u32> {
    let of_cpu = |cpu| {
        let own = [SCRATCH_DATA, SCRATCH_ADDRESS, CPU_STATE, CPU_PC].map(|at| at + private_of(cpu));
        let shared = [banks::SEMAPHORE, banks::EVENT, banks::TIMER_REFERENCE];
        let further = banks::semaphore_of(1, cpu);
        shared
            .map(|at| at + banks::bank(cpu))
            .into_iter()
            .chain(own)
            .chain([further])
    };
    let mut registers: Vec<u32> = (banks::CHIP_CPUS..cpus).flat_map(of_cpu).collect();
    registers.push(SEMAPHORE_A);
    registers.extend((cpus != banks::CHIP_CPUS).then_some(banks::CPU_NUMBER));
    registers
}

/// A scene with two CPUs.
pub(super) fn scene() -> impl Strategy<Value = Scene> {
    scene_of(2, BoardOptions::CHIP)
}

/// A scene with so many CPUs, and these options.
pub(super) fn scene_of(cpus: usize, options: BoardOptions) -> impl Strategy<Value = Scene> {
    let instruction = move || instruction(cpus, options.bit_instructions);
    let program = move || vec(instruction(), LENGTH);
    let value = prop_oneof![any::<u32>(), 0..64u32, instruction()];
    let patch = (0..SPAN_NS, 0..(cpus * LENGTH) as u32, instruction());
    (
        vec(program(), cpus),
        prop_oneof![6 => Just(vec![false; cpus]), 1 => vec(any::<bool>(), cpus)],
        vec(any::<bool>(), cpus),
        vec(value, 16),
        vec(patch, 0..4),
    )
        .prop_map(
            move |(programs, in_scratchpad, shown, values, mut patches)| {
                patches.sort_by_key(|patch| patch.0);
                Scene {
                    programs,
                    in_scratchpad,
                    shown,
                    values,
                    patches,
                    options,
                }
            },
        )
}

/// An instruction of a loop that mostly accesses memory: $2 points to data in SRAM, $3 to the scratchpad with the code.
fn in_loop() -> impl Strategy<Value = u32> {
    let access = (
        prop::sample::select(vec![
            0x20u32, 0x21, 0x23, 0x24, 0x25, 0x28, 0x29, 0x2B, 0x2B,
        ]),
        prop_oneof![9 => Just(2u32), 1 => Just(3u32)],
        8..16u32,
        prop_oneof![1 => 0..4u32, 1 => 40..60u32],
    )
        .prop_map(|(opcode, base, rt, word)| opcode << 26 | base << 21 | rt << 16 | (4 * word));
    let value = (
        prop::sample::select(vec![0x21u32, 0x23, 0x24, 0x26, 0x2B]),
        0..16u32,
        8..16u32,
        8..16u32,
    )
        .prop_map(|(function, rs, rt, rd)| rs << 21 | rt << 16 | rd << 11 | function);
    // Conditional ones, some of which are likely.
    let branch = (
        prop::sample::select(vec![4u32, 5, 6, 7, 20, 21, 22]),
        8..16u32,
        8..16u32,
        -6..6i16,
    )
        .prop_map(|(opcode, rs, rt, words)| {
            let rt = if opcode & 2 == 0 { rt } else { 0 };
            opcode << 26 | rs << 21 | rt << 16 | u32::from(words.cast_unsigned())
        });
    prop_oneof![5 => access, 6 => value, 3 => branch]
}

/// Loops of so many CPUs in scratchpads, which exchange turns at almost each access.
pub(super) fn loops(cpus: usize) -> impl Strategy<Value = Scene> {
    let program = || vec(in_loop(), 6..20);
    let programs = prop_oneof![
        3 => vec(program(), cpus),
        1 => program().prop_map(move |program| vec![program; cpus]),
    ];
    (programs, vec(0..9u32, 16)).prop_map(move |(programs, values)| Scene {
        programs,
        in_scratchpad: vec![true; cpus],
        shown: vec![false; cpus],
        values,
        patches: Vec::new(),
        options: BoardOptions::CHIP,
    })
}

/// A program that repeats endlessly.
fn endless(program: &[u32]) -> Vec<u32> {
    let back = (program.len() as u32 + 1).wrapping_neg();
    let mut words = program.to_vec();
    words.extend([0x1000_0000 | back & 0xFFFF, 0]);
    words
}

pub(super) fn prepare(scene: &Scene) -> Bench {
    let mut bench = Bench::with_options(SramSize::K512, scene.programs.len(), scene.options);
    for (cpu, program) in scene.programs.iter().enumerate() {
        let words = endless(program);
        bench.load(program_of(cpu), &words);
        bench.load_scratchpad(cpu, SCRATCHPAD_BASE, &words);
        if scene.shown[cpu] {
            bench.write(SCRATCH_ADDRESS + private_of(cpu), SCRATCHPAD_BASE + 4);
        }
        let core = &mut bench.0.board_mut::<Tigon2>().cores[cpu].core;
        for (index, &value) in scene.values.iter().enumerate() {
            core.set_register(index, value);
        }
        for (index, pointer) in [CODE, DATA, SCRATCHPAD_BASE, REGISTER_BASE]
            .iter()
            .enumerate()
        {
            core.set_register(index + 1, *pointer);
        }
    }
    for (cpu, in_scratchpad) in scene.in_scratchpad.iter().enumerate() {
        let place = match in_scratchpad {
            true => SCRATCHPAD_BASE,
            false => program_of(cpu),
        };
        bench.start(cpu, place);
    }
    bench
}

/// Observer that requests all details and ignores them.
struct Everything;

impl Observer for Everything {
    fn details(&self) -> Details {
        Details::all()
    }

    fn event(&mut self, _: &TraceEvent) {}
}

/// Runs the scene; `slice` says how far at a time. `None` if its order is not promised.
fn run(scene: &Scene, skip_idle: bool, slice: impl FnMut() -> SimTime) -> Option<Outcome> {
    let mut bench = prepare(scene);
    bench.0.board_mut::<Tigon2>().skip_idle = skip_idle;
    bench.0.trace.keep(true);
    carry_on(scene, &mut bench, slice, |_| ());
    (!bench.was_seen_ahead()).then(|| outcome(&bench))
}

/// Runs the scene in one slice with an observer.
fn run_observed(scene: &Scene) -> Outcome {
    let mut bench = prepare(scene);
    let mut stream = Stream::default();
    stream.add(Box::new(Everything), [&mut bench.0.trace]);
    carry_on(scene, &mut bench, || SPAN, |_| ());
    outcome(&bench)
}

/// Runs a prepared scene; calls `watch` after each slice.
pub(super) fn carry_on(
    scene: &Scene,
    bench: &mut Bench,
    mut slice: impl FnMut() -> SimTime,
    mut watch: impl FnMut(&mut Node),
) {
    let node = &mut bench.0;
    let mut run_to = |node: &mut Node, end: SimTime| {
        while node.now() < end {
            let next = node.now() + slice();
            node.run_until(next.min(end));
            watch(node);
        }
    };
    let begin = node.now();
    for &(ns, word, value) in &scene.patches {
        run_to(node, begin + SimTime::from_ns(ns));
        node.board_mut::<Tigon2>()
            .fabric
            .sram
            .set_word(CODE + 4 * word, value);
    }
    run_to(node, begin + SPAN);
}

pub(super) fn outcome(bench: &Bench) -> Outcome {
    let board = bench.0.board::<Tigon2>();
    let words = |from: u32, count: u32| (from..from + 4 * count).step_by(4);
    let cores = board.cores.iter().map(|unit| {
        let core = &unit.core;
        let registers = core.registers().to_vec();
        (
            registers,
            core.pc(),
            core.instructions(),
            core.clock.clone(),
        )
    });
    let scratchpad = |cpu: usize| {
        let pad = &board.cores[cpu].private.scratchpad;
        let word = |at| pad.read(at, Width::Word);
        words(SCRATCHPAD_BASE, 0x100).map(word).collect()
    };
    Outcome {
        cores: cores.collect(),
        memory: words(CODE, 0x200)
            .map(|at| board.fabric.sram.word(at))
            .collect(),
        scratchpads: (0..board.cores.len()).map(scratchpad).collect(),
        trace: bench.0.trace.hash(),
    }
}

/// Whether the order of a scene is promised.
pub(super) fn is_promised(scene: &Scene) -> bool {
    run(scene, true, || SPAN).is_some()
}

/// Holds a scene's run against others of it. Tells whether its order is promised.
pub(super) fn check(scene: &Scene, slices_ns: &[u64]) -> bool {
    let Some(whole) = run(scene, true, || SPAN) else {
        return false;
    };
    let stepped = run(scene, false, || INSTANT);
    assert_eq!(
        Some(&whole),
        stepped.as_ref(),
        "in one run, and cycle by cycle"
    );
    let mut slices = slices_ns.iter().cycle();
    let sliced = run(scene, true, || SimTime::from_ns(*slices.next().unwrap()));
    assert_eq!(Some(&whole), sliced.as_ref(), "in one run, and in slices");
    let observed = run_observed(scene);
    assert_eq!(whole, observed, "with details and without");
    true
}

/// CPU A counts in its scratchpad, with code in SRAM that CPU B rewrites all the time: however often A
/// rolls back, it counts each round once.
#[test]
fn what_was_ahead_leaves_nothing_in_the_scratchpad() {
    let count = words("lw $t0, 0($v1)\n addiu $t0, $t0, 1\n nop\n sw $t0, 0($v1)");
    let mut values = vec![0; 16];
    values[5] = count[1];
    let scene = Scene {
        programs: vec![count, words("nop\n nop\n sw $a1, 4($at)\n nop")],
        in_scratchpad: vec![false; 2],
        shown: vec![false; 2],
        values,
        patches: Vec::new(),
        options: BoardOptions::CHIP,
    };
    assert!(check(&scene, &[100, 7, 1]));
}

/// Both CPUs execute code in their scratchpads; CPU B writes `SCRATCH_DATA` of CPU A and jumps to code in SRAM. A executes
/// in turn from the start, since `SCRATCH_ADDRESS` points into its scratchpad.
#[test]
fn the_debug_registers_of_a_cpu_with_code_in_its_scratchpad() {
    let load = words("lb $a1, 0($at)")[0];
    let mut a = words(
        "lb $a1, 0($at)\n .word 0x4000\n .word 0x4000\n lb $a1, 0($v1)\n beq $zero, $at, next\n next: lb $t3, 100($v1)\n .word 0x29000a",
    );
    a.resize(LENGTH, load);
    let mut b = vec![0x4000, 0x0800_1000, 0xAC8A_0158];
    b.resize(13, 0x8025_0000);
    b.extend([
        0x0420_FFFF,
        0x0007_5543,
        0x004E_5827,
        0x05F1_0006,
        0x3C0E_7064,
        0x29CA_5593,
        0x9068_0090,
        0x8026_003C,
        0x5007_0000,
        0x016F_7825,
        0x0087_4027,
    ]);
    let scene = Scene {
        programs: vec![a, b],
        in_scratchpad: vec![true; 2],
        shown: vec![true; 2],
        values: vec![
            413_204_473,
            18,
            28_006_433,
            423_690_234,
            45,
            13_006_852,
            1_773_551_711,
            1_007_174_413,
            4_074_013_443,
            6_649_888,
            1_127_550_285,
            2_758_344_764,
            2_418_344_028,
            25,
            36,
            25,
        ],
        patches: vec![
            (2352, 9, 2_418_606_172),
            (3842, 43, 2_890_399_852),
            (8449, 7, 2_691_170_360),
        ],
        options: BoardOptions::CHIP,
    };
    assert!(check(&scene, &[100, 7, 1]), "A executes in turn");
}

/// CPU B resets the chip through `HOST_CONTROL` while CPU A executes code in its scratchpad.
#[test]
fn a_reset_while_the_other_cpu_is_in_its_scratchpad() {
    let load = words("lb $a1, 0($at)")[0];
    let [mut a, mut b] = [vec![load; LENGTH], vec![load; LENGTH]];
    a[1] = words("lb $a1, 0($v1)")[0];
    b[..2].copy_from_slice(&words("lw $a1, 0x48($a0)\n sw $t1, 0x40($a0)"));
    let mut values = vec![0; 16];
    values[9] = 0x8025_0038;
    let mut scene = Scene {
        programs: vec![a, b],
        in_scratchpad: vec![true; 2],
        shown: vec![true; 2],
        values,
        patches: Vec::new(),
        options: BoardOptions::CHIP,
    };
    assert!(check(&scene, &[1]), "in turn from the start");
    scene.shown = vec![false; 2];
    assert!(!check(&scene, &[1]), "A was ahead");
}

/// CPU A counts in its scratchpad, and CPU B executes this there; gives the number of recorded mistakes.
fn mistakes_beside_a_counter(program: &str) -> usize {
    let count = "lui $t0, 0\n again: addiu $t0, $t0, 1\n b again\n nop";
    let mut bench = Bench::new(SramSize::K512);
    for (cpu, source) in [count, program].into_iter().enumerate() {
        bench.load_scratchpad(cpu, SCRATCHPAD_BASE, &words(source));
        bench.start(cpu, SCRATCHPAD_BASE);
    }
    bench.0.trace.keep(true);
    bench.run(SPAN);
    let events = bench.0.trace.take();
    let mistakes = events
        .iter()
        .filter(|event| matches!(event.kind, TraceKind::GuestMistake { .. }));
    mistakes.count()
}

/// The read of a register of a CPU that is ahead is recorded. From then on both are in turn: later reads are exact.
#[test]
fn a_look_at_a_cpu_that_is_ahead_is_recorded_once() {
    let look = "lui $gp, 0xC000\n again: lw $t0, 0x1A0($gp)\n b again\n nop";
    assert_eq!(mistakes_beside_a_counter(look), 1);
    let word = "lui $gp, 0xC000\n lui $t0, 0xC0\n sw $t0, 0x154($gp)\n again: lw $t1, 0x158($gp)\n b again\n nop";
    assert_eq!(mistakes_beside_a_counter(word), 1);
    let idle = "again: b again\n nop";
    assert_eq!(mistakes_beside_a_counter(idle), 0);
}

/// A reset of the chip halts the other CPU where it stands.
#[test]
fn a_reset_by_a_cpu_while_the_other_is_ahead_is_recorded() {
    let reset = "lui $gp, 0xC000\n li $t0, 8\n sw $t0, 0x40($gp)\n nop";
    assert_eq!(mistakes_beside_a_counter(reset), 1);
}

/// The order of scenes is what it is cycle by cycle; hardly any is excepted.
#[test]
fn one_order_however_far_a_core_runs_at_a_time() {
    check_order(400, scene());
}

/// Holds so many scenes against others of them; 19 in 20 at least are promised.
pub(super) fn check_order(count: u32, scenes: impl Strategy<Value = Scene>) {
    let config = cases(count);
    let slices = vec(1..400u64, 1..20);
    let counts = Cell::new((0_u32, 0_u32));
    let result = TestRunner::new(config).run(&(scenes, slices), |(scene, slices_ns)| {
        let (all, promised) = counts.get();
        counts.set((all + 1, promised + u32::from(check(&scene, &slices_ns))));
        Ok(())
    });
    let (all, promised) = counts.get();
    println!("{promised} of {all} scenes held against others");
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(promised * 20 > all * 19, "{promised} of {all} scenes");
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn loops_that_exchange_turns(scene in loops(2), slices_ns in vec(1..3000u64, 1..6)) {
        prop_assert!(check(&scene, &slices_ns));
    }
}
