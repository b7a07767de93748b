//! Races on the boards of a run: found by a board, told with functions, lines and calls.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::board::CpuId;
use emulator::board::races::RacePair;
use emulator::image::{Image, Lines, SymbolKind, plain_name};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use serde::Serialize;

use crate::nodes::START;
use crate::scenario::{Scenario, ScenarioError};
use crate::simulation::Simulation;
use crate::stopped::CpuCode;

/// Parts of the paths of sources that only carry out an access for others: those of the language, and of the firmware's accessors.
const ACCESSORS: [&str; 5] = [
    "core/src/",
    "-hal/src/sram.rs",
    "-hal/src/regs.rs",
    "-hal/src/mem.rs",
    "-hal/src/queue.rs",
];
/// Most races of which the calls are looked for.
const MOST_WITH_CALLS: usize = 20;

/// No board of a scenario can look for races.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no board of the scenario can look for races")]
pub struct NoRaces;

/// Access that takes part in a race.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RacingAccess {
    /// Who accesses: `cpu_a`.
    pub by: &'static str,
    /// Whether it writes.
    pub writes: bool,
    /// The function with the instruction, if a CPU accesses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Source positions of the instruction, innermost inlined function first, without accessors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    /// Active functions at the first access that was found, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Time of that access in us from the start of the programs; negative before it.
    pub time_us: f64,
    /// Time of that access from power-on.
    #[serde(skip)]
    time: SimTime,
    /// The instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pc: Option<u32>,
}

/// Two places of a board's firmware and hardware whose accesses race.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaceRow {
    /// Name of the node.
    pub node: String,
    /// Index of the node.
    #[serde(skip)]
    index: usize,
    /// The word that both accessed first, in words: `sram > 0x200`.
    pub place: String,
    /// Address of the word.
    pub address: u32,
    /// The access that came first, and the other one.
    pub accesses: [RacingAccess; 2],
    /// Number of pairs of such accesses.
    pub count: u64,
}

/// All races of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RaceReport {
    /// The races, by node and by time.
    pub rows: Vec<RaceRow>,
    /// Number of pairs at further places.
    pub more: u64,
}

impl RacingAccess {
    fn new(node: &Node, image: (&Image, Option<&Lines>), race: &RacePair, side: usize) -> Self {
        let (time, side) = (race.times[side], &race.sides[side]);
        let who = side.agent.initiator();
        let cpu = CpuId::new(who.cpu().unwrap_or_default());
        let code = CpuCode::new(node, cpu, Some(image.0), image.1);
        let source = side.pc.map(|pc| code.source(pc)).unwrap_or_default();
        let named = source
            .iter()
            .filter(|frame| !ACCESSORS.iter().any(|part| frame.file.contains(part)));
        let function = side.pc.and_then(|pc| code.function(pc));
        Self {
            by: node.inspect().names().initiator(who),
            writes: side.writes,
            function: function.map(|symbol| plain_name(&symbol.name)),
            source: named.map(ToString::to_string).collect(),
            calls: Vec::new(),
            time_us: time.us() - START.us(),
            time,
            pc: side.pc,
        }
    }

    /// Whether both are one place for a reader of the source.
    fn is_like(&self, other: &Self) -> bool {
        (self.by, self.writes, &self.function, &self.source)
            == (other.by, other.writes, &other.function, &other.source)
    }
}

impl fmt::Display for RacingAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.writes { "writes" } else { "reads" };
        write!(f, "{:+.6} us: {} {verb}", self.time_us, self.by)?;
        match (self.source.first(), &self.function) {
            (Some(place), _) => write!(f, ", {place}"),
            (None, Some(function)) => write!(f, ", {function}"),
            (None, None) => Ok(()),
        }
    }
}

impl RaceRow {
    fn new(node: (usize, &Node, &str), image: (&Image, Option<&Lines>), race: &RacePair) -> Self {
        let (index, node, name) = node;
        let board = node.inspect();
        let place = board.describe_address(CpuId::new(0), race.word);
        let place = place.split_once(" > ").map_or(&*place, |(_, what)| what);
        let object = image.0.symbols.iter().find(|symbol| {
            let distance = race.word.wrapping_sub(symbol.address);
            symbol.kind == SymbolKind::Object && distance < symbol.size_bytes
        });
        let object = object.map_or_else(String::new, |symbol| {
            format!(" ({})", plain_name(&symbol.name))
        });
        Self {
            node: name.into(),
            index,
            place: format!("{place}{object}"),
            address: race.word,
            accesses: [0, 1].map(|side| RacingAccess::new(node, image, race, side)),
            count: race.count,
        }
    }
}

impl Simulation {
    /// Looks for races from now on, on all boards that can.
    ///
    /// # Errors
    /// [`NoRaces`].
    pub fn look_for_races(&mut self) -> Result<(), NoRaces> {
        look_for_races(&mut self.world)?;
        self.looks_for_races = true;
        Ok(())
    }

