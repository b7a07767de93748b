//! Report of `myrinet`.

use std::collections::BTreeMap;
use std::fmt::Write;

use emulator::sim::initiator::Initiator;
use emulator::sim::world::RunEnd;
use host_lib::myrinet::{Entry, Kind, Value};
use lanigon_worlds::myrinet::diagnosis::Diagnosis;
use lanigon_worlds::myrinet::program::ControlProgram;
use lanigon_worlds::myrinet::{Outcome, Session, Setup};
use serde::Serialize;

use crate::output::grouped;

/// Most instructions of a loop that are shown.
const MOST_LOOP_LINES: usize = 40;
/// Registers in a line.
const REGISTERS_PER_LINE: usize = 6;

/// Result of a run.
pub struct Report<'a> {
    program: &'a ControlProgram,
    setup: Setup,
    board: &'a str,
    outcome: Outcome,
    entries: Vec<Entry>,
    values: Vec<Value>,
    /// Reason of a premature end.
    cut_short: Option<String>,
}

/// JSON document of the report.
#[derive(Serialize)]
pub struct Document<'a> {
    board: &'a str,
    format: &'static str,
    host: &'static str,
    way_back: &'static str,
    identification: Option<&'a str>,
    warning: Option<String>,
    milestones: Vec<EntryDocument<'a>>,
    missing: &'a [&'static str],
    remarks: Vec<EntryDocument<'a>>,
    values: BTreeMap<&'a str, i64>,
    instructions: u64,
    dma_from_host: u64,
    dma_to_host: u64,
    time_us: f64,
    error: Option<String>,
    cpu: Option<CpuDocument<'a>>,
}

#[derive(Serialize)]
struct EntryDocument<'a> {
    time_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    milestone: Option<&'static str>,
    text: &'a str,
}

#[derive(Serialize)]
struct CpuDocument<'a> {
    state: &'a str,
    pc: String,
    isr: String,
    isr_bits: &'a [&'static str],
    regs: BTreeMap<&'static str, String>,
    last_writes: Vec<WriteDocument>,
    executed: Vec<String>,
}

#[derive(Serialize)]
struct WriteDocument {
    time_us: f64,
    by: &'static str,
    register: &'static str,
    value: String,
}

fn us(time_ps: u64) -> f64 {
    time_ps as f64 / 1e6
}

const fn writer(who: Initiator) -> &'static str {
    match who {
        Initiator::Host => "host",
        Initiator::Debugger => "debugger",
        _ => "cpu",
    }
}

/// First lines: program, board and host.
pub fn title(program: &ControlProgram, setup: &Setup, board: &str) -> String {
    let name = program
        .identification
        .as_deref()
        .unwrap_or("no identification");
    let skipped = match program.skipped_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes in front of it skipped"),
    };
    let format = program.format.name();
    let (host, way) = (setup.kind.name(), setup.way_back.name());
    format!("{format} image ({name}{skipped}) on {board}, host {host}, way back {way}\n")
}

/// Line of an entry.
pub fn line(entry: &Entry) -> String {
    let us = us(entry.time_ps);
    let name = match entry.kind {
        Kind::Milestone(name) => name,
        Kind::Remark => "-",
    };
    format!("{us:>14.3} us  {name:<16} {}\n", entry.text)
}

impl<'a> Report<'a> {
    /// Collects the report.
    pub fn new(
        session: &mut Session,
        program: &'a ControlProgram,
        setup: &Setup,
        board: &'a str,
        end: &RunEnd,
    ) -> Self {
        Self {
            outcome: session.outcome(),
            entries: session.journal.entries_from(0),
            values: session.journal.values(),
            program,
            setup: *setup,
            board,
            cut_short: match end {
                RunEnd::Completed => None,
                RunEnd::Deadlock(lines) => {
                    Some(format!("nothing can happen: {}", lines.join("; ")))
                }
                RunEnd::TimeLimit(_) => Some("the time is over".into()),
                RunEnd::Interrupted => Some("interrupted".into()),
            },
        }
    }

    /// Whether all milestones were reached.
    pub fn is_good(&self) -> bool {
        self.outcome.is_good() && self.cut_short.is_none()
    }

    /// Whether another way back may help.
    pub fn needs_other_way(&self) -> bool {
        self.outcome.needs_other_way()
    }

