//! Report of `run`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use defs::emp::control::Counter;
use emulator::sim::world::RunEnd;
use serde::Serialize;

use crate::output::grouped;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::programs::verdict::Messages;
use lanigon_worlds::scenario::{Node, Scenario};
use lanigon_worlds::simulation::mapping::Mapping;
use lanigon_worlds::simulation::result::{BoardUse, ProgramUse, RunSummary};

/// Largest number of boards shown individually; otherwise mean and maximum.
const MOST_BOARDS: usize = 16;
/// Largest number of problems and failures shown.
const MOST_LINES: usize = 10;

/// Result of a run.
pub struct Report<'a> {
    pub file: &'a Path,
    pub scenario: &'a Scenario,
    pub outcome: &'a RunSummary,
}

/// JSON document of the report.
#[derive(Serialize)]
pub struct Document<'a> {
    scenario: String,
    description: &'a str,
    seed: u64,
    nodes: usize,
    /// `completed`, `deadlock`, `time limit` or `interrupted`.
    end: &'static str,
    /// Whether every check succeeded.
    good: bool,
    messages: Messages,
    bytes: u64,
    retransmissions: u64,
    frames_sent: u64,
    acks_sent: u64,
    /// Counters of GM's firmware, if a board runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    gm: Option<&'a BTreeMap<&'static str, u64>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    maps: &'a [Mapping],
    drops: &'a BTreeMap<String, u64>,
    faults: &'a BTreeMap<String, u64>,
    /// Positions of exact faults without a hit.
    idle_faults: &'a [String],
    latency_us: Latency,
    bandwidth_mbit: Option<f64>,
    simulated_us: f64,
    boards: &'a [BoardUse],
    programs: &'a [ProgramUse],
    problems: &'a [String],
    failures: &'a [String],
    waiting: &'a [String],
    /// 16 hexadecimal digits: JSON's numbers do not hold 64 bits.
    trace_hash: String,
}

#[derive(Serialize)]
struct Latency {
    p50: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl Report<'_> {
    fn latency(&self) -> Latency {
        let verdict = &self.outcome.verdict;
        Latency {
            p50: verdict.latency_us(50),
            p99: verdict.latency_us(99),
            max: verdict.latency_us(100),
        }
    }

