//! Message passing on emulated boards: known programs over GM.

mod immediate;

use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{Bypass, Executor, GmTransport};
use host_lib::window::System;
use lanigon_workloads::mpi::{
    self, MeasuredValue, MpiReport, MpiSettings, MpiWork, ProblemClass, Skewed, TimeUse,
};
use lanigon_worlds::boards;
use lanigon_worlds::emp::text;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;

use super::scenarios::gm::built;

const PORT: u8 = 2;
/// Programs begin so long after they have opened their ports.
const LEAD_NS: u64 = 500_000;

/// Runs a program on `count` nodes; what rank 0 reports.
#[track_caller]
fn run(count: u16, settings: &MpiSettings) -> MpiReport {
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

fn settings(work: MpiWork) -> MpiSettings {
    MpiSettings {
        sizes: vec![8, 1024, 65536],
        ..MpiSettings::new(work)
    }
}

/// Every length has a positive value, and the ranks' times are all of the time.
#[track_caller]
fn check(count: u16, settings: &MpiSettings) -> MpiReport {
    let report = run(count, settings);
    let sizes = match settings.work.least_bytes() {
        Some(_) => settings.sizes.len(),
        None => 1,
    };
    assert_eq!(report.measured.len(), sizes);
    let positive = |one: &MeasuredValue| one.value > 0.0;
    assert!(report.measured.iter().all(positive), "{report:?}");
    assert_eq!(report.times.len(), usize::from(count));
    let some = |one: &TimeUse| one.waiting_us > 0.0 && one.total_us() > 0.0;
    assert!(report.times.iter().all(some), "{report:?}");
    report
}

#[test]
fn point_to_point() {
    if !built() {
        return;
    }
    check(2, &settings(MpiWork::Latency));
    for work in [MpiWork::Bandwidth, MpiWork::BothWays] {
        let sizes = vec![8, 1024, 20_000];
        let settings = MpiSettings {
            sizes,
            ..settings(work)
        };
        check(2, &settings);
    }
}

#[test]
fn collectives() {
    if !built() {
        return;
    }
    for work in [
        MpiWork::Broadcast,
        MpiWork::Reduce,
        MpiWork::AllReduce,
        MpiWork::ReduceLatency,
        MpiWork::Barrier,
    ] {
        check(6, &settings(work));
    }
    let on = |barrier| MpiSettings {
        barrier,
        ..settings(MpiWork::Barrier)
    };
    let us = |barrier| check(6, &on(barrier)).measured[0].value;
    assert!(us(Executor::Nic) < us(Executor::Host));
}

#[test]
fn kernels() {
    if !built() {
        return;
    }
    let plate = MpiWork::Stencil {
        points: 64,
        steps: 20,
    };
    let report = check(5, &settings(plate));
    assert!(report.times.iter().all(|one| one.compute_us > 0.0));
    check(4, &settings(MpiWork::IntegerSort(ProblemClass::S)));
}

/// Measurements of rank 0 among late ranks, with bypass or without; long messages do not bypass.
fn late(work: MpiWork, bypass: Bypass) -> Vec<(f64, Skewed)> {
    let settings = MpiSettings {
        sizes: vec![8, 4096, 65536],
        skew_ns: Some(500_000),
        rounds: 6,
        bypass,
        ..MpiSettings::new(work)
    };
    let report = run(16, &settings);
    let of = |one: &MeasuredValue| (one.value, one.skewed.unwrap());
    report.measured.iter().map(of).collect()
}

#[test]
fn operations_go_on_while_programs_compute() {
    if !built() {
        return;
    }
    let (usual, exit_delay_ns) = (Bypass::default(), 0);
    for (work, bypass) in [
        (
            MpiWork::Broadcast,
            Bypass {
                broadcast: true,
                ..usual
            },
        ),
        (
            MpiWork::Reduce,
            Bypass {
                reduce: true,
                exit_delay_ns,
                ..usual
            },
        ),
    ] {
        let (usual, bypass) = (late(work, usual), late(work, bypass));
        for at in [0, 1] {
            assert_eq!(usual[at].1.handlers, 0.0);
            assert!(bypass[at].1.handlers > 0.1, "{work:?} {bypass:?}");
            assert!(bypass[at].0 < 0.5 * usual[at].0, "{work:?} {bypass:?}");
            assert!(bypass[at].1.total_us < 0.5 * usual[at].1.total_us);
        }
        assert_eq!(bypass[2].1.handlers, 0.0, "{work:?} {bypass:?}");
    }
}
