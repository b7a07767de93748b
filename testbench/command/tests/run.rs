//! `lanigon run` for its users.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::{pair, stream};

fn lanigon(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.arg("run").args(arguments).env_remove("RUST_LOG");
    command.output().unwrap()
}

/// A file of the tests. Names are unique per test, because tests run in parallel.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Exit code and document of a run.
fn json(name: &str, text: &str, options: &[&str]) -> (Option<i32>, Value) {
    let path = file(name, text);
    let mut arguments = vec![path.to_str().unwrap(), "--json"];
    arguments.extend(options);
    let output = lanigon(&arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.is_empty(), "{error}");
    (
        output.status.code(),
        serde_json::from_slice(&output.stdout).unwrap(),
    )
}

#[test]
fn a_run_prints_one_document_with_everything() {
    let text = pair(&stream(20, 3000)) + "[faults]\nloss = 0.1\n[emp]\ntimeout_us = 500\n";
    let (status, document) = json("run-all.toml", &text, &["--seed", "5"]);
    assert_eq!(status, Some(0));
    let counts = &document["messages"];
    assert_eq!(
        (&counts["posted"], &counts["delivered"]),
        (&20.into(), &20.into())
    );
    for key in [
        "lost",
        "duplicated",
        "reordered",
        "corrupted",
        "failed_with_status",
    ] {
        assert_eq!(counts[key], 0, "{key}");
    }
    assert!(document["retransmissions"].as_u64() > Some(0));
    assert!(document["drops"]["fault_lost"].as_u64() > Some(0));
    let latency = |key: &str| document["latency_us"][key].as_f64().unwrap();
    assert!(latency("p50") > 10.0 && latency("p50") <= latency("p99"));
    assert!(latency("p99") <= latency("max"));
    assert!(document["simulated_us"].as_f64() > Some(latency("max")));
    let programs = document["programs"].as_array().expect("a list");
    assert_eq!(
        programs.len(),
        document["nodes"].as_u64().expect("a number") as usize
    );
    assert!(
        programs
            .iter()
            .all(|program| program["polling_us"].as_f64() > Some(0.0))
    );
    assert_eq!(document["trace_hash"].as_str().unwrap().len(), 16);
    assert_eq!(document["seed"], 5);
    let again = json("run-again.toml", &text, &["--seed", "5", "--threads", "2"]).1;
    assert_eq!(again["trace_hash"], document["trace_hash"]);
    let other = json("run-other.toml", &text, &["--seed", "6"]).1;
    assert_ne!(other["trace_hash"], document["trace_hash"], "another seed");
}

#[test]
fn exit_codes_tell_what_came_of_it() {
    let forged = pair(&stream(3, 3000))
        + "[[fault]]\ndo = \"corrupt\"\nbyte = 60\nvalid_fcs = true\nframe = \"data\"\nfrom = 0\n";
    let (status, document) = json("run-forged.toml", &forged, &[]);
    assert_eq!(
        (status, &document["messages"]["corrupted"]),
        (Some(1), &1.into())
    );
    let good = pair(&stream(300, 9000));
    let (status, document) = json("run-short.toml", &good, &["--max-time", "500"]);
    assert_eq!(
        (status, &document["simulated_us"]),
        (Some(0), &500.0.into())
    );
    assert_eq!(document["end"], "time limit");
    let path = file("run-wrong.toml", &good.replace("stream", "steam"));
    let output = lanigon(&[path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8(output.stderr).unwrap();
    let expected =
        "run-wrong.toml:4: program.run: no program \"steam\"; did you mean \"stream\"?\n";
    assert!(message.ends_with(expected), "{message}");
    for wrong in [
        &["nowhere.toml"][..],
        &["x.toml", "--threads", "0"],
        &["x.toml", "--seed", "-1"],
        &["x.toml", "--max-time", "0"],
    ] {
        assert_eq!(lanigon(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_trace_tells_of_the_fault_and_changes_nothing() {
    let text =
        pair(&stream(4, 3000)) + "[[fault]]\ndo = \"drop\"\nfragment = 1\nmessage = 2\nfrom = 0\n";
    let trace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run-traced.txt");
    let options = ["--trace", trace.to_str().unwrap()];
    let (status, traced) = json("run-traced.toml", &text, &options);
    assert_eq!(status, Some(0));
    let lines = std::fs::read_to_string(trace).unwrap();
    assert_eq!(lines.matches("fault: lost").count(), 1);
    let plain = json("run-plain.toml", &text, &[]).1;
    assert_eq!(plain["trace_hash"], traced["trace_hash"]);
}

#[test]
fn firmware_that_panics_is_told_with_its_place() {
    let path = lanigon_worlds::files::own::project_scenarios().join("race.toml");
    let output = lanigon(&[path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("race.toml: 1 node, no switch, seed 1\n"));
    let problem = "PROBLEM   node 0: CPU A has stopped: panic at images/race-two-cpus/src/work.rs:";
    assert!(shown.contains(problem), "{shown}");
    assert!(
        shown.contains("end       A CHECK FAILED, after "),
        "{shown}"
    );
    // No messages between nodes.
    for word in ["messages", "frames", "drops"] {
        assert!(!shown.contains(word), "{word}: in\n{shown}");
    }
}

#[test]
fn profiles_tell_races_too() {
    let path = lanigon_worlds::files::own::project_scenarios().join("race.toml");
    let scenario = path.to_str().unwrap();
    let profile = |options: &[&str]| {
        let words = [&["profile", scenario, "--until", "+200us"], options].concat();
        let output = super::cli::lanigon(&words);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let race = "RACE      node 0: sram > 0x200, ";
    let (code, shown, _) = profile(&["--races"]);
    assert_eq!((code, shown.contains(race)), (Some(1), true), "{shown}");
    let (code, shown, said) = profile(&["--races", "--json"]);
    assert_eq!((code, said.contains(race)), (Some(1), true), "{said}");
    assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok());
    assert_eq!(profile(&[]).0, Some(0));
}

#[test]
fn people_get_a_summary() {
    let path = file("run-text.toml", &pair(&stream(4, 3000)));
    let output = lanigon(&[path.to_str().unwrap()]);
    let shown = String::from_utf8(output.stdout).unwrap();
    for part in [
        "2 nodes, no switch, seed 1",
        "4 posted, 4 delivered, none lost, duplicated, reordered or corrupted",
        "12 000 bytes delivered",
        "p50 ",
        "12 sent, 0 sent again, 4 acks",
        "CPU A",
        "all is done after",
    ] {
        assert!(shown.contains(part), "{part}: not in\n{shown}");
    }
}

#[test]
fn results_do_not_depend_on_observation() {
    let program = "[[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 100\nbytes = 64\n";
    let text = pair(program);
    let plain = json("observed.toml", &text, &[]);
    let trace = file("observed.trace", "");
    let timeline = file("observed.pftrace", "");
    let [trace, timeline] = [&trace, &timeline].map(|path| path.to_str().unwrap());
    let check = |options: &[&str]| {
        let observed = json("observed.toml", &text, options);
        assert_eq!(observed, plain, "{options:?}");
    };
    check(&["--timeline", timeline]);
    check(&["--trace", trace, "--details", "all"]);
    check(&["--trace", trace, "--instructions"]);
}
