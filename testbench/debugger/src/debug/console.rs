//! The console: executes commands from a terminal, a pipe or a script.
//!
//! The output is always a transcript: prompt, command, and its output. A script is a file of commands. In
//! addition to the [language](super::command) it has `expect TEXT`, which ends the script unless the output
//! of the previous command contains the text, so that a script can be a test.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use anyhow::Context;
use emulator::debug::DebugError;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};

use super::command::{SessionFlow, execute};
use super::complete::KnownWords;
use super::report;
use super::session::Session;
use crate::busy::BusyLine;
use lanigon_analysis::output;
use lanigon_worlds::files::input::Input;

/// Deepest nesting of scripts.
const DEEPEST: usize = 8;

/// A session controlled line by line.
#[derive(Debug)]
pub struct DebugConsole {
    session: Session,
    /// Output of the last command.
    shown: String,
}

/// End of a script or of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleEnd {
    /// All was carried out.
    Done,
    /// `expect` did not find its text.
    Failed,
    /// The user interrupted it.
    Interrupted,
}

/// Result of a line.
#[derive(Debug)]
enum LineResult {
    Next,
    Quit,
    /// The user has interrupted the command.
    Interrupted,
    /// The expected text is missing.
    Unexpected(String),
    /// The command failed.
    Refused(anyhow::Error),
}

impl DebugConsole {
    /// Creates the console of a session.
    #[must_use]
    pub const fn new(session: Session) -> Self {
        Self {
            session,
            shown: String::new(),
        }
    }

    /// The prompt, with the focused CPU.
    #[must_use]
    pub fn prompt(&self) -> String {
        let focus = self.session.focus;
        format!(
            "n{} {}> ",
            focus.node,
            self.session.info(focus).letter.to_uppercase()
        )
    }

    /// Executes a line and writes its output.
    fn line(&mut self, line: &str, depth: usize) -> anyhow::Result<LineResult> {
        let line = line.trim();
        match line.split_once(char::is_whitespace) {
            Some(("expect", text)) => return Ok(self.expect(text.trim())),
            Some(("source", file)) => return self.source(Path::new(file.trim()), depth),
            _ => {}
        }
        let mut shown = String::new();
        let busy = BusyLine::moving(self.session.history.reached());
        let flow = execute(&mut self.session, line, &mut shown);
        let outcome = match flow {
            Ok(SessionFlow::Next) => LineResult::Next,
            Ok(SessionFlow::Quit) => LineResult::Quit,
            Err(error) if error.downcast_ref() == Some(&DebugError::Interrupted) => {
                self.session.come_to_rest()?;
                shown += "interrupted\n";
                shown += &report::here(&self.session);
                LineResult::Interrupted
            }
            Err(error) => LineResult::Refused(error),
        };
        drop(busy);
        output::print(&shown)?;
        self.shown = shown;
        Ok(outcome)
    }

    fn expect(&self, text: &str) -> LineResult {
        match self.shown.contains(text) {
            true => LineResult::Next,
            false => LineResult::Unexpected(format!("expected \"{text}\"")),
        }
    }

    fn source(&mut self, file: &Path, depth: usize) -> anyhow::Result<LineResult> {
        let name = file.display().to_string();
        if depth >= DEEPEST {
            let error = anyhow::anyhow!("{name}: scripts within scripts, {DEEPEST} deep");
            return Ok(LineResult::Refused(error));
        }
        let text = match Input::Script.read_text(file) {
            Ok(text) => text,
            Err(error) => return Ok(LineResult::Refused(anyhow::Error::new(error).context(name))),
        };
        self.lines(&name, text.lines(), depth + 1)
    }

    /// Executes the lines of a script; errors include file and line.
    fn lines<'a>(
        &mut self,
        name: &str,
        lines: impl Iterator<Item = &'a str>,
        depth: usize,
    ) -> anyhow::Result<LineResult> {
        for (index, line) in lines.enumerate() {
            output::print(&format!("{}{}\n", self.prompt(), line.trim()))?;
            let place = || format!("{name}:{}", index + 1);
            match self.line(line, depth)? {
                LineResult::Next => {}
                LineResult::Unexpected(text) => {
                    return Ok(LineResult::Unexpected(format!("{}: {text}", place())));
                }
                LineResult::Refused(error) => {
                    return Ok(LineResult::Refused(error.context(place())));
                }
                end @ (LineResult::Quit | LineResult::Interrupted) => return Ok(end),
            }
        }
        Ok(LineResult::Next)
    }

    /// Executes a script.
    ///
    /// # Errors
    /// If a command fails, or its output cannot be written.
    pub fn script(&mut self, name: &str, text: &str) -> anyhow::Result<ConsoleEnd> {
        end(self.lines(name, text.lines(), 0)?)
    }

    /// Executes standard input: line by line from a terminal, as a script from a pipe.
    ///
    /// # Errors
    /// If a command of a script fails, or input or output fails.
    pub fn standard_input(&mut self) -> anyhow::Result<ConsoleEnd> {
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            return self.terminal();
        }
        for (index, line) in io::stdin().lock().lines().enumerate() {
            let line = line.context("standard input")?;
            output::print(&format!("{}{}\n", self.prompt(), line.trim()))?;
            let outcome = match self.line(&line, 0)? {
                LineResult::Next => continue,
                LineResult::Refused(error) => {
                    LineResult::Refused(error.context(format!("standard input:{}", index + 1)))
                }
                outcome => outcome,
            };
            return end(outcome);
        }
        Ok(ConsoleEnd::Done)
    }

    fn terminal(&mut self) -> anyhow::Result<ConsoleEnd> {
        let config = Config::builder().completion_type(CompletionType::List);
        let mut editor: Editor<KnownWords, DefaultHistory> =
            Editor::with_config(config.build()).context("the terminal")?;
        editor.set_helper(Some(KnownWords::collect(&self.session)));
        output::print(&report::here(&self.session))?;
        output::print(
            "`help` shows the commands, `quit` or Ctrl-D ends; an empty line repeats the last command.\n",
        )?;
        let mut last = String::new();
        loop {
            match editor.readline(&self.prompt()) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    // A history that is full or off is no reason to stop.
                    let _ = editor.add_history_entry(line.trim());
                    last = line.trim().into();
                }
                Err(ReadlineError::Interrupted) => {
                    self.session.interrupt.clear();
                    continue;
                }
                Err(ReadlineError::Eof) => return Ok(ConsoleEnd::Done),
                Err(error) => return Err(anyhow::Error::new(error).context("the terminal")),
            }
            match self.line(&last, 0)? {
                LineResult::Quit => return Ok(ConsoleEnd::Done),
                LineResult::Refused(error) => output::print_aside(&format!("{error:#}\n")),
                LineResult::Unexpected(text) => output::print_aside(&format!("{text}\n")),
                LineResult::Next | LineResult::Interrupted => {}
            }
        }
    }
}

fn end(outcome: LineResult) -> anyhow::Result<ConsoleEnd> {
    match outcome {
        LineResult::Next | LineResult::Quit => Ok(ConsoleEnd::Done),
        LineResult::Interrupted => Ok(ConsoleEnd::Interrupted),
        LineResult::Unexpected(text) => {
            output::print_aside(&format!("error: {text}\n"));
            Ok(ConsoleEnd::Failed)
        }
        LineResult::Refused(error) => Err(error),
    }
}
