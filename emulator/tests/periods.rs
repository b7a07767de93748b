//! Idle loops that follow the timer, as the vendor's firmware idles on CPU B: a poll once in 5 us. They are skipped by
//! whole periods, and skipped and stepped runs are equal.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use defs::tigon2::map::{SCRATCHPAD_BASE, WINDOW_LOW_SRAM};
use defs::tigon2::regs as r;
use emulator::board::Board;
use emulator::cpu::mips::asm;
use emulator::cpu::mips::bus::Width;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Profile;

/// Dispatches; its alarm comes once in 5 us, and looks at the DMA rings, which are empty.
const ALARMS: &str = "
        lui   $gp, 0xC000
        lui   $k0, 0x00C0
        lui   $s4, 0x1000           # the timer's event
again:  lw    $t0, EVENT($gp)
        pri   $t1, $t0, $s4
        beq   $t1, $zero, again
        nop
        jal   alarm
        nop
        b     again
        nop
alarm:  lw    $t2, 0x054($gp)
        addiu $t2, $t2, 5
        sw    $t2, REFERENCE($gp)
        lw    $t3, 0x100($gp)
        lw    $t4, 0x104($gp)
        bne   $t3, $t4, found
        lw    $t5, 0x300($k0)
        addiu $t5, $t5, 1
        jr    $ra
        sw    $t5, 0x300($k0)
found:  sw    $t3, 0x104($gp)
        jr    $ra
        addiu $s0, $s0, 1
";

/// Reads the timer itself and compares; remembers the time in its scratchpad, as a halfword too.
const TIMES: &str = "
        lui   $gp, 0xC000
        lui   $k0, 0x00C0
        lw    $t1, 0x054($gp)
        sw    $t1, 0x300($k0)
again:  lw    $t0, EVENT($gp)
        lw    $t1, 0x054($gp)
        lw    $t2, 0x300($k0)
        subu  $t3, $t1, $t2
        sltiu $t4, $t3, 5
        bnel  $t4, $zero, again
        nop
        or    $t6, $t1, $zero
        sw    $t6, 0x300($k0)
        sh    $t3, 0x304($k0)
        lw    $t7, 0x308($k0)
        addiu $t7, $t7, 3
        sw    $t7, 0x308($k0)
        b     again
        subu  $s1, $s1, $t3
";

/// Like the other one, but each 100th time is different.
const CHANGES: &str = "
        lui   $gp, 0xC000
        li    $s2, 100
        lw    $t2, 0x054($gp)
again:  lw    $t0, EVENT($gp)
        lw    $t1, 0x054($gp)
        subu  $t3, $t1, $t2
        sltiu $t4, $t3, 5
        bne   $t4, $zero, again
        nop
        move  $t2, $t1
        addiu $s1, $s1, 1
        bne   $s1, $s2, again
        nop
        li    $s1, 0
        b     again
        addiu $s0, $s0, 1
";

/// The end of a run: instructions, cycles, registers and the words of the scratchpad of both CPUs.
type Left = Vec<(u64, u64, Vec<u32>, Vec<u32>)>;

/// A board on which both CPUs, or one of them, run a program from SRAM or from their scratchpads.
fn board(programs: [Option<&str>; 2], in_sram: bool) -> Node {
    let timing = Profile::built_in("tigon2-88mhz").unwrap().timing;
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    let names = [("0x060", "0x058"), ("0x070", "0x078")];
    for (cpu, (event, reference)) in names.into_iter().enumerate() {
        let Some(text) = programs[cpu] else {
            continue;
        };
        let origin = match in_sram {
            true => 0x4000 + 0x200 * cpu as u32,
            false => SCRATCHPAD_BASE + 0x40,
        };
        let text = text.replace("EVENT", event).replace("REFERENCE", reference);
        let program = asm::assemble(&format!(".org {origin:#x}\n{text}")).unwrap();
        for (address, word) in program.words() {
            let board = node.board_mut::<Tigon2>();
            match in_sram {
                true => board.fabric.sram.set_word(address, word),
                false => board.cores[cpu]
                    .private
                    .scratchpad
                    .write(address, Width::Word, word),
            }
        }
        node.with_board::<Tigon2, _>(|board, ctx| board.start_core(cpu, origin, ctx));
    }
    node
}

fn left(node: &Node) -> Left {
    let board = node.board::<Tigon2>();
    let left = |cpu: usize| {
        let unit = &board.cores[cpu];
        let word = |index: u32| {
            let address = SCRATCHPAD_BASE + 0x300 + 4 * index;
            unit.private.scratchpad.read(address, Width::Word)
        };
        let mut words: Vec<u32> = (0..4).map(word).collect();
        words.push(board.fabric.timer.reference(cpu));
        let (core, registers) = (&unit.core, unit.core.registers().to_vec());
        (core.instructions(), core.clock.cycles, registers, words)
    };
    vec![left(0), left(1)]
}

