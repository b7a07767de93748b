//! A network of processes in one program: packets of a delivery between two ranks stay in order, everything else is random. A computation
//! takes rounds; packets with signals call the handler in them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use super::super::transport::{
    Arrival, BoardCollective, BoardResult, Delivery, Transport, TransportError,
};

use crate::window::{Computation, SignalHandler};

/// Longest message that is sent at once here.
pub const EAGER_BYTES: usize = 256;
/// Packets between two ranks that are under way at most.
const MOST_UNDER_WAY: usize = 3;

/// Operations of boards that a rank has under way at most.
pub const MOST_COLLECTIVES: usize = 3;
/// Longest block that boards gather here.
pub const BLOCK_BYTES: usize = 64;

/// Sender, target and delivery.
type Way = (usize, usize, Delivery);

/// State that all processes share.
pub struct Net {
    size: usize,
    /// Arrivals under way, by sender, target and delivery.
    under_way: BTreeMap<Way, VecDeque<Arrival>>,
    /// Handlers of signals, by rank, but while they run.
    handlers: BTreeMap<usize, SignalHandler>,
    /// Ranks whose signals are enabled.
    enabled: BTreeSet<usize>,
    /// Signals that wait, by rank.
    signals: BTreeSet<usize>,
    /// Handlers that have run.
    pub handled: usize,
    /// Arrivals that the own actions of a rank cause.
    own: BTreeMap<usize, VecDeque<Arrival>>,
    /// Pairs whose packets found no room.
    refused: BTreeSet<Way>,
    landings: BTreeMap<u64, (usize, usize)>,
    next_landing: u64,
    /// State of the random numbers.
    random: u64,
    /// Whether something has happened in this round.
    moved: bool,
    /// No arrival is possible any more: waits end.
    stuck: bool,
    /// Copied bytes.
    pub copied: usize,
    /// Ranks that cannot be reached.
    pub dead: Vec<usize>,
    /// Ranks without memory for long messages.
    pub full: Vec<usize>,
    /// Operations of boards, by the order in which a rank begins them, with what ranks have given; `None` at the end.
    collectives: Vec<Vec<Option<BoardCollective>>>,
    /// Operations that each rank has begun, and how many of them have ended.
    begun: Vec<(usize, usize)>,
    /// Ends of operations that the ranks have not taken.
    ends: BTreeMap<usize, Vec<Arrival>>,
    /// Operations of a rank that were under way at the same time, at most.
    pub most_collectives: usize,
}

impl Net {
    /// A network.
    pub fn new(size: usize, seed: u64) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            size,
            under_way: BTreeMap::new(),
            handlers: BTreeMap::new(),
            enabled: BTreeSet::new(),
            signals: BTreeSet::new(),
            handled: 0,
            own: BTreeMap::new(),
            refused: BTreeSet::new(),
            landings: BTreeMap::new(),
            next_landing: 1,
            random: seed | 1,
            moved: false,
            stuck: false,
            copied: 0,
            dead: Vec::new(),
            full: Vec::new(),
            collectives: Vec::new(),
            begun: vec![(0, 0); size],
            ends: BTreeMap::new(),
            most_collectives: 0,
        }))
    }

    fn random(&mut self, below: usize) -> usize {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % below.max(1)
    }

    /// An operation of the boards gets what a rank gives, and ends with what the last one gives.
    fn collect(&mut self, rank: usize, given: &BoardCollective) -> u64 {
        let number = self.begun[rank].0;
        self.begun[rank].0 += 1;
        let size = self.size;
        if number == self.collectives.len() {
            self.collectives.push(vec![None; size]);
        }
        self.collectives[number][rank] = Some(given.clone());
        let all: Vec<_> = self.collectives[number].iter().flatten().cloned().collect();
        if all.len() == size {
            for to in 0..size {
                let end = Arrival::CollectiveEnded {
                    name: number as u64,
                    result: result_of(&all, to),
                };
                self.ends.entry(to).or_default().push(end);
            }
        }
        number as u64
    }

    fn take(&mut self, rank: usize) -> Option<Arrival> {
        let waiting = self.ends.get(&rank).map_or(0, Vec::len);
        if waiting > 0 && (self.stuck || self.random(2) == 0) {
            // In any order.
            let at = self.random(waiting);
            self.begun[rank].1 += 1;
            return self.ends.get_mut(&rank).map(|ends| ends.swap_remove(at));
        }
        if let Some(own) = self.own.get_mut(&rank).and_then(VecDeque::pop_front) {
            return Some(own);
        }
        let from: Vec<Way> = self
            .under_way
            .iter()
            .filter(|((_, to, _), queue)| *to == rank && !queue.is_empty())
            .map(|(pair, _)| *pair)
            .collect();
        if from.is_empty() {
            return None;
        }
        let chosen = from[self.random(from.len())];
        if self.refused.remove(&chosen) {
            let own = self.own.entry(chosen.0).or_default();
            own.push_back(Arrival::Progress);
        }
        self.under_way.get_mut(&chosen)?.pop_front()
    }
}

