//! `lanigon launch --sockets` with unchanged programs: Python's, and with LANIGON_TESTS=all those of the distribution that are installed.

mod page;
mod scenarios;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A launch takes no longer than this.
const LONGEST: Duration = Duration::from_secs(60);

/// Boards and networks, as files of scenarios.
const NETWORKS: [&str; 2] = [
    "board = \"lanai9.2-200\"\n[network]\ntopology = \"star\"\nnodes = 4\n",
    "board = \"tigon2-88mhz\"\n[network]\ntopology = \"star\"\nnodes = 4\n[faults]\nloss = 0.01\n",
];

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

/// Whether these programs are there; says what is not tested if not.
fn are_there(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| find(program).is_none());
    if let Some(program) = missing {
        eprintln!("SKIPPED: no {program} (docs/sockets.md)");
    }
    missing.is_none()
}

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/socket_programs");
    folder.join(name).display().to_string()
}

fn command(options: &[&str], programs: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(["launch", "--sockets"]).args(options);
    command.arg("--").args(programs);
    command.env_remove("RUST_LOG").env_remove("LANIGON_DATA");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Output of a launch, which ends in time and leaves no folder behind.
fn launch(options: &[&str], programs: &[&str]) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(options, programs);
    command.env("TMPDIR", folder.path());
    let begin = Instant::now();
    let output = command.output().unwrap();
    assert!(begin.elapsed() < LONGEST, "{programs:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

/// Launches programs that end well, twice with equal results; what they print.
#[track_caller]
fn twice(options: &[&str], programs: &[&str]) -> String {
    let run = || {
        let (output, text) = launch(options, programs);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{programs:?}: {text}{error}");
        text
    };
    let (first, again) = (run(), run());
    for start in ["trace ", "end ", "processes "] {
        assert_eq!(line(&first, start), line(&again, start), "{programs:?}");
    }
    first
}

fn line<'a>(text: &'a str, start: &str) -> &'a str {
    let mut lines = text.lines();
    let found = lines.find(|line| line.starts_with(start));
    found.unwrap_or_default()
}

#[test]
fn sockets_do_what_those_of_linux_do() {
    if !are_there(&["python3"]) {
        return;
    }
    let program = source("all.py");
    let folder = tempfile::tempdir().unwrap();
    for (number, network) in NETWORKS.iter().enumerate() {
        let file = folder.path().join(format!("{number}.toml"));
        fs::write(&file, network).unwrap();
        let options = ["--scenario", file.to_str().unwrap()];
        let text = twice(&options, &["-n", "2", "python3", &program]);
        for rank in 0..2 {
            let said = format!("rank {rank} all right");
            assert!(text.contains(&said), "{text}");
        }
    }
}

