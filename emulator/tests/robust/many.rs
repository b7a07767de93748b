//! Boards with another number of CPUs than the chip has.

use super::bench::{Bench, BoardOptions, CODE, words};
use super::order::{check, check_order, loops, scene_of};
use cases::cases;
use defs::tigon2::banks::{self, MOST_CPUS};
use defs::tigon2::map::WINDOW_LOW_SRAM;
use defs::tigon2::regs::{CPU_PC, CPU_STATE, HOST_CONTROL, HostControl};
use emulator::board::{CpuId, CpuState};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;

/// Distance between the programs of two CPUs.
const PROGRAM_BYTES: u32 = 0x100;

/// A board whose CPUs execute the same program, each with its number in $4; $28 points to the registers.
fn started(cpus: usize, program: &str) -> Bench {
    let mut bench = Bench::with_cpus(SramSize::K512, cpus);
    let program = format!("lui $gp, 0xC000\n lw $a0, 0x1004($gp)\n {program}");
    for cpu in 0..cpus {
        let place = CODE + PROGRAM_BYTES * cpu as u32;
        bench.load(place, &words(&program));
        bench.start(cpu, place);
    }
    bench
}

/// A word below the mailboxes' end, by number.
fn general_word(bench: &mut Bench, number: u32) -> u32 {
    bench.read(WINDOW_LOW_SRAM + 0x200 + 4 * number)
}

#[test]
fn each_cpu_reads_its_number_and_their_count() {
    let program = "sll $t0, $a0, 2\n lw $t1, 0x1000($gp)\n addiu $t2, $a0, 100\n sw $t2, 0x200($t0)\n \
                   sw $t1, 0x240($t0)\n here: b here\n nop";
    for cpus in 1..=MOST_CPUS {
        if cpus == 2 {
            // The chip has no such registers.
            continue;
        }
        let mut bench = started(cpus, program);
        bench.run(SimTime::from_us(20));
        for cpu in 0..cpus as u32 {
            assert_eq!(general_word(&mut bench, cpu), 100 + cpu);
            assert_eq!(general_word(&mut bench, 16 + cpu), cpus as u32);
        }
        assert_eq!(bench.read(banks::CPU_COUNT), cpus as u32);
        assert_eq!(
            bench.read(banks::CPU_NUMBER),
            u32::MAX,
            "the host is no CPU"
        );
    }
}

/// All CPUs add to a word under the semaphore, each by its own register of it.
#[test]
fn the_semaphore_serves_all_cpus() {
    let program = "li $s0, 20\n slti $t0, $a0, 2\n bne $t0, $zero, ab\n sll $t1, $a0, 2\n sll $t1, $a0, 8\n \
                   b there\n addiu $t1, $t1, 0x1000\n ab: addiu $t1, $t1, 0x48\n there: addu $t1, $t1, $gp\n \
                   again: sw $zero, 0($t1)\n lw $t2, 0($t1)\n beq $t2, $zero, again\n nop\n \
                   lw $t3, 0x200($zero)\n addiu $s0, $s0, -1\n addiu $t3, $t3, 1\n sw $t3, 0x200($zero)\n \
                   bgtz $s0, again\n sw $zero, 0($t1)\n here: b here\n nop";
    for cpus in [1, 3, 5, 8] {
        let mut bench = started(cpus, program);
        bench.run(SimTime::from_us(900));
        assert_eq!(general_word(&mut bench, 0), 20 * cpus as u32);
        let races = bench.0.inspect().races();
        assert!(races.0.is_empty(), "{:?}", races.0);
    }
}

/// The last CPU raises an event of each other one, which waits for it; without the semaphore two writers of one event register race.
#[test]
fn events_go_from_cpu_to_cpu_and_races_are_found() {
    let program = "sll $t0, $a0, 8\n addu $t0, $t0, $gp\n lw $t1, 0x1000($gp)\n addiu $t1, $t1, -1\n \
                   beq $a0, $t1, last\n addiu $t2, $zero, 1\n slti $t3, $a0, 2\n bne $t3, $zero, here\n nop\n \
                   wait: lw $t4, 0x1008($t0)\n andi $t4, $t4, 1\n beq $t4, $zero, wait\n sll $t5, $a0, 2\n \
                   sw $t4, 0x200($t5)\n here: b here\n nop\n \
                   last: lui $t6, 1\n more: bgtz $t6, more\n addiu $t6, $t6, -1\n \
                   sw $t2, 0x1208($gp)\n sw $t2, 0x1308($gp)\n b here\n nop";
    let mut bench = started(5, program);
    bench.run(SimTime::from_us(500));
    assert_eq!(general_word(&mut bench, 2), 0, "not yet");
    bench.run(SimTime::from_us(1500));
    let flags = [0, 1, 2, 3].map(|cpu| general_word(&mut bench, cpu));
    assert_eq!(flags, [0, 0, 1, 1]);
    assert!(bench.0.inspect().races().0.is_empty());

    let both = "addiu $t2, $a0, 1\n slti $t3, $a0, 3\n bne $t3, $zero, here\n nop\n sw $t2, 0x1208($gp)\n \
                here: b here\n nop";
    let mut bench = started(5, both);
    bench.run(SimTime::from_us(20));
    let (races, _) = bench.0.inspect().races();
    let sides: Vec<_> = races.iter().map(|race| race.sides).collect();
    let agents = |sides: &[emulator::board::races::RaceSide; 2]| {
        sides.map(|side| side.agent.initiator().cpu())
    };
    assert_eq!(
        sides.iter().map(agents).collect::<Vec<_>>(),
        [[Some(3), Some(4)]]
    );
    assert_eq!(races[0].word, 0xC000_1208);
}

