//! Places as people name them: addresses, functions and objects, source lines, registers.

use emulator::image::{LinesError, Memory, Symbol, SymbolKind};
use emulator::tigon2::inspect::names;
use emulator::tigon2::map::{self, Place};

use super::session::{Focus, Session};
use lanigon_analysis::trace::names::{UnknownName, unknown};

/// Conventional names of the general registers.
pub const REGISTERS: [&str; 32] = [
    "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
    "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "fp",
    "ra",
];

/// Why a place is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Nothing has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// No code comes from that line.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// No number.
    #[error("\"{0}\" is no number: expected 1234 or 0x4d2")]
    NoNumber(String),
    /// Several things have that name.
    #[error("\"{name}\" is several things: {}", .all.join(", "))]
    Several {
        /// The name.
        name: String,
        /// What they are.
        all: Vec<String>,
    },
    /// No instruction can be there.
    #[error("there is no code at {0:#x}")]
    NoCode(u32),
    /// No word begins there.
    #[error("{0:#x} is no address of a word")]
    NoWord(u32),
    /// Nothing is there.
    #[error("nothing answers at {address:#x} for CPU {}", .focus.letter())]
    Nothing {
        /// The address.
        address: u32,
        /// Who looks.
        focus: Focus,
    },
}

/// Some bytes that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// The first.
    pub address: u32,
    /// How many, if the name says so.
    pub length: Option<u32>,
    /// Whose scratchpad, if it lies there.
    pub cpu: usize,
}

/// Reads a number: 1234, 0x4d2, 1_000.
///
/// # Errors
/// If it is none, or does not fit.
pub fn number(text: &str) -> Result<u32, PlaceError> {
    let digits = text.replace('_', "");
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.map_err(|_| PlaceError::NoNumber(text.into()))
}

/// The number of a general register: `$a0`, `$4`.
#[must_use]
pub fn register(text: &str) -> Option<usize> {
    let name = text.strip_prefix('$')?;
    let known = REGISTERS.iter().position(|&known| known == name);
    let alias = (name == "s8").then_some(30);
    let number = || name.parse().ok().filter(|&number| number < 32);
    known.or(alias).or_else(number)
}

/// `name+0x10` as name and offset.
pub(super) fn with_offset(text: &str) -> Result<(&str, u32), PlaceError> {
    match text.rsplit_once('+') {
        Some((name, offset)) if !name.is_empty() => Ok((name, number(offset)?)),
        _ => Ok((text, 0)),
    }
}

/// A file and a line: `src/pool.rs:41`.
fn source_line(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    let line = line.parse().ok().filter(|&line| line > 0)?;
    (!file.is_empty() && !file.ends_with(':')).then_some((file, line))
}

impl Session {
    /// The address of a register of the chip: `dma_read_state`, `event_a`.
    ///
    /// # Errors
    /// If none is called so.
    pub fn chip_register(&self, name: &str) -> Result<u32, PlaceError> {
        let registers: Vec<_> = names::registers().collect();
        if let Some((_, address)) = registers.iter().find(|(known, _)| known == name) {
            return Ok(*address);
        }
        if let Ok(address) = number(name)
            && registers.iter().any(|(_, known)| *known == address & !3)
        {
            return Ok(address & !3);
        }
        let names: Vec<_> = registers.iter().map(|(name, _)| &name[..]).collect();
        Err(unknown("register", name, &names).into())
    }

    /// The instructions that a place means, for CPU A and CPU B.
    ///
    /// # Errors
    /// If it means none.
    pub fn code(&self, text: &str) -> Result<[Vec<u32>; 2], PlaceError> {
        if let Some((file, line)) = source_line(text) {
            return Ok(self.by_memory(&self.line_addresses(file, line)?));
        }
        if text.starts_with('$')
            || text.starts_with("0x")
            || text.starts_with(|c: char| c.is_ascii_digit())
        {
            let address = self.address(text)?;
            return match address % 4 {
                0 if self.may_be_code(address) => Ok([vec![address], vec![address]]),
                _ => Err(PlaceError::NoCode(address)),
            };
        }
        let (name, offset) = with_offset(text)?;
        let mut both = [Vec::new(), Vec::new()];
        for symbol in self.symbols("function", name, |symbol| symbol.kind != SymbolKind::Object)? {
            let address = symbol.address.wrapping_add(offset & !3);
            for (cpu, unseen) in [Memory::ScratchpadB, Memory::ScratchpadA]
                .into_iter()
                .enumerate()
            {
                if symbol.memory != Some(unseen) && !both[cpu].contains(&address) {
                    both[cpu].push(address);
                }
            }
        }
        Ok(both)
    }

    fn may_be_code(&self, address: u32) -> bool {
        let who = [0, 1].map(|cpu| Focus { node: 0, cpu }.who());
        who.iter()
            .any(|&who| matches!(map::place(who, address), Place::Sram | Place::Scratchpad))
    }

