//! Sizes and times at their limits, with the real chip and library: frames, ack groups, pages and the
//! longest message; timeouts and the retry limit.

use defs::emp::control::Counter;
use defs::emp::descriptor::{CHAIN_PAGES, MESSAGE_LIMIT_BYTES, PAGE_BYTES};
use defs::emp::frame::{data_frame_capacity, header_frame_capacity};
use emulator::sim::time::SimTime;
use host_lib::emp::{Buffer, Emp, Failure, PostError, Source, Tag};
use lanigon_worlds::faults::{self, Fault};

use super::support::{buffer, compare, message, pair, run_well, text};

const TAG: u16 = 3;

async fn send_sizes(mut emp: Emp, sizes: Vec<u32>) -> Result<u32, String> {
    for (number, &length) in sizes.iter().enumerate() {
        let source = message(&mut emp, 0, number as u32, length);
        let transmit = emp.post_transmit(1, TAG, source).await.map_err(text)?;
        let done = emp.wait(transmit).await;
        done.map_err(|error| format!("{length} bytes: {error}"))?;
    }
    Ok(emp.counter(Counter::FramesSent).await)
}

async fn receive_sizes(mut emp: Emp, sizes: Vec<u32>) -> Result<(), String> {
    for (number, &length) in sizes.iter().enumerate() {
        let space = buffer(&mut emp, length);
        let source = Source::Node(0);
        let receive = emp.post_receive(source, Tag::Value(TAG), space).await;
        let done = emp.wait(receive.map_err(text)?).await;
        let done = done.map_err(|error| format!("{length} bytes: {error}"))?;
        if done.length != length {
            return Err(format!("{} bytes instead of {length}", done.length));
        }
        compare(&emp, space, 0, number as u32)?;
    }
    Ok(())
}

/// Sends messages of these sizes; each must arrive unchanged, in the expected number of frames.
fn check_sizes(frame_bytes: u32, ack_group: u32, sizes: &[u32]) {
    let mut pair = pair();
    for node in 0..2 {
        let config = pair.config_mut(node);
        (config.frame_bytes, config.ack_group) = (frame_bytes, ack_group);
    }
    let (out, incoming) = (sizes.to_vec(), sizes.to_vec());
    let (sent, ()) = run_well(
        &mut pair,
        |emp| send_sizes(emp, out),
        |emp| receive_sizes(emp, incoming),
    );
    let (first, more) = (
        header_frame_capacity(frame_bytes),
        data_frame_capacity(frame_bytes),
    );
    let frames = |&length: &u32| 1 + length.saturating_sub(first).div_ceil(more);
    let expected: u32 = sizes.iter().map(frames).sum();
    assert_eq!(sent, expected, "frames of {frame_bytes} bytes");
}

/// The limit, one less, one more.
fn around(borders: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let three = |border: u32| [border - 1, border, border + 1];
    borders.into_iter().flat_map(three).collect()
}

/// Capacity of this many frames.
fn frames(frame_bytes: u32, count: u32) -> u32 {
    header_frame_capacity(frame_bytes) + (count - 1) * data_frame_capacity(frame_bytes)
}

#[test]
fn sizes_around_frames_and_ack_groups() {
    for frame_bytes in [46, 1500, 9000] {
        for ack_group in [1, 3, 16] {
            let borders = [1, 2, ack_group, 2 * ack_group, 2 * ack_group + 1];
            let mut sizes = around(borders.map(|count| frames(frame_bytes, count)));
            sizes.extend([0, 1]);
            check_sizes(frame_bytes, ack_group, &sizes);
        }
    }
}

#[test]
fn sizes_around_pages() {
    let pages = [1, 2, 3, CHAIN_PAGES as u32, CHAIN_PAGES as u32 + 1, 16, 32];
    check_sizes(1500, 3, &around(pages.map(|count| count * PAGE_BYTES)));
}

#[test]
fn the_longest_messages() {
    let longest = MESSAGE_LIMIT_BYTES;
    check_sizes(1500, 3, &[longest - 1, longest]);
    check_sizes(9000, 16, &[longest]);
    // The largest number of the shortest frames.
    check_sizes(46, 3, &[frames(46, emp_frame_limit())]);
}

