//! Places in commands: addresses, functions and objects, source lines, registers.

use emulator::board::CpuId;
use emulator::image::{LinesError, Memory, Symbol, SymbolKind};

use super::session::{Focus, Session};
use super::stop::{CodeAddresses, StopCondition};
use lanigon_analysis::trace::names::{UnknownName, unknown};

/// Invalid place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The line has no code.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// The text is no number.
    #[error("\"{0}\" is no number: expected 1234 or 0x4d2")]
    NoNumber(String),
    /// The place is a source file without a line.
    #[error("{0} is a source file: expected a line of it, as {0}:40")]
    NoLine(String),
    /// The name is ambiguous.
    #[error("\"{name}\" is several things: {}", .all.join(", "))]
    Several {
        /// The ambiguous name.
        name: String,
        /// All matches.
        all: Vec<String>,
    },
    /// The address cannot contain an instruction.
    #[error("there is no code at {0:#x}")]
    NoCode(u32),
    /// The address is not aligned.
    #[error("{0:#x} is no address of a word")]
    NoWord(u32),
    /// The address is unmapped.
    #[error("nothing answers at {address:#x} for {cpu}")]
    Nothing {
        /// Address without memory or register.
        address: u32,
        /// The name of the CPU that looks.
        cpu: &'static str,
    },
}

/// A range of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// First address.
    pub address: u32,
    /// Length, if known.
    pub length: Option<u32>,
    /// CPU that sees the memory at this address.
    pub cpu: CpuId,
}

/// Parses a number: 1234, 0x4d2, 1_000.
///
/// # Errors
/// If it is invalid or too large.
pub fn number(text: &str) -> Result<u32, PlaceError> {
    let digits = text.replace('_', "");
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.map_err(|_| PlaceError::NoNumber(text.into()))
}

/// Splits `name+0x10` into name and offset.
pub(super) fn with_offset(text: &str) -> Result<(&str, u32), PlaceError> {
    match text.rsplit_once('+') {
        Some((name, offset)) if !name.is_empty() => Ok((name, number(offset)?)),
        _ => Ok((text, 0)),
    }
}

/// Splits `src/pool.rs:41` into file and line.
fn source_line(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    let line = line.parse().ok().filter(|&line| line > 0)?;
    (!file.is_empty() && !file.ends_with(':')).then_some((file, line))
}

