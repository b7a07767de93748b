//! The order of points, values of axes, keys of runs.

use std::collections::BTreeSet;

use super::{AXES, planned};

/// The runs of a sweep as text.
fn runs(head: &str) -> Vec<String> {
    let (_, plan, _) = planned(head);
    (0..plan.runs.len()).map(|run| plan.describe(run)).collect()
}

#[test]
fn the_last_axis_is_the_fastest_and_seeds_are_faster() {
    let expected = [
        "size = 10 bytes, loss = 0, seed 1",
        "size = 10 bytes, loss = 0, seed 2",
        "size = 10 bytes, loss = 0.2, seed 1",
        "size = 10 bytes, loss = 0.2, seed 2",
        "size = 1000 bytes, loss = 0, seed 1",
    ];
    let found = runs(AXES);
    assert_eq!(found.len(), 12);
    assert_eq!(found[..5], expected);
}

#[test]
fn axes_with_a_common_word_move_together() {
    let axis = |name: &str, key: &str, values: &str| {
        format!("[[axis]]\nname = \"{name}\"\nkey = \"{key}\"\nvalues = {values}\nzip = \"z\"\n")
    };
    let other = "[[axis]]\nname = \"m\"\nkey = \"program[0].messages\"\nvalues = [1, 2]\n";
    let head =
        axis("a", "faults.loss", "[0, 0.1]") + other + &axis("b", "program[0].bytes", "[5, 6]");
    let expected = [
        "a = 0, m = 1, b = 5",
        "a = 0, m = 2, b = 5",
        "a = 0.1, m = 1, b = 6",
        "a = 0.1, m = 2, b = 6",
    ];
    assert_eq!(runs(&head), expected);
}

#[test]
fn ranges_reach_their_ends() {
    let check = |range: &str, expected: &[&str]| {
        let head = format!("[[axis]]\nname = \"a\"\nkey = \"max_time_us\"\n{range}\n");
        let expected: Vec<String> = expected
            .iter()
            .map(|value| format!("a = {value}"))
            .collect();
        assert_eq!(runs(&head), expected, "{range}");
    };
    check("from = 1\nto = 3\nstep = 1", &["1", "2", "3"]);
    check("from = 3\nto = 1\nstep = -1", &["3", "2", "1"]);
    check("from = 1\nto = 10\nstep = 4", &["1", "5", "9"]);
    check(
        "from = 64\nto = 512\nfactor = 2",
        &["64", "128", "256", "512"],
    );
    check("from = 8\nto = 1\nfactor = 0.5", &["8", "4", "2", "1"]);
    check("from = 5\nto = 5\nstep = 1", &["5"]);
    let head = "[[axis]]\nname = \"a\"\nkey = \"faults.loss\"\nfrom = 0.1\nto = 0.3\nstep = 0.1\n";
    let (_, plan, _) = planned(head);
    let numbers: Vec<f64> = plan.axes[0].numbers.iter().flatten().copied().collect();
    assert_eq!(
        numbers.len(),
        3,
        "sums of fractions reach the end: {numbers:?}"
    );
    assert!((numbers[2] - 0.3).abs() < 1e-12);
}

#[test]
fn values_reach_all_keys_of_an_axis() {
    let head = "[[axis]]\nname = \"clock\"\nvalues = [44, 88]\nkeys = [{ key = \"costs.core.clock\", times = 1e6 }, \
        { key = \"costs.dma.start\", over = 8800 }, \"program[0].messages\"]\n";
    let (_, plan, jobs) = planned(head);
    assert_eq!(plan.runs.len(), 2);
    let table: toml::Table = jobs[0].text.parse().unwrap();
    let costs = &table["costs"];
    assert_eq!(costs["core"]["clock"].as_integer(), Some(44_000_000));
    assert_eq!(costs["dma"]["start"].as_integer(), Some(200));
    assert_eq!(table["program"][0]["messages"].as_integer(), Some(44));
}

#[test]
fn keys_differ_where_runs_differ() {
    let keys = |head: &str| -> Vec<String> {
        let (_, plan, _) = planned(head);
        plan.runs.iter().map(|run| run.key.clone()).collect()
    };
    let all = keys(AXES);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 12);
    // Another value changes the keys of its runs alone; names, units, measures and comments change none.
    let other = keys(&AXES.replace("3000", "3001"));
    assert_eq!(all[..8], other[..8]);
    assert!(all[8..].iter().all(|key| !other.contains(key)));
    let renamed = AXES.replace("name = \"size\"", "name = \"length\" # of messages");
    assert_eq!(all, keys(&(renamed + "[measure]\nbytes = \"bytes\"\n")));
    let image = "[[axis]]\nname = \"i\"\nkey = \"image\"\nvalues = [\"emp-base\", \"emp-ro\"]\n";
    let both = keys(image);
    assert_ne!(both[0], both[1]);
    let profile = keys(
        "[[axis]]\nname = \"p\"\nkey = \"profile\"\nvalues = [\"tigon2-88mhz\", \"emp-thesis\"]\n",
    );
    assert_ne!(profile[0], profile[1]);
}
