//! The shared memory on emulated boards: random programs against a model of release consistency, over cables that lose packets; races;
//! requests that are refused; nodes that die.

mod faults;
mod model;

use host_lib::gm::Gm;
use std::num::NonZeroUsize;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use emulator::wire::fault::{FaultRates, RandomFaults};
use emulator::wire::port::Port;
use host_lib::dsm::{
    Barriers, Diffs, Dispatch, Dsm, DsmError, EarlyAt, Locks, Mistake, Notices, Posts, Protocol,
    Report, Settings, Shared,
};
use host_lib::gm::collective::Endpoint;
use host_lib::window::System;
use lanigon_worlds::boards::{self, Medium};
use lanigon_worlds::builder::add_layer;
use lanigon_worlds::emp::text;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;

use crate::scenarios::gm::built;
use model::Event;

type Memory = Dsm;

const PORT: u8 = 2;
/// Programs begin so long after they have opened their ports.
const LEAD_NS: u64 = 300_000;
/// Words of the shared region of random programs.
const WORDS: usize = 160;
/// Their locks.
const LOCKS: u32 = 3;
/// Bytes of a page: small, so that words share pages and packets are short.
const PAGE_BYTES: u32 = 128;

/// The ends of all nodes: errors of the library as they are.
type Ends<T> = Vec<Result<T, DsmError>>;

/// Runs a program on all nodes of a shared memory, over cables with a rate of losses.
fn run<T, P, F>(nodes: u16, settings: Settings, loss: f64, seed: u64, program: P) -> Ends<T>
where
    T: Send + 'static,
    P: FnOnce(Memory) -> F + Clone + Send + 'static,
    F: Future<Output = Result<T, DsmError>> + Send,
{
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.2-200").unwrap();
    let mut world = GmWorld::new(nodes, &image, &profile).unwrap();
    world.configure(|config| {
        config.resend_ticks = 5;
        config.fatal_ticks = 500;
    });
    if loss > 0.0 {
        lose(&mut world, nodes.into(), loss, seed);
    }
    let members: Vec<_> = (0..nodes)
        .map(|node| Endpoint { node, port: PORT })
        .collect();
    let ends: Vec<_> = (0..usize::from(nodes))
        .map(|node| {
            let (members, program) = (members.clone(), program.clone());
            world.spawn(node, "dsm", move |mut gm: Gm| async move {
                gm.open(PORT).await.map_err(text)?;
                gm.system_mut().compute(LEAD_NS).await;
                let memory = Dsm::start(gm, &members, members[node], settings).await;
                Ok(match memory {
                    Ok(memory) => program(memory).await,
                    Err(error) => Err(error),
                })
            })
        })
        .collect();
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(20_000_000)),
        threads: NonZeroUsize::MIN,
        ..RunLimits::default()
    };
    let end = world.world.run(&limits);
    assert_eq!(end, RunEnd::Completed, "seed {seed}");
    ends.into_iter()
        .map(|end| end.take().unwrap().unwrap())
        .collect()
}

fn lose(world: &mut GmWorld, nodes: usize, loss: f64, seed: u64) {
    let rates = FaultRates {
        loss,
        ..FaultRates::default()
    };
    for node in 0..nodes {
        let layer = RandomFaults::new(rates, seed, node as u64).unwrap();
        add_layer(&mut world.world, Medium::Myrinet, Port::Node(node), layer).unwrap();
    }
}

/// A random program: nodes, settings, size.
#[derive(Debug, Clone, Copy)]
struct Case {
    seed: u64,
    nodes: u16,
    settings: Settings,
    /// Parts between barriers.
    phases: u32,
    /// Steps of a node in a part.
    steps: u32,
}

