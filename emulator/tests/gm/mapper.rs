//! A mapper on emulated boards: networks are mapped, nodes get numbers and routes over the network, cables move.

use std::collections::BTreeSet;
use std::sync::Arc;

use emulator::lanai::crc::crc32;
use emulator::sim::time::SimTime;
use emulator::wire::myrinet::Packet;
use emulator::wire::myrinet::routes::{Routes, check as check_routes};
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::port::Port;
use emulator::wire::unit::Unit;
use host_lib::gm::mapper::{Map, Mapper, Report, Settings, routes};
use host_lib::gm::{Buffer, Event, Priority, SendRequest, Status, size_for};
use host_lib::window::{System, VirtualAddress};

use crate::bench::{Bench, Host, Shared};

const PORT: u8 = 2;
const LENGTH: u32 = 600;

/// The program of a node: sends so many messages to every other node and receives as many from each.
async fn exchange(
    mut gm: Host,
    number: u16,
    rounds: u32,
    pause_us: u64,
    arrived: Shared<Vec<(u16, u16, u32)>>,
) {
    gm.open(PORT).await.expect("a port");
    assert_eq!(gm.nodes(), 0);
    // All ports are open when the map is there.
    gm.await_map(2_000_000_000).await.expect("a map");
    let (own, nodes) = (gm.node(), gm.nodes());
    assert_eq!(own, number);
    let out = gm.allocate_dma(64 * 1024).expect("memory");
    let room = gm.allocate_dma(8184).expect("memory");
    let size = size_for(LENGTH);
    let total = rounds * u32::from(nodes - 1);
    let (mut provided, mut sent, mut completed, mut received) = (0, 0, 0, 0);
    while received < total || completed < total {
        while provided < total && provided - received < 64 {
            let provide = gm.provide_receive_buffer(PORT, room, size, Priority::Low, 0);
            provide.await.expect("a token");
            provided += 1;
        }
        while sent < total && sent - completed < 16 {
            gm.system_mut().sleep(pause_us * 1000).await;
            let place = out.address.0 + u64::from(sent % 64) * 1024;
            let buffer = Buffer {
                address: VirtualAddress(place),
                length: LENGTH,
            };
            let round = sent / u32::from(nodes - 1);
            let text = (u32::from(own) << 16 | round).to_be_bytes();
            gm.system_mut()
                .write_memory(buffer.address, &text)
                .expect("mapped");
            let other = 1 + (sent % u32::from(nodes - 1)) as u16;
            let request = SendRequest {
                buffer,
                size,
                priority: Priority::Low,
                node: (own + other) % nodes,
                port: PORT,
            };
            gm.send(PORT, request).await.expect("a token");
            sent += 1;
        }
        match gm.receive(PORT).await.expect("an event") {
            Event::Alarm(_) | Event::Completed(_) | Event::Violation(_) => {
                panic!("an unexpected event")
            }
            Event::Sent(results) => {
                let good = |(_, status): &(_, Status)| *status == Status::Success;
                assert!(results.iter().all(good), "{results:?}");
                completed += results.len() as u32;
            }
            Event::Received(message) => {
                // Later messages may lie in the one buffer that all use.
                arrived
                    .lock()
                    .expect("unpoisoned")
                    .push((message.node, own, message.length));
                received += 1;
            }
        }
    }
}

/// Maps a network and exchanges messages between all nodes.
fn check(profile: &str, topology: &Topology, mapper: u16, crossbars: usize) {
    let Some(mut bench) = Bench::joined(profile, topology) else {
        return;
    };
    let nodes = topology.nodes().len() as u16;
    let arrived = Shared::default();
    for node in 0..nodes {
        let arrived = Arc::clone(&arrived);
        // Numbers follow the ids, which follow the nodes of the world.
        bench.mapped(node, move |gm| exchange(gm, node, 3, 0, arrived));
    }
    let result = Shared::default();
    let left: Shared<Option<(Report, Map)>> = Arc::clone(&result);
    bench.mapper(mapper, Settings::default(), |mut mapper| async move {
        let report = mapper.map().await.expect("a map");
        let map = mapper.current().expect("a map").clone();
        assert!(mapper.verify().await.expect("an answer"), "{map}");
        *left.lock().expect("unpoisoned") = Some((report, map));
    });
    bench.run();
    let count = arrived.lock().expect("unpoisoned").len();
    assert_eq!(count, 3 * usize::from(nodes) * usize::from(nodes - 1));
    let (report, map) = result.lock().expect("unpoisoned").take().expect("mapped");
    println!("{profile}: {report:?}");
    assert_eq!((report.nodes, report.crossbars), (nodes.into(), crossbars));
    assert_eq!((report.version, &report.silent[..]), (1, &[][..]));
    // The emulator's own check of routes.
    let ways: Routes = routes(&map)
        .into_iter()
        .filter(|((from, to), _)| from != to)
        .map(|((from, to), route)| ((from.into(), to.into()), route))
        .collect();
    assert_eq!(ways.len(), usize::from(nodes) * usize::from(nodes - 1));
    check_routes(topology, &ways).expect("sound routes");
}

fn two_crossbars() -> Topology {
    let mut topology = Topology {
        crossbars: vec![8, 16],
        cables: Vec::new(),
    };
    for node in 0..6 {
        topology.cable(node, (node % 2, 1 + node));
    }
    // Two cables between the crossbars.
    topology.cable((0, 0), (1, 15));
    topology.cable((0, 7), (1, 9));
    topology
}

