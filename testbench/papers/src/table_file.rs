//! Tables of published numbers: those in the program, or in the user's data folder.

use lanigon_worlds::files::input::Input;
use lanigon_worlds::files::own;

/// A table that the user gave cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TableError(String);

/// Reads the table `name`, or its `built_in` text; the first line has the names of the columns.
///
/// # Errors
/// If the user's file cannot be read, or one of its lines is none of this table.
pub(crate) fn load<T>(
    name: &str,
    built_in: &'static str,
    parse: fn(&'static str) -> Option<T>,
) -> Result<Vec<T>, TableError> {
    let (place, text) = match own::published(name) {
        None => (name.to_owned(), built_in),
        Some(path) => {
            let place = path.display().to_string();
            let text = Input::Published.read_text(&path);
            let text = text.map_err(|error| TableError(format!("{place}: {error}")))?;
            // Read once, and kept to the end.
            (place, &*Box::leak(text.into_boxed_str()))
        }
    };
    let lines = text.lines().enumerate().skip(1);
    let rows = lines.map(|(index, line)| {
        parse(line).ok_or_else(|| {
            TableError(format!(
                "{place}:{}: no line of this table: \"{line}\"",
                index + 1
            ))
        })
    });
    rows.collect()
}
