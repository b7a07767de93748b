//! Translated code does what the interpreter does: random programs on one core and on two, which write to their own code, in slices
//! of random lengths, end in the same state, with the same times and the same trace.

use super::bench::{Bench, words};
use super::cases;
use super::order::{self, Outcome, SPAN, Scene};
use defs::tigon2::map::SCRATCHPAD_BASE;
use defs::tigon2::regs::{CPU_B, CPU_STATE, CpuState};
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
        let mut bench = Bench::new(SramSize::K512);
        bench.0.translate(translations);
        for cpu in 0..2 {
            bench.load_scratchpad(cpu, SCRATCHPAD_BASE, &words(source));
            bench.start(cpu, SCRATCHPAD_BASE);
        }
        let end = bench.0.now() + SimTime::from_us(80);
        while bench.0.now() < end {
            bench.run(slice);
        }
        let board = bench.0.board::<Tigon2>();
        let cores = [0, 1].map(|cpu| {
            let core = &board.cores[cpu].core;
            (*core.registers(), core.pc(), core.clock.clone())
        });
        let entries = board.translated().map(|usage| usage.entries);
        ((cores, board.fabric.sram.words::<3>(0x2000)), entries)
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