    /// Counters of GM's firmware, if the scenario uses it.
    fn gm(&self) -> Option<&BTreeMap<&'static str, u64>> {
        let counts = self.outcome.gm.as_ref();
        counts.filter(|_| self.scenario.uses_protocol())
    }

    const fn end(&self) -> &'static str {
        match self.outcome.end {
            RunEnd::Completed => "completed",
            RunEnd::Deadlock(_) => "deadlock",
            RunEnd::TimeLimit(_) => "time limit",
            RunEnd::Interrupted => "interrupted",
        }
    }

    /// Waiting programs of an unfinished run.
    fn waiting(&self) -> &[String] {
        match &self.outcome.end {
            RunEnd::Deadlock(lines) => lines,
            _ => &[],
        }
    }

    /// Report as JSON.
    pub fn json(&self) -> Document<'_> {
        let outcome = self.outcome;
        Document {
            scenario: self.file.display().to_string(),
            description: &self.scenario.description,
            seed: self.scenario.seed,
            nodes: self.scenario.nodes.len(),
            end: self.end(),
            good: outcome.is_good(),
            messages: outcome.verdict.messages,
            bytes: outcome.verdict.bytes,
            retransmissions: outcome.counted(Counter::FramesResent),
            frames_sent: outcome.counted(Counter::FramesSent),
            acks_sent: outcome.counted(Counter::AcksSent),
            gm: self.gm(),
            maps: &outcome.maps,
            drops: &outcome.drops,
            faults: &outcome.faults,
            idle_faults: &outcome.idle_faults,
            latency_us: self.latency(),
            bandwidth_mbit: outcome.verdict.megabits_per_s(),
            simulated_us: outcome.simulated.us(),
            boards: &outcome.boards,
            programs: &outcome.programs,
            problems: &outcome.problems,
            failures: &outcome.failures,
            waiting: self.waiting(),
            trace_hash: format!("{:016x}", outcome.trace_hash),
        }
    }

    /// Report as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let title = std::iter::once(("scenario", self.title()));
        for (name, line) in title.chain(self.traffic()) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<10}{line}");
        }
        for place in &self.outcome.idle_faults {
            let _ = writeln!(text, "{:<10}none met the fault at {place}", "");
        }
        text += &boards(&self.outcome.boards);
        for (what, lines) in [
            ("PROBLEM", &self.outcome.problems[..]),
            ("failed", &self.outcome.failures[..]),
            ("waiting", self.waiting()),
        ] {
            for line in lines.iter().take(MOST_LINES) {
                let _ = writeln!(text, "{what:<10}{line}");
            }
            if lines.len() > MOST_LINES {
                let _ = writeln!(text, "{what:<10}... {} more", lines.len() - MOST_LINES);
            }
        }
        let _ = writeln!(text, "{:<10}{:016x}", "trace", self.outcome.trace_hash);
        let _ = writeln!(text, "{:<10}{}", "end", self.ending());
        text
    }

    /// Results in a trace file.
    pub fn results(&self) -> Vec<(&'static str, String)> {
        let mut results = vec![("end", self.ending())];
        results.extend(self.traffic());
        results.push(("trace", format!("{:016x}", self.outcome.trace_hash)));
        results
    }

    /// Lines on messages and frames, if there was any traffic.
    fn traffic(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if self.scenario.uses_protocol() {
            lines.extend([
                ("messages", self.messages()),
                ("payload", self.payload()),
                ("latency", self.latencies()),
            ]);
            let emp = |node: &Node| node.protocol == Some(Protocol::Emp);
            let all_gm = !self.scenario.nodes.iter().any(emp);
            if !all_gm {
                lines.push(("frames", self.frames()));
            }
            lines.extend(self.gm().map(|counts| ("gm", listed(counts))));
            lines.extend(self.outcome.maps.iter().map(|map| ("map", mapping(map))));
        }
        if !self.scenario.network.links.is_empty() {
            lines.extend([
                ("drops", listed(&self.outcome.drops)),
                ("faults", listed(&self.outcome.faults)),
            ]);
        }
        lines
    }

    fn title(&self) -> String {
        let (nodes, switches) = (&self.scenario.nodes, &self.scenario.network.switches);
        let switches = match switches.len() {
            0 => "no switch".to_owned(),
            1 => "1 switch".to_owned(),
            count => format!("{count} switches"),
        };
        let seed = self.scenario.seed;
        let nodes = match nodes.len() {
            1 => "1 node".to_owned(),
            count => format!("{count} nodes"),
        };
        let file = self.file.display();
        format!("{file}: {nodes}, {switches}, seed {seed}")
    }

    fn messages(&self) -> String {
        let messages = &self.outcome.verdict.messages;
        let mut parts = Vec::new();
        for (count, what, always) in [
            (messages.posted, "posted", true),
            (messages.delivered, "delivered", true),
            (messages.lost, "LOST", false),
            (messages.duplicated, "DUPLICATED", false),
            (messages.reordered, "REORDERED", false),
            (messages.corrupted, "CORRUPTED", false),
            (messages.failed_with_status, "failed with a status", false),
            (
                messages.failed_yet_delivered,
                "of these delivered all the same",
                false,
            ),
            (messages.cut_off, "cut off by a reset", false),
            (messages.unfinished, "under way", false),
        ] {
            if always || count > 0 {
                parts.push(format!("{} {what}", grouped(count)));
            }
        }
        if messages.is_good() {
            parts.push("none lost, duplicated, reordered or corrupted".into());
        }
        parts.join(", ")
    }

    fn payload(&self) -> String {
        let verdict = &self.outcome.verdict;
        let bytes = grouped(verdict.bytes);
        match verdict.megabits_per_s() {
            Some(rate) => format!("{bytes} bytes delivered, {rate:.2} Mb/s"),
            None => format!("{bytes} bytes delivered"),
        }
    }

    fn latencies(&self) -> String {
        let latency = self.latency();
        match (latency.p50, latency.p99, latency.max) {
            (Some(p50), Some(p99), Some(max)) => {
                format!("p50 {p50:.2} us, p99 {p99:.2} us, max {max:.2} us")
            }
            _ => "no message was delivered".into(),
        }
    }

    fn frames(&self) -> String {
        let count = |counter| grouped(self.outcome.counted(counter));
        format!(
            "{} sent, {} sent again, {} acks",
            count(Counter::FramesSent),
            count(Counter::FramesResent),
            count(Counter::AcksSent)
        )
    }

    fn ending(&self) -> String {
        let us = self.outcome.simulated.us();
        match &self.outcome.end {
            RunEnd::Completed if self.outcome.is_good() => format!("all is done after {us:.1} us"),
            RunEnd::Completed => format!("A CHECK FAILED, after {us:.1} us"),
            RunEnd::Deadlock(_) => format!("NOTHING CAN HAPPEN any more, after {us:.1} us"),
            RunEnd::TimeLimit(_) => format!("the time is over, after {us:.1} us"),
            RunEnd::Interrupted => format!("interrupted after {us:.1} us"),
        }
    }
}

