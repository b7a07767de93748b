//! What happens to a board, as values and as the text of a seed.
//!
//! A seed is a text file: a line for each act, `#` starts a comment.
//!
//! ```text
//! write OFFSET VALUE          the host writes a word of the window
//! read OFFSET                 the host reads one
//! expect OFFSET VALUE         the host reads one, and it must be this
//! run NANOSECONDS             time passes
//! frames COUNT LENGTH FILL    frames arrive at once; `damaged` behind them spoils their FCS
//! sram ADDRESS WORD...        the host writes words to SRAM through its view
//! code ADDRESS SOURCE         the same, as assembly text with `;` between the lines
//! scratchpad CPU SOURCE       the host writes code to the start of a scratchpad (CPU: 0 or 1)
//! start CPU ADDRESS           the host releases a CPU
//! ```

use std::fmt;

use emulator::cpu::mips::asm::assemble;
use emulator::sim::time::SimTime;
use emulator::tigon2::sram::SramSize;
use emulator::wire::frame::Frame;

use crate::bench::{Bench, words};

/// No core executes more than this: code that was overwritten must not run on for ever.
const MOST_INSTRUCTIONS: u64 = 1_000_000;
/// Besides one for each frame and each write of the host, so many events may be pending.
const MOST_EVENTS: usize = 200;

/// What happens to a board.
#[derive(Clone, PartialEq, Eq)]
pub enum Act {
    Write(u32, u32),
    Read(u32),
    Expect(u32, u32),
    Run(u64),
    Frames {
        count: u32,
        length: usize,
        fill: u8,
        damaged: bool,
    },
    Sram(u32, Vec<u32>),
    Code(u32, String),
    Scratchpad(usize, String),
    Start(usize, u32),
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(offset, value) => write!(f, "write {offset:#x} {value:#x}"),
            Self::Read(offset) => write!(f, "read {offset:#x}"),
            Self::Expect(offset, value) => write!(f, "expect {offset:#x} {value:#x}"),
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
            Self::Sram(address, words) => {
                write!(f, "sram {address:#x}")?;
                words.iter().try_for_each(|word| write!(f, " {word:#x}"))
            }
            Self::Code(address, source) => write!(f, "code {address:#x} {source}"),
            Self::Scratchpad(cpu, source) => write!(f, "scratchpad {cpu} {source}"),
            Self::Start(cpu, pc) => write!(f, "start {cpu} {pc:#x}"),
        }
    }
}

/// A failed case prints what can be pasted into a seed.
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

impl Act {
    /// Reads a line of a seed.
    pub fn parse(line: &str) -> Self {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, source) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut fields = rest.split_whitespace();
        let mut next = || {
            number(
                fields
                    .next()
                    .unwrap_or_else(|| panic!("{line:?}: too short")),
            )
        };
        match verb {
            "write" => Self::Write(next(), next()),
            "read" => Self::Read(next()),
            "expect" => Self::Expect(next(), next()),
            "run" => Self::Run(next().into()),
            "frames" => Self::Frames {
                count: next(),
                length: next() as usize,
                fill: next() as u8,
                damaged: fields.next() == Some("damaged"),
            },
            "sram" => Self::Sram(next(), fields.map(number).collect()),
            "code" => Self::Code(number(first), source.to_owned()),
            "scratchpad" => Self::Scratchpad(number(first) as usize, source.to_owned()),
            "start" => Self::Start(next() as usize, next()),
            _ => panic!("{line:?}: no such act"),
        }
    }

    /// Reads a seed.
    pub fn parse_all(text: &str) -> Vec<Self> {
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or(""));
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        lines.map(Self::parse).collect()
    }

    /// How many events it may leave pending.
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
            Self::Expect(offset, value) => assert_eq!(bench.read(*offset), *value, "{self}"),
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
            Self::Code(address, source) => {
                // Labels must know where they are.
                let source = format!(".org {address}\n{}", source.replace(';', "\n"));
                let program = assemble(&source).unwrap_or_else(|error| panic!("{self}: {error}"));
                let words: Vec<u32> = program.words().map(|(_, word)| word).collect();
                bench.load(*address, &words);
            }
            Self::Scratchpad(cpu, source) => {
                bench.load_scratchpad(*cpu, &words(&source.replace(';', "\n")));
            }
            Self::Start(cpu, pc) => bench.start(*cpu, *pc),
        }
    }
}

/// Everything happens to a board, which then must still work.
pub fn perform(sram: SramSize, acts: &[Act]) {
    let mut bench = Bench::new(sram);
    bench.0.board.instruction_limit = MOST_INSTRUCTIONS;
    let mut most_events = MOST_EVENTS;
    for act in acts {
        act.perform(&mut bench);
        most_events += act.causes();
        assert!(
            bench.0.pending_events() <= most_events,
            "{act}: events pile up"
        );
    }
    bench.run(SimTime::from_us(200));
    bench.recovers();
}
