//! `lanigon run` as several processes.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use super::{pair, stream};

pub(super) const STAR: &str = "
seed = 3
[emp]
timeout_us = 500
[network]
topology = \"star\"
nodes = 6
[[program]]
run = \"all-to-all\"
nodes = \"all\"
messages = 5
bytes = [64, 5000]
[faults]
loss = 0.01
";

/// A scenario that runs for minutes.
pub(super) fn long() -> String {
    STAR.replace("messages = 5", "messages = 30000")
}

pub(super) fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

pub(super) fn lanigon(path: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.arg("run").arg(path).args(options);
    command.env_remove("RUST_LOG").env_remove("LANIGON_DATA");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// An address that nothing uses.
fn address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Starts rank 0 and rank 1 of a run, each with its own options. `log`: what they say besides errors.
fn two_ranks(paths: [&Path; 2], options: [&[&str]; 2], log: &str) -> [Child; 2] {
    let at = address();
    [0, 1].map(|rank| {
        let place = format!("{rank}/2");
        let mut all = vec!["--rank", &place, "--at", &at];
        all.extend(options[rank]);
        let mut command = lanigon(paths[rank], &all);
        command.env("RUST_LOG", log).spawn().unwrap()
    })
}

/// Waits until the run of a rank has begun; returns the rest of what it says.
fn begun(rank: &mut Child) -> BufReader<ChildStderr> {
    let mut said = BufReader::new(rank.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.ends_with("all ranks have come\n"), "{line}");
    said
}

pub(super) fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn processes_print_the_report_of_one_process() {
    let star = file("ranks-star.toml", STAR);
    let pairs = file("ranks-pair.toml", &pair(&stream(20, 3000)));
    for (path, options) in [
        (&star, &["--json"][..]),
        (&star, &[]),
        (&pairs, &["--json"]),
    ] {
        let expected = lanigon(path, options).output().unwrap();
        assert_eq!(expected.status.code(), Some(0), "{}", error(&expected));
        for number in ["1", "2", "3"] {
            let mut all = vec!["--processes", number];
            all.extend(options);
            let shared = lanigon(path, &all).output().unwrap();
            assert_eq!(shared.status.code(), Some(0), "{}", error(&shared));
            assert_eq!(error(&shared), "");
            assert!(shared.stdout == expected.stdout, "{number} processes");
        }
    }
}

/// Runs a command that succeeds; returns what it prints.
fn printed(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert_eq!(error(&output), "");
    output.stdout
}

/// Ranks save the file of one process, and go on from that of one process. Nothing else changes.
#[test]
fn snapshots_are_those_of_one_process() {
    let gm = STAR.replace(
        "[emp]\ntimeout_us",
        "board = \"lanai9.1-133\"\n[gm]\nresend_us",
    );
    let gm = gm.replace("messages = 5", "messages = 1");
    for (path, us) in [
        (file("ranks-saved.toml", STAR), "700"),
        (file("ranks-saved-pair.toml", &pair(&stream(20, 3000))), "0"),
        (file("ranks-saved-gm.toml", &gm), "300"),
    ] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let snapshot = |name: &str| folder.join(name).display().to_string();
        let one = snapshot("ranks-one.snap");
        let report = printed(&mut lanigon(&path, &["--snapshot-at", us, &one]));
        for number in ["2", "3"] {
            let shared = snapshot("ranks-shared.snap");
            let options = ["--processes", number, "--snapshot-at", us, &shared];
            assert!(printed(&mut lanigon(&path, &options)) == report);
            let [one, shared] = [&one, &shared].map(|path| std::fs::read(path).unwrap());
            assert!(one == shared, "another snapshot of {number} processes");
        }
        let from = |options: &[&str]| {
            let mut all = vec![one.as_str()];
            all.extend(options);
            printed(&mut lanigon(Path::new("--from"), &all))
        };
        let again = snapshot("ranks-again.snap");
        let options = ["--processes", "3", "--snapshot-at", us, &again];
        assert!(from(&options) == from(&[]));
        assert!(std::fs::read(&one).unwrap() == std::fs::read(&again).unwrap());
    }
}

/// A snapshot after the end of the run: the report is shown, and rank 0 says why there is no snapshot.
#[test]
fn a_run_can_be_over_before_its_snapshot() {
    let star = file("ranks-over.toml", STAR);
    let late = Path::new(env!("CARGO_TARGET_TMPDIR")).join("late.snap");
    let options = [
        "--processes",
        "2",
        "--snapshot-at",
        "1e9",
        late.to_str().unwrap(),
    ];
    let output = lanigon(&star, &options).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stdout.is_empty());
    let text = error(&output);
    assert!(
        text.starts_with("error: the run was over, or interrupted, "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!late.exists());
}

