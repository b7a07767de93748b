//! Two-way bandwidth benchmark. Both sides post many receives and begin with two messages. Each round waits
//! for the oldest transmit and for the oldest receive, then posts a transmit and a receive. One side is
//! timed; both directions are added.

use std::collections::VecDeque;

use emulator::sim::time::SimTime;
use host_lib::emp::{Buffer, Emp, ReceiveHandle, SendHandle, Source, Tag};

use super::one_way::{BUFFERS, MORE, receives};
use super::{BenchmarkRun, Error, Setup};
use lanigon_experiments::interval::Estimate;
use lanigon_worlds::emp::{EmpPairs, buffer, text};
use lanigon_worlds::end::ResultSlot;

/// Tag of the messages.
const TAG: u16 = 3;
/// Tag of the message that reports posted receives.
const READY: u16 = 4;
/// Number of messages at the start of each side (emp-152).
const STARTED: usize = 2;

/// Transfers and memory of a side.
struct BenchmarkNode {
    emp: Emp,
    peer: u16,
    out: Buffer,
    buffers: Vec<Buffer>,
    transmits: VecDeque<SendHandle>,
    receives: VecDeque<ReceiveHandle>,
    posted: usize,
}

impl BenchmarkNode {
    fn new(mut emp: Emp, peer: u16, size: u32) -> Result<Self, String> {
        let out = buffer(&mut emp, size)?;
        let buffers = (0..BUFFERS).map(|_| buffer(&mut emp, size));
        Ok(Self {
            buffers: buffers.collect::<Result<_, _>>()?,
            emp,
            peer,
            out,
            transmits: VecDeque::new(),
            receives: VecDeque::new(),
            posted: 0,
        })
    }

    async fn post_receive(&mut self) -> Result<(), String> {
        let (source, space) = (Source::Node(self.peer), self.buffers[self.posted % BUFFERS]);
        let receive = self.emp.post_receive(source, Tag::Value(TAG), space).await;
        self.receives.push_back(receive.map_err(text)?);
        self.posted += 1;
        Ok(())
    }

    async fn post_transmit(&mut self) -> Result<(), String> {
        let transmit = self.emp.post_transmit(self.peer, TAG, self.out).await;
        self.transmits.push_back(transmit.map_err(text)?);
        Ok(())
    }

    /// Posts the receives, and waits until the other side has done so.
    async fn prepare(&mut self, receives: usize) -> Result<(), String> {
        let word = Buffer {
            length: 0,
            ..self.out
        };
        let source = Source::Node(self.peer);
        let ready = self.emp.post_receive(source, Tag::Value(READY), word).await;
        let ready = ready.map_err(text)?;
        for _ in 0..receives {
            self.post_receive().await?;
        }
        let told = self.emp.post_transmit(self.peer, READY, word).await;
        self.emp.wait(told.map_err(text)?).await.map_err(text)?;
        self.emp.wait(ready).await.map_err(text)?;
        Ok(())
    }

    async fn round(&mut self) -> Result<(), String> {
        if let Some(oldest) = self.transmits.pop_front() {
            self.emp.wait(oldest).await.map_err(text)?;
        }
        if let Some(oldest) = self.receives.pop_front() {
            self.emp.wait(oldest).await.map_err(text)?;
        }
        self.post_transmit().await?;
        self.post_receive().await
    }
}

/// Runs one side; stores its start time and the end of each round in `stamps`.
pub async fn side(
    emp: Emp,
    peer: u16,
    size: u32,
    rounds: usize,
    stamps: ResultSlot<Vec<SimTime>>,
) -> Result<(), String> {
    let mut side = BenchmarkNode::new(emp, peer, size)?;
    side.prepare(receives(size)).await?;
    stamps.set(vec![SimTime::from_ps(side.emp.system().now_ps())]);
    for _ in 0..STARTED {
        side.post_transmit().await?;
    }
    for _ in 0..rounds {
        side.round().await?;
        let now = SimTime::from_ps(side.emp.system().now_ps());
        stamps.with(|stamps| stamps.get_or_insert_default().push(now));
    }
    Ok(())
}

/// Spawns both sides on a pair; returns the stamps of the timed one.
pub fn spawn(pair: &mut EmpPairs, size: u32, rounds: usize) -> BenchmarkRun {
    let stamps = ResultSlot::default();
    let left = stamps.clone();
    let timed = pair.spawn(0, "timed side", move |emp| side(emp, 1, size, rounds, left));
    let other = pair.spawn(1, "other side", move |emp| {
        side(emp, 0, size, rounds, ResultSlot::default())
    });
    BenchmarkRun {
        stamps,
        programs: [("timed side", timed), ("other side", other)],
    }
}

/// Measures the two-way bandwidth of messages of `size` bytes, in Mb/s.
///
/// # Errors
/// If a program cannot finish its rounds.
pub fn measure(setup: &Setup, size: u32) -> Result<Estimate, Error> {
    let mut pair = setup.pair()?;
    let run = spawn(&mut pair, size, setup.rounds.all() + 3 * MORE);
    run.bandwidth(setup, &mut pair, size, &[0, 1])
}
