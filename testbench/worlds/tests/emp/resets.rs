//! Machines that are reset in the middle of a message, and DMA channels that pause: all surviving nodes get
//! a status, resources are freed, and later messages arrive.

use emulator::tigon2::board::Tigon2;
use std::num::NonZeroUsize;

use cases::cases;
use defs::emp::control::Counter;
use emulator::host::machine::Machine;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use emulator::tigon2::dma;
use emulator::tigon2::dma::stall::StallFrom;
use host_lib::emp::{
    Buffer, Config, Direction, Emp, Failure, Progress, ReceiveTimeout, Source, Tag,
};
use host_lib::window::System;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::images;
use lanigon_worlds::nodes;
use proptest::prelude::*;

use super::support::{Streams, buffer, compare, message, pair, slowness, text, with_image};

const LONG: u32 = 2 << 20;
const SHORT: u32 = 5000;
/// A time in the middle of the long message.
const RESET: SimTime = SimTime::from_us(30_000);
const PAUSE: SimTime = SimTime::from_us(1000);
/// Tags of the interrupted message and of the later ones.
const CUT: u16 = 1;
const LATER: u16 = 2;

/// A program that starts in each incarnation of its node, with its own epoch.
fn spawn_lives<F>(
    pair: &mut EmpPairs,
    node: usize,
    program: impl Fn(Emp, u32) -> F + Clone + Send + 'static,
) -> ResultSlot<Result<(), String>>
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let outcome = ResultSlot::default();
    let left = outcome.clone();
    let (firmware, config) = (with_image(images::firmware), pair.config_mut(node).clone());
    let live = move |machine: Machine, life: u32| {
        let (firmware, left, program) = (firmware.clone(), left.clone(), program.clone());
        let epoch = life as u16;
        let config = Config {
            epoch,
            ..config.clone()
        };
        async move {
            let start = Emp::start(
                machine.clone().into(),
                machine.into(),
                Some(&firmware),
                config,
            );
            left.set(match start.await {
                Ok(emp) => program(emp, life).await,
                Err(error) => Err(text(error)),
            });
        }
    };
    let programs = &mut pair.world.nodes[node].programs;
    programs.spawn_restartable("lives", live);
    outcome
}

/// Waits until both nodes have booted.
async fn settle(emp: &mut Emp) {
    let rest = nodes::START.ps().saturating_sub(emp.system().now_ps());
    emp.system_mut().compute(rest / 1000).await;
}

/// Sends message `number` of `me` to the other node until it is acknowledged.
async fn send_until_taken(emp: &mut Emp, me: u16, number: u32) -> Result<(), String> {
    let source = message(emp, me, number, SHORT);
    for _ in 0..50 {
        let transmit = emp.post_transmit(1 - me, LATER, source).await;
        if emp.wait(transmit.map_err(text)?).await.is_ok() {
            return Ok(());
        }
    }
    Err("nobody takes it".into())
}

async fn receive_later(emp: &mut Emp, me: u16, number: u32) -> Result<(), String> {
    let space = buffer(emp, SHORT);
    let source = Source::Node(1 - me);
    let handle = emp.post_receive(source, Tag::Value(LATER), space).await;
    emp.wait(handle.map_err(text)?).await.map_err(text)?;
    compare(emp, space, 1 - me, number)
}

fn all_free(emp: &Emp) -> Result<(), String> {
    let directions = [Direction::Transmit, Direction::Receive];
    match directions.map(|direction| emp.free_descriptors(direction)) {
        [200, 440] => Ok(()),
        free => Err(format!("{free:?} descriptors are free")),
    }
}

/// Node 0 starts to send the long message and returns its result.
async fn send_long(emp: &mut Emp) -> Result<Failure, String> {
    settle(emp).await;
    let source = message(emp, 0, 0, LONG);
    let transmit = emp.post_transmit(1, CUT, source).await.map_err(text)?;
    match emp.wait(transmit).await {
        Ok(_) => Err("the long message has passed".into()),
        Err(error) => Ok(error.failure),
    }
}

/// Node 1 waits for it.
async fn receive_long(emp: &mut Emp) -> Result<Failure, String> {
    let space = buffer(emp, LONG);
    let handle = emp.post_receive(Source::Any, Tag::Value(CUT), space).await;
    match emp.wait(handle.map_err(text)?).await {
        Ok(_) => Err("the long message has come".into()),
        Err(error) => Ok(error.failure),
    }
}

