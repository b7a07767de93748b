//! Streams of messages, many senders, faults.

use std::sync::Arc;

use emulator::wire::fault::{FaultRates, RandomFaults};
use host_lib::gm::{Buffer, Event, Priority, SendRequest, Status, size_for};
use host_lib::window::System;

use crate::bench::{Bench, Host, Shared};

const PORT: u8 = 4;

/// A stream of messages that a node sends and receives.
#[derive(Clone, Copy)]
struct Stream {
    /// Messages to send to each of these nodes, in turn.
    targets: &'static [u16],
    sends: u32,
    receives: u32,
    length: u32,
    /// Time before receive buffers are provided.
    late_us: u64,
}

/// The first four bytes of a message: sender and number.
fn label(node: u16, number: u32) -> [u8; 4] {
    (u32::from(node) << 24 | number).to_be_bytes()
}

/// Sends and receives; checks that messages of each sender come in order. Notes how long it took, in picoseconds.
async fn stream(mut gm: Host, stream: Stream, times: Shared<Vec<u64>>) {
    let Stream {
        targets, length, ..
    } = stream;
    gm.open(PORT).await.expect("a port");
    let out = gm.allocate_dma(64 * 4096).expect("memory");
    let room = gm.allocate_dma(8184).expect("memory");
    gm.system_mut().sleep(stream.late_us * 1000).await;
    let size = size_for(length);
    let (mut provided, mut sent, mut completed) = (0, 0, 0);
    let mut received = 0;
    let mut next = [0; 32];
    let mut start = 0;
    while received < stream.receives || completed < stream.sends {
        while provided < stream.receives && provided - received < 64 {
            let provide = gm.provide_receive_buffer(PORT, room, size, Priority::Low, 0);
            provide.await.expect("a token");
            provided += 1;
        }
        while sent < stream.sends && sent - completed < 32 {
            let place = Buffer {
                address: host_lib::window::VirtualAddress(
                    out.address.0 + u64::from(sent % 64) * 4096,
                ),
                length,
            };
            let turn = sent as usize % targets.len();
            let text = label(gm.node(), sent / targets.len() as u32);
            gm.system_mut()
                .write_memory(place.address, &text)
                .expect("mapped");
            let request = SendRequest {
                buffer: place,
                size,
                priority: Priority::Low,
                node: targets[turn],
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
                assert!(results.iter().all(|(_, status)| *status == Status::Success));
                completed += results.len() as u32;
            }
            Event::Received(message) => {
                let from = usize::from(message.node);
                let expected = label(message.node, next[from]);
                // A long message lies in the one buffer that all use: a later one may be there.
                if message.message != message.buffer {
                    assert_eq!(gm.system().memory_is(message.message, &expected), Ok(true));
                }
                assert_eq!(message.length, length);
                next[from] += 1;
                received += 1;
            }
        }
        if start == 0 {
            start = gm.system().now_ps();
        }
    }
    let span = gm.system().now_ps() - start;
    times.lock().expect("no panic").push(span);
}

/// Runs streams, one a node; returns the times.
fn run(mut bench: Bench, streams: &[Stream]) -> Vec<u64> {
    let times: Shared<Vec<u64>> = Arc::default();
    for (node, one) in (0..).zip(streams) {
        let (one, times) = (*one, Arc::clone(&times));
        bench.program(node, move |gm| stream(gm, one, times));
    }
    bench.run();
    let times = times.lock().expect("no panic");
    times.clone()
}

const QUIET: Stream = Stream {
    targets: &[],
    sends: 0,
    receives: 0,
    length: 8,
    late_us: 0,
};

#[test]
fn streams_in_one_and_both_directions() {
    for profile in ["lanai9.1-133", "lanai9.2-200", "lanai7.2-66", "lanai4.3-33"] {
        for (length, count) in [(64, 300), (1024, 300), (4096, 300)] {
            let Some(bench) = Bench::new(profile, 2) else {
                return;
            };
            let from = Stream {
                targets: &[1],
                sends: count,
                length,
                ..QUIET
            };
            let to = Stream {
                receives: count,
                length,
                ..QUIET
            };
            let one = run(bench, &[from, to]);
            let Some(bench) = Bench::new(profile, 2) else {
                return;
            };
            let back = Stream {
                targets: &[0],
                sends: count,
                ..to
            };
            let both = run(
                bench,
                &[
                    Stream {
                        receives: count,
                        ..from
                    },
                    back,
                ],
            );
            let rate = |times: &[u64], ways: u64| {
                let longest = times.iter().max().copied().unwrap_or(1);
                ways * u64::from(count) * u64::from(length) * 1_000_000 / longest
            };
            println!(
                "{profile} {length}: {} MB/s one way, {} both",
                rate(&one, 1),
                rate(&both, 2)
            );
            assert_eq!((one.len(), both.len()), (2, 2));
        }
    }
}

#[test]
fn many_senders_and_late_buffers() {
    let Some(bench) = Bench::new("lanai9.1-133", 8) else {
        return;
    };
    let sender = Stream {
        targets: &[0],
        sends: 40,
        length: 100,
        ..QUIET
    };
    let receiver = Stream {
        receives: 7 * 40,
        length: 100,
        late_us: 3000,
        ..QUIET
    };
    let mut all = vec![sender; 8];
    all[0] = receiver;
    assert_eq!(run(bench, &all).len(), 8);
}

#[test]
fn lost_and_damaged_packets_are_sent_again() {
    for profile in ["lanai9.1-133", "lanai4.3-33"] {
        let Some(mut bench) = Bench::new(profile, 3) else {
            return;
        };
        for node in 0..3_usize {
            let rates = FaultRates {
                loss: 0.03,
                corruption: 0.03,
                duplication: 0.02,
                ..FaultRates::default()
            };
            let layer = RandomFaults::new(rates, 7, node as u64).expect("rates");
            bench
                .world
                .add_myrinet_fault(node, Box::new(layer))
                .expect("a cable");
        }
        let common = Stream {
            sends: 80,
            receives: 80,
            length: 120,
            ..QUIET
        };
        let all = [
            Stream {
                targets: &[1, 2],
                ..common
            },
            Stream {
                targets: &[0, 2],
                ..common
            },
            Stream {
                targets: &[0, 1],
                ..common
            },
        ];
        assert_eq!(run(bench, &all).len(), 3);
    }
}

#[test]
fn a_run_can_be_repeated() {
    let hash = || {
        let mut bench = Bench::new("lanai7.2-66", 2)?;
        let times: Shared<Vec<u64>> = Arc::default();
        let from = Stream {
            targets: &[1],
            sends: 50,
            length: 700,
            ..QUIET
        };
        let to = Stream {
            receives: 50,
            length: 700,
            ..QUIET
        };
        for (node, one) in [(0, from), (1, to)] {
            let times = Arc::clone(&times);
            bench.program(node, move |gm| stream(gm, one, times));
        }
        bench.run();
        Some(bench.world.trace_hash())
    };
    assert_eq!(hash(), hash());
}
