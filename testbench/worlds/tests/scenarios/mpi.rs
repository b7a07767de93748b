//! Message passing in scenarios: the same programs over GM and EMP, with losses; wrong settings; processes that end.

use lanigon_workloads::mpi::MeasuredValue;
use lanigon_workloads::mpi::MpiUse;
use lanigon_worlds::simulation::RunOptions;

use super::gm::built;
use super::good;

/// Boards of the protocols.
const GM: &str = "board = \"lanai9.1-133\"";
const EMP: &str = "board = \"tigon2\"";

fn text(board: &str, nodes: u32, program: &str, more: &str) -> String {
    format!(
        "{board}\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\nrun = \"mpi\"\nnodes = \"all\"\n{program}\n{more}"
    )
}

#[test]
fn every_program_runs_over_both_protocols_with_losses() {
    if !built() {
        return;
    }
    let programs = [
        (2, "benchmark = \"latency\"\nbytes = [0, 100, 20000]"),
        (
            2,
            "benchmark = \"bandwidth\"\nbytes = [4, 20000]\nrounds = 2",
        ),
        (2, "benchmark = \"both-ways\"\nbytes = 4096\nrounds = 2"),
        (
            5,
            "benchmark = \"broadcast\"\nbytes = [0, 1, 40000]\nrounds = 3",
        ),
        (5, "benchmark = \"reduce\"\nbytes = 64\neager_bytes = 0"),
        (5, "benchmark = \"all-reduce\"\nbytes = [0, 8]"),
        (7, "benchmark = \"barrier\""),
        (3, "benchmark = \"stencil\"\npoints = 20\nsteps = 5"),
        (3, "benchmark = \"integer-sort\""),
        (
            5,
            "benchmark = \"all-gather\"\nbytes = [0, 3, 4096, 20000]\nrounds = 3",
        ),
        (
            6,
            "benchmark = \"jacobi\"\npoints = 13\nsteps = 9\noverlap = true",
        ),
        (4, "benchmark = \"cg\"\npoints = 9"),
    ];
    for board in [GM, EMP] {
        for (nodes, program) in programs {
            let loss = "[faults]\nloss = 0.002\n";
            let outcome = good(&text(board, nodes, program, loss));
            let [result] = &outcome.results::<MpiUse>()[..] else {
                panic!("{program}: {:?}", outcome.results::<MpiUse>());
            };
            assert_eq!(result.ranks, nodes as usize);
            assert!(!result.measured.is_empty());
            assert!(result.measured.iter().all(|one| one.value > 0.0));
        }
    }
}

#[test]
fn operations_go_on_while_programs_compute_with_losses() {
    if !built() {
        return;
    }
    for name in ["broadcast", "reduce"] {
        for bypass in ["none", name, "both"] {
            let program = format!(
                "benchmark = \"{name}\"\nbytes = [8, 6000]\nskew_us = 300\nrounds = 8\nbypass = \"{bypass}\"\nexit_delay_us = 5"
            );
            let outcome = good(&text(GM, 9, &program, "[faults]\nloss = 0.002\n"));
            let [result] = &outcome.results::<MpiUse>()[..] else {
                panic!("{program}: {:?}", outcome.results::<MpiUse>());
            };
            let handlers =
                |one: &MeasuredValue| one.skewed.is_some_and(|skewed| skewed.handlers > 0.0);
            assert_eq!(result.measured.iter().all(handlers), bypass != "none");
        }
    }
}

/// Solvers find the same with each executor, with and without overlap, and with losses; each rank compares with one process.
#[test]
fn solvers_end_alike_everywhere() {
    if !built() {
        return;
    }
    for (name, digits) in [("jacobi", 3), ("cg", 7)] {
        for overlap in [false, true] {
            let mut all = Vec::new();
            for place in [
                "on = \"host\"",
                "on = \"host\"\nbypass = \"immediate\"",
                "on = \"nic\"",
            ] {
                let program = format!(
                    "benchmark = \"{name}\"\npoints = 18\nsteps = 3000\ndigits = {digits}\noverlap = {overlap}\n{place}"
                );
                let outcome = good(&text(GM, 7, &program, "[faults]\nloss = 0.0005\n"));
                let solved = outcome.results::<MpiUse>()[0].measured[0].solved.unwrap();
                assert!(solved.converged, "{program}");
                all.push(solved.iterations);
            }
            assert!(
                all[0] > 20 && all.iter().all(|one| *one == all[0]),
                "{name}: {all:?}"
            );
        }
    }
}

/// Boards gather in less time than hosts, and only the root waits for their reductions.
#[test]
fn calls_on_boards_are_faster() {
    if !built() {
        return;
    }
    for name in ["all-gather", "reduce"] {
        let time = |on: &str| {
            let program = format!("benchmark = \"{name}\"\nbytes = 8\non = \"{on}\"");
            let outcome = good(&text(GM, 16, &program, "[faults]\nloss = 0.0\n"));
            outcome.results::<MpiUse>()[0].measured[0].value
        };
        let (nic, host) = (time("nic"), time("host"));
        assert!(nic < 0.9 * host, "{name}: {nic}, {host}");
    }
}

