//! Idle loops that follow the timer, as the vendor's firmware idles on CPU B: a poll once in 5 us. They are skipped by
//! whole periods. Stepped runs, runs that skip rounds only and runs that skip periods are equal.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod random;

use defs::tigon2::map::{SCRATCHPAD_BASE, WINDOW_LOW_SRAM};
use defs::tigon2::regs as r;
use emulator::board::Board;
use emulator::cpu::clock::CpuClock;
use emulator::cpu::mips::asm;
use emulator::cpu::mips::bus::Width;
use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::stream::{Observer, Stream};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;

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

/// Follows the timer, and writes to SRAM when its alarm comes at a time that stands still.
const ALARM_AT: &str = "
        lui   $gp, 0xC000
        lui   $k0, 0x00C0
        lui   $s4, 0x1000
        li    $t2, 1500
        sw    $t2, REFERENCE($gp)
        lw    $t1, 0x054($gp)
        sw    $t1, 0x300($k0)
again:  lw    $t0, EVENT($gp)
        and   $t5, $t0, $s4
        bne   $t5, $zero, alarm
        lw    $t1, 0x054($gp)
        lw    $t2, 0x300($k0)
        subu  $t3, $t1, $t2
        sltiu $t4, $t3, 5
        bne   $t4, $zero, again
        nop
        b     again
        sw    $t1, 0x300($k0)
alarm:  lw    $t6, 0x210($zero)
        addiu $t6, $t6, 1
        sw    $t6, 0x210($zero)
        lw    $t2, 0x054($gp)
        addiu $t2, $t2, 700
        sw    $t2, REFERENCE($gp)
        b     again
        nop
";

/// Polls without following the timer.
const PLAIN: &str = "
        lui   $gp, 0xC000
again:  lw    $t0, EVENT($gp)
        b     again
        nop
";

/// Waits for its alarm; when it comes, writes to SRAM and to the other CPU's event register, and sets it anew.
const TELLS: &str = "
        lui   $gp, 0xC000
        lui   $s4, 0x1000
        b     set
        nop
again:  lw    $t0, EVENT($gp)
        and   $t1, $t0, $s4
        beq   $t1, $zero, again
        nop
        addiu $s0, $s0, 1
        sw    $s0, 0x210($zero)
        sw    $s0, OTHER($gp)
set:    lw    $t2, 0x054($gp)
        addiu $t2, $t2, 333
        sw    $t2, REFERENCE($gp)
        b     again
        nop
";

/// The end state of a run: of each CPU instructions, clock, program counter, registers and scratchpad; SRAM, the references of
/// the timer, and the hash of the trace.
#[derive(Debug, PartialEq)]
struct Left {
    cores: [(u64, CpuClock, u32); 2],
    memory: Vec<Vec<u32>>,
    references: [u32; 2],
    trace: u64,
}

/// The idle loops that a run skips.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Skips {
    Nothing,
    Rounds,
    Periods,
}

/// A write by the host: time in ns, offset in its window, value.
type Write = (u64, u32, u32);

/// A program for each CPU, or none, and whether they are in SRAM or in the scratchpads.
type Programs<'a> = ([Option<&'a str>; 2], bool);