#[test]
fn ranks_of_another_run_are_refused() {
    let star = file("ranks-refused.toml", STAR);
    let other = file(
        "ranks-refused-other.toml",
        &format!("{STAR}duplication = 0.1\n"),
    );
    for (paths, options, reason) in [
        (
            [&*star, &*star],
            [&["--seed", "4"][..], &[]],
            "error: rank 1 has another seed than rank 0: 3, and rank 0 has 4\n",
        ),
        (
            [&star, &star],
            [&[], &["--max-time", "900"]],
            "error: rank 1 has another time limit than rank 0: ",
        ),
        (
            [&star, &star],
            [&["--snapshot-at", "9", "/dev/null"], &[]],
            "error: rank 1 has another time of a snapshot than rank 0: none, and rank 0 has 9.",
        ),
        (
            [&star, &other],
            [&[], &[]],
            "error: rank 1 has another scenario than rank 0: ",
        ),
    ] {
        for child in two_ranks(paths, options, "error") {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(2));
            assert!(error(&output).starts_with(reason), "{}", error(&output));
        }
    }
}

#[test]
fn wrong_requests_are_refused() {
    let star = file("ranks-wrong.toml", STAR);
    let at = address();
    for (options, reason) in [
        (&["--rank", "2/2", "--at", &*at][..], "a rank is I/N"),
        (&["--rank", "1/2"], "--at"),
        (&["--processes", "0"], "between 1 and 1024"),
        (
            &["--processes", "2", "--rank", "0/2", "--at", &at],
            "cannot be used with",
        ),
        (
            &["--processes", "2", "--pcap", "x"],
            "error: --pcap needs one process",
        ),
        (
            &["--processes", "2", "--trace", "x"],
            "error: --trace needs one process",
        ),
        (
            &["--processes", "2", "--timeline", "x"],
            "error: --timeline needs one process",
        ),
        (
            &["--processes", "2", "--snapshot-at", "9", "nowhere/x.snap"],
            "error: nowhere/x.snap: No such file",
        ),
        (
            &["--processes", "2", "--snapshot-at", "9"],
            "2 values required for '--snapshot-at <US> <FILE>'",
        ),
        (
            &["--rank", "0/2", "--at", "nowhere"],
            "error: nowhere is no address to meet at",
        ),
    ] {
        let output = lanigon(&star, options).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(error(&output).contains(reason), "{}", error(&output));
    }
    let started = pair("[[program]]\nrun = \"start\"\nnodes = \"all\"\n");
    let started = file("ranks-started.toml", &started);
    let output = lanigon(&started, &["--processes", "2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error(&output).contains("\"start\" needs one process"),
        "{}",
        error(&output)
    );
}

/// A program without MPI does not run the same once for each process of `mpirun`.
#[cfg(not(feature = "mpi"))]
#[test]
fn processes_of_mpirun_need_a_program_with_mpi() {
    let star = file("ranks-no-mpi.toml", STAR);
    let run = |rank: &str, ranks: &str, options: &[&str]| {
        let mut command = lanigon(&star, options);
        command.env("OMPI_COMM_WORLD_RANK", rank);
        command.env("OMPI_COMM_WORLD_SIZE", ranks);
        command.output().unwrap()
    };
    let refused = run("0", "2", &[]);
    assert_eq!(refused.status.code(), Some(2));
    let expected = "error: mpirun has started 2 processes, and this lanigon is built without MPI (make install ARGS='--features mpi'); \
        `lanigon run SCENARIO --processes 2` shares a run without it\n";
    assert_eq!(error(&refused), expected);
    // Rank 0 says it for all.
    let silent = run("1", "2", &[]);
    assert_eq!((silent.status.code(), &*error(&silent)), (Some(2), ""));
    let wanted = run("0", "1", &["--mpi"]);
    assert_eq!(wanted.status.code(), Some(2));
    assert!(error(&wanted).starts_with("error: this lanigon is built without MPI"));
    // A run of one process needs none.
    let alone = run("0", "1", &["--json"]);
    assert_eq!(alone.status.code(), Some(0), "{}", error(&alone));
}

/// Something that is no rank comes to rank 0.
#[test]
fn a_foreign_process_is_no_rank() {
    let star = file("ranks-foreign.toml", STAR);
    let at = address();
    let first = lanigon(&star, &["--rank", "0/2", "--at", &at])
        .spawn()
        .unwrap();
    let request = |at: &str| {
        let mut stream = std::net::TcpStream::connect(at)?;
        std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\n\r\n")
    };
    while request(&at).is_err() {
        thread::sleep(Duration::from_millis(10));
    }
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = error(&output);
    assert!(
        text.ends_with("is no rank of this version of lanigon\n"),
        "{text}"
    );
}

#[test]
fn a_rank_that_dies_ends_the_others() {
    let path = file("ranks-dies.toml", &long());
    let [mut first, mut second] = two_ranks([&path, &path], [&[], &[]], "ranks=info");
    let mut said = begun(&mut first);
    second.kill().unwrap();
    second.wait().unwrap();
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    assert_eq!(text, "error: rank 0 cannot go on: rank 1 is gone\n");
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

#[test]
fn an_interrupt_of_one_rank_ends_all() {
    let path = file("ranks-interrupt.toml", &long());
    let [mut first, mut second] = two_ranks([&path, &path], [&["--json"], &[]], "ranks=info");
    let said = [&mut first, &mut second].map(begun);
    let mut kill = Command::new("kill");
    let kill = kill.args(["-INT", &second.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let [first, second] = [first, second].map(|child| child.wait_with_output().unwrap());
    drop(said);
    assert_eq!(first.status.code(), Some(130));
    assert_eq!(second.status.code(), Some(130));
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(text.contains("\"end\": \"interrupted\""), "{text}");
}
