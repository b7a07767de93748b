//! Frame rates of the firmware in simulated time. `--nocapture` shows them; the assertions are those of
//! docs/acenic.md.

use std::time::Duration;

use defs::acenic::Mode;
use emulator::observe::event::TraceKind;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::frame::Frame;
use host_lib::acenic::{Coalescing, Config, Fragment, SendOptions};

use super::support::{FRAMES_FROM, arriving, bench, config, leaving, work_for, work_until};

/// Number of frames for a rate.
const SENT: usize = 250;
const RECEIVED: usize = 500;

fn settings(assist: Mode) -> Config {
    let mut config = Config {
        standard_buffers: 511,
        mini_buffers: 1000,
        coalescing: Coalescing {
            rx_ticks: 1000,
            tx_ticks: 1000,
            rx_descriptors: 64,
            tx_descriptors: 64,
        },
        ..config()
    };
    config.mode |= assist;
    config
}

/// Frames a second over a span.
fn rate(frames: usize, span: SimTime) -> u64 {
    frames as u64 * 1_000_000_000_000 / span.ps()
}

/// Rate at which queued frames are sent.
fn sending(assist: Mode, length: usize) -> u64 {
    let mut bench = bench(settings(assist), move |mut nic| async move {
        for number in 0..SENT {
            let bytes = leaving(length, number);
            let whole = Fragment {
                bytes: &bytes,
                offset: 0,
            };
            nic.queue_fragments(&[whole], SendOptions::default())
                .await
                .unwrap();
        }
        nic.ring_send().await;
        work_for(&mut nic, 10_000).await.sent
    });
    assert_eq!(bench.run() as usize, SENT);
    let departures = bench.node.take_departures();
    let first = &departures[0];
    let last = &departures[SENT - 1];
    rate(SENT - 1, last.head - first.head)
}

/// Rate at which back-to-back frames reach host memory.
fn receiving(assist: Mode, length: usize) -> u64 {
    let mut bench = bench(settings(assist), |mut nic| async move {
        let end = FRAMES_FROM + SimTime::from_us(20_000);
        work_until(&mut nic, end).await.received.len()
    });
    bench.node.trace.keep(true);
    let frames = (0..RECEIVED).map(|number| Frame::new(arriving(length, number)));
    bench.arrive(frames, Duration::ZERO);
    assert_eq!(bench.run(), RECEIVED);
    let events = bench.node.trace.take().into_iter();
    let starts: Vec<SimTime> = events
        .filter(|event| {
            event.initiator == Initiator::DmaWrite
                && matches!(event.kind, TraceKind::DmaStarted { length: l, .. } if l as usize == length)
        })
        .map(|event| event.time)
        .collect();
    assert_eq!(starts.len(), RECEIVED);
    rate(RECEIVED - 1, starts[RECEIVED - 1] - starts[0])
}

/// Frame rate of a gigabit link.
fn line_rate(length: usize) -> u64 {
    const OVERHEAD_BYTES: u64 = 24;
    125_000_000 / (length as u64 + OVERHEAD_BYTES)
}

#[test]
fn rates() {
    for length in [60, 124, 252, 508, 1020, 1514] {
        let line = line_rate(length);
        let mut row = format!("{length:>5} bytes, line {line:>7}:");
        for assist in [Mode::empty(), Mode::ONE_DMA] {
            let (sent, received) = (sending(assist, length), receiving(assist, length));
            // Full frames at line rate; short ones limited by CPU A.
            let promised = (line * 99 / 100).min(190_000);
            assert!(
                sent >= promised && received >= promised,
                "{length} bytes: {sent}, {received}"
            );
            row += &format!("  send {sent:>7} receive {received:>7}");
        }
        println!("{row}");
    }
}
