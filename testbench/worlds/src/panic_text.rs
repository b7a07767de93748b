//! The message of a panic, from the source at which it happened.
//!
//! An image holds no messages: its panic handler gives the place alone, so the compiler drops the texts, and the code that would format
//! them. The source line at the panic has the message, with its placeholders; that of a panic of the language is in the source of `core`.

use std::fs;
use std::path::Path;

use crate::files::own;

/// Start of the text of a panic.
const PANIC: &str = "panic at ";
/// The folder of the standard library in absolute paths.
const LIBRARY: &str = "/library/";

/// Functions and macros that panic with a message, and what the message begins with.
const PANICS: [(&str, &str); 13] = [
    ("panic!(", ""),
    ("expect(", ""),
    ("expect_err(", ""),
    ("panic(", ""),
    ("panic_nounwind(", ""),
    ("panic_nounwind_fmt(", ""),
    ("panic_str(", ""),
    ("unreachable!(", "internal error: entered unreachable code"),
    ("todo!(", "not yet implemented"),
    ("unimplemented!(", "not implemented"),
    ("assert!(", "assertion failed"),
    ("assert_eq!(", "assertion `left == right` failed"),
    ("assert_ne!(", "assertion `left != right` failed"),
];
/// Largest length of a call, in lines.
const MOST_LINES: usize = 12;

/// A source file where the compiler read it. Files of this project are named `lanigon/...` wherever it lies.
#[must_use]
pub fn source_at(path: &str) -> Option<String> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    read(Path::new(path)).or_else(|| read(&own::project().join(path.strip_prefix("lanigon/")?)))
}

/// The message of the panic in `function` at a line of a source; `None` if that line does not panic itself.
#[must_use]
pub fn message(source: &str, line: u32, function: &str) -> Option<String> {
    of_line(source, line).or_else(|| of_function(source, function))
}

/// The message of a panic that names its place as an absolute path, as those of the standard library do, and the text with that path
/// as line tables show it.
#[must_use]
pub fn of_library(panic: &str) -> Option<(String, Option<String>)> {
    let (path, line) = panic.strip_prefix(PANIC)?.rsplit_once(':')?;
    let (_, short) = path.split_once(LIBRARY)?;
    let source = fs::read_to_string(path).ok();
    let found = source.and_then(|source| of_line(&source, line.parse().ok()?));
    Some((format!("{PANIC}{short}:{line}"), found))
}

/// The message of the call at a line.
fn of_line(source: &str, line: u32) -> Option<String> {
    let first = (line as usize).checked_sub(1)?;
    let lines: Vec<&str> = source.lines().skip(first).take(MOST_LINES).collect();
    let call = lines.first()?;
    let found = PANICS.iter().filter_map(|(name, start)| {
        let at = call.find(name)?;
        let before = call[..at].chars().next_back();
        let is_whole = !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        is_whole.then_some((at + name.len(), *start))
    });
    let (at, start) = found.min()?;
    let text = lines.join("\n");
    let inside = arguments(&text[at..]);
    match (start, literal(inside)) {
        ("", literal) => literal,
        (start, Some(literal)) => Some(format!("{start}: {literal}")),
        ("assertion failed", None) => Some(format!("assertion failed: {}", inside.trim())),
        (start, None) => Some(start.into()),
    }
}

/// The message that a table in the source gives to a function: `panic_const_add_overflow = "..."`.
fn of_function(source: &str, function: &str) -> Option<String> {
    let name = function.rsplit("::").next()?;
    let (_, rest) = source.split_once(&format!(" {name} = \""))?;
    literal(&format!("\"{rest}"))
}

/// The text up to the closing bracket of a call.
fn arguments(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' if depth == 0 => return &text[..at],
            ')' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// The first string in a text, without its escapes.
fn literal(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('"')?;
    let mut out = String::new();
    let mut letters = rest.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(out),
            '\\' => match letters.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                // A string goes on in the next line, behind its blanks.
                '\n' => while letters.next_if(|next| next.is_whitespace()).is_some() {},
                other => out.push(other),
            },
            _ => out.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_calls() {
        let check = |source: &str, expected: Option<&str>| {
            let found = message(source, 2, "main");
            assert_eq!(found.as_deref(), expected, "{source}");
        };
        check(
            "\nlet x = v.expect(\"no \\\"ring\\\"\");",
            Some("no \"ring\""),
        );
        check("\n    .expect(\n        \"two\",\n    );", Some("two"));
        check(
            "\npanic!(\"queue {} is \\\n        corrupt\", q);",
            Some("queue {} is corrupt"),
        );
        check(
            "\nassert!(a < b(c), \"{a}\");",
            Some("assertion failed: {a}"),
        );
        check("\nassert!(a < b(c));", Some("assertion failed: a < b(c)"));
        check("\ntodo!()", Some("not yet implemented"));
        check("\ncore_panic!(\"other\")", None);
        check("\nlet x = a[i];\npanic!(\"later\")", None);
        check("\nexpect(\"without an end", None);
        check("\npanic!(TEXT); let a = \"b\";", None);
        check("", None);
    }

    #[test]
    fn a_table_has_messages_of_functions() {
        let source = "macro!(\n        add_overflow = \"attempt to add with overflow\",\n    )";
        let check = |function, expected: Option<&str>| {
            assert_eq!(message(source, 1, function).as_deref(), expected);
        };
        check(
            "core::panicking::add_overflow",
            Some("attempt to add with overflow"),
        );
        check("core::panicking::sub_overflow", None);
    }
}
