//! Random loops that follow the timer, with random disturbances: each of them is skipped exactly, or not at all.

use std::cell::Cell;

use cases::cases;
use defs::tigon2::map::WINDOW_LOW_SRAM;
use defs::tigon2::regs as r;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use super::{PLAIN, Skips, TELLS, Write, board, check, executed, left, run};

/// Ways in which a random loop waits: by its alarm, by the time, or by counting polls.
const WAITS: &[&str] = &[
    "wait: lw $t0, EVENT($gp); and $t1, $t0, $s4; beqz $t1, wait; nop; lw $t2, 0x054($gp); addiu $t2, $t2, SPAN; \
     sw $t2, REFERENCE($gp)",
    "wait: lw $t0, EVENT($gp); pri $t1, $t0, $s4; beqzl $t1, wait; lw $t7, 0x054($gp); lw $t2, REFERENCE($gp); \
     addiu $t2, $t2, SPAN; sw $t2, REFERENCE($gp)",
    "wait: lw $t0, EVENT($gp); lw $t2, 0x054($gp); subu $t3, $t2, $s5; sltiu $t3, $t3, SPAN; bnez $t3, wait; nop; \
     move $s5, $t2",
    "wait: lw $t0, EVENT($gp); lw $t2, 0x054($gp); lw $t3, 0x320($k0); subu $t3, $t2, $t3; slti $t3, $t3, SPAN; \
     bnezl $t3, wait; nop; sw $t2, 0x320($k0)",
    "wait: lw $t0, EVENT($gp); lw $t2, 0x054($gp); bne $t2, $s5, wait; nop; addiu $s5, $s5, SPAN",
    "wait: lw $t0, EVENT($gp); addiu $t3, $t3, 1; sltiu $t4, $t3, SPAN; bnez $t4, wait; nop; li $t3, 0",
];

/// Work of a random loop in each round.
const WORKS: &[&str] = &[
    "nop",
    "addiu $s0, $s0, 1",
    "addu $s1, $s1, $s0",
    "subu $s2, $zero, $t2",
    "lw $t5, 0x300($k0); addiu $t5, $t5, 3; sw $t5, 0x300($k0)",
    "sw $t2, 0x304($k0)",
    "sh $t2, 0x308($k0)",
    "lhu $t5, 0x30C($k0); sh $t5, 0x30E($k0)",
    "lb $t5, 0x304($k0)",
    "lw $t5, 0x100($gp); lw $t6, 0x104($gp); xor $t5, $t5, $t6",
    "lw $t5, 0x0B0($gp)",
    "lw $t5, 0x058($gp)",
    "lw $t5, 0x078($gp)",
    "lw $t5, 0x054($gp); or $t6, $t5, $zero",
    "lw $t5, 0x054($gp); srl $t6, $t5, 10",
    "lw $t5, 0x054($gp); andi $t6, $t5, 4; sw $t6, 0x310($k0)",
    "lw $t5, 0x210($zero)",
    "andi $t5, $s0, 63; bnez $t5, over; nop; sw $s0, 0x214($zero); over: nop",
    "slti $t5, $s0, 150; bnez $t5, over; nop; sw $s0, OTHER($gp); over: nop",
];

fn program() -> impl Strategy<Value = String> {
    let works = vec(select(WORKS), 0..5);
    (select(WAITS), 1..12u32, works, 0..12usize).prop_map(|(wait, span, works, nops)| {
        let wait = wait.replace("SPAN", &span.to_string());
        let works: Vec<String> = works
            .iter()
            .enumerate()
            .map(|(index, work)| work.replace("over", &format!("over{index}")))
            .collect();
        let nops = "nop; ".repeat(nops);
        format!(
            "lui $gp, 0xC000; lui $k0, 0xC0; lui $s4, 0x1000; {wait}; {}; {nops} b wait; nop",
            works.join("; ")
        )
    })
}

/// Random writes by the host.
fn writes() -> impl Strategy<Value = Vec<Write>> {
    let offsets = vec![
        r::TIMER,
        r::TIMER_REFERENCE_A,
        r::TIMER_REFERENCE_B,
        r::READ_RING_PRODUCER,
        r::EVENT_A,
        r::EVENT_B,
        WINDOW_LOW_SRAM + 0x104,
        WINDOW_LOW_SRAM + 0x210,
    ];
    let write = (0..900_000_u64, select(offsets), 0..1_500_u32);
    vec(write, 0..4).prop_map(|mut writes| {
        writes.sort_by_key(|write| write.0);
        writes
    })
}

/// Random loops on both CPUs, with random disturbances and slices.
#[test]
fn random_loops() {
    let loops = (
        program(),
        prop_oneof![
            2 => Just(None),
            1 => Just(Some(PLAIN.to_owned())),
            1 => Just(Some(TELLS.to_owned())),
            3 => program().prop_map(Some),
        ],
        any::<[bool; 2]>(),
        writes(),
        vec(1..90_000_u64, 1..6),
    );
    let skipped = Cell::new(0_u32);
    let all = Cell::new(0_u32);
    let result =
        TestRunner::new(cases(150)).run(&loops, |(one, other, [swap, in_sram], writes, slices)| {
            let mut programs = [Some(&*one), other.as_deref()];
            if swap {
                programs.swap(0, 1);
            }
            let node = check((programs, in_sram), 1_000_000, &writes);
            let mut sliced = board((programs, in_sram), Skips::Periods);
            let mut slices = slices.iter().cycle();
            run(&mut sliced, 1_000_000, &writes, || *slices.next().unwrap());
            assert_eq!(left(&node), left(&sliced), "whole, and in slices");
            all.set(all.get() + 1);
            skipped.set(skipped.get() + u32::from(executed(&node, usize::from(swap)) < 0.5));
            Ok(())
        });
    println!(
        "{} of {} loops skipped for the most part",
        skipped.get(),
        all.get()
    );
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        skipped.get() * 4 > all.get(),
        "{} of {}",
        skipped.get(),
        all.get()
    );
}
