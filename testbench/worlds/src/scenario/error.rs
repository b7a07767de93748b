//! Errors of scenarios, with their positions.

use std::fmt;
use std::sync::Arc;

/// An error in a scenario: file, line, key and reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{reason}", if .key.is_empty() { String::new() } else { format!("{}: ", .key) })]
pub struct ScenarioError {
    /// The file, as given by the user.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The key with its tables, as in `network.link.speed_mbit`; empty for the file as a whole.
    pub key: String,
    /// The reason, with valid alternatives.
    pub reason: String,
}

/// A position in a scenario's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Name of the file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The key with its tables.
    pub key: String,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Position {
    /// An error at this position.
    pub fn refuse(&self, reason: impl Into<String>) -> ScenarioError {
        ScenarioError {
            file: Arc::clone(&self.file),
            line: self.line,
            key: self.key.clone(),
            reason: reason.into(),
        }
    }
}

/// Whether one name may be a misspelling of another.
pub fn is_near(name: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(name, other) <= 1 + name.chars().count() / 3
}

/// The known name that another one may be a misspelling of.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let distance = |other: &&str| strsim::damerau_levenshtein(name, other);
    let nearest = known.min_by_key(distance);
    nearest.filter(|other| is_near(name, other))
}

/// Reason for an unknown name: a similar name, or a list of all names.
pub fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> String {
    unknown_among(what, name, &known.collect::<Vec<_>>())
}

fn unknown_among(what: &str, name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied());
    let name: String = name.chars().take(LONGEST_NAME).collect();
    match near {
        Some(nearest) => format!("no {what} \"{name}\"; did you mean \"{nearest}\"?"),
        None if known.is_empty() => format!("no {what} \"{name}\"; there is none here"),
        None if known.len() > MOST_NAMES => format!(
            "no {what} \"{name}\"; there are {}, ... ({} in all)",
            known[..MOST_NAMES].join(", "),
            known.len()
        ),
        None => format!("no {what} \"{name}\"; there are {}", known.join(", ")),
    }
}

/// Largest number of names that an error lists.
const MOST_NAMES: usize = 20;
/// Longest part of a name that an error repeats.
pub(super) const LONGEST_NAME: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_others_listed() {
        let check = |name, expected: &str| {
            let known = ["bytes", "messages"].into_iter();
            assert_eq!(unknown("key", name, known), expected);
        };
        check("byte", "no key \"byte\"; did you mean \"bytes\"?");
        check("mesages", "no key \"mesages\"; did you mean \"messages\"?");
        check("x", "no key \"x\"; there are bytes, messages");
        assert_eq!(
            unknown("node", "x", std::iter::empty()),
            "no node \"x\"; there is none here"
        );
    }
}
