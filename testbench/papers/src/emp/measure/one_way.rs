//! One-way bandwidth benchmark. The receiver posts as many receives as possible and reposts each one when
//! it is filled. The sender keeps two transmits posted and replaces each on its completion, the receiving
//! NIC's acknowledgment.

use std::collections::VecDeque;

use defs::emp::descriptor::{CHAIN_PAGES, PAGE_BYTES};
use emulator::sim::time::SimTime;
use host_lib::emp::{Buffer, Emp, Source, Tag};

use super::{BenchmarkRun, Error, Setup};
use lanigon_experiments::interval::Estimate;
use lanigon_worlds::emp::{EmpPairs, buffer, text};
use lanigon_worlds::end::ResultSlot;

/// Tag of the messages.
const TAG: u16 = 2;
/// Number of receives posted in advance (emp-148).
const RECEIVES: usize = 400;
/// Number of posted transmits (emp-149).
const TRANSMITS: usize = 2;
/// Number of buffers shared by the receives; contents are not checked.
pub(super) const BUFFERS: usize = 8;

/// Number of messages that are posted at once, so that wire and host differ by as many.
pub(super) const MORE: usize = 2;

/// Number of receives of `size` bytes that the descriptor pool allows.
pub(super) const fn receives(size: u32) -> usize {
    let pages = size.div_ceil(PAGE_BYTES) as usize;
    if pages > 1 && pages <= CHAIN_PAGES {
        // A chain needs one descriptor for its first page and one per two further pages.
        RECEIVES / (1 + pages / 2)
    } else {
        RECEIVES
    }
}

/// The sending side: stores its start time and the end of each message in `stamps`.
pub async fn send(
    mut emp: Emp,
    size: u32,
    messages: usize,
    stamps: ResultSlot<Vec<SimTime>>,
) -> Result<(), String> {
    let out = buffer(&mut emp, size)?;
    let mut posted = VecDeque::new();
    // Wait for the receiver's message that its receives are posted.
    let word = buffer(&mut emp, 0)?;
    let ready = emp
        .post_receive(
            Source::Node(1),
            Tag::Value(TAG),
            Buffer { length: 0, ..word },
        )
        .await
        .map_err(text)?;
    emp.wait(ready).await.map_err(text)?;
    stamps.set(vec![SimTime::from_ps(emp.system().now_ps())]);
    for _ in 0..messages {
        while posted.len() < TRANSMITS {
            let transmit = emp.post_transmit(1, TAG, out).await;
            posted.push_back(transmit.map_err(text)?);
        }
        if let Some(oldest) = posted.pop_front() {
            emp.wait(oldest).await.map_err(text)?;
        }
        let now = SimTime::from_ps(emp.system().now_ps());
        stamps.with(|stamps| stamps.get_or_insert_default().push(now));
    }
    Ok(())
}

/// The receiving side.
pub async fn receive(mut emp: Emp, size: u32, messages: usize) -> Result<(), String> {
    let mut buffers = Vec::new();
    for _ in 0..BUFFERS {
        buffers.push(buffer(&mut emp, size)?);
    }
    let mut posted = VecDeque::new();
    let ahead = receives(size);
    for message in 0..ahead + messages {
        if message == ahead {
            let word = Buffer {
                length: 0,
                ..buffers[0]
            };
            let ready = emp.post_transmit(0, TAG, word).await;
            let ready = ready.map_err(text)?;
            emp.wait(ready).await.map_err(text)?;
        }
        if message >= ahead
            && let Some(oldest) = posted.pop_front()
        {
            emp.wait(oldest).await.map_err(text)?;
        }
        let receive = emp
            .post_receive(Source::Node(0), Tag::Value(TAG), buffers[message % BUFFERS])
            .await;
        posted.push_back(receive.map_err(text)?);
    }
    Ok(())
}

/// Spawns both sides on a pair.
pub fn spawn(pair: &mut EmpPairs, size: u32, rounds: usize) -> BenchmarkRun {
    let stamps = ResultSlot::default();
    let left = stamps.clone();
    let sender = pair.spawn(0, "sender", move |emp| send(emp, size, rounds, left));
    let receiver = pair.spawn(1, "receiver", move |emp| receive(emp, size, rounds));
    BenchmarkRun {
        stamps,
        programs: [("sender", sender), ("receiver", receiver)],
    }
}

/// Measures the one-way bandwidth of messages of `size` bytes, in Mb/s.
///
/// # Errors
/// If a program cannot finish its rounds.
pub fn measure(setup: &Setup, size: u32) -> Result<Estimate, Error> {
    let mut pair = setup.pair()?;
    let run = spawn(&mut pair, size, setup.rounds.all() + 3 * MORE);
    run.bandwidth(setup, &mut pair, size, &[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receives_fit_the_pool() {
        for size in [0, 1, 4096, 4097, 8192, 12_289, 28_672, 28_673, 65_536] {
            let pages = (size as usize).div_ceil(PAGE_BYTES as usize).max(1);
            let each = if pages > 1 && pages <= CHAIN_PAGES {
                1 + pages / 2
            } else {
                1
            };
            let taken = receives(size) * each;
            assert!(taken <= 440 && taken > 300, "{size}: {taken}");
        }
    }
}