    /// Which of these addresses of code each CPU can execute.
    fn by_memory(&self, addresses: &[u32]) -> [Vec<u32>; 2] {
        [Memory::ScratchpadB, Memory::ScratchpadA].map(|unseen| {
            let seen = |address: &&u32| {
                let mut sections = self.image.sections.iter().filter(|section| {
                    let end = section.run_address.saturating_add(section.size_bytes);
                    section.executable && (section.run_address..end).contains(address)
                });
                sections.any(|section| section.memory != unseen)
            };
            addresses.iter().filter(seen).copied().collect()
        })
    }

    fn line_addresses(&self, file: &str, line: u32) -> Result<Vec<u32>, PlaceError> {
        let lines = self.lines()?;
        match lines.addresses(file, line) {
            Err(LinesError::NoFile { .. }) => {
                let files = lines.files()?;
                let names: Vec<_> = files.iter().map(|file| &**file).collect();
                Err(unknown("source file", file, &names).into())
            }
            // Of each stretch of code that comes from the line, where it begins.
            found => Ok(found?),
        }
    }

    /// The bytes that a place means: an object, an address, what a register points to.
    ///
    /// # Errors
    /// If it means none, or several.
    pub fn data(&self, text: &str) -> Result<Data, PlaceError> {
        let cpu = self.focus.cpu;
        if text.starts_with('$') || text.starts_with(|c: char| c.is_ascii_digit()) {
            let address = self.address(text)?;
            let length = None;
            return Ok(Data {
                address,
                length,
                cpu,
            });
        }
        let (name, offset) = with_offset(text)?;
        if let Ok(address) = self.chip_register(name)
            && offset == 0
        {
            let length = Some(4);
            return Ok(Data {
                address,
                length,
                cpu,
            });
        }
        let unseen = match cpu {
            0 => Memory::ScratchpadB,
            _ => Memory::ScratchpadA,
        };
        let mut found = self.symbols("object, function or register", name, |_| true)?;
        if found.iter().any(|symbol| symbol.memory != Some(unseen)) {
            found.retain(|symbol| symbol.memory != Some(unseen));
        }
        if found.iter().any(|symbol| symbol.kind == SymbolKind::Object) {
            found.retain(|symbol| symbol.kind == SymbolKind::Object);
        }
        let [symbol] = found[..] else {
            let all = found
                .iter()
                .map(|symbol| format!("{} at {:#x}", symbol.name, symbol.address));
            let (name, all) = (name.into(), all.collect());
            return Err(PlaceError::Several { name, all });
        };
        Ok(Data {
            address: symbol.address.wrapping_add(offset),
            length: Some(symbol.size_bytes.saturating_sub(offset)).filter(|&length| length > 0),
            cpu: match symbol.memory {
                Some(Memory::ScratchpadA) => 0,
                Some(Memory::ScratchpadB) => 1,
                _ => cpu,
            },
        })
    }

    /// `0x4a10`, `$sp`, `$sp+16`.
    fn address(&self, text: &str) -> Result<u32, PlaceError> {
        let (name, offset) = with_offset(text)?;
        let base = match (register(name), name) {
            (Some(index), _) => self.core().register(index),
            (None, "$pc") => self.core().pc(),
            (None, _) if name.starts_with('$') => {
                let names = REGISTERS.map(|name| format!("${name}"));
                let names: Vec<_> = names.iter().map(String::as_str).chain(["$pc"]).collect();
                return Err(unknown("register", name, &names).into());
            }
            (None, _) => number(name)?,
        };
        Ok(base.wrapping_add(offset))
    }

    /// What is called so, or whose path ends so.
    fn symbols(
        &self,
        what: &'static str,
        name: &str,
        meant: impl Fn(&Symbol) -> bool,
    ) -> Result<Vec<&Symbol>, PlaceError> {
        let symbols = self.image.symbols.iter();
        let known: Vec<_> = symbols
            .filter(|symbol| symbol.kind != SymbolKind::Constant && meant(symbol))
            .collect();
        let is = |symbol: &&&Symbol| {
            let rest = symbol.name.strip_suffix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
        };
        let found: Vec<_> = known.iter().filter(is).copied().collect();
        match found.is_empty() {
            true => {
                let names: Vec<_> = known.iter().map(|symbol| &symbol.name[..]).collect();
                Err(unknown(what, name, &names).into())
            }
            false => Ok(found),
        }
    }

    /// A word that can be read: its address is one of a word.
    ///
    /// # Errors
    /// If it is none, or nothing answers there.
    pub fn word_at(&self, text: &str) -> Result<Data, PlaceError> {
        let data = self.data(text)?;
        if data.address % 4 != 0 {
            return Err(PlaceError::NoWord(data.address));
        }
        self.word(data).map(|_| data)
    }

    /// The word at an address, as the focused CPU sees it.
    ///
    /// # Errors
    /// If nothing answers there.
    pub fn word(&self, data: Data) -> Result<u32, PlaceError> {
        let Data { address, cpu, .. } = data;
        let word = self.board().peek(cpu, address, self.now());
        let focus = Focus { cpu, ..self.focus };
        word.ok_or(PlaceError::Nothing { address, focus })
    }
}
