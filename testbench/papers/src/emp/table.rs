//! Results as text, for a terminal of 80 columns.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::key::{Experiment, Key};
use super::results::{ProfileResults, Results};
use super::rows::{self, Median};
use super::{OTHER_SIZES, SMALL, Selection, Task, explain};
use crate::emp::measure::passing::{GM_PROFILE, System};
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::tcp;
use crate::emp::measure::testbed::Testbed;
use lanigon_experiments::row::{NOT_MEASURED, Row};
use lanigon_experiments::verdict::{JudgedClaim, Totals};

/// Tables that repeat a few inputs for each CPU: shown on request.
const PLACED: [&str; 2] = ["table 3.2", "table 3.3"];

/// The complete text.
#[must_use]
pub fn render(results: &Results, selection: &Selection, claims: &[JudgedClaim]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut text, results, selection, claims);
    text
}

fn write_all(
    text: &mut String,
    results: &Results,
    selection: &Selection,
    claims: &[JudgedClaim],
) -> fmt::Result {
    for profile in &results.profiles {
        writeln!(
            text,
            "EMP, profile {}: {}\n",
            profile.profile.name, profile.profile.description
        )?;
        curve_tables(text, profile, selection)?;
        other_table(text, profile)?;
        tcp_table(text, results, profile, selection)?;
        revised_costs(text, profile)?;
        published_table(text, results, profile, selection)?;
        stage_table(text, profile)?;
        for (scheme, measured) in profile.schemes.iter() {
            if let Some(ledger) = measured
                .ledgers
                .get(&SMALL)
                .filter(|_| *scheme == Scheme::Base)
            {
                explain::ledger(text, *scheme, &ledger.ledger)?;
            }
        }
    }
    claim_table(text, results, claims)?;
    for scheme in &results.lacks.missing {
        writeln!(
            text,
            "{}: not measured: no image {} (make firmware)",
            scheme.title(),
            scheme.image()
        )?;
    }
    if results.lacks.partial {
        text.push_str("Interrupted: what was measured until then.\n");
    }
    Ok(())
}

/// The costs that were changed in knowledge of results: the latencies are not predictions from the first values.
fn revised_costs(text: &mut String, profile: &ProfileResults) -> fmt::Result {
    let mut costs = explain::revised_costs(&profile.profile).peekable();
    if costs.peek().is_none() {
        return Ok(());
    }
    writeln!(text, "{}:\n", explain::REVISED)?;
    for cost in costs {
        writeln!(text, "  {cost}")?;
    }
    writeln!(text)
}

/// Points of one experiment on one testbed: a line per size, a column per scheme.
fn curve_tables(text: &mut String, profile: &ProfileResults, selection: &Selection) -> fmt::Result {
    let mut tables: BTreeMap<(Experiment, Testbed), BTreeSet<(bool, Scheme)>> = BTreeMap::new();
    let keys = || {
        selection.tasks.iter().filter_map(|task| match task {
            Task::Point(key) => Some(*key),
            Task::Ledger(..) | Task::Usage(..) | Task::Other(..) | Task::Tcp(_) => None,
        })
    };
    for key in keys() {
        let columns = tables.entry((key.experiment, key.testbed)).or_default();
        columns.insert((key.flow_control, key.scheme));
    }
    for ((experiment, testbed), columns) in tables {
        writeln!(
            text,
            "{} in {}: {}\n",
            experiment.name(),
            experiment.unit(),
            testbed.title()
        )?;
        let names = columns.iter().map(|(flow_control, scheme)| {
            let name = scheme.title();
            if *flow_control {
                format!("{name} fc")
            } else {
                name.to_owned()
            }
        });
        let names: String = names.map(|name| format!("{name:>9}")).collect();
        writeln!(text, "{:>9}{names}", "bytes")?;
        let here = |key: &Key| key.experiment == experiment && key.testbed == testbed;
        let sizes: BTreeSet<_> = keys().filter(here).map(|key| key.size).collect();
        for size in sizes {
            let cells = columns.iter().map(|&(flow_control, scheme)| {
                let key = Key {
                    flow_control,
                    ..Key::new(experiment, scheme, size).with_testbed(testbed)
                };
                let value = profile.value(key);
                value.map_or(format!("{:>9}", "-"), |value| format!("{value:>9.2}"))
            });
            writeln!(text, "{size:>9}{}", cells.collect::<String>())?;
        }
        writeln!(text)?;
    }
    Ok(())
}

