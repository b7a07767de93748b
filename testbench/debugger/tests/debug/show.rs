//! Displays of a session at several times of a run.

use emulator::board::CpuId;
use emulator::observe::event::Details;
use emulator::sim::time::SimTime;
use lanigon_debugger::debug::Session;
use lanigon_debugger::debug::show::{
    address, calls, chip, code, event, memory, past, registers, standing, symbols, world,
};
use regex::Regex;

use super::{PAIR, session, shows};

/// A session at a time in nanoseconds, without stops.
fn at_ns(text: &str, ns: u64) -> Session {
    let mut session = session(text);
    session.go_to(SimTime::from_ns(ns)).unwrap();
    session
}

/// Output with placeholders for values that change with the firmware: addresses, offsets and lines.
fn steady(shown: &str) -> String {
    let patterns = [
        (r"\b(?:0x)?00[0-9a-f]{6}\b|\b0x[0-9a-f]{4,6}\b", "ADDRESS"),
        (r"\+0x[0-9a-f]+", "+OFFSET"),
        (r"\.rs:\d+", ".rs:LINE"),
    ];
    let replaced = patterns
        .iter()
        .fold(shown.to_owned(), |text, (pattern, by)| {
            Regex::new(pattern)
                .unwrap()
                .replace_all(&text, *by)
                .into_owned()
        });
    assert!(
        shown.lines().all(|line| line.chars().count() <= 100),
        "{shown}"
    );
    replaced
}

/// CPU A is in a handler and in a stage.
const IN_STAGE_NS: u64 = 20_054_000;

#[test]
fn before_boot() {
    let session = at_ns(PAIR, 0);
    let shown = [
        standing::where_(&session),
        calls::backtrace(&session),
        event::event_register(&session).unwrap(),
        chip::rings(&session).unwrap(),
        chip::semaphore(&session).unwrap(),
        world::hosts(&session),
        world::nodes(&session),
    ];
    insta::assert_snapshot!(steady(&shown.join("\n")));
    let error = code::source(&session, 2).unwrap_err().to_string();
    assert_eq!(
        error,
        "it is not known from which source line 00000000 comes"
    );
}

#[test]
fn in_a_stage_of_a_handler() {
    let session = at_ns(PAIR, IN_STAGE_NS);
    let shown = [
        standing::where_(&session),
        calls::backtrace(&session),
        event::event_register(&session).unwrap(),
        world::hosts(&session),
        world::nodes(&session),
    ];
    insta::assert_snapshot!(steady(&shown.join("\n")));
}

#[test]
fn instructions_as_they_stand_in_memory() {
    let mut session = at_ns(PAIR, IN_STAGE_NS);
    let (pc, now) = (session.cpu().pc, session.now());
    let shown = code::disassembly(&session, pc - 8, 4).unwrap();
    let present: Vec<_> = shown
        .lines()
        .filter(|line| line.starts_with("->"))
        .collect();
    assert_eq!(present.len(), 1, "{shown}");
    assert!(
        present[0].starts_with(&format!("-> {pc:08x} <")) && present[0].contains("+0x"),
        "{shown}"
    );
    let source = code::source(&session, 1).unwrap();
    assert!(
        source.contains("\n->") && source.contains(".rs:"),
        "{source}"
    );
    // Changed memory is shown, whatever the image contains.
    let patch = [0x7400_0000u32.to_be_bytes(), 0x0C00_0000u32.to_be_bytes()].concat();
    session
        .history
        .change(|world| {
            world.nodes[0].poke(CpuId::default(), pc, &patch).unwrap();
        })
        .unwrap();
    assert_eq!(session.now(), now);
    let shown = code::disassembly(&session, pc, 2).unwrap();
    assert!(
        shown.contains(".word 0x74000000") && shown.contains("jal 0x0"),
        "{shown}"
    );
    let error = code::disassembly(&session, 0xD000_0000, 2)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "nothing is at 0xd0000000 for CPU A");
}

#[test]
fn registers_with_the_names_of_addresses() {
    let session = at_ns(PAIR, IN_STAGE_NS);
    let shown = registers::registers(&session);
    assert_eq!(shown.lines().count(), 17);
    let ra = address::describe(&session, session.register(31));
    assert!(
        shown.contains("$zero 00000000") && shown.contains("$fp"),
        "{shown}"
    );
    let (_, short) = ra.rsplit_once("::").unwrap();
    assert!(shown.contains(&format!("{short}>")), "{shown}");
    assert_eq!(address::describe(&session, 0xC000_0060), "event_a");
}

