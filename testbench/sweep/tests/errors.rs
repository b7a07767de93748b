//! Mistakes in files, with their positions and reasons.

use std::path::Path;

use lanigon_sweep::file::Sweep;
use lanigon_sweep::plan::SweepPlan;
use proptest::prelude::*;

use super::{AXES, SCENARIO, folder, sweep};

/// The error of a sweep with this head, when it is read or planned.
fn error(head: &str) -> String {
    let planned = sweep(head).and_then(|sweep| Ok(SweepPlan::new(&sweep)?));
    planned.map(|_| ()).unwrap_err().to_string()
}

#[track_caller]
fn check(head: &str, expected: &str) {
    assert_eq!(error(head), expected, "{head}");
}

/// An axis with these lines; they begin at line 4.
fn axis(lines: &str) -> String {
    format!("[[axis]]\nname = \"a\"\nkey = \"faults.loss\"\n{lines}\n")
}

#[test]
fn axes() {
    let name = "a name starts with a letter, goes on with letters, digits, - and _, and has at most 40 characters";
    check(
        "[[axis]]\nname = \"7\"",
        &format!("s.toml:2: axis.name: {name}"),
    );
    check(
        "[[axis]]\nname = \"seed\"",
        "s.toml:2: axis.name: \"seed\" is the name of another column",
    );
    check(
        "[[axis]]\nnam = \"a\"",
        "s.toml:2: axis.nam: no key \"nam\"; did you mean \"name\"?",
    );
    check(
        "[[axis]]\nname = \"a\"",
        "s.toml:1: axis: \"key\" is missing: what the axis sets, as in key = \"network.nodes\"",
    );
    check(
        "[[axis]]\nname = \"a\"\nkey = \"a[\"",
        "s.toml:3: axis.key: \"a[\" is no path: a \"]\" is missing",
    );
    check(
        "[[axis]]\nname = \"a\"\nkey = \"a\"\nkeys = [\"b\"]",
        "s.toml:4: axis.keys: the key is given by \"key\" already",
    );
    check(
        "[[axis]]\nname = \"a\"\nkeys = []",
        "s.toml:3: axis.keys: names no key",
    );
    check(
        "[[axis]]\nname = \"a\"\nkey = \"boards[*]\"",
        "s.toml:3: axis.key: [*] is for measures; list the keys in \"keys\"",
    );
}

#[test]
fn values_of_axes() {
    check(
        &axis("valus = [1]"),
        "s.toml:4: axis.valus: no key \"valus\"; did you mean \"values\"?",
    );
    check(
        &axis("values = []"),
        "s.toml:4: axis.values: an axis has between 1 and 10000 values",
    );
    check(
        &axis("values = [1, 3, 3]"),
        "s.toml:4: axis.values: has 3 twice",
    );
    check(
        &axis("values = [1]\nfrom = 1"),
        "s.toml:5: axis.from: the values are given by \"values\" already",
    );
    check(&axis("from = 1"), "s.toml:1: axis: \"to\" is missing");
    check(
        &axis("from = 1\nto = 2"),
        "s.toml:4: axis.from: one of \"step\" and \"factor\" is needed",
    );
    check(
        &axis("from = 1\nto = 2\nstep = -1"),
        "s.toml:6: axis.step: it does not lead from \"from\" to \"to\"",
    );
    check(
        &axis("from = 1\nto = 2\nfactor = 0.5"),
        "s.toml:6: axis.factor: it does not lead from \"from\" to \"to\"",
    );
    check(
        &axis("from = 0\nto = 1\nstep = 1e-6"),
        "s.toml:5: axis.to: an axis has at most 10000 values",
    );
    check(
        &axis("values = [0, 1]\nlabels = [\"x\"]"),
        "s.toml:5: axis.labels: 1 labels for 2 values",
    );
    check(
        &axis("values = [0, 1]\nlabels = [\"x\", \"x\"]"),
        "s.toml:5: axis.labels: \"x\" names two values",
    );
    check(
        &axis("values = [\"x\"]\ntimes = 2"),
        "s.toml:3: axis.key: faults.loss: \"times\" and \"over\" are for numbers",
    );
    check(
        &axis("values = [1]\ntimes = 2\nover = 3"),
        "s.toml:6: axis.over: one of \"times\" and \"over\" is enough",
    );
    check(
        &axis("values = [1]\nzap = 2"),
        "s.toml:5: axis.zap: no key \"zap\"; did you mean \"zip\"?",
    );
}

#[test]
fn axes_together() {
    let again = "[[axis]]\nname = \"a\"\nkey = \"seed\"\nvalues = [1]\n";
    check(
        &(axis("values = [0]") + again),
        "s.toml:6: axis: there is an axis or measure \"a\" already",
    );
    let same = "[[axis]]\nname = \"b\"\nkey = \"faults.loss\"\nvalues = [1]\n";
    check(
        &(axis("values = [0]") + same),
        "s.toml:7: axis.key: faults.loss is set twice",
    );
    let zipped = "[[axis]]\nname = \"b\"\nkey = \"seed\"\nvalues = [1]\nzip = \"z\"\n";
    check(
        &(axis("values = [0, 1]\nzip = \"z\"") + zipped),
        "s.toml:7: axis: axes that move together have equally many values: \"a\" has 2, \"b\" has 1",
    );
}

