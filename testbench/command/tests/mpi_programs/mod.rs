//! `lanigon launch` with programs of real MPI libraries: `make test-mpi-programs`.
//!
//! Each `mpiexec` of the search path, and those that LANIGON_MPIEXEC names (separated by colons), is tried with the `mpicc` beside it. Without any,
//! the tests say SKIPPED.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Text of the program that computes, if its results are right.
const RIGHT: &str = "all right on";
/// Text about a rank that dies: its starter may kill the others first.
const DIED: &str = "has ended without MPI_Finalize";
/// A launch takes no longer than this.
const LONGEST: Duration = Duration::from_secs(120);

/// The starters of this machine.
fn starters() -> Vec<PathBuf> {
    let named = env::var_os("LANIGON_MPIEXEC").unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&path).map(|folder| folder.join("mpiexec"));
    let all = env::split_paths(&named).chain(in_path);
    let mut known = Vec::new();
    let mut found = Vec::new();
    for starter in all {
        let has_compiler = starter.with_file_name("mpicc").is_file();
        let Some(real) = starter.canonicalize().ok().filter(|_| has_compiler) else {
            continue;
        };
        if !known.contains(&real) {
            known.push(real);
            found.push(starter);
        }
    }
    if found.is_empty() {
        eprintln!("SKIPPED: no mpiexec with mpicc (docs/mpi-programs.md)");
    }
    found
}

/// Whether a starter is that of MPICH.
fn is_mpich(starter: &Path) -> bool {
    let output = Command::new(starter).arg("--version").output().unwrap();
    output.stdout.starts_with(b"HYDRA")
}

/// Builds a program of this folder with the compiler beside a starter.
fn build(starter: &Path, name: &str, number: usize) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mpi_programs");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-{name}-{number}"));
    let compiler = starter.with_file_name("mpicc");
    let mut command = Command::new(&compiler);
    command.arg("-O1").arg("-o").arg(&program);
    let output = command
        .arg(source.join(format!("{name}.c")))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", compiler.display());
    program
}

/// Launches a program on so many ranks.
fn command(starter: &Path, ranks: usize, program: &[&str]) -> Command {
    command_with(&[], starter, ranks, program)
}

fn command_with(options: &[&str], starter: &Path, ranks: usize, program: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(["launch", "-n", &ranks.to_string(), "--mpiexec"]);
    command.arg(starter).args(options).arg("--").args(program);
    command.env_remove("RUST_LOG").env_remove("LANIGON_DATA");
    // A starter finds its own files.
    let folder = starter.parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = [folder].into_iter().chain(env::split_paths(&path));
    command.env("PATH", env::join_paths(path).unwrap());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Output of a launch, which ends in time and leaves no folder behind.
fn launch(starter: &Path, ranks: usize, program: &[&str]) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(starter, ranks, program);
    command.env("TMPDIR", folder.path());
    let begin = Instant::now();
    let output = command.output().unwrap();
    assert!(begin.elapsed() < LONGEST);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    let ours = left.iter().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("lanigon-")
    });
    assert_eq!(ours.count(), 0, "{left:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

fn line<'a>(text: &'a str, start: &str) -> &'a str {
    let mut lines = text.lines();
    lines
        .find(|line| line.starts_with(start))
        .unwrap_or_default()
}

/// Processor time is much longer than what calls take here, so a busy machine changes nothing.
#[test]
fn computation_takes_time_if_it_is_to() {
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "compute", number);
        let program = program.to_str().unwrap();
        for (options, took) in [(&[][..], "none"), (&["--compute", "1000"][..], "time")] {
            let output = command_with(options, starter, 1, &[program]);
            let output = { output }.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let expected = format!("computation took {took}, what was left out took less");
            assert_eq!(line(&text, "computation took"), expected, "{text}");
            assert_eq!(output.status.code(), Some(0), "{text}");
            let stated = "computation takes the processor time of this machine times 1000";
            assert_eq!(text.contains(stated), took == "time", "{text}");
        }
    }
}

#[test]
fn programs_compute_what_they_should_in_the_same_time() {
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "all", number);
        let program = program.to_str().unwrap();
        for ranks in [1, 2, 4, 16] {
            let (output, first) = launch(starter, ranks, &[program]);
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{}: {first}{error}",
                starter.display()
            );
            let last = ranks - 1;
            let expected = format!("{RIGHT} {ranks} ranks, the last one on node{last}");
            assert_eq!(line(&first, RIGHT), expected);
            let (_, again) = launch(starter, ranks, &[program]);
            assert_eq!(
                line(&first, "trace"),
                line(&again, "trace"),
                "{}",
                starter.display()
            );
            assert_eq!(line(&first, "end"), line(&again, "end"));
        }
    }
}

