//! Parts of sweeps on several machines.

use std::fs;

use lanigon_sweep::merge::merge;
use lanigon_sweep::store::Shard;
use lanigon_sweep::table;

use super::{AXES, folder, options, run, tables};

fn part(index: usize) -> Shard {
    Shard { index, count: 3 }
}

#[test]
fn parts_together_are_the_whole() {
    let whole = folder("parts-whole");
    run(AXES, &whole, &options(2, Shard::ALL));
    let parts = [1, 2, 3].map(|index| folder(&format!("part-{index}")));
    for (at, folder) in parts.iter().enumerate() {
        let report = run(AXES, folder, &options(2, part(at + 1)));
        assert_eq!((report.progress.total, report.complete), (4, false));
    }
    let out = folder("parts-out");
    let merged = merge(&parts[..2], &out).unwrap();
    assert_eq!(merged.missing, [2, 5, 8, 11], "runs of part 3");
    let merged = merge(&parts, &out).unwrap();
    assert!(merged.missing.is_empty());
    table::write(&out, &merged.plan, &merged.rows).unwrap();
    assert_eq!(tables(&whole), tables(&out));
    // A sweep goes on with what was merged.
    let report = run(AXES, &out, &options(1, Shard::ALL));
    assert_eq!(report.before, 12);
}

#[test]
fn parts_may_share_a_folder() {
    let whole = folder("shared-whole");
    run(AXES, &whole, &options(2, Shard::ALL));
    let shared = folder("shared");
    for index in 1..=3 {
        let report = run(AXES, &shared, &options(1, part(index)));
        assert_eq!(report.complete, index == 3);
    }
    let merged = merge(std::slice::from_ref(&shared), &shared).unwrap();
    assert!(merged.missing.is_empty());
    table::write(&shared, &merged.plan, &merged.rows).unwrap();
    assert_eq!(tables(&whole), tables(&shared));
    let lines = fs::read_to_string(shared.join("results.jsonl")).unwrap();
    assert_eq!(
        lines.lines().count(),
        0,
        "nothing is copied from files of the same folder"
    );
}

#[test]
fn other_sweeps_are_refused() {
    let first = folder("other-1");
    run(AXES, &first, &options(2, part(1)));
    let check = |name: &str, head: &str, expected: &str| {
        let second = folder(name);
        run(head, &second, &options(2, part(2)));
        let error = merge(&[first.clone(), second.clone()], &folder("other-out")).unwrap_err();
        let folders = format!(
            "{} and {} are of different sweeps: ",
            first.display(),
            second.display()
        );
        let error = error.to_string();
        assert_eq!(error.strip_prefix(&folders), Some(expected), "{error}");
    };
    let replaced = |from: &str, to: &str| AXES.replace(from, to);
    check(
        "other-2",
        &replaced("\"size\"", "\"length\""),
        "axes size, loss and length, loss",
    );
    check(
        "other-3",
        &replaced("3000", "3001"),
        "axis size has other values",
    );
    check(
        "other-4",
        &replaced("seeds = 2", "seeds = 1"),
        "12 and 6 runs",
    );
    check(
        "other-5",
        &replaced("seeds = 2", "seeds = [1, 3]"),
        "run 2 (size = 10 bytes, loss = 0, seed 2) has another scenario, image or profile",
    );
    check(
        "other-6",
        &format!("{AXES}[measure]\nbytes = \"bytes\"\n"),
        "other measures",
    );
    let error = merge(&[folder("other-none")], &folder("other-out")).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("no sweep has been run in this folder"),
        "{error}"
    );
}