#[test]
fn seeds_and_measures() {
    check("[repeat]\n", "s.toml:1: repeat: \"seeds\" is missing");
    check(
        "[repeat]\nseeds = 0",
        "s.toml:2: repeat.seeds: 0 is not between 1 and 100000",
    );
    check("[repeat]\nseeds = []", "s.toml:2: repeat.seeds: no seed");
    check(
        "[repeat]\nseeds = [1, 2, 1]",
        "s.toml:2: repeat.seeds: names a seed twice",
    );
    check(
        "[repeat]\nseeds = 2\nkey = \"\"",
        "s.toml:3: repeat.key: \"\" is no path: a key is missing",
    );
    check(
        "[repeat]\nseeds = 2\n[[axis]]\nname = \"a\"\nkey = \"seed\"\nvalues = [1]",
        "s.toml:5: axis.key: seed is set twice",
    );
    check("[measure]\n", "s.toml:1: measure: names no measure");
    check(
        "[measure]\nm = 1",
        "s.toml:2: measure.m: expected a table, found a value of kind integer",
    );
    check(
        "[measure]\nm = { unit = \"us\" }",
        "s.toml:2: measure.m: \"path\" is missing",
    );
    check(
        "[measure]\nm = \"boards[*].cpu_a\"",
        "s.toml:2: measure.m: [*] needs to know how values become one: { path = ..., of = \"mean\" }",
    );
    check(
        "[measure]\nm = { path = \"bytes\", of = \"mean\" }",
        "s.toml:2: measure.m.path: \"of\" says how the values of a path with [*] become one, and only those",
    );
    check(
        "[measure]\nm = { path = \"boards[*].cpu_a\", of = \"median\" }",
        "s.toml:2: measure.m.of: no function \"median\"; did you mean \"mean\"?",
    );
    check(
        "[measure]\nstatus = \"bytes\"",
        "s.toml:2: measure.status: \"status\" is the name of another column",
    );
}

#[test]
fn runs_that_cannot_be() {
    check(
        &axis("values = [0.5, 1.5]"),
        "s.toml:3: axis.key: with a = 1.5: faults.loss: it must lie between 0 and 1",
    );
    let set = |key: &str, value: &str| {
        format!("[[axis]]\nname = \"a\"\nkey = \"{key}\"\nvalues = [{value}]\n")
    };
    check(
        &set("program[0].bites", "1"),
        "s.toml:3: axis.key: with a = 1: program.bites: no key \"bites\"; did you mean \"bytes\"?",
    );
    check(
        &set("program[1].bytes", "1"),
        "s.toml:3: axis.key: program[1].bytes: the scenario has 1 items there, from number 0 on",
    );
    check(
        &set("costs.core.clok", "1"),
        "s.toml:3: axis.key: with a = 1: costs.core.clok: no entry of profile tigon2-88mhz \"core.clok\"; did you mean \"core.clock\"?",
    );
    // The error is not at the key of an axis: the values of the run are named.
    let memory = "[[axis]]\nname = \"memory\"\nkey = \"host_memory_mb\"\nvalues = [8]\n";
    check(
        &(set("program[0].bytes", "2000000") + memory),
        "s.toml:10: scenario: with a = 2000000, memory = 8: program.run: its buffers take 54 MB of node 0, whose host_memory_mb is 8",
    );
    let many = |name: &str| {
        format!("[[axis]]\nname = \"{name}\"\nkey = \"{name}\"\nfrom = 1\nto = 2000\nstep = 1\n")
    };
    check(
        &(many("a") + &many("b")),
        "s.toml:2: axis: 4000000 runs; a sweep has at most 1000000",
    );
}

#[test]
fn scenarios_in_files() {
    let folder = folder("errors");
    let check = |scenario: Option<&str>, expected: &str| {
        let file = folder.join("base.toml");
        let _ = std::fs::remove_file(&file);
        if let Some(text) = scenario {
            std::fs::write(&file, text).unwrap();
        }
        let text = "description = \"d\"\nscenario = \"base.toml\"\n";
        let planned =
            Sweep::parse("s.toml", text, &folder).and_then(|sweep| Ok(SweepPlan::new(&sweep)?));
        let error = planned.map(|_| ()).unwrap_err().to_string();
        let error = error.replace(&file.display().to_string(), "BASE");
        assert_eq!(error, expected);
    };
    check(
        None,
        "s.toml:2: scenario: BASE: No such file or directory (os error 2)",
    );
    check(Some("[network\n"), "BASE:1: unclosed table, expected `]`");
    let good = "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\n";
    check(Some(good), "BASE:3: program: \"bytes\" is missing");
    check(
        Some(&format!("{good}bytes = 1\nimage = \"x\"\n")),
        "BASE:8: program.image: no key \"image\"; there are run, from, to, start_us, messages, bytes, window, receives",
    );
    let text = Sweep::parse("s.toml", "axis = []\n", Path::new(""));
    assert_eq!(
        text.unwrap_err().to_string(),
        "s.toml:1: \"scenario\" is missing"
    );
    let example = Sweep::parse("s.toml", "scenario = \"pair\"\n", &folder).unwrap();
    assert!(example.base.name.ends_with("scenarios/pair.toml"));
}

proptest! {
    /// No change of a good file makes the reader panic.
    #[test]
    fn no_changed_file_makes_it_panic(at in 0usize..600, length in 0usize..6, with in "[\\PC\\n]{0,6}") {
        let text = format!("{AXES}{SCENARIO}");
        let bound = |at: usize| {
            let at = at.min(text.len());
            (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap()
        };
        let (from, to) = (bound(at), bound(at + length));
        let changed = format!("{}{with}{}", &text[..from], &text[to.max(from)..]);
        let _ = Sweep::parse("s.toml", &changed, Path::new(""));
    }
}
