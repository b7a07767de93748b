//! Map of the addresses of code for a CPU, as far as the image of its firmware says it, and what is said of a CPU that left it.
//!
//! An image that *declares* its code: anything else is no code, also after a write. An image that only says what it *loads*: a CPU may
//! execute whatever was written later. Memory is cleared at power-on, so there a run of zero words that the image did not load counts as
//! memory to which nothing was ever written. That is decided whenever such a word is executed, from what memory holds then: nothing else
//! is remembered, so that a restored board decides alike. A board without an image (the default) decides nothing.
//!
//! All of it is done where instructions are decoded: a word that is no code is never decoded, and one that must be looked at again carries
//! a probe. The loops of the cores know nothing of it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::architecture::{Architecture, Transfer};

/// Zero words that were never written: compilers put fewer of them behind each other.
const UNWRITTEN_WORDS: usize = 16;
/// The bytes of those before the one that is executed. Behind code two zeros may be the delay slots of its last jump.
pub const UNWRITTEN_BEFORE_BYTES: u32 = 8;

/// Most delay slots of a jump.
const MOST_SLOTS: u32 = 2;

/// The ranges in which a CPU may find code. Copies share it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeMap(Option<Arc<Known>>);

/// Ranges of memory that hold code, and parts of the image.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    /// Whether nothing else is code.
    is_declared: bool,
    /// Code, or what was loaded: by address, without overlaps.
    ranges: Vec<Range<u32>>,
    /// Parts of the image that the CPU sees, with their names.
    parts: Vec<(Range<u32>, Arc<str>)>,
}

impl CodeMap {
    /// An image with code in these ranges and nowhere else. `parts`: all parts of the image, with their names.
    #[must_use]
    pub fn declared(ranges: Vec<Range<u32>>, parts: Vec<(Range<u32>, Arc<str>)>) -> Self {
        Self::new(true, ranges, parts)
    }

    /// An image that loads these ranges.
    #[must_use]
    pub fn loaded(ranges: Vec<Range<u32>>) -> Self {
        Self::new(false, ranges, Vec::new())
    }

    fn new(
        is_declared: bool,
        mut ranges: Vec<Range<u32>>,
        parts: Vec<(Range<u32>, Arc<str>)>,
    ) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Self(Some(Arc::new(Known {
            is_declared,
            ranges: joined,
            parts,
        })))
    }

    /// Whether the image declares its code.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        self.0.as_ref().is_some_and(|known| known.is_declared)
    }

    /// Whether an address lies in the ranges of the image.
    #[inline]
    fn holds(&self, address: u32) -> bool {
        self.0.as_ref().is_some_and(|known| {
            let behind = known.ranges.partition_point(|range| range.start <= address);
            let range = behind.checked_sub(1).map(|index| &known.ranges[index]);
            range.is_some_and(|range| address < range.end)
        })
    }

    /// Whether code may stand at an address.
    #[must_use]
    #[inline]
    pub fn allows(&self, address: u32) -> bool {
        !self.is_declared() || self.holds(address)
    }

    /// Whether only an execution can decide whether this word is code ([`is_unwritten`], [`is_null`](Self::is_null)).
    #[must_use]
    #[inline]
    pub fn doubts(&self, address: u32, word: u32) -> bool {
        match &self.0 {
            None => false,
            Some(known) if known.is_declared => address == 0,
            Some(_) => word == 0 && !self.holds(address),
        }
    }

    /// Whether address 0 is code of the image, to which nothing but the start of the CPU leads.
    #[must_use]
    pub fn is_null(&self, address: u32) -> bool {
        address == 0 && self.is_declared()
    }

    /// The content of an address that is no code. `is_memory`: the CPU has memory there.
    #[must_use]
    pub fn place(&self, address: u32, is_memory: bool) -> NonCode {
        let known = self.0.as_ref().filter(|known| known.is_declared);
        let mut parts = known.into_iter().flat_map(|known| &known.parts);
        let part = parts.find(|(range, _)| range.contains(&address));
        match part {
            _ if address == 0 => NonCode::Null,
            _ if !address.is_multiple_of(4) => NonCode::Misaligned,
            _ if !is_memory => NonCode::NoMemory,
            Some((_, name)) => NonCode::Part(Arc::clone(name)),
            None if self.is_declared() => NonCode::Beyond,
            None => NonCode::Unwritten,
        }
    }
}