/// Largest number of frames of a message (`docs/emp.md`, section 4).
const fn emp_frame_limit() -> u32 {
    1536
}

/// Posts a message; returns the error of the post, or of the transfer.
async fn refused(mut emp: Emp, length: u32) -> Result<Result<Failure, PostError>, String> {
    let space = buffer(&mut emp, MESSAGE_LIMIT_BYTES);
    let too_long = Buffer { length, ..space };
    Ok(match emp.post_transmit(1, TAG, too_long).await {
        Err(error) => Err(error),
        Ok(handle) => match emp.wait(handle).await {
            Ok(_) => return Err(format!("{length} bytes were sent")),
            Err(error) => Ok(error.failure),
        },
    })
}

#[test]
fn what_is_longer_is_refused() {
    let check = |frame_bytes, length, expected| {
        let mut pair = pair();
        for node in 0..2 {
            pair.config_mut(node).frame_bytes = frame_bytes;
        }
        let run = move |emp| refused(emp, length);
        let (got, ()) = run_well(&mut pair, run, |_| async { Ok(()) });
        assert_eq!(got, expected, "{length} bytes");
    };
    let length = MESSAGE_LIMIT_BYTES + 1;
    let length_bytes = u64::from(length);
    check(1500, length, Err(PostError::TooLong { length_bytes }));
    let (most, frame_bytes) = (frames(46, emp_frame_limit()), 46);
    let too_many = PostError::TooManyFrames {
        length: most + 1,
        most,
        frame_bytes,
    };
    check(frame_bytes, most + 1, Err(too_many));
}

/// Sends one message of one frame with faults; returns its result and the number of retransmissions.
fn send_one(timeout_us: u32, retry_limit: u32, fault: &Fault) -> (Result<(), Failure>, u32) {
    let mut pair = pair();
    for node in 0..2 {
        let config = pair.config_mut(node);
        (config.timeout_us, config.retry_limit) = (timeout_us, retry_limit);
    }
    faults::install(&mut pair.world, fault).unwrap();
    let send = |mut emp: Emp| async move {
        let source = message(&mut emp, 0, 0, 100);
        let transmit = emp.post_transmit(1, TAG, source).await.map_err(text)?;
        let end = emp.wait(transmit).await;
        let resent = emp.counter(Counter::FramesResent).await;
        Ok((end.map(drop).map_err(|error| error.failure), resent))
    };
    let receive = |mut emp: Emp| async move {
        let space = buffer(&mut emp, 100);
        let receive = emp.post_receive(Source::Any, Tag::Any, space).await;
        receive.map(drop).map_err(text)
    };
    run_well(&mut pair, send, receive).0
}

#[test]
fn acks_just_before_and_just_after_the_timeout() {
    let check = |timeout_us: u32, late_us: u64, resent| {
        let late = Fault::delay(SimTime::from_us(late_us)).ack();
        let (end, got) = send_one(timeout_us, 10, &late);
        assert_eq!((end, got), (Ok(()), resent), "{late_us} us of {timeout_us}");
    };
    // Without a measured ack the first wait is the host's timeout, or an eighth of it and 128 us.
    for (timeout_us, first_us) in [(130, 130), (500, 190), (4000, 628)] {
        // The ack of an undelayed frame takes about 20 us.
        check(timeout_us, first_us - 40, 0);
        check(timeout_us, first_us + 20, 1);
    }
    // The ack of the second copy comes long before the delayed one.
    check(500, 1450, 1);
}

#[test]
fn the_last_retry_counts_and_no_other_follows() {
    let check = |retry_limit: u32, lost: u32, end| {
        let lossy = Fault::drop().header().times(lost);
        // So short that no earlier waits precede it.
        let got = send_one(100, retry_limit, &lossy);
        assert_eq!(got, (end, retry_limit), "{lost} lost of {retry_limit} + 1");
    };
    for retry_limit in [0, 1, 6] {
        check(retry_limit, retry_limit, Ok(()));
        check(retry_limit, retry_limit + 1, Err(Failure::Timeout));
    }
}
