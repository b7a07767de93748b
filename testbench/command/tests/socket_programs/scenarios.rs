//! Scenarios whose programs are processes, as `lanigon run` and `lanigon sweep` run them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{LONGEST, NETWORKS, are_there, line, runs, source};

/// A server and two clients, the second one in a second program; ping-pong on other nodes.
const BESIDE: &str = r#"
[[program]]
run = "process"
nodes = [0, 1]
command = ["python3", "ends.py", "talk"]
[[program]]
run = "process"
nodes = 3
command = ["python3", "ends.py", "talk"]
start_us = 500
[[program]]
run = "ping-pong"
nodes = [2, 4]
messages = 100
bytes = 64
"#;

/// Program table whose two ranks run `ends.py` with an argument.
fn alone(how: &str) -> String {
    format!(
        "[[program]]\nrun = \"process\"\nnodes = [0, 1]\ncommand = [\"python3\", \"ends.py\", \"{how}\"]\n"
    )
}

/// A folder with the program `ends.py` and a scenario.
struct ProgramFolder(tempfile::TempDir);

impl ProgramFolder {
    fn new(network: &str, programs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(source("ends.py"), folder.path().join("ends.py")).unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let place = Self(folder);
        place.write("s.toml", &format!("{network}{programs}"));
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command on the scenario. Programs run in its folder, wherever the command does.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
        command
            .args(words)
            .current_dir(self.path())
            .env("TMPDIR", self.path().join("tmp"))
            .env_remove("RUST_LOG")
            .env_remove("LANIGON_DATA")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The output of a command that ends in time and leaves nothing behind: exit code, standard output and error.
    fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let begin = Instant::now();
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(words).output().unwrap();
        assert!(begin.elapsed() < LONGEST, "{words:?}");
        let left = fs::read_dir(self.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0, "{words:?}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    }
}

/// The networks of launches, with a fifth node.
fn networks() -> [String; 2] {
    NETWORKS.map(|network| network.replace("nodes = 4", "nodes = 5"))
}

#[test]
fn programs_run_beside_others_in_the_same_time() {
    if !are_there(&["python3"]) {
        return;
    }
    for network in networks() {
        let place = ProgramFolder::new(&network, BESIDE);
        let run = |options: &[&str]| {
            let (code, text, error) = place.run(&[&["run", "s.toml"], options].concat());
            assert_eq!(code, Some(0), "{text}{error}");
            text
        };
        let first = run(&[]);
        for said in [
            "rank 1 of 3 heard b'hello'",
            "rank 2 of 3 heard b'hello'",
            "200 posted, 200 delivered",
            "processes ranks 0 to 1 sent 25 bytes",
            "exit codes none 0",
            "processes rank 2 sent 15 bytes",
            "exit code 0",
        ] {
            assert!(first.contains(said), "{said}: {first}");
        }
        for options in [&[][..], &["--threads", "2"]] {
            let again = run(options);
            for start in ["trace ", "end ", "processes "] {
                assert_eq!(line(&first, start), line(&again, start), "{options:?}");
            }
        }
        // The document is alone on standard output.
        let (code, text, error) = place.run(&["run", "s.toml", "--json"]);
        assert_eq!(code, Some(0), "{error}");
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["processes"][0]["exit_codes"][1], 0);
        assert!(document["processes"][0]["exit_codes"][0].is_null());
        assert_eq!(document["processes"][1]["first_rank"], 2);
        assert_eq!(document["processes"][1]["interface"], "sockets");
        assert!(error.contains("rank 2 of 3 heard b'hello'"), "{error}");
    }
}

#[test]
fn programs_that_fail_make_the_run_fail() {
    if !are_there(&["python3"]) {
        return;
    }
    for (how, code, said) in [
        (
            "exit",
            1,
            "PROBLEM   rank 1, python3 ends.py exit, has ended with exit code 7\n",
        ),
        (
            "kill",
            1,
            "ends.py kill, has ended with exit code 137 (128 + signal 9)\n",
        ),
        ("wait", 1, "rank 0 waits for bytes; rank 1 waits for bytes"),
        ("become", 1, "has ended with exit code 7"),
        ("fork", 0, "all is done"),
    ] {
        let place = ProgramFolder::new(&networks()[0], &alone(how));
        let (found, text, error) = place.run(&["run", "s.toml"]);
        assert!(text.contains(said), "{how}: {text}{error}");
        assert_eq!(found, Some(code), "{how}: {text}{error}");
    }
    // A limit of time ends what runs.
    let place = ProgramFolder::new(&networks()[0], &alone("wait"));
    let (code, text, _) = place.run(&["run", "s.toml", "--max-time", "1500"]);
    assert!(text.contains("exit codes none none"), "{text}");
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn each_run_of_a_sweep_has_its_own_processes() {
    if !are_there(&["python3"]) {
        return;
    }
    let place = ProgramFolder::new(&networks()[0], BESIDE);
    place.write(
        "sweep.toml",
        "description = \"two starts\"\nscenario = \"s.toml\"\n[[axis]]\nname = \"start\"\nunit = \"us\"\n\
         key = \"program[1].start_us\"\nvalues = [0, 2000]\n[measure]\nbytes = { path = \"processes[1].bytes\" }\n\
         code = { path = \"processes[1].exit_codes[0]\" }\n",
    );
    let (code, text, error) = place.run(&["sweep", "sweep.toml", "--out", "results"]);
    assert_eq!(code, Some(0), "{text}{error}");
    assert_eq!(error.matches("heard b'hello'").count(), 4, "{error}");
    let table = fs::read_to_string(place.path().join("results/results.csv")).unwrap();
    assert_eq!(table.matches(",15").count(), 2, "{table}");
    // One that cannot be executed is refused before the first run.
    place.write(
        "command.toml",
        "description = \"two programs\"\nscenario = \"s.toml\"\n[[axis]]\nname = \"program\"\n\
         key = \"program[1].command\"\nvalues = [\"true\", \"./nothing\"]\n[measure]\nbytes = { path = \"processes[1].bytes\" }\n",
    );
    let (code, _, error) = place.run(&["sweep", "command.toml", "--out", "none"]);
    assert_eq!(code, Some(2), "{error}");
    let said = "with program = ./nothing: program.command: there is no program ";
    assert!(
        error.contains("command.toml:5: ") && error.contains(said),
        "{error}"
    );
    assert!(!place.path().join("none").exists());
    // A program that has changed is run again.
    for (program, made) in [("", "0 made now"), ("# new", "2 made now")] {
        place.write(
            "ends.py",
            &(fs::read_to_string(source("ends.py")).unwrap() + program),
        );
        let (_, text, _) = place.run(&["sweep", "sweep.toml", "--out", "results"]);
        assert!(text.contains(made), "{text}");
    }
}

/// Other commands that run a scenario start its processes as `run` does. A debugger only goes forward.
#[test]
fn other_commands_start_processes_too() {
    if !are_there(&["python3"]) {
        return;
    }
    let place = ProgramFolder::new(&networks()[0], BESIDE);
    let debug = |commands: &[&str]| {
        let mut words = vec!["debug", "s.toml"];
        commands
            .iter()
            .for_each(|own| words.extend(["--execute", own]));
        place.run(&words)
    };
    for words in [&["profile", "s.toml"][..], &["ledger", "s.toml"]] {
        let (code, text, error) = place.run(words);
        assert_eq!(code, Some(0), "{words:?}: {text}{error}");
        assert!(
            text.contains("rank 2 of 3 heard b'hello'"),
            "{words:?}: {text}"
        );
        let (code, text, error) = place.run(&[words, &["--json"]].concat());
        assert_eq!(code, Some(0), "{words:?}: {text}{error}");
        assert!(
            serde_json::from_str::<serde_json::Value>(&text).is_ok(),
            "{text}"
        );
        assert!(error.contains("rank 2 of 3 heard b'hello'"), "{error}");
    }
    let (code, text, error) = debug(&["goto +50ms"]);
    assert_eq!(code, Some(0), "{text}{error}");
    assert!(text.contains("rank 2 of 3 heard b'hello'"), "{text}");
    let (code, text, error) = debug(&["goto +5ms", "goto +1ms"]);
    assert_eq!(code, Some(2), "{text}{error}");
    assert!(
        error.contains("earlier times cannot be shown"),
        "{text}{error}"
    );
}

#[test]
fn an_interrupt_ends_the_processes_of_a_run() {
    if !are_there(&["python3"]) {
        return;
    }
    let place = ProgramFolder::new(&networks()[0], "");
    let program = place.path().join("ends.py");
    let program = program.to_str().unwrap();
    place.write(
        "s.toml",
        &(networks()[0].clone() + &alone("spin").replace("ends.py", program)),
    );
    let child = place.command(&["run", "s.toml"]).spawn().unwrap();
    let begin = Instant::now();
    while !runs(program) && begin.elapsed() < LONGEST {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    Command::new("kill")
        .args(["-s", "INT", &id])
        .status()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("end       interrupted"), "{text}");
    assert!(!runs(program));
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0);
}

/// Commands with a program of these keys, and what is said.
const REFUSED: &[(&[&str], &str, &str)] = &[
    (&["run", "s.toml"], "", "`command` names no program"),
    (
        &["run", "s.toml"],
        "command = \"no-such-program\"",
        "s.toml:8: program.command: there is no program no-such-program",
    ),
    (
        &["run", "s.toml"],
        "command = \"./no-such-program\"",
        "/no-such-program",
    ),
    (
        &["run", "s.toml"],
        "command = \"./ends.py\"",
        "/ends.py is no program that can be executed (chmod +x)",
    ),
    (
        &["profile", "s.toml"],
        "command = [\"./tmp\", \"x\"]",
        "/tmp is a folder",
    ),
    (
        &["run", "s.toml"],
        "command = \"sleep 1\"",
        "sleep 1; with arguments it is a list: [\"sleep\", ...]",
    ),
    (
        &["run", "s.toml"],
        "comand = \"true\"",
        "s.toml:8: program.comand: no key \"comand\"; did you mean \"command\"?",
    ),
    (
        &["run", "s.toml"],
        "command = \"true\"\nper_node = 2",
        "s.toml:9: program.per_node: goes with a command and interface = \"mpi\"",
    ),
    (
        &["run", "s.toml"],
        "command = \"true\"\nranks = 1",
        "s.toml:9: program.ranks: goes with a command and interface = \"mpi\"",
    ),
    (
        &["run", "s.toml"],
        "command = \"true\"\ninterface = \"mpi\"\nranks = 2",
        "s.toml:10: program.ranks: 2 ranks, and the nodes have room for 1",
    ),
    (
        &["run", "s.toml"],
        "command = \"true\"\ninterface = \"mpi\"\nmpiexec = \"/no/mpiexec\"",
        "/no/mpiexec: No such file",
    ),
    (
        &["run", "s.toml", "--snapshot-at", "10", "file"],
        "command = \"true\"",
        "no snapshot: the state of programs of this machine is their own",
    ),
    (
        &["run", "s.toml", "--processes", "2"],
        "command = \"true\"",
        "programs of this machine cannot share a run",
    ),
    (
        &["launch", "--sockets", "--scenario", "s.toml", "--", "true"],
        "command = \"true\"",
        "s.toml: its programs have commands: `lanigon run` starts them",
    ),
];

#[test]
fn what_cannot_be_run_is_refused_in_one_line() {
    let program = |keys: &str| format!("[[program]]\nrun = \"process\"\nnodes = 0\n{keys}\n");
    let own = ["s.toml:6: program.run: ", "s.toml:8: program.command: "];
    for (words, keys, said) in REFUSED {
        let place = ProgramFolder::new(&networks()[0], &program(keys));
        let (code, text, error) = place.run(words);
        assert_eq!(code, Some(2), "{keys}: {text}{error}");
        assert!(error.contains(said), "{said}: {error}");
        let is_own = said.contains(".toml") || own.iter().any(|own| error.contains(own));
        assert!(is_own && error.lines().count() == 1, "{error}");
    }
}
