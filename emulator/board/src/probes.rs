//! Knowledge of a board about its firmware: probes by address, the stages that they mark, the ranges of code and stack.

use std::ops::Range;
use std::sync::Arc;

use defs::probe::Kind;

use crate::CpuId;
use emulator_base::initiator::Initiator;
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::code_map::CodeMap;
use emulator_image::{Image, LostReturn, Probe, PublishedWords, SymbolKind, Symbols, plain_name};
use emulator_state::state;
use emulator_state::value_struct;

const WORD_BYTES: u32 = 4;
/// An image has some hundred probes.
const BUCKETS: u32 = 1024;

/// Own cycles and visits of one stage on one core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTotal {
    /// Number of entries into the stage.
    pub visits: u64,
    /// Cycles of own work within it, unstretched, without waits and stalls.
    pub cycles: u64,
}

value_struct!(StageTotal {
    visits: visits,
    cycles: cycles
});

/// A stage's number: the index of its name in [`ProbeTable::stages`], which avoids look-ups by name at
/// frequent probes.
pub type StageIndex = usize;

/// A probe and its stage on this board.
#[derive(Debug)]
pub struct BoardProbe {
    /// The probe.
    pub probe: Probe,
    /// The stage that it enters.
    stage: StageIndex,
}

/// CPUs with code of their own: CPU A, CPU B, and all others alike.
const CPUS: usize = 3;

/// All probes, the stages' stretch factors, and where the code and the stacks of the firmware are. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ProbeTable {
    /// Sorted by bucket and address; several may mark the same one, in the order of the image.
    probes: Arc<[BoardProbe]>,
    /// Addresses of the probes, contiguous for the search.
    addresses: Arc<[u32]>,
    /// Index of the first probe of each [bucket], and the number of probes.
    buckets: Arc<[u32]>,
    /// The names of all stages, sorted.
    stages: Arc<[Arc<str>]>,
    /// Ticks that one cycle of own work takes within each stage.
    stretch: Arc<[u64]>,
    /// Addresses at which each CPU may find code.
    code: [CodeMap; CPUS],
    /// Addresses to which no CPU's stack may reach.
    stack_guard: Range<u32>,
    /// Calls at which a return address is lost, sorted.
    bare_calls: Arc<[u32]>,
    /// The symbols of the image.
    symbols: Arc<Symbols>,
    /// Words by which one side tells another how far it is.
    published: Arc<[PublishedWords]>,
}

/// The part of the table in which the probes of an address are.
const fn bucket(address: u32) -> u32 {
    address / WORD_BYTES % BUCKETS
}

impl ProbeTable {
    /// The table of an image.
    #[must_use]
    pub fn of(image: &Image) -> Self {
        Self {
            code: std::array::from_fn(|cpu| image.code_map(cpu)),
            stack_guard: image.stack_guard(),
            bare_calls: image.bare_calls().into(),
            symbols: Arc::new(image.symbols.clone()),
            published: image.published.as_slice().into(),
            ..Self::new(image.probes.clone())
        }
    }

