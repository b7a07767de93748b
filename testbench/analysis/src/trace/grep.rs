//! Matching lines with context.

use std::collections::VecDeque;

/// Separator between two groups of lines.
const GAP: &[u8] = b"--\n";

/// Shows matching lines with context lines, each once.
#[derive(Debug)]
pub struct Context {
    before: usize,
    after: usize,
    waiting: VecDeque<Vec<u8>>,
    /// Number of context lines still to show after a match.
    owed: usize,
    /// Whether lines were omitted since the last one shown.
    gap: bool,
    shown: bool,
}

impl Context {
    /// Numbers of context lines before and after a match.
    #[must_use]
    pub const fn new(before: usize, after: usize) -> Self {
        Self {
            before,
            after,
            waiting: VecDeque::new(),
            owed: 0,
            gap: false,
            shown: false,
        }
    }

    /// Processes a line, and shows lines as needed.
    pub fn take_line(&mut self, line: &[u8], matching: bool, mut show: impl FnMut(&[u8])) {
        if matching {
            if self.gap && self.shown && (self.before > 0 || self.after > 0) {
                show(GAP);
            }
            self.waiting.drain(..).for_each(|line| show(&line));
            show(line);
            (self.owed, self.gap, self.shown) = (self.after, false, true);
        } else if self.owed > 0 {
            show(line);
            self.owed -= 1;
        } else {
            if self.waiting.len() == self.before {
                self.gap = true;
                self.waiting.pop_front();
            }
            if self.before > 0 {
                self.waiting.push_back(line.to_vec());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around() {
        let check = |before, after, lines: &str, expected: &str| {
            let mut context = Context::new(before, after);
            let mut shown = Vec::new();
            for line in lines.split_inclusive('\n') {
                context.take_line(line.as_bytes(), line.starts_with('!'), |line| {
                    shown.extend_from_slice(line)
                });
            }
            assert_eq!(
                String::from_utf8_lossy(&shown),
                expected,
                "{before} {after}"
            );
        };
        let lines = "a\nb\n!1\nc\nd\ne\nf\n!2\n!3\ng\n";
        check(0, 0, lines, "!1\n!2\n!3\n");
        check(1, 1, lines, "b\n!1\nc\n--\nf\n!2\n!3\ng\n");
        check(2, 2, lines, "a\nb\n!1\nc\nd\ne\nf\n!2\n!3\ng\n");
        check(0, 1, lines, "!1\nc\n--\n!2\n!3\ng\n");
        check(9, 0, lines, "a\nb\n!1\nc\nd\ne\nf\n!2\n!3\n");
    }
}
