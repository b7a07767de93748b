//! Processes as a workload.

use host_lib::gm::Gm;
use std::any::Any;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use emulator::value_struct;
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{EmpTransport, GmSettings, GmTransport, HEADER_BYTES, Transport};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::emp::text;
use lanigon_worlds::scenario::{Position, Scenario};
use lanigon_worlds::workload::{
    GmNeeds, HostProcess, Job, JobContext, Library, Outcome, ProgramRecords, ReadRecords, Running,
    Workload, WorkloadType, grouped, read_records,
};
use serde::{Serialize, Serializer};

use crate::error::ProcessError;
use crate::hub::Hub;
use crate::keys;
use crate::launch::{Launch, LaunchPart};
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

/// Processes of this machine.
pub const KIND: WorkloadType = WorkloadType {
    names: &["process"],
    about: "Unchanged programs of this machine, with sockets or MPI (docs/sockets.md, docs/mpi-programs.md).",
    keys: keys::KEYS,
    results: "processes",
    read: |_, table, nodes| Ok(Arc::new(keys::read(table, nodes)?)),
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

impl Mode {
    /// Name of the interface, in scenarios and results.
    pub(crate) const fn interface(self) -> &'static str {
        match self {
            Self::Messages => "mpi",
            Self::Sockets { .. } => "sockets",
        }
    }
}