impl Session {
    /// Address of a chip register by name: `dma_read_state`, `event_a`.
    ///
    /// # Errors
    /// If there is none.
    pub fn chip_register(&self, name: &str) -> Result<u32, PlaceError> {
        let registers = self.board().register_names();
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

    /// The general register of the focused CPU with this name: `$a0`, `$4`.
    #[must_use]
    pub fn general_register(&self, text: &str) -> Option<usize> {
        let name = text.strip_prefix('$')?;
        self.info(self.focus).architecture.register(name)
    }

    /// A stop at these addresses, whichever CPU reaches them.
    pub(super) fn on_each_cpu(&self, addresses: Vec<u32>) -> StopCondition {
        StopCondition::Instruction(vec![addresses; self.cpus(self.focus.node).count()])
    }

    /// Addresses of instructions at a place, for each CPU.
    ///
    /// # Errors
    /// If there are none.
    pub fn code(&self, text: &str) -> Result<CodeAddresses, PlaceError> {
        let cpus = self.cpus(self.focus.node).count();
        if let Some((file, line)) = source_line(text) {
            return Ok(self.by_memory(&self.line_addresses(file, line)?));
        }
        if text.starts_with('$')
            || text.starts_with("0x")
            || text.starts_with(|c: char| c.is_ascii_digit())
        {
            let address = self.address(text)?;
            return match address % 4 {
                0 if self.may_be_code(address) => Ok(vec![vec![address]; cpus]),
                _ => Err(PlaceError::NoCode(address)),
            };
        }
        if text.ends_with(".rs") || text.ends_with(".c") {
            return Err(PlaceError::NoLine(text.into()));
        }
        let (name, offset) = with_offset(text)?;
        let mut code = vec![Vec::new(); cpus];
        for symbol in self.symbols("function", name, |symbol| symbol.kind != SymbolKind::Object)? {
            let address = symbol.address.wrapping_add(offset & !3);
            for (cpu, own) in code.iter_mut().enumerate() {
                let seen = symbol.memory.is_none_or(|memory| memory.is_seen_by(cpu));
                if seen && !own.contains(&address) {
                    own.push(address);
                }
            }
        }
        Ok(code)
    }

    fn may_be_code(&self, address: u32) -> bool {
        let mut cpus = self.cpus(self.focus.node);
        cpus.any(|focus| {
            let area = self.board().area(focus.cpu, address);
            area.is_some_and(|area| area.memory)
        })
    }

    /// Divides addresses of code between the CPUs that can execute them.
    fn by_memory(&self, addresses: &[u32]) -> CodeAddresses {
        let own = |cpu: usize| {
            let seen = |address: &&u32| {
                let mut sections = self.image().sections.iter().filter(|section| {
                    let end = section.run_address.saturating_add(section.size_bytes);
                    section.executable && (section.run_address..end).contains(address)
                });
                sections.any(|section| section.memory.is_seen_by(cpu))
            };
            addresses.iter().filter(seen).copied().collect()
        };
        (0..self.cpus(self.focus.node).count()).map(own).collect()
    }

    fn line_addresses(&self, file: &str, line: u32) -> Result<Vec<u32>, PlaceError> {
        let lines = self.lines()?;
        match lines.addresses(file, line) {
            Err(LinesError::NoFile { .. }) => {
                let files = lines.files()?;
                let names: Vec<_> = files.iter().map(|file| &**file).collect();
                Err(unknown("source file", file, &names).into())
            }
            // The start of each range of code from the line.
            found => Ok(found?),
        }
    }

    /// Memory at a place: an object, an address, the value of a register.
    ///
    /// # Errors
    /// If there is none, or several match.
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
        let is_seen = |symbol: &&Symbol| {
            let memory = symbol.memory;
            memory.is_none_or(|memory| memory.is_seen_by(cpu.index()))
        };
        let mut found = self.symbols("object, function or register", name, |_| true)?;
        if found.iter().any(is_seen) {
            found.retain(|symbol| is_seen(symbol));
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
            cpu: symbol
                .memory
                .and_then(Memory::owner)
                .map_or(cpu, CpuId::new),
        })
    }

    /// The error for a name with `$` that is no register of the CPU.
    pub(super) fn no_register(&self, name: &str) -> PlaceError {
        let known = self.info(self.focus).architecture.registers().iter();
        let names: Vec<_> = known.map(|name| format!("${name}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).chain(["$pc"]).collect();
        unknown("register", name, &names).into()
    }

    /// Parses an address: `0x4a10`, `$sp`, `$sp+16`.
    fn address(&self, text: &str) -> Result<u32, PlaceError> {
        let (name, offset) = with_offset(text)?;
        let base = match (self.general_register(name), name) {
            (Some(index), _) => self.register(index),
            (None, "$pc") => self.cpu().pc,
            (None, _) if name.starts_with('$') => return Err(self.no_register(name)),
            (None, _) => number(name)?,
        };
        Ok(base.wrapping_add(offset))
    }

    /// Symbols with this name, or whose path ends with it.
    fn symbols(
        &self,
        what: &'static str,
        name: &str,
        meant: impl Fn(&Symbol) -> bool,
    ) -> Result<Vec<&Symbol>, PlaceError> {
        let symbols = self.image().symbols.iter();
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

    /// A readable word of memory at a place.
    ///
    /// # Errors
    /// If it is not aligned, or unmapped.
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
    /// If it is unmapped.
    pub fn word(&self, data: Data) -> Result<u32, PlaceError> {
        let Data { address, cpu, .. } = data;
        let word = self.board().peek(cpu, address, self.now());
        let cpu = self.info(Focus { cpu, ..self.focus }).name;
        word.ok_or(PlaceError::Nothing { address, cpu })
    }
}
