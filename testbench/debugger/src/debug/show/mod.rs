//! Displays of a session as lines of plain text: stable, without colours, at most 100 columns. They change
//! nothing. ([`past`] moves back in time and returns.)

pub mod address;
pub mod calls;
pub mod chip;
pub mod code;
pub mod event;
pub mod frame;
pub mod memory;
pub mod past;
pub mod registers;
pub mod standing;
pub mod symbols;
pub mod world;

/// Largest line width.
const COLUMNS: usize = 100;
/// Indentation of continuation lines.
const INDENT: usize = 12;

/// Joins lines; wraps those that are too wide.
fn text(lines: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for line in lines {
        let mut rest = line.trim_end().to_owned();
        while let Some(end) = rest.char_indices().nth(COLUMNS).map(|(end, _)| end) {
            let blank = rest[..end].rfind(' ').filter(|&at| at > 2 * INDENT);
            let (first, more) = rest.split_at(blank.unwrap_or(end));
            text += first.trim_end();
            text.push('\n');
            rest = format!("{:INDENT$}{}", "", more.trim_start());
        }
        text += &rest;
        text.push('\n');
    }
    text
}

/// Formats `1 descriptor`, `2 descriptors`.
fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_go_on() {
        let words = "word ".repeat(30);
        let shown = text([
            "a  ".into(),
            "b".repeat(COLUMNS),
            "c".repeat(COLUMNS + 1),
            words,
        ]);
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[..2], ["a", &"b".repeat(COLUMNS)]);
        assert_eq!(lines[2..4], [&"c".repeat(COLUMNS), "            c"]);
        assert_eq!(lines[4], "word ".repeat(20).trim_end());
        assert_eq!(
            lines[5],
            format!("{:INDENT$}{}", "", "word ".repeat(10).trim_end())
        );
        assert_eq!(lines.len(), 6);
    }
}
