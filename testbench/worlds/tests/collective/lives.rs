//! Operations that boards execute, in random order, while members of the group end in the middle: groups follow each other, hosts exchange
//! messages meanwhile, and packets get lost.
//!
//! A group lives for some operations, which all members post in the same order, several at a time. In about half of the groups some members
//! close their ports on the way: before an operation, or at some time after they have posted one, without waiting for its end. The others get
//! either the right result or a status within the boards' limit. Then all members close their ports, open them, and the next group begins.

mod world;

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::gm::collective::{
    Barrier, BoardGroup, BoardOperation, Completed, Endpoint, Gossip, Group, Host, Reduction,
    Settings, Shape, Value, schedule,
};
use host_lib::gm::{Event, Gm, Status};
use host_lib::window::System;
use lanigon_workloads::collective::{Broadcast, CollectiveWork, ExecutedOn, Type};
use lanigon_worlds::emp::text;
use lanigon_worlds::programs::verdict::{ProgramLife, judge};

use crate::scenarios::gm::built;

/// The port of the members; the programs of messages use port 2.
const PORT: u8 = 4;
/// The port by which hosts agree on the next group.
const OTHER_PORT: u8 = 5;
/// Most bytes of a block.
const MOST_BYTES: usize = 256;
/// Most members that end in the middle of a group.
const MOST_ENDS: u64 = 3;
/// Ticks of 100 us after which an operation fails.
const LIMIT_TICKS: u32 = 1000;
/// Longest time of an operation, in ns.
const LIMIT_NS: u64 = LIMIT_TICKS as u64 * 100_000;
/// The end of an operation may be so much later: the board's timer is set again when a tick has been handled, so ticks of a busy board are
/// longer than 100 us.
const LATE_NS: u64 = LIMIT_NS / 10;
/// A host waits for the others for so long.
const OTHERS_NS: u64 = 2_000_000_000;

/// A case: nodes, groups, operations.
#[derive(Debug, Clone, Copy)]
struct Case {
    seed: u64,
    nodes: u16,
    /// Groups, one after the other.
    groups: u64,
    /// Operations of a group.
    operations: u64,
    /// Messages of a host.
    messages: u64,
}

/// End of a member in the middle of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ending {
    /// The operation.
    at: u64,
    /// Time since the post of the operation; `None`: before it.
    after_ns: Option<u64>,
}

impl Case {
    fn random(&self, what: u64, place: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ what << 48);
        random.set_stream(place);
        random
    }

    /// An operation, the same for all members.
    fn work(&self, group: u64, at: u64) -> CollectiveWork {
        let any = CollectiveWork::Random { bytes: MOST_BYTES };
        let round = group * self.operations + at;
        any.in_round(ExecutedOn::Nic, self.seed, self.nodes.into(), round)
    }

    /// The members that end in the middle of a group.
    fn endings(&self, group: u64) -> BTreeMap<u16, Ending> {
        let mut random = self.random(1, group);
        let count = match random.next_u64() % 2 {
            0 => 0,
            _ => 1 + random.next_u64() % MOST_ENDS,
        };
        let mut ending = |_| {
            let node = (random.next_u64() % u64::from(self.nodes)) as u16;
            let at = random.next_u64() % self.operations;
            let after = random.next_u64() % 80_000;
            let after_ns = (!random.next_u64().is_multiple_of(4)).then_some(after);
            (node, Ending { at, after_ns })
        };
        (0..count).map(&mut ending).collect()
    }

    /// Value that a member gives to an operation.
    fn bits(&self, group: u64, at: u64, node: u16) -> u64 {
        let place = (group * self.operations + at) << 16 | u64::from(node);
        self.random(2, place).next_u64()
    }

    fn value(&self, of: Type, group: u64, at: u64, node: u16) -> Value {
        let bits = self.bits(group, at, node);
        match of {
            Type::Integer => Value::Integer(bits),
            // Sums of these are exact in any order.
            Type::Float => Value::Float((bits >> 40) as f64 / 8.0),
        }
    }

    fn block(&self, bytes: usize, group: u64, at: u64, node: u16) -> Vec<u8> {
        let bits = self.bits(group, at, node).to_be_bytes();
        bits.into_iter().cycle().take(bytes).collect()
    }
}

/// An operation at a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    posted_ps: u64,
    /// When it ended, and how; `None`: the member has ended.
    end: Option<(u64, Status)>,
}

/// The operations of a member, by group and number.
type Records = BTreeMap<(u64, u64), Record>;

/// An operation that is under way.
#[derive(Debug, Clone, Copy)]
struct Posted {
    at: u64,
    work: CollectiveWork,
}

