//! Idle loops that read more than the event register, like a software DMA assist: skipped and stepped runs
//! are equal.

use defs::tigon2::map::SCRATCHPAD_BASE;
use defs::tigon2::regs as r;
use emulator::board::Board;
use emulator::cpu::mips::asm;
use emulator::cpu::mips::bus::Width;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;

/// Watches a ring, a channel and its alarm; follows the ring and counts events.
const ASSIST: &str = "
        lui   $gp, 0xC000
again:  lw    $t0, EVENT($gp)
        lw    $t1, 0x100($gp)       # producer
        lw    $t2, 0x104($gp)       # reference
        lw    $t3, 0x0B0($gp)       # channel state
        bne   $t1, $t2, follow
        andi  $t3, $t3, 4
        bne   $t3, $zero, again     # the channel is busy
        lui   $t5, 0x1000
        and   $t4, $t0, $t5
        beq   $t4, $zero, again     # no alarm
        nop
        lw    $t6, 0x054($gp)       # the next alarm is 5 us from now
        addiu $t6, $t6, 5
        sw    $t6, REFERENCE($gp)
        b     again
        addiu $s1, $s1, 1
follow: sw    $t1, 0x104($gp)
        b     again
        addiu $s0, $s0, 1
";

/// A poll that is executed as the delay slot of a branch to itself, and once more as the branch's target: the way on from
/// the two reads differs, though nothing else does. Counts rounds.
const POLL_IN_ITS_OWN_SLOT: &str = "
        lui   $gp, 0xC000
again:  beq   $zero, $zero, here
here:   lw    $t0, EVENT($gp)
        addiu $s0, $s0, 1
        lw    $t1, REFERENCE($gp)
        b     again
        addu  $s1, $s1, $t1
";

/// A loop with such a poll and without any effect: it idles, though the round begins in a delay slot.
const IDLE_WITH_A_POLL_IN_ITS_OWN_SLOT: &str = "
        lui   $gp, 0xC000
again:  beq   $zero, $zero, here
here:   lw    $t0, EVENT($gp)
        b     again
        nop
";

/// Final state of a run: instructions, cycles and registers of both CPUs.
type Left = Vec<(u64, u64, Vec<u32>)>;

/// Runs the program on the first `cpus` CPUs.
fn run(skip_idle: bool, cpus: usize, source: &str, host_writes: &[(u64, u32, u32)]) -> Left {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    node.board_mut::<Tigon2>().skip_idle = skip_idle;
    let offsets = [(0, "0x060", "0x058"), (1, "0x070", "0x078")];
    for (cpu, event, reference) in offsets.into_iter().take(cpus) {
        let origin = SCRATCHPAD_BASE + 0x200;
        let text = source
            .replace("EVENT", event)
            .replace("REFERENCE", reference);
        let program = asm::assemble(&format!(".org {origin:#x}\n{text}")).expect("it assembles");
        for (address, word) in program.words() {
            let scratchpad = &mut node.board_mut::<Tigon2>().cores[cpu].private.scratchpad;
            scratchpad.write(address, Width::Word, word);
        }
        node.with_board::<Tigon2, _>(|board, ctx| board.start_core(cpu, origin, ctx));
    }
    for &(us, offset, value) in host_writes {
        node.run_until(SimTime::from_us(us));
        node.with_board::<Tigon2, _>(|board, ctx| board.window_write(offset, value, ctx));
    }
    node.run_until(SimTime::from_us(2_000));
    let left = |cpu: usize| {
        let core = &node.board::<Tigon2>().cores[cpu].core;
        let registers = core.registers().to_vec();
        (core.instructions(), core.clock.cycles, registers)
    };
    vec![left(0), left(1)]
}

/// Compares with one CPU and with both; returns what is left of both.
#[track_caller]
fn check(source: &str, host_writes: &[(u64, u32, u32)]) -> Left {
    let [_, both] = [1, 2].map(|cpus| {
        let skipped = run(true, cpus, source, host_writes);
        assert_eq!(run(false, cpus, source, host_writes), skipped);
        skipped
    });
    both
}

#[test]
fn alarms_alone() {
    let left = check(ASSIST, &[]);
    assert!(left[0].2[17] > 300, "alarms of A: {}", left[0].2[17]);
    assert!(left[1].2[17] > 300, "alarms of B: {}", left[1].2[17]);
}

#[test]
fn a_ring_that_the_host_moves() {
    let moves: Vec<(u64, u32, u32)> = (1..50)
        .map(|i| (i * 31, r::READ_RING_PRODUCER, i as u32 * 0x20))
        .collect();
    let left = check(ASSIST, &moves);
    assert!(left[0].2[16] + left[1].2[16] >= 49, "{left:?}");
}

#[test]
fn a_channel_that_runs() {
    let mut writes = Vec::new();
    for i in 0..20 {
        let at = 50 + i * 67;
        writes.extend([
            (at, r::READ_HOST_LOW, 0x0010_0000),
            (at, r::READ_LOCAL, 0x2_0000),
            (at, r::READ_LENGTH, 64 * (i as u32 % 7)),
            (at, r::READ_STATE, 4),
        ]);
    }
    // No memory answers at that host address: the channel fails, is reset, and runs again.
    for write in writes.clone().iter().step_by(4) {
        writes.push((write.0 + 30, r::READ_STATE, 1));
    }
    writes.sort_by_key(|write| write.0);
    check(ASSIST, &writes);
}

#[test]
fn a_poll_in_its_own_delay_slot() {
    let left = check(POLL_IN_ITS_OWN_SLOT, &[]);
    assert!(left[0].2[16] > 10_000, "rounds of A: {}", left[0].2[16]);
    check(IDLE_WITH_A_POLL_IN_ITS_OWN_SLOT, &[]);
}
