//! The language: output of commands, refusals, and absence of side effects.

use cases::cases;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use emulator::tigon2::board::Tigon2;
use lanigon_debugger::debug::command::{commands, execute};
use proptest::prelude::*;

use super::{PAIR, session, shows, simulation, transcript};

#[test]
fn there_and_back() {
    let mut session = session(PAIR);
    let text = transcript(
        &mut session,
        "goto +300us
         break probe frame sent on 0
         continue
         step handler
         reverse continue
         step
         reverse step
         delete 1
         step stage
         step kind=dma-start node=1
         reverse step kind=dma-start node=1
         goto +300us
         continue 1us",
    );
    insta::assert_snapshot!(text);
}

/// Error of a command, which must not change anything.
#[track_caller]
fn check_refused(line: &str, reason: &str) {
    let mut session = session(PAIR);
    session.go_to(SimTime::from_us(20_300)).unwrap();
    let before = (session.now(), session.focus, session.stops().len());
    let mut out = String::new();
    let error = match execute(&mut session, line, &mut out) {
        Ok(_) => panic!("{line}: {out}"),
        Err(error) => format!("{error:#}"),
    };
    assert!(error.contains(reason), "{line}: {error}");
    assert!(!error.contains('\n'), "{line}: {error}");
    assert_eq!(
        before,
        (session.now(), session.focus, session.stops().len()),
        "{line}"
    );
    assert_eq!(out, "", "{line}");
}

#[test]
fn wrong_breakpoints_are_refused_with_a_suggestion() {
    check_refused(
        "brake x",
        "there is no command \"brake\" (did you mean break?)",
    );
    check_refused("st", "\"st\" may be: ");
    check_refused("help nothing", "there is no command \"nothing\"");
    check_refused("break", "expected what");
    check_refused(
        "break semd",
        "there is no function \"semd\" (did you mean emp_so::cpu_a::send",
    );
    check_refused(
        "break chip.rs:1",
        "no code comes from chip.rs:1; the next line with code is ",
    );
    check_refused(
        "break chop.rs:41",
        "there is no source file \"chop.rs\" (did you mean ",
    );
    check_refused("break chip.rs", "expected a line of it, as chip.rs:40");
    check_refused("break kind=log", "as break event kind=log");
    check_refused("break 0x4a11", "there is no code at 0x4a11");
    check_refused("break 0xC0000000", "there is no code at 0xc0000000");
    check_refused(
        "break register semaphor",
        "there is no register \"semaphor\" (did you mean semaphore_a",
    );
    check_refused(
        "break register semaphore_a execute",
        "expected a register and perhaps read or write",
    );
    check_refused(
        "break raised mailbx",
        "there is no event bit \"mailbx\" (did you mean mailbox",
    );
    check_refused("break raised 32", "an event register has bits 0 to 31");
    check_refused(
        "break probe frame snt",
        "there is no probe \"frame snt\" (did you mean frame sent",
    );
    check_refused(
        "break event knd=dma-start",
        "\"knd\" is nothing to filter by",
    );
    check_refused("break frame kind=AK", "there is no kind \"AK\"");
    check_refused(
        "break frame color=1",
        "there is no field of a frame \"color\"",
    );
    check_refused("break frame message=70000", "message=70000: at most 65535");
    check_refused("break frame word9=1", "words 0 to 8 are seen");
    check_refused(
        "break write nothing",
        "there is no object, function or register \"nothing\"",
    );
    check_refused("break write 0x90000000", "nothing answers at 0x90000000");
    check_refused("break send on n7", "there is no node \"n7\"");
    check_refused("break chip.rs:0", "");
    check_refused("break send cpu c", "expected cpu a or cpu b");
    check_refused("break send if $v0", "compares nothing");
    check_refused("break send if $v9 == 1", "there is no register \"$v9\"");
}

#[test]
fn wrong_watches_steps_and_changes_are_refused() {
    check_refused("watch", "expected what");
    check_refused("watch 0x200 0", "at least 1 byte");
    check_refused(
        "break write 0xC0000044 8",
        "registers are watched one by one",
    );
    check_refused(
        "break post_receive if [0x201] == 3",
        "0x201 is no address of a word",
    );
    check_refused("break post_receive if [0xFFFFFFFC] == 3", "nothing answers");
    check_refused("expect", "expected what");
    check_refused("source x", "for the console and its scripts");
    check_refused("delete 4", "there is no stop 4");
    check_refused("delete", "expected the number");
    check_refused("step 0", "expected 1 to");
    check_refused("step 5 6", "one word too many");
    check_refused("step lines", "expected a number, line, out, handler, stage");
    check_refused("reverse", "expected reverse continue or reverse step");
    check_refused("continue fast", "is no time");
    check_refused("goto", "expected a time");
    check_refused("goto soon", "is no time");
    check_refused("node n2", "there is no node \"n2\"");
    check_refused("cpu c", "expected cpu a or cpu b");
    check_refused("set $a0", "expected what and its value");
    check_refused("set $zero 1", "always 0");
    check_refused("set $pc 2", "multiples of 4");
    check_refused("set 0x1002 1", "no address of a word");
    check_refused("set 0x90000000 1", "nothing answers at 0x90000000");
    check_refused("set $a0 0x123456789", "is no number");
    check_refused("save", "expected a file");
    check_refused("save /nowhere/at/all.snap", "/nowhere/at/all.snap");
}

