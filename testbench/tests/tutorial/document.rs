//! What docs/tutorial.md tells its reader to do.
//!
//! * A block `console` shows commands, each after `$ `, and what they print. `...` on a line of its own stands for any
//!   lines. With `needs=PROGRAM` behind `console`, its commands are run only where that program is installed.
//! * A block with `file=PATH` behind its language is that file's whole content.
//! * Any other block is for the reader's eyes: commands of which only the reader knows the outcome.

/// A block of commands begins so.
const CONSOLE: &str = "console";

/// What to do, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Write a file.
    File { path: String, text: String },
    /// Run a command, which prints this.
    Command {
        line: String,
        /// A program that not every machine has.
        needs: Option<String>,
        output: Vec<String>,
    },
}

/// The steps of a document.
pub fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if info.starts_with(CONSOLE) {
            let needs = info.split_once("needs=").map(|(_, program)| program.trim());
            steps.extend(commands(&block, needs));
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

fn commands(block: &[&str], needs: Option<&str>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(line), _) => steps.push(Step::Command {
                line: line.into(),
                needs: needs.map(Into::into),
                output: Vec::new(),
            }),
            (None, Some(Step::Command { output, .. })) => output.push((*line).into()),
            (None, _) => panic!("a console block begins with a command: {line}"),
        }
    }
    steps
}

/// The document with another output behind the `number`-th command.
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

/// Whether what was printed is what is shown.
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
```console needs=tshark
$ third
three
```
";

    #[test]
    fn a_document_is_read_and_changed() {
        let command = |line: &str, needs: Option<&str>, output: &[&str]| Step::Command {
            line: line.into(),
            needs: needs.map(Into::into),
            output: output.iter().map(ToString::to_string).collect(),
        };
        let file = Step::File {
            path: "src/a.rs".into(),
            text: "fn a() {}\n".into(),
        };
        let read = [
            file,
            command("first", None, &["one"]),
            command("second", None, &[]),
            command("third", Some("tshark"), &["three"]),
        ];
        assert_eq!(steps(TEXT), read);
        let changed = with_output(TEXT, 1, &["two".into()]);
        assert_eq!(steps(&changed)[2], command("second", None, &["two"]));
        let changed = with_output(TEXT, 2, &["3".into()]);
        assert_eq!(steps(&changed)[3], command("third", Some("tshark"), &["3"]));
        let changed = with_output(TEXT, 1, &["two".into()]);
        assert_eq!(with_output(&changed, 1, &[]), TEXT);
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
