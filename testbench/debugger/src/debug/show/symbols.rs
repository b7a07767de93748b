//! Display of an image's symbols.

use emulator::image::{Memory, SymbolKind};

use super::text;
use crate::debug::session::Session;

/// Largest number of symbols.
const MOST: usize = 200;

const fn memory_name(memory: Option<Memory>) -> &'static str {
    match memory {
        Some(Memory::Sram) => "sram",
        Some(Memory::ScratchpadA) => "scratchpad A",
        Some(Memory::ScratchpadB) => "scratchpad B",
        Some(Memory::Scratchpads) => "all scratchpads",
        None => "",
    }
}

/// Functions and objects whose name contains `pattern`: address, size in bytes, memory, name.
///
/// # Errors
/// If there are none.
pub fn symbols(session: &Session, pattern: &str) -> anyhow::Result<String> {
    let is_wanted = |kind| matches!(kind, SymbolKind::Function | SymbolKind::Object);
    let all = session.image().symbols.iter();
    let found = all.filter(|symbol| is_wanted(symbol.kind) && symbol.name.contains(pattern));
    let lines: Vec<_> = found
        .map(|symbol| {
            let memory = memory_name(symbol.memory);
            let (at, bytes) = (symbol.address, symbol.size_bytes);
            format!("{at:08x} {bytes:6}  {memory:12}  {}", symbol.name)
        })
        .collect();
    let more = lines.len().saturating_sub(MOST);
    match (lines.is_empty(), more) {
        (true, _) => anyhow::bail!("no function and no object has \"{pattern}\" in its name"),
        (_, 0) => Ok(text(lines)),
        _ => Ok(text(
            lines
                .into_iter()
                .take(MOST)
                .chain([format!("and {more} more")]),
        )),
    }
}