/// Processes of this machine: as many on each node, in the order of the ranks.
#[derive(Debug, Clone)]
pub struct Processes {
    /// Service of the network for the processes.
    pub mode: Mode,
    /// The nodes, in the order of their ranks.
    pub nodes: Vec<usize>,
    /// Ranks of a node; the last one may have fewer.
    pub per_node: usize,
    /// Sockets to which the processes connect.
    pub hub: Option<Arc<Hub>>,
    /// Number of ranks that the run starts; `None`: of all places. Others are for processes that these start.
    pub(crate) ranks: Option<usize>,
    /// Simulated time of each nanosecond of the programs' processor time, in ns; `None`: computation takes none.
    pub compute: Option<f64>,
    /// The program and its arguments, if the run is to start it.
    pub(crate) words: Vec<OsString>,
    /// Position of these words in the scenario.
    pub(crate) command_place: Option<Position>,
    /// The starter of the MPI library.
    pub(crate) starter: PathBuf,
    /// The processes that the run starts.
    pub(crate) part: Option<LaunchPart>,
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
        let packets = GmTransport::buffer_bytes(gm);
        let others = EmpTransport::buffer_bytes(gm.eager_bytes);
        (packets.max(others) + PARTS_BYTES) * self.per_node as u64 + MORE_BYTES
    }

    fn gm_needs(&self) -> GmNeeds {
        GmNeeds {
            shared_bytes: 0,
            own_route: self.per_node > 1,
        }
    }

    /// A program may sleep for long.
    fn may_be_quiet_for_long(&self) -> bool {
        !self.words.is_empty()
    }

    fn files(&self, scenario: &Scenario) -> Vec<PathBuf> {
        let paths = self.words.iter().map(|word| scenario.folder.join(word));
        paths.filter(|path| path.is_file()).collect()
    }

    fn waits_outside(&self) -> bool {
        true
    }

    fn cannot_be_saved(&self) -> Option<&'static str> {
        Some(
            "the state of programs of this machine is their own; a run from the beginning repeats it",
        )
    }

    fn check_inputs(&self, _: &Scenario) -> Result<(), String> {
        match self.hub {
            Some(_) => Ok(()),
            None => {
                Err("this command starts no programs of this machine: `lanigon run` does".into())
            }
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
        let ranks: Vec<usize> = self.ranks().collect();
        let of_nodes = ranks.chunks(self.per_node).zip(&self.nodes);
        let job = |(ranks, node): (&[usize], &usize)| {
            let job = ProcessJob {
                mode: self.mode,
                ranks: ranks.to_vec(),
                members: members.clone(),
                hub: self.hub.clone(),
                launch: self.part.as_ref().map(|part| Arc::clone(&part.launch)),
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
        let (exit_codes, problems) = match &self.part {
            Some(part) => part.launch.finish(self.ranks()),
            None => Default::default(),
        };
        let is_part = self.mode != Mode::Messages;
        let part = self.part.as_ref().filter(|_| is_part);
        let hub = self.hub.as_ref().filter(|_| !is_part);
        let outcome = ProcessUse {
            mode: self.mode,
            first_rank: part.map(|part| part.first),
            ranks: hub.map_or(self.ranks().len(), |hub| hub.ranks()),
            spawned: hub.map_or(0, |hub| hub.spawned()),
            messages: all.messages,
            bytes: all.bytes,
            compute: self.compute,
            exit_codes,
        };
        (Some(Arc::new(outcome)), problems)
    }
}

impl Processes {
    /// Processes that connect to this hub, as many on each node.
    #[must_use]
    pub fn new(mode: Mode, nodes: Vec<usize>, per_node: usize, hub: Option<Arc<Hub>>) -> Self {
        Self {
            mode,
            nodes,
            per_node,
            hub,
            ranks: None,
            compute: None,
            words: Vec::new(),
            command_place: None,
            starter: PathBuf::new(),
            part: None,
        }
    }

    /// Whether a workload is processes that the run starts.
    #[must_use]
    pub fn have_command(workload: &dyn Workload) -> bool {
        let workload: &dyn Any = workload;
        let own = workload.downcast_ref::<Self>();
        own.is_some_and(|own| !own.words.is_empty())
    }

    /// Number of ranks for which there is a place.
    pub(crate) fn universe(&self) -> usize {
        self.nodes.len() * self.per_node
    }

    /// Places of the program among those of all programs that have one hub.
    fn ranks(&self) -> Range<usize> {
        let first = self.part.as_ref().map_or(0, |part| part.first);
        let most = self.universe();
        let all = self.hub.as_ref().map_or(usize::MAX, |hub| hub.universe());
        first..all.min(first + most)
    }

    /// The ports of all ranks that have one hub.
    fn members(&self) -> Vec<Endpoint> {
        let of_node = |node: &usize| {
            let node = *node as u16;
            let ports = PORTS[..self.per_node].iter();
            ports.map(move |port| Endpoint { node, port: *port })
        };
        let nodes = self.part.as_ref().map_or(&self.nodes, |part| &part.nodes);
        let all = nodes.iter().flat_map(of_node);
        let ranks = self.hub.as_ref().map_or(usize::MAX, |hub| hub.universe());
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
    #[serde(rename = "interface", serialize_with = "as_interface")]
    mode: Mode,
    /// The first one, if other programs may have ranks too.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_rank: Option<usize>,
    ranks: usize,
    /// Processes that these have started.
    #[serde(skip_serializing_if = "is_zero")]
    spawned: u64,
    messages: u64,
    bytes: u64,
    /// Simulated time of each nanosecond of processor time; without it, computation takes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    compute: Option<f64>,
    /// Exit codes by rank, with MPI that of the starter: of those that have ended by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exit_codes: Vec<Option<i32>>,
}

fn as_interface<S: Serializer>(mode: &Mode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(mode.interface())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Outcome for ProcessUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let (messages, bytes) = (grouped(self.messages), grouped(self.bytes));
        let ranks = match (self.first_rank, self.ranks) {
            (Some(first), 1) => format!("rank {first}"),
            (Some(first), ranks) => format!("ranks {first} to {}", first + ranks - 1),
            (None, 1) => "1 rank".to_owned(),
            (None, ranks) => format!("{ranks} ranks"),
        };
        let ranks = match self.spawned {
            0 => ranks,
            spawned => format!("{ranks} and {spawned} started by them"),
        };
        let mut text = match self.mode {
            Mode::Messages => {
                format!("{ranks} sent {messages} messages of {bytes} bytes to each other")
            }
            Mode::Sockets { .. } => {
                format!("{ranks} sent {bytes} bytes in {messages} packets of their sockets")
            }
        };
        if !self.exit_codes.is_empty() {
            let code =
                |code: &Option<i32>| code.map_or("none".into(), |code: i32| code.to_string());
            let codes: Vec<String> = self.exit_codes.iter().map(code).collect();
            let is_one = codes.len() == 1;
            let what = if is_one { "exit code" } else { "exit codes" };
            text += &format!(", {what} {}", codes.join(" "));
        }
        let mut lines = vec![("processes", text)];
        if let Some(factor) = self.compute {
            let text = format!("takes the processor time of this machine times {factor}");
            lines.push(("computation", text));
        }
        lines
    }
}

/// The processes of one node.
struct ProcessJob {
    mode: Mode,
    /// The ranks of the node, and the ports of all ranks.
    ranks: Vec<usize>,
    members: Vec<Endpoint>,
    hub: Option<Arc<Hub>>,
    launch: Option<Arc<Launch>>,
    start_ns: u64,
}

impl Job for ProcessJob {
    fn operations(&self) -> usize {
        self.ranks.len()
    }

    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let Some(hub) = &self.hub else {
                return Err("no process was started".into());
            };
            if let Some(launch) = &self.launch
                && let Err(error) = launch.start()
            {
                hub.fail();
                return Err(error.to_string());
            }
            self.end(hub, self.serve(hub, &process).await)
        })
    }

    fn further(&self) -> Vec<&'static str> {
        vec!["process"; self.ranks.len() - 1]
    }

    fn run_further<'a>(&'a self, place: usize, gm: Gm, process: HostProcess<'a>) -> Running<'a> {
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
        mut gm: Gm,
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
        hub.open(rank, self.members[rank].node);
        transport.compute(LEAD_NS + self.start_ns).await;
        let call_ns = process.mpi_call_ns();
        let own = Arc::clone(hub);
        let done = match self.mode {
            Mode::Messages => {
                let service = MessageService::new(transport, own, call_ns);
                let program = RankProgram::new(service, Arc::clone(hub), rank, process);
                program.run().await
            }
            Mode::Sockets { apart_ns } => {
                let after_ns = apart_ns.saturating_mul(rank as u64);
                let service = Calls::new(transport, own, call_ns, after_ns);
                let program = RankProgram::new(service, Arc::clone(hub), rank, process);
                program.run().await
            }
        };
        done.map_err(ProgramFailure::Process)
    }
}
