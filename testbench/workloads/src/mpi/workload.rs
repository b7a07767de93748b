//! Message passing as a workload.

use std::sync::Arc;

use emulator::value_struct;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::workload::{
    HostProcess, Job, JobContext, Library, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::{
    MeasuredValue, MpiPlan, MpiReport, MpiSettings, MpiUse, Skewed, Solved, TimeUse, keys,
};

/// Message passing.
pub const KIND: WorkloadType = WorkloadType {
    names: &["mpi"],
    about: "Message passing over EMP or GM (docs/mpi.md).",
    keys: keys::KEYS,
    results: "mpi",
    read: |_, table, nodes| Ok(Arc::new(keys::read(table, nodes)?)),
};

/// A program of a scenario.
#[derive(Debug)]
pub(super) struct MessagePassing {
    /// The nodes, by rank.
    pub(super) nodes: Vec<usize>,
    pub(super) settings: MpiSettings,
}

impl Workload for MessagePassing {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Emp, Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        self.settings.memory_bytes(self.nodes.len())
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let plans = MpiPlan::all(&self.settings, &self.nodes, context.start_ns).into_iter();
        let job = |(node, plan)| (node, Box::new(MpiJob(plan)) as Box<dyn Job>);
        plans.map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let first = self.nodes.first().map(|node| records.deliveries_of(*node));
        let report = first.map(|first| first.records().own_copy::<MpiReport>());
        let outcome = MpiUse::new(&self.settings, self.nodes.len(), report.unwrap_or_default());
        (Some(Arc::new(outcome)), Vec::new())
    }
}

/// The program of each process.
struct MpiJob(MpiPlan);

impl Job for MpiJob {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let mut plan = self.0.clone();
            plan.settings.library_ns = process.mpi_call_ns();
            plan.settings.seed = process.seed();
            let report = match process.boot().await? {
                Library::Emp(emp) => plan.over_emp(*emp).await?,
                Library::Gm(gm) => plan.over_gm(*gm).await?,
                Library::Fm(_) => return Err("the board runs neither EMP nor GM".into()),
            };
            process.deliveries.record(|own| *own = report);
            Ok(())
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<MpiReport>
    }
}

value_struct!(Skewed {
    total_us: total_us,
    handler_us: handler_us,
    handlers: handlers
});
value_struct!(Solved {
    iterations: iterations,
    converged: converged,
    calls_us: calls_us,
    alone_us: alone_us,
    hidden_us: hidden_us
});
value_struct!(MeasuredValue {
    size: size,
    value: value,
    skewed: skewed,
    solved: solved
});
value_struct!(TimeUse {
    compute_us: compute_us,
    handlers_us: handlers_us,
    waiting_us: waiting_us,
    copies_us: copies_us,
    library_us: library_us,
    signals: signals
});
value_struct!(MpiReport {
    measured: measured,
    times: times
});
