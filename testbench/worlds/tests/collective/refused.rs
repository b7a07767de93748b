//! Refused operations of boards, and a member that does not take part: the messages of the library.

use host_lib::gm::Gm;
use std::future::Future;

use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::gm::collective::{Barrier, Endpoint, Group, Nic, Operation, Settings, Shape, Value};
use host_lib::window::System;
use lanigon_worlds::boards;
use lanigon_worlds::emp::text;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;

use crate::scenarios::gm::built;

const PORT: u8 = 2;
/// Ticks of 100 us after which an operation fails.
const LIMIT_TICKS: u32 = 30;

/// Runs a program on each of some nodes, which are a group; for each node its error, and the time from its begin, in ns.
#[track_caller]
fn errors<P, F>(count: u16, program: P) -> Vec<(String, u64)>
where
    P: Fn(Gm, Nic) -> F + Clone + Send + 'static,
    F: Future<Output = (Gm, Result<(), String>)> + Send + 'static,
{
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.1-133").unwrap();
    let mut world = GmWorld::new(count, &image, &profile).unwrap();
    world.configure(|config| config.collective_ticks = LIMIT_TICKS);
    let spawn = |node: u16| {
        let program = program.clone();
        world.spawn(node.into(), "member", move |mut gm| async move {
            gm.open(PORT).await.map_err(text)?;
            let all: Vec<_> = (0..count)
                .map(|node| Endpoint { node, port: PORT })
                .collect();
            let group = Group::new(&all, all[usize::from(node)]).map_err(text)?;
            let settings = Settings {
                longest_bytes: 0,
                limit_ns: 1_000_000_000,
            };
            let nic = Nic::new(&mut gm, group, settings).await.map_err(text)?;
            gm.system_mut().compute(500_000).await;
            let begin_ps = gm.system().now_ps();
            let (gm, result) = program(gm, nic).await;
            let waited_ns = (gm.system().now_ps() - begin_ps) / 1000;
            Ok((result.err().unwrap_or_default(), waited_ns))
        })
    };
    let ends: Vec<_> = (0..count).map(spawn).collect();
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(10_000_000)),
        ..RunLimits::default()
    };
    assert_eq!(world.world.run(&limits), RunEnd::Completed);
    let results = ends.into_iter().map(|end| end.take().unwrap());
    results.map(Result::unwrap).collect()
}

/// All members refuse an operation, before the first packet.
#[track_caller]
fn all_refuse(count: u16, expected: &str, what: Refused) {
    let errors = errors(count, move |mut gm, mut nic| async move {
        let (sum, one) = (Operation::Sum, Value::Integer(1));
        let result = match what {
            Refused::Barrier(algorithm) => nic.barrier(&mut gm, algorithm).await,
            Refused::Reduction(shape, root) => {
                let result = nic.reduce(&mut gm, sum, shape, root, one).await;
                result.map(drop)
            }
        };
        // The next operation is as if the refused one had not been.
        let next = nic.barrier(&mut gm, Barrier::PairwiseExchange).await;
        let result = next.and(result).map_err(text);
        (gm, result)
    });
    for (error, _) in errors {
        assert_eq!(error, expected);
    }
}

#[derive(Debug, Clone, Copy)]
enum Refused {
    Barrier(Barrier),
    Reduction(Shape, usize),
}

#[test]
fn what_is_impossible_is_refused_by_all_members() {
    if !built() {
        return;
    }
    let tree = |root, degree| Refused::Barrier(Barrier::GatherBroadcast { root, degree });
    let outside = "rank 3 is outside of a group of 3 members";
    all_refuse(3, outside, tree(3, 2));
    all_refuse(3, outside, Refused::Reduction(Shape::Binomial, 3));
    all_refuse(3, "a tree of degree 0", tree(0, 0));
    let none = Shape::Fixed { degree: 0 };
    all_refuse(3, "a tree of degree 0", Refused::Reduction(none, 0));
    let wide = Shape::Fixed { degree: 12 };
    let many = "10 children are more than 9";
    all_refuse(11, many, Refused::Reduction(wide, 0));
}

#[test]
fn a_member_twice_is_refused() {
    let one = Endpoint {
        node: 1,
        port: PORT,
    };
    let error = Group::new(&[one, one], one).unwrap_err().to_string();
    assert_eq!(error, "port 2 of node 1 is a member twice");
}

/// Member 2 never joins, or closes its port while the others wait. The others get a status within the boards' limit.
#[test]
fn members_that_do_not_take_part_leave_a_status() {
    if !built() {
        return;
    }
    let limit_ns = u64::from(LIMIT_TICKS) * 100_000;
    for goes in [false, true] {
        for reduces in [false, true] {
            let errors = errors(3, move |mut gm, mut nic| async move {
                let last = gm.node() == 2;
                let barrier = Barrier::PairwiseExchange;
                let result = if last && goes {
                    gm.system_mut().compute(1_000).await;
                    gm.close(PORT).await.map_err(text)
                } else if last {
                    gm.system_mut().compute(6_000_000).await;
                    Ok(())
                } else if reduces {
                    let (sum, one) = (Operation::Sum, Value::Integer(1));
                    let shape = Shape::Binomial;
                    let result = nic.all_reduce(&mut gm, sum, shape, one).await;
                    result.map(drop).map_err(text)
                } else {
                    nic.barrier(&mut gm, barrier).await.map_err(text)
                };
                (gm, result)
            });
            for (error, waited_ns) in &errors[..2] {
                let status = host_lib::gm::Status::TimedOut.name();
                let expected = format!("the board has ended an operation: {status}");
                assert_eq!(*error, expected, "{goes} {reduces}");
                let late = limit_ns..limit_ns + limit_ns / 10 + 200_000;
                assert!(late.contains(waited_ns), "{goes} {reduces}: {waited_ns}");
            }
        }
    }
}
