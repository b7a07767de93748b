//! EMP end to end: host library, window, firmware as machine code, DMA, MAC, wire, and back.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use emulator::image::Image;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use emulator::tigon2::timing::Profile;
use host_lib::emp::{Buffer, Failure, PostError, Source, Tag};
use host_lib::window::{System, VirtualAddress};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use testbench::cluster::{self, EmpNode, EmpPair, Outcome};

static IMAGE: LazyLock<Image> =
    LazyLock::new(|| cluster::own_image("emp-base", cluster::EMP_SRAM).unwrap());

fn pair() -> EmpPair {
    let profile = Profile::built_in("tigon2-88mhz").unwrap();
    EmpPair::new(&IMAGE, &profile, &[]).unwrap()
}

fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Below `limit`.
fn below(random: &mut ChaCha8Rng, limit: u32) -> u32 {
    random.next_u32() % limit
}

/// The bytes of message `number` of `length` bytes from `node`.
fn contents(node: u16, number: u32, length: u32) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    random(u64::from(node) << 32 | u64::from(number)).fill_bytes(&mut bytes);
    bytes
}

fn allocate(emp: &mut EmpNode, length: u32) -> VirtualAddress {
    emp.system_mut().allocate(u64::from(length) + 1).unwrap()
}

/// What both sides of a stream know: the length of each message.
fn lengths(seed: u64, count: u32, limit: u32) -> Arc<Vec<u32>> {
    let mut random = random(seed);
    let length = |_| match below(&mut random, 4) {
        0 => below(&mut random, 64),
        1 => below(&mut random, 3000),
        _ => below(&mut random, limit + 1),
    };
    Arc::new((0..count).map(length).collect())
}

/// Messages that are posted ahead in each direction.
const AHEAD: usize = 4;

/// Sends and receives a stream of messages at once, compares every byte, and gives the number of
/// bytes received.
async fn stream(
    mut emp: EmpNode,
    me: u16,
    out: Arc<Vec<u32>>,
    incoming: Arc<Vec<u32>>,
) -> Result<u64, String> {
    let peer = 1 - me;
    let longest = out
        .iter()
        .chain(incoming.iter())
        .copied()
        .max()
        .unwrap_or(0);
    // Odd addresses: nothing may depend on alignment.
    let sources: Vec<_> = (0..AHEAD)
        .map(|_| allocate(&mut emp, longest + 8))
        .collect();
    let sinks: Vec<_> = (0..AHEAD)
        .map(|_| allocate(&mut emp, longest + 8))
        .collect();
    let place = |base: VirtualAddress, number: usize| VirtualAddress(base.0 + number as u64 % 5);
    let (mut sends, mut receives) = (VecDeque::new(), VecDeque::new());
    let (mut sent, mut posted, mut received) = (0, 0, 0);
    let mut bytes_received = 0;
    while received < incoming.len() || sent < out.len() || !sends.is_empty() {
        while posted < incoming.len() && receives.len() < AHEAD {
            let buffer = Buffer {
                address: place(sinks[posted % AHEAD], posted),
                length: incoming[posted],
            };
            let handle = emp
                .post_receive(Source::Node(peer), Tag::Value(posted as u16 % 7), buffer)
                .await;
            receives.push_back((buffer, handle.map_err(|e| e.to_string())?));
            posted += 1;
        }
        while sent < out.len() && sends.len() < AHEAD {
            let buffer = Buffer {
                address: place(sources[sent % AHEAD], sent),
                length: out[sent],
            };
            let bytes = contents(me, sent as u32, out[sent]);
            emp.system_mut()
                .write_memory(buffer.address, &bytes)
                .unwrap();
            let handle = emp.post_transmit(peer, sent as u16 % 7, buffer).await;
            sends.push_back(handle.map_err(|e| e.to_string())?);
            sent += 1;
        }
        if let Some((buffer, handle)) = receives.pop_front() {
            let completion = emp.wait(handle).await.map_err(|e| e.to_string())?;
            let expected = contents(peer, received as u32, incoming[received]);
            if completion.length as usize != expected.len() {
                return Err(format!("message {received}: {} bytes", completion.length));
            }
            let mut bytes = vec![0; expected.len()];
            emp.system()
                .read_memory(buffer.address, &mut bytes)
                .unwrap();
            if bytes != expected {
                return Err(format!("message {received} is damaged"));
            }
            bytes_received += u64::from(completion.length);
            received += 1;
        }
        if let Some(handle) = sends.pop_front() {
            emp.wait(handle).await.map_err(|e| e.to_string())?;
        }
    }
    Ok(bytes_received)
}

