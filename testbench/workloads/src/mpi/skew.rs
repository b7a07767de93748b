//! Benchmarks of collective operations whose processes come late: those of the publications on application bypass (docs/mpi.md,
//! section 6).

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use host_lib::mpi::{Communicator, Mpi, MpiError, Operation, Source, Tag, Times, Transport};

use super::benchmark::BenchmarkFailure;
use super::{MeasuredValue, MpiSettings, MpiWork, Skewed};
use crate::collective::Delays;

/// Tag of the root's message to the farthest rank.
const NOTICE: i32 = 3;
/// Messages there and back that measure one way.
const ONE_WAY_ROUNDS: u32 = 8;

/// Sums of a rank over all measured rounds, in ps, and the number of handlers.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    inside: u64,
    total: u64,
    handlers: u64,
    signals: u64,
}

impl Sums {
    /// Adds time and number of the handlers that ran between two measurements.
    fn add_handlers(&mut self, before: Times, now: Times) {
        self.handlers += now.handlers_ps - before.handlers_ps;
        self.signals += now.signals - before.signals;
    }
}

/// Before each operation a barrier, then a delay, of the uniform model up to `most_ns`; the root of a broadcast has none. After a reduction all compute
/// for `catch_up_ns`, during which late messages come. Means over ranks and rounds: of the time inside the call, and of all time but
/// that of the delays, which has the handlers (dissertation, section 6.3; ab-reduction-011).
pub(super) async fn run<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    settings: &MpiSettings,
    size: usize,
    most_ns: u64,
) -> Result<MeasuredValue, BenchmarkFailure> {
    // The same delays for all lengths, so that these can be compared.
    let seed = settings.seed ^ (world.rank() as u64 + 1) << 32;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let first_late = usize::from(settings.work == MpiWork::Broadcast);
    let ranks = (first_late..world.size(), world.rank());
    let mut skew = Delays::new(settings.skew, most_ns, ranks, settings.seed);
    let catch_up_ns = settings.catch_up_ns + settings.skew.longest_ns(most_ns);
    let doubles = vec![world.rank() as f64; size / 8];
    let mut sums = Sums::default();
    for round in 0..settings.warmup + settings.rounds {
        mpi.barrier(world).await?;
        let (before, begin) = (mpi.times(), mpi.now_ps());
        let mut delays = 0;
        if let Some(delay) = skew.next(&mut random).filter(|_| most_ns > 0) {
            delays = delay;
            mpi.compute(delays).await?;
        }
        let called = mpi.now_ps();
        if settings.work == MpiWork::Broadcast {
            broadcast(mpi, world, size, round).await?;
        } else {
            reduce(mpi, world, &doubles).await?;
        }
        let returned = mpi.now_ps();
        if settings.work != MpiWork::Broadcast {
            mpi.compute(catch_up_ns).await?;
            delays += catch_up_ns;
        }
        if round >= settings.warmup {
            sums.inside += returned - called;
            sums.total += mpi.now_ps() - begin - delays * 1000;
            sums.add_handlers(before, mpi.times());
        }
    }
    let own = [sums.inside, sums.total, sums.handlers, sums.signals];
    let all = mpi.reduce(world, 0, Operation::Sum, &own).await?;
    let rounds = f64::from(settings.rounds) * world.size() as f64;
    Ok(measured(size, &all.unwrap_or_default(), rounds))
}

/// A broadcast of bytes that differ from round to round.
async fn broadcast<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    size: usize,
    round: u32,
) -> Result<(), BenchmarkFailure> {
    let right: Vec<u8> = (0..size)
        .map(|at| (at as u32 * 7 + round + 1) as u8)
        .collect();
    let mut bytes = match world.rank() {
        0 => right.clone(),
        _ => vec![0; size],
    };
    mpi.broadcast(world, 0, &mut bytes).await?;
    match bytes == right {
        true => Ok(()),
        false => Err(BenchmarkFailure::Broadcast { round }),
    }
}

