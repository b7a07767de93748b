//! From the line that a failed test prints to its failing moment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lanigon_kit::{Kit, us};
use lanigon_worlds::images::image_folder;

use super::tools::is_installed;

/// Makes [`the_test_that_fails`] fail.
const FAIL: &str = "LANIGON_TEST_THAT_FAILS";

/// A user's test. It passes, unless it is to fail.
#[test]
fn the_test_that_fails() {
    if std::env::var_os(FAIL).is_none() {
        return;
    }
    let world = Kit::pair().firmware(image_folder().join("mailbox-echo"));
    let mut kit = world.build().unwrap();
    let asked = kit.run_host(0, "asker", |mut host| async move {
        host.mailbox(3, 41).await;
        host.poll(0x20C, "a wrong answer", us(100), |word| word == 7)
            .await
    });
    asked.unwrap();
}

/// Standard output of a command with these arguments, and its exit code.
fn output(arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    let output = command.args(arguments).env_remove("RUST_LOG").output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    (text + &errors, output.status.code())
}

/// The folder for worlds of failed tests.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("failed tests")
}

/// Lets the test fail; returns what the test program prints.
fn failed(place: &Path) -> String {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["failed::the_test_that_fails", "--exact", "--color=never"]);
    command.env(FAIL, "1").env("LANIGON_FAILED_TESTS", place);
    let output = command.env_remove("RUST_BACKTRACE").output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_line_of_a_failed_test_opens_its_world() {
    let printed = failed(&folder());
    let line = printed
        .lines()
        .find(|line| line.starts_with("lanigon debug "));
    let line = line.expect("the line with the command");
    let world = folder().join("failed-the_test_that_fails/world.toml");
    let world = world.to_str().unwrap();
    assert_eq!(
        line,
        format!("lanigon debug '{world}'   (or gdb, profile, run --timeline FILE)")
    );
    // The debugger stops where the test's run did.
    let (shown, code) = output(&["debug", world, "-e", "continue"]);
    assert_eq!(code, Some(0), "{shown}");
    let over = "the run is over: all host programs have ended";
    assert!(shown.contains(over), "{shown}");
    // On the way there is the answer of the firmware.
    let (shown, code) = output(&[
        "debug",
        world,
        "-e",
        "break write 0x20c 4",
        "-e",
        "continue",
    ]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("(0x0 -> 0x2a)"), "{shown}");
    // The scenario is the test's run.
    let text = std::fs::read_to_string(world).unwrap();
    let hash = text
        .lines()
        .find_map(|line| line.strip_prefix("# Trace hash: "));
    let timeline = folder().join("timeline.pftrace");
    let timeline = timeline.to_str().unwrap();
    let (shown, code) = output(&["run", world, "--timeline", timeline]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(hash.unwrap()), "{shown}");
    assert!(std::fs::metadata(timeline).unwrap().len() > 0);
    let (shown, code) = output(&["profile", world]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("MAILBOX"), "{shown}");
    // A trace of it becomes the same timeline.
    let trace = folder().join("world.trace");
    let again = folder().join("again.pftrace");
    let [trace, again] = [&trace, &again].map(|path| path.to_str().unwrap());
    let (shown, code) = output(&["run", world, "--trace", trace, "--details", "all"]);
    assert_eq!(code, Some(0), "{shown}");
    let (shown, code) = output(&["timeline", trace, "--out", again]);
    assert_eq!(code, Some(0), "{shown}");
    let [first, second] = [timeline, again].map(|path| std::fs::read(path).unwrap());
    assert_eq!(first.len(), second.len());
    // What it cannot be used for is said.
    let (shown, code) = output(&["timeline", world, "--out", again]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("a scenario, and no trace"), "{shown}");
    let (shown, code) = output(&["ledger", world]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("host programs are recordings"), "{shown}");
}

/// gdb connects to the world of a failed test, goes to the firmware's handler and back to the beginning.
#[test]
fn gdb_opens_the_world_of_a_failed_test() {
    if !is_installed("gdb-multiarch", "gdb and the world of a failed test") {
        return;
    }
    // Paths of sockets are short.
    let folder = std::env::temp_dir().join(format!("lanigon-failed-{}", std::process::id()));
    let printed = failed(&folder);
    assert!(printed.contains("lanigon debug "), "{printed}");
    let socket = folder.join("socket");
    let mut server = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    server.arg("gdb").arg("--socket").arg(&socket);
    server.arg(folder.join("failed-the_test_that_fails/world.toml"));
    let mut server = server.stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !socket.exists() && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
    }
    let target = format!("target remote {}", socket.display());
    let commands = [
        target.as_str(),
        "break on_mailbox",
        "continue",
        "continue",
        "reverse-continue",
        "reverse-continue",
        "kill",
    ];
    let mut gdb = Command::new("gdb-multiarch");
    gdb.args(["-nx", "-batch"]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    let shown = String::from_utf8(gdb.output().unwrap().stdout).unwrap();
    let hits = shown.matches("hit Breakpoint 1").count();
    assert_eq!(hits, 2, "{shown}");
    assert!(
        shown.contains("No more reverse-execution history"),
        "{shown}"
    );
    assert!(server.wait().unwrap().success());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn recordings_can_be_turned_off() {
    let printed = failed(Path::new("off"));
    assert!(!printed.contains("lanigon debug"), "{printed}");
}
