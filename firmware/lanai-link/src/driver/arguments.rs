//! The command line, as `rustc` writes it for linkers of the GNU flavour, and options of our own (`-C link-arg=`).

use std::path::PathBuf;

use crate::driver::error::DriverError;

/// Inputs and options on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// Bitcode, archives and objects, in order.
    pub inputs: Vec<PathBuf>,
    /// Folders in which files of assembly are searched for.
    pub folders: Vec<PathBuf>,
    /// Files of assembly: `--assemble=FILE`.
    pub assembly: Vec<String>,
    /// The image.
    pub output: PathBuf,
    /// Address where the memory ends: `--memory=N`.
    pub memory: u32,
    /// Symbol where execution begins: `-e NAME`.
    pub entry: String,
}

/// Arguments of `rustc` that mean nothing here.
const IGNORED: [&str; 9] = [
    "--as-needed",
    "--no-as-needed",
    "-Bstatic",
    "-Bdynamic",
    "--gc-sections",
    "--no-gc-sections",
    "-O1",
    "--strip-debug",
    "-static",
];

/// Options that are ignored together with the value behind them.
const IGNORED_WITH_VALUE: [&str; 2] = ["-z", "-m"];

/// A number, decimal or with `0x`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Arguments {
    /// Parses what follows the program's name. Files with arguments (`@FILE`) are already replaced by their content.
    pub fn parse(texts: &[String]) -> Result<Arguments, DriverError> {
        let mut arguments = Arguments {
            inputs: Vec::new(),
            folders: Vec::new(),
            assembly: Vec::new(),
            output: PathBuf::new(),
            memory: 1 << 20,
            entry: "_start".to_owned(),
        };
        let mut texts = texts.iter();
        while let Some(text) = texts.next() {
            let mut value = |needs| {
                let argument = text.clone();
                texts.next().ok_or(DriverError::Value { argument, needs })
            };
            match text.as_str() {
                "-o" => arguments.output = value("a file")?.into(),
                "-L" => arguments.folders.push(value("a folder")?.into()),
                "-e" => arguments.entry.clone_from(value("a symbol")?),
                known if IGNORED_WITH_VALUE.contains(&known) => {
                    value("a value")?;
                }
                known if IGNORED.contains(&known) => {}
                other => arguments.parse_one(other)?,
            }
        }
        let (argument, needs) = match (&arguments.output, arguments.inputs.is_empty()) {
            (output, _) if output.as_os_str().is_empty() => ("-o", "a file"),
            (_, true) => ("the command", "a file to link"),
            _ => return Ok(arguments),
        };
        let argument = argument.to_owned();
        Err(DriverError::Value { argument, needs })
    }

    /// Parses an argument without a value behind it.
    fn parse_one(&mut self, text: &str) -> Result<(), DriverError> {
        if let Some(file) = text.strip_prefix("--assemble=") {
            self.assembly.push(file.to_owned());
        } else if let Some(end) = text.strip_prefix("--memory=") {
            let wrong = || DriverError::Value {
                argument: "--memory".to_owned(),
                needs: "an address of 32 bits",
            };
            self.memory = number(end).ok_or_else(wrong)?;
        } else if let Some(folder) = text.strip_prefix("-L") {
            self.folders.push(folder.into());
        } else if text.starts_with('-') {
            return Err(DriverError::Argument(text.to_owned()));
        } else {
            self.inputs.push(text.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arguments, DriverError> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn the_compilers_command_line_is_known() {
        let parsed = parse(
            "a.o --as-needed -Bstatic b.rlib -L dir -Bdynamic -z noexecstack -Lother -o out --gc-sections -O1 --memory=0x3F000 \
             --assemble=crt0.s -e begin",
        );
        let expected = Arguments {
            inputs: vec!["a.o".into(), "b.rlib".into()],
            folders: vec!["dir".into(), "other".into()],
            assembly: vec!["crt0.s".to_owned()],
            output: "out".into(),
            memory: 0x3F000,
            entry: "begin".to_owned(),
        };
        assert_eq!(parsed.expect("arguments"), expected);
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (text, expected) in [
            ("a.o -o out --pie", "unknown argument --pie"),
            ("a.o -o", "-o needs a file"),
            ("a.o", "-o needs a file"),
            ("-o out", "the command needs a file to link"),
            (
                "a.o -o out --memory=1G",
                "--memory needs an address of 32 bits",
            ),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }
}
