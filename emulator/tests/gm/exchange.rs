//! Messages between two nodes.

use std::sync::Arc;

use emulator::cpu::clock::CpuClock;
use emulator::lanai::board::Lanai;
use host_lib::gm::{Buffer, Event, Priority, ReceivedMessage, SendRequest, Status, size_for};

use crate::bench::{Bench, Host, Shared};

const PORT: u8 = 2;

/// Waits for a message; completed sends are checked.
async fn message(gm: &mut Host) -> ReceivedMessage {
    loop {
        match gm.receive(PORT).await.expect("an event") {
            Event::Received(received) => return received,
            Event::Alarm(_) | Event::Completed(_) | Event::Violation(_) => {
                panic!("an unexpected event")
            }
            Event::Sent(sent) => assert!(sent.iter().all(|(_, status)| *status == Status::Success)),
        }
    }
}

fn content(length: u32, round: u32) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 13 + length + round * 5) as u8)
        .collect()
}

/// The end state of a run on each board: hash of the trace, instructions, clock.
fn remains(profile: &str, logged: bool) -> Option<Vec<(u64, u64, CpuClock)>> {
    let mut bench = Bench::new(profile, 2)?;
    for node in 0..2 {
        let times = Shared::default();
        bench.program(node, move |gm| side(gm, &[0, 8, 700, 4096], 5, times));
        let trace = &mut bench.world.nodes[usize::from(node)].trace;
        trace.keep_instructions(logged);
    }
    bench.run();
    let nodes = bench.world.nodes.iter().map(|node| {
        let core = &node.board::<Lanai>().core;
        (node.trace.hash(), core.instructions(), core.clock.clone())
    });
    Some(nodes.collect())
}

/// While instructions are recorded, each access that may wait uses the bus of memory; else most do not.
#[test]
fn accesses_beside_the_bus_take_the_same_time() {
    for profile in ["lanai9.1-133", "lanai7.2-66", "lanai4.3-33"] {
        let [plain, logged] = [false, true].map(|logged| remains(profile, logged));
        assert_eq!(plain, logged, "{profile}");
        let stalled =
            |nodes: Vec<(u64, u64, CpuClock)>| nodes.iter().all(|node| node.2.stalled > 0);
        assert!(plain.is_none_or(stalled), "{profile}: no access has waited");
    }
}

/// A ping-pong of messages of these lengths; returns the mean of half round trips in nanoseconds, for each length.
fn ping_pong(profile: &str, lengths: &'static [u32], rounds: u32) -> Option<Vec<u64>> {
    let mut bench = Bench::new(profile, 2)?;
    let times: Shared<Vec<u64>> = Arc::default();
    let result = Arc::clone(&times);
    for node in 0..2 {
        let times = Arc::clone(&times);
        bench.program(node, move |gm| side(gm, lengths, rounds, times));
    }
    bench.run();
    let times = result.lock().expect("no panic");
    Some(times.clone())
}

/// Node 0 begins and measures, node 1 answers.
async fn side(mut gm: Host, lengths: &'static [u32], rounds: u32, times: Shared<Vec<u64>>) {
    gm.open(PORT).await.expect("a port");
    let out = gm.allocate_dma(4096).expect("memory");
    let room = gm.allocate_dma(8184).expect("memory");
    let first = gm.node() == 0;
    // The other side may not be there yet: the first message waits for its token.
    for &length in lengths {
        let mut start = gm.system().now_ps();
        for round in 0..=rounds {
            if round == 1 {
                start = gm.system().now_ps();
            }
            let size = size_for(length);
            gm.provide_receive_buffer(PORT, room, size, Priority::Low, 5)
                .await
                .expect("a token");
            if first {
                send(&mut gm, out, length, round).await;
            }
            let received = message(&mut gm).await;
            check(&mut gm, &received, length, round);
            if !first {
                send(&mut gm, out, length, round).await;
            }
        }
        let span = gm.system().now_ps() - start;
        if first {
            let half = span / 2000 / u64::from(rounds);
            times.lock().expect("no panic").push(half);
        }
    }
}

async fn send(gm: &mut Host, out: Buffer, length: u32, round: u32) {
    let bytes = content(length, round);
    gm.system_mut()
        .write_memory(out.address, &bytes)
        .expect("mapped");
    let request = SendRequest {
        buffer: Buffer { length, ..out },
        size: size_for(length),
        priority: Priority::Low,
        node: 1 - gm.node(),
        port: PORT,
    };
    gm.send(PORT, request).await.expect("a token");
}

fn check(gm: &mut Host, received: &ReceivedMessage, length: u32, round: u32) {
    assert_eq!(
        (received.length, received.tag, received.node, received.port),
        (length, 5, 1 - gm.node(), PORT)
    );
    let expected = content(length, round);
    let same = gm.system().memory_is(received.message, &expected);
    assert_eq!(same, Ok(true), "{length} bytes, round {round}");
}

#[test]
fn ping_pong_on_every_board() {
    for profile in ["lanai9.1-133", "lanai9.2-200", "lanai7.2-66", "lanai4.3-33"] {
        let Some(times) = ping_pong(profile, &[0, 1, 8, 127, 128, 129, 1024, 4095, 4096], 10)
        else {
            return;
        };
        println!("{profile}: {times:?} ns");
        assert!(
            // Acks of several messages fall into some rounds.
            times.is_sorted_by(|a, b| *a <= *b + *b / 8),
            "{profile}: {times:?}"
        );
    }
}
