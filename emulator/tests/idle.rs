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

/// Final state of a run: instructions, cycles and registers of both CPUs.
type Left = Vec<(u64, u64, Vec<u32>)>;

fn run(skip_idle: bool, host_writes: &[(u64, u32, u32)]) -> Left {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    node.board_mut::<Tigon2>().skip_idle = skip_idle;
    for (cpu, event, reference) in [(0, "0x060", "0x058"), (1, "0x070", "0x078")] {
        let origin = SCRATCHPAD_BASE + 0x200;
        let text = ASSIST
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

#[track_caller]
fn check(host_writes: &[(u64, u32, u32)]) -> Left {
    let skipped = run(true, host_writes);
    assert_eq!(run(false, host_writes), skipped);
    skipped
}

#[test]
fn alarms_alone() {
    let left = check(&[]);
    assert!(left[0].2[17] > 300, "alarms of A: {}", left[0].2[17]);
    assert!(left[1].2[17] > 300, "alarms of B: {}", left[1].2[17]);
}

#[test]
fn a_ring_that_the_host_moves() {
    let moves: Vec<(u64, u32, u32)> = (1..50)
        .map(|i| (i * 31, r::READ_RING_PRODUCER, i as u32 * 0x20))
        .collect();
    let left = check(&moves);
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
    check(&writes);
}