#[test]
fn a_board_with_one_cpu_has_no_second_one() {
    let mut bench = Bench::with_cpus(SramSize::K512, 1);
    bench.load(CODE, &words("here: b here\n nop"));
    bench.start(0, CODE);
    bench.start(1, CODE);
    bench.run(SimTime::from_us(5));
    let board = bench.0.board::<Tigon2>();
    let counts = [0, 1].map(|cpu| board.cores[cpu].core.instructions());
    assert!(counts[0] > 100 && counts[1] == 0, "{counts:?}");
    assert_eq!(bench.0.inspect().cpus().len(), 1);
    assert!(bench.0.inspect().cpu(CpuId::new(1)).is_none());
    assert!(bench.read(banks::private_of(1) + CPU_STATE) & 0x1_0000 != 0);
}

#[test]
fn a_reset_halts_all_cpus_and_a_debugger_sees_them() {
    let mut bench = started(8, "here: b here\n nop");
    bench.run(SimTime::from_us(5));
    let state = |bench: &Bench, cpu| bench.0.inspect().cpu(CpuId::new(cpu)).unwrap().state;
    let names: Vec<_> = bench.0.inspect().cpus().iter().map(|cpu| cpu.id).collect();
    assert_eq!(
        names.join(" "),
        "cpu_a cpu_b cpu_c cpu_d cpu_e cpu_f cpu_g cpu_h"
    );
    for cpu in 0..8 {
        assert_eq!(state(&bench, cpu), CpuState::Running);
        let pc = bench.read(banks::private_of(cpu) + CPU_PC);
        assert_eq!(pc & !(PROGRAM_BYTES - 1), CODE + PROGRAM_BYTES * cpu as u32);
    }
    let busy = bench.0.inspect().busy_units();
    let busy: Vec<_> = busy.iter().map(|unit| unit.title).collect();
    assert_eq!(busy[7..], ["CPU H", "DMA read", "DMA write"]);
    bench.write(HOST_CONTROL, HostControl::RESET.bits());
    for cpu in 0..8 {
        assert_eq!(state(&bench, cpu), CpuState::Halted);
    }
    bench.recovers();
}

/// A CPU that has stored to code which others have executed ahead: they go back, and execute the new code.
#[test]
fn code_is_rewritten_while_others_run_it() {
    for cpus in [3, 8] {
        let count = words("lw $t0, 0($v1)\n addiu $t0, $t0, 1\n nop\n sw $t0, 0($v1)");
        let mut values = vec![0; 16];
        values[5] = count[1];
        let mut programs = vec![count; cpus - 1];
        programs.push(words("nop\n nop\n sw $a1, 4($at)\n nop"));
        let scene = super::order::Scene {
            in_scratchpad: vec![false; cpus],
            shown: vec![false; cpus],
            programs,
            values,
            patches: Vec::new(),
            options: super::bench::BoardOptions::CHIP,
        };
        assert!(check(&scene, &[100, 7, 1]));
    }
}

#[test]
fn one_order_on_boards_with_one_to_eight_cpus() {
    let counts = prop::sample::select(vec![1, 3, 4, 5, 8]);
    let scenes = counts.prop_flat_map(|cpus| scene_of(cpus, BoardOptions::CHIP));
    check_order(300, scenes);
}

/// Banks, further semaphores and bit instructions.
fn optional() -> impl Strategy<Value = BoardOptions> {
    let plans = vec![(1, 8), (2, 4), (4, 8), (4, 64), (16, 4)];
    prop::sample::select(plans).prop_map(|(banks, bytes)| BoardOptions::all(banks, bytes))
}

#[test]
fn one_order_on_boards_with_banks_semaphores_and_bit_instructions() {
    let counts = prop::sample::select(vec![1, 2, 3, 4, 6, 8]);
    let scenes = (counts, optional());
    check_order(
        300,
        scenes.prop_flat_map(|(cpus, options)| scene_of(cpus, options)),
    );
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn loops_of_many_exchange_turns(
        scene in prop::sample::select(vec![3, 4, 6]).prop_flat_map(loops),
        slices_ns in vec(1..3000u64, 1..6),
    ) {
        prop_assert!(check(&scene, &slices_ns));
    }

    #[test]
    fn loops_of_many_share_banks(
        scene in prop::sample::select(vec![1, 2, 4, 6]).prop_flat_map(loops),
        options in optional(),
        slices_ns in vec(1..3000u64, 1..6),
    ) {
        let scene = super::order::Scene { options, ..scene };
        prop_assert!(check(&scene, &slices_ns));
    }
}
