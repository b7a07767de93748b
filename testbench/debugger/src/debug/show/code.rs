//! Display of instructions and source lines.

use std::collections::BTreeMap;

use emulator::image::Lines;
use lanigon_worlds::stopped::HANDLER;

use super::{address, text};
use crate::debug::session::{Focus, Session};

/// Largest number of instructions.
const MOST: usize = 1000;
/// Mark of the current instruction or line.
const HERE: &str = "->";

/// The instruction word at an address of a CPU on the focused node.
pub(super) fn word(session: &Session, focus: Focus, at: u32) -> Option<u32> {
    session.board().peek(focus.cpu, at, session.now())
}

/// Disassembles an instruction, with the name of its target.
pub(super) fn instruction(session: &Session, focus: Focus, word: u32, at: u32) -> String {
    let architecture = session.info(focus).architecture;
    let text = architecture.disassemble(word, at);
    let target = architecture.target(word, at);
    let name = target.map_or(String::new(), |target| symbol(session, focus, target));
    match name.is_empty() {
        false => format!("{text:<30}; {name}"),
        true => text,
    }
}

/// Cache of source files.
struct Files<'a> {
    lines: Option<&'a Lines>,
    texts: BTreeMap<String, Option<Vec<String>>>,
}

impl<'a> Files<'a> {
    fn new(session: &'a Session, focus: Focus) -> Self {
        Self {
            lines: session.code_of(focus).lines,
            texts: BTreeMap::new(),
        }
    }

    fn lines(&mut self, file: &str) -> Option<&[String]> {
        let read = || {
            let text = address::source_text(self.lines, file)?;
            Some(text.lines().map(str::to_owned).collect())
        };
        let lines = self.texts.entry(file.into()).or_insert_with(read);
        lines.as_deref()
    }

    fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        self.lines(file)?.get(index).map(String::as_str)
    }
}

/// Disassembly from `address` on, from current memory, with source lines where they change. Words that are
/// no instructions are shown as words. Ends at unmapped memory.
///
/// # Errors
/// If `address` is unmapped.
pub fn disassembly(session: &Session, address: u32, count: usize) -> anyhow::Result<String> {
    let focus = session.focus;
    let (first, pc) = (address & !3, session.cpu().pc);
    if word(session, focus, first).is_none() {
        return Err(super::memory::nothing_at(session, focus, first));
    }
    let mut files = Files::new(session, focus);
    let mut lines = Vec::new();
    let mut before = None;
    for index in 0..count.min(MOST) as u32 {
        let at = first.wrapping_add(4 * index);
        let Some(word) = word(session, focus, at) else {
            break;
        };
        let frames = address::source_for(session, focus, at);
        let place = address::own_line(&frames).filter(|frame| frame.line > 0);
        let place = place.map(|frame| (frame.file.clone(), frame.line));
        if let Some((file, line)) = &place
            && place != before
        {
            let source = files.line(file, *line).unwrap_or_default().trim();
            lines.push(format!("{file}:{line}  {source}"));
        }
        before = place.or(before);
        let mark = if at == pc { HERE } else { "" };
        let symbol = symbol(session, focus, at);
        let instruction = instruction(session, focus, word, at);
        lines.push(format!("{mark:2} {at:08x} {symbol:<26} {instruction}"));
    }
    Ok(text(lines))
}

/// `<function+0x10>` without path.
fn symbol(session: &Session, focus: Focus, at: u32) -> String {
    let found = session
        .image()
        .symbols
        .seen_by(session.info(focus).initiator, at);
    found.map_or(String::new(), |(symbol, offset)| {
        let name = address::short_name(&symbol.name);
        match offset {
            0 => format!("<{name}>"),
            _ => format!("<{name}+{offset:#x}>"),
        }
    })
}

/// The source around the current line of the focused CPU, with `context` lines before and after it.
///
/// # Errors
/// If the line is unknown, or its file is not found.
pub fn source(session: &Session, context: usize) -> anyhow::Result<String> {
    let pc = session.cpu().pc;
    let frames = address::source(session, pc);
    // In the panic handler, and where no code is, the line of the function that led there says more.
    let function = address::function(session, session.focus, pc);
    let in_handler = function.is_some_and(|function| function.name.starts_with(HANDLER));
    let place = address::own_line(&frames).filter(|frame| frame.line > 0 && !in_handler);
    let guilty = || session.code_of(session.focus).guilty();
    let guilty = || guilty().filter(|frame| frame.line > 0);
    let Some(place) = place.cloned().or_else(guilty) else {
        session.lines()?;
        let pc = address::with_symbol(session, session.focus, pc);
        anyhow::bail!("it is not known from which source line {pc} comes");
    };
    let mut files = Files::new(session, session.focus);
    let Some(lines) = files.lines(&place.file) else {
        anyhow::bail!("{place}: the file is not found here");
    };
    let present = place.line as usize;
    let shown =
        present.saturating_sub(context).max(1)..=present.saturating_add(context).min(lines.len());
    let rows = shown.filter_map(|number| {
        let mark = if number == present { HERE } else { "" };
        let line = lines.get(number - 1)?;
        Some(format!("{mark:2} {number:5}  {line}"))
    });
    Ok(text([place.to_string()].into_iter().chain(rows)))
}
