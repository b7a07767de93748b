//! Calls of the host library with the real firmware: wait for any transfer, cancel a receive, change
//! settings, share a board.

use defs::emp::control::Counter;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use emulator::tigon2::board::Tigon2;
use host_lib::emp::{
    AnyHandle, Buffer, Cancellation, Device, Direction, Emp, Failure, OpenError, Settings, Source,
    Tag,
};
use host_lib::window::System;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::images;

use super::support::{IMAGE, buffer, compare, message, pair, run_both, run_well, text};

/// Sends messages with these tags and lengths, one after another; message `n` has contents `n`.
async fn send_all(mut emp: Emp, messages: Vec<(u16, u32)>) -> Result<Emp, String> {
    for (number, (tag, length)) in messages.into_iter().enumerate() {
        let source = message(&mut emp, 0, number as u32, length);
        let transmit = emp.post_transmit(1, tag, source).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
    }
    Ok(emp)
}

async fn receive(emp: &mut Emp, tag: u16, length: u32) -> Result<(Buffer, AnyHandle), String> {
    let space = buffer(emp, length);
    let handle = emp
        .post_receive(Source::Node(0), Tag::Value(tag), space)
        .await;
    Ok((space, handle.map_err(text)?.into()))
}

/// Waits for six messages that arrive in another order than their receives were posted, and for a transmit
/// of its own.
async fn wait_for_seven(mut emp: Emp) -> Result<Vec<u16>, String> {
    let (mut handles, mut spaces) = (Vec::new(), Vec::new());
    for tag in 0..6 {
        let (space, handle) = receive(&mut emp, tag, 3000).await?;
        handles.push(handle);
        spaces.push(space);
    }
    let note = message(&mut emp, 1, 0, 10);
    let transmit = emp.post_transmit(0, 77, note).await.map_err(text)?;
    handles.insert(3, transmit.into());
    let mut order = Vec::new();
    while let Some((index, result)) = emp.wait_any(&mut handles).await {
        let done = result.map_err(text)?;
        let number = order.iter().filter(|tag| **tag != 77).count() as u32;
        if done.tag != 77 {
            compare(&emp, spaces[usize::from(done.tag)], 0, number)?;
        }
        assert!(index <= handles.len());
        order.push(done.tag);
    }
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
    assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
    Ok(order)
}

/// Runs the test; returns the order of the transfers' ends, and the trace hash.
fn wait_for_any(skip_idle: bool) -> (Vec<u16>, u64) {
    let mut pair = pair();
    for node in &mut pair.world.nodes {
        node.board_mut::<Tigon2>().skip_idle = skip_idle;
    }
    let tags = [4, 2, 5, 0, 3, 1];
    let sender = move |mut emp: Emp| async move {
        let space = buffer(&mut emp, 10);
        let note = emp.post_receive(Source::Any, Tag::Any, space).await;
        emp.wait(note.map_err(text)?).await.map_err(text)?;
        // The others do a few polls: the order must not depend on them.
        emp.system_mut().compute(100_000).await;
        send_all(emp, tags.map(|tag| (tag, 3000)).to_vec()).await
    };
    let (_, order) = run_well(&mut pair, sender, wait_for_seven);
    (order, pair.world.trace_hash())
}

#[test]
fn the_example_runs() {
    super::example::main().unwrap();
}

#[test]
pub fn whichever_of_several_transfers_is_over_first() {
    let (order, hash) = wait_for_any(true);
    assert_eq!(order, [77, 4, 2, 5, 0, 3, 1]);
    assert_eq!(wait_for_any(false), (order, hash), "idle loops stepped");
}

#[test]
fn a_wait_for_any_that_nothing_can_end_is_a_deadlock() {
    let mut pair = pair();
    let (end, _, _) = run_both(
        &mut pair,
        |_| async { Ok(()) },
        |mut emp| async move {
            let mut handles = Vec::new();
            for _ in 0..150 {
                handles.push(receive(&mut emp, 1, 10).await?.1);
            }
            let ended = emp.wait_any(&mut handles).await;
            Err::<(), _>(format!("{ended:?}"))
        },
    );
    let RunEnd::Deadlock(lines) = end else {
        panic!("{end:?}");
    };
    let expected = "node 1: second waits for any of several transfers to be over";
    assert!(lines.iter().any(|line| line == expected), "{lines:?}");
}

