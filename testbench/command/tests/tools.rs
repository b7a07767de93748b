//! Tools that some tests drive, and that not every machine has.

use std::io::Write;

/// Whether a program is installed. If not, says so on the terminal, past the capture of the test's output: a test that
/// is skipped must not look like one that passed.
pub fn is_installed(program: &str, what: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|folder| folder.join(program).is_file());
    if !found {
        // A closed standard output is no failure.
        let _ = writeln!(std::io::stderr(), "SKIPPED for lack of {program}: {what}");
    }
    found
}
