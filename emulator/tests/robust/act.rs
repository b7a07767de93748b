//! Acts on a board, as values and as the text of a seed.
//!
//! One line per act; a line that begins with a blank continues the previous one; `#` starts a comment. CPU
//! A is 0, CPU B is 1.
//!
//! ```text
//! write OFFSET VALUE              the host writes a word of the window
//! read OFFSET                     the host reads one
//! run NANOSECONDS                 time passes
//! frames COUNT LENGTH FILL        frames arrive at once; `damaged` behind them spoils their FCS
//! sram ADDRESS WORD...            the host writes words to SRAM through its view
//! code ADDRESS SOURCE             the same, as assembly text with `;` between the lines
//! scratchpad CPU ADDRESS SOURCE   the same to a scratchpad, through its debug registers
//! memory ADDRESS WORD...          the host writes words to its own memory
//! start CPU ADDRESS               the host releases a CPU
//! expect OFFSET VALUE             the host reads a word of the window, and it must be this
//! bits OFFSET MASK VALUE          the same, of some of its bits
//! gpr CPU REGISTER VALUE          the host reads a CPU's register
//! words ADDRESS WORD...           SRAM must hold these words
//! hears ADDRESS WORD...           the host's own memory must
//! core CPU TEXT                   the report about a CPU must begin so
//! ```

use emulator::tigon2::board::Tigon2;
use std::fmt;

use defs::tigon2::regs::{CPU_B, CPU_REGISTERS};
use emulator::cpu::mips::disasm::REGISTER_NAMES;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::frame::Frame;

use crate::bench::{Bench, words};

/// Instruction limit of a core: overwritten code may not terminate.
const MOST_INSTRUCTIONS: u64 = 1_000_000;
/// Limit of pending events, in addition to one per frame and per write of the host.
const MOST_EVENTS: usize = 200;

/// An act on a board.
#[derive(Clone, PartialEq, Eq)]
pub enum Act {
    Write(u32, u32),
    Read(u32),
    Run(u64),
    Frames {
        count: u32,
        length: usize,
        fill: u8,
        damaged: bool,
    },
    Sram(u32, Vec<u32>),
    Code(u32, String),
    Scratchpad(usize, u32, String),
    Memory(u32, Vec<u32>),
    Start(usize, u32),
    /// Offset, mask, value.
    Expect(u32, u32, u32),
    Words(u32, Vec<u32>),
    Hears(u32, Vec<u32>),
    Core(usize, String),
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = |verb: &str, address: &u32, words: &[u32]| {
            write!(f, "{verb} {address:#x}")?;
            words.iter().try_for_each(|word| write!(f, " {word:#x}"))
        };
        match self {
            Self::Write(offset, value) => write!(f, "write {offset:#x} {value:#x}"),
            Self::Read(offset) => write!(f, "read {offset:#x}"),
            Self::Run(ns) => write!(f, "run {ns}"),
            Self::Frames {
                count,
                length,
                fill,
                damaged,
            } => {
                let damaged = if *damaged { " damaged" } else { "" };
                write!(f, "frames {count} {length} {fill:#x}{damaged}")
            }
            Self::Sram(address, words) => list("sram", address, words),
            Self::Code(address, source) => write!(f, "code {address:#x} {source}"),
            Self::Scratchpad(cpu, at, source) => write!(f, "scratchpad {cpu} {at:#x} {source}"),
            Self::Memory(address, words) => list("memory", address, words),
            Self::Start(cpu, pc) => write!(f, "start {cpu} {pc:#x}"),
            Self::Expect(offset, mask, value) => write!(f, "bits {offset:#x} {mask:#x} {value:#x}"),
            Self::Words(address, words) => list("words", address, words),
            Self::Hears(address, words) => list("hears", address, words),
            Self::Core(cpu, text) => write!(f, "core {cpu} {text}"),
        }
    }
}

/// Prints a failed case in the form of a seed.
impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn number(text: &str) -> u32 {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Splits off the first word of a line.
fn first<'a>(rest: &mut &'a str) -> &'a str {
    let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    *rest = after.trim_start();
    first
}

/// The window offset of a CPU's general register, by its name.
fn gpr(cpu: u32, name: &str) -> u32 {
    let bare = name.strip_prefix('$');
    let index = bare.and_then(|bare| REGISTER_NAMES.iter().position(|&known| known == bare));
    let index = index.unwrap_or_else(|| panic!("{name:?} is no register"));
    CPU_REGISTERS + CPU_B * cpu + 4 * index as u32
}