/// A server with a thread for each connection, and clients, of the standard library.
#[test]
fn servers_and_clients_of_python_run_unchanged() {
    if !are_there(&["python3"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let place = folder.path().to_str().unwrap();
    let client = "import urllib.request, zlib; d = urllib.request.urlopen('http://node0/file').read(); print(len(d), zlib.crc32(d))";
    let server = ["python3", "-m", "http.server", "-d", place, "80", ":"];
    let clients = ["-n", "3", "python3", "-c", client];
    let text = twice(&[], &[&server[..], &clients].concat());
    let said = format!("200000 {}", crc32fast::hash(&bytes));
    assert_eq!(text.matches(&said).count(), 3, "{text}");
    // Tasks of one thread; a name would be looked up in another one, whose order is the machine's.
    let tasks = "import asyncio, os\nasync def serve():\n async def one(r, w):\n  w.write(await r.readexactly(5)); await w.drain(); w.close()\n async with await asyncio.start_server(one, '0.0.0.0', 90) as s: await s.serve_forever()\nasync def ask():\n for i in range(3):\n  r, w = await asyncio.open_connection('10.0.0.1', 90)\n  w.write(b'hello'); print(await r.read()); await asyncio.sleep(0.1)\nasyncio.run(ask() if int(os.environ['LANIGON_RANK']) else serve())";
    let text = twice(&["-n", "2"], &["python3", "-c", tasks]);
    assert_eq!(text.matches("b'hello'").count(), 3, "{text}");
}

/// The calls of each process are in a trace that is asked for them, each with its return, and change nothing else in the run.
#[test]
fn traces_have_the_calls_of_processes() {
    if !are_there(&["python3"]) {
        return;
    }
    let server = "import socket; s = socket.create_server(('', 7)); c, _ = s.accept(); c.sendall(c.recv(9)); c.close()";
    let client =
        "import socket; c = socket.create_connection(('node0', 7)); c.sendall(b'hello'); c.recv(9)";
    let programs = ["python3", "-c", server, ":", "python3", "-c", client];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("calls.txt");
    let options = ["--trace", file.to_str().unwrap(), "--details", "host"];
    let traced = twice(&options, &programs);
    let trace = fs::read_to_string(&file).unwrap();
    for call in [
        "0: bind of socket 1 to port 7",
        "0: accept on socket 1 as socket 2",
        "0: read of up to 9 bytes from socket 2",
        "1: connect of socket 1 to rank 0, port 7",
        "1: write of 5 bytes to socket 1",
        "1: wait",
    ] {
        let count = |verb| {
            let event = format!("{verb} process: rank {call}\n");
            trace.matches(&event).count()
        };
        assert!(count("call") > 0, "{call}");
        assert_eq!(count("call"), count("return"), "{call}");
    }
    let plain = twice(&[], &programs);
    assert_eq!(line(&traced, "trace "), line(&plain, "trace "));
}

/// Sleeping, and waits for descriptors, locks and conditions, which end in simulated time.
#[test]
fn waits_with_a_limit_take_simulated_time() {
    if !are_there(&["python3"]) {
        return;
    }
    let text = twice(&["-n", "2"], &["python3", &source("waits.py")]);
    let said: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("all waits are right"))
        .collect();
    assert_eq!(said.len(), 2, "{text}");
}

/// The results are also a document, which has what the lines say.
#[test]
fn results_are_written_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.json");
    let options = ["-n", "2", "--json", file.to_str().unwrap()];
    let (output, text) = launch(&options, &["false"]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let document = fs::read_to_string(&file).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let hash = document["trace_hash"].as_str().unwrap();
    assert_eq!(line(&text, "trace "), format!("trace     {hash}"));
    assert_eq!(document["processes"][0]["ranks"], 2, "{document:#}");
}

/// A time limit ends programs, which is no failure, also one that only reads the clock.
#[test]
fn a_time_limit_ends_programs() {
    if !are_there(&["python3"]) {
        return;
    }
    for waits in [
        "time.sleep(9)",
        "any(time.time() < 0 for _ in iter(int, 1))",
    ] {
        let program = format!("import time; {waits}");
        let options = ["--max-time", "5000"];
        let (output, text) = launch(&options, &["python3", "-c", &program]);
        assert_eq!(output.status.code(), Some(0), "{text}");
        let end = "end       the time is over, after 5000.0 us";
        assert_eq!(line(&text, "end "), end);
    }
}

/// Programs that use no sockets: one that sleeps outside the world until the world stands still, and one that waits for a child.
#[test]
fn programs_without_sockets_end_well() {
    if !are_there(&["python3"]) {
        return;
    }
    let child =
        "import subprocess; print(subprocess.run(['echo', 'x'], capture_output=True).stdout)";
    for program in [
        &["sh", "-c", "sleep 1; echo awake"][..],
        &["python3", "-c", child],
    ] {
        let (output, text) = launch(&["-n", "1"], program);
        assert_eq!(output.status.code(), Some(0), "{program:?}: {text}");
    }
}

#[test]
fn programs_that_end_otherwise_are_told() {
    if !are_there(&["python3"]) {
        return;
    }
    let program = source("ends.py");
    for (how, code, said) in [
        ("exit", 7, "all is done"),
        ("kill", 137, "all is done"),
        ("wait", 1, "rank 0 waits for bytes; rank 1 waits for bytes"),
        ("fork", 0, "all is done"),
        ("daemon", 0, "all is done"),
        ("become", 7, "all is done"),
        ("alone", 1, "rank 0 waits for a connection"),
    ] {
        let ranks = if how == "alone" { "1" } else { "2" };
        let (output, text) = launch(&["-n", ranks], &["python3", &program, how]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(said), "{how}: {text}{error}");
        assert_eq!(output.status.code(), Some(code), "{how}: {text}{error}");
        let is_told = error.contains("sockets in a child of the program are not supported");
        assert_eq!(is_told, how == "fork", "{error}");
        let is_named = error.contains(&format!(" has ended with exit code {code}"));
        let has_failed = text.contains("all is done") && code != 0;
        assert!(is_named || !has_failed, "{how}: {error}");
    }
    assert!(!runs("3607.25"), "a process is left");
}

/// Whether a process runs with this word.
fn runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        line.split(|byte| *byte == 0)
            .any(|own| own == word.as_bytes())
    })
}