/// The result for a rank of what all have given.
fn result_of(all: &[BoardCollective], rank: usize) -> BoardResult {
    use BoardCollective::{AllGather, AllReduce, Barrier, Reduce};
    let mut blocks = Vec::new();
    let mut reduced = None;
    for one in all {
        assert_eq!(
            std::mem::discriminant(one),
            std::mem::discriminant(&all[0]),
            "the same order everywhere"
        );
        match one {
            Barrier => return BoardResult::Value(0),
            AllGather { block } => blocks.extend(block),
            AllReduce { operation, value }
            | Reduce {
                operation, value, ..
            } => {
                let with = |so_far| defs::gm::combine::combine(*operation as u32, so_far, *value);
                reduced = Some(reduced.map_or(*value, with));
            }
        }
    }
    match (reduced, &all[0]) {
        (None, _) => BoardResult::Blocks(blocks),
        (Some(_), Reduce { root, .. }) if *root != rank => BoardResult::Value(0),
        (Some(value), _) => BoardResult::Value(value),
    }
}

/// The process of one rank.
#[derive(Clone)]
pub struct Process {
    pub net: Arc<Mutex<Net>>,
    pub rank: usize,
}

impl Process {
    fn lock(&self) -> MutexGuard<'_, Net> {
        self.net.lock().expect("no panic")
    }
}

impl Process {
    /// The handler, if a signal waits.
    fn signalled(&self) -> Option<SignalHandler> {
        let mut net = self.lock();
        match net.signals.contains(&self.rank) {
            true => net.handlers.remove(&self.rank),
            false => None,
        }
    }