#[test]
pub fn a_cancelled_receive_takes_no_message() {
    let mut pair = pair();
    let (_, cancellation) = run_well(
        &mut pair,
        |mut emp| async move {
            emp.system_mut().compute(1_000_000).await;
            send_all(emp, vec![(1, 5000)]).await
        },
        |mut emp| async move {
            let first = buffer(&mut emp, 5000);
            let handle = emp.post_receive(Source::Any, Tag::Any, first).await;
            let cancellation = emp.cancel(handle.map_err(text)?).await;
            let (space, handle) = receive(&mut emp, 1, 5000).await?;
            emp.wait(handle).await.map_err(text)?;
            compare(&emp, space, 0, 0)?;
            let mut untouched = vec![1; 5000];
            emp.system()
                .read_memory(first.address, &mut untouched)
                .unwrap();
            assert_eq!(untouched, vec![0; 5000]);
            assert_eq!(emp.free_descriptors(Direction::Receive), 440);
            Ok(cancellation)
        },
    );
    assert_eq!(cancellation, Cancellation::Cancelled);
}

/// Cancels a receive some time after its message was posted; returns the message's length, if it arrived.
fn cancel_late(length: u32, after_us: u64) -> Option<u32> {
    let mut pair = pair();
    let (_, cancellation) = run_well(
        &mut pair,
        move |emp| send_all(emp, vec![(1, length)]),
        move |mut emp| async move {
            let space = buffer(&mut emp, length);
            let handle = emp.post_receive(Source::Any, Tag::Any, space).await;
            emp.system_mut().compute(after_us * 1000).await;
            let cancellation = emp.cancel(handle.map_err(text)?).await;
            compare(&emp, space, 0, 0)?;
            Ok(cancellation)
        },
    );
    match cancellation {
        Cancellation::Came(Ok(done)) => Some(done.length),
        _ => None,
    }
}

#[test]
pub fn a_message_that_came_first_is_not_cancelled() {
    assert_eq!(cancel_late(100, 1000), Some(100), "it is complete");
    assert_eq!(cancel_late(1 << 20, 3000), Some(1 << 20), "it is under way");
}

/// Sends 16 frames with two ack groups, the second set at run time; returns the number of acks in each
/// half.
fn acks(settings: impl Fn(Settings) -> Settings + Send + 'static) -> [u32; 2] {
    const LENGTH: u32 = 1478 + 15 * 1486;
    let mut pair = pair();
    let (_, counts) = run_well(
        &mut pair,
        |emp| async move {
            let mut emp = send_all(emp, vec![(1, LENGTH)]).await?;
            let changed = settings(emp.settings());
            emp.set(changed).await.map_err(text)?;
            assert_eq!(emp.settings(), changed);
            send_all(emp, vec![(1, LENGTH)]).await
        },
        |mut emp| async move {
            let mut counts = [0; 2];
            for count in &mut counts {
                let before = emp.counter(Counter::AcksSent).await;
                let (_, handle) = receive(&mut emp, 1, LENGTH).await?;
                emp.wait(handle).await.map_err(text)?;
                *count = emp.counter(Counter::AcksSent).await - before;
            }
            Ok(counts)
        },
    );
    counts
}

#[test]
pub fn the_ack_group_changes_at_run_time() {
    let group = |ack_group| {
        move |settings| Settings {
            ack_group,
            ..settings
        }
    };
    assert_eq!(acks(group(1)), [6, 16]);
    assert_eq!(acks(group(16)), [6, 1]);
    let flow_control = |settings| Settings {
        flow_control: true,
        ..settings
    };
    assert_eq!(acks(flow_control), [6, 6]);
}

