//! The primitives of table 1: a short message, a read of 4 KB, atomic operations, and posts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::profile::Profile;
use host_lib::gm::atomic::{AtomicOperation, Word};
use host_lib::gm::{Buffer, Event, Gm, Priority, Remote, Status};
use host_lib::window::{System, VirtualAddress};
use lanigon_experiments::Error;
use lanigon_worlds::emp::text;
use serde::Serialize;

use crate::gm::{self, Directions, LONG, SHORT, bench};

/// The port of all programs.
const PORT: u8 = 2;
/// Bytes of a page (ardmar-011).
const PAGE_BYTES: u32 = 4096;
/// Bytes of the short write of table 1.
const WRITE_BYTES: u32 = 140;
/// The reader begins so long after the other node.
const LEAD_NS: u64 = 500_000;
/// Messages of the stream.
const MESSAGES: u32 = 200;

/// Times of the primitives on a board, in us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Primitives {
    /// Latency of a message of 8 bytes.
    pub message_us: f64,
    /// Bandwidth of messages of 64 KB one way, in Gb/s.
    pub bandwidth_gbps: f64,
    /// Read of 4 KB of another node.
    pub read_us: f64,
    /// Compare and swap on a word of another node.
    pub remote_atomic_us: f64,
    /// Compare and swap on a word of the own node, by the board.
    pub local_atomic_us: f64,
    /// Post of a write of 4 KB.
    pub page_post_us: f64,
    /// Post of a write of 140 bytes.
    pub short_post_us: f64,
    /// Time of a post that calls a handler, in us.
    pub immediate_post_us: f64,
    /// A handler posts a receive descriptor for the next request.
    pub receive_us: f64,
}

impl Primitives {
    /// A primitive by its name in the table of published numbers.
    pub(super) fn named(&self, name: &str) -> Option<f64> {
        Some(match name {
            "message" => self.message_us,
            "bandwidth" => self.bandwidth_gbps,
            "remote atomic" => self.remote_atomic_us,
            "local atomic" => self.local_atomic_us,
            "read" => self.read_us,
            "page post" => self.page_post_us,
            "short post" => self.short_post_us,
            "immediate post" => self.immediate_post_us,
            "receive" => self.receive_us,
            _ => return None,
        })
    }
}

/// Operation that a program repeats.
#[derive(Debug, Clone, Copy)]
enum RepeatedOperation {
    /// A read of a page of the other node.
    Read,
    /// Compare and swap on a word of a node.
    Atomic { node: u16 },
    /// A post of a write of so many bytes, without its completion.
    Post { bytes: u32 },
}

impl Primitives {
    /// Measures them on boards of a profile, with `rounds` repetitions each.
    ///
    /// # Errors
    /// If a program fails.
    pub fn measure(
        profile: &Profile,
        rounds: u32,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let (_, image) = gm::image(profile)?;
        let pair = bench::Setup {
            image: &image,
            profile,
            interrupt,
        };
        let of = |what| mean_us(&pair, what, rounds);
        let costs = profile.host.dsm;
        let atomic_us = costs.atomic.us();
        let write_us = |bytes: u32| -> Result<f64, Error> {
            let bytes_us = costs.post_byte.us() * f64::from(bytes);
            Ok(of(RepeatedOperation::Post { bytes })? + costs.post.us() + bytes_us)
        };
        let short_post_us = write_us(WRITE_BYTES)?;
        Ok(Self {
            message_us: pair.latency(SHORT, rounds)?.value,
            bandwidth_gbps: pair.stream(LONG, MESSAGES, Directions::OneWay)?.value * 8.0 / 1e3,
            read_us: of(RepeatedOperation::Read)? + costs.get_byte.us() * f64::from(PAGE_BYTES),
            remote_atomic_us: of(RepeatedOperation::Atomic { node: 1 })? + atomic_us,
            local_atomic_us: of(RepeatedOperation::Atomic { node: 0 })? + atomic_us,
            page_post_us: write_us(PAGE_BYTES)?,
            short_post_us,
            immediate_post_us: short_post_us + costs.immediate.us(),
            receive_us: costs.receive.us(),
        })
    }
}

/// Mean time of an operation of node 0 on a pair of nodes, in us.
fn mean_us(pair: &bench::Setup<'_>, what: RepeatedOperation, rounds: u32) -> Result<f64, Error> {
    let mut gm = pair.world()?;
    // Both nodes have their memory at the same address.
    let reader = gm.spawn(0, "reader", move |gm| repeat(gm, what, rounds));
    let ends = [reader, gm.spawn(1, "read", open_memory)];
    let [us, _] = pair.run(&mut gm.world, &ends)?;
    Ok(us)
}

/// Opens the port; memory that the other node may access.
async fn memory(gm: &mut Gm) -> Result<Buffer, String> {
    gm.open(PORT).await.map_err(text)?;
    let memory = gm.allocate_dma(2 * PAGE_BYTES).map_err(text)?;
    let allowed = gm.allow_remote_memory_access(PORT, true).await;
    allowed.map_err(text)?;
    Ok(memory)
}

/// The other node: only its memory is needed.
async fn open_memory(mut gm: Gm) -> Result<f64, String> {
    memory(&mut gm).await?;
    Ok(0.0)
}

/// Repeats an operation; its mean time, in us.
async fn repeat(mut gm: Gm, what: RepeatedOperation, rounds: u32) -> Result<f64, String> {
    let memory = memory(&mut gm).await?;
    gm.system_mut().compute(LEAD_NS).await;
    let address = memory.address;
    let landing = VirtualAddress(address.0 + u64::from(PAGE_BYTES));
    let remote = Remote {
        node: 1,
        port: PORT,
        priority: Priority::Low,
        address,
    };
    let buffer = |length| Buffer {
        address: landing,
        length,
    };
    let mut spent_ps = 0;
    for round in 0..=rounds {
        let began = gm.system().now_ps();
        match what {
            RepeatedOperation::Read => {
                let got = gm.get(PORT, buffer(PAGE_BYTES), remote).await;
                got.map_err(text)?;
            }
            RepeatedOperation::Atomic { node } => {
                let word = Word {
                    node,
                    port: PORT,
                    address,
                };
                let (expected, new) = (round, round + 1);
                let swap = AtomicOperation::CompareSwap { expected, new };
                gm.post_atomic(PORT, word, swap).await.map_err(text)?;
            }
            RepeatedOperation::Post { bytes } => {
                let put = gm.put(PORT, buffer(bytes), remote).await;
                put.map_err(text)?;
            }
        }
        let posted = gm.system().now_ps();
        end(&mut gm).await?;
        let ended = match what {
            RepeatedOperation::Post { .. } => posted,
            _ => gm.system().now_ps(),
        };
        // The first one is not measured.
        if round > 0 {
            spent_ps += ended - began;
        }
    }
    Ok(spent_ps as f64 / 1e6 / f64::from(rounds.max(1)))
}

/// Waits until an operation has ended.
async fn end(gm: &mut Gm) -> Result<(), String> {
    let status = match gm.receive(PORT).await.map_err(text)? {
        Event::Sent(sent) => sent.first().map(|(_, status)| *status),
        Event::Completed(end) => Some(end.status),
        _ => None,
    };
    match status {
        Some(Status::Success) => Ok(()),
        Some(status) => Err(format!("an operation ended with {status:?}")),
        None => Err("an unexpected event".into()),
    }
}
