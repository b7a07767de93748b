//! Radix sort, after SPLASH-2: each pass sorts by one digit. A node counts the digits of its keys, all nodes add their counts, and each
//! node writes its keys to their places in the other array, which are anywhere in it.

use host_lib::dsm::Shared;

use super::random::Keys;
use super::{Verified, Worker, part, text};

/// Values of a digit.
const RADIX: usize = 1024;
/// Digits of a key.
const DIGITS: u32 = 2;
/// Keys are below this.
const LIMIT: u32 = (RADIX * RADIX) as u32;
/// Cycles of the host: a key is counted.
const COUNT_CYCLES: u64 = 8;
/// A key is moved.
const MOVE_CYCLES: u64 = 14;
/// A count is added to another one.
const ADD_CYCLES: u64 = 3;

/// Elements of shared memory, as numbers of words for each region.
pub(super) const fn words(keys: usize, nodes: usize) -> [usize; 4] {
    [keys, keys, nodes * RADIX, DIGITS as usize * RADIX]
}

/// The shared memory of a sort.
struct Sort {
    from: Shared<u32>,
    to: Shared<u32>,
    /// The counts of each node.
    counts: Shared<u32>,
    /// The sums of all nodes, for each pass.
    sums: Shared<u32>,
}

const fn digit(key: u32, pass: u32) -> usize {
    (key / (RADIX as u32).pow(pass)) as usize % RADIX
}

fn keys_of(first: usize, count: usize) -> Vec<u32> {
    let mut keys = Keys::new(1);
    keys.skip(first);
    (0..count).map(|_| keys.below(LIMIT)).collect()
}

/// Sorts; the first node compares the result with a sort by one process.
pub(super) async fn run(worker: &mut Worker, keys: usize) -> Result<Verified, String> {
    let [a, b, counts, sums] = words(keys, worker.nodes());
    let mut sort = Sort {
        from: worker.dsm.allocate(a).map_err(text)?,
        to: worker.dsm.allocate(b).map_err(text)?,
        counts: worker.dsm.allocate(counts).map_err(text)?,
        sums: worker.dsm.allocate(sums).map_err(text)?,
    };
    let own = part(keys, worker.nodes(), worker.rank());
    let initial = keys_of(own.start, own.len());
    let dsm = &mut worker.dsm;
    dsm.write(sort.from, own.start, &initial)
        .await
        .map_err(text)?;
    // The first touch of the other array.
    let zeros = vec![0; own.len()];
    dsm.write(sort.to, own.start, &zeros).await.map_err(text)?;
    worker.begin().await?;
    for pass in 0..DIGITS {
        sort.pass(worker, keys, pass).await?;
        std::mem::swap(&mut sort.from, &mut sort.to);
    }
    worker
        .end(async |worker: &mut Worker| {
            let sorted = worker.dsm.read(sort.from, 0..keys).await.map_err(text)?;
            let mut expected = keys_of(0, keys);
            expected.sort_unstable();
            Ok(sorted == expected)
        })
        .await
}

impl Sort {
    async fn pass(&self, worker: &mut Worker, keys: usize, pass: u32) -> Result<(), String> {
        let own = part(keys, worker.nodes(), worker.rank());
        let mine = worker.dsm.read(self.from, own.clone()).await;
        let mine = mine.map_err(text)?;
        let mut counts = vec![0_u32; RADIX];
        mine.iter().for_each(|key| counts[digit(*key, pass)] += 1);
        worker.work(mine.len() as u64 * COUNT_CYCLES).await?;
        let first = worker.rank() * RADIX;
        let written = worker.dsm.write(self.counts, first, &counts).await;
        written.map_err(text)?;
        let sums = pass as usize * RADIX;
        worker.add_under_locks(self.sums, sums, &counts).await?;
        worker.barrier().await?;
        let mut places = self.places(worker, sums).await?;
        let mut sorted = vec![Vec::new(); RADIX];
        mine.iter()
            .for_each(|key| sorted[digit(*key, pass)].push(*key));
        for (place, keys) in places.iter_mut().zip(&sorted) {
            let written = worker.dsm.write(self.to, *place as usize, keys).await;
            written.map_err(text)?;
            worker.work(keys.len() as u64 * MOVE_CYCLES).await?;
        }
        worker.barrier().await
    }

    /// For each digit the place of the node's first key with it.
    async fn places(&self, worker: &mut Worker, sums: usize) -> Result<Vec<u32>, String> {
        let rank = worker.rank();
        let dsm = &mut worker.dsm;
        let totals = dsm
            .read(self.sums, sums..sums + RADIX)
            .await
            .map_err(text)?;
        let before = dsm.read(self.counts, 0..rank * RADIX).await.map_err(text)?;
        let mut at = 0;
        let mut places = Vec::with_capacity(RADIX);
        for (digit, total) in totals.iter().enumerate() {
            let lower = before.iter().skip(digit).step_by(RADIX);
            places.push(at + lower.sum::<u32>());
            at += total;
        }
        let additions = (RADIX * (rank + 1)) as u64;
        worker.work(additions * ADD_CYCLES).await?;
        Ok(places)
    }
}
