//! Profile of one CPU, from its instruction log.

use std::collections::{BTreeMap, VecDeque};

use defs::probe::Kind as ProbeKind;
use emulator::boards::BOARD_NAMES;
use emulator::cpu::architecture::{Architecture, Transfer};
use emulator::image::{Probe, Symbols};
use emulator::observe::instructions::Record;
use emulator::observe::names::{BoardNames, NO_BOARD};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::{ClockDomain, SimTime};

use super::calls::{CallTree, Costs, Spending};
use super::functions::Functions;

/// Longest round of an idle loop.
const LONGEST_ROUND: usize = 4096;
/// Limit of the call depth; deeper calls count for the function at this depth. The stacks of these CPUs
/// hold much less.
const DEEPEST: usize = 256;
/// Name of the wait that counts as semaphore time.
const SEMAPHORE: &str = "semaphore";
/// An active function.
#[derive(Debug, Clone, Copy)]
struct Frame {
    node: usize,
    returns_to: Option<u32>,
}

/// A recently executed instruction.
#[derive(Debug, Clone, Copy)]
struct Recent {
    node: usize,
    costs: Costs,
    /// Ticks of the instruction, inside or outside of the window.
    ticks: u64,
}

/// Profile of one CPU.
#[derive(Debug)]
pub struct CoreProfile {
    id: &'static str,
    name: &'static str,
    architecture: &'static dyn Architecture,
    functions: Functions,
    /// Addresses of probes at which semaphore waits begin (`true`) or end.
    waits: BTreeMap<u32, bool>,
    waiting: bool,
    /// Current tick, and the window of ticks that count.
    tick: u64,
    window: (u64, u64),
    ticks_per_second: u64,
    sram_bytes: u32,
    words: BTreeMap<u32, u32>,
    last_pc: Option<u32>,
    frames: Vec<Frame>,
    /// Costs of the next instruction so far.
    pending: Costs,
    pending_ticks: u64,
    pending_counts: Option<bool>,
    recent: VecDeque<Recent>,
    /// Call tree with costs.
    pub tree: CallTree,
    /// Repeated rounds of the idle loop.
    pub idle: Costs,
    /// Ticks during which the CPU was halted.
    pub halted: u64,
}

impl CoreProfile {
    pub(super) fn new(
        cpu: usize,
        architecture: &'static dyn Architecture,
        symbols: &Symbols,
        probes: &[Probe],
    ) -> Self {
        let waits = probes.iter().filter(|probe| *probe.text == *SEMAPHORE);
        let waits = waits.filter_map(|probe| match probe.kind {
            ProbeKind::WaitEnter => Some((probe.address, true)),
            ProbeKind::WaitExit => Some((probe.address, false)),
            _ => None,
        });
        let fits = |names: &&&BoardNames| names.architecture == Some(architecture);
        let names = BOARD_NAMES
            .iter()
            .find(fits)
            .map_or(&NO_BOARD, |names| *names);
        Self {
            id: names.initiator(Initiator::Cpu(cpu as u8)),
            name: names.cpus.get(cpu).copied().unwrap_or_default(),
            architecture,
            functions: Functions::new(cpu, symbols),
            waits: waits.collect(),
            waiting: false,
            tick: 0,
            window: (0, u64::MAX),
            ticks_per_second: 0,
            sram_bytes: 0,
            words: BTreeMap::new(),
            last_pc: None,
            frames: Vec::new(),
            pending: Costs::default(),
            pending_ticks: 0,
            pending_counts: None,
            recent: VecDeque::new(),
            tree: CallTree::default(),
            idle: Costs::default(),
            halted: 0,
        }
    }

    /// Sets the window: only ticks from `from` to `until` count.
    pub(super) fn window(&mut self, from: SimTime, until: SimTime, ticks_per_second: u64) {
        if self.ticks_per_second == 0 && ticks_per_second > 0 {
            self.ticks_per_second = ticks_per_second;
            let clock = ClockDomain::new(ticks_per_second);
            self.window = (clock.first_at(from), clock.first_at(until));
        }
    }

