//! Exchange of frames as a workload.

use std::sync::Arc;

use defs::ethernet::{BUFFER_BYTES, RING_ENTRIES};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::workload::{
    HostProcess, Job, JobContext, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::engine::{EthernetPlan, EthernetRecords, run};
use super::{EthernetSettings, EthernetUse, Way, keys};

/// Frames over the Ethernet firmware for any number of CPUs.
pub const KIND: WorkloadType = WorkloadType {
    names: &["ethernet"],
    about: "Frames by the image `ether-n` (docs/nic-design.md).",
    keys: keys::KEYS,
    results: "ethernet",
    read: |_, table, nodes| Ok(Arc::new(keys::read(table, nodes)?)),
};

/// A program of a scenario.
#[derive(Debug)]
pub(super) struct EthernetProgram {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) settings: EthernetSettings,
}

impl EthernetProgram {
    /// The ways of frames.
    fn ways(&self) -> Vec<(usize, usize)> {
        let back = self.settings.both.then_some((self.to, self.from));
        std::iter::once((self.from, self.to)).chain(back).collect()
    }
}

impl Workload for EthernetProgram {
    fn nodes(&self) -> Vec<usize> {
        vec![self.from, self.to]
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Acenic]
    }

    fn memory_bytes(&self) -> u64 {
        // Buffers of both directions, and the rings.
        u64::from(2 * RING_ENTRIES * BUFFER_BYTES) + (1 << 16)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let other = |node: &usize| !scenario.nodes[*node].image.given;
        match self.nodes().iter().any(other) {
            true => Err("it needs an image for its host protocol: image = \"ether-n\"".into()),
            false => Ok(()),
        }
    }

    fn has_driver(&self) -> bool {
        true
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let plan = |from: usize, to: usize| EthernetPlan {
            settings: self.settings,
            way: Way {
                from: from as u16,
                to: to as u16,
            },
            sends: from == self.from || self.settings.both,
            receives: from == self.to || self.settings.both,
            faultless: context.scenario.faults.is_empty(),
            start_ns: context.start_ns,
            seed: context.scenario.seed,
        };
        let plans = [(self.from, self.to), (self.to, self.from)];
        let plans = plans.map(|(from, to)| (from, plan(from, to)));
        let job = |(node, plan)| (node, Box::new(EthernetJob(plan)) as Box<dyn Job>);
        plans.into_iter().map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let of = |node: usize| {
            let records = records.deliveries_of(node);
            let records = records.records();
            records.own_copy::<EthernetRecords>()
        };
        let ways = self.ways().into_iter();
        let ways = ways.map(|(from, to)| (from, to, of(from), of(to)));
        let (outcome, problems) = EthernetUse::from_records(&self.settings, ways);
        (Some(Arc::new(outcome)), problems)
    }
}

/// The host of a node.
struct EthernetJob(EthernetPlan);

impl Job for EthernetJob {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(run(&self.0, process))
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<EthernetRecords>
    }
}
