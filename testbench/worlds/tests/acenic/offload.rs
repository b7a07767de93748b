//! Checksums in both directions, and VLAN tags.

use defs::acenic::info::RingFlags;
use host_lib::acenic::{Config, ReceivedFrame, Rings, SendOptions};

use super::support::{address, frame, ones_sum, open, receive_all, run, send, udp_frame};

/// Offset of UDP in a frame of [`udp_frame`].
const UDP: usize = 34;

fn with(flags: RingFlags) -> Config {
    Config {
        rings: Rings::alike(flags),
        ..Config::default()
    }
}

/// Sends frames between adapters with these ring flags; returns the received frames.
#[track_caller]
fn pass(
    sender: RingFlags,
    receiver: RingFlags,
    frames: Vec<Vec<u8>>,
    options: SendOptions,
) -> Vec<ReceivedFrame> {
    let count = frames.len();
    let ((), received) = run(
        [with(sender), with(receiver)],
        async move |mut nic| {
            open(&mut nic).await?;
            for frame in frames {
                send(&mut nic, &frame, options).await?;
            }
            Ok(())
        },
        async |mut nic| {
            open(&mut nic).await?;
            receive_all(&mut nic).await
        },
    );
    assert_eq!(received.len(), count);
    received
}

const CHECKSUM: SendOptions = SendOptions {
    checksum: true,
    vlan: None,
    coalesce_now: false,
};

fn payloads() -> Vec<Vec<u8>> {
    [0, 1, 18, 19, 500, 1471, 1472]
        .map(|length: usize| (0..length).map(|byte| (byte * 7) as u8).collect())
        .to_vec()
}

#[test]
fn udp_checksums_are_completed() {
    let frames: Vec<_> = payloads()
        .iter()
        .map(|bytes| udp_frame(address(1), bytes))
        .collect();
    let sums = RingFlags::TCP_UDP_SUM;
    // The pseudo header: addresses, protocol, length of UDP.
    let pseudo = |bytes: &[u8]| {
        let mut header = bytes[26..34].to_vec();
        header.extend([0, 17, bytes[38], bytes[39]]);
        header
    };
    for (flags, with_pseudo) in [(sums | RingFlags::NO_PSEUDO_HEADER, false), (sums, true)] {
        let received = pass(flags, RingFlags::empty(), frames.clone(), CHECKSUM);
        for (item, sent) in received.iter().zip(&frames) {
            let length = 14 + usize::from(u16::from_be_bytes([sent[16], sent[17]]));
            let mut summed = item.bytes[UDP..length].to_vec();
            assert_ne!(summed[6..8], [0, 0], "{flags:?}: completed");
            if summed.len() % 2 == 1 {
                summed.push(0);
            }
            if with_pseudo {
                summed.extend(pseudo(sent));
            }
            assert_eq!(ones_sum(&summed), 0xFFFF, "{flags:?}, {length} bytes");
            let mut rest = item.bytes[..sent.len().max(UDP + 8)].to_vec();
            rest[UDP + 6..UDP + 8].fill(0);
            assert_eq!(rest[..sent.len()], sent[..], "nothing else changes");
        }
    }
}

#[test]
fn without_the_flag_a_frame_stays_as_it_is() {
    let frames = vec![udp_frame(address(1), &[1; 100])];
    let flags = RingFlags::TCP_UDP_SUM | RingFlags::NO_PSEUDO_HEADER;
    let received = pass(
        flags,
        RingFlags::empty(),
        frames.clone(),
        SendOptions::default(),
    );
    assert_eq!(received[0].bytes, frames[0]);
    assert_eq!(received[0].tcp_udp_sum, None);
}

#[test]
fn sums_of_received_packets_are_reported() {
    // Padding would be summed too: only frames of 60 bytes and more.
    let payloads = payloads().into_iter().filter(|payload| payload.len() >= 18);
    let frames: Vec<_> = payloads
        .map(|bytes| udp_frame(address(1), &bytes))
        .collect();
    let flags = RingFlags::TCP_UDP_SUM | RingFlags::NO_PSEUDO_HEADER;
    let received = pass(RingFlags::empty(), flags, frames, SendOptions::default());
    for item in received {
        let sum = ones_sum(&item.bytes[UDP..]);
        assert_eq!(item.tcp_udp_sum, Some(sum), "{} bytes", item.bytes.len());
    }
}

#[test]
fn tags_are_inserted_and_taken_out() {
    let options = SendOptions {
        vlan: Some(0x6123),
        ..SendOptions::default()
    };
    let sent: Vec<_> = [60, 400, 1514]
        .map(|length| frame(address(1), length))
        .to_vec();
    let assist = RingFlags::VLAN_ASSIST;
    let received = pass(assist, assist, sent.clone(), options);
    for (item, sent) in received.iter().zip(&sent) {
        assert_eq!((item.vlan, &item.bytes), (Some(0x6123), sent));
    }
    let received = pass(assist, RingFlags::empty(), sent.clone(), options);
    for (item, sent) in received.iter().zip(&sent) {
        let mut tagged = sent[..12].to_vec();
        tagged.extend([0x81, 0x00, 0x61, 0x23]);
        tagged.extend(&sent[12..]);
        assert_eq!((item.vlan, &item.bytes), (None, &tagged));
    }
}
