//! Every kind of stop, compared with all events of an unstopped run.

use emulator::board::CpuId;
use std::sync::{Arc, Mutex};

use emulator::debug::TimeDirection;
use emulator::observe::event::{Details, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use lanigon_debugger::debug::motion::Stopped;
use lanigon_worlds::simulation::Simulation;

use super::{END, PAIR, session, shows, simulation};

/// Start of the tested interval.
const BEGIN: SimTime = SimTime::from_us(20_290);

struct Keep(Arc<Mutex<Vec<TraceEvent>>>);

impl Observer for Keep {
    fn details(&self) -> Details {
        Details::all()
    }

    fn event(&mut self, event: &TraceEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

fn run_to(simulation: &mut Simulation, time: SimTime) {
    simulation.world.pass_time(&RunLimits {
        max_time: Some(time),
        ..RunLimits::default()
    });
}

/// All events of the run up to its end.
fn all() -> Vec<TraceEvent> {
    let events = Arc::default();
    let mut simulation = simulation(PAIR);
    simulation
        .world
        .observe(Box::new(Keep(Arc::clone(&events))));
    run_to(&mut simulation, END);
    simulation.world.finish_observing();
    std::mem::take(&mut *events.lock().unwrap())
}

/// Times of matching events, without duplicates.
fn times(events: &[TraceEvent], is: impl Fn(&TraceEvent) -> bool) -> Vec<SimTime> {
    let such = events
        .iter()
        .filter(|event| event.time > BEGIN && event.time < END);
    let mut times: Vec<_> = such
        .filter(|event| is(event))
        .map(|event| event.time)
        .collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// The stop set by `command` finds all matching events, forwards and backwards.
#[track_caller]
fn check(events: &[TraceEvent], command: &str, is: impl Fn(&TraceEvent) -> bool) {
    let expected = times(events, is);
    assert!(expected.len() > 2, "{command}: {} of them", expected.len());
    let mut session = session(PAIR);
    session.go_to(BEGIN).unwrap();
    shows(&mut session, command);
    let mut forward = Vec::new();
    while let Stopped::At(met) = session
        .run(TimeDirection::Forward, Vec::new(), END)
        .unwrap()
    {
        assert!(
            met.iter().all(|(numbers, _)| numbers[..] == [1]),
            "{command}"
        );
        forward.push(session.now());
    }
    forward.retain(|&time| time < END);
    assert_eq!(forward, expected, "{command}");
    session.go_to(END).unwrap();
    let mut back = Vec::new();
    while back.len() < expected.len() {
        let stopped = session
            .run(TimeDirection::Backward, Vec::new(), SimTime::ZERO)
            .unwrap();
        assert!(matches!(stopped, Stopped::At(_)), "{command}: {stopped:?}");
        back.push(session.now());
    }
    back.reverse();
    assert_eq!(back, expected, "{command}, backwards");
}

#[test]
fn each_kind_finds_what_there_is() {
    let events = all();
    let register = |event: &TraceEvent| match event.kind {
        TraceKind::RegisterRead { address, .. } | TraceKind::RegisterWrite { address, .. } => {
            address
        }
        _ => 0,
    };
    check(&events, "break register semaphore_a", |event| {
        register(event) == 0xC000_0048
    });
    check(&events, "break register 0xC000004C write cpu b", |event| {
        register(event) == 0xC000_004C
            && event.initiator == Initiator::Cpu(1)
            && matches!(event.kind, TraceKind::RegisterWrite { .. })
    });
    check(&events, "break raised rx_complete on n1 cpu b", |event| {
        let raised = |cpu: u32, bits: u32| cpu == 1 && bits >> 6 & 1 != 0;
        event.place == emulator::observe::event::Place::Node(1)
            && matches!(event.kind, TraceKind::EventRaised { cpu, bits } if raised(cpu, bits))
    });
    check(
        &events,
        "break probe frame sent",
        |event| matches!(&event.kind, TraceKind::Probe { name, .. } if &**name == "frame sent"),
    );
    check(
        &events,
        "break event kind=stage-enter,stage-exit node=0",
        |event| {
            event.place == emulator::observe::event::Place::Node(0)
                && matches!(
                    event.kind,
                    TraceKind::StageEnter { .. } | TraceKind::StageExit { .. }
                )
        },
    );
    check(
        &events,
        "break frame kind=ack",
        |event| matches!(event.kind, TraceKind::FrameHead { head, .. } if head[3] >> 16 == 0x88B5 && head[3] >> 12 & 15 == 3),
    );
}

/// SRAM repeats in its address range, and both CPUs have a scratchpad at equal addresses.
#[test]
fn a_watch_means_memory_and_not_its_address() {
    let mut session = session(PAIR);
    session.go_to(BEGIN).unwrap();
    let board = session.board();
    let size = board.area(CpuId::new(0), 0).unwrap().installed_end;
    let stack = board.registers(CpuId::new(1))[29] & !3;
    let mut met = |command: &str| {
        session.go_to(BEGIN).unwrap();
        shows(&mut session, "delete all");
        shows(&mut session, command);
        let stopped = session
            .run(TimeDirection::Forward, Vec::new(), END)
            .unwrap();
        (
            matches!(stopped, Stopped::At(_)),
            session.now(),
            session.focus.cpu,
        )
    };
    let plain = met("watch 0x100000 0x80000 on 0");
    let again = met(&format!("watch {:#x} 0x80000 on 0", 0x10_0000 + size));
    assert!(plain.0, "{plain:?}");
    assert_eq!(plain, again);
    shows(&mut session, "cpu b");
    session.go_to(BEGIN).unwrap();
    shows(&mut session, "delete all");
    // At the beginning it is perhaps in a handler, with its frame above the stack pointer.
    shows(&mut session, &format!("watch {:#x} 128 on 0", stack - 64));
    let stopped = session
        .run(TimeDirection::Forward, Vec::new(), END)
        .unwrap();
    assert!(matches!(stopped, Stopped::At(_)), "{stopped:?}");
    assert_eq!(session.focus.cpu.index(), 1, "its own scratchpad is meant");
}

/// A condition evaluates a register when the stop is met, not when it is set.
#[test]
fn a_condition_follows_a_register() {
    let mut session = session(PAIR);
    session.go_to(BEGIN).unwrap();
    shows(&mut session, "break probe frame sent if [$sp] == [$sp]");
    shows(&mut session, "break probe frame sent if $pc == $pc");
    let met = shows(&mut session, "continue");
    assert!(
        met.contains("stop 1: ") && met.contains("stop 2: "),
        "{met}"
    );
}
