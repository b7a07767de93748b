//! The command for its users: scripts, pipes, exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Two nodes that play ping-pong, with two CPUs at work on each.
const PAIR: &str = "image = \"emp-so\"\n[network]\ntopology = \"pair\"
    [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 8\nbytes = [10, 5000]\n";

/// A file of this test only.
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
    // A process that reads no input may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// End of a script: exit code, last output, and error message.
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