impl Case {
    /// A case with all its parts at random.
    fn random(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |limit: u64| random.next_u64() % limit;
        let protocol = [Protocol::Async, Protocol::Ardmar][below(2) as usize];
        let pages = WORDS as u32 * 4 / PAGE_BYTES + 1;
        let mut settings = Settings {
            page_bytes: PAGE_BYTES,
            locks: LOCKS,
            ..Settings::new(protocol, pages)
        };
        if protocol == Protocol::Ardmar && below(3) == 0 {
            settings.diffs = Diffs::Put;
        }
        if below(3) == 0 {
            settings.locks_by = [Locks::Atomic, Locks::Board][(seed % 2) as usize];
        }
        if below(3) == 0 {
            settings.barriers_by = Barriers::Nic;
        }
        let (nodes, phases, steps) = (below(7), below(4), below(10));
        if below(2) == 0 {
            // Slow posts and delays, at other moments than those of the library itself.
            let costs = &mut settings.costs;
            costs.posts = Posts {
                start_ns: below(8_000),
                byte_ps: below(2_000),
                immediate_ns: below(3_000),
            };
            costs.receive_ns = below(10_000);
            costs.atomic_ns = below(15_000);
            costs.get_byte_ps = below(8_000);
            settings.dispatch = [Dispatch::Each, Dispatch::Once][below(2) as usize];
        }
        if below(2) == 0 {
            settings.early_fetches = [1, 2, 4, 16][below(4) as usize];
            settings.early_at = [EarlyAt::Always, EarlyAt::Unlocked][below(2) as usize];
        }
        if protocol == Protocol::Ardmar && below(2) == 0 {
            settings.parts = [2, 4][below(2) as usize];
        }
        if below(2) == 0 {
            settings.notices = Notices::Put;
        }
        Self {
            seed,
            nodes: 2 + nodes as u16,
            settings,
            phases: 1 + phases as u32,
            steps: 1 + steps as u32,
        }
    }
}

/// The program of a node.
struct Part {
    memory: Memory,
    words: Shared<u32>,
    random: ChaCha8Rng,
    events: Vec<(u64, usize, Event)>,
}

impl Part {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit
    }

    fn record(&mut self, event: Event) {
        let at = (self.memory.now_ps(), self.memory.rank(), event);
        self.events.push(at);
    }

    async fn run(
        memory: Memory,
        case: Case,
    ) -> Result<(Vec<(u64, usize, Event)>, Report), DsmError> {
        let mut random = ChaCha8Rng::seed_from_u64(case.seed);
        random.set_stream(memory.rank() as u64 + 1);
        let mut memory = memory;
        let words = memory.allocate(WORDS)?;
        let mut part = Self {
            memory,
            words,
            random,
            events: Vec::new(),
        };
        for _ in 0..case.phases {
            for _ in 0..part.below(u64::from(case.steps) + 1) {
                part.step().await?;
            }
            part.record(Event::Arrives);
            part.memory.barrier().await?;
            part.record(Event::Departs);
        }
        // What stands there in the end.
        for word in 0..WORDS {
            part.read(word).await?;
        }
        Ok((part.events, part.memory.finish().await?))
    }

    async fn step(&mut self) -> Result<(), DsmError> {
        match self.below(4) {
            0 => {
                let pause = self.below(40_000);
                self.memory.compute(pause).await
            }
            1 => self.access().await,
            _ => {
                let lock = self.below(LOCKS.into()) as u32;
                self.memory.acquire(lock).await?;
                self.record(Event::Acquired(lock));
                for _ in 0..1 + self.below(4) {
                    self.access().await?;
                }
                self.record(Event::Releases(lock));
                self.memory.release(lock).await
            }
        }
    }

    async fn access(&mut self) -> Result<(), DsmError> {
        // A few words are accessed often.
        let word = match self.below(2) {
            0 => self.below(6) as usize * 27,
            _ => self.below(WORDS as u64) as usize,
        };
        if self.below(2) == 0 {
            return self.read(word).await;
        }
        let writer = (self.memory.rank() as u32 + 1) << 24;
        let value = writer + self.events.len() as u32 + 1;
        self.record(Event::Write { word, value });
        self.memory.set(self.words, word, value).await
    }

    async fn read(&mut self, word: usize) -> Result<(), DsmError> {
        let value = self.memory.get(self.words, word).await?;
        self.record(Event::Read { word, value });
        Ok(())
    }
}

/// Runs a case; the model's verdict.
fn verdict(case: Case, loss: f64) -> Result<Vec<Report>, String> {
    let ends = run(case.nodes, case.settings, loss, case.seed, move |memory| {
        Part::run(memory, case)
    });
    let (mut events, mut reports) = (Vec::new(), Vec::new());
    for (node, end) in ends.into_iter().enumerate() {
        let (own, report) = end.map_err(|error| format!("{case:?}: node {node}: {error}"))?;
        events.extend(own);
        reports.push(report);
    }
    // Events of one node at the same time keep their order.
    events.sort_by_key(|(time, _, _)| *time);
    let checked = model::check(case.nodes.into(), WORDS, LOCKS as usize, &events);
    checked.map_err(|error| format!("{case:?}: {error}"))?;
    Ok(reports)
}

