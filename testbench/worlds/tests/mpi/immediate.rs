//! Operations that return at once on boards whose cables lose packets: random programs, in which each process waits in its own order.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use emulator::wire::fault::{FaultRates, RandomFaults};
use emulator::wire::port::Port;
use host_lib::gm::Gm;
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{
    Bypass, CollectiveRequest, Config, Executor, GmSettings, GmTransport, Mpi, MpiError, Operation,
    Progress,
};
use host_lib::window::System;
use lanigon_worlds::boards::{self, Medium};
use lanigon_worlds::builder::add_layer;
use lanigon_worlds::emp::text;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;

use super::{LEAD_NS, PORT};
use crate::scenarios::gm::built;

/// A case: processes, steps, executor, handlers of signals.
#[derive(Debug, Clone, Copy)]
struct Case {
    seed: u64,
    nodes: u16,
    steps: u64,
    on: Executor,
    bypass: bool,
}

impl Case {
    /// Numbers for a step, equal everywhere, or for a process.
    fn random(self, step: u64, rank: usize) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(step << 16 | rank as u64);
        random
    }

    /// Elements of a process in a step.
    fn own(self, step: u64, rank: usize, count: usize) -> Vec<u64> {
        let mut random = self.random(step, rank + 1);
        (0..count).map(|_| random.next_u64()).collect()
    }
}

/// Operations under way, with their right results.
type UnderWay = Vec<(CollectiveRequest<u64>, Vec<u64>)>;

/// A process.
struct Process {
    mpi: Mpi<GmTransport>,
    case: Case,
    rank: usize,
    under_way: UnderWay,
}

impl Process {
    /// Begins an operation, or does something else.
    async fn step(&mut self, step: u64) -> Result<(), MpiError> {
        let (case, rank) = (self.case, self.rank);
        let size = usize::from(case.nodes);
        let mut random = case.random(step, 0);
        let world = self.mpi.world();
        let counts = [1, 2, 8, 9, 40, 512, 600, 3000];
        let count = counts[random.next_u64() as usize % counts.len()];
        let root = random.next_u64() as usize % size;
        let data = case.own(step, rank, count);
        let all = || (0..size).map(|rank| case.own(step, rank, count));
        let fold = |with: fn(u64, u64) -> u64| -> Vec<u64> {
            let both = |a: Vec<u64>, b: Vec<u64>| -> Vec<u64> {
                a.iter().zip(&b).map(|(a, b)| with(*a, *b)).collect()
            };
            all().reduce(both).unwrap()
        };
        let mpi = &mut self.mpi;
        let begun = match random.next_u64() % 8 {
            0 | 1 => {
                let request = mpi.immediate_all_reduce(&world, Operation::Sum, &data);
                (request.await?, fold(u64::wrapping_add))
            }
            2 => {
                let request = mpi.immediate_all_reduce(&world, Operation::Max, &data);
                (request.await?, fold(u64::max))
            }
            3 | 4 => {
                let request = mpi.immediate_all_gather(&world, &data).await?;
                (request, all().flatten().collect())
            }
            5 => {
                let request = mpi.immediate_broadcast(&world, root, &data).await?;
                (request, case.own(step, root, count))
            }
            6 => {
                let request = mpi.immediate_barrier(&world).await?;
                let sum = mpi.reduce(&world, root, Operation::Sum, &data[..1]).await?;
                let wanted = fold(u64::wrapping_add)[..1].to_vec();
                assert_eq!(
                    sum,
                    (rank == root).then_some(wanted),
                    "{case:?}, step {step}"
                );
                return mpi.wait(request).await;
            }
            _ => return mpi.barrier(&world).await,
        };
        self.under_way.push(begun);
        Ok(())
    }

    /// Waits for an operation, tests one, or computes.
    async fn pause(&mut self, random: &mut ChaCha8Rng) -> Result<(), MpiError> {
        if random.next_u64().is_multiple_of(2) {
            self.mpi.compute(random.next_u64() % 200_000).await?;
        }
        if self.under_way.is_empty() || random.next_u64().is_multiple_of(3) {
            return Ok(());
        }
        let at = random.next_u64() as usize % self.under_way.len();
        let (request, wanted) = self.under_way.remove(at);
        let case = self.case;
        match random.next_u64().is_multiple_of(2) {
            true => assert_eq!(self.mpi.wait(request).await?, wanted, "{case:?}"),
            false => match self.mpi.test(request).await? {
                Progress::Pending(request) => self.under_way.push((request, wanted)),
                Progress::Complete(result) => assert_eq!(result, wanted, "{case:?}"),
            },
        }
        Ok(())
    }

    async fn run(mut self) -> Result<(), MpiError> {
        let mut random = self.case.random(1 << 40, self.rank);
        for step in 0..self.case.steps {
            self.step(step).await?;
            self.pause(&mut random).await?;
        }
        while let Some((request, wanted)) = self.under_way.pop() {
            assert_eq!(self.mpi.wait(request).await?, wanted);
        }
        assert_eq!(self.mpi.finalize().await?, 0);
        Ok(())
    }
}

/// A process over its board.
async fn process(mut gm: Gm, rank: u16, case: Case) -> Result<(), String> {
    let at = |node| Endpoint { node, port: PORT };
    let members: Vec<_> = (0..case.nodes).map(at).collect();
    gm.open(PORT).await.map_err(text)?;
    gm.system_mut().compute(LEAD_NS).await;
    let settings = GmSettings {
        signals: case.bypass,
        gathers: true,
        ..GmSettings::default()
    };
    let transport = GmTransport::new(gm, &members, at(rank), settings).await;
    let mut transport = transport.map_err(text)?;
    // The others have their groups too.
    transport.gm_mut().system_mut().compute(LEAD_NS).await;
    let config = Config {
        collectives: case.on,
        barrier: case.on,
        ..Config::default()
    };
    let mut mpi = Mpi::with(transport, config).map_err(text)?;
    if case.bypass {
        let immediate = true;
        let usual = Bypass::default();
        let settings = Bypass { immediate, ..usual };
        mpi.bypass(settings).await.map_err(text)?;
    }
    let process = Process {
        mpi,
        case,
        rank: rank.into(),
        under_way: Vec::new(),
    };
    process.run().await.map_err(text)
}

#[track_caller]
fn check(case: Case) {
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.1-133").unwrap();
    let mut world = GmWorld::new(case.nodes, &image, &profile).unwrap();
    world.configure(|config| config.resend_ticks = 10);
    let rates = FaultRates {
        loss: 0.01,
        ..FaultRates::default()
    };
    for node in 0..usize::from(case.nodes) {
        let layer = RandomFaults::new(rates, case.seed, node as u64).unwrap();
        add_layer(&mut world.world, Medium::Myrinet, Port::Node(node), layer).unwrap();
    }
    let ends: Vec<_> = (0..case.nodes)
        .map(|rank| world.spawn(rank.into(), "mpi", move |gm| process(gm, rank, case)))
        .collect();
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(10_000_000)),
        ..RunLimits::default()
    };
    assert_eq!(world.world.run(&limits), RunEnd::Completed, "{case:?}");
    for end in ends {
        assert_eq!(end.take(), Some(Ok(())), "{case:?}");
    }
}

#[test]
fn random_programs_compute_what_one_process_computes() {
    if !built() {
        return;
    }
    for seed in 0..4 {
        for (on, bypass) in [
            (Executor::Host, false),
            (Executor::Host, true),
            (Executor::Nic, false),
        ] {
            check(Case {
                seed,
                nodes: 2 + 3 * seed as u16,
                steps: 40,
                on,
                bypass,
            });
        }
    }
}
