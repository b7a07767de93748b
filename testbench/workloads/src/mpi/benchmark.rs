//! Benchmarks after the OSU set (osu_latency, osu_bw, osu_bibw, osu_bcast, osu_reduce, osu_allreduce, osu_allgather,
//! osu_barrier).

use host_lib::mpi::{Communicator, Mpi, MpiError, Operation, Tag, Transport};

use super::{MeasuredValue, MpiSettings, MpiWork, skew};

/// Messages of a window.
pub(super) const WINDOW: usize = 64;
/// Tag of the measured messages.
const TAG: i32 = 1;
/// Tag of the answer to a window.
const DONE: i32 = 2;

/// A benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BenchmarkFailure {
    /// The library.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// Other bytes than the root's.
    #[error("round {round}: the broadcast gave other bytes than the root's")]
    Broadcast {
        /// Number of the round.
        round: u32,
    },
    /// A gathered block is not that of its rank.
    #[error("block {rank} is not that of its rank")]
    Gather {
        /// The rank.
        rank: usize,
    },
    /// A reduction has another sum than it should.
    #[error("a reduction gave another sum than {right}")]
    Reduction {
        /// The right one.
        right: f64,
    },
}

/// Measures all lengths.
pub(super) async fn run<T: Transport>(
    mpi: &mut Mpi<T>,
    settings: &MpiSettings,
) -> Result<Vec<MeasuredValue>, BenchmarkFailure> {
    let world = mpi.world();
    let sizes = match settings.work.least_bytes() {
        None => &[0][..],
        Some(_) => &settings.sizes,
    };
    let mut all = Vec::with_capacity(sizes.len());
    for &size in sizes {
        mpi.barrier(&world).await?;
        if let Some(most_ns) = settings.skew_ns {
            all.push(skew::run(mpi, &world, settings, size, most_ns).await?);
            continue;
        }
        let value = match settings.work {
            MpiWork::Latency => latency(mpi, &world, settings, size).await?,
            MpiWork::Bandwidth => bandwidth(mpi, &world, settings, size, false).await?,
            MpiWork::ReduceLatency => skew::latency(mpi, &world, settings, size).await?,
            MpiWork::BothWays => bandwidth(mpi, &world, settings, size, true).await?,
            _ => collective(mpi, &world, settings, size).await?,
        };
        all.push(MeasuredValue {
            size,
            value,
            skewed: None,
            solved: None,
        });
    }
    mpi.barrier(&world).await?;
    Ok(all)
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

async fn latency<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    settings: &MpiSettings,
    size: usize,
) -> Result<f64, MpiError> {
    let data = vec![b'a'; size];
    let mut began = mpi.now_ps();
    for round in 0..settings.warmup + settings.rounds {
        if round == settings.warmup {
            began = mpi.now_ps();
        }
        match world.rank() {
            0 => {
                mpi.send(world, 1, TAG, &data).await?;
                mpi.receive::<u8>(world, 1, TAG, size).await?;
            }
            1 => {
                mpi.receive::<u8>(world, 0, TAG, size).await?;
                mpi.send(world, 0, TAG, &data).await?;
            }
            _ => {}
        }
    }
    Ok(us(mpi.now_ps() - began) / f64::from(2 * settings.rounds))
}

async fn bandwidth<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    settings: &MpiSettings,
    size: usize,
    both: bool,
) -> Result<f64, MpiError> {
    let mut began = mpi.now_ps();
    for round in 0..settings.warmup + settings.rounds {
        if round == settings.warmup {
            began = mpi.now_ps();
        }
        window(mpi, world, size, both).await?;
    }
    let bytes = size * WINDOW * settings.rounds as usize * if both { 2 } else { 1 };
    Ok(bytes as f64 / us(mpi.now_ps() - began))
}

/// A window of messages, and the answer of the second rank.
async fn window<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    size: usize,
    both: bool,
) -> Result<(), MpiError> {
    let rank = world.rank();
    if rank > 1 {
        return Ok(());
    }
    let other = 1 - rank;
    let (mut receives, mut sends) = (Vec::new(), Vec::new());
    if rank == 1 || both {
        for _ in 0..WINDOW {
            receives.push(mpi.immediate_receive::<u8>(world, other, TAG, size).await?);
        }
    }
    if rank == 0 || both {
        let data = vec![b'a'; size];
        for _ in 0..WINDOW {
            sends.push(mpi.immediate_send(world, other, TAG, &data).await?);
        }
    }
    mpi.wait_all(sends).await?;
    mpi.wait_all(receives).await?;
    match rank {
        0 => {
            mpi.receive::<u8>(world, other, Tag::Value(DONE), 4).await?;
            Ok(())
        }
        _ => mpi.send(world, other, DONE, &[0u8; 4]).await,
    }
}

/// Gathers blocks, which have the numbers of their ranks.
async fn gather<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    block: &[u8],
) -> Result<(), BenchmarkFailure> {
    let all = mpi.all_gather(world, block).await?;
    let blocks = all.chunks(block.len().max(1)).enumerate();
    let wrong = |(rank, block): &(usize, &[u8])| block.iter().any(|byte| *byte != *rank as u8);
    match blocks.into_iter().find(wrong) {
        None => Ok(()),
        Some((rank, _)) => Err(BenchmarkFailure::Gather { rank }),
    }
}

/// Mean time of a rank inside the call; a barrier precedes each.
async fn collective<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    settings: &MpiSettings,
    size: usize,
) -> Result<f64, BenchmarkFailure> {
    let mut bytes = vec![world.rank() as u8; size];
    let doubles = vec![world.rank() as f64; size / 8];
    let mut inside_ps = 0;
    for round in 0..settings.warmup + settings.rounds {
        if settings.work != MpiWork::Barrier {
            mpi.barrier(world).await?;
        }
        let began = mpi.now_ps();
        match settings.work {
            MpiWork::Broadcast => mpi.broadcast(world, 0, &mut bytes).await?,
            MpiWork::Reduce => {
                mpi.reduce(world, 0, Operation::Sum, &doubles).await?;
            }
            MpiWork::AllReduce => {
                mpi.all_reduce(world, Operation::Sum, &doubles).await?;
            }
            MpiWork::AllGather => gather(mpi, world, &bytes).await?,
            _ => mpi.barrier(world).await?,
        }
        if round >= settings.warmup {
            inside_ps += mpi.now_ps() - began;
        }
    }
    let all = mpi.reduce(world, 0, Operation::Sum, &[inside_ps]).await?;
    let all = all.and_then(|all| all.first().copied()).unwrap_or_default();
    Ok(us(all) / f64::from(settings.rounds) / world.size() as f64)
}
