//! Message passing on emulated boards: known programs over GM.

use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{BarrierOn, GmTransport};
use host_lib::window::System;
use lanigon_worlds::boards;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::pairs::text;
use lanigon_worlds::profile::built_in;
use lanigon_worlds::programs::mpi::{self, Class, Measured, MpiSettings, Work};

use super::scenarios::gm::built;

const PORT: u8 = 2;
/// Programs begin so long after they have opened their ports.
const LEAD_NS: u64 = 500_000;

/// Runs a program on `count` nodes; what rank 0 has measured.
#[track_caller]
fn run(count: u16, settings: &MpiSettings) -> Vec<Measured> {
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.1-133").unwrap();
    let mut world = GmWorld::new(count, &image, &profile).unwrap();
    let at = |node| Endpoint { node, port: PORT };
    let members: Vec<_> = (0..count).map(at).collect();
    let ends: Vec<_> = (0..count)
        .map(|node| {
            let (members, settings) = (members.clone(), settings.clone());
            world.spawn(node.into(), "mpi", move |mut gm| async move {
                gm.open(PORT).await.map_err(text)?;
                gm.system_mut().compute(LEAD_NS).await;
                let transport = GmTransport::new(gm, &members, at(node), settings.gm()).await;
                mpi::run(transport.map_err(text)?, &settings).await
            })
        })
        .collect();
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(10_000_000)),
        ..RunLimits::default()
    };
    assert_eq!(world.world.run(&limits), RunEnd::Completed);
    let mut results = ends.into_iter().map(|end| end.take().unwrap().unwrap());
    results.next().unwrap()
}

fn settings(work: Work) -> MpiSettings {
    MpiSettings {
        sizes: vec![8, 1024, 65536],
        ..MpiSettings::new(work)
    }
}

#[test]
fn point_to_point() {
    if !built() {
        return;
    }
    for work in [Work::Latency, Work::Bandwidth, Work::BothWays] {
        println!("{work:?} {:?}", run(2, &settings(work)));
    }
}

#[test]
fn collectives() {
    if !built() {
        return;
    }
    for work in [
        Work::Broadcast,
        Work::Reduce,
        Work::AllReduce,
        Work::Barrier,
    ] {
        println!("{work:?} {:?}", run(6, &settings(work)));
    }
    let nic = MpiSettings {
        barrier: BarrierOn::Nic,
        ..settings(Work::Barrier)
    };
    println!("nic {:?}", run(6, &nic));
}

#[test]
fn kernels() {
    if !built() {
        return;
    }
    let plate = Work::Stencil {
        points: 64,
        steps: 20,
    };
    println!("{:?}", run(5, &settings(plate)));
    println!("{:?}", run(4, &settings(Work::IntegerSort(Class::S))));
}