#[test]
fn both_scratchpads_and_registers_as_memory() {
    let mut session = at_ns(PAIR, IN_STAGE_NS);
    let first = |session: &Session| memory::memory(session, 0xC0_0100, 4).unwrap();
    let of_a = first(&session);
    session.focus.cpu = CpuId::new(1);
    assert_ne!(of_a, first(&session));
    assert!(
        memory::memory(&session, 0xC0_1FF8, 64)
            .unwrap()
            .starts_with("00c01ff8")
    );
    let error = memory::memory(&session, 0xC0_2000, 4)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "nothing is at 0x00c02000 for CPU B");
    let timer = memory::memory(&session, 0xC000_0054, 4).unwrap();
    assert_eq!(
        timer.trim_end(),
        format!("c0000054  {:08x}{:29} ..NV", 20_054, "")
    );
}

#[test]
fn descriptors_that_are_under_way() {
    let session = at_ns(PAIR, PENDING_NS);
    insta::assert_snapshot!(steady(&chip::rings(&session).unwrap()));
}

/// Frames are on their way through the rings.
const PENDING_NS: u64 = 20_100_000;

/// The dispatch loop calls handlers on an empty stack.
#[test]
fn every_stack_ends_at_the_dispatch() {
    for scheme in ["base", "so", "ro", "dsr", "sr"] {
        let mut session = session(&PAIR.replace("emp-so", &format!("emp-{scheme}")));
        let mut deepest = 0;
        for step in 0..230 {
            session
                .go_to(SimTime::from_ns(20_000_000 + 1_300 * step))
                .unwrap();
            for (node, cpu) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                (session.focus.node, session.focus.cpu) = (node, CpuId::new(cpu));
                if !session.cpu().state.executes() {
                    continue;
                }
                let shown = calls::backtrace(&session);
                let last = shown.lines().last().unwrap();
                let now = session.now();
                assert!(
                    last.contains("__dispatch_"),
                    "{scheme} {now} {node} {cpu}:\n{shown}"
                );
                let functions = shown.lines().filter(|line| !line.contains("inlined"));
                deepest = deepest.max(functions.count());
            }
        }
        assert!(deepest >= 3, "{scheme}: {deepest}");
    }
}

#[test]
fn a_halted_cpu() {
    let text = PAIR.replace("emp-so", "emp-base");
    let mut session = at_ns(&text, IN_STAGE_NS);
    session.focus.cpu = CpuId::new(1);
    let shown = standing::where_(&session);
    assert!(shown.contains("-> CPU B  halted at 00000000"), "{shown}");
}

#[test]
fn what_happened_last() {
    let mut session = at_ns(PAIR, 20_130_000);
    let now = session.now();
    insta::assert_snapshot!(steady(&past::frames(&mut session, 5).unwrap()));
    let all = past::events(&mut session, 40, Details::HANDLERS).unwrap();
    assert_eq!(all.lines().count(), 40);
    assert!(
        all.contains("{ handler") && all.contains("} handler"),
        "{all}"
    );
    let few = past::events(&mut session, 7, Details::HANDLERS).unwrap();
    assert!(all.ends_with(&few) && few.lines().count() == 7, "{few}");
    assert_eq!(session.now(), now);
    let mut session = at_ns(PAIR, 0);
    let nothing = past::events(&mut session, 7, Details::empty()).unwrap();
    assert_eq!(nothing, "nothing happened before\n");
}

#[test]
fn blocks_of_the_chip() {
    let session = at_ns(PAIR, IN_STAGE_NS);
    let shown = chip::chip(&session, "timer").unwrap();
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(
        lines[0],
        "c0000054  timer_count                    00004e56"
    );
    assert!(
        lines.len() == 3 && lines[2].starts_with("c0000078  timer_reference_b"),
        "{shown}"
    );
    let shown = chip::chip(&session, "mac_rx").unwrap();
    assert!(
        shown.contains("mac_rx_state") && shown.contains("enable|"),
        "{shown}"
    );
    let error = chip::chip(&session, "tiger").unwrap_err().to_string();
    assert!(
        error.starts_with("no block \"tiger\" has registers (there are: "),
        "{error}"
    );
}

#[test]
fn symbols_by_a_part_of_their_name() {
    let session = session(PAIR);
    let shown = symbols::symbols(&session, "STATE").unwrap();
    assert!(
        shown.contains("scratchpad A  emp_so::cpu_a::start::STATE"),
        "{shown}"
    );
    assert!(symbols::symbols(&session, "no such").is_err());
}

#[test]
fn races_are_those_before_the_present_time() {
    let race = "image = \"race-two-cpus\"\n[network]\ntopology = \"none\"\nnodes = 1\n\
                [[program]]\nrun = \"start\"\nnodes = 0\n";
    let mut session = session(race);
    assert_eq!(shows(&mut session, "races"), "races     none\n");
    shows(&mut session, "goto +200us");
    let found = shows(&mut session, "races");
    assert!(
        found.contains("RACE      node 0: sram > 0x200, "),
        "{found}"
    );
    assert!(found.contains("cpu_b reads, give_back at "), "{found}");
    shows(&mut session, "goto +1us");
    assert_eq!(shows(&mut session, "races"), "races     none\n");
}
