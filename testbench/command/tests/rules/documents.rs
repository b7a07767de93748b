//! Documents and the published numbers agree with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{check, files, read, root, words_after};

/// The pages about the Tigon2.
fn tigon2() -> String {
    let pages = files(&[".md"]).into_iter();
    let pages = pages.filter(|(path, _)| path.starts_with("docs/tigon2"));
    pages.map(|(_, text)| text).collect()
}

#[test]
fn registers_are_documented_with_their_offsets() {
    let reference = tigon2();
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
    check("docs/tigon2*.md have a row for each register", &broken);
}

#[test]
fn bits_are_documented() {
    let reference = tigon2();
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
    check("docs/tigon2*.md have a row for each bit", &broken);
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

/// The text without the marks of comments and the ends of lines.
fn in_one_line(text: &str) -> String {
    let words = text.split_whitespace();
    let words = words.filter(|word| !matches!(*word, "//" | "///" | "//!" | "#"));
    words.collect::<Vec<_>>().join(" ")
}

/// A source file that names a page of docs/ names one that exists, and a section that it has.
#[test]
fn cited_pages_and_sections_exist() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs", ".toml", ".sh", "Makefile"]) {
        let text = in_one_line(&text);
        // Names in capitals stand for others.
        let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        for (at, start) in text.match_indices("docs/") {
            let rest = &text[at + start.len()..];
            let name = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
            let Some(rest) = rest[name.len()..].strip_prefix(".md") else {
                continue;
            };
            let page = format!("docs/{name}.md");
            if !root().join(&page).exists() {
                broken.push(format!("{path}: {page}"));
                continue;
            }
            let rest = rest.trim_start_matches(['`', ',']).trim_start();
            let section = rest
                .strip_prefix("sections")
                .or(rest.strip_prefix("section"));
            let Some(section) = section.map(str::trim_start) else {
                continue;
            };
            let end = section.find(|c: char| !c.is_ascii_digit());
            let number = &section[..end.unwrap_or(section.len())];
            if !number.is_empty() && !read(&page).contains(&format!("\n## {number}. ")) {
                broken.push(format!("{path}: {page}, section {number}"));
            }
        }
    }
    check("every cited page of docs/ and its section exist", &broken);
}

/// The title, and the first paragraph, which says for whom the page is.
#[test]
fn pages_say_for_whom_they_are_and_stand_in_the_book() {
    const LIMIT: usize = 20 * 1024;
    const ALL: usize = 351_000;
    let summary = read("docs/SUMMARY.md");
    let mut broken = Vec::new();
    let mut bytes = 0;
    let pages = files(&[".md"]).into_iter();
    for (path, text) in pages.filter(|(path, _)| path.starts_with("docs/")) {
        let name = path.trim_start_matches("docs/");
        bytes += text.len();
        if name == "SUMMARY.md" {
            continue;
        }
        if !summary.contains(&format!("({name})")) {
            broken.push(format!("{path}: not in docs/SUMMARY.md"));
        }
        if text.len() > LIMIT {
            broken.push(format!("{path}: {} bytes", text.len()));
        }
        let first = text.lines().skip(1).find(|line| !line.is_empty());
        if !first.is_some_and(|line| line.starts_with("For ")) {
            broken.push(format!("{path}: for whom is it?"));
        }
    }
    if bytes > ALL {
        broken.push(format!("docs/: {bytes} bytes, more than {ALL}"));
    }
    check(
        "pages of docs/ are short, name their readers, and stand in the book",
        &broken,
    );
}

/// Links between documents, and to headings in them.
#[test]
fn links_between_documents_lead_somewhere() {
    let documents = files(&[".md"]);
    let mut broken = Vec::new();
    for (path, text) in &documents {
        let folder = Path::new(path).parent().expect("a folder");
        for link in words_after(text, "](", |c| c != ')' && !c.is_whitespace()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let target = match file {
                "" => path.clone(),
                _ => folder.join(file).to_string_lossy().into_owned(),
            };
            let Ok(bytes) = fs::read(root().join(&target)) else {
                broken.push(format!("{path}: {link}"));
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            let headings = text.lines().filter(|line| line.starts_with('#'));
            if !heading.is_empty() && !headings.map(anchor).any(|known| known == heading) {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    check(
        "every link in a document leads to a file and a heading",
        &broken,
    );
}

/// The name of a heading in a link.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.collect()
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

/// A doc comment says what its item is or does without the item's neighbours: it does not begin with a pronoun or a question word.
#[test]
fn doc_comments_name_their_items() {
    let refused = [
        "What", "How", "Its", "Those", "It", "Of", "Where", "Whose", "The same",
    ];
    let text_of = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or(line.strip_prefix("//!"));
        text.map(|text| text.trim_start().to_owned())
    };
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let mut is_begun = false;
        for (index, line) in text.lines().enumerate() {
            let comment = text_of(line);
            let begins = |word: &&&str| {
                let rest = comment
                    .as_deref()
                    .and_then(|text| text.strip_prefix(**word));
                rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            if let Some(word) = refused.iter().find(begins)
                && !is_begun
            {
                broken.push(format!("{path}:{}: begins with \"{word}\"", index + 1));
            }
            is_begun = comment.is_some();
        }
    }
    check("the first line of a doc comment names its item", &broken);
}
