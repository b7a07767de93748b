//! Recorded details of registers, semaphore and handlers: recording them changes nothing else in a run.

use std::sync::{Arc, Mutex};

use defs::tigon2::regs;
use emulator::board::Board;
use emulator::cpu::mips::asm;
use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::stream::Observer;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::inspect::names;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;

/// CPU A dispatches its alarm, whose handler takes and releases the semaphore. CPU B holds the semaphore
/// most of the time, and idles in between.
const FIRMWARE: &str = "
        .org 0x4000
        lui   $gp, 0xC000
        li    $s0, round
        li    $s1, 0x4100
        lui   $s2, 0x1000           # the alarm only
round:  lw    $t0, 0x060($gp)
        pri   $t1, $t0, $s2
        joff  $s1, $t1
        move  $ra, $s0
alarm:  lw    $t2, 0x058($gp)
        addiu $t2, $t2, 10
        sw    $t2, 0x058($gp)
take:   sw    $zero, 0x048($gp)
        lw    $t3, 0x048($gp)
        beq   $t3, $zero, take
        nop
        lw    $t4, 0x060($gp)       # no round begins here
        jr    $ra
        sw    $zero, 0x048($gp)
        .org 0x4100
        j     round
        nop
        .org 0x41E8
        j     alarm
        nop
        .org 0x5000
        lui   $gp, 0xC000
again:  li    $t0, 90
        sw    $zero, 0x04C($gp)
hold:   bne   $t0, $zero, hold
        addiu $t0, $t0, -1
        sw    $zero, 0x04C($gp)
        li    $t0, 60
rest:   bne   $t0, $zero, rest
        addiu $t0, $t0, -1
        b     again
        nop
";

/// Observer that requests all details and keeps all events.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<Vec<TraceEvent>>>);

impl Observer for Everything {
    fn details(&self) -> Details {
        Details::all()
    }

    fn event(&mut self, event: &TraceEvent) {
        self.0.lock().expect("nobody panicked").push(event.clone());
    }
}

fn world() -> World {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    let program = asm::assemble(FIRMWARE).expect("it assembles");
    for (address, word) in program.words() {
        node.board_mut::<Tigon2>()
            .fabric
            .sram
            .set_word(address, word);
    }
    node.with_board::<Tigon2, _>(|board, ctx| {
        board.window_write(regs::TIMER_REFERENCE_A, 5, ctx);
        for (cpu, pc) in [(0, 0x4000), (1, 0x5000)] {
            board.start_core(cpu, pc, ctx);
        }
    });
    World::new(vec![node])
}

fn pass(world: &mut World, us: u64) {
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(us)),
        ..RunLimits::default()
    };
    assert!(world.pass_time(&limits));
}

/// Instructions, cycles, stalls, ticks and idle ticks of each core, and the trace.
type Left = (Vec<[u64; 5]>, u64, u64);

fn left(world: &World) -> Left {
    let cores = world.nodes[0].board::<Tigon2>().cores.iter().map(|unit| {
        let clock = &unit.core.clock;
        [
            unit.core.instructions(),
            clock.cycles,
            clock.stalled,
            clock.now,
            unit.private.idle_ticks(),
        ]
    });
    let trace = &world.nodes[0].trace;
    (cores.collect(), trace.hash(), trace.count())
}

/// Time, place and instruction of an event, as a line.
fn line(event: &TraceEvent) -> String {
    let pc = event.pc.map_or(String::new(), |pc| format!("{pc:#x}"));
    let text = event.text();
    let words = text.split(' ').map(|word| {
        let address = word.strip_prefix("0xc0").and_then(|_| {
            let digits = word.trim_start_matches("0x");
            u32::from_str_radix(digits, 16).ok()
        });
        address
            .and_then(names::register)
            .unwrap_or_else(|| word.to_owned())
    });
    let text = words.collect::<Vec<_>>().join(" ");
    let time_ns = event.time.ps() / 1000;
    format!(
        "{time_ns} {pc} {} {}: {text}",
        event.block(),
        event.kind.name()
    )
}

#[test]
fn what_is_seen() {
    let mut world = world();
    let seen = Everything::default();
    world.observe(Box::new(seen.clone()));
    pass(&mut world, 40);
    assert!(world.finish_observing().is_empty());
    let seen = seen.0.lock().unwrap();
    let handlers = seen
        .iter()
        .filter(|event| event.kind.details() == Details::HANDLERS);
    let names: Vec<_> = handlers.map(|event| event.kind.name()).collect();
    assert_eq!(names, ["handler-enter", "handler-exit"].repeat(4));
    let window = SimTime::from_us(14)..SimTime::from_us(17);
    let lines = seen.iter().filter(|event| window.contains(&event.time));
    let lines: Vec<_> = lines.map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn whoever_looks_changes_nothing() {
    let mut unseen = world();
    pass(&mut unseen, 1000);
    let check = |from, to| {
        let mut world = world();
        pass(&mut world, from);
        world.observe(Box::new(Everything::default()));
        pass(&mut world, to);
        assert!(world.finish_observing().is_empty());
        pass(&mut world, 1000);
        assert_eq!(left(&world), left(&unseen), "seen from {from} to {to} us");
    };
    check(0, 1000);
    check(0, 350);
    check(213, 777);
}
