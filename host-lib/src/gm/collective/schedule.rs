//! Schedules of collective operations, each computed for one rank.
//!
//! Sources: pairwise exchange and gather-broadcast barriers, Buntinas 2003, section 3.3.1; concurrent broadcasting, the
//! paper on NIC-based all-to-all broadcast, section 4.3.3.

use std::ops::Range;

use thiserror::Error;

use super::Group;

/// A rank among others: what a schedule is computed for. A [`Group`] has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The own rank.
    pub rank: usize,
    /// Number of ranks, more than the rank.
    pub size: usize,
}

impl Position {
    /// Distance from `other` up to this rank, counted around.
    const fn behind(self, other: usize) -> usize {
        (self.rank + self.size - other) % self.size
    }
}

impl From<&Group> for Position {
    fn from(group: &Group) -> Self {
        Self {
            rank: group.rank(),
            size: group.size(),
        }
    }
}

/// A schedule cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// The root, or the origin of a broadcast, is no rank.
    #[error("rank {rank} is outside of a group of {members} members")]
    Rank {
        /// The rank outside of the group.
        rank: usize,
        /// Members of the group.
        members: usize,
    },
    /// Nodes of a tree without children.
    #[error("a tree of degree 0")]
    Degree,
}

/// Messages of one rank in a pairwise exchange, in this order: it receives from the guest; it sends to each peer and
/// receives from it before it goes on to the next one; it sends to the guest.
///
/// With a power of two of members no rank has a guest. Otherwise the first `S` ranks, the largest power of two, exchange
/// among themselves; rank `S + i` is the guest of rank `i`, which is its only peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The rank that takes part through this one.
    pub guest: Option<usize>,
    /// Ranks with which this one exchanges a message, in the order of the steps.
    pub peers: Vec<usize>,
}

/// The pairwise exchange of the own rank.
#[must_use]
pub fn exchange(at: impl Into<Position>) -> Exchange {
    let Position { rank: own, size } = at.into();
    let inside = inside(size);
    if own >= inside {
        return Exchange {
            guest: None,
            peers: vec![own - inside],
        };
    }
    Exchange {
        guest: guest(own, inside, size),
        peers: distances(inside).map(|distance| own ^ distance).collect(),
    }
}

/// The largest power of two that is no larger than `size`.
const fn inside(size: usize) -> usize {
    1 << size.ilog2()
}

/// The guest of a rank among the first `inside` ones.
fn guest(own: usize, inside: usize, size: usize) -> Option<usize> {
    Some(own + inside).filter(|guest| *guest < size)
}

/// The powers of two below `limit`.
fn distances(limit: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |distance| Some(2 * distance))
        .take_while(move |distance| *distance < limit)
}

/// Neighbours of one rank in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The parent; `None` at the root.
    pub parent: Option<usize>,
    /// The children; in a binomial tree the one with the smallest subtree first, which is ready first in a reduction.
    pub children: Vec<usize>,
}

fn check(at: Position, rank: usize) -> Result<(), ScheduleError> {
    let members = at.size;
    match rank < members {
        true => Ok(()),
        false => Err(ScheduleError::Rank { rank, members }),
    }
}

/// The tree of the gather-broadcast barrier, filled level by level: each node has `degree` children while ranks last.
/// Degree 1 is a chain, degree `N - 1` a star.
///
/// # Errors
/// [`ScheduleError`].
pub fn tree(at: impl Into<Position>, root: usize, degree: usize) -> Result<Tree, ScheduleError> {
    let at = at.into();
    check(at, root)?;
    if degree == 0 {
        return Err(ScheduleError::Degree);
    }
    let size = at.size;
    let place = at.behind(root);
    let rank = |place: usize| (root + place) % size;
    let first = place.saturating_mul(degree).saturating_add(1).min(size);
    let last = first.saturating_add(degree).min(size);
    Ok(Tree {
        parent: place.checked_sub(1).map(|place| rank(place / degree)),
        children: (first..last).map(rank).collect(),
    })
}

/// The binomial tree.
///
/// # Errors
/// [`ScheduleError::Rank`].
pub fn binomial(at: impl Into<Position>, root: usize) -> Result<Tree, ScheduleError> {
    let at = at.into();
    check(at, root)?;
    let size = at.size;
    let place = at.behind(root);
    let rank = |place: usize| (root + place) % size;
    // A place's parent is the place without the lowest bit; its children add one of the bits below that one.
    let lowest = match place {
        0 => size.next_power_of_two(),
        _ => 1 << place.trailing_zeros(),
    };
    let children = distances(lowest).map(|distance| place + distance);
    Ok(Tree {
        parent: (place != 0).then(|| rank(place - lowest)),
        children: children
            .take_while(|place| *place < size)
            .map(rank)
            .collect(),
    })
}

/// Blocks that go to or come from a rank in one message, each named by the rank that it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSet {
    /// The other rank.
    pub peer: usize,
    /// The blocks, as ranges of ranks in the order of the message. None is empty.
    pub blocks: Vec<Range<usize>>,
}

