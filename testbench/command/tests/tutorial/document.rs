//! Instructions of a document to its reader.
//!
//! * A `console` block shows commands, each after `$ `, and their output. A line `...` matches any lines.
//!   Text after a prompt of `lanigon debug` or gdb is input of the command that printed the prompt. With
//!   `needs=PROGRAM` after `console`, the commands run only if that program is installed; with `stays`, the
//!   command continues during the following ones, and the lines are its first output.
//! * A block with `file=PATH` after its language is that file's complete content.
//! * Any other block is not executed: commands with unpredictable output.

/// Start of a block of commands.
const CONSOLE: &str = "console";

/// Steps in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Write a file.
    File { path: String, text: String },
    /// Run a command.
    Command(Command),
}

/// A shell command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The command line.
    pub line: String,
    /// A program that may not be installed.
    pub needs: Option<String>,
    /// The command does not end by itself.
    pub stays: bool,
    /// Output of the command, with its input.
    pub output: Vec<String>,
}

impl Command {
    /// Input of the command, line by line.
    pub fn typed(&self) -> Vec<&str> {
        let lines = self.output.iter();
        lines.filter_map(|line| behind_prompt(line)).collect()
    }
}

/// The prompt of gdb.
pub const GDB: &str = "(gdb) ";

/// Text after a prompt: gdb's, or `n0 A> `.
fn behind_prompt(line: &str) -> Option<&str> {
    if let Some(typed) = line.strip_prefix(GDB) {
        return Some(typed);
    }
    let (node, rest) = line.strip_prefix('n')?.split_once(' ')?;
    let typed = rest.strip_prefix("A> ").or(rest.strip_prefix("B> "))?;
    node.parse::<u16>().is_ok().then_some(typed)
}

/// Steps of a document.
pub fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if info.starts_with(CONSOLE) {
            steps.extend(commands(&block, info).map(Step::Command));
        } else if let Some((_, path)) = info.split_once("file=") {
            let text = block.iter().map(|line| format!("{line}\n"));
            steps.push(Step::File {
                path: path.trim().into(),
                text: text.collect(),
            });
        }
    }
    steps
}

fn commands(block: &[&str], info: &str) -> impl Iterator<Item = Command> {
    let words = || info.split_whitespace();
    let needs = words().find_map(|word| word.strip_prefix("needs="));
    let stays = words().any(|word| word == "stays");
    let mut commands: Vec<Command> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(line), _) => commands.push(Command {
                line: line.into(),
                needs: needs.map(Into::into),
                stays,
                output: Vec::new(),
            }),
            (None, Some(command)) => command.output.push((*line).into()),
            (None, _) => panic!("a console block begins with a command: {line}"),
        }
    }
    commands.into_iter()
}

/// The document with another output after the `number`-th command.
pub fn with_output(text: &str, number: usize, output: &[String]) -> String {
    let (mut seen, mut inside, mut skips) = (0, false, false);
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let fence = line.starts_with("```");
        if fence {
            inside = line.trim_start_matches('`').starts_with(CONSOLE);
            skips = false;
        }
        if inside && line.starts_with("$ ") {
            skips = seen == number;
            seen += 1;
            lines.push(line);
            if skips {
                lines.extend(output.iter().map(String::as_str));
            }
        } else if !skips {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// Whether the output matches the document.
pub fn matches(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed.first() == Some(first) && matches(rest, &printed[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Text.
```rust file=src/a.rs
fn a() {}
```
```console
$ first
one
$ second
```
```sh
never
```
```console needs=tshark stays
$ third
three
n0 A> step
n10 B> where there
no prompt> x
(gdb) bt
```
";

    #[test]
    fn a_document_is_read_and_changed() {
        let command = |line: &str, output: &[&str]| Command {
            line: line.into(),
            output: output.iter().map(ToString::to_string).collect(),
            ..Command::default()
        };
        let shown = [
            "three",
            "n0 A> step",
            "n10 B> where there",
            "no prompt> x",
            "(gdb) bt",
        ];
        let third = |output: &[&str]| Command {
            needs: Some("tshark".into()),
            stays: true,
            ..command("third", output)
        };
        assert_eq!(third(&shown).typed(), ["step", "where there", "bt"]);
        let file = Step::File {
            path: "src/a.rs".into(),
            text: "fn a() {}\n".into(),
        };
        let read = [
            file,
            Step::Command(command("first", &["one"])),
            Step::Command(command("second", &[])),
            Step::Command(third(&shown)),
        ];
        assert_eq!(steps(TEXT), read);
        let changed = with_output(TEXT, 1, &["two".into()]);
        let second = command("second", &["two"]);
        assert_eq!(steps(&changed)[2], Step::Command(second));
        assert_eq!(with_output(&changed, 1, &[]), TEXT);
        let changed = with_output(TEXT, 2, &["3".into()]);
        assert_eq!(steps(&changed)[3], Step::Command(third(&["3"])));
    }

    #[test]
    fn three_dots_stand_for_any_lines() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let check = |shown, printed, expected| {
            assert_eq!(matches(&lines(shown), &lines(printed)), expected, "{shown}");
        };
        check("a\n...\nd", "a\nb\nc\nd", true);
        check("a\n...\nb", "a\nb", true);
        check("...", "", true);
        check("a\n...", "b", false);
        check("a", "a\nb", false);
        check("a\nb", "a", false);
    }
}
