//! Ledgers as drawings: one row per part, one bar per span.

use std::fmt::Write;

use super::average::SizeClass;
use super::{Ledger, Owner};

/// A bar: start, length, label.
struct Bar {
    from_us: f64,
    us: f64,
}

/// A row of bars.
struct BarRow {
    owner: Owner,
    what: String,
    bars: Vec<Bar>,
}

/// Sizes in points of the picture: columns of a row, its height, and the space above the rows.
const LABEL_WIDTH: f64 = 370.0;
const PLOT_WIDTH: f64 = 760.0;
const VALUE_WIDTH: f64 = 90.0;
const ROW_HEIGHT: f64 = 20.0;
const TOP: f64 = 56.0;
/// Smallest width of a bar, so that it is visible.
const THINNEST: f64 = 0.75;

/// The spans of a message over time, one below the other.
#[must_use]
pub fn of_one(ledger: &Ledger) -> String {
    let start = ledger
        .spans
        .first()
        .map(|span| span.from)
        .unwrap_or_default();
    let mut rows: Vec<BarRow> = Vec::new();
    for span in &ledger.spans {
        let bar = Bar {
            from_us: span.from.saturating_sub(start).us(),
            us: span.time().us(),
        };
        let same = |row: &&mut BarRow| row.owner == span.owner && row.what == span.what;
        match rows.iter_mut().find(same) {
            Some(row) => row.bars.push(bar),
            None => rows.push(BarRow {
                owner: span.owner,
                what: span.what.clone(),
                bars: vec![bar],
            }),
        }
    }
    let total = ledger.total().us();
    let title = format!(
        "message {}: {} bytes, {total:.3} us",
        ledger.id, ledger.length
    );
    draw(&title, &rows, total)
}

/// Means of all messages, stacked.
#[must_use]
pub fn of_many(class: &SizeClass) -> String {
    let mut at = 0.0;
    let rows: Vec<_> = class
        .parts
        .iter()
        .map(|part| {
            let bar = Bar {
                from_us: at,
                us: part.mean_us(class.messages),
            };
            at += bar.us;
            BarRow {
                owner: part.owner,
                what: part.what.clone(),
                bars: vec![bar],
            }
        })
        .collect();
    let title = format!("mean of {} messages: {at:.3} us", class.messages);
    draw(&title, &rows, at)
}

fn draw(title: &str, rows: &[BarRow], total_us: f64) -> String {
    let width = LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH;
    let height = TOP + ROW_HEIGHT * rows.len() as f64 + 16.0;
    let scale = PLOT_WIDTH / total_us.max(1e-6);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"15\">{}</text>\n",
        escaped(title)
    );
    draw_axis(&mut svg, total_us, scale, height);
    for (index, row) in rows.iter().enumerate() {
        draw_row(&mut svg, row, TOP + ROW_HEIGHT * index as f64, scale);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws lines at round times.
fn draw_axis(svg: &mut String, total_us: f64, scale: f64, height: f64) {
    let step = round_step(total_us / 8.0);
    let mut index = 0;
    while f64::from(index) * step <= total_us {
        let us = f64::from(index) * step;
        let x = LABEL_WIDTH + us * scale;
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.2}\" y1=\"{}\" x2=\"{x:.2}\" y2=\"{}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.2}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            TOP - 6.0,
            height - 10.0,
            TOP - 12.0,
            (us * 1000.0).round() / 1000.0,
        );
        index += 1;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\">us</text>",
        LABEL_WIDTH - 22.0,
        TOP - 12.0
    );
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1e-6).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(10.0 * power)
}

fn draw_row(svg: &mut String, row: &BarRow, y: f64, scale: f64) {
    let middle = y + 14.0;
    let sum: f64 = row.bars.iter().map(|bar| bar.us).sum();
    let label = format!("{}: {}", row.owner.name(), row.what);
    let _ = writeln!(
        svg,
        "<text x=\"10\" y=\"{middle}\">{}</text>\
         <text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{sum:.3}</text>",
        escaped(&label),
        LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH - 10.0,
    );
    let waits = row.what.starts_with("wait");
    for bar in &row.bars {
        let _ = writeln!(
            svg,
            "<rect x=\"{:.2}\" y=\"{}\" width=\"{:.2}\" height=\"{}\" fill=\"{}\"{}>\
             <title>{}: {:.3} us</title></rect>",
            LABEL_WIDTH + bar.from_us * scale,
            y + 3.0,
            (bar.us * scale).max(THINNEST),
            ROW_HEIGHT - 6.0,
            colour(row.owner),
            if waits { " fill-opacity=\"0.35\"" } else { "" },
            escaped(&label),
            bar.us,
        );
    }
}

const fn colour(owner: Owner) -> &'static str {
    match owner {
        Owner::SenderHost => "#4e79a7",
        Owner::SenderNic => "#59a14f",
        Owner::Wire => "#9c755f",
        Owner::ReceiverNic => "#e15759",
        Owner::ReceiverHost => "#b07aa1",
    }
}

/// Escapes text for a document.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escaped("a<b & \"c\">\u{7}"),
            "a&lt;b &amp; &quot;c&quot;&gt;"
        );
    }

    #[test]
    fn steps_are_round() {
        let check = |least, step: f64| assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        check(0.7, 1.0);
        check(1.0, 1.0);
        check(13.0, 20.0);
        check(300.0, 500.0);
        check(600.0, 1000.0);
    }
}