/// Runs for 3 ms with some disturbances by the host, skipped and stepped; gives how both ended and the share of time that
/// each CPU was stepped through when it was skipped.
#[track_caller]
fn check(
    programs: [Option<&str>; 2],
    in_sram: bool,
    writes: &[(u64, u32, u32)],
) -> (Left, Vec<f64>) {
    let mut ends = Vec::new();
    let mut stepped_share = Vec::new();
    for skip_idle in [false, true] {
        let mut node = board(programs, in_sram);
        node.board_mut::<Tigon2>().skip_idle = skip_idle;
        for &(us, offset, value) in writes {
            node.run_until(SimTime::from_us(us));
            node.with_board::<Tigon2, _>(|board, ctx| board.window_write(offset, value, ctx));
        }
        node.run_until(SimTime::from_us(3_000));
        let board = node.board::<Tigon2>();
        let share = |cpu| board.busy_time(cpu).ps() as f64 / 3e9;
        stepped_share = vec![share(0), share(1)];
        ends.push(left(&node));
    }
    assert_eq!(ends[0], ends[1], "stepped, and skipped");
    (ends.remove(0), stepped_share)
}

#[test]
fn a_poll_once_in_5_us_is_skipped() {
    for in_sram in [false, true] {
        for program in [ALARMS, TIMES] {
            let (left, stepped) = check([None, Some(program)], in_sram, &[]);
            assert!(left[1].3[0] >= 590, "the loop went on: {:?}", left[1].3);
            assert!(
                stepped[1] < 0.1,
                "in SRAM: {in_sram}: {stepped:?} {program}"
            );
        }
    }
}

#[test]
fn both_cpus_poll() {
    let (left, stepped) = check([Some(TIMES), Some(ALARMS)], false, &[]);
    assert!(left[1].3[0] >= 590);
    assert!(stepped.iter().all(|share| *share < 0.2), "{stepped:?}");
}

#[test]
fn what_changes_after_many_rounds_is_not_skipped() {
    let (left, _) = check([None, Some(CHANGES)], false, &[]);
    assert!(left[1].2[16] >= 5, "{:?}", left[1].2);
}

#[test]
fn whatever_the_host_does_ends_a_period() {
    let mut writes: Vec<(u64, u32, u32)> = (1..20)
        .map(|i| (i * 97, r::READ_RING_PRODUCER, i as u32 * 0x20))
        .collect();
    writes.extend([
        (2_000, r::TIMER, 0),
        (2_100, r::TIMER_REFERENCE_B, 90),
        (2_200, r::TIMER, u32::MAX - 20),
        (2_300, WINDOW_LOW_SRAM + 0x104, 1),
        (2_400, r::HOST_CONTROL, 2),
    ]);
    for program in [ALARMS, TIMES, CHANGES] {
        check([None, Some(program)], true, &writes);
        check([Some(program), Some(ALARMS)], false, &writes);
    }
}

#[test]
fn the_timer_wraps_within_a_skip() {
    for program in [ALARMS, TIMES] {
        check(
            [None, Some(program)],
            false,
            &[(1, r::TIMER, u32::MAX - 1_000)],
        );
    }
}

/// The board of an idle machine: CPU B polls, CPU A waits for its alarm. Ten seconds take few steps: with 88 instructions in
/// a microsecond, fifty times real time are at most 1.8 million instructions in a second.
#[test]
fn an_idle_machine_is_faster_than_fifty_times_real_time() {
    let mut node = board(
        [
            Some(
                "lui $gp, 0xC000\n again: lw $t0, EVENT($gp)\n beq $t0, $zero, again\n nop\n b again\n nop",
            ),
            Some(ALARMS),
        ],
        true,
    );
    node.with_board::<Tigon2, _>(|board, ctx| {
        board.window_write(r::TIMER_REFERENCE_A, 1 << 30, ctx);
    });
    node.run_until(SimTime::from_us(10_000_000));
    let board = node.board::<Tigon2>();
    for cpu in 0..2 {
        let stepped_us = board.busy_time(cpu).ps() / 1_000_000;
        assert!(
            stepped_us < 20_000,
            "CPU {cpu} was stepped for {stepped_us} us"
        );
    }
    let rounds = board.cores[1]
        .private
        .scratchpad
        .read(SCRATCHPAD_BASE + 0x300, Width::Word);
    assert!((1_999_900..=2_000_100).contains(&rounds), "{rounds} alarms");
}
