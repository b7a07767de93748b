//! The language of a debug session: one command per line, for the console, scripts and gdb's `monitor`.
//!
//! [`commands`] is the table of all commands: names, usage, description, and function.

mod change;
mod look;
mod motion;
mod stops;

use std::fmt::Write;

use anyhow::{bail, ensure};

use super::session::Session;
use lanigon_analysis::trace::names::unknown;

/// Whether a session continues after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFlow {
    /// Continue with the next command.
    Next,
    /// Quit the session.
    Quit,
}

/// Arguments of a command: the text after its name.
#[derive(Debug, Clone, Copy)]
pub struct CommandArguments<'a>(&'a str);

impl<'a> CommandArguments<'a> {
    /// The whole text.
    const fn text(self) -> &'a str {
        self.0
    }

    /// Splits off the first word.
    fn split(self) -> Option<(&'a str, Self)> {
        let mut parts = self.0.splitn(2, char::is_whitespace);
        let first = parts.next().filter(|word| !word.is_empty())?;
        Some((first, Self(parts.next().unwrap_or("").trim())))
    }

    /// Splits the text into at most `most` words.
    fn at_most(self, most: usize) -> anyhow::Result<Vec<&'a str>> {
        let words: Vec<_> = self.0.split_whitespace().collect();
        if let Some(word) = words.get(most) {
            bail!("\"{word}\" is one word too many");
        }
        Ok(words)
    }

    fn none(self) -> anyhow::Result<()> {
        self.at_most(0).map(drop)
    }
}

/// Group of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandGroup {
    /// Moves in time.
    Move,
    /// Sets stops.
    Stop,
    /// Displays.
    Look,
    /// Changes the world.
    Change,
    /// Controls the session.
    Session,
}

impl CommandGroup {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Move, "Move through time"),
        (Self::Stop, "Stop"),
        (Self::Look, "Look"),
        (Self::Change, "Change"),
        (Self::Session, "Session"),
    ];
}

type CommandFunction =
    fn(&mut Session, CommandArguments<'_>, &mut String) -> anyhow::Result<SessionFlow>;

/// A command of the language.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Name and abbreviations.
    pub names: &'static [&'static str],
    /// Group of the command in the help.
    pub group: CommandGroup,
    /// Arguments.
    pub usage: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Further description with examples.
    pub more: &'static str,
    run: CommandFunction,
}

/// All commands.
#[must_use]
pub fn commands() -> Vec<&'static Command> {
    let tables = [
        motion::COMMANDS,
        stops::COMMANDS,
        look::COMMANDS,
        change::COMMANDS,
        COMMANDS,
    ];
    tables.into_iter().flatten().collect()
}

const COMMANDS: &[Command] = &[
    Command {
        names: &["help", "h"],
        group: CommandGroup::Session,
        usage: "[COMMAND]",
        about: "this list, or more of a command",
        more: "",
        run: help,
    },
    Command {
        names: &["expect"],
        group: CommandGroup::Session,
        usage: "TEXT",
        about: "end a script unless the last command showed this",
        more: "",
        run: only_scripts,
    },
    Command {
        names: &["source"],
        group: CommandGroup::Session,
        usage: "FILE",
        about: "carry out the commands in a file",
        more: "",
        run: only_scripts,
    },
    Command {
        names: &["quit", "q", "exit"],
        group: CommandGroup::Session,
        usage: "",
        about: "the end",
        more: "",
        run: |_, words, _| words.none().map(|()| SessionFlow::Quit),
    },
];

/// Finds the command with this name or unique prefix.
fn find(name: &str) -> anyhow::Result<&'static Command> {
    let all = commands();
    if let Some(command) = all.iter().find(|command| command.names.contains(&name)) {
        return Ok(command);
    }
    let begins = |command: &&&Command| command.names[0].starts_with(name);
    let meant: Vec<_> = all.iter().filter(begins).collect();
    match meant[..] {
        [command] => Ok(command),
        [] => {
            let names: Vec<_> = all.iter().map(|command| command.names[0]).collect();
            Err(unknown("command", name, &names).into())
        }
        _ => {
            let names: Vec<_> = meant.iter().map(|command| command.names[0]).collect();
            bail!("\"{name}\" may be: {}", names.join(", "));
        }
    }
}

/// Executes a line; appends its output to `out`. Empty lines and lines that begin with `#` do nothing.
///
/// # Errors
/// If the command fails. The session can continue from its state then.
pub fn execute(session: &mut Session, line: &str, out: &mut String) -> anyhow::Result<SessionFlow> {
    let line = line.trim();
    let Some((name, words)) = CommandArguments(line)
        .split()
        .filter(|_| !line.starts_with('#'))
    else {
        return Ok(SessionFlow::Next);
    };
    (find(name)?.run)(session, words, out)
}

/// Commands that the console implements itself, because it has the previous output.
fn only_scripts(
    _: &mut Session,
    words: CommandArguments<'_>,
    _: &mut String,
) -> anyhow::Result<SessionFlow> {
    match words.text() {
        "" => bail!("expected what; `help` shows it"),
        _ => bail!("that is for the console and its scripts"),
    }
}

fn help(
    _: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(1)?;
    match words.first() {
        Some(name) => {
            let command = find(name)?;
            let short = command.names[1..].join(", ");
            writeln!(out, "{} {}", command.names[0], command.usage)?;
            writeln!(out, "    {}", command.about)?;
            if !short.is_empty() {
                writeln!(out, "    in short: {short}")?;
            }
            for line in command.more.lines() {
                writeln!(out, "    {line}")?;
            }
        }
        None => list(out)?,
    }
    Ok(SessionFlow::Next)
}

fn list(out: &mut String) -> anyhow::Result<()> {
    for (group, title) in CommandGroup::ALL {
        writeln!(out, "{title}")?;
        for command in commands().iter().filter(|command| command.group == group) {
            let short = command.names.get(1).filter(|short| short.len() < 3);
            let short = short.map_or(String::new(), |short| format!(" ({short})"));
            let typed = format!("{}{short} {}", command.names[0], command.usage);
            writeln!(out, "  {typed:46}  {}", command.about)?;
        }
    }
    writeln!(
        out,
        "`help COMMAND` says more of one. Names may be cut short: `dis`. Times: 20031us, +31us (since the host\n\
         programs started). Numbers: 18, 0x12. Places: take_buffer, main.rs:41, 0x4a10, $sp+16."
    )?;
    Ok(())
}

/// Parses a count, at least 1.
fn count(word: Option<&&str>, default: usize, most: usize) -> anyhow::Result<usize> {
    let Some(word) = word else {
        return Ok(default);
    };
    let count = super::place::number(word)? as usize;
    ensure!((1..=most).contains(&count), "{word}: expected 1 to {most}");
    Ok(count)
}
