//! Scripts of collective operations: the messages of one rank, one after the other. A script does no communication.

use std::collections::VecDeque;
use std::ops::Range;

use super::communicator::Communicator;
use super::error::MpiError;
use crate::gm::collective::schedule;

/// A message of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptStep {
    /// Send these bytes of the data to a rank.
    Send { to: usize, bytes: Range<usize> },
    /// Receive bytes of a rank in place of these.
    Place { from: usize, bytes: Range<usize> },
    /// Receive all bytes of a rank, and combine the elements with the own ones.
    Combine { from: usize },
}

/// The messages of a rank.
pub(super) type Script = VecDeque<ScriptStep>;

/// Pairwise exchange of empty messages.
pub(super) fn barrier(world: &Communicator) -> Script {
    let schedule::Exchange { guest, peers } = schedule::exchange(world.position());
    let place = |from| ScriptStep::Place { from, bytes: 0..0 };
    let send = |to| ScriptStep::Send { to, bytes: 0..0 };
    let steps = guest.map(place).into_iter();
    let exchanged = peers.iter().flat_map(|peer| [send(*peer), place(*peer)]);
    steps.chain(exchanged).chain(guest.map(send)).collect()
}

/// So many bytes of the root, along a binomial tree.
pub(super) fn broadcast(
    world: &Communicator,
    root: usize,
    length: usize,
) -> Result<Script, MpiError> {
    let tree = world.binomial(root)?;
    let bytes = 0..length;
    let place = |from| ScriptStep::Place {
        from,
        bytes: bytes.clone(),
    };
    // The largest subtree first.
    let sends = tree.children.iter().rev().map(|to| ScriptStep::Send {
        to: *to,
        bytes: bytes.clone(),
    });
    Ok(tree.parent.map(place).into_iter().chain(sends).collect())
}

/// Up a binomial tree to rank 0, and down again: the messages of a reduction and a broadcast.
pub(super) fn all_reduce(world: &Communicator, length: usize) -> Result<Script, MpiError> {
    let tree = world.binomial(0)?;
    let combined = tree.children.iter();
    let combined = combined.map(|from| ScriptStep::Combine { from: *from });
    let up = tree.parent.map(|to| ScriptStep::Send {
        to,
        bytes: 0..length,
    });
    let mut script: Script = combined.chain(up).collect();
    script.extend(broadcast(world, 0, length)?);
    Ok(script)
}

/// Blocks of so many bytes around a ring.
pub(super) fn all_gather(world: &Communicator, length: usize) -> Script {
    let (rank, size) = (world.rank(), world.size());
    let block = |behind: usize| {
        let place = (rank + size - behind) % size;
        place * length..(place + 1) * length
    };
    let step = |step: usize| {
        let to = (rank + 1) % size;
        let from = (rank + size - 1) % size;
        [
            ScriptStep::Send {
                to,
                bytes: block(step),
            },
            ScriptStep::Place {
                from,
                bytes: block(step + 1),
            },
        ]
    };
    (0..size - 1).flat_map(step).collect()
}
