//! Atomic operations as a workload.

use host_lib::gm::Gm;
use std::sync::Arc;

use emulator::state::{Reader, StateError, Value, Writer};
use emulator::value_struct;
use host_lib::gm::atomic::AtomicOperation;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::workload::{
    HostProcess, Job, JobContext, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::{
    AtomicPlan, AtomicRecords, AtomicUse, LockUse, MemberOperation, Settings, SharedWords,
    TimedOperation, keys, run, serve,
};
use crate::collective::ExecutedOn;

/// Atomic operations, alone or for a lock.
pub const KIND: WorkloadType = WorkloadType {
    names: &["atomics", "lock"],
    about: "Atomic operations over GM; a lock over these (docs/gm-atomics.md).",
    keys: keys::KEYS,
    results: "atomics",
    read: |name, table, nodes| Ok(Arc::new(keys::read(name, table, nodes)?)),
};

/// A program of a scenario.
#[derive(Debug)]
pub(super) struct Atomics {
    /// The members.
    pub(super) nodes: Vec<usize>,
    /// The nodes whose words are used.
    pub(super) homes: Vec<usize>,
    pub(super) settings: Settings,
}

impl Atomics {
    /// Homes that are no members.
    fn others(&self) -> impl Iterator<Item = usize> {
        let others = self.homes.iter().copied();
        others.filter(|home| !self.nodes.contains(home))
    }
}

impl Workload for Atomics {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.iter().copied().chain(self.others()).collect()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        // A few pages of words and messages.
        1 << 20
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let (start_ns, seed) = (context.start_ns, context.scenario.seed);
        let plans = AtomicPlan::all(&self.settings, &self.nodes, &self.homes, start_ns, seed);
        let job = |(node, plan)| {
            let region = SharedWords::default();
            (node, Box::new(AtomicJob { plan, region }) as Box<dyn Job>)
        };
        plans.into_iter().map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let of = |node: usize| {
            records
                .deliveries_of(node)
                .records()
                .own_copy::<AtomicRecords>()
        };
        let nodes: Vec<_> = self.nodes.iter().map(|node| of(*node)).collect();
        let homes: Vec<_> = self.others().map(of).collect();
        let (outcome, problems) =
            AtomicUse::from_records(records.name, &self.settings, &nodes, &homes);
        (Some(Arc::new(outcome)), problems)
    }
}

/// The part of a node.
struct AtomicJob {
    plan: AtomicPlan,
    /// The words that the node's server serves.
    region: SharedWords,
}

impl Job for AtomicJob {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let gm = process.boot_gm().await;
            if gm.is_err() {
                process.share(None)?;
            }
            let share = |gm: &Gm, words| {
                self.region.set(words);
                process.share(Some(gm))
            };
            run(gm?, self.plan.clone(), share, process.deliveries.clone()).await
        })
    }

    fn further(&self) -> Vec<&'static str> {
        match self.plan.settings.on {
            ExecutedOn::Host => vec!["server"],
            ExecutedOn::Nic => Vec::new(),
        }
    }

    fn run_further<'a>(&'a self, _: usize, gm: Gm, _: HostProcess<'a>) -> Running<'a> {
        Box::pin(serve(gm, self.plan.settings.wait, &self.region))
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<AtomicRecords>
    }
}

value_struct!(LockUse {
    acquired_ps: acquired_ps,
    released_ps: released_ps
});
value_struct!(MemberOperation {
    home: home,
    word: word,
    operated: operated
});
value_struct!(AtomicRecords {
    executed: executed,
    uses: uses,
    iterations: iterations
});
/// An operation as its number, operand and compared value.
impl Value for TimedOperation {
    fn write(&self, out: &mut Writer) {
        let operation = match self.operation {
            AtomicOperation::FetchAdd(value) => (0_u8, value, 0),
            AtomicOperation::FetchWrite(value) => (1, value, 0),
            AtomicOperation::CompareSwap { expected, new } => (2, new, expected),
        };
        (operation, self.began_ps, self.end).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let ((kind, value, expected), began_ps, end) = Value::read(from)?;
        let operation = match kind {
            0_u8 => AtomicOperation::FetchAdd(value),
            1 => AtomicOperation::FetchWrite(value),
            2 => AtomicOperation::CompareSwap {
                expected,
                new: value,
            },
            _ => return Err(StateError::Value("an operation")),
        };
        Ok(Self {
            operation,
            began_ps,
            end,
        })
    }
}
