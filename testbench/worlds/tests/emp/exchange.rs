//! Single exchanges: size limits, and all error results of a host.

use emulator::sim::world::RunEnd;
use host_lib::emp::{Buffer, Emp, Failure, PostError, Source, Tag};
use host_lib::window::VirtualAddress;

use super::support::{allocate, pair, run_both};

/// Sends `length` bytes into a receive of `room` bytes; returns the receiver's result.
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
pub fn sizes_at_every_border() {
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
pub fn a_longer_message_is_truncated() {
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
pub fn nobody_posts_a_receive() {
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
    let wait = |mut emp: Emp| async move {
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
pub fn posts_that_cannot_be() {
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
