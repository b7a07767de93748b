//! Both boards boot, negotiate, and exchange frames, with any memory size and DMA assist.

use emulator::tigon2::board::Tigon2;
use lanigon_worlds::boards::KB;
use lanigon_worlds::profile::built_in;
use std::num::NonZeroUsize;
use std::sync::Arc;

use defs::acenic::Mode;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::acenic::{Config, JUMBO_MTU, NEGOTIATED_LINK, SendRing};
use lanigon_worlds::acenic;
use lanigon_worlds::acenic::node::{self, AcenicResults, ExchangePlan, NodeFailure};

use super::support::FIRMWARE;

/// Runs the exchange; returns both records, interrupt counts of both boards, and the trace hash.
fn exchange(
    sram: u32,
    config: &Config,
    frames: u32,
    size: Option<u32>,
    threads: usize,
    skip_idle: bool,
) -> ([AcenicResults; 2], [u64; 2], u64) {
    let profile = built_in("tigon2-88mhz").unwrap();
    let mut world = acenic::pair(&FIRMWARE, &profile, sram, config.link).unwrap();
    for node in &mut world.nodes {
        node.board_mut::<Tigon2>().skip_idle = skip_idle;
    }
    let image = Arc::new(FIRMWARE.firmware.clone());
    let logs = [0, 1].map(|index| {
        let plan = ExchangePlan {
            node: index,
            frames,
            size,
        };
        node::spawn(&mut world.nodes[usize::from(index)], &image, config, plan)
    });
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(20_000_000)),
        threads: NonZeroUsize::new(threads).unwrap(),
        ..RunLimits::default()
    };
    assert_eq!(world.run(&limits), RunEnd::Completed);
    let interrupts =
        [0, 1].map(|node: usize| world.nodes[node].board::<Tigon2>().fabric.interrupts);
    (logs.map(|log| log.record()), interrupts, world.trace_hash())
}

#[track_caller]
fn check(sram: u32, config: &Config, frames: u32, size: Option<u32>) -> [AcenicResults; 2] {
    let (records, ..) = exchange(sram, config, frames, size, 1, true);
    for record in &records {
        assert_eq!(record.failure, None);
        assert_eq!(record.first_mistakes, Vec::<String>::new());
        let counts = &record.counts;
        assert_eq!((counts.sent, counts.received), (frames, frames));
        assert_eq!((counts.corrupted, counts.duplicated), (0, 0));
        let errors = record.events.iter().filter(|item| item.event.is_error());
        assert_eq!(errors.count(), 0);
        assert!(record.running_ps > record.released_ps);
        assert!(record.link_up_ps >= record.running_ps);
    }
    records
}

fn with_mode(mode: Mode) -> Config {
    let mut config = Config::default();
    config.mode |= mode;
    config
}

#[test]
fn every_board_boots_and_exchanges_frames() {
    for sram in [512 * KB, 1024 * KB, 2048 * KB] {
        for mode in [Mode::empty(), Mode::ONE_DMA] {
            for link in [Config::default().link, NEGOTIATED_LINK] {
                let config = Config {
                    link,
                    ..with_mode(mode)
                };
                check(sram, &config, 40, None);
            }
        }
    }
}

#[test]
fn frames_of_every_length_arrive() {
    for size in [60, 61, 62, 63, 64, 65, 127, 128, 129, 1000, 1513, 1514] {
        check(1024 * KB, &Config::default(), 12, Some(size));
    }
}

#[test]
fn jumbo_frames_arrive() {
    let config = Config {
        jumbo_buffers: 64,
        mtu: JUMBO_MTU,
        ..Config::default()
    };
    for size in [1515, 4096, 9014] {
        check(512 * KB, &config, 40, Some(size));
    }
}

/// More frames than any ring or buffer can hold.
#[test]
fn rings_and_buffers_wrap() {
    check(512 * KB, &Config::default(), 1500, Some(60));
    check(512 * KB, &with_mode(Mode::ONE_DMA), 1000, None);
    let nic_ring = Config {
        send_ring: SendRing::NIC,
        ..Config::default()
    };
    check(1024 * KB, &nic_ring, 400, None);
}

/// Frames in flight when the cable is cut are lost, and the rest arrives.
#[test]
fn lost_frames_are_counted() {
    let profile = built_in("tigon2-88mhz").unwrap();
    let config = Config::default();
    let mut world = acenic::pair(&FIRMWARE, &profile, 1024 * KB, config.link).unwrap();
    let (from, until) = (SimTime::from_us(12_000), SimTime::from_us(12_050));
    world.unplug(0, from, Some(until)).unwrap();
    let image = Arc::new(FIRMWARE.firmware.clone());
    let logs = [0, 1].map(|index| {
        let plan = ExchangePlan {
            node: index,
            frames: 500,
            size: Some(1000),
        };
        node::spawn(&mut world.nodes[usize::from(index)], &image, &config, plan)
    });
    assert_eq!(world.run(&RunLimits::default()), RunEnd::Completed);
    for record in logs.map(|log| log.record()) {
        assert!(record.running_ps.unwrap() < from.ps(), "in the exchange");
        let counts = &record.counts;
        assert!((1..500).contains(&counts.received), "{counts:?}");
        assert_eq!(counts.duplicated, 0);
        assert!(record.ended);
    }
}

#[test]
fn statistics_agree_with_the_exchange() {
    for record in check(1024 * KB, &Config::default(), 100, Some(200)) {
        let statistics = record.statistics.unwrap();
        let get = |name| statistics.get(name).unwrap();
        assert_eq!(get("if_hc_in_ucast_pkts"), 100);
        assert_eq!(get("if_hc_out_ucast_pkts"), 100);
        assert!(get("nic_interrupts") > 0);
        assert_eq!(get("nic_cmds_host_state"), 1);
        assert_eq!(get("nic_events_nic_firmware_operational"), 1);
    }
}

#[test]
fn the_same_run_is_the_same_on_any_number_of_threads_stepped_or_skipped() {
    // Every instruction is stepped until the statistics arrive.
    let config = Config {
        statistics_ticks: 30_000,
        ..Config::default()
    };
    let run = |threads, skip| exchange(1024 * KB, &config, 60, None, threads, skip);
    let (records, interrupts, hash) = run(1, true);
    for (threads, skip) in [(1, true), (2, true), (1, false)] {
        let (again, interrupts_again, hash_again) = run(threads, skip);
        assert_eq!(hash_again, hash, "{threads} threads, skip {skip}");
        assert_eq!(interrupts_again, interrupts);
        assert_eq!(again[0].events, records[0].events);
    }
    assert!(interrupts[0] > 2);
}

#[test]
fn a_board_that_nobody_answers_gives_up() {
    let profile = built_in("tigon2-88mhz").unwrap();
    let config = Config::default();
    let mut world = acenic::pair(&FIRMWARE, &profile, 1024 * KB, config.link).unwrap();
    let image = Arc::new(FIRMWARE.firmware.clone());
    let plan = ExchangePlan {
        node: 0,
        frames: 10,
        size: None,
    };
    let log = node::spawn(&mut world.nodes[0], &image, &config, plan);
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(2_000_000)),
        ..RunLimits::default()
    };
    assert_eq!(world.run(&limits), RunEnd::Completed);
    assert_eq!(log.record().failure, Some(NodeFailure::NoAnswer(500)));
}
