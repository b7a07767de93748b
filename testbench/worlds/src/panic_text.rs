//! The message of a panic, from the source at which it happened.
//!
//! An image holds no messages, unless the firmware formats them (feature `panic-values` of both hardware abstractions): its panic handler gives
//! the place alone, so the compiler drops the texts, and the code that would format them. The source line at the panic has the message, with its
//! placeholders; that of a panic of the language is in the source of `core`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files::own;

/// Start of the text of a panic.
const PANIC: &str = "panic at ";
/// The folder of the standard library in absolute paths.
const LIBRARY: &str = "/library/";

/// Functions and macros that panic with a message: what the message begins with, and the number of its argument.
const PANICS: [(&str, &str, usize); 15] = [
    ("panic!(", "", 0),
    ("const_panic!(", "", 0),
    ("expect(", "", 0),
    ("expect_err(", "", 0),
    ("panic(", "", 0),
    ("panic_nounwind(", "", 0),
    ("panic_nounwind_fmt(", "", 0),
    ("panic_str(", "", 0),
    ("unwrap(", "called `Result::unwrap()` on an `Err` value", 0),
    (
        "unreachable!(",
        "internal error: entered unreachable code",
        0,
    ),
    ("todo!(", "not yet implemented", 0),
    ("unimplemented!(", "not implemented", 0),
    ("assert!(", "assertion failed", 1),
    ("assert_eq!(", "assertion `left == right` failed", 2),
    ("assert_ne!(", "assertion `left != right` failed", 2),
];
/// Largest length of a call, in lines.
const MOST_LINES: usize = 64;
/// Constants and `concat!` within one another.
const MOST_DEPTH: usize = 8;

/// Begin of the paths of Rust's sources, as build scripts pass it.
const RUST: &str = "/rust/";

/// A source file where the compiler read it. Files of this project are named `lanigon/...` and those of Rust `/rust/...` wherever they lie.
#[must_use]
pub fn source_at(path: &str) -> Option<String> {
    fs::read_to_string(file_of(path)?).ok()
}

/// Whether a source file was changed after `built`. Those of the language do not count: they come with the compiler.
#[must_use]
pub fn is_newer(path: &str, built: SystemTime) -> bool {
    let changed = || file_of(path)?.metadata().ok()?.modified().ok();
    !path.contains(LIBRARY) && changed().is_some_and(|changed| changed > built)
}

fn file_of(path: &str) -> Option<PathBuf> {
    let own = || Some(own::project().join(path.strip_prefix("lanigon/")?));
    let rust = || Some(rust_sources()?.join(path.strip_prefix(RUST)?));
    let plain = PathBuf::from(path);
    let all = [Some(plain), own(), rust()];
    all.into_iter().flatten().find(|file| file.is_file())
}

/// The sources of Rust that come with the toolchain of this program, which is the one for firmware.
fn rust_sources() -> Option<PathBuf> {
    let toolchain = Path::new(env!("CARGO")).parent()?.parent()?;
    Some(toolchain.join("lib/rustlib/src/rust"))
}

/// Most messages of a function of which one is meant.
const MOST_MESSAGES: usize = 3;

/// The message with which `function` of a source panics, wherever in it: the compiler makes one call of several that differ in their message
/// alone, and then each of them may be meant.
#[must_use]
pub fn of_body(source: &str, function: &str) -> Option<String> {
    let name = function.rsplit("::").next()?;
    let name = name.split('<').next()?;
    let head = format!("fn {name}(");
    let mut lines = source.lines().enumerate();
    let (_, first) = lines.find(|(_, line)| line.contains(&head))?;
    let indent = &first[..first.len() - first.trim_start().len()];
    let end = format!("{indent}}}");
    let mut messages: Vec<String> = Vec::new();
    for (index, line) in lines.take_while(|(_, line)| **line != end) {
        let call = line.trim_start();
        if call.starts_with("panic!(") || call.starts_with("const_panic!(") {
            let message = of_line(source, (index as u32 + 1, 0))?;
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
    }
    let more = messages.len() > MOST_MESSAGES;
    messages.truncate(MOST_MESSAGES);
    if more {
        messages.push("...".into());
    }
    (!messages.is_empty()).then(|| messages.join(", or "))
}

/// The message of the panic in `function` at a line and column of a source; `None` if that line does not panic itself. Column 0: unknown.
#[must_use]
pub fn message(source: &str, place: (u32, u32), function: &str) -> Option<String> {
    of_line(source, place).or_else(|| of_function(source, function))
}

/// Remainder of a message: at a signed division the compiler may make one call of that for a divisor of zero and that for an overflow,
/// which differ in their message alone. Then the image has one of both functions.
#[must_use]
pub fn merged(function: &str, has_function: impl Fn(&str) -> bool) -> &'static str {
    let is = |name: &str| function.ends_with(name);
    for operation in ["div", "rem"] {
        let by_zero = format!("panic_const_{operation}_by_zero");
        let overflow = format!("panic_const_{operation}_overflow");
        if is(&by_zero) && !has_function(&overflow) {
            return ", or with overflow if it is signed";
        }
        if is(&overflow) && !has_function(&by_zero) {
            return ", or by zero";
        }
    }
    ""
}

