//! Functions of an image, as one CPU sees them.

use std::collections::HashMap;
use std::ops::Range;

use emulator::image::Symbols;
use emulator::sim::initiator::Initiator;

/// Name of code without a symbol.
const UNNAMED: &str = "(code without a name)";

/// A function of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Address range; empty if unknown.
    pub(super) range: Range<u32>,
}

/// Encountered functions, by number.
#[derive(Debug)]
pub(super) struct Functions {
    symbols: Symbols,
    who: Initiator,
    met: Vec<Function>,
    by_start: HashMap<u32, usize>,
}

impl Functions {
    pub(super) fn new(cpu: usize, symbols: &Symbols) -> Self {
        let who = Initiator::Cpu(cpu as u8);
        Self {
            symbols: symbols.clone(),
            who,
            met: Vec::new(),
            by_start: HashMap::new(),
        }
    }

    /// The function that contains an address.
    pub(super) fn index_at(&mut self, pc: u32) -> usize {
        let found = self.symbols.seen_by(self.who, pc);
        let (name, range) = match found {
            Some((symbol, offset)) => {
                let start = pc - offset;
                let end = start.saturating_add(symbol.size_bytes.max(4));
                (symbol.name.as_str(), start..end)
            }
            None => (UNNAMED, 0..0),
        };
        *self.by_start.entry(range.start).or_insert_with(|| {
            let name = name.to_owned();
            self.met.push(Function { name, range });
            self.met.len() - 1
        })
    }

    pub(super) fn get(&self, index: usize) -> &Function {
        &self.met[index]
    }
}