#[test]
fn a_name_may_be_cut_short_where_it_is_the_only_one() {
    let mut session = session(PAIR);
    assert!(shows(&mut session, "").is_empty());
    assert!(shows(&mut session, "# what is said here is for people").is_empty());
    assert!(shows(&mut session, "got +300us").starts_with("20300.000000 us (+300.000000)"));
    let help = shows(&mut session, "help");
    for command in commands() {
        assert!(help.contains(command.about), "{}", command.names[0]);
        assert!(!shows(&mut session, &format!("help {}", command.names[0])).is_empty());
    }
    let mut names: Vec<_> = commands()
        .iter()
        .flat_map(|command| command.names)
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "each name is one command's");
}

#[test]
fn a_condition_looks_at_the_cpu_that_comes() {
    let mut session = session(PAIR);
    shows(&mut session, "goto +250us");
    // Only its condition distinguishes the second one from the first.
    shows(&mut session, "break raised mailbox on n1");
    shows(&mut session, "break raised mailbox on n1 if $k1 == $k1");
    shows(&mut session, "break raised mailbox on n1 if $k1 != $k1");
    let met = shows(&mut session, "continue");
    assert!(met.starts_with("stop 1: "), "{met}");
    assert!(
        met.contains("stop 2: ") && !met.contains("stop 3: "),
        "{met}"
    );
    // $ra is the return address in the firmware, and memory is that of the event's node.
    shows(&mut session, "delete all");
    shows(&mut session, "break probe frame sent if [0] != [0]");
    let met = shows(&mut session, "continue 300us");
    assert!(met.contains("the time that was set is over"), "{met}");
}

#[test]
fn what_is_changed_by_hand_has_its_effect() {
    let mut session = session(PAIR);
    // The firmware waits for its host.
    shows(&mut session, "goto 15000us");
    shows(
        &mut session,
        "break event kind=handler-enter node=0 by=cpu_b",
    );
    let before = shows(&mut session, "continue 20us");
    assert!(before.contains("the time that was set is over"), "{before}");
    shows(&mut session, "goto 15000us");
    // A bit of the event register that is never set there: its handler runs.
    let change = shows(&mut session, "set event_b 0x8");
    assert_eq!(change, "event_b: 0x10000000 -> 0x8\n");
    let after = shows(&mut session, "continue 20us");
    assert!(after.contains("handler"), "{after}");
    shows(&mut session, "set $t0 77");
    assert_eq!(session.register(8), 77);
    assert_eq!(shows(&mut session, "set 0xFFF0 5"), "0xFFF0: 0x0 -> 0x5\n");
    assert_eq!(shows(&mut session, "set 0xFFF0 6"), "0xFFF0: 0x5 -> 0x6\n");
}

/// Whether all messages have arrived.
const OVER: SimTime = SimTime::from_us(22_000);

fn command() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "step",
        "step 7",
        "rs",
        "rs 3",
        "cpu a",
        "cpu b",
        "node 0",
        "node 1",
        "continue 13us",
        "rc 9us",
        "rc",
        "step handler",
        "rs handler",
        "step stage",
        "rs stage",
        "step line",
        "rs line",
        "goto +333us",
        "goto +301us",
        "goto 19000us",
        "break probe frame sent",
        "break raised mailbox",
        "break register timer_timer read",
        "delete all",
        "step kind=frame-received",
    ])
}

/// Commands that only display do not change the run.
#[track_caller]
fn check_unnoticed(commands: &[&str]) {
    let mut session = session(PAIR);
    session.go_to(SimTime::from_us(20_300)).unwrap();
    for line in commands {
        let mut out = String::new();
        // Some cannot be executed at their time: a stopped CPU has no next instruction.
        let _ = execute(&mut session, line, &mut out);
    }
    session.go_to(OVER).unwrap();
    let mut plain = simulation(PAIR);
    plain.world.pass_time(&RunLimits {
        max_time: Some(OVER),
        ..RunLimits::default()
    });
    let world = session.history.world();
    assert_eq!(world.trace_hash(), plain.world.trace_hash(), "{commands:?}");
    for (node, plain) in world.nodes.iter().zip(&plain.world.nodes) {
        for (unit, plain) in node
            .board::<Tigon2>()
            .cores
            .iter()
            .zip(&plain.board::<Tigon2>().cores)
        {
            assert_eq!(
                unit.core.registers(),
                plain.core.registers(),
                "{commands:?}"
            );
            assert_eq!(unit.core.pc(), plain.core.pc(), "{commands:?}");
            assert_eq!(
                unit.core.instructions(),
                plain.core.instructions(),
                "{commands:?}"
            );
        }
    }
}

