//! Processes as a workload.

use std::sync::Arc;

use emulator::host::machine::Machine;
use emulator::value_struct;
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{EmpTransport, GmSettings, GmTransport, HEADER_BYTES, Transport};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::emp::text;
use lanigon_worlds::gm::GmNode;
use lanigon_worlds::keys;
use lanigon_worlds::scenario::reference::Values::Nodes as NodesOf;
use lanigon_worlds::scenario::reference::need;
use lanigon_worlds::workload::{
    HostProcess, Job, JobContext, Library, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, grouped, read_records,
};
use serde::Serialize;

use crate::error::ProcessError;
use crate::hub::Hub;
use crate::messages::MessageService;
use crate::network::PARTS_BYTES;
use crate::program::RankProgram;
use crate::sockets::Calls;

/// Port of the processes.
const PORT: u8 = 2;
/// All ports are open after so long, and a mapper has given routes, in ns.
const LEAD_NS: u64 = 500_000;
const LONGEST_MAPPING_NS: u64 = 60_000_000_000;

/// Memory for other things: a board's queues, and what the parts of long messages are rounded up to.
const MORE_BYTES: u64 = 8 << 20;

const _: () = assert!(crate::wire::HEADER_BYTES <= HEADER_BYTES);

keys! {
    NODES = need("nodes", NodesOf, "the nodes, by rank");
}

/// Processes of this machine.
pub const KIND: WorkloadType = WorkloadType {
    names: &["process"],
    about: "Programs of this machine, which `lanigon launch` starts (docs/mpi-programs.md, docs/sockets.md).",
    keys: KEYS,
    results: "processes",
    read: |_, table, nodes| {
        let nodes = nodes.resolve(&table.want(&NODES)?)?;
        Ok(Arc::new(Processes {
            mode: Mode::Messages,
            nodes,
            hub: None,
        }))
    },
};

/// Service of the network for the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Messages, of an MPI library.
    Messages,
    /// Stream sockets.
    Sockets {
        /// Each rank begins so long after the one before, in ns.
        apart_ns: u64,
    },
}

/// Processes of this machine: one a node.
#[derive(Debug)]
pub struct Processes {
    /// Service of the network for the processes.
    pub mode: Mode,
    /// The nodes, by rank.
    pub nodes: Vec<usize>,
    /// Sockets to which the processes connect.
    pub hub: Option<Arc<Hub>>,
}

impl Workload for Processes {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Emp, Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        let gm = GmSettings::default();
        let packets = GmTransport::<Machine, Machine>::buffer_bytes(gm);
        let others = EmpTransport::<Machine, Machine>::buffer_bytes(gm.eager_bytes);
        packets.max(others) + PARTS_BYTES + MORE_BYTES
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let nodes: Vec<u16> = self.nodes.iter().map(|node| *node as u16).collect();
        let job = |(rank, node): (usize, &usize)| {
            let job = ProcessJob {
                mode: self.mode,
                rank,
                nodes: nodes.clone(),
                hub: self.hub.clone(),
                start_ns: context.start_ns,
            };
            (*node, Box::new(job) as Box<dyn Job>)
        };
        self.nodes.iter().enumerate().map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let mut all = SentTotals::default();
        for node in &self.nodes {
            let used = records
                .deliveries_of(*node)
                .records()
                .own_copy::<SentTotals>();
            all.messages += used.messages;
            all.bytes += used.bytes;
        }
        let outcome = ProcessUse {
            mode: self.mode,
            ranks: self.nodes.len(),
            messages: all.messages,
            bytes: all.bytes,
        };
        (Some(Arc::new(outcome)), Vec::new())
    }
}

/// Messages and bytes that a rank has sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentTotals {
    /// Messages to other ranks.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
}

value_struct!(SentTotals {
    messages: messages,
    bytes: bytes
});

/// Messages and bytes that all ranks have sent.
#[derive(Debug, Serialize)]
struct ProcessUse {
    #[serde(skip)]
    mode: Mode,
    ranks: usize,
    messages: u64,
    bytes: u64,
}