/// Whether a message of a source with this path says what happened: one of the library may consist of what its caller gives.
#[must_use]
pub fn is_told(message: &str, path: &str) -> bool {
    !(message.starts_with('{') && path.contains(LIBRARY))
}

/// The message of a panic that names its place as an absolute path, as those of the standard library do, and the text with that path
/// as line tables show it.
#[must_use]
pub fn of_library(panic: &str) -> Option<(String, Option<String>)> {
    let (path, line) = panic.strip_prefix(PANIC)?.rsplit_once(':')?;
    path.split_once(LIBRARY)?;
    let found = source_at(path).and_then(|source| of_line(&source, (line.parse().ok()?, 0)));
    Some((short(panic), found))
}

/// The text of a panic with the path as line tables show it.
fn short(panic: &str) -> String {
    let place = panic.strip_prefix(PANIC).unwrap_or(panic);
    let path = place.split(':').next().unwrap_or_default();
    match path.split_once(LIBRARY) {
        Some((before, _)) => format!("{PANIC}{}", &place[before.len() + LIBRARY.len()..]),
        None => panic.into(),
    }
}

/// The text of a panic with a message of the firmware's, in one line: `assert_eq!` makes three.
#[must_use]
pub fn complete(panic: &str) -> String {
    let panic = short(panic);
    let lines: Vec<&str> = panic.lines().map(str::trim).collect();
    lines.join(", ")
}

/// A call in a source that panics.
struct PanickingCall {
    /// Offset of its name.
    name: usize,
    /// Offset of its arguments.
    arguments: usize,
    /// Begin of its message.
    start: &'static str,
    /// Number of the argument with the rest of its message.
    number: usize,
}

/// The message of the call at a line and a column, at which the expression of the call begins: `v` of `v.expect("none")`. Calls of one chain
/// begin alike, and the compiler may make one of all calls of a line, then without a column: the messages of all are told.
fn of_line(source: &str, (line, column): (u32, u32)) -> Option<String> {
    let first = (line as usize).checked_sub(1)?;
    let lines: Vec<&str> = source.lines().skip(first).take(MOST_LINES).collect();
    let calls = panicking_calls(lines.first()?);
    let text = lines.join("\n");
    let begin = (column as usize).saturating_sub(1);
    let start = calls.iter().position(|call| call.name >= begin);
    // A source that was edited since may have its calls before the column.
    let start = start.unwrap_or(calls.len().saturating_sub(1));
    let mut messages: Vec<String> = Vec::new();
    for (index, call) in calls.iter().enumerate().skip(start) {
        let message = message_of(source, &text, call)?;
        if !messages.contains(&message) {
            messages.push(message);
        }
        let end = call.arguments + arguments(&text[call.arguments..]).len();
        let next = calls.get(index + 1);
        if column != 0 && !next.is_some_and(|next| is_chained(text.get(end..next.name))) {
            break;
        }
    }
    (!messages.is_empty()).then(|| messages.join(", or "))
}

/// Whether a call goes on with another one behind this text: `).next().`.
fn is_chained(between: Option<&str>) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || "_.()?:<>".contains(letter);
    between.is_some_and(|between| between.starts_with(").") && between.chars().all(goes_on))
}

/// The calls in a line that panic, in their order.
fn panicking_calls(line: &str) -> Vec<PanickingCall> {
    let found = PANICS.iter().flat_map(|(name, start, number)| {
        let places = line.match_indices(name).map(|(at, _)| at);
        let whole = places.filter(|&at| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
        });
        whole.map(|at| PanickingCall {
            name: at,
            arguments: at + name.len(),
            start,
            number: *number,
        })
    });
    let mut calls: Vec<PanickingCall> = found.collect();
    calls.sort_by_key(|call| call.name);
    calls
}

