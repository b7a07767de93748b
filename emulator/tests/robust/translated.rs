//! Translated code does what the interpreter does: random programs on one core and on two, which write to their own code, in slices
//! of random lengths, end in the same state, with the same times and the same trace.

use super::bench::{Bench, words};
use super::cases;
use super::order::{self, Outcome, SPAN, Scene};
use defs::tigon2::map::SCRATCHPAD_BASE;
use defs::tigon2::regs::{CPU_B, CPU_STATE, CpuState};
use emulator::cpu::clock::CpuClock;
use emulator::cpu::translation::{Translations, Usage};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;

/// Runs a scene in slices; gives its outcome, and what translated code has executed.
fn run(
    scene: &Scene,
    cores: usize,
    slices_ns: &[u64],
    translations: Option<&Translations>,
) -> (Outcome, [Usage; 2]) {
    let mut bench = order::prepare(scene);
    if cores == 1 {
        bench.write(CPU_STATE + CPU_B, CpuState::HALT.bits());
    }
    bench.0.trace.keep(true);
    bench.0.translate(translations);
    let mut slices = slices_ns.iter().cycle();
    let slice = || slices.next().map_or(SPAN, |&ns| SimTime::from_ns(ns));
    order::carry_on(scene, &mut bench, slice, |_| ());
    let usage = bench.0.board::<Tigon2>().translated();
    (order::outcome(&bench), usage)
}

/// Compares both ways in the same slices; gives the number of entries into translated code.
fn check(scene: &Scene, cores: usize, slices_ns: &[u64]) -> u64 {
    let (interpreted, _) = run(scene, cores, slices_ns, None);
    let translations = Translations::at_once();
    let (translated, usage) = run(scene, cores, slices_ns, Some(&translations));
    assert_eq!(interpreted, translated, "{cores} cores, {slices_ns:?}");
    usage.iter().map(|core| core.entries).sum()
}

/// A scene whose programs stand in scratchpads.
fn scene() -> impl Strategy<Value = Scene> {
    order::scene().prop_map(|mut scene| {
        scene.in_scratchpad = [true, true];
        scene.shown = [false, false];
        scene
    })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_programs(scene in scene(), cores in 1..=2usize, slices_ns in vec(1..3000u64, 1..6)) {
        check(&scene, cores, &slices_ns);
    }
}

/// An instruction of a loop that mostly accesses memory: $2 points to data in SRAM, $3 to the scratchpad, whose code may be written to.
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

/// Two loops that exchange turns at almost each access.
fn loops() -> impl Strategy<Value = Scene> {
    let program = || vec(in_loop(), 6..20);
    let programs = prop_oneof![
        3 => [program(), program()],
        1 => program().prop_map(|program| [program.clone(), program]),
    ];
    (programs, vec(0..9u32, 16)).prop_map(|(programs, values)| Scene {
        programs,
        in_scratchpad: [true, true],
        shown: [false, false],
        values,
        patches: Vec::new(),
    })
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn any_loops_in_turns(scene in loops(), slices_ns in vec(200..12_000u64, 1..4)) {
        check(&scene, 2, &slices_ns);
    }
}

/// Runs a program of CPU A in its scratchpad for a while, interpreted and translated, in slices; gives register $v0.
fn result(source: &str, slice: SimTime) -> u32 {
    let run = |translations: Option<&Translations>| {
        let mut bench = Bench::new(SramSize::K512);
        bench.load_scratchpad(0, SCRATCHPAD_BASE, &words(source));
        bench.0.translate(translations);
        bench.start(0, SCRATCHPAD_BASE);
        let end = bench.0.now() + SimTime::from_us(80);
        while bench.0.now() < end {
            bench.run(slice);
        }
        let board = bench.0.board::<Tigon2>();
        let core = &board.cores[0].core;
        let state = (*core.registers(), core.pc(), core.clock.clone());
        (state, board.translated()[0].entries)
    };
    let translations = Translations::at_once();
    let (interpreted, none) = run(None);
    let (translated, entries) = run(Some(&translations));
    assert_eq!(interpreted, translated, "in slices of {slice:?}");
    assert!(none == 0 && entries > 0, "{entries} entries");
    translated.0[2]
}

/// A loop counts, and then replaces the instruction that counts: the new one is executed from the next round on.
#[test]
fn a_store_into_translated_code_is_seen_at_once() {
    let source = "
        lui $s0, 0xC0
        lui $t8, 0x2442         # addiu $v0, $v0, 16
        ori $t8, $t8, 16
        li $v0, 0
        li $t0, 0
        again: addiu $t0, $t0, 1
        count: addiu $v0, $v0, 1
        sltiu $t1, $t0, 300
        bnez $t1, again
        nop
        sw $t8, 24($s0)
        sltiu $t1, $t0, 600
        bnez $t1, again
        nop
        end: b end
        nop";
    for slice_ns in [97, 333, 5_000] {
        let counted = result(source, SimTime::from_ns(slice_ns));
        assert_eq!(counted, 300 + 300 * 16);
    }
}