#[test]
fn an_interrupt_ends_all_programs() {
    if !are_there(&["python3"]) {
        return;
    }
    for (how, signal) in [("spin", "INT"), ("spin", "KILL"), ("serve", "KILL")] {
        let folder = tempfile::tempdir().unwrap();
        // A name that no other process has.
        let program = folder.path().join("ends.py");
        fs::copy(source("ends.py"), &program).unwrap();
        let program = program.to_str().unwrap();
        let mut command = command(&["--stdin", "0"], &["python3", program, how]);
        let mut child = command.env("TMPDIR", folder.path()).spawn().unwrap();
        let begin = Instant::now();
        while !runs(program) && begin.elapsed() < LONGEST {
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(300));
        let id = child.id().to_string();
        // It may have ended: a server without clients is not waited for.
        let _ = Command::new("kill").args(["-s", signal, &id]).status();
        let status = child.wait().unwrap();
        if signal == "INT" {
            assert_eq!(status.code(), Some(130));
        }
        while runs(program) && begin.elapsed() < LONGEST {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(!runs(program), "{how}, {signal}");
    }
}

/// Options and programs of launches that are refused, and what is said.
const REFUSED: &[(&[&str], &[&str], &str)] = &[
    (&["--stdin", "2"], &["true"], "--stdin: there is no rank 2"),
    (
        &[],
        &["true", ":"],
        "there is no program on one side of `:`",
    ),
    (
        &["-n", "3"],
        &["true", ":", "true"],
        "-n 3: the programs have 2 ranks",
    ),
    (
        &[],
        &["-n", "x", "true"],
        "-n of a program: a number from 1 to 1024",
    ),
    (
        &[],
        &["/nowhere/program"],
        "there is no program /nowhere/program",
    ),
    (
        &[],
        &["true", ":", "./net.toml"],
        "net.toml is no program that can be executed",
    ),
    (&[], &["/usr/bin", "x"], "/usr/bin is a folder"),
    (
        &["--scenario", "net.toml"],
        &["-n", "5", "true"],
        "net.toml: 4 nodes for 5 ranks",
    ),
    (
        &["--scenario", "bare.toml"],
        &["true"],
        "bare.toml: process needs EMP or GM, and node 0 runs AceNIC firmware",
    ),
    (
        &["--json", "/nowhere/results"],
        &["true"],
        "/nowhere/results: ",
    ),
    (
        &["--json", "-"],
        &["true"],
        "--json names a file: it does not go to standard output",
    ),
    (
        &["--pcap", "-"],
        &["true"],
        "--pcap names a file: it does not go to standard output",
    ),
    (
        &["--scenario", "net.toml", "--json", "net.toml"],
        &["true"],
        "--json name the same file",
    ),
];

#[test]
fn what_cannot_be_launched_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("net.toml"), NETWORKS[0]).unwrap();
    let bare = "board = \"tigon2-88mhz\"\nprotocol = \"acenic\"\n[network]\ntopology = \"none\"\nnodes = 1\n";
    fs::write(folder.path().join("bare.toml"), bare).unwrap();
    for (options, programs, said) in REFUSED {
        let mut command = command(options, programs);
        let output = command.current_dir(&folder).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}{error}");
        assert!(error.contains(said), "{said}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// Programs of the distribution: each needs some that are installed, and says something.
#[test]
fn programs_of_the_distribution_run_unchanged() {
    if !::cases::runs_long("programs of the distribution run unchanged") {
        return;
    }
    let redis = "redis-server --port 6379 --bind 0.0.0.0 --protected-mode no";
    let redis_say = format!("{redis} : redis-cli -h node0 ping");
    for (needs, programs, said) in [
        (
            &["nc"][..],
            "nc -lN 5000 : nc -N node0 5000",
            "in 4 packets",
        ),
        (
            &["nc"],
            "nc -lNd 5000 : sh -c exec\u{a0}nc\u{a0}-N\u{a0}node0\u{a0}5000\u{a0}</etc/services",
            "http",
        ),
        (&["iperf"], "iperf -s : iperf -c node0 -n 4M", "4.00 MBytes"),
        (&["redis-server", "redis-cli"], &redis_say, "PONG"),
    ] {
        if !are_there(needs) {
            continue;
        }
        let words: Vec<String> = programs
            .split(' ')
            .map(|word| word.replace('\u{a0}', " "))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Threads of iperf wait for locks with limits of time, which are real.
        let text = match needs {
            ["iperf"] => launch(&[], &words).1,
            _ => twice(&[], &words),
        };
        assert!(text.contains(said), "{programs}: {text}");
    }
}
