//! The results as text.

use std::fmt::{self, Write};

use lanigon_experiments::row::Row;

use super::ProfileResults;
use super::rows::{CALIBRATED, rows};

/// The results as text, for a terminal of 80 columns.
#[must_use]
pub fn render(results: &[ProfileResults]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut text, results);
    text
}

fn write_all(text: &mut String, results: &[ProfileResults]) -> fmt::Result {
    for of in results {
        writeln!(text, "GM, profile {}: {}", of.profile, of.description)?;
        writeln!(text, "image {}\n", of.image)?;
        writeln!(text, "   bytes   latency us   one-way MB/s   two-way MB/s")?;
        for point in &of.points {
            writeln!(
                text,
                "{:>8}{:>13.2}{:>15.1}{:>15.1}",
                point.bytes, point.latency_us, point.one_way, point.two_way
            )?;
        }
        writeln!(text)?;
        let rows = rows(of);
        if rows.is_empty() {
            continue;
        }
        writeln!(
            text,
            "{:<8}{:<44}{:>11}{:>9}{:>7}",
            "id", "published", "", "measured", "error"
        )?;
        for row in rows {
            row_text(text, &row)?;
        }
        writeln!(text)?;
    }
    text.push_str("All rows are predictions, but `host`: the costs of the host's library were chosen for it.\n");
    if results.iter().any(|of| of.profile.starts_with(CALIBRATED)) {
        text.push_str(
            "Profiles gm-paper-...: the clock of the board's CPU was chosen for the time that the description names.\n",
        );
    }
    text.push_str("~: recalled, no document states it.\n");
    Ok(())
}

fn row_text(text: &mut String, row: &Row) -> fmt::Result {
    let low = row.published.unwrap_or_default();
    let mut published = match row.published_high {
        None => format!("{low}"),
        Some(high) => format!("{low}-{high}"),
    };
    if row.note.starts_with("recalled") {
        published.insert(0, '~');
    }
    let what: String = row.what.chars().take(43).collect();
    let id = row.id.unwrap_or_default();
    write!(text, "{id:<8}{what:<44}{published:>11}")?;
    match (row.measured, row.error) {
        (Some(measured), Some(error)) => {
            let percent = error * 100.0;
            writeln!(text, "{measured:>9.2}{percent:>+6.0}%  {}", row.unit)
        }
        _ => writeln!(text, "{:>9}", "-"),
    }
}
