//! Documents and the published numbers agree with the code.

use std::collections::BTreeSet;

use super::{check, files, read, root, words_after};

#[test]
fn registers_are_documented_with_their_offsets() {
    let reference = read("docs/tigon2.md");
    let registers = read("firmware/defs/src/tigon2/regs.rs");
    let offsets: Vec<(&str, &str)> = registers
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split_once(": u32 = "))
        .map(|(name, value)| (name, value.trim_end_matches(';')))
        .filter(|(_, value)| value.starts_with("0x"))
        .collect();
    assert!(offsets.len() > 50, "regs.rs is read wrongly");
    let broken: Vec<String> = offsets
        .iter()
        .map(|(name, offset)| format!("| {offset} | `{name}` |"))
        .filter(|row| !reference.contains(row))
        .collect();
    check("docs/tigon2.md has a row for each register", &broken);
}

#[test]
fn bits_are_documented() {
    let reference = read("docs/tigon2.md");
    let registers = read("firmware/defs/src/tigon2/regs.rs");
    let events = read("firmware/defs/src/tigon2/event.rs");
    let flags = registers.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("        const ")?.split_once(" = ")?;
        Some(name)
    });
    let events = events.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("pub const ")?.split_once(": u32 = ")?;
        value
            .trim_end_matches(';')
            .parse::<u32>()
            .ok()
            .map(|_| name)
    });
    let names: Vec<&str> = flags.chain(events).collect();
    assert!(names.len() > 50, "regs.rs or event.rs is read wrongly");
    let broken: Vec<String> = names
        .iter()
        .map(|name| format!("| `{name}` |"))
        .filter(|cell| !reference.contains(cell))
        .collect();
    check("docs/tigon2.md has a row for each bit", &broken);
}

/// Ids of data/published-emp.csv; checks the shape of each line.
fn published_ids() -> BTreeSet<String> {
    let table = read("data/published-emp.csv");
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let value = columns.iter().position(|name| *name == "value");
    let value = value.expect("a column `value`");
    let mut ids = BTreeSet::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), columns.len(), "{line}");
        assert!(
            !line.contains('"') && fields.iter().all(|field| !field.is_empty()),
            "{line}"
        );
        assert!(
            fields[value].parse::<f64>().is_ok_and(f64::is_finite),
            "{line}"
        );
        assert!(ids.insert(fields[0].to_owned()), "twice: {line}");
    }
    ids
}

#[test]
fn cited_numbers_are_published() {
    let mut ids = published_ids();
    // Published claims have ids too.
    let claims = read("data/published-emp-claims.csv");
    ids.extend(
        claims
            .lines()
            .filter_map(|line| Some(line.split_once(',')?.0.to_owned())),
    );
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs", ".md", ".toml"]) {
        for number in words_after(&text, "emp-", |c| c.is_ascii_digit()) {
            let id = format!("emp-{number}");
            if !ids.contains(&id) {
                broken.push(format!("{path}: {id}"));
            }
        }
    }
    check(
        "every cited id stands in data/published-emp.csv or its claims",
        &broken,
    );
}

#[test]
fn cited_sections_exist() {
    let reference = read("docs/tigon2.md");
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs", ".toml"]) {
        for section in words_after(&text, "docs/tigon2.md, section ", |c| c.is_ascii_digit()) {
            if !reference.contains(&format!("\n## {section}. ")) {
                broken.push(format!("{path}: section {section}"));
            }
        }
    }
    check("every cited section of docs/tigon2.md exists", &broken);
}

#[test]
fn paths_in_the_documents_exist() {
    let folders = [
        "emulator/",
        "firmware/",
        "host-lib/",
        "testbench/",
        "docs/",
        "data/",
        "scenarios/",
        "scripts/",
    ];
    let mut broken = Vec::new();
    for (document, text) in files(&[".md"]) {
        for span in text.split('`').skip(1).step_by(2) {
            let ours = folders.iter().any(|folder| span.starts_with(folder));
            let literal = !span.contains(['*', '<', ' ', '{', '\n']) && !span.contains("/target/");
            if ours && literal && !root().join(span).exists() {
                broken.push(format!("{document}: `{span}`"));
            }
        }
    }
    check("every path that a document names exists", &broken);
}

/// Comments name actors by the field's nouns: firmware, CPU, host, observer.
#[test]
fn comments_use_technical_nouns() {
    let refused = [
        "somebody",
        "nobody",
        "anybody",
        "whoever",
        "whomever",
        "how-manieth",
        "in vain",
    ];
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        for (index, line) in text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else {
                continue;
            };
            let comment = comment.to_lowercase();
            let between = |c: char| !c.is_alphabetic() && c != '-';
            let is_used = |word: &&&str| match word.contains(' ') {
                true => comment.contains(**word),
                false => comment.split(between).any(|one| one == **word),
            };
            if let Some(word) = refused.iter().find(is_used) {
                broken.push(format!("{path}:{}: {word}", index + 1));
            }
        }
    }
    check("comments use technical nouns", &broken);
}
