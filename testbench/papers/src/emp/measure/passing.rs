//! Latency of message passing (`host_lib::mpi`) over EMP and over GM, and of GM itself on the boards of the thesis's comparison: the ping-pong of
//! [`latency`](super::latency).

use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use host_lib::emp::Emp;
use host_lib::gm::Gm;
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{Config, EmpTransport, GmSettings, GmTransport, Mpi, Transport};
use lanigon_worlds::emp::text;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::gm::GmWorld;

use lanigon_experiments::Error;

use super::{BenchmarkRun, Setup};
use crate::gm;
use lanigon_experiments::interval::Estimate;

/// The boards on which the thesis ran GM beside the first testbed (emp-069).
pub const GM_PROFILE: &str = "lanai7.2-66";

/// Tag of the messages.
const TAG: i32 = 1;
/// GM's port.
const PORT: u8 = 2;
/// The largest message that is copied into a buffer of the receiver at once, in bytes.
const EAGER_BYTES: usize = 16_384;
/// Time until both processes over GM have opened their ports, in ns.
const LEAD_NS: u64 = 500_000;

/// One side of the ping-pong; stores its start time, and the end of each round, in `stamps`.
async fn side<T: Transport>(
    transport: T,
    library_ns: u64,
    size: u32,
    rounds: usize,
    stamps: ResultSlot<Vec<SimTime>>,
) -> Result<(), String> {
    let config = Config {
        library_ns,
        ..Config::default()
    };
    let mut mpi = Mpi::with(transport, config).map_err(text)?;
    let world = mpi.world();
    let size = size as usize;
    let data = vec![0_u8; size];
    mpi.barrier(&world).await.map_err(text)?;
    stamps.set(vec![SimTime::from_ps(mpi.now_ps())]);
    for _ in 0..rounds {
        if world.rank() == 0 {
            mpi.send(&world, 1, TAG, &data).await.map_err(text)?;
            let answer = mpi.receive::<u8>(&world, 1, TAG, size).await;
            answer.map_err(text)?;
        } else {
            let question = mpi.receive::<u8>(&world, 0, TAG, size).await;
            question.map_err(text)?;
            mpi.send(&world, 0, TAG, &data).await.map_err(text)?;
        }
        let now = SimTime::from_ps(mpi.now_ps());
        stamps.with(|stamps| stamps.get_or_insert_default().push(now));
    }
    Ok(())
}

async fn over_emp(
    emp: Emp,
    rank: usize,
    library_ns: u64,
    [size, rounds]: [usize; 2],
    stamps: ResultSlot<Vec<SimTime>>,
) -> Result<(), String> {
    let transport = EmpTransport::new(emp, &[0, 1], rank, EAGER_BYTES).await;
    side(
        transport.map_err(text)?,
        library_ns,
        size as u32,
        rounds,
        stamps,
    )
    .await
}

async fn over_gm(
    mut gm: Gm,
    rank: usize,
    library_ns: u64,
    [size, rounds]: [usize; 2],
    stamps: ResultSlot<Vec<SimTime>>,
) -> Result<(), String> {
    gm.open(PORT).await.map_err(text)?;
    let members = [0, 1].map(|node| Endpoint { node, port: PORT });
    let transport = GmTransport::new(gm, &members, members[rank], GmSettings::default()).await;
    let mut transport = transport.map_err(text)?;
    transport.compute(LEAD_NS).await;
    side(transport, library_ns, size as u32, rounds, stamps).await
}

/// Half of the mean round trip of messages of `size` bytes over EMP, in us.
///
/// # Errors
/// If a program cannot finish its rounds.
pub fn mpi_over_emp(setup: &Setup, size: u32) -> Result<Estimate, Error> {
    let mut pair = setup.pair()?;
    let (amount, library_ns) = (amount(setup, size), library_ns(&setup.profile));
    let run = ranks(|rank, name, stamps| {
        pair.spawn(rank, name, move |emp| {
            over_emp(emp, rank, library_ns, amount, stamps)
        })
    });
    latency(&run, setup, &mut pair.world)
}

/// Latency of message passing over GM on boards of this profile. Of `setup`, the rounds and limits count.
///
/// # Errors
/// If a program cannot finish its rounds.
pub fn mpi_over_gm(
    setup: &Setup,
    image: &Image,
    profile: &Profile,
    size: u32,
) -> Result<Estimate, Error> {
    let mut pair = GmWorld::new(2, image, profile).map_err(Error::from)?;
    let (amount, library_ns) = (amount(setup, size), library_ns(profile));
    let run = ranks(|rank, name, stamps| {
        pair.spawn(rank, name, move |gm| {
            over_gm(gm, rank, library_ns, amount, stamps)
        })
    });
    latency(&run, setup, &mut pair.world)
}

/// Both ranks; the first one is timed.
fn ranks(
    mut spawn: impl FnMut(
        usize,
        &'static str,
        ResultSlot<Vec<SimTime>>,
    ) -> ResultSlot<Result<(), String>>,
) -> BenchmarkRun {
    let stamps = ResultSlot::default();
    let first = spawn(0, "rank 0", stamps.clone());
    let second = spawn(1, "rank 1", ResultSlot::default());
    BenchmarkRun {
        stamps,
        programs: [("rank 0", first), ("rank 1", second)],
    }
}

/// Half of the mean round trip of messages of GM, in us.
///
/// # Errors
/// If a program fails.
pub fn gm_alone(
    setup: &Setup,
    image: &Image,
    profile: &Profile,
    size: u32,
) -> Result<Estimate, Error> {
    let pair = gm::bench::Setup {
        image,
        profile,
        interrupt: &setup.interrupt,
    };
    pair.latency(size, setup.rounds.least as u32)
}

const fn amount(setup: &Setup, size: u32) -> [usize; 2] {
    [size as usize, setup.rounds.all()]
}

const fn library_ns(profile: &Profile) -> u64 {
    profile.host.mpi_call.ps() / 1000
}

fn latency(run: &BenchmarkRun, setup: &Setup, world: &mut World) -> Result<Estimate, Error> {
    let mean = run.mean(setup, world)?;
    Ok(mean.estimate(mean.ps / 2.0 / 1e6))
}
