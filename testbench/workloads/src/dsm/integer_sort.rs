//! Integer sort, after the version of TreadMarks: keys stay with their nodes. In each round a node counts its keys, adds its counts to the
//! shared ones, section by section under locks, and reads them all to find the ranks of its keys.

use host_lib::dsm::Shared;

use super::random::Keys;
use super::{Verified, Worker, part, text};

/// Values of a key.
const VALUES: usize = 1 << 15;
/// Cycles of the host: a key is counted.
const COUNT_CYCLES: u64 = 8;
/// A key gets its rank.
const RANK_CYCLES: u64 = 10;
/// A count is added to the sum of those before it.
const ADD_CYCLES: u64 = 3;

/// Elements of shared memory.
pub(super) const fn words() -> usize {
    VALUES
}

fn keys_of(range: std::ops::Range<usize>) -> Vec<u32> {
    let mut keys = Keys::new(2);
    keys.skip(range.start);
    range.map(|_| keys.below(VALUES as u32)).collect()
}

fn counts_of(keys: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; VALUES];
    keys.iter().for_each(|key| counts[*key as usize] += 1);
    counts
}

/// Ranks the keys `rounds` times; the first node compares the last counts with those of one process.
pub(super) async fn run(worker: &mut Worker, keys: usize, rounds: u32) -> Result<Verified, String> {
    let shared: Shared<u32> = worker.dsm.allocate(words()).map_err(text)?;
    let own = part(keys, worker.nodes(), worker.rank());
    let section = part(VALUES, worker.nodes(), worker.rank());
    let mine = keys_of(own);
    let zeros = vec![0; section.len()];
    let first = worker.dsm.write(shared, section.start, &zeros).await;
    first.map_err(text)?;
    worker.begin().await?;
    for round in 0..rounds {
        let counts = counts_of(&mine);
        worker.work(mine.len() as u64 * COUNT_CYCLES).await?;
        worker.add_under_locks(shared, 0, &counts).await?;
        worker.barrier().await?;
        worker.dsm.read(shared, 0..VALUES).await.map_err(text)?;
        let (sums, ranks) = (VALUES as u64, mine.len() as u64);
        worker.work(sums * ADD_CYCLES + ranks * RANK_CYCLES).await?;
        worker.barrier().await?;
        if round + 1 < rounds {
            let cleared = worker.dsm.write(shared, section.start, &zeros).await;
            cleared.map_err(text)?;
            worker.barrier().await?;
        }
    }
    worker
        .end(async |worker: &mut Worker| {
            let counts = worker.dsm.read(shared, 0..VALUES).await.map_err(text)?;
            Ok(counts == counts_of(&keys_of(0..keys)))
        })
        .await
}
