//! The probes of the firmware that runs on a board, by address.

use std::collections::BTreeMap;
use std::sync::Arc;

use defs::probe::Kind;

use crate::image::Probe;

/// Own cycles and visits of one stage on one core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTotal {
    /// Times that the stage was entered.
    pub visits: u64,
    /// Cycles of own work within it, unstretched, without waits and stalls.
    pub cycles: u64,
}

/// All probes, and the stages' stretching.
#[derive(Debug, Default)]
pub struct ProbeTable {
    /// Sorted by address; several may mark the same one, in the order of the image.
    probes: Vec<Probe>,
    /// Ticks that one cycle of own work takes within a stage.
    stretch: BTreeMap<Arc<str>, u64>,
}

impl ProbeTable {
    /// The probes of an image.
    #[must_use]
    pub fn new(mut probes: Vec<Probe>) -> Self {
        probes.sort_by_key(|probe| probe.address);
        Self {
            probes,
            stretch: BTreeMap::new(),
        }
    }

    /// Within `stage`, a cycle of own work takes `ticks_per_cycle` ticks.
    pub fn set_stretch(&mut self, stage: &str, ticks_per_cycle: u64) {
        self.stretch.insert(stage.into(), ticks_per_cycle);
    }

    /// The stretch of a stage, if it has one.
    #[must_use]
    pub fn stretch(&self, stage: &str) -> Option<u64> {
        self.stretch.get(stage).copied()
    }

    /// The probes that mark `address`.
    #[must_use]
    pub fn at(&self, address: u32) -> &[Probe] {
        let first = self.probes.partition_point(|probe| probe.address < address);
        let count = self.probes[first..].partition_point(|probe| probe.address == address);
        &self.probes[first..first + count]
    }

    /// The names of all stages, sorted.
    #[must_use]
    pub fn stages(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = self
            .probes
            .iter()
            .filter(|probe| probe.kind == Kind::StageEnter)
            .map(|probe| Arc::clone(&probe.text))
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Where a core is in its stages.
#[derive(Debug, Default)]
pub struct StageState {
    /// The stage it is in, and its own cycles at entry (or at the end of the last wait).
    current: Option<(Arc<str>, u64)>,
    waiting: bool,
    /// Totals by stage.
    totals: BTreeMap<Arc<str>, StageTotal>,
}

impl StageState {
    /// Totals by stage.
    #[must_use]
    pub const fn totals(&self) -> &BTreeMap<Arc<str>, StageTotal> {
        &self.totals
    }

    /// Forgets the totals.
    pub fn clear_totals(&mut self) {
        self.totals.clear();
    }

    /// The core passes a probe of this kind with `cycles` of own work behind it. Gives the stage
    /// in whose stretch its cycles are charged from here on.
    pub fn pass(&mut self, kind: Kind, text: &Arc<str>, cycles: u64) -> Option<&Arc<str>> {
        match kind {
            Kind::StageEnter => {
                self.leave(cycles);
                self.totals.entry(Arc::clone(text)).or_default().visits += 1;
                self.current = Some((Arc::clone(text), cycles));
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
            Kind::Event | Kind::Log | Kind::Panic => {}
        }
        match &self.current {
            Some((stage, _)) if !self.waiting => Some(stage),
            _ => None,
        }
    }

    /// Adds the cycles since the last change to the current stage.
    fn leave(&mut self, cycles: u64) {
        if let Some((stage, since)) = &mut self.current {
            if !self.waiting {
                self.totals.entry(Arc::clone(stage)).or_default().cycles += cycles - *since;
            }
            *since = cycles;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_do_not_count_as_the_stage() {
        let mut state = StageState::default();
        let stage: Arc<str> = "receiving".into();
        let wait: Arc<str> = "dma".into();
        assert_eq!(state.pass(Kind::StageEnter, &stage, 100), Some(&stage));
        assert_eq!(state.pass(Kind::WaitEnter, &wait, 130), None);
        assert_eq!(state.pass(Kind::WaitExit, &wait, 200), Some(&stage));
        assert_eq!(state.pass(Kind::StageExit, &stage, 250), None);
        let total = state.totals()[&stage];
        assert_eq!((total.visits, total.cycles), (1, 80));
    }

    #[test]
    fn probes_are_found_by_address() {
        let probe = |address, text: &str| Probe {
            address,
            kind: Kind::Event,
            text: text.into(),
            registers: vec![],
        };
        let table = ProbeTable::new(vec![probe(8, "c"), probe(4, "a"), probe(4, "b")]);
        let texts = |address| {
            table
                .at(address)
                .iter()
                .map(|p| p.text.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(4), ["a", "b"]);
        assert_eq!(texts(8), ["c"]);
        assert!(texts(6).is_empty());
    }
}
