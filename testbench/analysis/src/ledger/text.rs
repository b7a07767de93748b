//! Ledgers as tables of at most 80 columns, and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::average::{PartStats, SizeClass};
use super::{Ledger, Owner};

/// Spans of a message.
#[must_use]
pub fn of_one(ledger: &Ledger) -> String {
    let mut text = String::new();
    let total = ledger.total();
    let tag = ledger
        .tag
        .map_or_else(String::new, |tag| format!(", tag {tag}"));
    let resent = match ledger.resent {
        0 => String::new(),
        resent => format!(", {resent} sent again"),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "message {}: {} bytes{tag}, frames: {}{resent}\n\n    at us      takes  share  whose",
        ledger.id, ledger.length, ledger.frames,
    );
    let start = ledger
        .spans
        .first()
        .map(|span| span.from)
        .unwrap_or_default();
    for span in &ledger.spans {
        let share = percent(span.time().ps(), total.ps());
        let at = span.from.saturating_sub(start);
        let _ = writeln!(
            text,
            "{:>9.3} {:>10.3} {share:>5.1}%  {:<13} {}",
            at.us(),
            span.time().us(),
            span.owner.name(),
            span.what,
        );
    }
    let waits = ledger.spans.iter().filter(|span| span.is_wait());
    let waited: u64 = waits.map(|span| span.time().ps()).sum();
    let _ = writeln!(
        text,
        "{:>9} {:>10.3}  us in all, {:.1} % of it waits",
        "",
        total.us(),
        percent(waited, total.ps()),
    );
    text
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Averages of many messages.
#[must_use]
pub fn of_many(classes: &[SizeClass]) -> String {
    let mut text = String::new();
    for class in classes {
        let count = class.messages;
        let _ = writeln!(
            text,
            "{}: {count} messages, {} frames sent again\n  mean us      p50      p99      max  messages",
            class.name, class.resent,
        );
        let mut owner = None;
        for part in &class.parts {
            if owner != Some(part.owner) {
                owner = Some(part.owner);
                let _ = writeln!(text, "{:47}{}", "", part.owner.name());
            }
            row(&mut text, part, count);
        }
        row(&mut text, &class.whole, count);
        text.push('\n');
    }
    text.pop();
    text
}

fn row(text: &mut String, part: &PartStats, count: usize) {
    let _ = writeln!(
        text,
        "{:>9.3}{:>9.3}{:>9.3}{:>9.3}{:>6}  {}",
        part.mean_us(count),
        part.p50.us(),
        part.p99.us(),
        part.max.us(),
        part.messages,
        part.what,
    );
}

/// A message as JSON, with times in picoseconds, so that they add up.
#[must_use]
pub fn one_json(ledger: &Ledger) -> Value {
    let spans: Vec<_> = ledger
        .spans
        .iter()
        .map(|span| {
            json!({
                "owner": span.owner.name(),
                "what": span.what,
                "wait": span.is_wait(),
                "from_ps": span.from.ps(),
                "time_ps": span.time().ps(),
            })
        })
        .collect();
    json!({
        "message": ledger.id.to_string(),
        "from": ledger.id.from,
        "to": ledger.id.to,
        "number": ledger.id.number,
        "bytes": ledger.length,
        "tag": ledger.tag,
        "frames": ledger.frames,
        "frames_resent": ledger.resent,
        "total_ps": ledger.total().ps(),
        "spans": spans,
    })
}

/// Averages as JSON.
#[must_use]
pub fn many_json(classes: &[SizeClass]) -> Value {
    let part = |part: &PartStats, owner: Option<Owner>| {
        json!({
            "owner": owner.map(Owner::name),
            "what": part.what,
            "messages": part.messages,
            "sum_ps": part.sum.ps(),
            "p50_ps": part.p50.ps(),
            "p99_ps": part.p99.ps(),
            "max_ps": part.max.ps(),
        })
    };
    let class = |class: &SizeClass| {
        let parts: Vec<_> = class
            .parts
            .iter()
            .map(|stats| part(stats, Some(stats.owner)))
            .collect();
        json!({
            "class": class.name,
            "messages": class.messages,
            "frames_resent": class.resent,
            "whole": part(&class.whole, None),
            "parts": parts,
        })
    };
    json!({ "classes": classes.iter().map(class).collect::<Vec<_>>() })
}