/// A reduction of the ranks' numbers, whose sum is exact.
async fn reduce<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    doubles: &[f64],
) -> Result<(), BenchmarkFailure> {
    let sum = mpi.reduce(world, 0, Operation::Sum, doubles).await?;
    let size = world.size();
    let right = (size * (size - 1) / 2) as f64;
    match sum.is_none_or(|sum| sum.iter().all(|sum| *sum == right)) {
        true => Ok(()),
        false => Err(BenchmarkFailure::Reduction { right }),
    }
}

/// The means of sums over all ranks and rounds.
fn measured(size: usize, all: &[u64], rounds: f64) -> MeasuredValue {
    let at = |index: usize| all.get(index).copied().unwrap_or_default() as f64;
    MeasuredValue {
        size,
        value: at(0) / 1e6 / rounds,
        skewed: Some(Skewed {
            total_us: at(1) / 1e6 / rounds,
            handler_us: at(2) / 1e6 / at(3).max(1.0),
            handlers: at(3) / rounds,
        }),
        solved: None,
    }
}

/// The farthest rank from rank 0 in a binomial tree: that with the most bits.
fn farthest(size: usize) -> usize {
    let ranks = (0..size).rev();
    ranks.max_by_key(|rank| rank.count_ones()).unwrap_or(0)
}

/// Mean latency of a reduction, in us: from the call of the farthest rank until the root's message that it is done comes back, less one way
/// (ab-reduction-010).
pub(super) async fn latency<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    settings: &MpiSettings,
    size: usize,
) -> Result<f64, BenchmarkFailure> {
    let last = farthest(world.size());
    let one_way_ps = one_way(mpi, world, last).await?;
    let doubles = vec![1.0; size / 8];
    let mut sum = 0;
    for round in 0..settings.warmup + settings.rounds {
        mpi.barrier(world).await?;
        let began = mpi.now_ps();
        mpi.reduce(world, 0, Operation::Sum, &doubles).await?;
        let rank = world.rank();
        if rank == 0 && last != 0 {
            mpi.send(world, last, NOTICE, &[0u8]).await?;
        } else if rank == last {
            let most = 1;
            mpi.receive::<u8>(world, Source::Rank(0), Tag::Value(NOTICE), most)
                .await?;
        }
        if round >= settings.warmup && rank == last {
            sum += mpi.now_ps() - began;
        }
    }
    let own = [sum, one_way_ps * u64::from(settings.rounds)];
    let all = mpi.reduce(world, 0, Operation::Max, &own).await?;
    let all = all.unwrap_or_default();
    let ps = match all[..] {
        [sum, notices] => sum.saturating_sub(notices),
        _ => 0,
    };
    Ok(ps as f64 / 1e6 / f64::from(settings.rounds))
}

/// Time of a short message between rank 0 and another one, in ps; 0 elsewhere.
async fn one_way<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    last: usize,
) -> Result<u64, MpiError> {
    let rank = world.rank();
    if last == 0 || (rank != 0 && rank != last) {
        return Ok(0);
    }
    let other = last - rank;
    let mut began = mpi.now_ps();
    for round in 0..=ONE_WAY_ROUNDS {
        if round == 1 {
            began = mpi.now_ps();
        }
        if rank == 0 {
            mpi.send(world, other, NOTICE, &[0u8]).await?;
        }
        mpi.receive::<u8>(world, Source::Rank(other), Tag::Value(NOTICE), 1)
            .await?;
        if rank == last {
            mpi.send(world, other, NOTICE, &[0u8]).await?;
        }
    }
    Ok((mpi.now_ps() - began) / u64::from(2 * ONE_WAY_ROUNDS))
}

#[cfg(test)]
mod tests {
    use super::farthest;

    #[test]
    fn the_farthest_rank_has_the_most_bits() {
        let all: Vec<usize> = [1, 2, 3, 4, 8, 16, 20, 32]
            .into_iter()
            .map(farthest)
            .collect();
        assert_eq!(all, [0, 1, 1, 3, 7, 15, 15, 31]);
    }
}
