//! Results as files.

use std::path::Path;

use lanigon_worlds::files::output as files;

use crate::Error;
use crate::document::ExperimentOutcome;
use crate::drawing;

/// Creates the folder for results, and checks that it is writable.
///
/// # Errors
/// It is not.
pub fn prepare(folder: &Path, name: &str) -> Result<(), Error> {
    let created = files::create_folder(folder);
    // Dropped at once: what an earlier run left stays until there are results.
    let created =
        created.and_then(|()| files::create(&folder.join(format!("{name}.txt"))).map(drop));
    created.map_err(|error| {
        Error::Request(format!(
            "--out {}: cannot be written: {error}",
            folder.display()
        ))
    })
}

/// Writes a file.
///
/// # Errors
/// It cannot be written.
pub fn write_file(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    files::write(&path, bytes)
        .map_err(|error| Error::Request(format!("{}: {error}", path.display())))
}

/// Writes all files of an outcome: `NAME.txt`, `NAME.json`, `NAME.csv`, figures as SVG and PDF, and a report as a page and as Markdown.
///
/// # Errors
/// One cannot be written.
pub fn write(folder: &Path, outcome: &ExperimentOutcome) -> Result<(), Error> {
    let Some(head) = &outcome.head else {
        return Ok(());
    };
    let name = head.experiment;
    let write = |file: &str, bytes: &[u8]| write_file(folder, file, bytes);
    for (file, figure) in &outcome.figures {
        for (kind, drawing) in drawing::files(figure) {
            write(&format!("{file}.{kind}"), &drawing)?;
        }
    }
    write(&format!("{name}.json"), outcome.document.as_bytes())?;
    write(&format!("{name}.csv"), outcome.table.as_bytes())?;
    write(&format!("{name}.txt"), outcome.text.as_bytes())?;
    write(
        "report.html",
        lanigon_report::html(&outcome.report).as_bytes(),
    )?;
    write(
        "report.md",
        lanigon_report::markdown(&outcome.report).as_bytes(),
    )
}
