//! Programs over shared memory of a scenario.

use host_lib::dsm::{Barriers, Diffs, Dispatch, Locks, MOST_NODES, Protocol};

use super::error::ScenarioError;
use super::nodes::Nodes;
use super::programs::Program;
use super::table::Table;
use crate::programs::dsm::{DsmSettings, MOST_ROUNDS, Work};

/// The programs and their usual sizes, with the key that chooses.
const APPLICATIONS: [(&str, Work); 6] = [
    ("pages", Work::Pages(1024)),
    ("radix-sort", Work::Radix(52_488)),
    ("integer-sort", Work::IntegerSort(1 << 21)),
    ("fft", Work::Fft(64)),
    ("barnes-hut", Work::Barnes(16_384)),
    ("water", Work::Water(4096)),
];

const PROTOCOLS: [(&str, Protocol); 2] = [("async", Protocol::Async), ("ardmar", Protocol::Ardmar)];
const DIFFS: [(&str, Diffs); 2] = [("handler", Diffs::Handler), ("put", Diffs::Put)];
const LOCKS: [(&str, Locks); 2] = [("handler", Locks::Handler), ("atomic", Locks::Atomic)];
const DISPATCHES: [(&str, Dispatch); 2] = [("each", Dispatch::Each), ("once", Dispatch::Once)];
const BARRIERS: [(&str, Barriers); 2] = [("handler", Barriers::Handler), ("nic", Barriers::Nic)];

/// Largest size of a program.
const MOST: u64 = 1 << 26;
/// Reads the nodes and settings of a program.
pub(super) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<Program, ScenarioError> {
    let members = nodes.resolve(&table.need("nodes")?)?;
    let item = table.need("application")?;
    let mut work = item.choice("application", &APPLICATIONS)?;
    if members.len() > MOST_NODES {
        let reason = format!("{} nodes are more than {MOST_NODES}", members.len());
        return Err(table.place.refuse(reason));
    }
    if let Some(item) = table.get("size") {
        let size: usize = item.integer(1..=MOST)?;
        if size < members.len() {
            let reason = format!(
                "a size of {size} for {} nodes: each needs a part",
                members.len()
            );
            return Err(item.place.refuse(reason));
        }
        if matches!(work, Work::Fft(_)) && !size.is_power_of_two() {
            let reason = format!("a grid of {size}: it has to be a power of two");
            return Err(item.place.refuse(reason));
        }
        work = work.with_size(size);
    }
    let protocol = table.need("protocol")?.choice("protocol", &PROTOCOLS)?;
    let mut settings = DsmSettings::new(work, protocol);
    if let Some(item) = table.get("repeats") {
        settings.rounds = item.integer(1..=MOST_ROUNDS as u64)?;
    }
    if let Some(item) = table.get("diffs") {
        settings.memory.diffs = item.choice("way", &DIFFS)?;
        if settings.memory.diffs == Diffs::Put && protocol == Protocol::Async {
            let reason = "diffs by put need protocol = \"ardmar\"";
            return Err(item.place.refuse(reason));
        }
    }
    if let Some(item) = table.get("locks") {
        settings.memory.locks_by = item.choice("way", &LOCKS)?;
    }
    if let Some(item) = table.get("barriers") {
        settings.memory.barriers_by = item.choice("way", &BARRIERS)?;
    }
    settings.memory.find_races = table.flag("races", false)?;
    if settings.memory.find_races && settings.memory.diffs == Diffs::Put {
        let reason = "races are found in diffs that a handler applies";
        return Err(table.place.refuse(reason));
    }
    if let Some(item) = table.get("dispatch") {
        settings.memory.dispatch = item.choice("way", &DISPATCHES)?;
    }
    settings.clock_mhz = table.integer("clock_mhz", 1..=10_000, settings.clock_mhz)?;
    Ok(Program::Dsm {
        nodes: members,
        settings,
    })
}