#[test]
fn networks_are_mapped() {
    for profile in ["lanai9.1-133", "lanai4.3-33"] {
        check(profile, &Topology::one_crossbar(8, 5), 4, 1);
        check(profile, &two_crossbars(), 2, 2);
        check(profile, &Topology::pair(), 1, 0);
    }
}

#[test]
fn a_clos_network_is_mapped() {
    let mut topology = Topology::clos(8, 3);
    topology
        .cables
        .retain(|(node, _)| !matches!(node, Port::Node(node) if node % 4 > 1));
    // Nodes are numbered without gaps.
    for (place, (node, _)) in topology
        .cables
        .iter_mut()
        .filter(|(node, _)| matches!(node, Port::Node(_)))
        .enumerate()
    {
        *node = Port::Node(place);
    }
    check("lanai9.1-133", &topology, 5, 7);
}

/// Cables move while messages are under way: each arrives once.
fn check_moves(profile: &str) {
    let Some(mut bench) = Bench::joined(profile, &two_crossbars()) else {
        return;
    };
    let ms = |ms: u64| SimTime::from_us(1000 * ms);
    let world = &mut bench.world;
    let node = [Port::Node(3), (0, 6).into()];
    world.replug_myrinet(3, node, ms(30), ms(31)).expect("free");
    let link = [(0, 4).into(), (1, 15).into()];
    world
        .replug_myrinet((0, 0), link, ms(60), ms(62))
        .expect("free");
    let arrived = Shared::default();
    for node in 0..6 {
        let arrived = Arc::clone(&arrived);
        bench.mapped(node, move |gm| exchange(gm, node, 150, 30, arrived));
    }
    let reports: Shared<Vec<(u64, Report, String)>> = Shared::default();
    let left = Arc::clone(&reports);
    let mapper = move |mut mapper: Mapper| async move {
        while mapper.system_mut().now_ps() < ms(150).ps() {
            if let Some(report) = mapper.maintain().await.expect("an answer") {
                let now = mapper.system_mut().now_ps();
                let text = mapper.current().expect("a map").to_string();
                left.lock().expect("unpoisoned").push((now, report, text));
            }
            mapper.system_mut().sleep(2_000_000).await;
        }
    };
    let settings = Settings {
        timeout_us: 1000,
        ..Settings::default()
    };
    bench.mapper(5, settings, mapper);
    bench.run();
    let mut arrived = arrived.lock().expect("unpoisoned").clone();
    assert_eq!(arrived.len(), 6 * 5 * 150);
    arrived.sort_unstable();
    let pairs: BTreeSet<_> = arrived.iter().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(pairs.len(), 30);
    for (&from, &to) in pairs {
        let count = arrived.iter().filter(|one| (one.0, one.1) == (from, to));
        assert_eq!(count.count(), 150, "{from} to {to}");
    }
    let reports = reports.lock().expect("unpoisoned");
    for (now, report, text) in reports.iter() {
        println!("{profile}: {:.3} ms: {report:?}\n{text}", *now as f64 / 1e9);
    }
    let last = &reports.last().expect("a report");
    assert!(reports.len() >= 2 && last.1.silent.is_empty() && last.1.nodes == 6);
    assert_eq!((last.1.crossbars, last.1.links), (2, 2), "{}", last.2);
}

#[test]
fn cables_move_under_traffic() {
    check_moves("lanai9.1-133");
    check_moves("lanai4.3-33");
}

/// Packets with every subtype, wrong lengths and random words do no harm: messages still arrive.
#[test]
fn hostile_packets_do_no_harm() {
    for profile in ["lanai9.1-133", "lanai4.3-33"] {
        let Some(mut bench) = Bench::joined(profile, &Topology::one_crossbar(8, 3)) else {
            return;
        };
        let mut state: u32 = 7;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for index in 0..600 {
            let length = 4 * random(30) as usize + if random(4) == 0 { 1 } else { 0 };
            let mut bytes: Vec<u8> = (0..length).map(|_| random(256) as u8).collect();
            let kind = [0x70, 0x0F, 0, random(6) as u8];
            for (byte, kind) in bytes.iter_mut().zip(kind) {
                *byte = kind;
            }
            // A version that no mapper can have overtaken, or small sizes, make more of them plausible.
            if random(2) == 0 {
                for byte in bytes.iter_mut().skip(16).take(7) {
                    *byte = 0;
                }
            }
            let crc = crc32(&bytes);
            if profile.starts_with("lanai9") {
                bytes.extend(crc.to_be_bytes());
            }
            let time = SimTime::from_us(20_000 + 10 * index);
            let packet = Packet::new(bytes);
            assert!(packet.length() > 0);
            bench
                .world
                .inject_myrinet(1, packet, time)
                .expect("a cable");
        }
        let arrived = Shared::default();
        for node in 0..3 {
            let arrived = Arc::clone(&arrived);
            bench.mapped(node, move |gm| exchange(gm, node, 100, 20, arrived));
        }
        bench.mapper(0, Settings::default(), |mut mapper| async move {
            mapper.map().await.expect("a map");
        });
        bench.run();
        assert_eq!(arrived.lock().expect("unpoisoned").len(), 600);
    }
}