#[test]
fn nobody_notices_breakpoints_everywhere() {
    check_unnoticed(&[]);
    check_unnoticed(&["step"]);
    check_unnoticed(&["step line"]);
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn nobody_notices_a_session(commands in prop::collection::vec(command(), 1..14)) {
        check_unnoticed(&commands);
    }
}

/// After an interrupt at any time, the state equals that of a session that moved there.
#[test]
fn an_interrupted_run_stands_where_it_came() {
    let mut interrupted = session(PAIR);
    for wait_ms in [3, 20, 200] {
        interrupted.go_to(SimTime::from_us(20_000)).unwrap();
        let wish = interrupted.interrupt.clone();
        let user = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(wait_ms));
            wish.request();
        });
        let mut out = String::new();
        let end = execute(&mut interrupted, "goto 900s", &mut out);
        user.join().unwrap();
        assert!(end.is_err());
        interrupted.interrupt.clear();
        interrupted.history.settle().unwrap();
        let mut straight = session(PAIR);
        straight.go_to(interrupted.now()).unwrap();
        for line in ["where", "regs", "rs", "rs", "step 3"] {
            let both = [&mut interrupted, &mut straight].map(|session| shows(session, line));
            assert_eq!(both[0], both[1], "{line} after {wait_ms} ms");
        }
    }
}

/// Checkpoints of a long run are thinned out, but every time can be visited.
#[test]
fn a_long_run_is_gone_back_in() {
    let mut long = session(PAIR);
    long.go_to(SimTime::from_us(3_000_000)).unwrap();
    for us in [2_999_985, 2_990_001, 1_503_000, 20_300, 2_000_000] {
        let mut straight = session(PAIR);
        straight.go_to(SimTime::from_us(us)).unwrap();
        long.go_to(SimTime::from_us(us)).unwrap();
        for line in ["where", "rs", "rs 20", "step 2"] {
            let both = [&mut long, &mut straight].map(|session| shows(session, line));
            assert_eq!(both[0], both[1], "{line} at {us} us");
        }
    }
}

/// A step to a CPU's stop reports the stop; before the start there is nothing.
#[test]
fn the_ends_of_steps() {
    let mut session = session(PAIR);
    shows(&mut session, "goto +300us");
    shows(&mut session, "step");
    shows(&mut session, "set $pc 0x4000");
    shows(&mut session, "set 0x4000 0xFFFFFFFF");
    let stopped = shows(&mut session, "step");
    assert!(stopped.contains("(CPU A: stopped: "), "{stopped}");
    let count = |session: &lanigon_debugger::debug::Session| session.cpu().instructions;
    shows(&mut session, "goto +299us");
    let before = count(&session);
    shows(&mut session, "step 5");
    assert_eq!(count(&session), before + 5);
    session.go_to(SimTime::ZERO).unwrap();
    let mut out = String::new();
    let error = execute(&mut session, "rs", &mut out).unwrap_err();
    assert!(error.to_string().contains("executes nothing"), "{error}");
}

/// Several steps back at once equal single steps back.
#[test]
fn many_steps_back_are_as_many_steps() {
    for us in [300, 311] {
        for cpu in ["cpu a", "cpu b"] {
            let mut session = session(PAIR);
            shows(&mut session, &format!("goto +{us}us"));
            shows(&mut session, cpu);
            let mut one_by_one = String::new();
            for _ in 0..40 {
                one_by_one = shows(&mut session, "rs");
            }
            shows(&mut session, &format!("goto +{us}us"));
            assert_eq!(shows(&mut session, "rs 40"), one_by_one, "{us} {cpu}");
            // Beyond the kept start times, and forwards again.
            let count = session.cpu().instructions;
            shows(&mut session, "rs 3000");
            assert_eq!(session.cpu().instructions, count - 3000, "{us} {cpu}");
            assert!(shows(&mut session, "rs 100000").contains("us ("));
        }
    }
}

#[test]
fn words_are_completed() {
    let words = lanigon_debugger::debug::complete::KnownWords::collect(&session(PAIR));
    let check = |line: &str, expected: &[&str]| {
        let mut found = words.after(line);
        found.truncate(4);
        assert_eq!(found, expected, "{line}");
    };
    check("disa", &["disassemble"]);
    check("help rin", &["rings"]);
    check("break take_f", &["take_fetch", "take_frame"]);
    check("break register semaphore_", &["semaphore_a", "semaphore_b"]);
    check("break register semaphore_a ", &["read", "write"]);
    check("break raised mail", &["mailbox"]);
    check("b take_frame on ", &["n0", "n1"]);
    check("break take_frame on n1 cpu ", &["a", "b"]);
    check("rs ha", &["handler"]);
    check("chip dma_r", &["dma_read"]);
    check("goto +1", &[]);
    check("nonsense x", &[]);
}
