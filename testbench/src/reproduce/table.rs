//! The results as text.

use std::fmt::Write;

use super::results::{Experiment, Point, ProfileResults, Results, targets_of};
use crate::published;

/// Everything, for a terminal of 80 columns.
#[must_use]
pub fn render(results: &Results) -> String {
    let mut text = String::new();
    for profile in &results.profiles {
        // Writing to a string cannot fail.
        let _ = profile_table(&mut text, profile);
        let _ = stage_table(&mut text, profile);
        let _ = ledger_table(&mut text, profile);
    }
    if results.partial {
        text.push_str("Interrupted: what was measured until then.\n");
    }
    text
}

/// "24.31 emp-004 -1.2 %"
fn comparison(point: &Point) -> String {
    let numbers = targets_of(point).filter_map(|target| published::by_id(target.id));
    let parts: Vec<_> = numbers
        .map(|number| {
            let error = 100.0 * (point.value / number.value - 1.0);
            format!("{} {} {error:+.1} %", number.value, number.id)
        })
        .collect();
    parts.join(", ")
}

fn profile_table(text: &mut String, results: &ProfileResults) -> std::fmt::Result {
    let profile = &results.profile;
    writeln!(
        text,
        "EMP, one CPU, profile {}: {}\n",
        profile.name, profile.description
    )?;
    writeln!(
        text,
        "{:>9}  {:>10}  {:<23}  {:>11}  published",
        "bytes", "latency", "published", "one-way"
    )?;
    let mut sizes: Vec<_> = results.points.iter().map(|point| point.size).collect();
    sizes.dedup();
    for size in sizes {
        let cell = |experiment: Experiment| {
            results
                .point(experiment, size)
                .map_or((String::from("-"), String::new()), |point| {
                    let value = format!("{:.2} {}", point.value, experiment.unit());
                    (value, comparison(point))
                })
        };
        let (latency, latency_published) = cell(Experiment::Latency);
        let (bandwidth, bandwidth_published) = cell(Experiment::OneWay);
        let line = format!(
            "{size:>9}  {latency:>10}  {latency_published:<23}  {bandwidth:>11}  {bandwidth_published}"
        );
        writeln!(text, "{}", line.trim_end())?;
    }
    writeln!(text)
}

fn stage_table(text: &mut String, results: &ProfileResults) -> std::fmt::Result {
    writeln!(text, "Stages (one quiet frame of 1500 bytes):\n")?;
    writeln!(
        text,
        "  {:<20} {:>7} {:>9}  {:>9}  factor, source",
        "stage", "cycles", "hardware", "here"
    )?;
    for stage in &results.stages {
        let factor = results.factor(&stage.stage);
        let source = results
            .profile
            .stages
            .get(&stage.stage)
            .zip(factor)
            .map_or(String::from("as measured"), |(entry, factor)| {
                format!("x {factor:.3}, calibrated on {}", entry.source)
            });
        writeln!(
            text,
            "  {:<20} {:>7} {:>6.2} us  {:>6.2} us  {source}",
            stage.stage,
            stage.cycles,
            stage.us,
            stage.us * factor.unwrap_or(1.0),
        )?;
    }
    writeln!(text)
}

fn ledger_table(text: &mut String, results: &ProfileResults) -> std::fmt::Result {
    let Some(ledger) = &results.ledger else {
        return Ok(());
    };
    writeln!(
        text,
        "Where the time of one {}-byte message went (quiet network, receive posted before):\n",
        ledger.message_bytes
    )?;
    for span in &ledger.spans {
        writeln!(
            text,
            "  {:>8.3} us  {:<13} {}",
            span.time.us(),
            span.owner,
            span.what
        )?;
    }
    writeln!(text, "  {:>8.3} us  in all\n", ledger.total().us())
}