#[test]
fn waits_with_a_limit_take_simulated_time() {
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "waits", number);
        let run = || {
            let (output, text) = launch(starter, 2, &[program.to_str().unwrap()]);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{}: {text}",
                starter.display()
            );
            assert!(text.contains("all waits are right"), "{text}");
            text
        };
        let (first, again) = (run(), run());
        assert_eq!(
            line(&first, "end"),
            line(&again, "end"),
            "{}",
            starter.display()
        );
    }
}

/// A rank that only reads the clock stops no others, and its time counts to the end. How often a library polls for its starter in `MPI_Finalize` changes
/// nothing.
#[test]
fn looks_at_the_clock_take_time() {
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "clock", number);
        let (output, text) = launch(starter, 2, &[program.to_str().unwrap()]);
        let who = starter.display();
        assert_eq!(output.status.code(), Some(0), "{who}: {text}");
        assert!(text.contains("the clock is right"), "{who}: {text}");
        let mut words = line(&text, "end").split_whitespace();
        let end_us = words.find_map(|word| word.parse::<f64>().ok());
        assert!(end_us.unwrap() > 70_000.0, "{who}: {text}");
        for _ in 0..4 {
            let (_, again) = launch(starter, 2, &[program.to_str().unwrap()]);
            assert_eq!(line(&text, "trace"), line(&again, "trace"), "{who}");
            assert_eq!(line(&text, "end"), line(&again, "end"), "{who}");
        }
    }
}

/// Processes that ranks start have places of their own, and begin at the same simulated time in each run; without places they are refused. Open MPI polls
/// while its starter works, and may send at other times on a busy machine.
#[test]
fn processes_that_ranks_start_have_hosts() {
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "spawn", number);
        let program = [program.to_str().unwrap()];
        let run = || {
            let mut command = command_with(&["--universe", "6"], starter, 2, &program);
            let output = command.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let error = String::from_utf8_lossy(&output.stderr);
            let who = starter.display();
            assert_eq!(output.status.code(), Some(0), "{who}: {text}{error}");
            assert!(
                text.contains("all processes were right on 2 ranks"),
                "{who}: {text}"
            );
            text
        };
        let first = run();
        if is_mpich(starter) {
            let again = run();
            for start in ["trace", "end", "processes"] {
                assert_eq!(line(&first, start), line(&again, start));
            }
        }
        let said = "2 ranks and 6 started by them";
        assert!(line(&first, "processes").contains(said), "{first}");
        let (output, text) = launch(starter, 2, &program);
        assert_ne!(output.status.code(), Some(0));
        let said = "asks for 2 processes, and there are 2 places, of which the ranks have 2";
        assert!(text.contains(said), "{}: {text}", starter.display());
    }
}

/// Barriers and reductions of 16 ranks on the boards are as right as those of the library, barriers quicker; boards without them are refused.
#[test]
fn collective_operations_are_those_of_the_boards_if_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let emp = folder.path().join("emp.toml");
    let network = "board = \"tigon2-88mhz\"\n[network]\ntopology = \"star\"\nnodes = 2\n";
    fs::write(&emp, network).unwrap();
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "collectives", number);
        let program = program.to_str().unwrap();
        let times_us = |options: &[&str]| -> [f64; 2] {
            let output = command_with(options, starter, 16, &[program])
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(
                output.status.code(),
                Some(0),
                "{}: {text}",
                starter.display()
            );
            let said = line(&text, "all is right: ");
            let word = |place| said.split_whitespace().nth(place).unwrap().parse().unwrap();
            [word(4), word(7)]
        };
        let (own, boards) = (times_us(&[]), times_us(&["--nic-collectives"]));
        let is_other = boards[0] < 0.7 * own[0] && boards[1] != own[1];
        assert!(is_other, "{}: {own:?} us, {boards:?} us", starter.display());
        assert_eq!(boards, times_us(&["--nic-collectives"]));
        let options = ["--nic-collectives", "--scenario", emp.to_str().unwrap()];
        let output = command_with(&options, starter, 2, &[program])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("has boards without GM"), "{error}");
    }
}

