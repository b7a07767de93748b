//! Report of `exec`.

use std::collections::BTreeMap;
use std::fmt::Write;

use emulator::cpu::mips::disasm::{REGISTER_NAMES, disassemble};
use emulator::image::Symbols;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use serde::Serialize;

use super::memory::{self, MemoryError};
use super::stop::{self, Ending};
use crate::cli::{Dump, ExecArgs};
use crate::output::grouped;

/// The state of a board after a run.
pub struct Report {
    /// End of the run.
    pub ending: Ending,
    cpus: [CpuState; 2],
    dumps: Vec<(Dump, Vec<u8>)>,
}

/// The state of a CPU after a run.
pub struct CpuState {
    has_run: bool,
    pc: u32,
    word: Option<u32>,
    registers: [u32; 32],
    instructions: u64,
    cycles: u64,
    time: SimTime,
}

/// JSON document of the report.
#[derive(Serialize)]
pub struct Document<'a> {
    stop: stop::Stop,
    reason: &'a str,
    cpu_a: CpuDocument,
    cpu_b: CpuDocument,
    memory: BTreeMap<&'a str, String>,
}

/// JSON of a CPU.
#[derive(Serialize)]
pub struct CpuDocument {
    pc: String,
    regs: Vec<String>,
    instructions: u64,
    cycles: u64,
}

/// Number of bytes per line of a dump.
const DUMP_LINE_BYTES: usize = 16;
/// Number of rows of the register table.
const REGISTER_ROWS: usize = 8;

impl Report {
    /// Collects the state.
    ///
    /// # Errors
    /// If a dump is invalid.
    pub fn new(node: &Node, ending: Ending, args: &ExecArgs) -> Result<Self, MemoryError> {
        let dump = |dump: &Dump| {
            let bytes = memory::read(node, args.cpu, dump.address, dump.length_bytes)?;
            Ok((dump.clone(), bytes))
        };
        Ok(Self {
            ending,
            cpus: [0, 1].map(|index| CpuState::new(node.board::<Tigon2>(), index)),
            dumps: args.dump.iter().map(dump).collect::<Result<_, _>>()?,
        })
    }

    /// Report as JSON.
    pub fn json(&self) -> Document<'_> {
        let [cpu_a, cpu_b] = &self.cpus;
        let dumps = self.dumps.iter();
        Document {
            stop: self.ending.stop,
            reason: &self.ending.reason,
            cpu_a: cpu_a.json(),
            cpu_b: cpu_b.json(),
            memory: dumps
                .map(|(dump, bytes)| (dump.name.as_str(), hexadecimal(bytes)))
                .collect(),
        }
    }

    /// Report as text.
    pub fn text(&self, symbols: &Symbols) -> String {
        let stop = self.ending.stop.name();
        let mut text = format!("stop: {stop}\n");
        for line in self.ending.reason.split("; ") {
            text += &format!("  {line}\n");
        }
        for (name, cpu) in ["cpu_a", "cpu_b"].iter().zip(&self.cpus) {
            text += &format!("\n{name}: {}", cpu.text(symbols));
        }
        for (dump, bytes) in &self.dumps {
            text += &format!("\nmemory {}:\n{}", dump.name, hexdump(dump.address, bytes));
        }
        text
    }
}

impl CpuState {
    /// Collects the state of a CPU.
    pub fn new(board: &Tigon2, index: usize) -> Self {
        let core = &board.cores[index].core;
        let pc = core.pc();
        Self {
            has_run: stop::has_run(board, index),
            pc,
            word: memory::instruction(board, index, pc),
            registers: *core.registers(),
            instructions: core.instructions(),
            cycles: core.clock.cycles,
            time: board.fabric.ticks.time_of(core.clock.now),
        }
    }

    /// State as JSON.
    pub fn json(&self) -> CpuDocument {
        let word = |value: &u32| format!("{value:#010x}");
        CpuDocument {
            pc: word(&self.pc),
            regs: self.registers.iter().map(word).collect(),
            instructions: self.instructions,
            cycles: self.cycles,
        }
    }

    /// State as text.
    pub fn text(&self, symbols: &Symbols) -> String {
        if !self.has_run {
            return "not started\n".into();
        }
        let mut text = format!(
            "{} instructions, {} cycles, {:.3} us after power-on\n",
            grouped(self.instructions),
            grouped(self.cycles),
            self.time.us()
        );
        let pc = stop::place(self.pc, symbols);
        let instruction = match self.word {
            Some(word) => format!("{word:08x}  {}", disassemble(word, self.pc)),
            None => "no memory".into(),
        };
        text += &format!("  pc    {pc}  {instruction}\n");
        for row in 0..REGISTER_ROWS {
            let cells = (row..32).step_by(REGISTER_ROWS).map(|register| {
                let name = REGISTER_NAMES[register];
                format!("${name:<4} {:08x}", self.registers[register])
            });
            text += &format!("  {}\n", cells.collect::<Vec<_>>().join("   "));
        }
        text
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Formats 16 bytes per line, with address and characters.
fn hexdump(address: u32, bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, line) in bytes.chunks(DUMP_LINE_BYTES).enumerate() {
        let at = u64::from(address) + (index * DUMP_LINE_BYTES) as u64;
        let words: Vec<_> = line.chunks(4).map(hexadecimal).collect();
        let characters: String = line
            .iter()
            .map(|&byte| match byte {
                b' '..=b'~' => char::from(byte),
                _ => '.',
            })
            .collect();
        text += &format!("  {at:08x}  {:<35}  |{characters}|\n", words.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_show_bytes_and_characters() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(hexdump(0x7_0000, bytes), expected);
        check(b"", "");
        check(
            b"NIC\n\x00",
            "  00070000  4e49430a 00                          |NIC..|\n",
        );
        check(
            b"0123456789abcdef!",
            "  00070000  30313233 34353637 38396162 63646566  |0123456789abcdef|\n  \
             00070010  21                                   |!|\n",
        );
    }
}