/// Whether nothing was ever written to these words, which follow one another from [`UNWRITTEN_BEFORE_BYTES`] before the one in question to
/// the end of memory: see the module's text.
pub fn is_unwritten(words: impl Iterator<Item = u32>) -> bool {
    words.take(UNWRITTEN_WORDS).all(|word| word == 0)
}

/// Content of an address that is no code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NonCode {
    /// Address 0.
    Null,
    /// No instruction stands at an address that is no multiple of 4.
    Misaligned,
    /// No memory.
    NoMemory,
    /// A part of the image that is no code, by name.
    Part(Arc<str>),
    /// Nothing of the image.
    Beyond,
    /// Memory to which nothing was ever written.
    Unwritten,
}

/// The control flow by which a CPU came to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPath {
    /// The call at this address.
    Call(u32),
    /// The return of a function, at this address if it is known: the return address leads there.
    Return(Option<u32>),
    /// The instruction before it, at this address, without a jump.
    Behind(u32),
    /// A jump.
    Jump,
}

impl EntryPath {
    /// The control flow by which a CPU with these registers came to `pc`. A call leaves its place in the register of the return address;
    /// its target is in the instruction or in another register. `jumped_from`: the last jump to what a register or memory held; `word`:
    /// the words of memory.
    pub fn find(
        pc: u32,
        architecture: &dyn Architecture,
        registers: &[u32],
        code: &CodeMap,
        jumped_from: u32,
        word: impl Fn(u32) -> Option<u32>,
    ) -> Self {
        let register = |index: usize| registers.get(index).copied();
        let popped = register(architecture.stack_pointer()).and_then(|sp| word(sp.wrapping_sub(4)));
        let word = |at: u32| word(at).filter(|_| at.is_multiple_of(4) && code.allows(at));
        let returns_to = register(architecture.return_address()).unwrap_or(0);
        let call = |slots: u32| {
            let from = returns_to.wrapping_sub(4 * (1 + slots));
            let call = word(from)?;
            let before = word(from.wrapping_sub(4)).unwrap_or(0);
            let target = architecture.target(call, from);
            let target = target.or_else(|| register(architecture.target_register(call)?))?;
            let is_call = architecture.transfer_behind(before, call) == Some(Transfer::Call);
            let leads_here = architecture.delay_slots(call) == slots && target == pc;
            (is_call && leads_here).then_some(Self::Call(from))
        };
        if let Some(call) = (0..=MOST_SLOTS).find_map(call) {
            return call;
        }
        let is_slot = (1..=MOST_SLOTS).any(|slots| {
            let jump = word(pc.wrapping_sub(4 * (1 + slots)));
            jump.is_some_and(|jump| {
                architecture.transfer(jump).is_some() && architecture.delay_slots(jump) >= slots
            })
        });
        let before = pc.wrapping_sub(4);
        let is_return = |at: &u32| {
            let last = word(*at);
            last.is_some_and(|last| architecture.transfer(last) == Some(Transfer::Return))
        };
        let returned = || Some(jumped_from).filter(is_return);
        // A core may leave the lowest bits of an address out.
        let is_here = |address: u32| address & !3 == pc & !3;
        let falls_through = |last| !is_slot && architecture.falls_through(last);
        match word(before) {
            _ if is_here(returns_to) => Self::Return(returned()),
            _ if popped.is_some_and(is_here) && returned().is_some() => Self::Return(returned()),
            Some(last) if !code.allows(pc) && falls_through(last) => Self::Behind(before),
            _ => Self::Jump,
        }
    }
}