/// A long computation hides a reduction of boards, and none of hosts whose processes do not look.
#[test]
fn boards_reduce_while_hosts_compute() {
    if !built() {
        return;
    }
    let share = |place: &str| {
        let program = format!(
            "benchmark = \"jacobi\"\npoints = 64\noperation_ns = 300\noverlap = true\n{place}"
        );
        let outcome = good(&text(GM, 8, &program, ""));
        let solved = outcome.results::<MpiUse>()[0].measured[0].solved.unwrap();
        solved.hidden_us / solved.alone_us
    };
    let nic = share("on = \"nic\"");
    let host = share("on = \"host\"");
    let bypass = share("bypass = \"immediate\"");
    assert!(nic > 0.8 && bypass > 0.7, "{nic}, {bypass}");
    assert!(host < nic && host < bypass, "{host}, {nic}, {bypass}");
}

/// A late process holds up those below it in the tree of a broadcast, or above it in that of a reduction; with bypass only itself. If a
/// single one is late to a broadcast, it is mostly one with few others below it.
#[test]
fn bypass_pays_with_every_model_of_skew() {
    if !built() {
        return;
    }
    for skew in ["uniform", "exponential", "one-late"] {
        for name in ["broadcast", "reduce"] {
            let time = |bypass: &str| {
                let program = format!(
                    "benchmark = \"{name}\"\nbytes = 8\nskew_us = 400\nskew = \"{skew}\"\nrounds = 6\nbypass = \"{bypass}\""
                );
                let outcome = good(&text(GM, 16, &program, ""));
                outcome.results::<MpiUse>()[0].measured[0].value
            };
            let (with, without) = (time(name), time("none"));
            let most = match (name, skew) {
                ("broadcast", "one-late") => 1.0,
                _ => 0.8,
            };
            assert!(with < most * without, "{name}, {skew}: {with}, {without}");
        }
    }
}

#[test]
fn barriers_of_boards_are_faster() {
    if !built() {
        return;
    }
    let time = |barrier| {
        let program = format!("benchmark = \"barrier\"\nbarrier = \"{barrier}\"");
        good(&text(GM, 8, &program, "")).results::<MpiUse>()[0].measured[0].value
    };
    assert!(time("nic") < 0.8 * time("host"));
}

#[test]
fn wrong_programs_are_refused() {
    let check = |board, nodes, program, expected: &str| {
        let error = lanigon_workloads::parse("test.toml", &text(board, nodes, program, ""));
        let error = error.expect_err(program).to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        GM,
        3,
        "benchmark = \"latency\"",
        "latency has 2 ranks, not 3",
    );
    check(GM, 2, "", "\"benchmark\" is missing");
    check(GM, 2, "benchmark = \"scan\"", "no benchmark \"scan\"");
    check(
        EMP,
        2,
        "benchmark = \"barrier\"\nbarrier = \"nic\"",
        "boards with EMP execute no barriers",
    );
    check(
        EMP,
        2,
        "benchmark = \"broadcast\"\nbypass = \"broadcast\"",
        "boards with EMP raise no signals",
    );
    check(
        EMP,
        2,
        "benchmark = \"all-reduce\"\non = \"nic\"",
        "boards with EMP execute no reductions",
    );
    check(GM, 2, "benchmark = \"broadcast\"\non = \"nic\"", "on");
    check(GM, 2, "benchmark = \"stencil\"\noverlap = true", "overlap");
    check(
        GM,
        7,
        "benchmark = \"jacobi\"\npoints = 6",
        "6 points in each direction for 7 ranks: 7 at least",
    );
    check(GM, 2, "benchmark = \"barrier\"\nskew_us = 4", "skew_us");
    let model = |more| format!("benchmark = \"reduce\"\nskew = \"one-late\"{more}");
    let program = model("\nskew_us = 4").replace("one-late", "normal");
    check(GM, 2, &program, "no skew \"normal\"");
    let program = model("");
    check(GM, 2, &program, "without skew_us there are no delays");
    check(
        GM,
        4,
        "benchmark = \"stencil\"\npoints = 3",
        "3 rows for 4 ranks",
    );
    check(GM, 2, "benchmark = \"barrier\"\nbytes = 8", "bytes");
    check(GM, 2, "benchmark = \"reduce\"\nbytes = 4", "doubles");
    check(
        GM,
        2,
        "benchmark = \"all-reduce\"\nbytes = 12",
        "12 bytes are no whole number of doubles",
    );
    let acenic = "board = \"tigon2\"\nprotocol = \"acenic\"";
    check(acenic, 2, "benchmark = \"barrier\"", "mpi needs EMP or GM");
}

#[test]
fn a_rank_behind_a_cut_cable_ends_the_run_with_who_waits() {
    if !built() {
        return;
    }
    // Node 1 is cut off for good: the protocol gives up, and the barrier of the other one ends.
    let cut = "[[fault]]\ndo = \"cut\"\nnodes = 1\nat_us = 3000\n";
    let program = "benchmark = \"barrier\"\nrounds = 1000";
    for (board, expected) in [
        (GM, "waits for 1000000 us in barrier for rank"),
        (EMP, "rank 1 cannot be reached"),
    ] {
        let outcome = super::run(&text(board, 2, program, cut), &RunOptions::default());
        assert!(!outcome.is_good());
        let waits = |problem: &String| problem.contains(expected);
        assert!(outcome.problems.iter().any(waits), "{:?}", outcome.problems);
    }
}
