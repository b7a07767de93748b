//! Report of `acenic`.

use std::collections::BTreeMap;

use emulator::image::{Image, Symbols};
use emulator::sim::node::Node;
use emulator::sim::world::RunEnd;
use emulator::tigon2::board::Tigon2;
use host_lib::acenic::{Reported, trace};
use serde::Serialize;

use super::super::exec::report::{CpuDocument, CpuState};
use crate::output::grouped;
use lanigon_worlds::acenic::AceFirmware;
use lanigon_worlds::acenic::exchange::PATIENCE_NS;
use lanigon_worlds::acenic::node::{AcenicResults, NodeLog};
use lanigon_worlds::stopped::Stopped;

/// Number of trace records shown, unless -v or a failure requests all.
const TRACE_TAIL: usize = 8;

/// Result of a run.
pub struct AcenicReport {
    nodes: Vec<NodeReport>,
    symbols: Symbols,
    /// Reason of a premature end.
    cut_short: Option<String>,
}

struct NodeReport {
    fw_version: Option<String>,
    address: String,
    record: AcenicResults,
    interrupts: u64,
    /// Frames of the other node that did not arrive.
    dropped: u32,
    /// Number of frames to send in each direction.
    frames: u32,
    cpus: Vec<(&'static str, CpuState)>,
    /// A line per CPU.
    cores: Vec<String>,
    /// The CPUs that have stopped by themselves.
    stopped: Vec<Stopped>,
    trace: Option<Vec<trace::Record>>,
}

/// JSON document of the report.
#[derive(Serialize)]
pub struct AcenicDocument<'a> {
    nodes: Vec<NodeDocument<'a>>,
}

#[derive(Serialize)]
struct NodeDocument<'a> {
    fw_version: Option<&'a str>,
    fw_running_us: Option<f64>,
    link_up_us: Option<f64>,
    events: Vec<EventDocument>,
    interrupts: u64,
    sent: u32,
    received: u32,
    corrupted: u32,
    dropped: u32,
    stats: BTreeMap<&'static str, u64>,
    duplicated: u32,
    mac_address: &'a str,
    error: Option<String>,
    mistakes: &'a [String],
    cpus: Vec<CpuLine<'a>>,
    stopped: &'a [Stopped],
    trace: Vec<String>,
}

#[derive(Serialize)]
struct EventDocument {
    time_us: f64,
    event: &'static str,
    code: u32,
    index: u32,
    text: String,
}

#[derive(Serialize)]
struct CpuLine<'a> {
    state: &'a str,
    #[serde(flatten)]
    registers: CpuDocument,
}

/// Microseconds since CPU A's release.
fn us_since(time_ps: u64, released_ps: u64) -> f64 {
    time_ps.saturating_sub(released_ps) as f64 / 1e6
}

/// Line of an event.
pub fn event_line(node: usize, event: &Reported, released_ps: u64) -> String {
    let us = us_since(event.time_ps, released_ps);
    format!("{us:>14.3} us  node {node}: {}\n", event.event)
}

impl AcenicReport {
    /// Collects the report.
    pub fn new(
        nodes: &[Node],
        logs: &[NodeLog],
        end: &RunEnd,
        firmware: &AceFirmware,
        frames: u32,
    ) -> Self {
        let version = firmware.version.map(|version| version.to_string());
        let records: Vec<AcenicResults> = logs.iter().map(NodeLog::record).collect();
        // Each of the two nodes receives the frames of the other one.
        let sent = records.iter().rev().map(|record| record.counts.sent);
        let sent: Vec<u32> = sent.collect();
        let all = nodes.iter().zip(records).zip(sent);
        Self {
            nodes: all
                .map(|((node, record), sent)| {
                    let dropped = sent.saturating_sub(record.counts.received);
                    let image = firmware.image.as_ref();
                    NodeReport::new(node, record, image, version.clone(), dropped, frames)
                })
                .collect(),
            symbols: firmware
                .image
                .as_ref()
                .map(|image| image.symbols.clone())
                .unwrap_or_default(),
            cut_short: match end {
                RunEnd::Completed => None,
                RunEnd::Deadlock(lines) | RunEnd::Quiet(lines) => {
                    Some(format!("nothing can happen: {}", lines.join("; ")))
                }
                RunEnd::TimeLimit(lines) => Some(format!("the time is over: {}", lines.join("; "))),
                RunEnd::Interrupted => Some("interrupted".into()),
            },
        }
    }

