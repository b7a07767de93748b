//! Programs over shared memory as a workload.

use std::sync::Arc;

use emulator::state::{Reader, StateError, Value, Writer};
use host_lib::dsm;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::workload::{
    GmNeeds, HostProcess, Job, JobContext, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::{DsmPlan, DsmSettings, DsmUse, keys};

/// Programs over shared memory.
pub const KIND: WorkloadType = WorkloadType {
    names: &["dsm"],
    about: "Memory shared over GM (docs/dsm.md).",
    keys: keys::KEYS,
    results: "dsm",
    read: |_, table, nodes| Ok(Arc::new(keys::read(table, nodes)?)),
};

/// A program of a scenario.
#[derive(Debug)]
pub(super) struct SharedMemory {
    /// The nodes, by rank.
    pub(super) nodes: Vec<usize>,
    pub(super) settings: DsmSettings,
}

/// Report of a node's shared memory; nothing if its program has not ended.
#[derive(Debug, Clone, Default)]
struct DsmRecords(Option<dsm::Report>);

impl Workload for SharedMemory {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        self.settings.memory_bytes(self.nodes.len())
    }

    fn gm_needs(&self) -> GmNeeds {
        GmNeeds {
            shared_bytes: self.memory_bytes(),
            own_route: false,
        }
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let plans = DsmPlan::all(&self.settings, &self.nodes, context.start_ns).into_iter();
        let job = |(node, plan)| (node, Box::new(DsmJob(plan)) as Box<dyn Job>);
        plans.map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let report = |node: &usize| {
            records
                .deliveries_of(*node)
                .records()
                .own_copy::<DsmRecords>()
                .0
        };
        let reports: Option<Vec<_>> = self.nodes.iter().map(report).collect();
        let outcome = DsmUse::new(&self.settings, &reports.unwrap_or_default());
        (Some(Arc::new(outcome)), Vec::new())
    }
}

/// The program of each process.
struct DsmJob(DsmPlan);

impl Job for DsmJob {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let gm = process.boot_gm().await?;
            let report = self.0.run(gm, process.costs()).await?;
            process
                .deliveries
                .record(|own| *own = DsmRecords(Some(report)));
            Ok(())
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<DsmRecords>
    }
}

/// The report's numbers in their order, and its races; nothing without a report.
macro_rules! records {
    ($($number:ident),* $(,)?) => {
        impl Value for DsmRecords {
            fn write(&self, out: &mut Writer) {
                self.0.is_some().write(out);
                if let Some(report) = &self.0 {
                    $(report.$number.write(out);)*
                    let races = report.races.iter();
                    let races: Vec<_> = races.map(|race| (race.page, race.word, race.ranks)).collect();
                    races.write(out);
                }
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                if !bool::read(from)? {
                    return Ok(Self(None));
                }
                $(let $number = Value::read(from)?;)*
                let races = Vec::read(from)?.into_iter();
                let races = races.map(|(page, word, ranks)| dsm::Race { page, word, ranks }).collect();
                Ok(Self(Some(dsm::Report { $($number,)* races })))
            }
        }
    };
}

records! {
    page_ps,
    handler_ps,
    lock_ps,
    barrier_ps,
    compute_ps,
    fault_ps,
    total_ps,
    read_faults,
    write_faults,
    fetches,
    repeats,
    handled,
    diffs,
    diff_bytes,
    invalidations,
    locks,
    barriers,
    early_begun,
    early_used,
    early_vain,
    part_waits,
    notice_puts,
}
