//! Report of `run`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use defs::emp::control::Counter;
use emulator::sim::world::RunEnd;

use crate::output::grouped;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::scenario::programs::ProgramSpec;
use lanigon_worlds::scenario::{Node, Scenario};
use lanigon_worlds::simulation::document::{self, Latency, RunDocument};
use lanigon_worlds::simulation::mapping::Mapping;
use lanigon_worlds::simulation::result::{BoardUse, RunSummary};

/// Largest number of boards shown individually; otherwise mean and maximum.
const MOST_BOARDS: usize = 16;
/// Largest number of problems and failures shown.
const MOST_LINES: usize = 10;

/// Largest number of stopped CPUs whose active functions are shown.
const MOST_BACKTRACES: usize = 4;

/// Result of a run.
pub struct RunReport<'a> {
    pub file: &'a Path,
    pub scenario: &'a Scenario,
    pub outcome: &'a RunSummary,
}

impl RunReport<'_> {
    /// Counters of GM's firmware, if the scenario uses it.
    fn gm(&self) -> Option<&BTreeMap<&'static str, u64>> {
        document::gm(self.scenario, self.outcome)
    }

    /// Report as JSON.
    pub fn json(&self) -> RunDocument<'_> {
        let file = self.file.display().to_string();
        RunDocument::new(file, self.scenario, self.outcome)
    }

    /// Report as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let title = std::iter::once(("scenario", self.title()));
        for (name, line) in title.chain(self.traffic()) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<9} {line}");
        }
        for place in &self.outcome.idle_faults {
            let _ = writeln!(text, "{:<10}none met the fault at {place}", "");
        }
        text += &boards(&self.outcome.boards);
        for (what, lines) in [
            ("PROBLEM", &self.outcome.problems[..]),
            ("failed", &self.outcome.failures[..]),
            ("waiting", document::waiting(self.outcome)),
            ("running", &self.outcome.running[..]),
        ] {
            for line in lines.iter().take(MOST_LINES) {
                let _ = writeln!(text, "{what:<10}{line}");
            }
            if lines.len() > MOST_LINES {
                let _ = writeln!(text, "{what:<10}... {} more", lines.len() - MOST_LINES);
            }
        }
        for (node, stopped) in self.outcome.stopped.iter().take(MOST_BACKTRACES) {
            let name = &self.scenario.nodes[*node].name;
            let _ = writeln!(text, "{:<10}node {name}, {}", "calls", stopped.cpu);
            for line in &stopped.backtrace {
                let _ = writeln!(text, "{:<10}{line}", "");
            }
        }
        if let Some(races) = &self.outcome.races {
            text += &races.text_or_none();
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
            let mut programs = self.scenario.programs.iter();
            if programs.any(ProgramSpec::shows_messages) {
                lines.extend([
                    ("messages", self.messages()),
                    ("payload", self.payload()),
                    ("latency", self.latencies()),
                ]);
            }
            let outcomes = self.outcome.outcomes.iter();
            lines.extend(outcomes.flat_map(|(_, outcome)| outcome.lines()));
            let emp = |node: &Node| node.protocol == Some(Protocol::Emp);
            let all_gm = !self.scenario.nodes.iter().any(emp);
            if !all_gm {
                lines.push(("frames", self.frames()));
            }
            lines.extend(self.gm().map(|counts| ("gm", listed(counts))));
            lines.extend(self.outcome.fm.iter().map(|counts| ("fm", listed(counts))));
            lines.extend(self.outcome.maps.iter().map(|map| ("map", mapping(map))));
        }
        let hosts = self.outcome.hosts.iter();
        lines.extend(hosts.map(|host| ("mcp", host.line())));
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
            (
                messages.dropped,
                "dropped by faults or for want of space",
                false,
            ),
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
            let others = if messages.dropped > 0 {
                "no others"
            } else {
                "none"
            };
            parts.push(format!("{others} lost, duplicated, reordered or corrupted"));
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
        let latency = Latency::from_summary(self.outcome);
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
            RunEnd::Quiet(_) => {
                let seconds = self.scenario.quiet.unwrap_or_default().us() / 1e6;
                format!("NOTHING BUT TIMERS happened in the last {seconds} s of {us:.1} us")
            }
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
        text += &format!("{first:<9} {name:<11} ");
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

/// Results of a mapper, in one line.
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