    fn error(&self) -> Option<String> {
        let error = self.outcome.error.as_ref().map(ToString::to_string);
        let reasons: Vec<_> = self.cut_short.clone().into_iter().chain(error).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn entries(&self, milestones: bool) -> Vec<EntryDocument<'_>> {
        let entries = self.entries.iter().map(|entry| EntryDocument {
            time_us: us(entry.time_ps),
            milestone: match entry.kind {
                Kind::Milestone(name) => Some(name),
                Kind::Remark => None,
            },
            text: &entry.text,
        });
        entries
            .filter(|entry| entry.milestone.is_some() == milestones)
            .collect()
    }

    /// Report as JSON.
    pub fn json(&self) -> Document<'_> {
        let outcome = &self.outcome;
        let values = self.values.iter();
        Document {
            board: self.board,
            format: self.program.format.name(),
            host: self.setup.kind.name(),
            way_back: self.setup.way_back.name(),
            identification: self.program.identification.as_deref(),
            warning: self.program.warning(self.setup.timing.generation),
            milestones: self.entries(true),
            missing: &outcome.missing,
            remarks: self.entries(false),
            values: values
                .map(|value| (value.name.as_str(), value.value))
                .collect(),
            instructions: outcome.instructions,
            dma_from_host: outcome.dma_transfers[0],
            dma_to_host: outcome.dma_transfers[1],
            time_us: us(outcome.time.ps()),
            error: self.error(),
            cpu: outcome.diagnosis.as_ref().map(cpu_document),
        }
    }

    /// Report as text, behind the lines of the entries.
    pub fn text(&self) -> String {
        let outcome = &self.outcome;
        let mut text = String::from("\n");
        for Value { name, value } in &self.values {
            // Values are words.
            text += &format!("  {name} = {value} ({:#x})\n", *value as u32);
        }
        text += &format!(
            "{} instructions, {} DMA transfers from the host, {} to the host, {:.3} us\n",
            grouped(outcome.instructions),
            grouped(outcome.dma_transfers[0]),
            grouped(outcome.dma_transfers[1]),
            us(outcome.time.ps())
        );
        if let Some(error) = self.error() {
            text += &format!("PROBLEM: {error}\n");
        }
        match outcome.missing.as_slice() {
            [] => text += "all milestones were reached\n",
            [first, rest @ ..] => {
                text += &format!("missing milestone: {first}\n");
                if !rest.is_empty() {
                    text += &format!("then: {}\n", rest.join(", "));
                }
            }
        }
        if let Some(diagnosis) = &outcome.diagnosis {
            text += &cpu_text(diagnosis);
        }
        if let Some(reason) = &self.cut_short {
            text += &format!("\nnot finished: {reason}\n");
        }
        text
    }
}

fn cpu_text(cpu: &Diagnosis) -> String {
    let mut text = format!(
        "\nCPU {} at pc {:#x}, isr {:#010x} ({})\n",
        cpu.state,
        cpu.pc,
        cpu.status,
        cpu.status_names.join(" ")
    );
    for registers in cpu.registers.chunks(REGISTERS_PER_LINE) {
        for (name, value) in registers {
            let _ = write!(text, "  {name:>4} {value:08x}");
        }
        text.push('\n');
    }
    text += "last writes of special registers:\n";
    for write in &cpu.writes {
        text += &format!(
            "{:>14.3} us  {:<8} {:<12} {:#010x}\n",
            us(write.time.ps()),
            writer(write.who),
            write.name,
            write.value
        );
    }
    let (shown, rest) = cpu
        .executed
        .split_at(cpu.executed.len().min(MOST_LOOP_LINES));
    if !shown.is_empty() {
        text += "instructions that it executes:\n";
    }
    for line in shown {
        text += &format!(
            "  {:#08x}  {:08x}  {}\n",
            line.address, line.word, line.text
        );
    }
    if !rest.is_empty() {
        text += &format!("  and {} more\n", rest.len());
    }
    text
}

fn cpu_document(cpu: &Diagnosis) -> CpuDocument<'_> {
    let registers = cpu.registers.iter();
    let writes = cpu.writes.iter().map(|write| WriteDocument {
        time_us: us(write.time.ps()),
        by: writer(write.who),
        register: write.name,
        value: format!("{:#x}", write.value),
    });
    let executed = cpu.executed.iter();
    CpuDocument {
        state: &cpu.state,
        pc: format!("{:#x}", cpu.pc),
        isr: format!("{:#x}", cpu.status),
        isr_bits: &cpu.status_names,
        regs: registers
            .map(|(name, value)| (*name, format!("{value:#x}")))
            .collect(),
        last_writes: writes.collect(),
        executed: executed
            .map(|line| format!("{:#x}: {}", line.address, line.text))
            .collect(),
    }
}