    /// The board's short name for the CPU: `a`.
    #[must_use]
    pub const fn cpu(&self) -> &'static str {
        self.name
    }

    /// Name of the CPU as an initiator: `cpu_a`.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// Name of a function.
    #[must_use]
    pub fn name(&self, function: usize) -> &str {
        &self.functions.get(function).name
    }

    /// Clock rate, in ticks per second.
    #[must_use]
    pub const fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// All ticks that count: functions, idle loop and halted time.
    #[must_use]
    pub fn span(&self) -> u64 {
        let (from, until) = self.window;
        self.tick.min(until).saturating_sub(from)
    }

    /// Processes records.
    pub(super) fn add(&mut self, records: impl Iterator<Item = Record>) {
        for record in records {
            match record {
                Record::Executed { pc, ticks } => self.executed(pc, ticks.into()),
                Record::Spent { cause, ticks } => self.spend(cause.into(), ticks),
                Record::Clock { tick } => {
                    let ticks = tick.saturating_sub(self.tick);
                    self.halted += self.pass(ticks);
                    self.frames.clear();
                    self.last_pc = None;
                }
                Record::Board { sram_bytes, .. } => self.sram_bytes = sram_bytes,
                Record::Word { address, word } => {
                    self.words.insert(address, word);
                }
                Record::Probe { pc } => {
                    if let Some(&begins) = self.waits.get(&pc) {
                        self.waiting = begins;
                    }
                }
                Record::Idle { instructions } => self.was_idle(instructions as usize),
                Record::Rounds {
                    instructions,
                    rounds,
                } => self.skipped(instructions as usize, rounds),
            }
        }
    }

    /// Ends the profile: pending costs count for the current function.
    pub(super) fn finish(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(frame) = self.frames.last() {
            self.tree.nodes[frame.node].own += &pending;
        } else {
            self.halted += pending.total();
        }
    }

    /// Advances the clock; returns the ticks within the window.
    #[inline] // Runs for each executed instruction.
    fn pass(&mut self, ticks: u64) -> u64 {
        let (from, until) = self.window;
        let start = self.tick.clamp(from, until);
        self.tick = self.tick.saturating_add(ticks);
        self.tick.clamp(from, until) - start
    }

    #[inline] // Runs for each executed instruction.
    fn spend(&mut self, spending: Spending, ticks: u64) {
        let (from, until) = self.window;
        let counts = (from..until).contains(&self.tick);
        self.pending_counts.get_or_insert(counts);
        self.pending_ticks += ticks;
        let counted = self.pass(ticks);
        let spending = if self.waiting {
            Spending::Semaphore
        } else {
            spending
        };
        self.pending.spend(spending, counted);
    }

    fn executed(&mut self, pc: u32, ticks: u64) {
        self.spend(Spending::Work, ticks);
        let node = self.node_of(pc);
        self.last_pc = Some(pc);
        let mut costs = std::mem::take(&mut self.pending);
        costs.instructions = u64::from(self.pending_counts.take().unwrap_or(false));
        let ticks = std::mem::take(&mut self.pending_ticks);
        self.tree.nodes[node].own += &costs;
        if self.recent.len() == LONGEST_ROUND {
            self.recent.pop_front();
        }
        self.recent.push_back(Recent { node, costs, ticks });
    }

    /// Moves the last round of the idle loop from work to idle time.
    fn was_idle(&mut self, instructions: usize) {
        let skip = self.recent.len().saturating_sub(instructions);
        for recent in self.recent.iter_mut().skip(skip) {
            let costs = std::mem::take(&mut recent.costs);
            self.tree.nodes[recent.node].own -= &costs;
            self.idle += &costs;
        }
    }

    fn skipped(&mut self, instructions: usize, rounds: u64) {
        let skip = self.recent.len().saturating_sub(instructions);
        let round: u64 = self
            .recent
            .iter()
            .skip(skip)
            .map(|recent| recent.ticks)
            .sum();
        let counted = self.pass(round.saturating_mul(rounds));
        self.idle.spend(Spending::Work, counted);
        let rounds = counted.checked_div(round).unwrap_or(0);
        self.idle.instructions += rounds * instructions as u64;
    }

    /// The node of the instruction at `pc`, after following calls and returns.
    fn node_of(&mut self, pc: u32) -> usize {
        let follows = self.last_pc.is_some_and(|last| last.wrapping_add(4) == pc);
        if let Some(frame) = self.frames.last() {
            let function = self.tree.nodes[frame.node].function;
            if follows && self.functions.get(function).range.contains(&pc) {
                return frame.node;
            }
        }
        let transfer = match self.last_pc {
            Some(last) if !follows => self.transfer(last),
            _ => (Transfer::Jump, None),
        };
        self.go(pc, transfer)
    }

    /// Control flow of the instruction at `last` or its predecessor, and the return address.
    fn transfer(&self, last: u32) -> (Transfer, Option<u32>) {
        // The last instruction was the delay slot, unless a probe is in the slot.
        for at in [last, last.wrapping_sub(4)] {
            let transfer = self.word(at).and_then(|word| {
                let returns_to = at.wrapping_add(self.architecture.return_distance(word));
                Some((self.architecture.transfer(word)?, returns_to))
            });
            if let Some((transfer, returns_to)) = transfer {
                return (transfer, Some(returns_to));
            }
        }
        (Transfer::Jump, None)
    }

    fn word(&self, pc: u32) -> Option<u32> {
        // Installed memory repeats beyond its end.
        let folded = || self.words.get(&(pc & self.sram_bytes.wrapping_sub(1)));
        self.words.get(&pc).or_else(folded).copied()
    }

    /// Follows a transfer of control to `pc`.
    fn go(&mut self, pc: u32, (flow, returns_to): (Transfer, Option<u32>)) -> usize {
        let function = self.functions.index_at(pc);
        match flow {
            Transfer::Call if self.frames.len() < DEEPEST => {}
            Transfer::Dispatch => self.frames.clear(),
            Transfer::Return => {
                let mine = |frame: &Frame| frame.returns_to == Some(pc);
                if let Some(frame) = self.frames.iter().rposition(mine) {
                    self.frames.truncate(frame);
                }
            }
            Transfer::Call | Transfer::Jump => {}
        }
        let returns_to = match (flow, self.frames.last()) {
            (Transfer::Call, _) => returns_to,
            (_, Some(frame)) if self.tree.nodes[frame.node].function == function => {
                return frame.node;
            }
            // Another function replaces the last one.
            _ => self.frames.pop().and_then(|frame| frame.returns_to),
        };
        let parent = self.frames.last().map(|frame| frame.node);
        let node = self.tree.node(parent, function);
        self.tree.nodes[node].calls += u64::from(flow != Transfer::Return);
        self.frames.push(Frame { node, returns_to });
        node
    }
}
