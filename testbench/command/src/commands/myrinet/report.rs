//! Report of `myrinet`.

use std::collections::BTreeMap;
use std::fmt::Write;

use emulator::lanai::board::Lanai;
use emulator::sim::initiator::Initiator;
use emulator::sim::world::RunEnd;
use host_lib::myrinet::{EntryKind, JournalEntry};
use lanigon_worlds::myrinet::diagnosis::Diagnosis;
use lanigon_worlds::myrinet::host::{ControlHost, HostReport, JournalStep};
use lanigon_worlds::myrinet::program::ControlProgram;
use lanigon_worlds::myrinet::{HostKind, WayBack};
use lanigon_worlds::simulation::Simulation;
use lanigon_worlds::simulation::result::RunSummary;
use serde::Serialize;

use crate::output::grouped;

/// Most instructions of a loop that are shown.
const MOST_LOOP_LINES: usize = 40;
/// Registers in a line.
const REGISTERS_PER_LINE: usize = 6;

/// Program, board, host and network.
#[derive(Debug)]
pub struct Setup<'a> {
    pub program: ControlProgram,
    pub board: &'a str,
    pub kind: HostKind,
    pub way_back: WayBack,
}

/// Result of a run.
pub struct MyrinetReport<'a> {
    setup: Setup<'a>,
    host: HostReport,
    warning: Option<String>,
    needs_other_way: bool,
    /// The state of the chip, if something failed.
    diagnosis: Option<Diagnosis>,
    instructions: u64,
    /// DMA transfers: from the host, to the host.
    dma_transfers: [u64; 2],
    time_us: f64,
    /// Reason of a premature end.
    cut_short: Option<String>,
}

/// JSON document of the report.
#[derive(Serialize)]
pub struct MyrinetDocument<'a> {
    board: &'a str,
    format: &'static str,
    host: &'static str,
    way_back: &'static str,
    identification: Option<&'a str>,
    warning: Option<&'a str>,
    milestones: &'a [JournalStep],
    missing: &'a [&'static str],
    remarks: &'a [JournalStep],
    values: &'a BTreeMap<String, i64>,
    instructions: u64,
    dma_from_host: u64,
    dma_to_host: u64,
    time_us: f64,
    error: Option<String>,
    cpu: Option<CpuDocument<'a>>,
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
pub fn title(setup: &Setup<'_>) -> String {
    let program = &setup.program;
    let name = program
        .identification
        .as_deref()
        .unwrap_or("no identification");
    let skipped = match program.skipped_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes in front of it skipped"),
    };
    let (format, board) = (program.format.name(), setup.board);
    let (host, way) = (setup.kind.name(), setup.way_back.name());
    format!("{format} image ({name}{skipped}) on {board}, host {host}, way back {way}\n")
}

/// Line of an entry.
pub fn line(entry: &JournalEntry) -> String {
    let us = us(entry.time_ps);
    let name = match entry.kind {
        EntryKind::Milestone(name) => name,
        EntryKind::Remark => "-",
    };
    format!("{us:>14.3} us  {name:<16} {}\n", entry.text)
}

impl<'a> MyrinetReport<'a> {
    /// Collects the report. If something failed, the chip executes some further instructions, which show where it loops.
    pub fn new(
        simulation: &mut Simulation,
        host: &ControlHost,
        setup: Setup<'a>,
        summary: &RunSummary,
    ) -> Self {
        let report = host.report("0");
        let time_us = us(simulation.world.now().ps());
        let board = simulation.world.nodes[0].board::<Lanai>();
        let instructions = board.core.instructions();
        let dma_transfers = board.fabric.dma_transfers();
        let failed = report.problem().is_some();
        Self {
            warning: setup.program.warning(host.generation),
            needs_other_way: host.needs_other_way(),
            setup,
            host: report,
            diagnosis: failed.then(|| Diagnosis::examine(&mut simulation.world)),
            instructions,
            dma_transfers,
            time_us,
            cut_short: match &summary.end {
                RunEnd::Completed => None,
                RunEnd::Deadlock(lines) | RunEnd::Quiet(lines) => {
                    Some(format!("nothing can happen: {}", lines.join("; ")))
                }
                RunEnd::TimeLimit(_) => Some("the time is over".into()),
                RunEnd::Interrupted => Some("interrupted".into()),
            },
        }
    }

    /// Whether all milestones were reached.
    pub fn is_good(&self) -> bool {
        self.host.problem().is_none() && self.cut_short.is_none()
    }

    /// Whether another way back may help.
    pub const fn needs_other_way(&self) -> bool {
        self.needs_other_way
    }

    fn error(&self) -> Option<String> {
        let error = self.host.error.clone();
        let reasons: Vec<_> = self.cut_short.clone().into_iter().chain(error).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Report as JSON.
    pub fn json(&self) -> MyrinetDocument<'_> {
        let (setup, host) = (&self.setup, &self.host);
        MyrinetDocument {
            board: setup.board,
            format: setup.program.format.name(),
            host: host.host,
            way_back: setup.way_back.name(),
            identification: setup.program.identification.as_deref(),
            warning: self.warning.as_deref(),
            milestones: &host.milestones,
            missing: &host.missing,
            remarks: &host.remarks,
            values: &host.values,
            instructions: self.instructions,
            dma_from_host: self.dma_transfers[0],
            dma_to_host: self.dma_transfers[1],
            time_us: self.time_us,
            error: self.error(),
            cpu: self.diagnosis.as_ref().map(cpu_document),
        }
    }

    /// Report as text, behind the lines of the entries.
    pub fn text(&self) -> String {
        let mut text = String::from("\n");
        for (name, value) in &self.host.values {
            // Values are words.
            text += &format!("  {name} = {value} ({:#x})\n", *value as u32);
        }
        let [from_host, to_host] = self.dma_transfers.map(grouped);
        text += &format!(
            "{} instructions, {from_host} DMA transfers from the host, {to_host} to the host, {:.3} us\n",
            grouped(self.instructions),
            self.time_us
        );
        if let Some(error) = self.error() {
            text += &format!("PROBLEM: {error}\n");
        }
        match self.host.missing.as_slice() {
            [] => text += "all milestones were reached\n",
            [first, rest @ ..] => {
                text += &format!("missing milestone: {first}\n");
                if !rest.is_empty() {
                    text += &format!("then: {}\n", rest.join(", "));
                }
            }
        }
        if let Some(diagnosis) = &self.diagnosis {
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