/// Both cores count in SRAM, load bytes and halves in between and in delay slots, and wait for each other's values: each access is in
/// the order that the clocks of both give.
#[test]
fn two_cores_take_turns_in_translated_code() {
    let source = "
        li $s1, 0x2000
        again: lw $t0, 0($s1)
        addiu $t0, $t0, 3
        sw $t0, 0($s1)
        lhu $t1, 2($s1)
        xor $v0, $v0, $t1
        andi $t2, $v0, 4
        beqz $t2, skip
        lbu $t3, 3($s1)
        addu $v0, $v0, $t3
        lw $t4, 4($s1)
        sb $t3, 7($s1)
        addu $v0, $v0, $t4
        skip: addiu $a0, $a0, 1
        b again
        sw $a0, 8($s1)";
    let run = |slice: SimTime, translations: Option<&Translations>| {
        let (seen, usage) = run_both([source; 2], SimTime::from_us(80), slice, translations);
        (seen, usage.map(|usage| usage.entries))
    };
    for slice_ns in [97, 333, 5_000, 40_000] {
        let slice = SimTime::from_ns(slice_ns);
        let (interpreted, none) = run(slice, None);
        let (translated, entries) = run(slice, Some(&Translations::at_once()));
        assert_eq!(interpreted, translated, "in slices of {slice:?}");
        assert_eq!(none, [0; 2]);
        let many = entries.iter().all(|&entries| entries > 100);
        assert!(many, "in slices of {slice:?}: {entries:?}");
    }
}

/// What two cores leave: registers, program counter and clock of each, and words of SRAM.
type Seen = ([([u32; 32], u32, CpuClock); 2], [u32; 3]);

/// Runs a program on each core for a span, in slices; with what translated code has executed.
fn run_both(
    sources: [&str; 2],
    span: SimTime,
    slice: SimTime,
    translations: Option<&Translations>,
) -> (Seen, [Usage; 2]) {
    let mut bench = Bench::new(SramSize::K512);
    bench.0.translate(translations);
    for (cpu, source) in sources.into_iter().enumerate() {
        bench.load_scratchpad(cpu, SCRATCHPAD_BASE, &words(source));
        let core = &mut bench.0.board_mut::<Tigon2>().cores[cpu].core;
        core.set_register(16, SCRATCHPAD_BASE);
        bench.start(cpu, SCRATCHPAD_BASE);
    }
    let end = bench.0.now() + span;
    while bench.0.now() < end {
        bench.run(slice);
    }
    let board = bench.0.board::<Tigon2>();
    let cores = [0, 1].map(|cpu| {
        let core = &board.cores[cpu].core;
        (*core.registers(), core.pc(), core.clock.clone())
    });
    ((cores, board.fabric.sram.words(0x2000)), board.translated())
}

/// Loops with an access each, with two, and with accesses in slots.
const SHORT_LOOPS: &str = "
    li $s1, 0x2000
    again: li $t1, 5
    one: lw $t0, 0($s1)
    addiu $t1, $t1, -1
    addu $v0, $v0, $t0
    bgtz $t1, one
    addiu $v0, $v0, 1
    li $t1, 4
    two: lhu $t2, 2($s1)
    addiu $t1, $t1, -1
    xor $v0, $v0, $t2
    sb $v0, 5($s1)
    bgtz $t1, two
    sw $v0, 0($s1)
    li $t1, 3
    own: lw $t3, 0x800($s0)
    addiu $t1, $t1, -1
    bgtz $t1, own
    sw $v0, 0x800($s0)
    b again
    addu $v0, $v0, $t3";

/// It computes for a while between accesses, so that the other core has many of them in turn.
const LONG_LOOPS: &str = "
    li $s1, 0x2000
    again: li $t1, 40
    wait: addiu $t1, $t1, -1
    bgtz $t1, wait
    addu $v0, $v0, $t1
    li $t1, 3
    three: lw $t0, 0($s1)
    addiu $t1, $t1, -1
    addu $v0, $v0, $t0
    bgtz $t1, three
    sh $v0, 6($s1)
    b again
    sw $t1, 4($s1)";

/// Different programs, and the same one, in loops of different lengths: a core goes on at the access before which it has waited.
#[test]
fn loops_exchange_turns() {
    let run = |sources: [&str; 2], slice: SimTime, translations: Option<&Translations>| {
        let (seen, usage) = run_both(sources, SimTime::from_us(60), slice, translations);
        (seen, usage.map(|usage| usage.cycles))
    };
    let both = [SHORT_LOOPS, LONG_LOOPS];
    for first in both {
        for second in both {
            for slice_ns in [611, 2_500, 9_000, 20_000] {
                let (sources, slice) = ([first, second], SimTime::from_ns(slice_ns));
                let (interpreted, _) = run(sources, slice, None);
                let (translated, cycles) = run(sources, slice, Some(&Translations::at_once()));
                assert_eq!(interpreted, translated, "in slices of {slice:?}");
                assert!(cycles.iter().all(|&cycles| cycles > 100), "{cycles:?}");
            }
        }
    }
}

/// Boards with the same code share one translation.
#[test]
fn boards_with_the_same_code_share_a_translation() {
    let translations = Translations::at_once();
    let count = words("again: addiu $t0, $t0, 1\n b again\n addiu $t1, $t1, 1");
    for _ in 0..3 {
        let mut bench = Bench::new(SramSize::K512);
        bench.load_scratchpad(0, SCRATCHPAD_BASE, &count);
        bench.0.translate(Some(&translations));
        bench.start(0, SCRATCHPAD_BASE);
        for _ in 0..4 {
            bench.run(SimTime::from_us(1));
        }
        assert!(bench.0.board::<Tigon2>().translated()[0].entries > 0);
    }
    assert_eq!(translations.made().translations, 1);
}
