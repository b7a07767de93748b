//! Ends of messages with a faulty cable.

use emulator::sim::time::SimTime;
use host_lib::emp::{Emp, Failure, Source, Tag};
use host_lib::window::System;
use lanigon_worlds::faults::{self, Fault};
use lanigon_worlds::nodes::START;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::support::{Streams, buffer, message, pair, run_well, text};

const TIMEOUT_US: u64 = 300;
/// 300 us, then twice, four times and eight times as much.
const ALL_WAITS_US: u64 = 15 * TIMEOUT_US;

async fn send_one(emp: &mut Emp) -> Result<(Option<Failure>, u64), String> {
    let source = message(emp, 0, 0, 5000);
    let begin = emp.system().now_ps();
    let transmit = emp.post_transmit(1, 1, source).await.map_err(text)?;
    let end = emp.wait(transmit).await;
    let us = (emp.system().now_ps() - begin) / 1_000_000;
    Ok((end.err().map(|error| error.failure), us))
}

/// Sends messages that are received, and one of which every frame is lost.
async fn send_into_the_void(mut emp: Emp, before: u32) -> Result<u64, String> {
    emp.system_mut().compute(100_000).await;
    for _ in 0..before {
        if let (Some(failure), _) = send_one(&mut emp).await? {
            return Err(text(failure));
        }
    }
    match send_one(&mut emp).await? {
        (Some(Failure::Timeout), us) => Ok(us),
        other => Err(format!("{other:?}")),
    }
}

async fn receive(mut emp: Emp, messages: u32) -> Result<(), String> {
    let space = buffer(&mut emp, 5000);
    for _ in 0..messages {
        let receive = emp.post_receive(Source::Node(0), Tag::Any, space).await;
        emp.wait(receive.map_err(text)?).await.map_err(text)?;
    }
    Ok(())
}

#[test]
fn a_sender_gives_up_in_the_stated_time() {
    let waited_us = |before: u32| {
        let mut pair = pair();
        for node in 0..2 {
            let config = pair.config_mut(node);
            (config.timeout_us, config.retry_limit) = (TIMEOUT_US as u32, 3);
        }
        let lost = Fault::drop().from(0).of_message(before as u16).always();
        faults::install(&mut pair.world, &lost).unwrap();
        let sender = move |emp| send_into_the_void(emp, before);
        run_well(&mut pair, sender, move |emp| receive(emp, before)).0
    };
    for before in [0, 20] {
        // Early waits come first: less than two timeouts in all.
        let early = waited_us(before) - ALL_WAITS_US;
        assert!((100..2 * TIMEOUT_US + 200).contains(&early), "{early} us");
    }
}

#[test]
fn messages_outlive_a_cable_that_is_out_for_two_milliseconds() {
    let mut pair = pair();
    for cut in [1, 5] {
        let from = START + SimTime::from_us(cut * 1000);
        let until = from + SimTime::from_us(2000);
        pair.world.unplug(0, from, Some(until)).unwrap();
    }
    // Every byte is compared, and no message may fail.
    Streams::new(5, 60, 20_000).run(&mut pair);
    let end = pair.world.now();
    assert!(end > START + SimTime::from_us(7000), "{end:?}");
}

fn run_soak(messages: u32) -> RunSummary {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/soak.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let whole = "messages = 62500 ";
    assert!(text.contains(whole));
    let text = text.replace(whole, &format!("messages = {messages} "));
    let scenario = lanigon_workloads::parse("soak.toml", &text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.run(&RunOptions::default(), |_| {})
}

/// The first part of `make soak`.
#[test]
fn a_short_soak_breaks_no_promise() {
    let outcome = run_soak(250);
    assert!(outcome.is_good(), "{outcome:?}");
    let messages = outcome.verdict.messages;
    assert_eq!((messages.posted, messages.delivered), (4000, 4000));
    assert!(outcome.drops["fault_lost"] > 100 && outcome.faults["duplicated"] > 50);
}