fn expect_timeout(failure: Failure) -> Result<(), String> {
    match failure {
        Failure::Timeout => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// The surviving node: finishes the interrupted transfer, then both nodes exchange a message in each
/// direction.
async fn survivor(mut emp: Emp, me: u16) -> Result<(), String> {
    let failure = match me {
        0 => send_long(&mut emp).await?,
        _ => receive_long(&mut emp).await?,
    };
    expect_timeout(failure)?;
    all_free(&emp)?;
    if me == 0 {
        send_until_taken(&mut emp, me, 1).await?;
        receive_later(&mut emp, me, 2).await?;
    } else {
        // The first frames of the restarted node have ended the receive: it sends them again.
        receive_later(&mut emp, me, 1).await?;
        send_until_taken(&mut emp, me, 2).await?;
    }
    all_free(&emp)
}

/// The reset node, in its second incarnation.
async fn second_life(mut emp: Emp, me: u16) -> Result<(), String> {
    if me == 0 {
        send_until_taken(&mut emp, me, 1).await?;
        receive_later(&mut emp, me, 2).await?;
    } else {
        receive_later(&mut emp, me, 1).await?;
        send_until_taken(&mut emp, me, 2).await?;
    }
    all_free(&emp)
}

/// A pair with short timeouts.
fn impatient_pair() -> EmpPairs {
    let mut pair = pair();
    for node in 0..2 {
        let config = pair.config_mut(node);
        config.timeout_us = 1000;
        config.retry_limit = 3;
    }
    pair
}

/// Resets `node` in the middle of the long message; returns the trace hash.
fn reset_in_the_middle(node: usize, threads: usize, skip_idle: bool) -> u64 {
    let mut pair = impatient_pair();
    for node in &mut pair.world.nodes {
        node.board_mut::<Tigon2>().skip_idle = skip_idle;
    }
    let first_life = |mut emp: Emp, me: u16| async move {
        let outcome = match me {
            0 => send_long(&mut emp).await,
            _ => receive_long(&mut emp).await,
        };
        Err(format!("it has survived: {outcome:?}"))
    };
    let me = node as u16;
    let reset = spawn_lives(&mut pair, node, move |emp, life| async move {
        match life {
            1 => first_life(emp, me).await,
            _ => second_life(emp, me).await,
        }
    });
    let lives = spawn_lives(&mut pair, 1 - node, move |emp, _| survivor(emp, 1 - me));
    pair.world.nodes[node].schedule_reset(RESET, Some(PAUSE));
    let limits = RunLimits {
        threads: NonZeroUsize::new(threads).unwrap(),
        ..RunLimits::default()
    };
    assert_eq!(pair.world.run(&limits), RunEnd::Completed);
    assert_eq!(lives.take(), Some(Ok(())), "who lives");
    assert_eq!(reset.take(), Some(Ok(())), "who was reset");
    pair.world.trace_hash()
}

#[test]
pub fn a_receiver_is_reset() {
    let hash = reset_in_the_middle(1, 1, true);
    assert_eq!(reset_in_the_middle(1, 2, false), hash);
}

#[test]
pub fn a_sender_is_reset() {
    let hash = reset_in_the_middle(0, 1, true);
    assert_eq!(reset_in_the_middle(0, 2, false), hash);
}

/// Both nodes are reset in turn, in every scheme. One run each suffices: base has shown determinism.
pub fn either_node_is_reset() {
    for node in 0..2 {
        reset_in_the_middle(node, 1, true);
    }
}

/// Resets `node` permanently; returns the time until the other one gets an error, in microseconds.
fn reset_for_good(node: usize, receive_timeout: ReceiveTimeout) -> u64 {
    let mut pair = impatient_pair();
    pair.config_mut(1 - node).receive_timeout = receive_timeout;
    let told = ResultSlot::default();
    for me in 0..2 {
        let left = told.clone();
        spawn_lives(&mut pair, me, move |mut emp, _| {
            let left = left.clone();
            async move {
                let failure = match me {
                    0 => send_long(&mut emp).await?,
                    _ => receive_long(&mut emp).await?,
                };
                left.set((failure, emp.system().now_ps()));
                all_free(&emp)
            }
        });
    }
    pair.world.nodes[node].schedule_reset(RESET, None);
    assert_eq!(pair.world.run(&RunLimits::default()), RunEnd::Completed);
    let (failure, at_ps) = told.take().unwrap();
    assert_eq!(failure, Failure::Timeout);
    (at_ps - RESET.ps()) / 1_000_000
}

#[test]
pub fn a_peer_that_is_gone_is_noticed_in_time() {
    // Timeouts of 1, 2, 4 and 8 ms, and each time the rest of the message, at most 20 ms.
    let sender_us = reset_for_good(1, ReceiveTimeout::Never);
    let most = 15_000 + 4 * 20_000 * slowness();
    assert!((15_000..most).contains(&sender_us), "{sender_us} us");
    // The firmware checks for silence several times per timeout: it may end one check early.
    let receiver_us = reset_for_good(0, ReceiveTimeout::AfterUs(20_000));
    assert!((17_000..25_000).contains(&receiver_us), "{receiver_us} us");
    // A full send queue (4.2 s), and the sender's timeouts of 15 ms.
    let usual_us = reset_for_good(0, ReceiveTimeout::SenderGone);
    assert!((3_650_000..4_300_000).contains(&usual_us), "{usual_us} us");
}

/// Exchanges streams while both channels of both nodes pause repeatedly; returns the trace hash.
fn streams_with_rests(skip_idle: bool) -> u64 {
    let mut pair = pair();
    for node in &mut pair.world.nodes {
        node.board_mut::<Tigon2>().skip_idle = skip_idle;
        node.trace.keep(true);
        for direction in [dma::Direction::Read, dma::Direction::Write] {
            let fabric = &mut node.board_mut::<Tigon2>().fabric;
            for transfer in (7..120).step_by(11) {
                let from = StallFrom::Transfer(transfer);
                fabric.stall_dma(direction, from, SimTime::from_us(5 * transfer));
            }
            let from = StallFrom::Time(nodes::START + SimTime::from_us(700));
            fabric.stall_dma(direction, from, SimTime::from_us(6000));
        }
    }
    let counters = Streams::new(11, 40, 20_000).run(&mut pair);
    let resent = [counters.0, counters.1].map(|of| of[Counter::FramesResent as usize]);
    assert!(resent != [0, 0], "a rest of 6 ms is longer than a timeout");
    for node in &mut pair.world.nodes {
        let events = node.trace.take();
        let rests = |event: &&TraceEvent| matches!(event.kind, TraceKind::DmaRests { .. });
        let count = events.iter().filter(rests).count();
        assert!(count >= 15, "{count} rests");
    }
    pair.world.trace_hash()
}

#[test]
pub fn messages_pass_while_dma_channels_rest() {
    assert_eq!(streams_with_rests(true), streams_with_rests(false));
}

/// End of sends ...
const LAST_SEND: SimTime = SimTime::from_us(85_000);
/// ... and of waits.
const LAST_RECEIVE: SimTime = SimTime::from_us(105_000);
/// Longest message of the exchange.
const TALK: u32 = 12_000;

/// Observations of the programs in all incarnations. A message's tag encodes the incarnation of its sender,
/// and its number in that incarnation.
#[derive(Default)]
struct Seen {
    /// Tags of acknowledged messages.
    acknowledged: Vec<u16>,
    /// Incarnation of the receiver, and tag.
    received: Vec<(u32, u16)>,
    /// The last incarnation of each node.
    lives: [u32; 2],
}

/// Node 0: sends messages, and ignores errors.
async fn talk(mut emp: Emp, life: u32, seen: ResultSlot<Seen>) -> Result<(), String> {
    seen.with(|seen| seen.get_or_insert_default().lives[0] = life);
    for number in 0..256 {
        if emp.system().now_ps() >= LAST_SEND.ps() {
            break;
        }
        let tag = (life << 8 | number) as u16;
        let source = message(&mut emp, 0, tag.into(), number * 977 % TALK);
        let transmit = emp.post_transmit(1, tag, source).await.map_err(text)?;
        match emp.wait(transmit).await.map_err(|error| error.failure) {
            Ok(_) => seen.with(|seen| seen.get_or_insert_default().acknowledged.push(tag)),
            Err(failure) => expect_timeout(failure)?,
        }
        emp.system_mut().compute(500_000).await;
    }
    Ok(())
}

/// Node 1: receives messages.
async fn listen(mut emp: Emp, life: u32, seen: ResultSlot<Seen>) -> Result<(), String> {
    seen.with(|seen| seen.get_or_insert_default().lives[1] = life);
    let space = buffer(&mut emp, TALK);
    loop {
        let posted = emp.post_receive(Source::Any, Tag::Any, space).await;
        let mut handle = posted.map_err(text)?;
        let result = loop {
            match emp.test(handle).await {
                Progress::Complete(result) => break result,
                Progress::Pending(back) => handle = back,
            }
            if emp.system().now_ps() >= LAST_RECEIVE.ps() {
                let _ = emp.cancel(handle).await;
                return all_free(&emp);
            }
            emp.system_mut().compute(20_000).await;
        };
        match result {
            Ok(done) => {
                let length = done.length;
                compare(&emp, Buffer { length, ..space }, 0, done.tag.into())?;
                let entry = (life, done.tag);
                seen.with(|seen| seen.get_or_insert_default().received.push(entry));
            }
            Err(error) => expect_timeout(error.failure)?,
        }
    }
}

/// A reset: node, time and pause in microseconds.
type Reset = (usize, u64, u64);

fn talk_through(resets: &[Reset], skip_idle: bool) -> (Seen, u64) {
    let mut pair = impatient_pair();
    let seen = ResultSlot::default();
    let (sent, received) = (seen.clone(), seen.clone());
    let talker = spawn_lives(&mut pair, 0, move |emp, life| talk(emp, life, sent.clone()));
    let listener = spawn_lives(&mut pair, 1, move |emp, life| {
        listen(emp, life, received.clone())
    });
    for node in &mut pair.world.nodes {
        node.board_mut::<Tigon2>().skip_idle = skip_idle;
    }
    for &(node, at_us, pause_us) in resets {
        let pause = Some(SimTime::from_us(pause_us));
        pair.world.nodes[node].schedule_reset(SimTime::from_us(at_us), pause);
    }
    assert_eq!(pair.world.run(&RunLimits::default()), RunEnd::Completed);
    assert_eq!(talker.take(), Some(Ok(())));
    assert_eq!(listener.take(), Some(Ok(())));
    (seen.take().unwrap_or_default(), pair.world.trace_hash())
}

/// Checks the guarantees that are independent of the resets.
fn check_talk(resets: &[Reset], seen: &Seen) {
    let of = |node| resets.iter().filter(|reset| reset.0 == node).count();
    // In one incarnation of the receiver every message arrives once, in the order of sending.
    let in_order = |pair: &[(u32, u16)]| pair[0].0 < pair[1].0 || pair[0].1 < pair[1].1;
    assert!(
        seen.received.windows(2).all(in_order),
        "{:?}",
        seen.received
    );
    // Acknowledged messages have arrived, except those not yet read by a program that died.
    let came = |tag: &u16| seen.received.iter().any(|(_, received)| received == tag);
    let unseen = seen.acknowledged.iter().filter(|tag| !came(tag)).count();
    assert!(unseen <= of(1), "{unseen} of {:?}", seen.acknowledged);
    // Messages arrive again after the last reset.
    let last = seen
        .received
        .last()
        .map(|(life, tag)| [u32::from(tag >> 8), *life]);
    assert_eq!(last, Some(seen.lives));
}

/// Both nodes are reset repeatedly, at short and long intervals.
pub fn a_talk_survives_resets() {
    let resets = [
        (1, 3000, 900),
        (0, 9300, 0),
        (1, 9400, 2500),
        (1, 21_000, 0),
        (0, 38_700, 1100),
    ];
    check_talk(&resets, &talk_through(&resets, true).0);
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn no_reset_doubles_or_reorders_messages_or_stops_the_talk(
        resets in prop::collection::vec((0..2_usize, 1000..60_000_u64, 0..3000_u64), 0..7),
    ) {
        let (seen, hash) = talk_through(&resets, true);
        check_talk(&resets, &seen);
        prop_assert_eq!(talk_through(&resets, false).1, hash);
    }
}