    /// Computes for so many rounds. Signals interrupt that.
    async fn rounds(&self, rounds: u64) {
        let mut left = rounds;
        while left > 0 {
            let mut yielded = false;
            std::future::poll_fn(|_| match std::mem::replace(&mut yielded, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
            self.lock().moved = true;
            left -= 1;
            let handler = self.signalled();
            if let Some(mut handler) = handler {
                handler().await;
                let mut net = self.lock();
                net.handled += 1;
                net.handlers.insert(self.rank, handler);
            }
        }
    }
}

impl Transport for Process {
    fn size(&self) -> usize {
        self.lock().size
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn eager_bytes(&self) -> usize {
        EAGER_BYTES
    }

    async fn post(
        &mut self,
        to: usize,
        delivery: Delivery,
        header: &[u8],
        content: &[u8],
    ) -> Result<bool, TransportError> {
        let from = self.rank;
        assert!(to != from, "own messages do not leave");
        let mut net = self.lock();
        if net.dead.contains(&to) {
            let why = "closed".to_owned();
            let failed = Arrival::Failed { to, why };
            net.own.entry(from).or_default().push_back(failed);
            return Ok(true);
        }
        let way = (from, to, delivery);
        let queue = net.under_way.entry(way).or_default();
        if queue.len() >= MOST_UNDER_WAY {
            net.refused.insert(way);
            return Ok(false);
        }
        let bytes = [header, content].concat();
        queue.push_back(Arrival::Packet { from, bytes });
        if delivery == Delivery::Signal && net.enabled.contains(&to) {
            net.signals.insert(to);
        }
        net.moved = true;
        Ok(true)
    }

    async fn next(&mut self, _: u64) -> Result<Option<Arrival>, TransportError> {
        std::future::poll_fn(|_| {
            let rank = self.rank;
            let mut net = self.lock();
            // Processes run at different speeds.
            if net.random(3) > 0
                && let Some(arrival) = net.take(rank)
            {
                net.moved = true;
                return Poll::Ready(Ok(Some(arrival)));
            }
            match net.stuck {
                true => Poll::Ready(Ok(net.take(rank))),
                false => Poll::Pending,
            }
        })
        .await
    }

    async fn poll(&mut self) -> Result<Option<Arrival>, TransportError> {
        let rank = self.rank;
        Ok(self.lock().take(rank))
    }

    async fn land(&mut self, from: usize, length: usize) -> Result<u64, TransportError> {
        let mut net = self.lock();
        if net.full.contains(&self.rank) {
            return Err(TransportError::NoMemory { bytes: 0 });
        }
        let landing = net.next_landing;
        net.next_landing += 1;
        net.landings.insert(landing, (from, length));
        Ok(landing)
    }

    async fn transfer(
        &mut self,
        to: usize,
        landing: u64,
        bytes: &[u8],
    ) -> Result<Option<u64>, TransportError> {
        let from = self.rank;
        let mut net = self.lock();
        if net.full.contains(&from) {
            return Err(TransportError::NoMemory { bytes: 0 });
        }
        let place = net.landings.remove(&landing);
        assert_eq!(place, Some((from, bytes.len())), "memory for these bytes");
        let bytes = bytes.to_vec();
        let way = (from, to, Delivery::Quiet);
        let queue = net.under_way.entry(way).or_default();
        queue.push_back(Arrival::Landed { landing, bytes });
        let transfer = 1 << 40 | landing;
        let own = net.own.entry(from).or_default();
        own.push_back(Arrival::Transferred { transfer });
        net.moved = true;
        Ok(Some(transfer))
    }

    async fn begin_collective(
        &mut self,
        collective: &BoardCollective,
    ) -> Result<Option<u64>, TransportError> {
        let rank = self.rank;
        let mut net = self.lock();
        let (begun, ended) = net.begun[rank];
        if begun - ended >= MOST_COLLECTIVES {
            return Ok(None);
        }
        net.moved = true;
        net.most_collectives = net.most_collectives.max(begun - ended + 1);
        Ok(Some(net.collect(rank, collective)))
    }

    fn board_block_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    async fn on_signal(&mut self, handler: SignalHandler) -> Result<Computation, TransportError> {
        self.lock().handlers.insert(self.rank, handler);
        let process = self.clone();
        Ok(Box::new(move |rounds| {
            let process = process.clone();
            Box::pin(async move { process.rounds(rounds).await })
        }))
    }

    async fn enable_signals(&mut self, enabled: bool) -> Result<(), TransportError> {
        let mut net = self.lock();
        match enabled {
            true => net.enabled.insert(self.rank),
            false => net.enabled.remove(&self.rank),
        };
        Ok(())
    }

    async fn end_signal(&mut self) {
        let rank = self.rank;
        self.lock().signals.remove(&rank);
    }

    fn is_flushed(&mut self) -> bool {
        true
    }

    async fn compute(&mut self, _: u64) {}

    async fn charge_copy(&mut self, bytes: usize) {
        self.lock().copied += bytes;
    }

    async fn charge_arrival(&mut self, _: usize) {}

    fn copied_ps(&self) -> u64 {
        0
    }

    fn now_ps(&self) -> u64 {
        0
    }
}

/// Runs a program on each rank until all have ended; returns what they return. When nothing moves any more, waits end.
pub fn run<R, F: Future<Output = R>>(
    size: usize,
    seed: u64,
    program: impl Fn(Process) -> F,
) -> Vec<R> {
    let net = Net::new(size, seed);
    run_on(&net, program)
}

/// [`run`] on a network.
pub fn run_on<R, F: Future<Output = R>>(
    net: &Arc<Mutex<Net>>,
    program: impl Fn(Process) -> F,
) -> Vec<R> {
    let size = net.lock().expect("no panic").size;
    let process = |rank| Process {
        net: Arc::clone(net),
        rank,
    };
    let mut programs: Vec<Pin<Box<F>>> = (0..size)
        .map(|rank| Box::pin(program(process(rank))))
        .collect();
    let mut results: Vec<Option<R>> = (0..size).map(|_| None).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut idle = 0;
    while results.iter().any(Option::is_none) {
        net.lock().expect("no panic").moved = false;
        for (program, result) in programs.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ended) = pin!(program).poll(&mut context)
            {
                *result = Some(ended);
                net.lock().expect("no panic").moved = true;
            }
        }
        let mut net = net.lock().expect("no panic");
        idle = match net.moved {
            true => 0,
            false => idle + 1,
        };
        // Random numbers let a process wait some rounds for what is there.
        net.stuck = idle > 200;
    }
    results.into_iter().flatten().collect()
}
