//! Frames from the wire to host memory.

use lanigon_worlds::boards::KB;
use std::time::Duration;

use defs::acenic::RX_TICKS;
use defs::acenic::descriptor::{Errors, Flags};
use defs::acenic::info::RingFlags;
use emulator::observe::event::TraceKind;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::frame::Frame;
use host_lib::acenic::{Command, Config, JUMBO_MTU, ReceivedFrame, RingKind, Rings};
use host_lib::address::MacAddress;
use host_lib::window::System;

use super::support::{
    FRAMES_FROM, IP, OTHER, OWN, TRANSPORT, arriving, bench, bench_with, bytes, command, config,
    packet, statistics, sum, work_until,
};

const GAP: Duration = Duration::from_micros(10);

/// Frames in host memory after consecutive arrivals.
fn received(config: Config, frames: Vec<Frame>) -> Vec<ReceivedFrame> {
    let mut bench = bench(config, |mut nic| async move {
        work_until(&mut nic, FRAMES_FROM + SimTime::from_us(10_000))
            .await
            .received
    });
    bench.arrive(frames, GAP);
    bench.run()
}

fn plain(frames: &[Vec<u8>]) -> Vec<Frame> {
    frames.iter().cloned().map(Frame::new).collect()
}

#[test]
fn frames_go_to_the_smallest_ring() {
    let sent = [60, 61, 128, 129, 300, 1514].map(|length| arriving(length, length));
    let mut frames = sent.to_vec();
    frames.push(bytes(MacAddress::BROADCAST, OTHER, 300, 1));
    let got = received(config(), plain(&frames));
    assert_eq!(got.len(), frames.len());
    for (received, bytes) in got.iter().zip(&frames) {
        let mini = bytes.len() <= 128;
        let (ring, flags) = if mini {
            (RingKind::Mini, 0x1004)
        } else {
            (RingKind::Standard, 0x0004)
        };
        assert_eq!(received.ring, ring, "{} bytes", bytes.len());
        assert_eq!(received.flags.bits(), flags, "{} bytes", bytes.len());
        assert!(received.bytes == *bytes && received.errors.is_empty());
    }
}

#[test]
fn long_frames_need_jumbo_buffers() {
    let config = Config {
        jumbo_buffers: 32,
        mtu: JUMBO_MTU,
        ..config()
    };
    let frames = [1514, 9000, 60, 9014].map(|length| arriving(length, length));
    let got = received(config, plain(&frames));
    let rings: Vec<_> = got.iter().map(|received| received.ring).collect();
    use RingKind::{Jumbo, Mini, Standard};
    assert_eq!(rings, [Standard, Jumbo, Mini, Jumbo]);
    assert!(got[1].flags.contains(Flags::JUMBO | Flags::END));
    assert!(
        got.iter()
            .zip(&frames)
            .all(|(got, sent)| got.bytes == *sent)
    );
}

#[test]
fn too_long_and_damaged_frames_are_dropped_and_counted() {
    let mut bench = bench(config(), |mut nic| async move {
        let end = FRAMES_FROM + SimTime::from_us(5_000);
        let received = work_until(&mut nic, end).await.received;
        (received, statistics(&mut nic).await)
    });
    let damaged = Frame::with_fcs(arriving(200, 1), 1);
    let frames = plain(&[arriving(1600, 0), arriving(100, 2)]);
    bench.arrive([damaged].into_iter().chain(frames), GAP);
    let (received, statistics) = bench.run();
    assert_eq!(received.len(), 1);
    assert!(received[0].bytes == arriving(100, 2));
    for (name, expected) in [
        ("dot3_frame_too_longs", 1),
        ("dot3_fcs_errors", 1),
        ("if_in_errors", 1),
        ("if_hc_in_octets", 100),
        ("if_hc_in_ucast_pkts", 2),
    ] {
        assert_eq!(statistics.get(name), Some(expected), "{name}");
    }
}

#[test]
fn frames_count_only_while_the_stack_is_up() {
    let mut bench = bench_with(1024 * KB, config(), |mut nic| async move {
        nic.wait_running().await.unwrap();
        nic.fill_rings().await.unwrap();
        let before = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(1_000)).await;
        command(&mut nic, Command::StackUp).await;
        let up = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(3_000)).await;
        command(&mut nic, Command::StackDown).await;
        let down = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(6_000)).await;
        [before, up, down].map(|work| work.received.len())
    });
    bench.arrive(
        plain(&[arriving(60, 0), arriving(60, 1), arriving(60, 2)]),
        Duration::from_millis(2),
    );
    assert_eq!(bench.run(), [0, 1, 0]);
}