/// A member of all groups.
struct Member {
    gm: Gm,
    case: Case,
    records: Records,
    under_way: BTreeMap<BoardOperation, Posted>,
    /// An operation of the group has failed.
    failed: bool,
}

impl Member {
    /// Takes part in all groups.
    async fn run(gm: Gm, case: Case) -> Result<Records, String> {
        let mut member = Self {
            gm,
            case,
            records: Records::new(),
            under_way: BTreeMap::new(),
            failed: false,
        };
        let gm = &mut member.gm;
        gm.open(OTHER_PORT).await.map_err(text)?;
        let others = members(case.nodes, OTHER_PORT, gm.node())?;
        let settings = Settings {
            longest_bytes: 0,
            limit_ns: OTHERS_NS,
        };
        gm.system_mut().compute(500_000).await;
        let mut others = Host::new(gm, others, settings).await.map_err(text)?;
        for group in 0..case.groups {
            let gm = &mut member.gm;
            gm.open(PORT).await.map_err(text)?;
            let own = members(case.nodes, PORT, gm.node())?;
            let number = group as u16;
            let mut board = gm.open_group(&own, number).await.map_err(text)?;
            for step in 0..3 {
                let agreed = others.barrier(&mut member.gm, Barrier::PairwiseExchange);
                agreed.await.map_err(text)?;
                let done = match step {
                    0 => member.live(group, &mut board).await,
                    // Until now members that have all blocks could be asked for them.
                    1 => member.gm.close(PORT).await.map_err(text),
                    _ => Ok(()),
                };
                done.map_err(|error| format!("group {group}: {error}"))?;
            }
        }
        others.flush(&mut member.gm).await.map_err(text)?;
        Ok(member.records)
    }

    /// The operations of a group, up to its end, the member's, or a failure.
    async fn live(&mut self, group: u64, board: &mut BoardGroup) -> Result<(), String> {
        let node = self.gm.node();
        let ending = self.case.endings(group).get(&node).copied();
        let mut random = self.case.random(3, group << 16 | u64::from(node));
        let most = 1 + random.next_u64() as usize % 4;
        self.under_way.clear();
        self.failed = false;
        for at in 0..self.case.operations {
            let mine = ending.filter(|ending| ending.at == at);
            if mine.is_some_and(|ending| ending.after_ns.is_none()) {
                return self.end().await;
            }
            if random.next_u64().is_multiple_of(4) {
                let pause = random.next_u64() % 50_000;
                self.gm.system_mut().compute(pause).await;
            }
            let work = self.case.work(group, at);
            while !self.failed && (self.under_way.len() >= most || self.collides(work)) {
                self.take(group, board).await?;
            }
            if self.failed {
                break;
            }
            self.post(group, at, work, board).await?;
            if let Some(after_ns) = mine.and_then(|ending| ending.after_ns) {
                self.gm.system_mut().compute(after_ns).await;
                return self.end().await;
            }
        }
        while !self.under_way.is_empty() {
            self.take(group, board).await?;
        }
        // No event comes twice.
        self.gm
            .system_mut()
            .compute(random.next_u64() % 400_000)
            .await;
        match self.gm.try_receive(PORT).await.map_err(text)? {
            None => Ok(()),
            Some(event) => Err(format!("after the last operation: {event:?}")),
        }
    }

    /// Ends in the middle of a group: the port is closed. It is opened again, and is that of a process that knows nothing of the group.
    async fn end(&mut self) -> Result<(), String> {
        self.gm.close(PORT).await.map_err(text)?;
        self.gm.open(PORT).await.map_err(text)
    }

    /// Whether an operation of the same kind must end first.
    fn collides(&self, work: CollectiveWork) -> bool {
        let of_kind = |posted: &Posted| match work {
            CollectiveWork::Barrier(_) => matches!(posted.work, CollectiveWork::Barrier(_)),
            CollectiveWork::AllToAll { .. } => {
                matches!(posted.work, CollectiveWork::AllToAll { .. })
            }
            CollectiveWork::Reduction { .. } | CollectiveWork::Random { .. } => false,
        };
        self.under_way.values().any(of_kind)
    }