/// Latencies of other systems: a line per size, a column per system.
fn other_table(text: &mut String, profile: &ProfileResults) -> fmt::Result {
    if profile.others.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "latency in us: GM on boards of {GM_PROFILE}, message passing over GM and over EMP\n"
    )?;
    let names = System::ALL.map(|system| format!("{:>9}", system.name()));
    writeln!(text, "{:>9}{}", "bytes", names.concat())?;
    for size in OTHER_SIZES {
        let cells = System::ALL.map(|system| match profile.other(system, size) {
            Some(value) => format!("{value:>9.2}"),
            None => format!("{:>9}", "-"),
        });
        writeln!(text, "{size:>9}{}", cells.concat())?;
    }
    writeln!(text)
}

/// TCP: half a round trip, and the highest bandwidth of a stream.
fn tcp_table(
    text: &mut String,
    results: &Results,
    profile: &ProfileResults,
    selection: &Selection,
) -> fmt::Result {
    if !selection.tasks.contains(&Task::Tcp(true)) {
        return Ok(());
    }
    if let Some(why) = &results.lacks.no_linux {
        return writeln!(text, "TCP is not measured: {why}\n");
    }
    for (&processor, tcp) in &profile.tcp {
        let name = tcp::name(processor);
        let latency = |size: &u32| Some(format!("{size} bytes {:.1}", tcp.latencies.get(size)?));
        let latencies: Vec<_> = [4, 256, 4096].iter().filter_map(latency).collect();
        let latencies = latencies.join(", ");
        let peak = tcp.peak().unwrap_or_default();
        writeln!(
            text,
            "{name}: latency in us {latencies}; stream at most {peak:.1} Mb/s"
        )?;
    }
    writeln!(text)
}

/// Abbreviations of long names of quantities.
const SHORT: &[(&str, &str)] = &[
    ("reduction against base", "gain"),
    ("increase against base: upper bound", "loss, at most"),
    ("bandwidth gain over base", "gain"),
    (
        "added by a switch: lower bound",
        "added by the switch, at least",
    ),
    (
        "added by a switch: upper bound",
        "added by the switch, at most",
    ),
    (
        "share of the line rate that is delivered",
        "share of the line rate",
    ),
    (
        "host memory that page tables in all of the SRAM could map",
        "memory that SRAM could map",
    ),
    (
        "advantage over EMP below 256 bytes: largest",
        "less than EMP, at most",
    ),
    (
        "one poll of a descriptor by the host",
        "one poll by the host",
    ),
    (": lower bound", ", at least"),
    (": upper bound", ", at most"),
];

/// Formats a length.
fn length(bytes: u32) -> String {
    match bytes {
        large if large >= 1024 && large.is_multiple_of(1024) => format!("{} KB", large / 1024),
        small => format!("{small} B"),
    }
}

/// Formats a row's description, such as "RO latency gain, 14 KB, switch".
fn what(row: &Row) -> String {
    let mut words = Vec::new();
    if !matches!(row.scheme, "-" | "base") {
        words.push(row.scheme.to_uppercase());
    }
    let metric = row.what.split("; ").next().unwrap_or_default();
    if !matches!(row.experiment, "-" | "latency") {
        words.push(row.experiment.to_owned());
    } else if row.experiment == "latency" {
        words.push("latency".into());
    }
    let short = |metric: String, (long, short): &(&str, &str)| metric.replace(long, short);
    let metric = SHORT.iter().fold(metric.to_owned(), short);
    if !matches!(metric.as_str(), "latency" | "bandwidth") {
        words.push(metric);
    }
    let mut text = words.join(" ");
    if let Some(bytes) = row.message_bytes {
        text.push_str(&format!(", {}", length(bytes)));
    }
    if row.testbed.ends_with("switch") && !text.contains("switch") {
        text.push_str(", switch");
    }
    text
}

/// Formats the comparison with the published value.
fn comparison(row: &Row) -> String {
    match (row.error, row.error_points, row.verdict) {
        (Some(error), ..) => format!("{:+.1} %", rows::round(100.0 * error)),
        (_, Some(error), _) => format!("{error:+.1} pt"),
        (.., Some(verdict)) => verdict.into(),
        _ => String::new(),
    }
}

