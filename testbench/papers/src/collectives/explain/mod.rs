//! `--explain`: which member of one operation waited for whom, along the critical path: from the last return of a call back to the call
//! on which it depended last.
//!
//! On hosts a member's call ends, or its next message begins, after the last receive that has returned before: the path is made of
//! the ledgers of messages. On boards the packets and their heads tell the same (`boards`).

mod boards;
mod text;

use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;
use host_lib::gm::collective::{Barrier, Shape};
use lanigon_analysis::ledger::follow::Follower;
use lanigon_analysis::ledger::{Ledger, Owner};
use lanigon_experiments::Error;
use lanigon_experiments::paper::Paper;
use lanigon_workloads::collective::{Broadcast, CollectiveWork, ExecutedOn, Round, Settings, Type};
use lanigon_worlds::boards::Protocol;
use serde::Serialize;

use super::measure::{LEAF_LATE_NS, mpi_rounds, reductions, rounds_of};
use crate::gm::bench::Setup;
use boards::Recorder;

pub(super) use text::write;

/// Rounds; the last one is explained.
const ROUNDS: u64 = 2;
/// Name of a host's own time.
const LIBRARY: &str = "library";

/// A part of the path: what a member did, or waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leg {
    /// Rank of the member; on the wire that of the sender.
    pub rank: u16,
    /// Place at which the time passed.
    pub place: &'static str,
    /// Work or wait of the leg.
    pub what: String,
    /// Start since the call with which the path begins, in picoseconds.
    pub from_ps: u64,
    /// End, likewise: where the next leg begins.
    pub to_ps: u64,
}

/// The critical path of one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Name of the profile.
    pub profile: String,
    /// Description of the operation.
    pub operation: String,
    /// Executor of the operation.
    pub on: &'static str,
    /// Number of members.
    pub members: u16,
    /// Rank whose call returned last: the end of the path.
    pub last_rank: u16,
    /// Rank that called last.
    pub last_caller: u16,
    /// Call of the member since the one with which the path begins, in picoseconds: negative if it was earlier.
    pub last_call_ps: i64,
    /// Time from the call with which the path begins to the last return, in picoseconds: the sum of all legs.
    pub whole_ps: u64,
    /// Messages or packets on the path.
    pub hops: usize,
    /// The path.
    pub legs: Vec<Leg>,
}

/// Operations of a paper that are explained: profile, members, operation; each on both executors as far as it exists there.
#[must_use]
pub fn subjects(paper: &Paper) -> Vec<(&'static str, u16, Settings)> {
    const L4: &str = "lanai4.3-33";
    const L7: &str = "lanai7.2-66";
    let on = ExecutedOn::Host;
    let rounds = |work| rounds_of(work, on, ROUNDS);
    let barrier = |algorithm| rounds(CollectiveWork::Barrier(algorithm));
    let broadcast = |algorithm, bytes| {
        let work = CollectiveWork::AllToAll { algorithm, bytes };
        ("gossip-lanai9.1-133", 16, rounds(work))
    };
    let reduction = |last_late_ns| {
        let settings = reductions(Shape::Binomial, Type::Integer, 0, (on, ROUNDS));
        let settings = Settings {
            last_late_ns,
            ..settings
        };
        ("lanai9.1-133", 16, settings)
    };
    let tree = Barrier::GatherBroadcast { root: 0, degree: 2 };
    match paper.name {
        "barrier" => vec![
            (L4, 16, barrier(Barrier::PairwiseExchange)),
            (L4, 16, barrier(tree)),
            (L7, 8, barrier(Barrier::PairwiseExchange)),
        ],
        "reduction" => vec![reduction(LEAF_LATE_NS), reduction(0)],
        "gossip" => vec![
            broadcast(Broadcast::RecursiveDoubling, 4),
            broadcast(Broadcast::ConcurrentBroadcasting, 4096),
        ],
        _ => vec![
            (L4, 16, mpi_rounds(on, ROUNDS)),
            (L7, 8, mpi_rounds(on, ROUNDS)),
        ],
    }
}

/// Whether an operation exists on a place.
#[must_use]
pub const fn is_on(work: CollectiveWork, on: ExecutedOn) -> bool {
    match work {
        CollectiveWork::AllToAll { algorithm, .. } => algorithm.is_on(on),
        _ => true,
    }
}

/// The calls of a round, by rank: start and return.
struct Calls(Vec<Round>);

impl Calls {
    /// Rank of the call that ended the operation: of a reduction to one member, that member's.
    fn last_return(&self, work: CollectiveWork) -> Option<u16> {
        let ranks = 0..self.0.len();
        let last = ranks.max_by_key(|rank| self.0[*rank].ended_ps)?;
        Some(work.root().unwrap_or(last) as u16)
    }

    fn last_call(&self) -> Option<u16> {
        let last = (0..self.0.len()).max_by_key(|rank| self.0[*rank].began_ps)?;
        Some(last as u16)
    }

    fn began(&self, rank: u16) -> SimTime {
        let round = self.0.get(usize::from(rank));
        round.map_or(SimTime::ZERO, |round| SimTime::from_ps(round.began_ps))
    }

    fn ended(&self, rank: u16) -> SimTime {
        let round = self.0.get(usize::from(rank));
        round.map_or(SimTime::ZERO, |round| SimTime::from_ps(round.ended_ps))
    }
}

