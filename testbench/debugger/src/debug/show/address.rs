//! Descriptions of addresses: symbols, registers, and source lines.

use std::fs;
use std::path::{Path, PathBuf};

use emulator::image::{Lines, SourceFrame, Symbol};
use lanigon_worlds::stopped::source_at;
pub(in crate::debug) use lanigon_worlds::stopped::{plain_name, short_name};

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
    session.code_of(focus).function(address)
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
    session.code_of(focus).source(address)
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

/// Text of a source file: where the compiler read it, or searched from the current folder upwards and in the project's folders.
pub(super) fn source_text(lines: Option<&Lines>, file: &str) -> Option<String> {
    let path = lines.and_then(|lines| lines.path(file));
    if let Some(text) = path.and_then(|path| source_at(&path)) {
        return Some(text);
    }
    let current = std::env::current_dir().unwrap_or_default();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let around: Vec<PathBuf> = current.ancestors().map(Path::to_owned).collect();
    let roots = around.into_iter().chain([project]);
    let mut places = roots.flat_map(|root| FOLDERS.map(|folder| root.join(folder).join(file)));
    places.find_map(|path| fs::read_to_string(path).ok())
}