/// As stock drivers do: no command follows.
#[test]
fn the_longest_frame_changes_while_the_interface_is_open() {
    let mut bench = bench(config(), |mut nic| async move {
        let mut received = Vec::new();
        for (mtu, us) in [(300, 3_000), (1518, 5_000), (304, 7_000)] {
            nic.set_mtu(mtu).await;
            let work = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(us)).await;
            let frames = work.received.iter();
            received.push(frames.map(|frame| frame.bytes.len()).collect::<Vec<_>>());
        }
        (received, statistics(&mut nic).await)
    });
    let frames: Vec<_> = [304, 300, 304, 305]
        .map(|length| arriving(length, length))
        .to_vec();
    bench.arrive(plain(&frames), Duration::from_micros(1_900));
    let (received, statistics) = bench.run();
    assert_eq!(received, [vec![300], vec![304], vec![]]);
    assert_eq!(statistics.get("dot3_frame_too_longs"), Some(2));
}

/// More frames than buffers and than entries of the return ring, at line rate, until both frame buffers have wrapped.
#[test]
fn a_flood_arrives_in_order() {
    const FRAMES: usize = 2100;
    let mut bench = bench(config(), |mut nic| async move {
        let work = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(60_000)).await;
        (work.received, statistics(&mut nic).await)
    });
    let frames: Vec<_> = (0..FRAMES)
        .map(|i| arriving([1514, 60, 700, 129][i % 4], i))
        .collect();
    bench.arrive(plain(&frames), Duration::ZERO);
    let (received, statistics) = bench.run();
    assert_eq!(statistics.get("nic_mac_rx_drop_space"), Some(0));
    assert_eq!(received.len(), FRAMES);
    for (index, (received, sent)) in received.iter().zip(&frames).enumerate() {
        assert!(received.bytes == *sent, "frame {index}");
    }
}

/// A passive host: buffers run out, frames wait in the board, then the MAC drops them.
#[test]
fn frames_wait_for_buffers() {
    const FRAMES: usize = 100;
    let config = Config {
        standard_buffers: 10,
        ..config()
    };
    let mut bench = bench(config, |mut nic| async move {
        let end = FRAMES_FROM + SimTime::from_us(5_000);
        let rest = nic.left_ns(end.ps());
        nic.system_mut().compute(rest).await;
        let work = work_until(&mut nic, end + SimTime::from_us(20_000)).await;
        (work.received, statistics(&mut nic).await)
    });
    let frames: Vec<_> = (0..FRAMES).map(|i| arriving(1000, i)).collect();
    bench.arrive(plain(&frames), Duration::ZERO);
    let (received, statistics) = bench.run();
    assert_eq!(received.len(), FRAMES);
    assert!(
        received
            .iter()
            .zip(&frames)
            .all(|(got, sent)| got.bytes == *sent)
    );
    assert!(statistics.get("nic_no_more_rx_bds").unwrap() > 0);
}

/// Flags of the rings, and the expected checksum.
fn check_sums(flags: RingFlags, tcp: bool, payload: usize) {
    let (frame, pseudo) = packet(OTHER, OWN, tcp, payload);
    let mut padded = frame.clone();
    padded.resize(frame.len().max(60), 0);
    let config = Config {
        rings: Rings::alike(flags),
        ..config()
    };
    let got = received(config, plain(&[padded, arriving(200, 0)]));
    let case = format!("{flags:?} tcp {tcp} {payload}");
    let part = frame[TRANSPORT..].to_vec();
    let expected = if flags.contains(RingFlags::NO_PSEUDO_HEADER) {
        sum(&part)
    } else {
        let parts = [u64::from(sum(&part)), u64::from(sum(&pseudo))];
        sum(&parts.map(|sum| (sum as u16).to_be_bytes()).concat())
    };
    assert_eq!(got[0].tcp_udp_sum, Some(expected), "{case}");
    assert_eq!(got[0].ip_sum, sum(&frame[IP..TRANSPORT]), "{case}");
    assert_eq!(got[1].tcp_udp_sum, None, "{case}");
}

#[test]
fn checksums_come_with_the_frame() {
    let without = RingFlags::TCP_UDP_SUM | RingFlags::NO_PSEUDO_HEADER;
    for flags in [without, RingFlags::TCP_UDP_SUM, Rings::offload().standard] {
        for (tcp, payload) in [(false, 1), (false, 100), (true, 33), (true, 1460)] {
            check_sums(flags, tcp, payload);
        }
    }
}

#[test]
fn tags_are_taken_out() {
    let config = Config {
        rings: Rings::offload(),
        ..config()
    };
    let (frame, _) = packet(OTHER, OWN, false, 40);
    let tagged = [&frame[..12], &[0x81, 0, 0x20, 0x07], &frame[12..]].concat();
    let other = [&arriving(100, 0)[..12], &[0x81, 0, 0, 9, 8, 6], &[7; 60]].concat();
    let got = received(config, plain(&[tagged, other.clone()]));
    assert!(got[0].bytes == frame, "{:?}", got[0]);
    assert_eq!(got[0].vlan, Some(0x2007));
    assert_eq!(got[0].tcp_udp_sum, Some(sum(&frame[TRANSPORT..])));
    assert!(got[1].bytes == [&other[..12], &other[16..]].concat());
    assert_eq!((got[1].vlan, got[1].tcp_udp_sum), (Some(9), None));
}

