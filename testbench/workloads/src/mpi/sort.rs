//! Integer sort (IS) of the NAS parallel benchmarks, classes S and W, written from its description.
//!
//! Keys are random; in each round two of them change, and each key gets its rank: the number of smaller keys. The verification is the
//! benchmark's own: the ranks of five keys are known for each class. In the end the keys are sorted and compared across ranks.

use host_lib::mpi::{Communicator, Mpi, MpiError, Operation, Transport};

use super::{MeasuredValue, MpiSettings};

/// Sizes of the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemClass {
    /// 2^16 keys below 2^11.
    S,
    /// 2^20 keys below 2^16.
    W,
}

/// Size and verification of a class.
struct Problem {
    keys: usize,
    largest: usize,
    /// Places of the keys that are verified.
    places: [usize; 5],
    /// Ranks of these keys before the first round.
    ranks: [i64; 5],
}

/// Rounds, in which a key of each end changes.
const ROUNDS: usize = 10;
/// The generator of the NAS benchmarks: x' = a x mod 2^46.
const MULTIPLIER: u64 = 1_220_703_125;
const SEED: u64 = 314_159_265;
const MODULUS_MASK: u64 = (1 << 46) - 1;
/// Random numbers of a key.
const DRAWS: u64 = 4;
/// Tag of the messages with keys.
const TAG: i32 = 1;

impl ProblemClass {
    const fn problem(self) -> Problem {
        match self {
            Self::S => Problem {
                keys: 1 << 16,
                largest: 1 << 11,
                places: [48427, 17148, 23627, 62548, 4431],
                ranks: [0, 18, 346, 64917, 65463],
            },
            Self::W => Problem {
                keys: 1 << 20,
                largest: 1 << 16,
                places: [357_773, 934_767, 875_723, 898_999, 404_505],
                ranks: [1249, 11698, 1_039_987, 1_043_896, 1_048_018],
            },
        }
    }

    /// The rank of a verified key in a round (from 1 on): low ones move up, high ones down.
    const fn rank(self, which: usize, round: usize) -> i64 {
        let base = self.problem().ranks[which];
        let round = (round as u64).cast_signed();
        match self {
            Self::S if which <= 2 => base + round,
            Self::S => base - round,
            Self::W if which < 2 => base + (round - 2),
            Self::W => base - round,
        }
    }
}

/// a^power x mod 2^46.
fn jump(mut power: u64) -> u64 {
    let (mut state, mut factor) = (SEED, MULTIPLIER);
    let product = |a: u64, b: u64| (u128::from(a) * u128::from(b)) as u64 & MODULUS_MASK;
    while power > 0 {
        if power & 1 == 1 {
            state = product(state, factor);
        }
        factor = product(factor, factor);
        power >>= 1;
    }
    state
}

/// The keys from `first` on.
fn keys(first: usize, count: usize, largest: usize) -> Vec<u32> {
    let mut state = jump(DRAWS * first as u64);
    let quarter = (largest / 4) as f64;
    let mut key = || {
        let sum: f64 = (0..DRAWS)
            .map(|_| {
                state = (u128::from(state) * u128::from(MULTIPLIER)) as u64 & MODULUS_MASK;
                state as f64 / (1u64 << 46) as f64
            })
            .sum();
        (quarter * sum) as u32
    };
    (0..count).map(|_| key()).collect()
}

/// A rank's part of the keys.
struct KeyRange {
    first: usize,
    keys: Vec<u32>,
}

impl KeyRange {
    /// The key at a place of the whole, if it is here.
    fn get_mut(&mut self, place: usize) -> Option<&mut u32> {
        let at = place.checked_sub(self.first)?;
        self.keys.get_mut(at)
    }
}

/// First place of a rank's part.
fn first(total: usize, ranks: usize, rank: usize) -> usize {
    total * rank / ranks
}

