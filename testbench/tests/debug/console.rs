//! The command as a user meets it: scripts, pipes, exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{PAIR, shows, simulation};
use emulator::sim::time::SimTime;
use testbench::debug::Session;
use testbench::simulation::{RunOptions, Simulation};

/// A file of this test alone.
fn file(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[track_caller]
fn debug(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .arg("debug")
        .args(arguments)
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Whoever reads no input has gone away before.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What a script ends with: exit code, the end of what it shows, and its message.
#[track_caller]
fn check(name: &str, script: &str, code: i32, end: &str, message: &str) {
    let scenario = file(&format!("debug-{name}.toml"), PAIR);
    let script_file = file(&format!("debug-{name}.txt"), script);
    let by_file = debug(&[&scenario, "--script", &script_file], "");
    let by_pipe = debug(&[&scenario], script);
    for (output, place) in [(by_file, &*script_file), (by_pipe, "standard input")] {
        let [shown, said] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert_eq!(output.status.code(), Some(code), "{name}: {shown}{said}");
        assert!(shown.ends_with(end), "{name}: {shown}");
        let said = said.replace(place, "SCRIPT");
        assert_eq!(said.trim_end(), message, "{name}");
    }
}

#[test]
fn scripts_and_pipes_end_alike() {
    check(
        "good",
        "goto +1us\nexpect +1.000000\nquit\nnonsense\n",
        0,
        "n0 A> quit\n",
        "",
    );
    check("empty", "\n# nothing\n", 0, "n0 A> # nothing\n", "");
    let message = "error: SCRIPT:2: there is no command \"nonsense\" (did you mean ";
    let scenario = file("debug-bad.toml", PAIR);
    let script = file("debug-bad.txt", "goto +1us\nnonsense\ngoto +2us\n");
    let output = debug(&[&scenario, "--script", &script], "");
    let said = String::from_utf8_lossy(&output.stderr).replace(&script, "SCRIPT");
    assert!(
        said.starts_with(message) || said.contains("there is no command \"nonsense\""),
        "{said}"
    );
    assert!(said.contains("SCRIPT:2"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_was_expected_is_a_check() {
    let scenario = file("debug-expect.toml", PAIR);
    let output = debug(
        &[&scenario, "-e", "goto +1us", "-e", "expect +2.000000"],
        "",
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "error: --execute:2: expected \"+2.000000\"\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn scripts_within_scripts() {
    let scenario = file("debug-source.toml", PAIR);
    let inner = file("debug-inner.txt", "goto +5us\nexpect +5.0\n");
    let output = debug(&[&scenario, "-e", &format!("source {inner}")], "");
    assert_eq!(output.status.code(), Some(0));
    let own = format!("{}/debug-own.txt", env!("CARGO_TARGET_TMPDIR"));
    file("debug-own.txt", &format!("source {own}\n"));
    let output = debug(&[&scenario, "-x", &own], "");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("scripts within scripts"), "{said}");
}

#[test]
fn wrong_requests_are_refused() {
    let scenario = file("debug-refused.toml", PAIR);
    for (arguments, reason) in [
        (vec!["/nowhere.toml"], "/nowhere.toml"),
        (
            vec![&scenario[..], "--script", "/nowhere.txt"],
            "/nowhere.txt",
        ),
        (
            vec![&scenario[..], "-e", "source /nowhere.txt"],
            "/nowhere.txt",
        ),
        (vec!["Cargo.toml"], "Cargo.toml"),
    ] {
        let output = debug(&arguments, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains(reason),
            "{arguments:?}: {said}"
        );
    }
}

/// A snapshot that a session saves is the one that `lanigon run --snapshot-at` saves.
#[test]
fn a_saved_moment_is_that_of_a_run() {
    let scenario = super::scenario(PAIR);
    for us in [250, 333] {
        let mut session = super::session(PAIR);
        session.go_to(SimTime::from_us(20_700)).unwrap();
        session.go_to(SimTime::from_us(20_000 + us)).unwrap();
        let saved = session.snapshot().unwrap();
        let mut run = simulation(PAIR);
        run.keep_logs();
        run.run_to(SimTime::from_us(us), &RunOptions::default(), |_| {})
            .unwrap();
        let kept = run.save("test.toml", PAIR, &scenario).unwrap();
        // Where a run paused shows in what an idle CPU knows of itself, and nowhere else.
        let [ours, theirs] = [saved, kept].map(|file| {
            let (mut rest, ..) = Simulation::load(&file, Path::new("")).unwrap();
            let outcome = rest.run(&RunOptions::default(), |_| {});
            assert!(outcome.is_good(), "{us}");
            let nics = format!("{:?}", (outcome.nics, outcome.verdict.messages));
            (rest.world.trace_hash(), rest.world.now(), nics)
        });
        assert_eq!(ours, theirs, "{us}");
    }
}

#[test]
fn a_snapshot_is_where_another_session_begins() {
    let mut first = super::session(PAIR);
    first.go_to(SimTime::from_us(20_250)).unwrap();
    let file = first.snapshot().unwrap();
    let interrupt = testbench::interrupt::Interrupt::default();
    let mut second = Session::from_snapshot(file, Path::new(""), &interrupt).unwrap();
    assert_eq!(second.now(), first.now());
    for us in [20_400, 20_300, 20_310] {
        first.go_to(SimTime::from_us(us)).unwrap();
        second.go_to(SimTime::from_us(us)).unwrap();
        assert_eq!(shows(&mut first, "where"), shows(&mut second, "where"));
        assert_eq!(shows(&mut first, "rs 3"), shows(&mut second, "rs 3"));
    }
    let begin = shows(&mut second, "goto 20000us");
    assert!(begin.contains("the beginning"), "{begin}");
    assert_eq!(second.now(), SimTime::from_us(20_250));
    second.go_to(SimTime::from_us(20_333)).unwrap();
    let later = second.snapshot().unwrap();
    let (mut rest, ..) = Simulation::load(&later, Path::new("")).unwrap();
    let mut whole = simulation(PAIR);
    let [rest, whole] = [&mut rest, &mut whole].map(|simulation| {
        let outcome = simulation.run(&RunOptions::default(), |_| {});
        (
            simulation.world.trace_hash(),
            outcome.nics,
            outcome.verdict.messages,
        )
    });
    assert_eq!(format!("{rest:?}"), format!("{whole:?}"));
}

/// What host programs call is known of the past, too.
#[test]
fn calls_of_the_past_are_found() {
    let mut session = super::session(PAIR);
    session.go_to(SimTime::from_us(20_700)).unwrap();
    shows(&mut session, "break event kind=host-call node=0");
    let last = shows(&mut session, "rc");
    assert!(last.starts_with("stop 1: "), "{last}");
    let events = shows(&mut session, "events 4 host");
    shows(&mut session, "rc");
    shows(&mut session, "continue");
    assert_eq!(shows(&mut session, "events 4 host"), events);
}
