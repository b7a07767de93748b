//! Reports as Markdown.

use std::fmt::Write;

use crate::{Block, Cell, Claim, Report, Table, counts};

/// Writes a report as a Markdown document.
pub(crate) fn document(report: &Report) -> String {
    let mut text = format!("# {}\n\n", escaped(&report.title));
    for section in &report.sections {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "## {}\n", escaped(&section.title));
        for block in &section.blocks {
            add(&mut text, block);
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn add(text: &mut String, block: &Block) {
    // Writing to a string cannot fail.
    let _ = match block {
        Block::Text(words) => writeln!(text, "{}", paragraph(words)),
        Block::Lines(lines) => {
            // Indented lines end only with the indentation, whatever is in them.
            let lines = lines.lines().map(|line| format!("    {line}\n"));
            write!(text, "{}", lines.collect::<String>())
        }
        Block::Facts(facts) => {
            let facts = facts.iter();
            let lines =
                facts.map(|(name, value)| format!("* {}: {}\n", escaped(name), escaped(value)));
            write!(text, "{}", lines.collect::<String>())
        }
        Block::Links(links) => {
            let links = links.iter();
            let lines =
                links.map(|(name, page)| format!("* [{}]({})\n", escaped(name), address(page)));
            write!(text, "{}", lines.collect::<String>())
        }
        Block::Table(of) => table(text, of),
        Block::Figure(picture) => {
            let (caption, file) = (escaped(&picture.caption), address(&picture.file));
            writeln!(
                text,
                "![{caption}]({file}.svg)\n\n{caption} ([PDF]({file}.pdf))"
            )
        }
        Block::Claims(claims) => table(text, &table_of(claims)),
    };
}

fn table_of(claims: &[Claim]) -> Table {
    let row = |claim: &Claim| {
        let cells = [&claim.id, &claim.text, claim.verdict(), &claim.evidence]
            .map(|text: &str| Cell::text(text));
        let mut cells = Vec::from(cells);
        cells[2].good = claim.holds;
        cells
    };
    Table {
        title: counts(claims),
        columns: ["id", "claim", "verdict", "evidence"]
            .map(String::from)
            .into(),
        rows: claims.iter().map(row).collect(),
    }
}

fn table(text: &mut String, table: &Table) -> std::fmt::Result {
    if !table.title.is_empty() {
        writeln!(text, "{}\n", escaped(&table.title))?;
    }
    let columns: Vec<_> = table.columns.iter().map(|name| escaped(name)).collect();
    writeln!(text, "| {} |", columns.join(" | "))?;
    writeln!(text, "|{}", "---|".repeat(columns.len()))?;
    for row in &table.rows {
        let cells = row.iter().map(|cell| {
            let shown = escaped(&cell.text);
            // Bad news must be seen in plain text too.
            if cell.good == Some(false) {
                format!("**{shown}**")
            } else {
                shown
            }
        });
        let cells: Vec<_> = cells.collect();
        writeln!(text, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// A paragraph, which does not begin like an item of a list.
fn paragraph(text: &str) -> String {
    let escaped = escaped(text);
    let after_digits = escaped.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let at = escaped.len() - after_digits.len();
    let item = match after_digits.chars().next() {
        Some('-' | '+' | '=') => at == 0,
        Some('.' | ')') => at > 0,
        _ => false,
    };
    match item {
        true => format!("{}\\{after_digits}", &escaped[..at]),
        false => escaped,
    }
}

/// Text without meaning as markup, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(letter);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// A file's name as the address of a link.
fn address(file: &str) -> String {
    let mut out = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                out.push(byte.into())
            }
            // Writing to a string cannot fail.
            _ => _ = write!(out, "%{byte:02x}"),
        }
    }
    out
}
