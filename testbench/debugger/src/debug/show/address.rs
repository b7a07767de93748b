//! Descriptions of addresses: symbols, registers, and source lines.

use std::fs;
use std::path::{Path, PathBuf};

use emulator::image::{SourceFrame, Symbol, SymbolKind};

use crate::debug::session::{Focus, Session};

/// Folders of the project to which an image's paths may be relative.
const FOLDERS: [&str; 3] = ["", "firmware", "firmware/lanai"];

/// Prefix of paths in the standard library.
const LIBRARY: &str = "core/src/";
/// End of the folder of a hardware abstraction layer in paths.
const HAL: &str = "-hal/src/";

/// An address as the focused CPU sees it: `name+0x10`, a register's name, or the bare address.
#[must_use]
pub fn describe(session: &Session, address: u32) -> String {
    describe_for(session, session.focus, address)
}

/// Like [`describe`], for any CPU.
#[must_use]
pub fn describe_for(session: &Session, focus: Focus, address: u32) -> String {
    let symbol = || {
        session
            .image()
            .symbols
            .describe_for(session.info(focus).initiator, address)
    };
    let register = session.board().names().register(address);
    register.unwrap_or_else(|| plain_name(&symbol()))
}

/// An address with its symbol, if any: `00004010 <name+0x10>`.
pub(super) fn with_symbol(session: &Session, focus: Focus, address: u32) -> String {
    match session
        .image()
        .symbols
        .seen_by(session.info(focus).initiator, address)
    {
        Some(_) => format!("{address:08x} <{}>", describe_for(session, focus, address)),
        None => format!("{address:08x}"),
    }
}

/// The symbol of a value that is an address.
pub(super) fn named(session: &Session, focus: Focus, value: u32) -> Option<String> {
    let found = session
        .image()
        .symbols
        .seen_by(session.info(focus).initiator, value);
    let is_named = found.is_some_and(|(symbol, offset)| offset == 0 || symbol.size_bytes > 0);
    let register = session.board().names().register(value);
    register.or_else(|| is_named.then(|| describe_for(session, focus, value)))
}

/// The function that contains an address of a CPU's code.
pub(super) fn function(session: &Session, focus: Focus, address: u32) -> Option<&Symbol> {
    let (symbol, _) = session
        .image()
        .symbols
        .seen_by(session.info(focus).initiator, address)?;
    (symbol.kind == SymbolKind::Function).then_some(symbol)
}

/// A function's name without type parameters.
pub(super) fn plain_name(name: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0;
    let mut before = ' ';
    for letter in name.chars() {
        let opens = depth > 0 || plain.ends_with("::") || before.is_alphanumeric() || before == '_';
        match letter {
            '<' if opens => depth += 1,
            '>' if depth > 0 && before != '-' => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
        before = letter;
    }
    let plain = plain.replace("::::", "::").replace("::+", "+");
    plain.trim_end_matches("::").into()
}

/// A function's name without path and type parameters.
pub(in crate::debug) fn short_name(name: &str) -> String {
    let plain = plain_name(name);
    match plain.rsplit_once("::") {
        Some((_, last)) if !last.contains('>') => last.into(),
        _ => plain,
    }
}

/// Source positions of an instruction of the focused CPU, innermost inlined function first; empty if
/// unknown.
#[must_use]
pub fn source(session: &Session, address: u32) -> Vec<SourceFrame> {
    source_for(session, session.focus, address)
}

/// Like [`source`], for any CPU. The scratchpads have equal addresses: lines of other functions are
/// ignored.
#[must_use]
pub fn source_for(session: &Session, focus: Focus, address: u32) -> Vec<SourceFrame> {
    let lines = session.lines().and_then(|lines| lines.at(address));
    let frames = lines.unwrap_or_default();
    let frames: Vec<_> = frames.iter().cloned().map(plain_frame).collect();
    let outermost = frames.last().and_then(|frame| frame.function.as_deref());
    let symbol = function(session, focus, address);
    match (outermost, symbol) {
        (Some(outermost), Some(symbol)) if !same_function(outermost, &symbol.name) => Vec::new(),
        _ => frames,
    }
}

/// The most useful line: the innermost one outside of the standard library and, if possible, outside of the
/// HAL.
#[must_use]
pub fn own_line(frames: &[SourceFrame]) -> Option<&SourceFrame> {
    let language = |frame: &SourceFrame| frame.line == 0 || frame.file.starts_with(LIBRARY);
    let mut ours = frames.iter().filter(|frame| !language(frame));
    let innermost = ours.clone().next();
    let own = ours.find(|frame| !frame.file.contains(HAL));
    own.or(innermost).or(frames.first())
}

fn plain_frame(frame: SourceFrame) -> SourceFrame {
    let function = frame.function.as_deref().map(plain_name);
    SourceFrame { function, ..frame }
}

/// Whether both names denote one function; line tables may lack the path.
fn same_function(a: &str, b: &str) -> bool {
    short_name(a) == short_name(b)
}

/// Text of a source file, searched from the current folder upwards and in the project's folders.
pub(super) fn source_text(file: &str) -> Option<String> {
    let current = std::env::current_dir().unwrap_or_default();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let around: Vec<PathBuf> = current.ancestors().map(Path::to_owned).collect();
    let roots = around.into_iter().chain([project]);
    let mut places = roots.flat_map(|root| FOLDERS.map(|folder| root.join(folder).join(file)));
    places.find_map(|path| fs::read_to_string(path).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_types() {
        let check = |name, plain: &str, short: &str| {
            assert_eq!(
                (plain_name(name).as_str(), short_name(name).as_str()),
                (plain, short)
            );
        };
        check("__dispatch_b", "__dispatch_b", "__dispatch_b");
        check(
            "emp::ack::take_ack+0x10",
            "emp::ack::take_ack+0x10",
            "take_ack+0x10",
        );
        check(
            "emp::covers::<emp::Chip<A, So>>+0x64",
            "emp::covers+0x64",
            "covers+0x64",
        );
        check("post<Chip<fn(u32) -> u32>>", "post", "post");
        check("emp::Nic::<A>::load::<B>", "emp::Nic::load", "load");
        check(
            "<emp::Line as fmt::Write>::write_str",
            "<emp::Line as fmt::Write>::write_str",
            "write_str",
        );
        check("a::{closure#0}::<B>", "a::{closure#0}", "{closure#0}");
    }
}