/// A path that is walked from its end: legs in reverse order.
struct CriticalPath {
    legs: Vec<(u16, &'static str, String, SimTime)>,
    /// Start of the last leg.
    at: SimTime,
    end: SimTime,
    hops: usize,
}

impl CriticalPath {
    const fn new(end: SimTime) -> Self {
        Self {
            legs: Vec::new(),
            at: end,
            end,
            hops: 0,
        }
    }

    /// Adds a leg before the others, from `from` on; none without time.
    fn back_to(&mut self, from: SimTime, rank: u16, place: &'static str, what: impl Into<String>) {
        if from < self.at {
            self.legs.push((rank, place, what.into(), from));
            self.at = from;
        }
    }

    fn legs(self) -> Vec<Leg> {
        let begin = self.at;
        let since = |time: SimTime| time.saturating_sub(begin).ps();
        let mut to_ps = since(self.end);
        let leg = |(rank, place, what, from)| {
            let from_ps = since(from);
            Leg {
                rank,
                place,
                what,
                from_ps,
                to_ps: std::mem::replace(&mut to_ps, from_ps),
            }
        };
        let mut legs: Vec<_> = self.legs.into_iter().map(leg).collect();
        legs.reverse();
        legs
    }
}

impl Setup<'_> {
    /// Explains an operation among this many nodes: the last of some rounds.
    ///
    /// # Errors
    /// [`Error`].
    pub fn explain_operation(&self, nodes: u16, settings: &Settings) -> Result<Explanation, Error> {
        let members: Vec<_> = (0..usize::from(nodes)).collect();
        let follower = Follower::new(Protocol::Gm, self.profile);
        let recorder = Recorder::default();
        let observer: Box<dyn Observer> = match settings.on {
            ExecutedOn::Host => Box::new(follower.clone()),
            ExecutedOn::Nic => Box::new(recorder.clone()),
        };
        let measured = self.run_program(&members, settings.clone(), Some(observer))?;
        let calls = Calls(measured.last_rounds()?);
        let found = calls.last_return(settings.work).zip(calls.last_call());
        let (last_rank, last_caller) = found.ok_or(Error::NoRound)?;
        let path = match settings.on {
            ExecutedOn::Host => {
                let account = follower.account(self.profile);
                let account = account.map_err(|error| Error::Request(error.to_string()))?;
                on_hosts(&account.ledgers, &calls, last_rank)
            }
            ExecutedOn::Nic => recorder.path(&calls, last_rank),
        };
        let began = path.at.ps().cast_signed();
        let hops = path.hops;
        Ok(Explanation {
            profile: self.profile.name.clone(),
            operation: name(settings),
            on: settings.on.name(),
            members: nodes,
            last_rank,
            last_caller,
            last_call_ps: calls.began(last_caller).ps().cast_signed() - began,
            whole_ps: path.end.saturating_sub(path.at).ps(),
            hops,
            legs: path.legs(),
        })
    }
}

/// The path over messages of hosts.
fn on_hosts(ledgers: &[Ledger], calls: &Calls, last: u16) -> CriticalPath {
    let mut path = CriticalPath::new(calls.ended(last));
    let mut rank = last;
    loop {
        let began = calls.began(rank);
        let into = ledgers.iter().filter(|ledger| ledger.id.to == rank);
        let end = |ledger: &Ledger| ledger.spans.last().map(|span| span.to);
        let in_time =
            |ledger: &&Ledger| end(ledger).is_some_and(|end| began < end && end <= path.at);
        let cause = into.filter(in_time).max_by_key(|ledger| end(ledger));
        let Some(cause) = cause else {
            path.back_to(began, rank, "host", LIBRARY);
            return path;
        };
        path.back_to(end(cause).unwrap_or(path.at), rank, "host", LIBRARY);
        path.hops += 1;
        for span in cause.spans.iter().rev() {
            let (at, place) = match span.owner {
                Owner::SenderHost => (cause.id.from, "host"),
                Owner::SenderNic => (cause.id.from, "NIC"),
                Owner::Wire => (cause.id.from, "wire"),
                Owner::ReceiverNic => (rank, "NIC"),
                Owner::ReceiverHost => (rank, "host"),
            };
            let what = match span.owner {
                Owner::Wire => format!("to {rank}: {}", span.what),
                _ => span.what.clone(),
            };
            path.back_to(span.from, at, place, what);
        }
        rank = cause.id.from;
    }
}

fn name(settings: &Settings) -> String {
    match settings.work {
        CollectiveWork::Barrier(Barrier::PairwiseExchange) => "barrier by pairwise exchange".into(),
        CollectiveWork::Barrier(Barrier::GatherBroadcast { degree, .. }) => {
            format!("barrier by gather and broadcast, degree {degree}")
        }
        CollectiveWork::Reduction { .. } if settings.last_late_ns > 0 => {
            "reduction along a binomial tree, the last leaf late".into()
        }
        CollectiveWork::Reduction { .. } => "reduction along a binomial tree".into(),
        CollectiveWork::AllToAll { algorithm, bytes } => {
            let algorithm = match algorithm {
                Broadcast::RecursiveDoubling => "recursive doubling",
                Broadcast::Ring => "ring",
                Broadcast::ConcurrentBroadcasting => "concurrent broadcasting",
            };
            format!("all-to-all broadcast of {bytes} bytes, {algorithm}")
        }
        CollectiveWork::Random { .. } => "any operation".into(),
    }
}