    async fn post(
        &mut self,
        group: u64,
        at: u64,
        work: CollectiveWork,
        board: &mut BoardGroup,
    ) -> Result<(), String> {
        let own = board.group().clone();
        let posted_ps = self.gm.system().now_ps();
        let gm = &mut self.gm;
        let node = gm.node();
        let posted = match work {
            CollectiveWork::Barrier(Barrier::PairwiseExchange) => {
                gm.post_exchange(&own, &schedule::exchange(&own)).await
            }
            CollectiveWork::Barrier(Barrier::GatherBroadcast { root, degree }) => {
                let tree = schedule::tree(&own, root, degree).map_err(text)?;
                gm.post_gather_broadcast(&own, &tree).await
            }
            CollectiveWork::Reduction {
                operation,
                of,
                shape,
                root,
                all,
                ..
            } => {
                let tree = match shape {
                    Shape::Binomial => schedule::binomial(&own, root),
                    Shape::Fixed { degree } => schedule::tree(&own, root, degree),
                };
                let value = self.case.value(of, group, at, node);
                let reduction = Reduction {
                    group: &own,
                    tree: &tree.map_err(text)?,
                    operation: operation.code(value),
                    value: value.bits(),
                    tag: at as u32,
                    all,
                };
                gm.post_reduction(&reduction).await
            }
            CollectiveWork::AllToAll { algorithm, bytes } => {
                let block = self.case.block(bytes, group, at, node);
                gm.post_all_to_all(board, on_board(algorithm)?, &block)
                    .await
            }
            CollectiveWork::Random { .. } => return Err("no operation".into()),
        };
        let posted = posted.map_err(|error| format!("operation {at} ({work:?}): {error}"))?;
        self.under_way.insert(posted, Posted { at, work });
        let end = None;
        let record = Record { posted_ps, end };
        self.records.insert((group, at), record);
        Ok(())
    }

    /// Takes the next event and checks it.
    async fn take(&mut self, group: u64, board: &BoardGroup) -> Result<(), String> {
        let event = self.gm.receive_within(PORT, LIMIT_NS + LATE_NS).await;
        let under_way = || format!("{:?}", self.under_way);
        match event.map_err(|error| format!("{error}; {}", under_way()))? {
            None => Err(format!("no event in time; {}", under_way())),
            Some(Event::Sent(_)) => Ok(()),
            Some(Event::Completed(completed)) => self.completed(group, board, completed),
            Some(event) => Err(format!("{event:?}")),
        }
    }

    fn completed(
        &mut self,
        group: u64,
        board: &BoardGroup,
        Completed {
            operation,
            status,
            value,
        }: Completed,
    ) -> Result<(), String> {
        let posted = self.under_way.remove(&operation);
        let Posted { at, work } = posted.ok_or(format!("{operation:?} is not under way"))?;
        let now = self.gm.system().now_ps();
        let record = self.records.get_mut(&(group, at));
        let record = record.ok_or("an operation without a record")?;
        record.end = Some((now, status));
        let waited_ns = (now - record.posted_ps) / 1000;
        if waited_ns > LIMIT_NS + LATE_NS {
            return Err(format!("operation {at} ({work:?}) took {waited_ns} ns"));
        }
        if status != Status::Success {
            self.failed = true;
            let is_right = status == Status::TimedOut && !self.case.endings(group).is_empty();
            return match is_right {
                true => Ok(()),
                false => Err(format!("operation {at} ({work:?}) ends with {status:?}")),
            };
        }
        self.check(group, board, at, work, value)
    }

    /// Compares a result with what it should be.
    fn check(
        &self,
        group: u64,
        board: &BoardGroup,
        at: u64,
        work: CollectiveWork,
        found: u64,
    ) -> Result<(), String> {
        let nodes = 0..self.case.nodes;
        let own = usize::from(self.gm.node());
        let is_right = match work {
            CollectiveWork::Reduction {
                operation,
                of,
                root,
                all,
                ..
            } if all || own == root => {
                let values = nodes.map(|node| self.case.value(of, group, at, node));
                let sum = values.map(Ok).reduce(|a, b| operation.apply(a?, b?));
                let sum = sum.ok_or("no member")?.map_err(text)?;
                found == sum.bits()
            }
            CollectiveWork::AllToAll { algorithm, bytes } => {
                let blocks = self.gm.blocks(board, on_board(algorithm)?, bytes);
                let expected = nodes.flat_map(|node| self.case.block(bytes, group, at, node));
                expected.eq(blocks.map_err(text)?)
            }
            _ => true,
        };
        match is_right {
            true => Ok(()),
            false => Err(format!("operation {at} ({work:?}) has a wrong result")),
        }
    }
}

fn on_board(algorithm: Broadcast) -> Result<Gossip, String> {
    match algorithm {
        Broadcast::RecursiveDoubling => Ok(Gossip::RecursiveDoubling),
        Broadcast::ConcurrentBroadcasting => Ok(Gossip::ConcurrentBroadcasting),
        Broadcast::Ring => Err("no algorithm of boards".into()),
    }
}

/// The group of all nodes with a port.
fn members(nodes: u16, port: u8, own: u16) -> Result<Group, String> {
    let all: Vec<_> = (0..nodes).map(|node| Endpoint { node, port }).collect();
    Group::new(&all, Endpoint { node: own, port }).map_err(text)
}

