//! Every command line of `lanigon` in the documents is one that the program understands.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{CommandFactory, Parser};
use lanigon_command::cli::Cli;

/// The words of a line of a shell: quotes hold words together, and what other programs get is left out.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut spaces = 0;
    for letter in line.chars() {
        spaces = if letter == ' ' && quote.is_none() {
            spaces + 1
        } else {
            0
        };
        match (letter, quote) {
            // An explanation follows two spaces.
            (' ', None) if spaces > 1 => break,
            (' ', None) => words.push(String::new()),
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('|' | '>' | '<' | '&' | ';' | '#' | '\\', None) => break,
            (letter, _) => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    // A variable of the shell is a number here.
    let value = |word: String| match word.starts_with('$') {
        true => "1".into(),
        false => word,
    };
    words.into_iter().map(value).collect()
}

/// The command lines of a document, with their line numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let shown = line
            .strip_prefix("    ")
            .or_else(|| line.strip_prefix("$ "))?;
        shown.starts_with("lanigon ").then_some((index + 1, shown))
    })
}

#[test]
fn every_shown_command_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap();
    let mut paths: Vec<_> = docs.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.push(root.join("README.md"));
    let (mut count, mut wrong) = (0, Vec::new());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in lines(&text) {
            count += 1;
            let Err(error) = Cli::try_parse_from(words(line)) else {
                continue;
            };
            // Documents show help texts and requests that are refused on purpose.
            let shows_error = text
                .lines()
                .nth(number)
                .is_some_and(|next| next.starts_with("error:"));
            if error.use_stderr() && !shows_error {
                let reason = error.to_string();
                let reason = reason.lines().next().unwrap_or_default();
                wrong.push(format!("{}:{number}: {line}\n  {reason}", path.display()));
            }
        }
    }
    assert!(count > 60, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// README.md has one line for each command, and none for others; docs/commands.md has rows for all.
#[test]
fn the_readme_names_every_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("\n## Commands\n").expect("commands");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split('`').next());
    let shown: Vec<_> = names.filter(|name| !name.contains(' ')).collect();
    let command = Cli::command();
    let known: BTreeSet<_> = command
        .get_subcommands()
        .map(|one| one.get_name())
        .collect();
    assert_eq!(shown.len(), known.len(), "{shown:?}");
    assert_eq!(shown.into_iter().collect::<BTreeSet<_>>(), known);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = std::fs::read_to_string(path).unwrap();
    let is_missing = |name: &&&str| !page.contains(&format!("| `lanigon {name}"));
    let missing: Vec<_> = known.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "docs/commands.md lacks {missing:?}");
}