/// The message of a call in a text, a part of a source.
fn message_of(source: &str, text: &str, call: &PanickingCall) -> Option<String> {
    let given = split(arguments(&text[call.arguments..]));
    let message = given
        .get(call.number..)
        .and_then(|given| formatted(source, given));
    match (call.start, message) {
        ("", message) => message,
        (start, Some(message)) => Some(format!("{start}: {message}")),
        ("assertion failed", None) => {
            let condition = given.first().copied().unwrap_or_default();
            Some(format!("assertion failed: {condition}"))
        }
        (start, None) => Some(start.into()),
    }
}

/// The text of a format and its arguments, with the constants among these.
fn formatted(source: &str, given: &[&str]) -> Option<String> {
    let (format, values) = given.split_first()?;
    let text = text_of(source, format, 0).or_else(|| literal(format))?;
    let mut values = values.iter();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once('{') {
        let Some((name, after)) = behind.split_once('}') else {
            break;
        };
        out += before;
        let value = match name {
            "" => values.next().and_then(|value| text_of(source, value, 0)),
            name => constant(source, name, 0),
        };
        out += &value.unwrap_or_else(|| format!("{{{name}}}"));
        rest = after;
    }
    Some(out + rest)
}

/// The text of an expression: a string, `concat!`, `stringify!`, a constant of the same source; `None` if it is another one.
fn text_of(source: &str, expression: &str, depth: usize) -> Option<String> {
    let expression = expression.trim().trim_start_matches('&');
    let inside = |name: &str| expression.strip_prefix(name).map(arguments);
    if depth > MOST_DEPTH {
        return None;
    }
    if expression.starts_with('"') {
        return literal(expression);
    }
    if let Some(raw) = expression.strip_prefix('r') {
        let marks = raw.len() - raw.trim_start_matches('#').len();
        if let Some(text) = raw[marks..].strip_prefix('"') {
            let end = format!("\"{}", "#".repeat(marks));
            return text.split_once(&end).map(|(text, _)| text.into());
        }
    }
    if let Some(parts) = inside("concat!(") {
        let part = |part: &&str| {
            let plain = part.trim().trim_matches('\'');
            let is_value = plain.starts_with(|first: char| first.is_ascii_digit());
            let is_value =
                is_value || part.trim().starts_with('\'') || ["true", "false"].contains(&plain);
            let other = || is_value.then(|| plain.to_owned());
            // Where a macro makes the rest, its name stands for it.
            text_of(source, part, depth + 1)
                .or_else(other)
                .unwrap_or_else(|| format!("{{{plain}}}"))
        };
        return Some(split(parts).iter().map(part).collect());
    }
    if let Some(words) = inside("stringify!(") {
        return Some(words.trim().into());
    }
    let name = expression.rsplit("::").next()?;
    constant(source, name, depth + 1)
}

/// The text of a constant that the source declares.
fn constant(source: &str, name: &str, depth: usize) -> Option<String> {
    let is_name =
        |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let declared = ["const", "static"].iter().find_map(|keyword| {
        let (_, rest) = source.split_once(&format!("{keyword} {name}:"))?;
        rest.split_once('=')
    });
    let (_, value) = declared?;
    text_of(source, value, depth)
}

