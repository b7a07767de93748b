//! Frames from host memory to the wire.

use defs::acenic::Mode;
use defs::acenic::info::RingFlags;
use host_lib::acenic::{Config, Fragment, Rings, SendOptions, SendRing};

use super::support::{
    Bench, Nic, OTHER, OWN, TRANSPORT, bench, config, leaving, packet, statistics, sum, work_for,
};

/// Splits a frame at these positions; the pieces begin at odd and even addresses.
fn pieces<'a>(frame: &'a [u8], cuts: &[usize]) -> Vec<Fragment<'a>> {
    let ends = cuts.iter().copied().chain([frame.len()]);
    let mut start = 0;
    ends.enumerate()
        .map(|(index, end)| {
            let bytes = &frame[start..end];
            start = end;
            Fragment {
                bytes,
                offset: (index * 3 % 8) as u32,
            }
        })
        .collect()
}

/// Sends frames, each split as given; returns the bench when all are taken.
fn sent(config: Config, frames: Vec<(Vec<u8>, Vec<usize>)>, options: SendOptions) -> Bench<u32> {
    let mut bench = bench(config, move |mut nic| async move {
        let mut taken = 0;
        for (frame, cuts) in &frames {
            while nic.send_free() <= cuts.len() as u32 {
                taken += work_for(&mut nic, 100).await.sent;
            }
            let parts = pieces(frame, cuts);
            nic.send_fragments(&parts, options).await.unwrap();
        }
        for _ in 0..20 {
            taken += work_for(&mut nic, 1000).await.sent;
        }
        assert_eq!(nic.send_pending(), 0);
        taken
    });
    assert!(bench.run() > 0);
    bench
}

fn check(config: Config, frames: Vec<(Vec<u8>, Vec<usize>)>) {
    let mut bench = sent(config, frames.clone(), SendOptions::default());
    let on_the_wire = bench.sent();
    assert_eq!(on_the_wire.len(), frames.len());
    for (index, (wire, (frame, cuts))) in on_the_wire.iter().zip(&frames).enumerate() {
        let mut frame = frame.clone();
        frame.resize(frame.len().max(60), 0);
        assert!(*wire == frame, "frame {index}, cut at {cuts:?}");
    }
}

fn many() -> Vec<(Vec<u8>, Vec<usize>)> {
    let mut frames = vec![
        (leaving(114, 0), vec![14]),
        (leaving(1001, 1), vec![]),
        (leaving(14, 2), vec![]),
        (leaving(60, 3), vec![1, 2, 3]),
        (leaving(1514, 4), (1..100).collect()),
        (leaving(1518, 5), vec![14, 15, 1000]),
    ];
    frames.extend((0..200).map(|i| (leaving(60 + i * 7, i), vec![14 + i % 3])));
    frames
}

#[test]
fn fragments_become_frames() {
    check(config(), many());
}

#[test]
fn the_hardware_assist_does_the_same() {
    let mut config = config();
    config.mode |= Mode::ONE_DMA;
    check(config, many());
}

#[test]
fn a_ring_in_sram_does_the_same() {
    let config = Config {
        send_ring: SendRing::NIC,
        ..config()
    };
    check(config, many());
}

#[test]
fn frames_that_were_queued_at_once_leave_at_line_rate() {
    const FRAMES: u64 = 200;
    let mut bench = bench(config(), |mut nic| async move {
        for number in 0..FRAMES {
            let frame = leaving(1514, number as usize);
            let parts = pieces(&frame, &[]);
            nic.queue_fragments(&parts, SendOptions::default())
                .await
                .unwrap();
        }
        nic.ring_send().await;
        work_for(&mut nic, 10_000).await.sent
    });
    assert_eq!(u64::from(bench.run()), FRAMES);
    let departures = bench.node.take_departures();
    assert_eq!(departures.len() as u64, FRAMES);
    // The wire is never idle once the first frames are in the transmit buffer.
    let settled = &departures[10..];
    let frame_ns = 8 * (1514 + 24);
    for pair in settled.windows(2) {
        let pitch_ns = (pair[1].head - pair[0].head).ps() / 1000;
        assert!(
            (frame_ns..frame_ns + 10).contains(&pitch_ns),
            "{pitch_ns} ns"
        );
    }
}

