//! `lanigon bench --instructions` and `--breakdown`: host instructions by cause, and their comparison with a baseline.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::Context;

use super::Status;
use crate::bench::callgrind::{self, Count};
use crate::cli::BenchArgs;
use crate::output;

/// Largest deviation from the baseline, in per cent of it.
const TOLERANCE_PERCENT: u64 = 3;

/// Causes in a line of the table; the others are summed up.
const SHOWN: usize = 9;

/// Instructions of works by name.
type Baseline = BTreeMap<String, u64>;

/// Text without counts.
const SKIPPED: &str = "SKIPPED: valgrind is not installed: host instructions are not counted\n";
/// Text without a request for counts.
const HINT: &str = "Host instructions by cause: lanigon bench --breakdown, with valgrind\n";

/// Host instructions of all works; `None` without valgrind.
///
/// # Errors
/// If valgrind fails.
pub fn counted() -> anyhow::Result<Option<Vec<Count>>> {
    if !callgrind::is_installed() {
        return Ok(None);
    }
    callgrind::count_all(&std::env::current_exe()?).map(Some)
}

/// The text below speeds: host instructions by cause if they are `wanted`, else how to get them.
///
/// # Errors
/// If valgrind fails.
pub fn breakdown(wanted: bool) -> anyhow::Result<String> {
    if !wanted {
        return Ok(HINT.into());
    }
    Ok(counted()?.map_or(SKIPPED.into(), |counts| table(&counts)))
}

/// Counts host instructions, prints them, and compares them with the baseline that the options name.
///
/// # Errors
/// If valgrind fails, or the baseline cannot be read or written.
pub fn run(args: &BenchArgs) -> anyhow::Result<Status> {
    let Some(counts) = counted()? else {
        output::print(SKIPPED)?;
        return Ok(Status::Done);
    };
    if args.json {
        output::print_json(&counts)?;
    } else {
        output::print(&table(&counts))?;
    }
    if let Some(file) = &args.write_baseline {
        write(file, &counts)?;
    }
    let Some(file) = &args.baseline else {
        return Ok(Status::Done);
    };
    let shown = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(shown)?;
    let baseline: Baseline = serde_json::from_str(&text).with_context(shown)?;
    let changes = changes(&counts, &baseline);
    for change in &changes {
        eprintln!("{change}");
    }
    Ok(match changes.is_empty() {
        true => Status::Done,
        false => Status::Failed,
    })
}

fn write(file: &Path, counts: &[Count]) -> anyhow::Result<()> {
    let baseline = counts.iter().map(|count| (count.name, count.instructions));
    let baseline: BTreeMap<_, _> = baseline.collect();
    let text = serde_json::to_string_pretty(&baseline)? + "\n";
    std::fs::write(file, text).with_context(|| file.display().to_string())
}

/// The works whose counts deviate from the baseline, one line for each.
fn changes(counts: &[Count], baseline: &Baseline) -> Vec<String> {
    let changes = counts.iter().filter_map(|count| {
        let Some(&before) = baseline.get(count.name) else {
            return Some(format!("{}: not in the baseline", count.name));
        };
        let far = 100 * count.instructions.abs_diff(before) > TOLERANCE_PERCENT * before;
        far.then(|| {
            format!(
                "{}: {} host instructions, {:+.1} % against the baseline's {before} (limit {TOLERANCE_PERCENT} %)",
                count.name,
                count.instructions,
                100.0 * (count.instructions as f64 / before as f64 - 1.0),
            )
        })
    });
    changes.collect()
}

/// Instructions by cause for each clock cycle in which a CPU was busy.
fn table(counts: &[Count]) -> String {
    let mut text = String::from(
        "Host instructions (callgrind), in millions and for each cycle of a busy CPU, by cause:\n\n",
    );
    for count in counts {
        let each = |instructions: u64| instructions as f64 / count.done.busy_cycles.max(1.0);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<18}{:>8.1} M {:>7.1}  {}",
            count.name,
            count.instructions as f64 / 1e6,
            each(count.instructions),
            count.what
        );
        let shown = count.causes.iter().take(SHOWN);
        let mut parts: Vec<_> = shown
            .map(|&(cause, part)| format!("{cause} {:.1}", each(part)))
            .collect();
        let rest: u64 = count.causes.iter().skip(SHOWN).map(|cause| cause.1).sum();
        if rest > 0 {
            parts.push(format!("rest {:.1}", each(rest)));
        }
        let _ = writeln!(text, "    {}", parts.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::work::WorkDone;

    fn count(name: &'static str, instructions: u64) -> Count {
        Count {
            name,
            what: "what it is",
            instructions,
            causes: vec![("execute", instructions)],
            done: WorkDone {
                simulated_us: 1.0,
                busy_cycles: 100.0,
                trace: 0,
            },
        }
    }

    #[test]
    fn changes_beyond_three_per_cent_are_told() {
        let baseline = Baseline::from([("a".into(), 1000), ("zero".into(), 0)]);
        let check = |name, instructions, expected: &[&str]| {
            assert_eq!(changes(&[count(name, instructions)], &baseline), expected);
        };
        check("a", 1030, &[]);
        check("a", 970, &[]);
        check(
            "a",
            1031,
            &["a: 1031 host instructions, +3.1 % against the baseline's 1000 (limit 3 %)"],
        );
        check("b", 1, &["b: not in the baseline"]);
        assert_eq!(changes(&[count("zero", 1)], &baseline).len(), 1);
    }

    #[test]
    fn the_table_has_causes() {
        let table = table(&[count("a", 2_000_000)]);
        assert!(
            table.contains("2.0 M 20000.0  what it is\n    execute 20000.0\n"),
            "{table}"
        );
    }
}