/// The arguments between commas.
fn split(inside: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut escaped, mut from) = (0, false, false, 0);
    let mut parts = Vec::new();
    for (at, letter) in inside.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inside[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    let last = inside[from..].trim();
    parts.extend((!last.is_empty()).then_some(last));
    parts
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
    fn messages_in_bodies() {
        let source = "fn other() {\n    panic!(\"no\");\n}\nconst fn fail(at: u32) -> ! {\n    if at > 3 {\n        const_panic!(\n            \"too far\",\n            \"{at}\",\n        )\n    }\n    let x = y.unwrap();\n    panic!(\"too near\")\n}\nfn last() { panic!(\"neither\") }\n";
        let check = |function: &str, expected: Option<&str>| {
            assert_eq!(of_body(source, function).as_deref(), expected, "{function}");
        };
        check("core::slice::fail", Some("too far, or too near"));
        check("fail::<u32>", None);
        check("other", Some("no"));
        check("missing", None);
    }

    #[test]
    fn messages_of_merged_calls() {
        let check = |function: &str, others: &[&str], expected: &str| {
            let has = |name: &str| others.iter().any(|other| other.ends_with(name));
            assert_eq!(merged(function, has), expected, "{function}");
        };
        let (zero, overflow) = (
            "core::panic_const_div_by_zero",
            "core::panic_const_div_overflow",
        );
        check(zero, &[zero], ", or with overflow if it is signed");
        check(zero, &[zero, overflow], "");
        check(overflow, &[overflow], ", or by zero");
        check("core::panic_const_rem_overflow", &[zero], ", or by zero");
        check("core::panic_const_add_overflow", &[zero], "");
    }

    #[test]
    fn messages_of_calls() {
        let check = |source: &str, expected: Option<&str>| {
            let found = message(source, (2, 0), "main");
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
        check(
            "\n    const_panic!(\n        \"no {n}\",\n        \"\",\n    )",
            Some("no {n}"),
        );
        check(
            "\nlet x = a.unwrap() + b(\"c\");",
            Some("called `Result::unwrap()` on an `Err` value"),
        );
        check("\ntodo!()", Some("not yet implemented"));
        check("\ncore_panic!(\"other\")", None);
        check("\nlet x = a[i];\npanic!(\"later\")", None);
        check("\nexpect(\"without an end", None);
        check(
            "\npanic!(concat!(\"ring \", stringify!(tx), \": \", 3, ' ', \"of \", SIZE, line!()))\nconst SIZE: &str = \"four\";",
            Some("ring tx: 3 of four{line!()}"),
        );
        check(
            "\nx.expect(TEXT)\npub const TEXT: &str = concat!(\"no \", \"room, (none)\");",
            Some("no room, (none)"),
        );
        check(
            "\npanic!(\"{} and {ONE}, {n}: {}\", texts::TWO, n)\nconst ONE: &str = \"1\";\nstatic TWO: &str = r#\"a \"2\"\"#;",
            Some("a \"2\" and 1, {n}: {}"),
        );
        check(
            "\nassert!(name == \"b\");",
            Some("assertion failed: name == \"b\""),
        );
        check(
            "\nassert_eq!(name, \"b\");",
            Some("assertion `left == right` failed"),
        );
        check(
            "\nassert_eq!(f(a, b), 2, \"of {a}\");",
            Some("assertion `left == right` failed: of {a}"),
        );
        check("\npanic!(LOOP)\nconst LOOP: &str = LOOP;", None);
        check("\npanic!(TEXT); let a = \"b\";", None);
        check("", None);
    }

    #[test]
    fn the_column_tells_calls_of_a_line_apart() {
        let check = |line: &str, begin: &str, expected: &str| {
            let column = line.find(begin).unwrap() as u32 + 1;
            let found = message(line, (1, column), "main");
            assert_eq!(found.as_deref(), Some(expected), "{line} at {begin}");
        };
        let sum = "v.expect(\"no v\") + w.expect(\"no w\")";
        check(sum, "v.", "no v");
        check(sum, "w.", "no w");
        let both = "assert!(x == 3, \"first\"); assert!(x == 4, \"second\");";
        check(both, "assert!(x == 3", "assertion failed: first");
        check(both, "assert!(x == 4", "assertion failed: second");
        let nested = "assert_eq!(v.unwrap_or(3), w.expect(\"no w\"), \"they\");";
        check(
            nested,
            "assert_eq",
            "assertion `left == right` failed: they",
        );
        check(nested, "w.", "no w");
        // One chain begins at one column.
        let chain = "v.expect(\"no v\").next(1).expect(\"no next\")";
        check(chain, "v.", "no v, or no next");
        check("f(v.expect(\"no v\"), w.expect(\"no w\"))", "v.", "no v");
        let unknown = message(sum, (1, 0), "main");
        assert_eq!(unknown.as_deref(), Some("no v, or no w"));
    }

    #[test]
    fn messages_of_the_firmware() {
        let check = |panic: &str, expected: &str| assert_eq!(complete(panic), expected);
        check("panic at src/a.rs:3: ring 7", "panic at src/a.rs:3: ring 7");
        check(
            "panic at /rust/library/core/src/cell.rs:3: it",
            "panic at core/src/cell.rs:3: it",
        );
        check(
            "panic at a.rs:3: `left == right` failed: /library/\n  left: 1\n right: 2",
            "panic at a.rs:3: `left == right` failed: /library/, left: 1, right: 2",
        );
    }

    #[test]
    fn sources_of_the_language() {
        let source = source_at("/rust/library/core/src/panicking.rs").expect("rust-src");
        let name = "core::panicking::panic_const::panic_const_mul_overflow";
        let expected = Some("attempt to multiply with overflow");
        assert_eq!(message(&source, (1, 0), name).as_deref(), expected);
    }

    #[test]
    fn a_table_has_messages_of_functions() {
        let source = "macro!(\n        add_overflow = \"attempt to add with overflow\",\n    )";
        let check = |function, expected: Option<&str>| {
            assert_eq!(message(source, (1, 0), function).as_deref(), expected);
        };
        check(
            "core::panicking::add_overflow",
            Some("attempt to add with overflow"),
        );
        check("core::panicking::sub_overflow", None);
    }
}