/// Sends each rank its range of the keys; the keys of the own range.
async fn redistribute<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    part: &KeyRange,
    largest: usize,
) -> Result<Vec<u32>, MpiError> {
    let (ranks, own) = (world.size(), world.rank());
    let begins: Vec<usize> = (1..ranks).map(|rank| first(largest, ranks, rank)).collect();
    let mut blocks = vec![Vec::new(); ranks];
    for &key in &part.keys {
        let to = begins.partition_point(|begin| *begin <= key as usize);
        blocks[to].push(key);
    }
    let lengths: Vec<u32> = blocks.iter().map(|block| block.len() as u32).collect();
    let lengths = mpi.all_to_all(world, &lengths).await?;
    let mut receives = Vec::new();
    for distance in 1..ranks {
        let from = (own + ranks - distance) % ranks;
        let most = lengths[from] as usize;
        receives.push(mpi.immediate_receive::<u32>(world, from, TAG, most).await?);
    }
    let mut sends = Vec::new();
    for distance in 1..ranks {
        let to = (own + distance) % ranks;
        sends.push(mpi.immediate_send(world, to, TAG, &blocks[to]).await?);
    }
    let mut all = std::mem::take(&mut blocks[own]);
    for (keys, _) in mpi.wait_all(receives).await? {
        all.extend(keys);
    }
    mpi.wait_all(sends).await?;
    Ok(all)
}

/// The ranks of the verified keys, which must be as the class says.
async fn verify<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    class: ProblemClass,
    round: usize,
    verified: &[u32; 5],
    sorted: &[u32],
) -> Result<(), String> {
    let text = |error: MpiError| error.to_string();
    // Number of smaller keys on each rank, summed over all.
    let below = verified.map(|key| sorted.partition_point(|other| *other < key) as u64);
    let all = mpi.all_reduce(world, Operation::Sum, &below).await;
    for (which, found) in all.map_err(text)?.into_iter().enumerate() {
        let expected = class.rank(which, round);
        if found.cast_signed() != expected {
            return Err(format!(
                "round {round}: verified key {which} has rank {found}, not {expected}"
            ));
        }
    }
    Ok(())
}

/// Sorts; millions of ranked keys in a second.
pub(super) async fn run<T: Transport>(
    mpi: &mut Mpi<T>,
    class: ProblemClass,
    settings: &MpiSettings,
) -> Result<Vec<MeasuredValue>, String> {
    let text = |error: MpiError| error.to_string();
    let problem = class.problem();
    let world = mpi.world();
    let (ranks, own) = (world.size(), world.rank());
    let begin = first(problem.keys, ranks, own);
    let end = first(problem.keys, ranks, own + 1);
    let mut part = KeyRange {
        first: begin,
        keys: keys(begin, end - begin, problem.largest),
    };
    mpi.barrier(&world).await.map_err(text)?;
    let began = mpi.now_ps();
    for round in 1..=ROUNDS {
        if let Some(key) = part.get_mut(round) {
            *key = round as u32;
        }
        if let Some(key) = part.get_mut(round + ROUNDS) {
            *key = (problem.largest - round) as u32;
        }
        let verified = problem
            .places
            .map(|place| part.get_mut(place).map_or(0, |key| *key));
        let verified = mpi.all_reduce(&world, Operation::Max, &verified).await;
        let verified: [u32; 5] = verified
            .map_err(text)?
            .try_into()
            .map_err(|_| "five keys are verified")?;
        let mut range = redistribute(mpi, &world, &part, problem.largest)
            .await
            .map_err(text)?;
        range.sort_unstable();
        let operations = (part.keys.len() + range.len()) as u64;
        mpi.compute(operations * settings.operation_ns)
            .await
            .map_err(|error| error.to_string())?;
        verify(mpi, &world, class, round, &verified, &range).await?;
    }
    let took = [mpi.now_ps() - began];
    let longest = mpi.all_reduce(&world, Operation::Max, &took).await;
    let longest = longest.map_err(text)?[0];
    let ranked = (problem.keys * ROUNDS) as f64;
    Ok(vec![MeasuredValue {
        size: problem.keys,
        value: ranked / (longest as f64 / 1e6),
        skewed: None,
        solved: None,
    }])
}