#[test]
fn the_filter_does_what_commands_say() {
    let group = MacAddress([1, 0, 0x5E, 1, 2, 3]);
    let other_group = MacAddress([0x33, 0x33, 0, 0, 0, 9]);
    let stranger = MacAddress([2, 9, 9, 9, 9, 9]);
    let cases = [
        (vec![], "own broadcast"),
        (vec![Command::AddMulticast(group)], "own broadcast group"),
        (
            vec![Command::AddMulticastExtended(other_group)],
            "own broadcast other",
        ),
        (
            vec![
                Command::AddMulticast(group),
                Command::RemoveMulticastExtended(group),
            ],
            "own broadcast",
        ),
        (
            vec![Command::AllMulticast(true)],
            "own broadcast group other",
        ),
        (
            vec![
                Command::AddMulticast(group),
                Command::AllMulticast(true),
                Command::AllMulticast(false),
            ],
            "own broadcast group",
        ),
        (
            vec![Command::Promiscuous(true)],
            "own broadcast group other stranger",
        ),
        (
            vec![Command::Promiscuous(true), Command::Promiscuous(false)],
            "own broadcast",
        ),
        (vec![Command::SetAddress(stranger)], "broadcast stranger"),
    ];
    for (commands, expected) in cases {
        let text = format!("{commands:?}");
        let mut bench = bench(config(), |mut nic| async move {
            for given in commands {
                command(&mut nic, given).await;
            }
            work_until(&mut nic, FRAMES_FROM + SimTime::from_us(2_000))
                .await
                .received
        });
        let targets = [
            (OWN, "own"),
            (MacAddress::BROADCAST, "broadcast"),
            (group, "group"),
            (other_group, "other"),
            (stranger, "stranger"),
        ];
        let frames = targets.map(|(to, _)| Frame::new(bytes(to, OTHER, 100, 0)));
        bench.arrive(frames, GAP);
        let names: Vec<_> = bench
            .run()
            .iter()
            .map(|received| {
                let to = targets.iter().find(|(to, _)| received.bytes[..6] == to.0);
                to.unwrap().1
            })
            .collect();
        assert_eq!(names.join(" "), expected, "{text}");
    }
}

/// Number of interrupts for 10 frames, one every 50 us.
fn interrupts(ticks: u32, descriptors: u32) -> (usize, usize) {
    let mut config = config();
    config.coalescing.rx_ticks = ticks;
    config.coalescing.rx_descriptors = descriptors;
    let mut bench = bench(config, |mut nic| async move {
        let end = FRAMES_FROM + SimTime::from_us(3_000);
        work_until(&mut nic, end).await.received.len()
    });
    let frames: Vec<_> = (0..10).map(|i| arriving(60, i)).collect();
    bench.arrive(plain(&frames), Duration::from_micros(50));
    bench.node.trace.keep(true);
    let received = bench.run();
    let raised = bench.node.trace.take().into_iter().filter(|event| {
        event.time >= FRAMES_FROM && event.kind == TraceKind::Interrupt { asserted: true }
    });
    (received, raised.count())
}

#[test]
fn interrupts_are_coalesced() {
    assert_eq!(interrupts(1_000_000, 5), (10, 2));
    assert_eq!(interrupts(2_000, 100), (10, 1));
    assert_eq!(interrupts(0, 100), (10, 10));
    assert_eq!(interrupts(100, 0).0, 10);
}

#[test]
fn tuning_is_taken_on_command() {
    let mut bench = bench(config(), |mut nic| async move {
        nic.board_mut().write_sram(RX_TICKS, 10_000).await;
        nic.board_mut().write_sram(RX_TICKS + 0x10, 1000).await;
        command(&mut nic, Command::UpdateGeneral).await;
        let early = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(9_000)).await;
        let late = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(12_000)).await;
        (early.received.len(), late.received.len())
    });
    bench.arrive(plain(&[arriving(60, 0)]), GAP);
    assert_eq!(bench.run(), (0, 1));
}

#[test]
fn errors_are_the_macs() {
    // `Errors` equals the MAC's status bits.
    use defs::tigon2::rings as mac;
    for (error, status) in [
        (Errors::CRC, mac::RX_STATUS_CRC),
        (Errors::RUNT, mac::RX_STATUS_RUNT),
        (Errors::TRUNCATED, mac::RX_STATUS_TRUNCATED),
    ] {
        assert_eq!(error.bits(), status);
    }
}
