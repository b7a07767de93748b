//! Report of `exec`.

use std::collections::BTreeMap;
use std::fmt::Write;

use emulator::board::{CpuId, CpuInfo};
use emulator::cpu::architecture::Architecture;
use emulator::image::Symbols;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use serde::Serialize;

use super::memory::{self, MemoryError};
use super::stop::{self, Ending};
use crate::cli::exec::{Dump, ExecArgs};
use crate::output::grouped;
use lanigon_worlds::running::RunningActivity;
use lanigon_worlds::stopped::Stopped;

/// The state of a board after a run.
pub struct ExecReport {
    /// End of the run.
    pub ending: Ending,
    /// Name in commands, and state, of each CPU.
    cpus: Vec<(&'static str, CpuState)>,
    dumps: Vec<(Dump, Vec<u8>)>,
}

/// The state of a CPU after a run.
pub struct CpuState {
    has_run: bool,
    pc: u32,
    word: Option<u32>,
    registers: Vec<u32>,
    architecture: &'static dyn Architecture,
    instructions: u64,
    cycles: u64,
    time: SimTime,
}

/// JSON document of the report.
#[derive(Serialize)]
pub struct ExecDocument<'a> {
    stop: stop::Stop,
    reason: &'a str,
    stopped: &'a [Stopped],
    #[serde(flatten)]
    cpus: BTreeMap<&'static str, CpuDocument>,
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

impl ExecReport {
    /// Collects the state.
    ///
    /// # Errors
    /// If a dump is invalid.
    pub fn new(node: &Node, ending: Ending, args: &ExecArgs) -> Result<Self, MemoryError> {
        let dump = |dump: &Dump| {
            let bytes = memory::read(
                node,
                CpuId::new(args.cpu.index()),
                dump.address,
                dump.length_bytes,
            )?;
            Ok((dump.clone(), bytes))
        };
        Ok(Self {
            ending,
            cpus: CpuState::all(node),
            dumps: args.dump.iter().map(dump).collect::<Result<_, _>>()?,
        })
    }

    /// Report as JSON.
    pub fn json(&self) -> ExecDocument<'_> {
        let cpus = self.cpus.iter();
        let dumps = self.dumps.iter();
        ExecDocument {
            stop: self.ending.stop,
            reason: &self.ending.reason,
            stopped: &self.ending.stopped,
            cpus: cpus.map(|(name, cpu)| (*name, cpu.json())).collect(),
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
        let mistakes = self.ending.stopped.iter().filter(|cpu| cpu.is_mistake());
        let mistakes = mistakes.map(|cpu| (cpu.id.as_str(), &cpu.backtrace));
        let busy = self.ending.running.iter();
        let busy = busy.filter(|cpu| cpu.doing == RunningActivity::Works);
        let busy = busy.map(|cpu| (cpu.id, &cpu.backtrace));
        for (id, backtrace) in mistakes.chain(busy).filter(|(_, calls)| !calls.is_empty()) {
            text += &format!("\ncalls of {id}:\n");
            for line in backtrace {
                text += &format!("  {line}\n");
            }
        }
        for (name, cpu) in &self.cpus {
            text += &format!("\n{name}: {}", cpu.text(symbols));
        }
        for (dump, bytes) in &self.dumps {
            text += &format!("\nmemory {}:\n{}", dump.name, hexdump(dump.address, bytes));
        }
        text
    }
}

impl CpuState {
    /// Collects the states of all CPUs of a node, each with the name of its initiator.
    pub fn all(node: &Node) -> Vec<(&'static str, Self)> {
        let board = node.inspect();
        let cpus = board.cpus().iter().enumerate();
        let state = |(index, info): (usize, &CpuInfo)| {
            let cpu = CpuId::new(index);
            let view = board.cpu(cpu)?;
            let state = Self {
                has_run: stop::has_run(&view),
                pc: view.pc,
                word: memory::instruction(board, cpu, view.pc, node.now()),
                registers: board.registers(cpu).to_vec(),
                architecture: info.architecture,
                instructions: view.instructions,
                cycles: view.cycles,
                time: view.time,
            };
            Some((info.id, state))
        };
        cpus.filter_map(state).collect()
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
            Some(word) => format!(
                "{word:08x}  {}",
                self.architecture.disassemble(word, self.pc)
            ),
            None => "no memory".into(),
        };
        text += &format!("  pc    {pc}  {instruction}\n");
        for row in 0..REGISTER_ROWS {
            let cells = (row..self.registers.len())
                .step_by(REGISTER_ROWS)
                .map(|register| {
                    let name = self.architecture.registers()[register];
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