impl Act {
    /// Reads an act.
    pub fn parse(line: &str) -> Self {
        let mut rest = line;
        let verb = first(&mut rest);
        let list = |text: &str| text.split_whitespace().map(number).collect();
        let mut next = || number(first(&mut rest));
        match verb {
            "write" => Self::Write(next(), next()),
            "read" => Self::Read(next()),
            "run" => Self::Run(next().into()),
            "frames" => Self::Frames {
                count: next(),
                length: next() as usize,
                fill: next() as u8,
                damaged: rest == "damaged",
            },
            "sram" => Self::Sram(next(), list(rest)),
            "code" => Self::Code(next(), rest.to_owned()),
            "scratchpad" => Self::Scratchpad(next() as usize, next(), rest.to_owned()),
            "memory" => Self::Memory(next(), list(rest)),
            "start" => Self::Start(next() as usize, next()),
            "expect" => Self::Expect(next(), u32::MAX, next()),
            "bits" => Self::Expect(next(), next(), next()),
            "gpr" => {
                let cpu = next();
                let register = gpr(cpu, first(&mut rest));
                Self::Expect(register, u32::MAX, number(rest))
            }
            "words" => Self::Words(next(), list(rest)),
            "hears" => Self::Hears(next(), list(rest)),
            "core" => Self::Core(next() as usize, rest.to_owned()),
            _ => panic!("{line:?}: no such act"),
        }
    }

    /// Reads several acts.
    pub fn parse_all(text: &str) -> Vec<Self> {
        let mut acts: Vec<String> = Vec::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("").trim_end();
            match (line.strip_prefix(' '), acts.last_mut()) {
                (Some(more), Some(last)) => {
                    // The first line of code follows its address.
                    let separator = if last.contains(';') { "; " } else { " ;" };
                    last.push_str(separator);
                    last.push_str(more.trim_start());
                }
                _ if line.is_empty() => {}
                _ => acts.push(line.to_owned()),
            }
        }
        acts.iter().map(|act| Self::parse(act)).collect()
    }

    /// Number of events that the act may leave pending.
    const fn causes(&self) -> usize {
        match self {
            Self::Frames { count, .. } => *count as usize,
            Self::Write(..) => 1,
            _ => 0,
        }
    }

    fn perform(&self, bench: &mut Bench) {
        match self {
            Self::Write(offset, value) => bench.write(*offset, *value),
            Self::Read(offset) => {
                bench.read(*offset);
            }
            Self::Run(ns) => bench.run(SimTime::from_ns(*ns)),
            Self::Frames {
                count,
                length,
                fill,
                damaged,
            } => {
                let bytes: Vec<u8> = (0..*length)
                    .map(|at| if at < 6 { *fill } else { at as u8 ^ fill })
                    .collect();
                let fcs = crc32fast::hash(&bytes) ^ u32::from(*damaged);
                let frame = Frame::with_fcs(bytes, fcs);
                let now = bench.0.now();
                for _ in 0..*count {
                    bench.0.frame_arrives(frame.clone(), now);
                }
            }
            Self::Sram(address, words) => bench.load(*address, words),
            Self::Code(address, source) => bench.load(*address, &assembled(*address, source)),
            Self::Scratchpad(cpu, address, source) => {
                bench.load_scratchpad(*cpu, *address, &assembled(*address, source));
            }
            Self::Memory(address, words) => bench.write_memory(*address, words),
            Self::Start(cpu, pc) => bench.start(*cpu, *pc),
            _ => self.examine(bench),
        }
    }

    /// Checks an expectation.
    fn examine(&self, bench: &mut Bench) {
        match self {
            Self::Expect(offset, mask, value) => {
                let read = bench.read(*offset);
                assert_eq!(read & mask, *value, "{self}: {read:#x}");
            }
            Self::Words(address, words) => {
                let sram = &bench.0.board::<Tigon2>().fabric.sram;
                let held = (*address..).step_by(4).take(words.len());
                let held: Vec<u32> = held.map(|address| sram.word(address)).collect();
                assert_eq!(held, *words, "{self}: {held:x?}");
            }
            Self::Hears(address, words) => {
                let held = bench.read_memory(*address, words.len());
                assert_eq!(held, *words, "{self}: {held:x?}");
            }
            Self::Core(cpu, text) => {
                let report = &bench.0.inspect().describe_cpus()[*cpu];
                let state = report.split_once(' ').map_or("", |(_, state)| state);
                assert!(state.starts_with(text), "{self}: {report}");
            }
            _ => {}
        }
    }
}

/// The words of assembly text at an address, with labels resolved.
fn assembled(address: u32, source: &str) -> Vec<u32> {
    words(&format!(".org {address}\n{}", source.replace(';', "\n")))
}

/// Performs acts on a board.
pub fn play(bench: &mut Bench, acts: &[Act]) {
    bench.0.board_mut::<Tigon2>().instruction_limit = MOST_INSTRUCTIONS;
    let mut most_events = MOST_EVENTS;
    for act in acts {
        act.perform(bench);
        most_events += act.causes();
        let events = bench.0.pending_events();
        assert!(events <= most_events, "{act}: events pile up");
    }
}
