//! `lanigon run` as processes of `mpirun`.
//!
//! These tests need Open MPI: `make test-mpi`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::ranks::{STAR, error, file, lanigon, long};
use super::{pair, stream};

/// So long the ranks may take to begin.
const BEGIN: Duration = Duration::from_secs(60);

/// A command of `mpirun` that starts a rank of each of these lists of options.
fn mpirun(ranks: &[(&Path, &[&str])]) -> Command {
    let mut command = Command::new("mpirun");
    // Without its own messages about a rank that fails.
    command.arg("--quiet");
    for (index, (path, options)) in ranks.iter().enumerate() {
        if index > 0 {
            command.arg(":");
        }
        command.args(["-n", "1"]);
        command.arg(env!("CARGO_BIN_EXE_lanigon"));
        command.arg("run").arg(path).args(*options);
    }
    for (name, value) in [
        // Machines of tests have few processors, and containers one user.
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ] {
        command.env(name, value);
    }
    command.env_remove("RUST_LOG").env_remove("LANIGON_DATA");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Output of `number` ranks with the same options.
fn outputs(number: usize, path: &Path, options: &[&str]) -> Output {
    let mut all = vec!["--mpi"];
    all.extend(options);
    mpirun(&vec![(path, &*all); number]).output().unwrap()
}

#[test]
fn processes_of_mpirun_print_the_report_of_one_process() {
    let star = file("mpi-star.toml", STAR);
    let pairs = file("mpi-pair.toml", &pair(&stream(20, 3000)));
    for (path, options) in [
        (&star, &["--json"][..]),
        (&star, &["--threads", "2"]),
        // The third rank has no node.
        (&pairs, &["--json"]),
    ] {
        let expected = lanigon(path, options).output().unwrap();
        assert_eq!(expected.status.code(), Some(0), "{}", error(&expected));
        for number in [1, 2, 3] {
            let shared = outputs(number, path, options);
            assert_eq!(error(&shared), "");
            assert_eq!(shared.status.code(), Some(0));
            assert!(shared.stdout == expected.stdout, "{number} processes");
        }
    }
    // Several processes need no option.
    let expected = lanigon(&star, &[]).output().unwrap();
    let shared = mpirun(&[(&star, &[]), (&star, &[])]).output().unwrap();
    assert!(shared.stdout == expected.stdout, "{}", error(&shared));
}

/// Messages that MPI keeps until the other rank asks for them.
#[test]
fn two_ranks_send_long_messages_to_each_other() {
    let text = STAR.replace("nodes = 6", "nodes = 24");
    let path = file("mpi-long-messages.toml", &text);
    let expected = lanigon(&path, &["--json"]).output().unwrap();
    let mut command = mpirun(&[(&path, &["--json"]), (&path, &[])]);
    // Every message but the empty one.
    command.env("OMPI_MCA_btl_vader_eager_limit", "64");
    let shared = command.output().unwrap();
    assert!(shared.stdout == expected.stdout, "{}", error(&shared));
}

/// Two ranks are refused: one of them says why in one line, both have the same exit code.
#[track_caller]
fn refused(ranks: [(&Path, &[&str]); 2], reason: &str) {
    let output = mpirun(&ranks).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{reason}");
    let text = error(&output);
    assert!(text.starts_with(&format!("error: {reason}")), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(output.stdout.is_empty(), "{reason}");
}

#[test]
fn ranks_of_mpirun_with_different_runs_are_refused() {
    let star = file("mpi-refused.toml", STAR);
    let other = file(
        "mpi-refused-other.toml",
        &format!("{STAR}duplication = 0.1\n"),
    );
    let none = PathBuf::from("mpi-no-file.toml");
    for (first, second, reason) in [
        (
            (&*star, &["--seed", "4"][..]),
            (&*star, &[][..]),
            "rank 1 has another seed than rank 0: 3, and rank 0 has 4\n",
        ),
        (
            (&star, &[]),
            (&star, &["--max-time", "900"]),
            "rank 1 has another time limit than rank 0: ",
        ),
        (
            (&star, &[]),
            (&other, &[]),
            "rank 1 has another scenario than rank 0: ",
        ),
        (
            (&star, &[]),
            (&none, &[]),
            "rank 1: mpi-no-file.toml: No such file",
        ),
    ] {
        refused([first, second], reason);
    }
}

#[test]
fn requests_that_do_not_fit_mpirun_are_refused() {
    let star = file("mpi-wrong.toml", STAR);
    for (options, reason) in [
        (
            &["--processes", "2"][..],
            "--processes is for processes without MPI: mpirun has started 2 processes, which share the run\n",
        ),
        (
            &["--rank", "0/2", "--at", "127.0.0.1:7000"],
            "--rank is for processes without MPI: ",
        ),
        (&["--pcap", "x"], "--pcap needs one process: "),
        (&["--trace", "x"], "--trace needs one process: "),
        (&["--timeline", "x"], "--timeline needs one process: "),
        (
            &["--snapshot-at", "9", "nowhere/x.snap"],
            "nowhere/x.snap: No such file",
        ),
    ] {
        refused([(&star, options); 2], reason);
    }
    let none = PathBuf::from("mpi-no-file.toml");
    refused([(&none, &[]); 2], "mpi-no-file.toml: No such file");
    let started = pair("[[program]]\nrun = \"start\"\nnodes = \"all\"\n");
    let started = file("mpi-started.toml", &started);
    let output = mpirun(&[(&started, &[]), (&started, &[])])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = error(&output);
    assert!(text.contains("\"start\" needs one process"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn without_mpirun_the_option_is_refused() {
    let star = file("mpi-alone.toml", STAR);
    let output = lanigon(&star, &["--mpi"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = "error: --mpi: no launcher of MPI has started this process: ";
    assert!(error(&output).starts_with(expected), "{}", error(&output));
}

/// A run of two ranks that has begun.
struct Running {
    mpirun: Child,
    /// The process of each rank.
    ranks: [String; 2],
}

impl Running {
    /// Starts two ranks of a long run; `name`: that of the test.
    fn start(name: &str) -> Self {
        let path = file(&format!("mpi-{name}.toml"), &long());
        let places = [0, 1].map(|rank| {
            let place = path.with_extension(format!("rank{rank}"));
            let _ = std::fs::remove_file(&place);
            place
        });
        let command = mpirun(&[(&path, &["--json"]), (&path, &[])]);
        // A shell around each rank writes down its process and what it says.
        let ranks: Vec<OsString> = command.get_args().map(OsString::from).collect();
        let mut shells = Command::new("mpirun");
        let mut place = places.iter();
        for word in ranks {
            if word == env!("CARGO_BIN_EXE_lanigon") {
                let script = "echo $$ > \"$0\"; RUST_LOG=ranks=info exec \"$@\" 2>> \"$0\"";
                shells.args(["sh", "-c", script]).arg(place.next().unwrap());
            }
            shells.arg(word);
        }
        let environment: Vec<_> = command.get_envs().collect();
        for (key, value) in environment {
            match value {
                Some(value) => shells.env(key, value),
                None => shells.env_remove(key),
            };
        }
        // A rank that sends a message which MPI keeps cannot end by itself when the other one is dead.
        shells.env("OMPI_MCA_btl_vader_eager_limit", "65536");
        let mpirun = shells
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + BEGIN;
        let ranks = places.map(|place| {
            loop {
                let text = std::fs::read_to_string(&place).unwrap_or_default();
                if text.contains("all ranks have come\n") {
                    break text.lines().next().unwrap().to_owned();
                }
                assert!(Instant::now() < until, "{text}");
                thread::sleep(Duration::from_millis(10));
            }
        });
        Self { mpirun, ranks }
    }

    fn signal(signal: &str, process: &str) {
        let kill = Command::new("kill").args([signal, process]).status();
        assert!(kill.unwrap().success());
    }

    /// The end of the run, and what rank 0 has said of it.
    fn end(self, name: &str) -> (Output, String) {
        let output = self.mpirun.wait_with_output().unwrap();
        let path = file(&format!("mpi-{name}.toml"), "").with_extension("rank0");
        let said = std::fs::read_to_string(path).unwrap();
        let errors = said.lines().filter(|line| line.starts_with("error: "));
        (output, errors.collect::<Vec<_>>().join("\n"))
    }
}

#[test]
fn an_interrupt_of_one_rank_of_mpirun_ends_all() {
    let run = Running::start("interrupt");
    Running::signal("-INT", &run.ranks[1]);
    let (output, said) = run.end("interrupt");
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert_eq!(said, "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"end\": \"interrupted\""), "{text}");
}

/// `mpirun` has an exit code of its own then.
#[test]
fn an_interrupt_of_mpirun_shows_partial_results() {
    let run = Running::start("mpirun");
    Running::signal("-INT", &run.mpirun.id().to_string());
    let (output, said) = run.end("mpirun");
    assert_eq!(said, "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"end\": \"interrupted\""), "{text}");
}

#[test]
fn a_rank_of_mpirun_that_dies_ends_the_others() {
    let run = Running::start("dies");
    Running::signal("-KILL", &run.ranks[1]);
    let (output, said) = run.end("dies");
    let expected = "error: rank 0 cannot go on: the connection to rank 1 failed: no message since the signal to end";
    assert_eq!(said, expected);
    assert_ne!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
}