/// A CPU came to an address at which no code is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wild {
    /// The address.
    pub address: u32,
    /// The control flow by which the CPU came there.
    pub path: EntryPath,
    /// The content of the address.
    pub place: NonCode,
}

impl Wild {
    /// The instruction to blame, if it is known: the call, or the last one before the end of the code.
    #[must_use]
    pub const fn blamed(&self) -> Option<u32> {
        match self.path {
            EntryPath::Call(from) | EntryPath::Behind(from) | EntryPath::Return(Some(from)) => {
                Some(from)
            }
            EntryPath::Return(None) | EntryPath::Jump => None,
        }
    }
}

impl std::error::Error for Wild {}

impl fmt::Display for Wild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address;
        match self.path {
            EntryPath::Call(_) => f.write_str("call to ")?,
            EntryPath::Return(_) => f.write_str("return to ")?,
            EntryPath::Jump => f.write_str("jump to ")?,
            EntryPath::Behind(_) => f.write_str("execution runs on to ")?,
        }
        match &self.place {
            NonCode::Null => f.write_str("address 0"),
            NonCode::Misaligned => write!(f, "{address:#010x}, which is no multiple of 4"),
            NonCode::NoMemory => write!(f, "{address:#010x}, where no memory is"),
            NonCode::Part(name) => write!(f, "{address:#010x}, no code but {name}"),
            NonCode::Beyond => write!(f, "{address:#010x}, outside the image"),
            NonCode::Unwritten => write!(f, "{address:#010x}, to which nothing was ever written"),
        }?;
        match self.path {
            EntryPath::Call(from) | EntryPath::Return(Some(from)) => write!(f, ", at {from:#010x}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_has_a_name() {
        let parts = vec![(0..0x40, ".text".into()), (0x40..0x80, ".rodata".into())];
        let declared = CodeMap::declared(vec![0x20..0x40, 0..0x10, 0x10..0x18], parts);
        let allowed = |map: &CodeMap| {
            let addresses = (0..0x100).step_by(4);
            let allowed = addresses.filter(|&address| map.allows(address));
            allowed.count()
        };
        assert_eq!(allowed(&declared), 14);
        assert_eq!(allowed(&CodeMap::loaded(vec![0..4, 0x10..0x10])), 64);
        assert_eq!(allowed(&CodeMap::default()), 64);
        let check = |address, path, is_memory, expected| {
            let place = declared.place(address, is_memory);
            let wild = Wild {
                address,
                path,
                place,
            };
            assert_eq!(wild.to_string(), expected);
        };
        check(
            0,
            EntryPath::Call(8),
            true,
            "call to address 0, at 0x00000008",
        );
        check(
            0x44,
            EntryPath::Jump,
            true,
            "jump to 0x00000044, no code but .rodata",
        );
        check(
            0x84,
            EntryPath::Return(None),
            true,
            "return to 0x00000084, outside the image",
        );
        check(
            0x18,
            EntryPath::Behind(0x14),
            true,
            "execution runs on to 0x00000018, no code but .text",
        );
        check(
            0x9000,
            EntryPath::Jump,
            false,
            "jump to 0x00009000, where no memory is",
        );
        check(
            0x45,
            EntryPath::Jump,
            true,
            "jump to 0x00000045, which is no multiple of 4",
        );
    }

    #[test]
    fn zeros_outside_of_what_was_loaded_are_doubted() {
        let loaded = CodeMap::loaded(std::iter::once(0x10..0x20).collect());
        assert!(loaded.doubts(0x20, 0) && loaded.doubts(0, 0));
        assert!(!loaded.doubts(0x1C, 0) && !loaded.doubts(0x20, 1));
        let declared = CodeMap::declared(std::iter::once(0..0x20).collect(), Vec::new());
        assert!(declared.doubts(0, 7) && !declared.doubts(4, 0));
        assert!(!CodeMap::default().doubts(0, 0));
        assert!(is_unwritten([0; 3].into_iter()) && is_unwritten([0; 40].into_iter()));
        assert!(!is_unwritten((0..16).map(|index| index / 15)));
    }
}