impl Outcome for ProcessUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let (messages, bytes) = (grouped(self.messages), grouped(self.bytes));
        let ranks = self.ranks;
        vec![(
            "processes",
            match self.mode {
                Mode::Messages => {
                    format!("{ranks} ranks sent {messages} messages of {bytes} bytes to each other")
                }
                Mode::Sockets { .. } => {
                    format!(
                        "{ranks} ranks sent {bytes} bytes in {messages} packets of their sockets"
                    )
                }
            },
        )]
    }
}

/// The process of one rank.
struct ProcessJob {
    mode: Mode,
    rank: usize,
    nodes: Vec<u16>,
    hub: Option<Arc<Hub>>,
    start_ns: u64,
}

impl Job for ProcessJob {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let Some(hub) = &self.hub else {
                return Err("no process: `lanigon launch` starts them".into());
            };
            match self.serve(hub, &process).await {
                Ok(()) => {}
                // Another rank says what has happened.
                Err(ProgramFailure::Process(
                    ProcessError::Over | ProcessError::AtRest | ProcessError::Interrupted,
                )) => {}
                Err(ProgramFailure::Process(error)) => {
                    hub.fail();
                    return Err(error.to_string());
                }
                Err(ProgramFailure::Board(reason)) => {
                    hub.fail();
                    return Err(reason);
                }
            }
            Ok(())
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<SentTotals>
    }
}

/// Reason for which a host program fails.
enum ProgramFailure {
    Board(String),
    Process(ProcessError),
}

impl From<String> for ProgramFailure {
    fn from(reason: String) -> Self {
        Self::Board(reason)
    }
}

impl ProcessJob {
    async fn serve(&self, hub: &Arc<Hub>, process: &HostProcess<'_>) -> Result<(), ProgramFailure> {
        match process.boot().await? {
            Library::Emp(emp) => {
                let eager_bytes = GmSettings::default().eager_bytes;
                let transport = EmpTransport::new(*emp, &self.nodes, self.rank, eager_bytes).await;
                self.run_over(transport.map_err(text)?, hub, process).await
            }
            Library::Gm(gm) => {
                let transport = self.over_gm(*gm).await?;
                self.run_over(transport, hub, process).await
            }
            Library::Fm(_) => Err(ProgramFailure::Board(
                "the board runs neither EMP nor GM".into(),
            )),
        }
    }

    async fn over_gm(&self, mut gm: GmNode) -> Result<GmTransport<Machine, Machine>, String> {
        let at = |node| Endpoint { node, port: PORT };
        let members: Vec<_> = self.nodes.iter().copied().map(at).collect();
        gm.open(PORT).await.map_err(text)?;
        if gm.nodes() == 0 {
            gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
        }
        let own = members[self.rank];
        let transport = GmTransport::new(gm, &members, own, GmSettings::default()).await;
        transport.map_err(text)
    }

    async fn run_over<T: Transport>(
        &self,
        mut transport: T,
        hub: &Arc<Hub>,
        process: &HostProcess<'_>,
    ) -> Result<(), ProgramFailure> {
        transport.compute(LEAD_NS + self.start_ns).await;
        let (rank, call_ns) = (self.rank, process.mpi_call_ns());
        let own = Arc::clone(hub);
        let (used, done) = match self.mode {
            Mode::Messages => {
                let service = MessageService::new(transport, own, call_ns);
                RankProgram::new(service, Arc::clone(hub), rank).run().await
            }
            Mode::Sockets { apart_ns } => {
                let after_ns = apart_ns.saturating_mul(rank as u64);
                let service = Calls::new(transport, own, call_ns, after_ns);
                RankProgram::new(service, Arc::clone(hub), rank).run().await
            }
        };
        process.deliveries.record(|own| *own = used);
        done.map_err(ProgramFailure::Process)
    }
}