    /// The races found so far, if they are looked for.
    #[must_use]
    pub fn races(&self) -> Option<RaceReport> {
        if !self.looks_for_races {
            return None;
        }
        let nodes = self.world.nodes.iter().enumerate();
        Some(RaceReport::new(nodes.map(|(index, node)| {
            (
                self.name_of(index),
                node,
                Some(&**self.images.image_of(index)),
            )
        })))
    }
}

/// Looks for races on all boards of a world that can, from now on.
///
/// # Errors
/// [`NoRaces`].
pub fn look_for_races(world: &mut World) -> Result<(), NoRaces> {
    let mut any = false;
    for node in &mut world.nodes {
        any |= node.inspect_mut().look_for_races();
    }
    any.then_some(()).ok_or(NoRaces)
}

impl RaceReport {
    /// The races that were found on nodes, which have names and, if their CPUs run, images. The nodes are all, in their order.
    pub fn new<'a>(
        nodes: impl IntoIterator<Item = (&'a str, &'a Node, Option<&'a Image>)>,
    ) -> Self {
        let mut report = Self::default();
        // Reading the lines of an image takes long: once for all of its boards, and only if there is a race.
        let mut lines = BTreeMap::new();
        for (index, (name, node, image)) in nodes.into_iter().enumerate() {
            let (races, more) = node.inspect().races();
            report.more += more;
            let Some(image) = image.filter(|_| !races.is_empty()) else {
                continue;
            };
            let lines = lines
                .entry(ptr::from_ref(image))
                .or_insert_with(|| image.lines().ok());
            for race in &races {
                report.add(RaceRow::new(
                    (index, node, name),
                    (image, lines.as_ref()),
                    race,
                ));
            }
        }
        report
    }

    /// Adds a row, to an equal one if there is one.
    fn add(&mut self, row: RaceRow) {
        let known = self.rows.iter_mut().find(|known| {
            let same = known.accesses.iter().zip(&row.accesses);
            known.index == row.index && same.clone().all(|(one, other)| one.is_like(other))
        });
        match known {
            Some(known) => known.count += row.count,
            None => self.rows.push(row),
        }
    }

    /// Whether nothing was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds the calls of the first rows: runs the scenario once more, up to each access, or until `interrupt` is set.
    ///
    /// # Errors
    /// If the scenario cannot be built again.
    pub fn add_calls(
        &mut self,
        scenario: &Scenario,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<(), ScenarioError> {
        let rows = self.rows.iter_mut().take(MOST_WITH_CALLS);
        let mut accesses: Vec<_> = rows
            .flat_map(|row| {
                let node = row.index;
                row.accesses.iter_mut().map(move |access| (node, access))
            })
            .filter(|(_, access)| access.pc.is_some())
            .collect();
        if accesses.is_empty() {
            return Ok(());
        }
        accesses.sort_by_key(|(_, access)| access.time);
        let mut again = Simulation::new(scenario)?;
        for (node, access) in accesses {
            again.world.run(&RunLimits {
                max_time: Some(access.time),
                interrupt: Some(Arc::clone(interrupt)),
                ..RunLimits::default()
            });
            access.calls = again.calls_of(node, access);
        }
        Ok(())
    }

    /// The races as lines, or a line that there is none.
    #[must_use]
    pub fn text_or_none(&self) -> String {
        match self.is_empty() {
            true => "races     none\n".into(),
            false => self.text(),
        }
    }

    /// The races as lines: two accesses each, with their calls.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let RaceRow {
                node, place, count, ..
            } = row;
            let times = match count {
                1 => "once".to_owned(),
                count => format!("{count} times"),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "RACE      node {node}: {place}, {times}");
            for access in &row.accesses {
                let _ = writeln!(text, "  {access}");
                for call in &access.calls {
                    let _ = writeln!(text, "      {call}");
                }
            }
        }
        if self.more > 0 {
            let _ = writeln!(text, "RACE      {} pairs at further places", self.more);
        }
        text
    }
}

impl Simulation {
    /// The active functions of a CPU that is about to make this access; none if it stands elsewhere.
    fn calls_of(&self, node: usize, access: &RacingAccess) -> Vec<String> {
        let Some(board) = self.world.nodes.get(node) else {
            return Vec::new();
        };
        let cpus = board.inspect().cpus();
        let names = board.inspect().names();
        let cpu = cpus
            .iter()
            .position(|cpu| names.initiator(cpu.initiator) == access.by);
        let Some(cpu) = cpu.map(CpuId::new) else {
            return Vec::new();
        };
        let stands = board.inspect().cpu(cpu).map(|view| view.pc);
        if stands != access.pc {
            return Vec::new();
        }
        let image = self.images.image_of(node);
        let lines = image.lines().ok();
        let mut calls = CpuCode::new(board, cpu, Some(image), lines.as_ref()).backtrace();
        let is_accessor = |call: &String| ACCESSORS.iter().any(|file| call.contains(file));
        calls.retain(|call| !is_accessor(call));
        calls
    }
}
