//! Multicasts as a workload.

use std::sync::Arc;

use emulator::value_struct;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::workload::{
    HostProcess, Job, JobContext, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::{MulticastPlan, MulticastUse, Settings, keys, memory_bytes, run};
use crate::collective::Round;

/// Multicasts.
pub const KIND: WorkloadType = WorkloadType {
    names: &["multicast"],
    about: "Messages along a tree over FM or GM (docs/fm.md, docs/gm.md).",
    keys: keys::KEYS,
    results: "multicasts",
    read: |_, table, nodes| Ok(Arc::new(keys::read(table, nodes)?)),
};

/// A program of a scenario.
#[derive(Debug)]
pub(super) struct MulticastProgram {
    /// The nodes, the root first.
    pub(super) nodes: Vec<usize>,
    pub(super) settings: Settings,
}

/// Records of the root.
#[derive(Debug, Clone, Default)]
pub(super) struct MulticastRecords {
    /// Rounds, with the number of the leaf that answered.
    pub(super) rounds: Vec<Round>,
    /// Times that the calls took in which the root sent its messages, in ps.
    pub(super) calls_ps: Vec<u64>,
}

value_struct!(MulticastRecords {
    rounds: rounds,
    calls_ps: calls_ps
});

impl Workload for MulticastProgram {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Fm, Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        memory_bytes(&self.settings)
    }

    fn messages(&self) -> u64 {
        let members = self.nodes.len();
        let rounds = self.settings.all_rounds(members);
        rounds.saturating_mul(members as u64 - 1)
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let JobContext { scenario, start_ns } = context;
        let timeout_ns = scenario.nodes[self.nodes[0]].settings.fm.timeout_ns();
        let seed = scenario.seed;
        let plans = MulticastPlan::all(&self.settings, &self.nodes, start_ns, seed, timeout_ns);
        // The reader of the keys has built the tree before.
        let plans = plans.unwrap_or_default().into_iter();
        let job = |(node, plan)| (node, Box::new(MulticastJob(plan)) as Box<dyn Job>);
        plans.map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let records: Vec<_> = self
            .nodes
            .iter()
            .map(|node| records.deliveries_of(*node))
            .collect();
        let outcome = MulticastUse::from_records(&self.settings, &self.nodes, &records);
        let outcome = outcome.map(|outcome| Arc::new(outcome) as Arc<dyn Outcome>);
        (outcome, Vec::new())
    }
}

/// The program of each process.
struct MulticastJob(MulticastPlan);

impl Job for MulticastJob {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let library = process.boot().await?;
            run(library, self.0.clone(), process.deliveries.clone()).await
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<MulticastRecords>
    }
}
