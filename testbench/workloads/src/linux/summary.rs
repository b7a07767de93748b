//! Results of guests.

use std::collections::BTreeMap;

use super::workload::GuestRecords;
use lanigon_worlds::workload::{Outcome, grouped};

/// Lines of a guest's console in the report: the last ones.
const MOST_LINES: usize = 12;

/// A line of a console.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ConsoleLine {
    /// Time of the line, in us.
    pub time_us: f64,
    /// The line.
    pub text: String,
}

/// A guest.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GuestUse {
    /// Number of the guest's node.
    pub node: usize,
    /// The exit code of its script; none if it did not come to its end.
    pub exit_code: Option<u32>,
    /// Words of the board's window that it has read.
    pub register_reads: u64,
    /// Words of the board's window that it has written.
    pub register_writes: u64,
    /// Interrupts that it has taken.
    pub interrupts: u64,
    /// Numbers that the script has said, by name: lines `result NAME NUMBER`.
    pub results: BTreeMap<String, f64>,
    /// Lines of the guest's console.
    pub console: Vec<ConsoleLine>,
}

/// Name and number of a line `result NAME NUMBER`.
fn result((_, line): &(u64, String)) -> Option<(String, f64)> {
    let mut words = line.strip_prefix("result ")?.split_whitespace();
    let (name, number) = (words.next()?, words.next()?.parse::<f64>().ok()?);
    number.is_finite().then(|| (name.to_owned(), number))
}

/// The guests of a program.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GuestsUse {
    /// Whether the work of the guests' processors has taken time.
    pub processor: bool,
    /// Guests by node.
    pub guests: Vec<GuestUse>,
}

impl GuestsUse {
    pub(super) fn from_records(
        processor: bool,
        guests: impl Iterator<Item = (usize, GuestRecords)>,
    ) -> Self {
        let line = |(time_ps, text)| ConsoleLine {
            time_us: time_ps as f64 / 1e6,
            text,
        };
        let guest = |(node, records): (usize, GuestRecords)| GuestUse {
            node,
            exit_code: records.exit_code,
            register_reads: records.reads,
            register_writes: records.writes,
            interrupts: records.interrupts,
            results: records.lines.iter().filter_map(result).collect(),
            console: records.lines.into_iter().map(line).collect(),
        };
        Self {
            processor,
            guests: guests.map(guest).collect(),
        }
    }
}

impl Outcome for GuestsUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        for guest in &self.guests {
            let code = match guest.exit_code {
                Some(code) => format!("exit code {code}"),
                None => "its script has not ended".into(),
            };
            let accesses = grouped(guest.register_reads + guest.register_writes);
            let interrupts = grouped(guest.interrupts);
            let node = guest.node;
            let processor = match self.processor {
                true => ", processor with time",
                false => "",
            };
            lines.push((
                "guests",
                format!("{node}: {code}, {accesses} register accesses, {interrupts} interrupts{processor}"),
            ));
            let console = &guest.console;
            for line in &console[console.len().saturating_sub(MOST_LINES)..] {
                lines.push(("", format!("{node} {:>14.3}  {}", line.time_us, line.text)));
            }
        }
        lines
    }
}
