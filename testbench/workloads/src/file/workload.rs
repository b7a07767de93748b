//! A file server as a workload.

use std::sync::Arc;

use lanigon_worlds::boards::Protocol;
use lanigon_worlds::workload::{
    GmNeeds, HostProcess, Job, JobContext, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::client::client_bytes;
use super::mailbox::mailbox_bytes;
use super::{FilePlan, FileRecords, FileUse, Settings, keys, run};

/// A file in regions, with clients.
pub const KIND: WorkloadType = WorkloadType {
    names: &["file-server"],
    about: "A file over GM, in regions with locks (docs/file-server.md).",
    keys: keys::KEYS,
    results: "files",
    read: |_, table, nodes| Ok(Arc::new(keys::read(table, nodes)?)),
};

/// A program of a scenario.
#[derive(Debug)]
pub(super) struct FileServer {
    /// The node with the file.
    pub(super) server: usize,
    pub(super) clients: Vec<usize>,
    pub(super) settings: Settings,
}

impl Workload for FileServer {
    fn nodes(&self) -> Vec<usize> {
        let server = std::iter::once(self.server);
        server.chain(self.clients.iter().copied()).collect()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        let file = u64::from(self.settings.file_bytes()).max(client_bytes(&self.settings));
        // Besides, a few pages.
        file + mailbox_bytes(self.settings.region_bytes) + (1 << 16)
    }

    fn gm_needs(&self) -> GmNeeds {
        GmNeeds {
            shared_bytes: self.memory_bytes(),
            own_route: false,
        }
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let nodes = self.nodes();
        let plan = FilePlan {
            settings: self.settings,
            nodes: nodes.iter().map(|node| *node as u16).collect(),
            place: 0,
            start_ns: context.start_ns,
            seed: context.scenario.seed,
        };
        let job = |(place, node): (usize, &usize)| {
            let plan = FilePlan {
                place,
                ..plan.clone()
            };
            (*node, Box::new(FileJob(plan)) as Box<dyn Job>)
        };
        nodes.iter().enumerate().map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let of = |node: usize| {
            records
                .deliveries_of(node)
                .records()
                .own_copy::<FileRecords>()
        };
        let clients: Vec<_> = self.clients.iter().map(|node| of(*node)).collect();
        let (outcome, problems) =
            FileUse::from_records(records.name, &self.settings, &of(self.server), &clients);
        (Some(Arc::new(outcome)), problems)
    }
}

/// The part of a node.
struct FileJob(FilePlan);

impl Job for FileJob {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let gm = process.boot_gm().await?;
            run(gm, self.0.clone(), process.deliveries.clone()).await
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<FileRecords>
    }
}