/// Streams both ways at once and checks that every byte arrived.
fn check_streams(seed: u64, count: u32, limit: u32) -> (u64, SimTime) {
    let mut pair = pair();
    let ways = [lengths(seed, count, limit), lengths(seed + 1, count, limit)];
    let outcomes = [0u16, 1].map(|me| {
        let (out, incoming) = (
            ways[usize::from(me)].clone(),
            ways[1 - usize::from(me)].clone(),
        );
        pair.spawn(usize::from(me), "stream", move |emp| {
            stream(emp, me, out, incoming)
        })
    });
    let end = pair.world.run(&RunLimits::default());
    for (outcome, incoming) in outcomes.iter().zip(ways.iter().rev()) {
        let bytes: u64 = incoming.iter().map(|&length| u64::from(length)).sum();
        assert_eq!(outcome.take(), Some(Ok(bytes)), "{end:?}");
    }
    (pair.world.trace_hash(), pair.world.now())
}

#[test]
fn ten_thousand_messages_of_random_sizes_both_ways_at_once() {
    check_streams(1, 5_000, 65_536);
}

#[test]
fn the_same_run_gives_the_same_trace() {
    let first = check_streams(77, 40, 65_536);
    assert_eq!(first, check_streams(77, 40, 65_536));
    assert_ne!(first.0, check_streams(78, 40, 65_536).0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sizes_and_contents_arrive(seed in any::<u64>(), limit in 0u32..200_000) {
        check_streams(seed >> 1, 6, limit);
    }
}

/// What a program left.
type Left<T> = Outcome<Result<T, String>>;

/// Runs one program on each node; gives what they return.
fn run_both<A, B, FA, FB>(
    pair: &mut EmpPair,
    a: impl FnOnce(EmpNode) -> FA + Send + 'static,
    b: impl FnOnce(EmpNode) -> FB + Send + 'static,
) -> (RunEnd, Left<A>, Left<B>)
where
    A: Send + 'static,
    B: Send + 'static,
    FA: Future<Output = Result<A, String>> + Send + 'static,
    FB: Future<Output = Result<B, String>> + Send + 'static,
{
    let first = pair.spawn(0, "first", a);
    let second = pair.spawn(1, "second", b);
    (pair.world.run(&RunLimits::default()), first, second)
}

/// Sends `length` bytes into a receive of `room` bytes; what the receiver is told.
fn exchange(length: u32, room: u32) -> Result<u32, Failure> {
    let mut pair = pair();
    let (end, sent, received) = run_both(
        &mut pair,
        move |mut emp| async move {
            let address = allocate(&mut emp, length);
            let buffer = Buffer { address, length };
            let handle = emp
                .post_transmit(1, 9, buffer)
                .await
                .map_err(|e| e.to_string())?;
            emp.wait(handle).await.map(drop).map_err(|e| e.to_string())
        },
        move |mut emp| async move {
            let address = allocate(&mut emp, room);
            let buffer = Buffer {
                address,
                length: room,
            };
            let handle = emp
                .post_receive(Source::Any, Tag::Any, buffer)
                .await
                .unwrap();
            Ok(emp
                .wait(handle)
                .await
                .map(|done| done.length)
                .map_err(|e| e.failure))
        },
    );
    assert_eq!(end, RunEnd::Completed);
    assert_eq!(sent.take(), Some(Ok(())));
    received.take().unwrap().unwrap()
}

#[test]
fn sizes_at_every_border() {
    // Frames (1478, then 1486 bytes), pages, forms of descriptors, and the longest message.
    let borders = [0, 1478, 1478 + 1486, 4096, 7 * 4096, 65_536, 128 * 1024];
    for border in borders {
        for length in [border.max(1) - 1, border, border + 1] {
            assert_eq!(exchange(length, length), Ok(length));
        }
    }
    assert_eq!(
        exchange(2 * 1024 * 1024, 2 * 1024 * 1024),
        Ok(2 * 1024 * 1024)
    );
    assert_eq!(exchange(10, 5000), Ok(10));
}

#[test]
fn a_longer_message_is_truncated() {
    for (length, room) in [(100, 10), (5000, 4096), (100_000, 0)] {
        let failure = exchange(length, room).unwrap_err();
        let expected = Failure::Truncated {
            message_length: length,
            received: room,
        };
        assert_eq!(failure, expected);
    }
}

#[test]
fn nobody_posts_a_receive() {
    let mut pair = pair();
    for node in 0..2 {
        pair.config_mut(node).retry_limit = 3;
        pair.config_mut(node).timeout_us = 500;
    }
    let (end, sent, _) = run_both(
        &mut pair,
        |mut emp| async move {
            let address = allocate(&mut emp, 100);
            let buffer = Buffer {
                address,
                length: 100,
            };
            let handle = emp.post_transmit(1, 1, buffer).await.unwrap();
            Ok(emp.wait(handle).await.map_err(|e| e.failure))
        },
        |_| async { Ok(()) },
    );
    assert_eq!(end, RunEnd::Completed);
    assert_eq!(sent.take(), Some(Ok(Err(Failure::Timeout))));
}

#[test]
fn everybody_waits_for_ever() {
    let mut pair = pair();
    let wait = |mut emp: EmpNode| async move {
        let address = allocate(&mut emp, 100);
        let buffer = Buffer {
            address,
            length: 100,
        };
        let handle = emp
            .post_receive(Source::Any, Tag::Any, buffer)
            .await
            .unwrap();
        emp.wait(handle).await.map(drop).map_err(|e| e.to_string())
    };
    let (end, _, _) = run_both(&mut pair, wait, wait);
    let RunEnd::Deadlock(lines) = end else {
        panic!("{end:?}");
    };
    let text = lines.join("\n");
    assert!(
        text.contains("node 0: first waits for a posted receive"),
        "{text}"
    );
    assert!(
        text.contains("node 1: second waits for a posted receive"),
        "{text}"
    );
}

#[test]
fn posts_that_cannot_be() {
    let mut pair = pair();
    let (end, outcome, _) = run_both(
        &mut pair,
        |mut emp| async move {
            let address = allocate(&mut emp, 100);
            let buffer = Buffer {
                address,
                length: 100,
            };
            let stray = Buffer {
                address: VirtualAddress(0x77),
                length: 100,
            };
            let mut errors = vec![
                emp.post_transmit(7, 1, buffer).await.unwrap_err(),
                emp.post_transmit(1, 1, stray).await.unwrap_err(),
            ];
            let mut posted = Vec::new();
            loop {
                match emp.post_receive(Source::Any, Tag::Any, buffer).await {
                    Ok(handle) => posted.push(handle),
                    Err(error) => break errors.push(error),
                }
            }
            Ok((posted.len(), errors))
        },
        |_| async { Ok(()) },
    );
    assert_eq!(end, RunEnd::Completed);
    let (posted, errors) = outcome.take().unwrap().unwrap();
    assert_eq!(posted, 440);
    assert!(
        matches!(errors[0], PostError::UnknownNode { .. }),
        "{:?}",
        errors[0]
    );
    assert!(
        matches!(errors[1], PostError::Unmapped { .. }),
        "{:?}",
        errors[1]
    );
    assert!(
        matches!(errors[2], PostError::NoDescriptors { .. }),
        "{:?}",
        errors[2]
    );
}