    /// Whether every frame has arrived unchanged, without other problems.
    pub fn is_good(&self) -> bool {
        self.cut_short.is_none() && self.nodes.iter().all(|node| node.problems().is_empty())
    }

    /// Report as JSON.
    pub fn json(&self) -> AcenicDocument<'_> {
        let good = self.is_good();
        AcenicDocument {
            nodes: self
                .nodes
                .iter()
                .map(|node| node.json(good, self.cut_short.as_deref()))
                .collect(),
        }
    }

    /// Report as text.
    pub fn text(&self, verbose: bool) -> String {
        let good = self.is_good();
        let mut text = String::new();
        for (index, node) in self.nodes.iter().enumerate() {
            text += &format!(
                "\nnode {index}: {}\n",
                node.summary(self.cut_short.is_some())
            );
            text += &node.statistics();
            text += &node.trace_lines(verbose || !good);
            for problem in node.problems() {
                text += &format!("  PROBLEM: {problem}\n");
            }
            for stopped in &node.stopped {
                text += &format!("  calls of {}:\n", stopped.id);
                let calls = stopped.backtrace.iter();
                text.extend(calls.map(|line| format!("    {line}\n")));
            }
            if !good {
                text += &node.cpu_lines(&self.symbols);
            }
        }
        if let Some(reason) = &self.cut_short {
            text += &format!("\nnot finished: {reason}\n");
        } else if good {
            text += "\nall frames arrived as they were sent\n";
        }
        text
    }
}

impl NodeReport {
    fn new(
        node: &Node,
        record: AcenicResults,
        image: Option<&Image>,
        fw_version: Option<String>,
        dropped: u32,
        frames: u32,
    ) -> Self {
        let board = node.board::<Tigon2>();
        Self {
            frames,
            fw_version,
            address: host_lib::emp::MacAddress(board.fabric.eeprom.mac_address()).to_string(),
            interrupts: board.fabric.interrupts,
            dropped,
            cpus: CpuState::all(node),
            cores: node.inspect().describe_cpus(),
            stopped: Stopped::all(node, image),
            trace: trace::decode(|address| board.fabric.sram.word(address)),
            record,
        }
    }

    /// Descriptions of all problems.
    fn problems(&self) -> Vec<String> {
        let record = &self.record;
        let counts = &record.counts;
        let mut problems = Vec::new();
        problems.extend(record.failure.as_ref().map(ToString::to_string));
        let errors = record.events.iter().filter(|item| item.event.is_error());
        problems.extend(errors.map(|item| item.event.to_string()));
        let stopped = self.stopped.iter();
        problems
            .extend(stopped.map(|cpu| format!("a CPU has stopped by itself: {}: {cpu}", cpu.cpu)));
        let (sent, received) = (counts.sent, counts.received);
        if record.failure.is_none() && record.ended && sent.min(received) < self.frames {
            let frames = self.frames;
            problems.push(format!(
                "of {frames} frames {sent} were sent and {received} received, then nothing came for {} ms",
                PATIENCE_NS / 1_000_000
            ));
        }
        if counts.corrupted > 0 {
            problems.push(format!("{} frames arrived damaged", counts.corrupted));
            problems.extend(counts.damage.iter().cloned());
        }
        if counts.duplicated > 0 {
            problems.push(format!("{} frames arrived twice", counts.duplicated));
        }
        if record.mistakes > 0 {
            problems.push(format!(
                "the firmware wrote invalid data to host memory {} times",
                record.mistakes
            ));
            problems.extend(record.first_mistakes.iter().cloned());
        }
        problems
    }

