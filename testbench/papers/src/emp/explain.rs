//! `--explain SCHEME`: ledgers of messages, and the resource that limits bandwidth.

use std::fmt::{self, Write};

use super::SMALL;
use super::results::{ProfileResults, Results};
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::usage::Usage;
use lanigon_analysis::ledger::Ledger;

/// The costs that a profile has changed in knowledge of results: its latencies are not predictions from the first values. Then the ledger
/// of a short message.
#[must_use]
pub fn costs_and_ledger(of: &ProfileResults) -> String {
    let mut text = String::new();
    for (name, entry) in &of.profile.entries {
        if let Some(before) = &entry.before_results {
            let (value, unit) = (entry.value, &entry.unit);
            text += &format!(
                "Changed after the first results were seen, which lowered latencies: {name} = {value} {unit} (before: {before})\n"
            );
        }
    }
    let base = of.schemes.get(&Scheme::Base);
    if let Some(quiet) = base.and_then(|base| base.ledgers.get(&SMALL)) {
        text.push('\n');
        // Writing to a string cannot fail.
        let _ = ledger(&mut text, Scheme::Base, &quiet.ledger);
    }
    text
}

/// The complete explanation of a scheme.
#[must_use]
pub fn render(results: &Results, scheme: Scheme) -> String {
    let mut text = format!("{}: {}\n\n", scheme.title(), scheme.description());
    for profile in &results.profiles {
        // Writing to a string cannot fail.
        let _ = write_profile(&mut text, profile, scheme);
    }
    if results.lacks.partial {
        text.push_str("Interrupted: what was measured until then.\n");
    }
    text
}

fn write_profile(text: &mut String, profile: &ProfileResults, scheme: Scheme) -> fmt::Result {
    let Some(measured) = profile.schemes.get(&scheme) else {
        return Ok(());
    };
    writeln!(
        text,
        "Profile {}: {}\n",
        profile.profile.name, profile.profile.description
    )?;
    for of_size in measured.ledgers.values() {
        ledger(text, scheme, &of_size.ledger)?;
    }
    for usage in &measured.usages {
        write_usage(text, usage)?;
    }
    Ok(())
}

/// Writes the ledger of one message.
fn ledger(text: &mut String, scheme: Scheme, ledger: &Ledger) -> fmt::Result {
    writeln!(
        text,
        "Where the time of one {}-byte message went ({}, quiet network, receive posted before):\n",
        ledger.length,
        scheme.title()
    )?;
    for span in &ledger.spans {
        writeln!(
            text,
            "  {:>8.3} us  {:<13} {}",
            span.time().us(),
            span.owner.name(),
            span.what
        )?;
    }
    writeln!(text, "  {:>8.3} us  in all\n", ledger.total().us())
}

fn write_usage(text: &mut String, usage: &Usage) -> fmt::Result {
    writeln!(
        text,
        "How busy everything was, {} traffic, messages of {} bytes, {:.1} ms:\n",
        usage.flow.name(),
        usage.message_bytes,
        usage.span.us() / 1e3
    )?;
    for (index, node) in usage.nodes.iter().enumerate() {
        for resource in &node.resources {
            let percent = 100.0 * resource.busy;
            writeln!(
                text,
                "  {:<9} {:<17} {percent:>6.1} %",
                usage.flow.node(index),
                resource.name
            )?;
            for (what, share) in resource.parts.iter().filter(|(_, share)| *share > 0.0) {
                writeln!(
                    text,
                    "                              {:>6.1} %  {what}",
                    100.0 * share
                )?;
            }
        }
        if node.dropped_no_space + u64::from(node.dropped_resources) + u64::from(node.resent) > 0 {
            writeln!(
                text,
                "  {:<9} frames dropped for want of buffer space {}, of other resources {}; sent again {}",
                usage.flow.node(index),
                node.dropped_no_space,
                node.dropped_resources,
                node.resent
            )?;
        }
    }
    if let Some(bottleneck) = usage.bottleneck_name() {
        writeln!(text, "\n  Bottleneck: {bottleneck}\n")?;
    }
    Ok(())
}