/// A board on which both CPUs, or one of them, run a program.
fn board((programs, in_sram): Programs<'_>, skips: Skips) -> Node {
    let timing = Timing::built_in("tigon2-88mhz").unwrap();
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    let board = node.board_mut::<Tigon2>();
    board.skip_idle = skips != Skips::Nothing;
    board.skip_periods = skips == Skips::Periods;
    let names = [("0x060", "0x058", "0x070"), ("0x070", "0x078", "0x060")];
    for (cpu, (event, reference, other)) in names.into_iter().enumerate() {
        let Some(text) = programs[cpu] else {
            continue;
        };
        let origin = match in_sram {
            true => 0x4000 + 0x200 * cpu as u32,
            false => SCRATCHPAD_BASE + 0x40,
        };
        let text = text
            .replace("EVENT", event)
            .replace("REFERENCE", reference)
            .replace("OTHER", other)
            .replace(';', "\n");
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
    let words = |from: u32| (from..from + 0x400).step_by(4);
    let core = |cpu: usize| {
        let core = &board.cores[cpu].core;
        (core.instructions(), core.clock.clone(), core.pc())
    };
    let sram = words(0).chain(words(0x4000));
    let mut memory = vec![sram.map(|at| board.fabric.sram.word(at)).collect()];
    for unit in &board.cores {
        let pad = &unit.private.scratchpad;
        let words = words(SCRATCHPAD_BASE).map(|at| pad.read(at, Width::Word));
        memory.push(words.collect());
        memory.push(unit.core.registers().to_vec());
    }
    Left {
        cores: [core(0), core(1)],
        memory,
        references: [0, 1].map(|cpu| board.fabric.timer.reference(cpu)),
        trace: node.trace.hash(),
    }
}

/// The part of its instructions that a CPU executed.
fn executed(node: &Node, cpu: usize) -> f64 {
    let core = &node.board::<Tigon2>().cores[cpu].core;
    let executed = core.instructions() - core.skipped();
    executed as f64 / core.instructions().max(1) as f64
}

/// Busy time of each CPU, and its ticks in idle rounds. A skip of a period counts what its rounds would count.
fn busy_times(node: &Node) -> [(SimTime, u64); 2] {
    let board = node.board::<Tigon2>();
    [0, 1].map(|cpu| (board.busy_time(cpu), board.cores[cpu].private.idle_ticks()))
}

/// Runs up to `end_ns`, with writes by the host, slice by slice.
fn run(node: &mut Node, end_ns: u64, writes: &[Write], mut slice_ns: impl FnMut() -> u64) {
    let mut run_to = |node: &mut Node, ns: u64| {
        while node.now() < SimTime::from_ns(ns) {
            let slice = node.now().saturating_add(SimTime::from_ns(slice_ns()));
            node.run_until(slice.min(SimTime::from_ns(ns)));
        }
    };
    for &(ns, offset, value) in writes {
        run_to(node, ns);
        node.with_board::<Tigon2, _>(|board, ctx| board.window_write(offset, value, ctx));
    }
    run_to(node, end_ns);
}

const WHOLE: fn() -> u64 = || u64::MAX / 2_000;

/// Runs with some writes by the host, in each way; gives the node of the run that skips periods.
#[track_caller]
fn check(programs: Programs<'_>, end_ns: u64, writes: &[Write]) -> Node {
    let nodes = [Skips::Nothing, Skips::Rounds, Skips::Periods].map(|skips| {
        let mut node = board(programs, skips);
        run(&mut node, end_ns, writes, WHOLE);
        node
    });
    let [stepped, rounds, periods] = nodes;
    assert_eq!(left(&stepped), left(&rounds), "stepped, and rounds skipped");
    assert_eq!(left(&rounds), left(&periods), "without and with periods");
    let (before, now) = (busy_times(&rounds), busy_times(&periods));
    if programs.0.contains(&None) {
        assert_eq!(before, now);
    }
    periods
}

/// Counts of alarms in the scratchpad.
fn alarms(node: &Node, cpu: usize) -> u32 {
    let pad = &node.board::<Tigon2>().cores[cpu].private.scratchpad;
    pad.read(SCRATCHPAD_BASE + 0x300, Width::Word)
}

#[test]
fn a_poll_once_in_5_us_is_skipped() {
    for in_sram in [false, true] {
        for program in [ALARMS, TIMES] {
            let node = check(([None, Some(program)], in_sram), 3_000_000, &[]);
            assert!(alarms(&node, 1) >= 590, "the loop goes on");
            let share = executed(&node, 1);
            assert!(share < 0.1, "in SRAM: {in_sram}: {share} {program}");
        }
    }
}

#[test]
fn both_cpus_poll() {
    for programs in [[TIMES, ALARMS], [ALARMS, TIMES], [PLAIN, ALARMS]] {
        let node = check((programs.map(Some), false), 3_000_000, &[]);
        for cpu in 0..2 {
            let share = executed(&node, cpu);
            assert!(share < 0.2, "CPU {cpu}: {share}: {programs:?}");
        }
    }
}

#[test]
fn the_other_cpu_interferes() {
    for program in [ALARMS, TIMES, CHANGES, ALARM_AT] {
        for in_sram in [false, true] {
            let node = check(([Some(TELLS), Some(program)], in_sram), 3_000_000, &[]);
            let share = executed(&node, 0);
            assert!(program == CHANGES || share < 0.3, "{share}: {program}");
            assert!(node.board::<Tigon2>().fabric.sram.word(0x210) >= 8);
        }
    }
}

#[test]
fn what_changes_after_many_rounds_is_not_skipped() {
    let node = check(([None, Some(CHANGES)], false), 3_000_000, &[]);
    assert!(node.board::<Tigon2>().cores[1].core.register(16) >= 5);
}

#[test]
fn whatever_the_host_does_ends_a_period() {
    let mut writes: Vec<Write> = (1..20)
        .map(|i| (i * 97_000, r::READ_RING_PRODUCER, i as u32 * 0x20))
        .collect();
    writes.extend([
        (2_000_000, r::TIMER, 0),
        (2_100_000, r::TIMER_REFERENCE_B, 90),
        (2_200_000, r::TIMER, u32::MAX - 20),
        (2_300_000, WINDOW_LOW_SRAM + 0x104, 1),
        (2_400_000, r::HOST_CONTROL, 2),
    ]);
    for program in [ALARMS, TIMES, CHANGES] {
        check(([None, Some(program)], true), 3_000_000, &writes);
        check(([Some(program), Some(ALARMS)], false), 3_000_000, &writes);
    }
}

/// A frame sets an event of both CPUs.
#[test]
fn a_dma_channel_and_its_event_end_a_period() {
    let start = |ns: u64| {
        [
            (ns, r::READ_HOST_LOW, 0x0010_0000),
            (ns, r::READ_LOCAL, 0x2_0000),
            (ns, r::READ_LENGTH, 640),
            (ns, r::READ_STATE, 4),
            (ns + 30_013, r::READ_STATE, 1),
        ]
    };
    let writes: Vec<Write> = (1..12).flat_map(|i| start(i * 171_007)).collect();
    for program in [ALARMS, TIMES, ALARM_AT] {
        check(([Some(PLAIN), Some(program)], true), 3_000_000, &writes);
    }
}

#[test]
fn the_timer_wraps_within_a_skip() {
    let writes = [(1_000, r::TIMER, u32::MAX - 1_000)];
    for program in [ALARMS, TIMES] {
        check(([None, Some(program)], false), 3_000_000, &writes);
    }
}

/// However short the slices of a run are, down to one instruction, it ends in the same state.
#[test]
fn slices_of_any_length() {
    for program in [ALARMS, TIMES, ALARM_AT] {
        let programs = ([Some(TELLS), Some(program)], true);
        let [whole, by_instruction, mixed] = [0, 8, 97].map(|ns| {
            let mut node = board(programs, Skips::Periods);
            let mut lengths = [10, ns, 60_000, 3, 200_000].into_iter().cycle();
            match ns {
                0 => run(&mut node, 700_000, &[], WHOLE),
                8 => run(&mut node, 700_000, &[], || ns),
                _ => run(&mut node, 700_000, &[], || lengths.next().unwrap()),
            }
            left(&node)
        });
        assert_eq!(whole, by_instruction);
        assert_eq!(whole, mixed);
    }
}

/// CPU B polls once in 5 us, and CPU A waits for an alarm that does not come: at most one in fifty instructions is executed.
#[test]
fn an_idle_machine_executes_few_instructions() {
    for program in [ALARMS, TIMES] {
        let mut node = board(([Some(PLAIN), Some(program)], true), Skips::Periods);
        node.with_board::<Tigon2, _>(|board, ctx| {
            board.window_write(r::TIMER_REFERENCE_A, 1 << 30, ctx);
        });
        node.run_until(SimTime::from_us(10_000_000));
        for cpu in 0..2 {
            let share = executed(&node, cpu);
            assert!(share < 0.02, "CPU {cpu}: {share}");
        }
    }
}

/// The sign of the timer's difference changes after 2^31 us, and with it the value that a loop finds: the loop goes on, and
/// is skipped again.
#[test]
fn the_event_of_the_timer_falls_half_an_hour_after_it_rose() {
    for program in [PLAIN, TIMES] {
        let mut node = board(([Some(program), None], true), Skips::Periods);
        node.run_until(SimTime::from_us(3_000_000_000));
        assert!(executed(&node, 0) < 0.001);
        let value = node.board::<Tigon2>().cores[0].core.register(8);
        assert_eq!(value >> 28 & 1, 0);
    }
}

/// The board promises no quiet beyond an alarm, and works when it comes.
#[test]
fn an_alarm_that_stands_still_ends_a_period() {
    let programs = ([None, Some(ALARM_AT)], true);
    let node = check(programs, 3_000_000, &[]);
    assert!(executed(&node, 1) < 0.3, "{}", executed(&node, 1));
    let mut node = board(programs, Skips::Periods);
    let alarm = |node: &Node| node.board::<Tigon2>().fabric.sram.word(0x210);
    for us in (10..1_500).step_by(10) {
        node.run_until(SimTime::from_us(us));
        assert!(
            node.next_activity() <= SimTime::from_us(1_500),
            "at {us} us"
        );
        assert_eq!(alarm(&node), 0, "at {us} us");
    }
    node.run_until(SimTime::from_us(1_501));
    assert_eq!(alarm(&node), 1);
}

/// Asks for all details, and forgets what it sees.
struct Everything;

impl Observer for Everything {
    fn details(&self) -> Details {
        Details::all()
    }

    fn event(&mut self, _: &TraceEvent) {}
}

/// A run with details executes each period, and ends in the same state.
#[test]
fn a_look_changes_nothing() {
    for programs in [[None, Some(ALARMS)], [Some(TIMES), Some(ALARM_AT)]] {
        let mut nodes = [
            board((programs, true), Skips::Periods),
            board((programs, true), Skips::Periods),
        ];
        let mut stream = Stream::default();
        nodes[1].run_until(SimTime::from_us(1_000));
        stream.add(Box::new(Everything), [&mut nodes[1].trace]);
        for node in &mut nodes {
            node.run_until(SimTime::from_us(3_000));
        }
        assert_eq!(left(&nodes[0]), left(&nodes[1]));
        let shares = nodes.each_ref().map(|node| executed(node, 1));
        assert!(
            shares[0] < 0.3 && shares[1] > shares[0] + 0.02,
            "{shares:?}"
        );
    }
}

/// A limit of instructions holds exactly, however long the loop goes on.
#[test]
fn a_limit_of_instructions_is_reached() {
    for program in [ALARMS, TIMES, ALARM_AT, CHANGES] {
        let ends = [Skips::Nothing, Skips::Periods].map(|skips| {
            let mut node = board(([None, Some(program)], false), skips);
            node.board_mut::<Tigon2>().instruction_limit = 100_003;
            node.run_until(SimTime::from_us(3_000));
            (left(&node).cores[1].0, left(&node).cores[1].2)
        });
        assert_eq!(ends[0].0, 100_003);
        assert_eq!(ends[0], ends[1]);
    }
}

/// A run up to 10^12 instructions ends, as `lanigon exec` does it: slice by slice up to the next activity.
#[test]
fn a_very_large_limit_of_instructions_is_reached() {
    const LIMIT: u64 = 1_000_000_000_000;
    for program in [ALARMS, TIMES] {
        let mut node = board(([Some(program), None], false), Skips::Periods);
        node.board_mut::<Tigon2>().instruction_limit = LIMIT;
        let count = |node: &Node| node.board::<Tigon2>().cores[0].core.instructions();
        let mut slices = 0;
        while count(&node) < LIMIT && slices < 100_000 {
            let slice = node.now() + SimTime::from_us(10);
            node.run_until(slice.max(node.next_activity()));
            slices += 1;
        }
        assert_eq!(count(&node), LIMIT, "after {slices} slices: {program}");
    }
}

/// A loop with a period never ends, so that a run with it ends at its time limit only.
#[test]
fn a_loop_with_a_period_is_alive() {
    for program in [ALARMS, TIMES] {
        let mut node = board(([None, Some(program)], true), Skips::Periods);
        node.run_until(SimTime::from_us(1_000));
        assert!(node.is_live());
        let next = node.next_activity();
        assert!(next > node.now() && next <= node.now() + SimTime::from_us(1_000_000));
    }
}