    /// The table of firmware of which only the loaded addresses and bytes are known.
    #[must_use]
    pub fn loading<'a>(segments: impl IntoIterator<Item = &'a (u32, Vec<u8>)>) -> Self {
        let segments = segments.into_iter();
        let ranges = segments
            .map(|(address, bytes)| *address..address.saturating_add(bytes.len() as u32))
            .collect();
        let code = CodeMap::loaded(ranges);
        Self {
            code: std::array::from_fn(|_| code.clone()),
            ..Self::new(Vec::new())
        }
    }

    /// The function at an address, as `who` sees it, without type parameters: `main+0x10`.
    #[must_use]
    pub fn function(&self, who: Initiator, address: u32) -> Option<String> {
        let (symbol, _) = self.symbols.seen_by(who, address)?;
        let is_function = symbol.kind == SymbolKind::Function;
        is_function.then(|| plain_name(&self.symbols.describe_for(who, address)))
    }

    /// Words by which one side tells another how far it is.
    #[must_use]
    pub fn published(&self) -> &[PublishedWords] {
        &self.published
    }

    /// The ranges in which a CPU may find code.
    #[must_use]
    pub fn code(&self, cpu: CpuId) -> &CodeMap {
        &self.code[cpu.index().min(CPUS - 1)]
    }

    /// The end of the stack, if a CPU with this stack pointer that accesses `address` is beyond it. A push accesses what is right below the
    /// pointer.
    #[must_use]
    #[inline(always)]
    pub fn stack_end_before(&self, address: u32, stack_pointer: u32) -> Option<u32> {
        let end = self.stack_guard.end;
        (self.stack_guard.contains(&address) && stack_pointer <= end).then_some(end)
    }

    /// Addresses to which no CPU's stack may reach; none if the image does not say it.
    #[must_use]
    pub const fn stack_guard(&self) -> &Range<u32> {
        &self.stack_guard
    }

    /// Probes alone.
    #[must_use]
    pub fn new(mut probes: Vec<Probe>) -> Self {
        probes.sort_by_key(|probe| (bucket(probe.address), probe.address));
        let before = |of| probes.partition_point(|probe| bucket(probe.address) < of) as u32;
        let entered = |probe: &&Probe| probe.kind == Kind::StageEnter;
        let names = probes.iter().filter(entered);
        let mut stages: Vec<_> = names.map(|probe| Arc::clone(&probe.text)).collect();
        stages.sort();
        stages.dedup();
        let place = |probe: Probe| BoardProbe {
            // Only a probe that enters a stage uses the number, and its stage is in the list.
            stage: stages.binary_search(&probe.text).unwrap_or_default(),
            probe,
        };
        Self {
            addresses: probes.iter().map(|probe| probe.address).collect(),
            buckets: (0..=BUCKETS).map(before).collect(),
            probes: probes.into_iter().map(place).collect(),
            stretch: vec![TICKS_PER_CYCLE; stages.len()].into(),
            stages: stages.into(),
            code: Default::default(),
            stack_guard: 0..0,
            bare_calls: Arc::default(),
            published: Arc::default(),
            symbols: Arc::default(),
        }
    }

    /// Whether a return address is lost by the call at `address`.
    #[must_use]
    #[inline]
    pub fn is_bare_call(&self, address: u32) -> bool {
        self.bare_calls.binary_search(&address).is_ok()
    }

    /// Whether the CPU must tell its board that it executes the instruction at `address`.
    #[must_use]
    #[inline]
    pub fn marks(&self, address: u32) -> bool {
        !self.at(address).is_empty() || self.is_bare_call(address)
    }

    /// Sets the ticks of a cycle of own work within `stage`. A stage that the image lacks is
    /// ignored.
    pub fn set_stretch(&mut self, stage: &str, ticks_per_cycle: u64) {
        let stretches = Arc::make_mut(&mut self.stretch);
        for (name, stretch) in self.stages.iter().zip(stretches) {
            if **name == *stage {
                *stretch = ticks_per_cycle;
            }
        }
    }

    /// Ticks that one cycle of own work takes in a stage, or outside all of them.
    #[must_use]
    pub fn ticks_per_cycle(&self, stage: Option<StageIndex>) -> u64 {
        stage
            .and_then(|stage| self.stretch.get(stage).copied())
            .unwrap_or(TICKS_PER_CYCLE)
    }

    /// The probes that mark `address`.
    #[must_use]
    #[inline]
    pub fn at(&self, address: u32) -> &[BoardProbe] {
        let of = bucket(address) as usize;
        let Some(&[first, end]) = self.buckets.get(of..of + 2) else {
            return &[];
        };
        let (mut first, mut end) = (first as usize, end as usize);
        while first < end && self.addresses[first] != address {
            first += 1;
        }
        while first < end && self.addresses[end - 1] != address {
            end -= 1;
        }
        &self.probes[first..end]
    }

    /// The marked addresses in a range, sorted.
    pub fn addresses_in(&self, range: &Range<u32>) -> Vec<u32> {
        let addresses = self.addresses.iter().chain(&self.bare_calls[..]).copied();
        let mut inside: Vec<u32> = addresses.filter(|at| range.contains(at)).collect();
        inside.sort_unstable();
        inside.dedup();
        inside
    }

    /// The names of all stages, sorted.
    #[must_use]
    pub fn stages(&self) -> &[Arc<str>] {
        &self.stages
    }
}

/// A core's current stage.
#[derive(Debug, Default)]
pub struct StageState {
    /// The stage it is in, and its own cycles at entry (or at the end of the last wait).
    current: Option<(StageIndex, u64)>,
    waiting: bool,
    /// Totals of the entered stages.
    totals: Vec<StageTotal>,
    /// Return addresses of active functions that only the board knows.
    lost: Vec<LostReturn>,
}

state!(StageState {
    current,
    waiting,
    totals,
    lost
});

impl StageState {
    /// The stage that the core is in, and whether it waits there.
    #[must_use]
    pub fn current(&self) -> Option<(StageIndex, bool)> {
        self.current.map(|(stage, _)| (stage, self.waiting))
    }