/// Expected frame with a completed checksum.
fn completed(rings: RingFlags, tcp: bool, payload: usize, cuts: &[usize]) {
    let (mut frame, pseudo) = packet(OWN, OTHER, tcp, payload);
    let config = Config {
        rings: Rings {
            send: rings,
            ..Rings::alike(RingFlags::empty())
        },
        ..config()
    };
    let options = SendOptions {
        checksum: true,
        ..SendOptions::default()
    };
    let mut bench = sent(config, vec![(frame.clone(), cuts.to_vec())], options);
    let wire = bench.sent().remove(0);
    let case = format!("{rings:?} tcp {tcp} {payload} {cuts:?}");
    let part = &wire[TRANSPORT..frame.len()];
    let without = rings.contains(RingFlags::NO_PSEUDO_HEADER);
    let summed = if without {
        part.to_vec()
    } else {
        [&pseudo[..], part].concat()
    };
    assert_eq!(sum(&summed), 0xFFFF, "{case}");
    let field = TRANSPORT + if tcp { 16 } else { 6 };
    frame[field..][..2].copy_from_slice(&wire[field..][..2]);
    frame.resize(frame.len().max(60), 0);
    assert!(wire == frame, "{case}");
}

#[test]
fn checksums_are_completed() {
    let with = RingFlags::TCP_UDP_SUM;
    for rings in [with, with | RingFlags::NO_PSEUDO_HEADER] {
        for tcp in [false, true] {
            for payload in [0, 1, 2, 1000, 1447] {
                completed(rings, tcp, payload, &[]);
                completed(rings, tcp, payload, &[14]);
                completed(rings, tcp, payload, &[7, 33]);
            }
        }
    }
}

#[test]
fn tags_are_inserted() {
    let config = Config {
        rings: Rings::offload(),
        ..config()
    };
    let options = SendOptions {
        vlan: Some(0x6123),
        ..SendOptions::default()
    };
    let frame = leaving(200, 0);
    let mut bench = sent(config, vec![(frame.clone(), vec![14])], options);
    let expected = [&frame[..12], &[0x81, 0, 0x61, 0x23], &frame[12..]].concat();
    assert!(bench.sent() == [expected]);
}

/// Number of frames, of five at intervals of 100 us, after which the send consumer is reported.
async fn reported(mut nic: Nic, options: SendOptions) -> Vec<u32> {
    let mut reports = Vec::new();
    for number in 0..5 {
        nic.send(&leaving(60, number), options).await.unwrap();
        reports.push(work_for(&mut nic, 100).await.sent);
    }
    reports
}

#[test]
fn reports_are_coalesced() {
    let cases = [
        (100_000, 3, false, vec![0, 0, 3, 0, 0]),
        (100_000, 100, true, vec![1, 1, 1, 1, 1]),
        (0, 100, false, vec![1, 1, 1, 1, 1]),
        (250, 100, false, vec![0, 0, 3, 0, 0]),
    ];
    for (ticks, descriptors, coalesce_now, expected) in cases {
        let mut config = config();
        config.coalescing.tx_ticks = ticks;
        config.coalescing.tx_descriptors = descriptors;
        let options = SendOptions {
            coalesce_now,
            ..SendOptions::default()
        };
        let got = bench(config, move |nic| reported(nic, options)).run();
        assert_eq!(got, expected, "{ticks} us, {descriptors} descriptors");
    }
}

#[test]
fn what_was_sent_is_counted() {
    let mut bench = bench(config(), |mut nic| async move {
        for number in 0..3 {
            nic.send(&leaving(100, number), SendOptions::default())
                .await
                .unwrap();
        }
        let mut everybody = leaving(64, 0);
        everybody[..6].fill(0xFF);
        nic.send(&everybody, SendOptions::default()).await.unwrap();
        work_for(&mut nic, 1000).await;
        statistics(&mut nic).await
    });
    let statistics = bench.run();
    for (name, expected) in [
        ("if_hc_out_octets", 364),
        ("if_hc_out_ucast_pkts", 3),
        ("if_hc_out_broadcast_pkts", 1),
        ("nic_total_send_bds", 4),
    ] {
        assert_eq!(statistics.get(name), Some(expected), "{name}");
    }
}