    fn since_release(&self, time_ps: Option<u64>) -> Option<f64> {
        time_ps.map(|time_ps| us_since(time_ps, self.record.released_ps.unwrap_or(0)))
    }

    fn json(&self, good: bool, cut_short: Option<&str>) -> NodeDocument<'_> {
        let record = &self.record;
        let released_ps = record.released_ps.unwrap_or(0);
        let problems = self.problems();
        let reasons = cut_short.map(str::to_owned).into_iter().chain(problems);
        let reasons: Vec<_> = reasons.collect();
        let events = record.events.iter().map(|item| EventDocument {
            time_us: us_since(item.time_ps, released_ps),
            event: item.event.name(),
            code: item.code(),
            index: item.index(),
            text: item.event.to_string(),
        });
        let trace = self.trace.iter().flatten().filter(|_| !good);
        NodeDocument {
            fw_version: self.fw_version.as_deref(),
            fw_running_us: self.since_release(record.running_ps),
            link_up_us: self.since_release(record.link_up_ps),
            events: events.collect(),
            interrupts: self.interrupts,
            sent: record.counts.sent,
            received: record.counts.received,
            corrupted: record.counts.corrupted,
            dropped: self.dropped,
            stats: record
                .statistics
                .iter()
                .flat_map(|all| all.iter())
                .collect(),
            duplicated: record.counts.duplicated,
            mac_address: &self.address,
            error: (!reasons.is_empty()).then(|| reasons.join("; ")),
            mistakes: &record.first_mistakes,
            cpus: self
                .cores
                .iter()
                .zip(&self.cpus)
                .map(|(state, (_, cpu))| CpuLine {
                    state,
                    registers: cpu.json(),
                })
                .collect(),
            stopped: &self.stopped,
            trace: trace.map(ToString::to_string).collect(),
        }
    }

    fn summary(&self, cut_short: bool) -> String {
        // In an unfinished run, missing frames may be in flight.
        let missing = if cut_short { "missing" } else { "dropped" };
        let counts = &self.record.counts;
        let time = |time_ps| match self.since_release(time_ps) {
            Some(us) => format!("{us:.3} us"),
            None => "never".into(),
        };
        format!(
            "{}, firmware {}\n  running    {}\n  link up    {}\n  frames     {} sent, {} received, \
             {} damaged, {} {missing}\n  interrupts {}",
            self.address,
            self.fw_version.as_deref().unwrap_or("without a version"),
            time(self.record.running_ps),
            time(self.record.link_up_ps),
            counts.sent,
            counts.received,
            counts.corrupted,
            self.dropped,
            self.interrupts,
        )
    }

    /// Counters other than 0.
    fn statistics(&self) -> String {
        let Some(statistics) = &self.record.statistics else {
            return String::new();
        };
        let counted = statistics.iter().filter(|(_, value)| *value != 0);
        let lines = counted.map(|(name, value)| format!("    {name:<40} {:>12}\n", grouped(value)));
        let lines: String = lines.collect();
        if lines.is_empty() {
            return "  statistics: none were reported\n".into();
        }
        format!("  statistics:\n{lines}")
    }

    fn trace_lines(&self, all: bool) -> String {
        let Some(records) = &self.trace else {
            return "  trace: the firmware keeps none\n".into();
        };
        let skipped = if all {
            0
        } else {
            records.len().saturating_sub(TRACE_TAIL)
        };
        let mut text = match skipped {
            0 => "  trace:\n".to_owned(),
            count => format!("  trace (-v shows {count} more records before these):\n"),
        };
        for record in &records[skipped..] {
            text += &format!("    {record}\n");
        }
        text
    }

    fn cpu_lines(&self, symbols: &Symbols) -> String {
        let cpus = self.cores.iter().zip(&self.cpus);
        cpus.map(|(state, (_, cpu))| format!("  {state}\n  {}", cpu.text(symbols)))
            .collect()
    }
}