/// Counts of operations and failures in a case.
#[derive(Debug, Default, Clone, Copy)]
#[expect(dead_code, reason = "printed")]
struct Counts {
    /// Operations that some member has posted.
    operations: usize,
    /// Operations among them that have ended well at all members.
    everywhere: usize,
    /// Operations of a member that have ended with a status other than success.
    failures: usize,
    /// Members that have ended in the middle of a group.
    endings: usize,
    messages: u64,
}

/// Runs a case.
#[track_caller]
fn check(case: Case) -> Counts {
    let (mut world, ends, all) = world::world(case);
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(1_000_000_000)),
        threads: std::num::NonZeroUsize::MIN,
        ..RunLimits::default()
    };
    let end = world.world.run(&limits);
    let results = ends.into_iter().map(|end| end.take());
    let results: Vec<_> = results.enumerate().collect();
    let errors = results.iter().filter_map(|(node, result)| match result {
        Some(Err(error)) => Some(format!("node {node}: {error}")),
        _ => None,
    });
    let errors: Vec<_> = errors.collect();
    assert!(errors.is_empty(), "{case:?}:\n{}", errors.join("\n"));
    assert_eq!(end, RunEnd::Completed, "{case:?}");
    let records: Vec<Records> = results
        .into_iter()
        .map(|(_, result)| result.unwrap().unwrap())
        .collect();
    let lives = (0..).zip(&all).map(|(node, deliveries)| ProgramLife {
        node,
        ended_ps: None,
        deliveries: deliveries.clone(),
    });
    let verdict = judge(&lives.collect::<Vec<_>>(), true);
    assert!(verdict.messages.is_good(), "{case:?}: {verdict:?}");
    let sent = u64::from(case.nodes) * case.messages;
    assert_eq!(verdict.messages.delivered, sent, "{case:?}");
    let mut counts = Counts {
        messages: sent,
        ..Counts::default()
    };
    for group in 0..case.groups {
        counts.endings += case.endings(group).len();
        for at in 0..case.operations {
            judge_operation(&case, group, at, &records, &mut counts);
        }
    }
    counts
}

/// No member ends well before all have come whom it waits for.
fn judge_operation(case: &Case, group: u64, at: u64, records: &[Records], counts: &mut Counts) {
    let of_all: Vec<Option<&Record>> = records.iter().map(|own| own.get(&(group, at))).collect();
    counts.operations += usize::from(of_all.iter().any(Option::is_some));
    let all_posted = of_all
        .iter()
        .map(|record| record.map(|record| record.posted_ps));
    let last = all_posted.collect::<Option<Vec<_>>>();
    let last = last.and_then(|posted| posted.into_iter().max());
    let work = case.work(group, at);
    let mut well = 0;
    for (node, record) in of_all.iter().enumerate() {
        match record.and_then(|record| record.end) {
            Some((end, Status::Success)) => {
                well += 1;
                let waits = work.root().is_none_or(|root| root == node);
                assert!(
                    !waits || last.is_some_and(|last| last < end),
                    "{case:?}, group {group}, operation {at} ({work:?}): node {node} is early"
                );
            }
            Some(_) => counts.failures += 1,
            None => {}
        }
    }
    counts.everywhere += usize::from(well == of_all.len());
}

#[test]
fn members_that_end_leave_a_status_and_the_next_group_goes_on() {
    if !built() {
        return;
    }
    let counts = check(Case {
        seed: 7,
        nodes: 8,
        groups: 6,
        operations: 25,
        messages: 100,
    });
    assert!(counts.everywhere > 60, "{counts:?}");
    assert!(counts.failures > 7 && counts.endings > 1, "{counts:?}");
}

/// `LANIGON_COLLECTIVES=SEEDS`, or `FIRST:SEEDS`: that many cases of 32 nodes.
#[test]
fn many_lives_of_groups_of_32() {
    let Ok(wanted) = std::env::var("LANIGON_COLLECTIVES") else {
        return;
    };
    assert!(built());
    let (first, count) = wanted.split_once(':').unwrap_or(("0", &wanted));
    let (first, count): (u64, u64) = (first.parse().unwrap(), count.parse().unwrap());
    let next = std::sync::atomic::AtomicU64::new(first);
    let run = || {
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= first + count {
                return;
            }
            let counts = check(Case {
                seed,
                nodes: 32,
                groups: 20,
                operations: 40,
                messages: 300,
            });
            println!("seed {seed}: {counts:?}");
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        for thread in all {
            thread.join().unwrap();
        }
    });
}