#[test]
pub fn a_new_retry_limit_holds_at_once() {
    let mut pair = pair();
    let (failure, ()) = run_well(
        &mut pair,
        |mut emp| async move {
            let settings = Settings {
                timeout_us: 100,
                retry_limit: 1,
                ..emp.settings()
            };
            emp.set(settings).await.map_err(text)?;
            let source = buffer(&mut emp, 10);
            let transmit = emp.post_transmit(1, 1, source).await.map_err(text)?;
            let began = emp.system().now_ps();
            let failure = emp.wait(transmit).await.map_err(|error| error.failure);
            let us = (emp.system().now_ps() - began) / 1_000_000;
            assert!((300..500).contains(&us), "{us} us");
            Ok(failure)
        },
        |_| async { Ok(()) },
    );
    assert_eq!(failure, Err(Failure::Timeout));
}

/// Lets a program of node 1 open the device at a time; its outcome is the result.
fn spawn_on_device<F>(
    pair: &mut EmpPairs,
    device: &Device,
    open_at: SimTime,
    program: impl FnOnce(Emp) -> F + Send + 'static,
) -> ResultSlot<Result<u32, String>>
where
    F: Future<Output = Result<u32, String>> + Send + 'static,
{
    let outcome = ResultSlot::default();
    let (left, device) = (outcome.clone(), device.clone());
    let (firmware, config) = (images::firmware(&IMAGE), pair.config_mut(1).clone());
    pair.world.nodes[1]
        .programs
        .spawn("program", move |mut machine| async move {
            machine.sleep(open_at.ps() / 1000).await;
            let opened = device.open(
                Box::new(machine.clone()),
                Box::new(machine),
                &firmware,
                config,
            );
            left.set(match opened.await {
                Ok(emp) => program(emp).await,
                Err(error) => Err(error.to_string()),
            });
        });
    outcome
}

#[test]
fn programs_of_a_host_use_the_board_one_after_another() {
    const LENGTH: u32 = 1 << 20;
    let mut pair = pair();
    let device = Device::new();
    let ms = |ms: u64| SimTime::from_us(ms * 1000);
    // The first one dies with a message half received.
    let first = spawn_on_device(&mut pair, &device, ms(0), |mut emp| async move {
        let (_, handle) = receive(&mut emp, 1, LENGTH).await?;
        let rest_ns = 24_000_000 - emp.system().now_ps() / 1000;
        emp.system_mut().compute(rest_ns).await;
        drop(handle);
        Ok(emp.counter(Counter::FramesAccepted).await)
    });
    let refused = spawn_on_device(&mut pair, &device, ms(22), |_| async { Ok(0) });
    let second = spawn_on_device(&mut pair, &device, ms(25), |mut emp| async move {
        let (space, handle) = receive(&mut emp, 2, 5000).await?;
        emp.wait(handle).await.map_err(text)?;
        compare(&emp, space, 0, 7)?;
        emp.close().await;
        Ok(1)
    });
    *pair.config_mut(0) = host_lib::emp::Config {
        timeout_us: 500,
        retry_limit: 3,
        ..pair.config_mut(0).clone()
    };
    let sender = pair.spawn(0, "sender", |mut emp: Emp| async move {
        let long = buffer(&mut emp, LENGTH);
        let transmit = emp.post_transmit(1, 1, long).await.map_err(text)?;
        let failure = emp.wait(transmit).await.map_err(|error| error.failure);
        assert_eq!(failure, Err(Failure::Timeout));
        let short = message(&mut emp, 0, 7, 5000);
        for _ in 0..20 {
            let transmit = emp.post_transmit(1, 2, short).await.map_err(text)?;
            if emp.wait(transmit).await.is_ok() {
                return Ok(());
            }
        }
        Err("nobody takes it".into())
    });
    assert_eq!(pair.world.run(&RunLimits::default()), RunEnd::Completed);
    assert_eq!(sender.take(), Some(Ok(())));
    let accepted = first.take().unwrap().unwrap();
    assert!((10..700).contains(&accepted), "{accepted} frames");
    assert_eq!(refused.take(), Some(Err(OpenError::Busy.to_string())));
    assert_eq!(second.take(), Some(Ok(1)));
    assert_eq!(device.epoch(), 2);
}
