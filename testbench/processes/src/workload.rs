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
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::scenario::reference::Values::Nodes as NodesOf;
use lanigon_worlds::scenario::reference::need;
use lanigon_worlds::workload::{
    GmNeeds, HostProcess, Job, JobContext, Library, Outcome, ProgramRecords, ReadRecords, Running,
    Workload, WorkloadType, grouped, read_records,
};
use serde::Serialize;

use crate::error::ProcessError;
use crate::hub::Hub;
use crate::messages::MessageService;
use crate::network::PARTS_BYTES;
use crate::program::RankProgram;
use crate::sockets::Calls;

/// Ports of the processes of a node.
const PORTS: [u8; 4] = [2, 5, 6, 7];
/// Most ranks of a node.
pub const MOST_PER_NODE: usize = PORTS.len();
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
            per_node: 1,
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

/// Processes of this machine: as many on each node, in the order of the ranks.
#[derive(Debug)]
pub struct Processes {
    /// Service of the network for the processes.
    pub mode: Mode,
    /// The nodes, in the order of their ranks.
    pub nodes: Vec<usize>,
    /// Ranks of a node; the last one may have fewer.
    pub per_node: usize,
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
        (packets.max(others) + PARTS_BYTES) * self.per_node as u64 + MORE_BYTES
    }

    fn gm_needs(&self) -> GmNeeds {
        GmNeeds {
            shared_bytes: 0,
            own_route: self.per_node > 1,
        }
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let lacks = |node: &&usize| {
            let is_gm = scenario.nodes[**node].protocol == Some(Protocol::Gm);
            !is_gm || !scenario.has_own_route(**node)
        };
        match self.nodes.iter().find(lacks) {
            Some(node) if self.per_node > 1 => Err(format!(
                "several ranks of node {} need GM, a crossbar that sends their messages back, and computed routes",
                scenario.nodes[*node].name
            )),
            _ => Ok(()),
        }
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let members = self.members();
        let ranks: Vec<usize> = (0..members.len()).collect();
        let of_nodes = ranks.chunks(self.per_node).zip(&self.nodes);
        let job = |(ranks, node): (&[usize], &usize)| {
            let job = ProcessJob {
                mode: self.mode,
                ranks: ranks.to_vec(),
                members: members.clone(),
                hub: self.hub.clone(),
                start_ns: context.start_ns,
            };
            (*node, Box::new(job) as Box<dyn Job>)
        };
        of_nodes.map(job).collect()
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
            ranks: self.members().len(),
            messages: all.messages,
            bytes: all.bytes,
        };
        (Some(Arc::new(outcome)), Vec::new())
    }
}

impl Processes {
    /// The ports of the ranks.
    fn members(&self) -> Vec<Endpoint> {
        let of_node = |node: &usize| {
            let node = *node as u16;
            let ports = PORTS[..self.per_node].iter();
            ports.map(move |port| Endpoint { node, port: *port })
        };
        let all = self.nodes.iter().flat_map(of_node);
        let ranks = self.hub.as_ref().map_or(usize::MAX, |hub| hub.ranks());
        all.take(ranks).collect()
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

/// The processes of one node.
struct ProcessJob {
    mode: Mode,
    /// The ranks of the node, and the ports of all ranks.
    ranks: Vec<usize>,
    members: Vec<Endpoint>,
    hub: Option<Arc<Hub>>,
    start_ns: u64,
}

impl Job for ProcessJob {
    fn operations(&self) -> usize {
        self.ranks.len()
    }

    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let Some(hub) = &self.hub else {
                return Err("no process: `lanigon launch` starts them".into());
            };
            self.end(hub, self.serve(hub, &process).await)
        })
    }

    fn further(&self) -> Vec<&'static str> {
        vec!["process"; self.ranks.len() - 1]
    }

    fn run_further<'a>(
        &'a self,
        place: usize,
        gm: GmNode,
        process: HostProcess<'a>,
    ) -> Running<'a> {
        Box::pin(async move {
            let (Some(hub), Some(rank)) = (&self.hub, self.ranks.get(1 + place)) else {
                return Ok(());
            };
            let done = self.serve_over_gm(gm, *rank, hub, &process).await;
            let mut records = process.deliveries.records();
            records.operations_left = records.operations_left.saturating_sub(1);
            drop(records);
            self.end(hub, done)
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
    /// The end of a rank, for the others and for the run.
    fn end(&self, hub: &Hub, done: Result<(), ProgramFailure>) -> Result<(), String> {
        let reason = match done {
            Ok(()) => return Ok(()),
            // Another rank says what has happened.
            Err(ProgramFailure::Process(
                ProcessError::Over | ProcessError::AtRest | ProcessError::Interrupted,
            )) => return Ok(()),
            Err(ProgramFailure::Process(error)) => error.to_string(),
            Err(ProgramFailure::Board(reason)) => reason,
        };
        hub.fail();
        Err(reason)
    }

    async fn serve(&self, hub: &Arc<Hub>, process: &HostProcess<'_>) -> Result<(), ProgramFailure> {
        let rank = self.ranks[0];
        match process.boot().await? {
            Library::Emp(emp) => {
                let eager_bytes = GmSettings::default().eager_bytes;
                let nodes: Vec<u16> = self.members.iter().map(|member| member.node).collect();
                let transport = EmpTransport::new(*emp, &nodes, rank, eager_bytes).await;
                let transport = transport.map_err(text)?;
                self.run_over(transport, rank, hub, process).await
            }
            Library::Gm(gm) => {
                process.share(Some(&gm))?;
                self.serve_over_gm(*gm, rank, hub, process).await
            }
            Library::Fm(_) => Err(ProgramFailure::Board(
                "the board runs neither EMP nor GM".into(),
            )),
        }
    }

    async fn serve_over_gm(
        &self,
        mut gm: GmNode,
        rank: usize,
        hub: &Arc<Hub>,
        process: &HostProcess<'_>,
    ) -> Result<(), ProgramFailure> {
        let own = self.members[rank];
        gm.open(own.port).await.map_err(text)?;
        if gm.nodes() == 0 {
            gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
        }
        let transport = GmTransport::new(gm, &self.members, own, GmSettings::default()).await;
        let transport = transport.map_err(text)?;
        self.run_over(transport, rank, hub, process).await
    }

    async fn run_over<T: Transport>(
        &self,
        mut transport: T,
        rank: usize,
        hub: &Arc<Hub>,
        process: &HostProcess<'_>,
    ) -> Result<(), ProgramFailure> {
        hub.open();
        transport.compute(LEAD_NS + self.start_ns).await;
        let call_ns = process.mpi_call_ns();
        let own = Arc::clone(hub);
        let deliveries = process.deliveries.clone();
        let done = match self.mode {
            Mode::Messages => {
                let service = MessageService::new(transport, own, call_ns);
                let program = RankProgram::new(service, Arc::clone(hub), rank, deliveries);
                program.run().await
            }
            Mode::Sockets { apart_ns } => {
                let after_ns = apart_ns.saturating_mul(rank as u64);
                let service = Calls::new(transport, own, call_ns, after_ns);
                let program = RankProgram::new(service, Arc::clone(hub), rank, deliveries);
                program.run().await
            }
        };
        done.map_err(ProgramFailure::Process)
    }
}
