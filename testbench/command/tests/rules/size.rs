//! Sizes of files and functions.

use super::{check, files};

/// Limits, in lines.
const FILE: usize = 600;
const FUNCTION: usize = 70;

/// Files and functions above the limits, each with its length. The list may only become shorter.
const LONG: &[(&str, usize)] = &[];

/// Replaces comments, strings and characters by nothing, but keeps line breaks: what remains has the braces of the code
/// alone.
fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = literal(rest, out.chars().next_back());
        let length = skipped.unwrap_or(first.len_utf8());
        let (token, after) = rest.split_at(length);
        match skipped {
            Some(_) => out.extend(token.matches('\n')),
            None => out.push_str(token),
        }
        rest = after;
    }
    out
}

/// Length of the comment, string or character at the start of `text`, if one is there. `before` is the previous character.
fn literal(text: &str, before: Option<char>) -> Option<usize> {
    let until = |from: usize, end: &str| {
        let found = text[from..].find(end);
        found.map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(until(2, "*/"));
    }
    let in_word = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
    let raw = text.strip_prefix('b').unwrap_or(text).strip_prefix('r');
    if let Some(raw) = raw.filter(|_| !in_word) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let from = text.len() - raw.len() + hashes + 1;
            return Some(until(from, &format!("\"{}", "#".repeat(hashes))));
        }
    }
    let quoted = |quote: char| {
        let mut escaped = false;
        let closing = |&(_, c): &(usize, char)| {
            let closes = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        };
        text.char_indices().skip(1).find(closing)
    };
    match text.chars().next() {
        Some('"') => Some(quoted('"').map_or(text.len(), |(at, _)| at + 1)),
        // A lifetime has no closing quote right behind one character.
        Some('\'') => {
            let mut inside = text.chars().skip(1);
            let is_character = inside.next() == Some('\\') || inside.next() == Some('\'');
            is_character.then(|| quoted('\'').map_or(1, |(at, _)| at + 1))
        }
        _ => None,
    }
}

/// Name and length of each function with a body in `code`.
fn functions(code: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let starts_word = code[..at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && before != '_');
        let text = &code[at + 3..];
        let name = &text[..text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(0)];
        if !starts_word || name.is_empty() {
            continue;
        }
        if let Some(end) = body_end(text) {
            found.push((name, text[..end].matches('\n').count() + 1));
        }
    }
    found
}

/// Position of the closing brace of a function whose text follows `fn`; `None` without a body.
fn body_end(text: &str) -> Option<usize> {
    let (mut braces, mut others) = (0_i32, 0_i32);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' if braces == 0 => others += 1,
            ')' | ']' if braces == 0 => others -= 1,
            ';' if braces == 0 && others == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn files_and_functions_are_short() {
    let mut long = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let lines = text.lines().count();
        if lines > FILE {
            long.push((path.clone(), lines));
        }
        for (name, lines) in functions(&code(&text)) {
            if lines > FUNCTION {
                long.push((format!("{path}: {name}"), lines));
            }
        }
    }
    let known = |name: &str, lines: usize| LONG.contains(&(name, lines));
    let mut broken: Vec<String> = long
        .iter()
        .filter(|(name, lines)| !known(name, *lines))
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    let is_long = |entry: &(&str, usize)| long.iter().any(|(n, l)| (n.as_str(), *l) == *entry);
    let stale = LONG.iter().filter(|entry| !is_long(entry));
    broken.extend(stale.map(|(name, lines)| format!("{name}: listed with {lines} lines")));
    let rule = format!("no Rust file is longer than {FILE} lines, no function than {FUNCTION}");
    check(&rule, &broken);
}

#[test]
fn lengths_are_counted_right() {
    let text = "fn a() {\n    let s = \"}\";\n    // }\n}\ntrait T {\n    fn b(&self);\n    fn c<'a>(x: [u8; 2]) {}\n}\n\
        const F: fn(u8) = |_| {};\nfn d() {\n    let r = r#\"}\n\"\n}\"#;\n    let c = ['}', '\\'', '{'];\n    /* }\n */\n}\n";
    let expected = [("a", 4), ("c", 1), ("d", 8)];
    assert_eq!(functions(&code(text)), expected);
}