/// Scenarios whose programs are of MPI, beside messages of this project: how the program ends, exit code of the run, and what is said.
#[test]
fn scenarios_have_programs_of_mpi() {
    for (number, starter) in starters().iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        for (name, how, code, said) in [
            ("all", "", 0, "all right on 4 ranks, the last one on node2"),
            ("ends", "exit", 1, DIED),
        ] {
            let program = build(starter, name, number + 100);
            let (program, starter) = (program.display(), starter.display());
            let text = format!(
                "board = \"lanai9.2-200\"\n[network]\ntopology = \"star\"\nnodes = 4\n\
                 [[program]]\nrun = \"process\"\nnodes = [0, 2]\nper_node = 2\ninterface = \"mpi\"\n\
                 mpiexec = \"{starter}\"\ncommand = [\"{program}\", \"{how}\"]\n\
                 [[program]]\nrun = \"ping-pong\"\nnodes = [1, 3]\nmessages = 100\nbytes = 8\n"
            );
            let file = folder.path().join(format!("{name}.toml"));
            fs::write(&file, text).unwrap();
            let run = |threads: &str| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
                command.args(["run", "--threads", threads]).arg(&file);
                let output = command.env_remove("RUST_LOG").output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let error = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(code), "{text}{error}");
                assert!(text.contains(said), "{said}: {text}{error}");
                text
            };
            let (first, again) = (run("1"), run("2"));
            for start in ["trace", "end", "processes"] {
                let is_equal = line(&first, start) == line(&again, start);
                assert!(is_equal || code != 0, "{first}{again}");
            }
        }
    }
}

#[test]
fn programs_that_end_otherwise_end_the_world() {
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "ends", number);
        let program = program.to_str().unwrap();
        for (how, codes, said) in [
            ("exit", &[7][..], DIED),
            ("abort", &[9], "rank 1 has called MPI_Abort with code 9\n"),
            ("kill", &[9, 137], DIED),
            ("without", &[1], "0 of 2 ranks have begun MPI"),
            ("wait", &[1], "all ranks wait, and no message is under way"),
            (
                "finalize",
                &[1],
                "all ranks wait, and no message is under way",
            ),
            ("fork", &[0], "all is done"),
            ("sleep", &[0], "all is done"),
        ] {
            let (output, text) = launch(starter, 2, &[program, how]);
            let code = output.status.code().unwrap();
            assert!(text.contains(said), "{}: {how}: {text}", starter.display());
            assert!(
                codes.contains(&code),
                "{}: {how}: {code}",
                starter.display()
            );
        }
    }
}

/// Whether a process runs this program.
fn runs(program: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line.starts_with(program.as_bytes()))
}

#[test]
fn an_interrupt_ends_all_processes() {
    for (number, starter) in starters().iter().enumerate() {
        let program = build(starter, "ends", 100 + number);
        let program = program.to_str().unwrap();
        for signal in ["INT", "KILL"] {
            let folder = tempfile::tempdir().unwrap();
            let mut command = command(starter, 2, &[program, "wait"]);
            let mut child = command.env("TMPDIR", folder.path()).spawn().unwrap();
            let begin = Instant::now();
            while !runs(program) && begin.elapsed() < LONGEST {
                thread::sleep(Duration::from_millis(20));
            }
            thread::sleep(Duration::from_millis(300));
            let id = child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-s", signal, &id])
                    .status()
                    .unwrap()
                    .success()
            );
            let status = child.wait().unwrap();
            if signal == "INT" {
                assert_eq!(status.code(), Some(130));
            }
            while runs(program) && begin.elapsed() < LONGEST {
                thread::sleep(Duration::from_millis(20));
            }
            assert!(!runs(program), "{}: {signal}", starter.display());
        }
    }
}

/// A library that does not know the starter takes each rank for a program of its own, or does not find the provider.
#[test]
fn a_program_of_another_library_is_told() {
    let starters = starters();
    let mpich = starters.iter().position(|starter| is_mpich(starter));
    let others = (0..starters.len()).filter(|number| Some(*number) != mpich);
    for other in others {
        let Some(mpich) = mpich else {
            continue;
        };
        for (starter, of) in [(mpich, other), (other, mpich)] {
            let program = build(&starters[of], "ends", 200 + of);
            let (output, text) =
                launch(&starters[starter], 2, &[program.to_str().unwrap(), "fork"]);
            let said = line(&text, "PROBLEM");
            assert!(
                said.contains("than that of its starter")
                    || said.contains("is not that of its starter"),
                "{text}"
            );
            assert!(!output.status.success(), "{text}");
        }
    }
}

#[test]
fn what_cannot_be_launched_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let strange = folder.path().join("mpiexec");
    fs::write(&strange, "#!/bin/sh\necho 'My MPI 1.0'\n").unwrap();
    fs::set_permissions(&strange, fs::Permissions::from_mode(0o755)).unwrap();
    for (starter, program, said) in [
        (Path::new("/no/such/mpiexec"), "true", "No such file"),
        (&*strange, "/nowhere", "there is no program /nowhere"),
        (
            &*strange,
            "true",
            "says \"My MPI 1.0\"; known are Open MPI 4 and 5, and MPICH 4 and 5",
        ),
    ] {
        let output = command(starter, 2, &[program]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains(said) && error.lines().count() == 1,
            "{error}"
        );
    }
}