    /// The total of a stage.
    #[must_use]
    pub fn total(&self, stage: StageIndex) -> StageTotal {
        self.totals.get(stage).copied().unwrap_or_default()
    }

    /// Handles the passing of `place` after `cycles` of own work. Returns the stage whose stretch factor
    /// applies from here on.
    #[inline]
    pub fn pass(&mut self, place: &BoardProbe, cycles: u64) -> Option<StageIndex> {
        match place.probe.kind {
            Kind::StageEnter => {
                self.leave(cycles);
                self.current = Some((place.stage, cycles));
                self.total_mut(place.stage).visits += 1;
            }
            Kind::StageExit => {
                self.leave(cycles);
                self.current = None;
            }
            Kind::WaitEnter => {
                self.leave(cycles);
                self.waiting = true;
            }
            Kind::WaitExit => {
                self.waiting = false;
                if let Some((_, since)) = &mut self.current {
                    *since = cycles;
                }
            }
            Kind::Event
            | Kind::Log
            | Kind::Panic
            | Kind::Boards
            | Kind::Published
            | Kind::Guarded
            | Kind::Sampled => {}
        }
        match self.current {
            Some((stage, _)) if !self.waiting => Some(stage),
            _ => None,
        }
    }

    /// Return addresses of active functions that the CPU's stack does not hold.
    #[must_use]
    pub fn lost(&self) -> &[LostReturn] {
        &self.lost
    }

    /// Notes the return address that a call overwrites. Functions deeper in the stack are no longer active.
    pub fn lose(&mut self, lost: LostReturn) {
        /// No function that does not return calls itself without end.
        const MOST: usize = 64;
        self.lost.retain(|other| other.sp >= lost.sp);
        if self.lost.len() == MOST {
            self.lost.remove(0);
        }
        self.lost.push(lost);
    }

    /// Leaves the stage, after a reset of the core.
    pub fn abandon(&mut self) {
        self.lost.clear();
        self.current = None;
        self.waiting = false;
    }

    fn total_mut(&mut self, stage: StageIndex) -> &mut StageTotal {
        if stage >= self.totals.len() {
            self.totals.resize(stage + 1, StageTotal::default());
        }
        &mut self.totals[stage]
    }

    /// Adds the cycles since the last change to the current stage.
    fn leave(&mut self, cycles: u64) {
        if let Some((stage, since)) = self.current {
            if !self.waiting {
                self.total_mut(stage).cycles += cycles - since;
            }
            self.current = Some((stage, cycles));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(address: u32, kind: Kind, text: &str) -> Probe {
        Probe {
            address,
            kind,
            text: text.into(),
            registers: vec![],
        }
    }

    #[test]
    fn waits_do_not_count_as_the_stage() {
        let mut table = ProbeTable::new(vec![
            probe(0, Kind::StageEnter, "receiving"),
            probe(4, Kind::WaitEnter, "dma"),
            probe(8, Kind::WaitExit, "dma"),
            probe(12, Kind::StageExit, "receiving"),
            probe(16, Kind::StageEnter, "ack"),
        ]);
        table.set_stretch("receiving", 2000);
        table.set_stretch("no such stage", 3000);
        let mut state = StageState::default();
        let mut pass = |address, cycles| {
            let stage = state.pass(&table.at(address)[0], cycles);
            table.ticks_per_cycle(stage)
        };
        assert_eq!(pass(0, 100), 2000);
        assert_eq!(pass(4, 130), TICKS_PER_CYCLE);
        assert_eq!(pass(8, 200), 2000);
        assert_eq!(pass(12, 250), TICKS_PER_CYCLE);
        let names: Vec<&str> = table.stages().iter().map(|name| &**name).collect();
        assert_eq!(names, ["ack", "receiving"]);
        let receiving = state.total(1);
        assert_eq!((receiving.visits, receiving.cycles), (1, 80));
        assert_eq!(state.total(0), StageTotal::default());
    }

    #[test]
    fn probes_are_found_by_address() {
        let event = |address, text| probe(address, Kind::Event, text);
        let table = ProbeTable::new(vec![event(8, "c"), event(4, "a"), event(4, "b")]);
        let texts = |address| {
            let names = table.at(address).iter().map(|at| at.probe.text.to_string());
            names.collect::<Vec<_>>()
        };
        assert_eq!(texts(4), ["a", "b"]);
        assert_eq!(texts(8), ["c"]);
        assert!(texts(6).is_empty());
    }
}
