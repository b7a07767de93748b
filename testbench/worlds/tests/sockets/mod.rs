//! Stream sockets of host programs on emulated boards, over EMP and GM.

use std::sync::Arc;

use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{EmpTransport, GmSettings, GmTransport, Transport};
use host_lib::sockets::{Address, Shutdown, SocketError, Sockets, Stream};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::emp::text;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::table::Table;
use lanigon_worlds::scenario::{Scenario, ScenarioError};
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use lanigon_worlds::workload::{
    HostProcess, Job, JobContext, Library, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, Workloads, read_records,
};

use super::scenarios::gm::built;

const PORT: u8 = 2;
const LEAD_NS: u64 = 500_000;
const SERVER: Address = Address { rank: 0, port: 80 };

const EMP: &str = "board = \"tigon2-88mhz\"";
const GM: &str = "board = \"lanai9.2-200\"";

const KIND: WorkloadType = WorkloadType {
    names: &["streams"],
    about: "Streams to a server on node 0.",
    keys: &[],
    results: "streams",
    read,
};

fn read(
    _: &'static str,
    _: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<Arc<dyn Workload>, ScenarioError> {
    let all = (0..nodes.all.len()).collect();
    Ok(Arc::new(Streams { nodes: all }))
}

#[derive(Debug)]
struct Streams {
    nodes: Vec<usize>,
}

impl Workload for Streams {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Emp, Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        64 << 20
    }

    fn jobs(&self, _: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let nodes: Vec<u16> = self.nodes.iter().map(|node| *node as u16).collect();
        let job = |node: &usize| {
            let job = Program {
                rank: *node,
                nodes: nodes.clone(),
            };
            (*node, Box::new(job) as Box<dyn Job>)
        };
        self.nodes.iter().map(job).collect()
    }

    fn outcome(&self, _: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        (None, Vec::new())
    }
}

struct Program {
    rank: usize,
    nodes: Vec<u16>,
}

impl Job for Program {
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let settings = GmSettings::default();
            match process.boot().await? {
                Library::Emp(emp) => {
                    let transport =
                        EmpTransport::new(*emp, &self.nodes, self.rank, settings.eager_bytes);
                    all(transport.await.map_err(text)?).await
                }
                Library::Gm(mut gm) => {
                    let at = |node| Endpoint { node, port: PORT };
                    let members: Vec<_> = self.nodes.iter().copied().map(at).collect();
                    gm.open(PORT).await.map_err(text)?;
                    let own = members[self.rank];
                    let transport = GmTransport::new(*gm, &members, own, settings);
                    all(transport.await.map_err(text)?).await
                }
                Library::Fm(_) => Err("FM has no sockets".into()),
            }
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<u64>
    }
}

fn pattern(count: usize, salt: usize) -> Vec<u8> {
    (0..count)
        .map(|at| (at * 31 + at / 251 + salt) as u8)
        .collect()
}

async fn all<T: Transport>(mut transport: T) -> Result<(), String> {
    transport.compute(LEAD_NS).await;
    let mut sockets = Sockets::new(transport);
    let done = match sockets.rank() {
        0 => serve(&mut sockets).await,
        _ => ask(&mut sockets).await,
    };
    done.map_err(text)?;
    sockets.flush().await.map_err(text)
}

/// Takes all that a client sends, and sends it back.
async fn serve<T: Transport>(sockets: &mut Sockets<T>) -> Result<(), SocketError> {
    let listener = sockets.listen(SERVER.port, 4)?;
    for _ in 1..sockets.size() {
        let (stream, _) = sockets.accept(listener).await?;
        let mut all = Vec::new();
        loop {
            let bytes = sockets.read(stream, 10_000).await?;
            if bytes.is_empty() {
                break;
            }
            all.extend(bytes);
        }
        sockets.write(stream, &all).await?;
        sockets.close(stream);
    }
    sockets.close_listener(listener);
    Ok(())
}

async fn ask<T: Transport>(sockets: &mut Sockets<T>) -> Result<(), SocketError> {
    let nobody = Address { rank: 0, port: 81 };
    assert_eq!(
        sockets.connect(nobody).await,
        Err(SocketError::Refused(nobody))
    );
    let stream: Stream = sockets.connect(SERVER).await?;
    let sent = pattern(300_000, sockets.rank());
    for part in sent.chunks(70_001) {
        sockets.write(stream, part).await?;
    }
    sockets.write(stream, b"end").await?;
    sockets.shutdown(stream, Shutdown::Write)?;
    assert!(sockets.read_exact(stream, sent.len()).await? == sent);
    assert_eq!(sockets.read_exact(stream, 3).await?, b"end");
    assert_eq!(sockets.read(stream, 1).await?, b"");
    sockets.close(stream);
    Ok(())
}

fn scenario(board: &str, faults: &str) -> Scenario {
    let network = "[network]\ntopology = \"star\"\nnodes = 3";
    let program = "[[program]]\nrun = \"streams\"";
    let text = format!("{board}\n{network}\n{program}\n{faults}\n");
    Workloads(&[&KIND]).parse("streams", &text).unwrap()
}

fn run(board: &str, faults: &str) -> RunSummary {
    let mut simulation = Simulation::new(&scenario(board, faults)).unwrap();
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert!(outcome.is_good(), "{board}: {:?}", outcome.problems);
    outcome
}

#[test]
fn streams_carry_all_bytes_over_both_protocols() {
    if !built() {
        return;
    }
    for board in [EMP, GM] {
        let first = run(board, "");
        assert_eq!(first.trace_hash, run(board, "").trace_hash);
    }
}

#[test]
fn streams_outlive_lost_frames() {
    if !built() {
        return;
    }
    for board in [EMP, GM] {
        let outcome = run(board, "[faults]\nloss = 0.02");
        assert!(outcome.drops["fault_lost"] > 3, "{:?}", outcome.drops);
    }
}