impl BlockSet {
    fn new(peer: usize, blocks: impl IntoIterator<Item = Range<usize>>) -> Self {
        let blocks = blocks.into_iter().filter(|blocks| !blocks.is_empty());
        Self {
            peer,
            blocks: blocks.collect(),
        }
    }

    /// Number of blocks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.blocks.iter().map(ExactSizeIterator::len).sum()
    }
}

/// A step of an all-to-all broadcast: the message of a rank, then the message that it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeStep {
    /// The message to send.
    pub send: Option<BlockSet>,
    /// The message to receive.
    pub receive: Option<BlockSet>,
}

/// All-to-all broadcast by recursive doubling: in each step of a pairwise exchange ([`exchange`]) a rank sends all blocks
/// that it has. A guest gives its block before and gets the others afterwards.
#[must_use]
pub fn recursive_doubling(at: impl Into<Position>) -> Vec<ExchangeStep> {
    let Position { rank: own, size } = at.into();
    let all_but = |peer, left_out: usize| BlockSet::new(peer, [0..left_out, left_out + 1..size]);
    let one = |peer, rank: usize| BlockSet::new(peer, std::iter::once(rank..rank + 1));
    let inside = inside(size);
    if own >= inside {
        let host = own - inside;
        return vec![ExchangeStep {
            send: Some(one(host, own)),
            receive: Some(all_but(host, own)),
        }];
    }
    // What the ranks of an aligned run have, with their guests.
    let of_run = |peer, member: usize, length: usize| {
        let first = member & !(length - 1);
        let guests = (first + inside).min(size)..(first + length + inside).min(size);
        BlockSet::new(peer, [first..first + length, guests])
    };
    let guest = guest(own, inside, size);
    let before = guest.map(|guest| ExchangeStep {
        send: None,
        receive: Some(one(guest, guest)),
    });
    let after = guest.map(|guest| ExchangeStep {
        send: Some(all_but(guest, guest)),
        receive: None,
    });
    let exchanges = distances(inside).map(|distance| {
        let peer = own ^ distance;
        ExchangeStep {
            send: Some(of_run(peer, own, distance)),
            receive: Some(of_run(peer, peer, distance)),
        }
    });
    before.into_iter().chain(exchanges).chain(after).collect()
}

/// All-to-all broadcast around a ring: in each step a rank passes on the block that it got in the step before.
#[must_use]
pub fn ring(at: impl Into<Position>) -> Vec<ExchangeStep> {
    let Position { rank: own, size } = at.into();
    let behind = |count: usize| (own + size - count) % size;
    let part =
        |peer: usize, block: usize| Some(BlockSet::new(peer, std::iter::once(block..block + 1)));
    let step = |step: usize| ExchangeStep {
        send: part((own + 1) % size, behind(step)),
        receive: part(behind(1), behind(step + 1)),
    };
    (0..size - 1).map(step).collect()
}

/// A hop of a packet in a concurrent broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The rank that it goes to.
    pub to: usize,
    /// Logarithm to base 2 of the distance of the hop, which the packet carries: `j` of the flag `(i, j)`.
    pub exponent: u32,
}

/// Hops by which the own rank passes on a packet of rank `origin`, in order. `arrived` is the exponent that the packet came
/// with; `None` at its origin.
///
/// Each origin is the root of a binomial tree over the ranks as counted from itself. A packet that has come over a distance
/// of 2^j goes on over 2^(j+1), 2^(j+2), ..., as far as there are ranks.
///
/// # Errors
/// [`ScheduleError::Rank`].
pub fn concurrent_broadcast(
    at: impl Into<Position>,
    origin: usize,
    arrived: Option<u32>,
) -> Result<Vec<Hop>, ScheduleError> {
    let at = at.into();
    check(at, origin)?;
    Ok(hops(at, origin, arrived, at.behind(origin)))
}

/// The hops of [`concurrent_broadcast`] by the rule that the paper prints (section 4.3.3): the place of a rank in the tree
/// is `|rank - origin|`, not the distance around the group. Where a tree wraps past the last rank, packets are not
/// delivered. docs/collectives.md tells how many.
///
/// # Errors
/// [`ScheduleError::Rank`].
pub fn concurrent_broadcast_as_printed(
    at: impl Into<Position>,
    origin: usize,
    arrived: Option<u32>,
) -> Result<Vec<Hop>, ScheduleError> {
    let at = at.into();
    check(at, origin)?;
    Ok(hops(at, origin, arrived, at.rank.abs_diff(origin)))
}

fn hops(at: Position, origin: usize, arrived: Option<u32>, place: usize) -> Vec<Hop> {
    let size = at.size;
    let first = arrived.map_or(0, |exponent| exponent.saturating_add(1));
    let distance = |exponent: u32| 1usize.checked_shl(exponent).filter(|some| *some < size);
    let places = (first..)
        .map_while(|exponent| Some((exponent, place + distance(exponent)?)))
        .take_while(|(_, place)| *place < size);
    let hop = |(exponent, place)| Hop {
        to: (origin + place) % size,
        exponent,
    };
    places.map(hop).collect()
}