/// Counts other than 0.
fn listed(counts: &BTreeMap<impl std::fmt::Display, u64>) -> String {
    let some = counts.iter().filter(|(_, count)| **count > 0);
    let some: Vec<_> = some
        .map(|(name, &count)| format!("{name} {}", grouped(count)))
        .collect();
    if some.is_empty() {
        "none".into()
    } else {
        some.join(", ")
    }
}

fn boards(boards: &[BoardUse]) -> String {
    let titles = |board: &BoardUse| -> Vec<&str> {
        let units = board.units.iter();
        units.map(|unit| unit.title).collect()
    };
    // Boards with the same units share a table.
    let mut tables: Vec<(Vec<&str>, Vec<&BoardUse>)> = Vec::new();
    for board in boards {
        let titles = titles(board);
        match tables.iter_mut().find(|(known, _)| *known == titles) {
            Some((_, same)) => same.push(board),
            None => tables.push((titles, vec![board])),
        }
    }
    let tables = tables.iter();
    tables
        .map(|(titles, boards)| table(titles, boards))
        .collect()
}

/// Utilisation of boards whose units have these titles.
fn table(titles: &[&str], boards: &[&BoardUse]) -> String {
    let mut text = String::new();
    let mut line = |first: &str, name: &str, cells: Vec<String>| {
        text += &format!("{first:<10}{name:<12}");
        for (cell, title) in cells.iter().zip(titles) {
            let width = (title.len() + 2).max(8);
            // Writing to a string cannot fail.
            let _ = write!(text, "{cell:>width$}");
        }
        text.push('\n');
    };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    line(
        "busy",
        "node",
        titles.iter().map(ToString::to_string).collect(),
    );
    if boards.len() <= MOST_BOARDS {
        for board in boards {
            let shares = board.units.iter().map(|unit| percent(unit.share));
            line("", &board.node, shares.collect());
        }
        return text;
    }
    let count = boards.len() as f64;
    let mut mean = vec![0.0; titles.len()];
    let mut most = vec![0.0f64; titles.len()];
    for board in boards {
        for (index, unit) in board.units.iter().enumerate() {
            mean[index] += unit.share / count;
            most[index] = unit.share.max(most[index]);
        }
    }
    line("", "mean", mean.into_iter().map(percent).collect());
    line("", "highest", most.into_iter().map(percent).collect());
    text
}

/// What a mapper did, in one line.
fn mapping(map: &Mapping) -> String {
    let many = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let mut text = format!(
        "{}, {}, {} between them; {} packets in {:.1} us, version {} at {:.1} us",
        many(map.nodes, "node"),
        many(map.crossbars, "crossbar"),
        many(map.cables, "cable"),
        grouped(map.packets),
        map.took_us,
        map.version,
        map.at_us,
    );
    if !map.silent.is_empty() {
        let _ = write!(text, "; without an answer: {:?}", map.silent);
    }
    text
}