fn published_table(
    text: &mut String,
    results: &Results,
    profile: &ProfileResults,
    selection: &Selection,
) -> fmt::Result {
    let rows = rows::of_profile(results, profile, selection);
    let whole = !selection.claims.is_empty();
    let shown = |row: &&Row| !(whole && PLACED.contains(&row.section));
    let shown: Vec<_> = rows.iter().filter(shown).collect();
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(text, "Published numbers:\n")?;
    writeln!(
        text,
        "{:<8} {:<35} {:>8} {:>9}  {:>8}  role",
        "id", "what", "here", "published", "error"
    )?;
    for row in shown {
        let here = row
            .measured
            .map_or("-".into(), |value| format!("{value:.2}"));
        let published = row
            .published
            .map_or(String::new(), |value| format!("{value} {}", row.unit));
        let line = format!(
            "{:<7} {:<37} {here:>7} {published:>9} {:>8} {}",
            row.id.unwrap_or_default(),
            what(row),
            comparison(row),
            if row.role == NOT_MEASURED {
                row.note.as_str()
            } else {
                row.role
            },
        );
        writeln!(text, "{}", line.trim_end())?;
    }
    if whole {
        writeln!(
            text,
            "{:<7} the stages of Tables 3.2 and 3.3 are in the JSON and CSV forms",
            "..."
        )?;
    }
    writeln!(text)?;
    for median in rows::medians(&rows) {
        writeln!(text, "{}", median_line(&median))?;
    }
    writeln!(text)
}

/// Formats "Median error of 20 predictions: 3.4 %".
#[must_use]
pub fn median_line(median: &Median) -> String {
    let (value, unit) = match median.of {
        "error_points" => (median.median, "percentage points"),
        _ => (rows::round(100.0 * median.median), "%"),
    };
    format!(
        "Median absolute error of {} predictions: {value:.1} {unit}",
        median.predictions
    )
}

/// Durations of stages of each scheme's firmware, compared with Table 3.1.
fn stage_table(text: &mut String, profile: &ProfileResults) -> fmt::Result {
    let schemes: Vec<_> = profile
        .schemes
        .iter()
        .filter(|(_, scheme)| !scheme.stages.is_empty())
        .collect();
    let Some((_, first)) = schemes.first() else {
        return Ok(());
    };
    writeln!(
        text,
        "Stages (one quiet frame of 1500 bytes): own cycles of each firmware, and durations of the first\n"
    )?;
    let names: String = schemes
        .iter()
        .map(|(scheme, _)| format!("{:>6}", scheme.title()))
        .collect();
    writeln!(
        text,
        "  {:<20}{names} {:>9} {:>9}  factor, source",
        "stage", "hardware", "here"
    )?;
    for stage in &first.stages {
        let cycles = schemes
            .iter()
            .map(|(_, scheme)| match scheme.stage(&stage.stage) {
                Some((stage, _)) => format!("{:>6}", stage.cycles),
                None => format!("{:>6}", "-"),
            });
        let factor = first.factor(&stage.stage);
        let entry = profile.profile.stages.get(&stage.stage).zip(factor);
        let source = entry.map_or(String::from("as it is"), |(entry, factor)| {
            format!("x {factor:.3}, {}", entry.source)
        });
        writeln!(
            text,
            "  {:<20}{} {:>6.2} us {:>6.2} us  {source}",
            stage.stage,
            cycles.collect::<String>(),
            stage.us,
            stage.us * factor.unwrap_or(1.0),
        )?;
    }
    writeln!(text)
}

fn claim_table(text: &mut String, results: &Results, claims: &[JudgedClaim]) -> fmt::Result {
    let (Some(profile), false) = (results.judged(), claims.is_empty()) else {
        return Ok(());
    };
    writeln!(
        text,
        "What the thesis says in words, judged under {}:\n",
        profile.profile.name
    )?;
    for claim in claims {
        writeln!(
            text,
            "{:<8} {:<5}  {}",
            claim.id,
            claim.verdict,
            wrapped(&claim.claim)
        )?;
        writeln!(text, "                {}", wrapped(&claim.evidence))?;
    }
    let totals = Totals::count(claims);
    writeln!(text, "\n{totals}\n")
}

/// Wraps a text to columns 16 to 80.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > 64 {
            out.push_str("\n                ");
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}