/// First seed and number of cases: `LANIGON_DSM=0:10000`.
fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("LANIGON_DSM").unwrap_or_else(|_| "0:40".into());
    let (first, count) = given.split_once(':').unwrap();
    let first: u64 = first.parse().unwrap();
    first..first + count.parse::<u64>().unwrap()
}

#[test]
fn random_programs_are_release_consistent() {
    if !built() {
        return;
    }
    let (mut faults, mut fetches, mut locks) = (0, 0, 0);
    for seed in seeds() {
        for report in verdict(Case::random(seed), 0.005).unwrap() {
            faults += report.faults();
            fetches += report.fetches;
            locks += report.locks;
        }
    }
    println!(
        "{:?}: {faults} faults, {fetches} fetches, {locks} locks",
        seeds()
    );
    assert!(faults > 0 && fetches > 0 && locks > 0);
}

#[test]
fn random_programs_with_fetches_beside_them() {
    if !built() {
        return;
    }
    let ways = [
        (Protocol::Async, 4, 1),
        (Protocol::Ardmar, 4, 1),
        (Protocol::Ardmar, 0, 4),
        (Protocol::Ardmar, 2, 4),
    ];
    for (protocol, early_fetches, parts) in ways {
        let mut sum = Report::default();
        for seed in seeds().take(12) {
            let random = Case::random(seed);
            let mut settings = Settings {
                protocol,
                early_fetches,
                parts,
                ..random.settings
            };
            if protocol == Protocol::Async {
                settings.diffs = Diffs::Handler;
            }
            let case = Case {
                settings,
                phases: 4,
                steps: 8,
                ..random
            };
            for report in verdict(case, 0.01).unwrap() {
                let ended = report.early_used + report.early_vain;
                assert!(ended <= report.early_begun, "{case:?}: {report:?}");
                sum.early_begun += report.early_begun;
                sum.early_used += report.early_used;
                sum.early_vain += report.early_vain;
                sum.part_waits += report.part_waits;
            }
        }
        println!(
            "{protocol:?}, {early_fetches}, {parts}: {} begun, {} used, {} in vain, {} waits",
            sum.early_begun, sum.early_used, sum.early_vain, sum.part_waits
        );
        assert_eq!(early_fetches > 0, sum.early_used > 0 && sum.early_vain > 0);
        assert_eq!(parts > 1, sum.part_waits > 0);
    }
}

#[test]
fn random_programs_with_notices_by_puts_and_locks_of_boards() {
    if !built() {
        return;
    }
    let ways = [
        (Locks::Handler, Barriers::Handler, Notices::Put),
        (Locks::Atomic, Barriers::Nic, Notices::Put),
        (Locks::Board, Barriers::Handler, Notices::Carried),
        (Locks::Board, Barriers::Nic, Notices::Put),
    ];
    for (locks_by, barriers_by, notices) in ways {
        let (mut puts, mut locks) = (0, 0);
        for seed in seeds().take(12) {
            let random = Case::random(seed);
            let case = Case {
                settings: Settings {
                    locks_by,
                    barriers_by,
                    notices,
                    ..random.settings
                },
                phases: 4,
                steps: 8,
                ..random
            };
            for report in verdict(case, 0.01).unwrap() {
                puts += report.notice_puts;
                locks += report.locks;
            }
        }
        println!("{locks_by:?}, {barriers_by:?}, {notices:?}: {puts} puts, {locks} locks");
        assert!(locks > 0);
        assert_eq!(notices == Notices::Put, puts > 0);
    }
}

#[test]
fn a_forgotten_write_notice_is_found() {
    if !built() {
        return;
    }
    for protocol in [Protocol::Async, Protocol::Ardmar] {
        let mut found = 0;
        for seed in 0..16 {
            let random = Case::random(seed);
            let case = Case {
                phases: 2,
                steps: 10,
                nodes: 4,
                settings: Settings {
                    protocol,
                    diffs: Diffs::Handler,
                    notices: Notices::Carried,
                    mistake: Some(Mistake::ForgetNotice(seed % 8)),
                    ..random.settings
                },
                ..random
            };
            found += u32::from(verdict(case, 0.0).is_err());
        }
        println!("{protocol:?}: {found} of 16");
        // Another notice of the page, or the end, can come before a read.
        assert!(found >= 3, "{protocol:?}: {found} of 16");
    }
}
