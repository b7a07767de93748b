//! Completion of words at the console's prompt (Tab).

use emulator::image::SymbolKind;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::command::commands;
use super::session::Session;
use super::show::address::short_name;

/// Words known in a session, by position.
#[derive(Debug, Clone, Default)]
pub struct KnownWords {
    commands: Vec<String>,
    functions: Vec<String>,
    registers: Vec<String>,
    probes: Vec<String>,
    nodes: Vec<String>,
    cpus: Vec<String>,
    events: Vec<String>,
    blocks: Vec<String>,
}

fn sorted(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<_> = words.collect();
    words.sort();
    words.dedup();
    words
}

fn all(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).into()).collect()
}

impl KnownWords {
    /// Collects the words of a session.
    #[must_use]
    pub fn collect(session: &Session) -> Self {
        let symbols = session.image().symbols.iter();
        let functions = symbols.filter(|symbol| symbol.kind == SymbolKind::Function);
        let images = session.header.images.iter();
        let nodes = 0..session.header.nodes.len();
        let (board, names) = (session.board().names(), session.board().register_names());
        let event = |bit| (board.event)(bit).map(str::to_owned);
        Self {
            commands: sorted(commands().iter().map(|command| command.names[0].into())),
            functions: sorted(functions.map(|symbol| short_name(&symbol.name))),
            registers: sorted(names.into_iter().map(|(name, _)| name)),
            probes: sorted(images.flat_map(|image| image.probes.iter().cloned())),
            nodes: nodes.map(|node| format!("n{node}")).collect(),
            cpus: all(board.cpus),
            events: (0..u32::BITS).filter_map(event).collect(),
            blocks: board.blocks.iter().map(|block| block.name.into()).collect(),
        }
    }

    /// Completions of the last word of a line.
    #[must_use]
    pub fn after(&self, line: &str) -> Vec<String> {
        let begun = line.rsplit(char::is_whitespace).next().unwrap_or("");
        let before = &line[..line.len() - begun.len()];
        let before: Vec<_> = before.split_whitespace().collect();
        let mut words = self.that_may_follow(&before);
        words.retain(|word| word.starts_with(begun));
        words
    }

    fn that_may_follow(&self, before: &[&str]) -> Vec<String> {
        match before {
            [] | ["help" | "h"] => self.commands.clone(),
            [.., "on"] | ["node" | "n"] => self.nodes.clone(),
            [.., "cpu"] => self.cpus.clone(),
            ["break" | "b", "register"] => self.registers.clone(),
            ["break" | "b", "register", _] => all(&["read", "write"]),
            ["break" | "b", "probe"] => self.probes.clone(),
            ["break" | "b", "raised"] => self.events.clone(),
            ["break" | "b"] => {
                let kinds = ["write", "register", "raised", "frame", "probe", "event"];
                let mut words = all(&kinds);
                words.extend_from_slice(&self.functions);
                words
            }
            ["disassemble" | "dis"] => self.functions.clone(),
            ["chip"] => self.blocks.clone(),
            ["set"] => self.registers.clone(),
            ["reverse" | "r"] => all(&["continue", "step"]),
            ["step" | "s" | "rs"] | ["reverse" | "r", "step" | "s"] => {
                all(&["line", "out", "handler", "stage", "kind="])
            }
            _ => Vec::new(),
        }
    }
}

impl Completer for KnownWords {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let line = &line[..position];
        let begun = line.rsplit(char::is_whitespace).next().unwrap_or("");
        let mut words = self.after(line);
        // A blank follows a complete word.
        for word in words.iter_mut().filter(|word| !word.ends_with('=')) {
            word.push(' ');
        }
        Ok((position - begun.len(), words))
    }
}

impl Hinter for KnownWords {
    type Hint = String;
}

impl Highlighter for KnownWords {}
impl Validator for KnownWords {}
impl Helper for KnownWords {}
