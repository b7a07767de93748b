//! The programs of the measurements.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use host_lib::gm::{Buffer, Event, Gm, Priority, SendRequest, Status, capacity, size_for};
use host_lib::window::System;
use lanigon_experiments::Error;
use lanigon_worlds::emp::text;
use lanigon_worlds::end::{ResultSlot, RunError, completed};
use lanigon_worlds::gm::GmWorld;

use super::SHORT;
use lanigon_experiments::interval::Estimate;

/// The port of all programs.
const PORT: u8 = 2;
/// Messages that a sender has under way.
const WINDOW: u32 = 16;
/// Buffers that a receiver has provided.
const BUFFERS: u32 = 48;
/// Bytes from which on there are fewer of both, and fewer messages.
const MANY_BYTES: u32 = 16_384;
/// Senders begin so long after receivers.
const LEAD_NS: u64 = 500_000;
/// The share of a stream before the measured part.
const WARM_UP: u32 = 4;
/// Time in which a message and its acknowledgement are complete.
const REST_NS: u64 = 300_000;
/// Limit of simulated time.
const LIMIT: SimTime = SimTime::from_us(60_000_000);

/// Directions of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directions {
    /// Node 0 sends.
    OneWay,
    /// Both send.
    TwoWay,
}

/// Firmware, costs and interrupt of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// The firmware.
    pub image: &'a Image,
    /// The costs.
    pub profile: &'a Profile,
    /// Set when the user interrupts.
    pub interrupt: &'a Arc<AtomicBool>,
}

/// Time from the first stamp to the last one.
pub(super) fn span(stamps: &[u64]) -> u64 {
    let ends = stamps.first().zip(stamps.last());
    ends.map_or(0, |(first, last)| last.saturating_sub(*first))
}

type ProgramResult<T> = ResultSlot<Result<T, String>>;

impl Setup<'_> {
    pub(crate) fn world(&self) -> Result<GmWorld, Error> {
        Ok(GmWorld::new(2, self.image, self.profile)?)
    }

    /// Runs the world until both programs have ended; their results.
    pub(crate) fn run<T>(
        &self,
        world: &mut World,
        ends: &[ProgramResult<T>; 2],
    ) -> Result<[T; 2], Error> {
        let limits = RunLimits {
            max_time: Some(LIMIT),
            interrupt: Some(Arc::clone(self.interrupt)),
            ..RunLimits::default()
        };
        let end = world.run(&limits);
        let mut results = Vec::new();
        for (program, end) in ["node 0", "node 1"].into_iter().zip(ends) {
            match end.take() {
                Some(Ok(result)) => results.push(result),
                Some(Err(message)) => return Err(RunError::Program { program, message }.into()),
                None => {}
            }
        }
        completed(end)?;
        let missing = |_| RunError::TimeLimit(vec!["a program has not ended".into()]);
        Ok(<[T; 2]>::try_from(results).map_err(missing)?)
    }

    /// Half of the mean round trip of messages, in microseconds.
    ///
    /// # Errors
    /// If a program fails.
    pub fn latency(&self, bytes: u32, rounds: u32) -> Result<Estimate, Error> {
        self.latency_with(bytes, rounds, true)
    }

    /// [`latency`](Self::latency) with boards whose collective operations are on, or off.
    ///
    /// # Errors
    /// If a program fails.
    pub fn latency_with(
        &self,
        bytes: u32,
        rounds: u32,
        collectives: bool,
    ) -> Result<Estimate, Error> {
        let mut gm = self.world()?;
        if !collectives {
            gm.configure(|config| config.collective_ticks = 0);
        }
        let stamps = self.ping_pong(&mut gm, bytes, rounds)?;
        let value = span(&stamps) as f64 / f64::from(rounds) / 2e6;
        Ok(Estimate::of_rounds(value, &stamps))
    }

    /// Runs a ping-pong. The end of each round, in picoseconds: the first round is not measured.
    ///
    /// # Errors
    /// If a program fails.
    pub(super) fn ping_pong(
        &self,
        gm: &mut GmWorld,
        bytes: u32,
        rounds: u32,
    ) -> Result<Vec<u64>, Error> {
        let ends =
            [0, 1].map(|node| gm.spawn(node, "ping-pong", move |gm| ping_pong(gm, bytes, rounds)));
        let [stamps, _] = self.run(&mut gm.world, &ends)?;
        Ok(stamps)
    }

    /// Bandwidth of a stream of messages, in 10^6 bytes a second; both directions are added.
    ///
    /// # Errors
    /// If a program fails.
    pub fn stream(&self, bytes: u32, messages: u32, flow: Directions) -> Result<Estimate, Error> {
        let mut gm = self.world()?;
        // A long stream is as long in bytes, not in messages.
        let messages = match bytes {
            MANY_BYTES.. => (messages / (bytes / MANY_BYTES)).max(3 * WARM_UP),
            _ => messages,
        };
        let ends = [0, 1].map(|node| {
            let both = flow == Directions::TwoWay;
            let sends = if both || node == 0 { messages } else { 0 };
            let receives = if both || node == 1 { messages } else { 0 };
            gm.spawn(node, "stream", move |gm| stream(gm, bytes, sends, receives))
        });
        let rates = self.run(&mut gm.world, &ends)?;
        // Intervals of independent values add up by their squares.
        let squares = rates
            .iter()
            .filter_map(|rate| rate.interval)
            .map(|half| half * half);
        let interval = rates.iter().any(|rate| rate.interval.is_some());
        Ok(Estimate {
            value: rates.iter().map(|rate| rate.value).sum(),
            rounds: rates.iter().map(|rate| rate.rounds).max().unwrap_or(0),
            interval: interval.then(|| squares.sum::<f64>().sqrt()),
        })
    }

    /// Processor time of a send, its event, a receive and the next buffer, in microseconds.
    ///
    /// # Errors
    /// If a program fails.
    pub fn host(&self) -> Result<f64, Error> {
        let mut gm = self.world()?;
        let ends = [0, 1].map(|node| gm.spawn(node, "host", overhead));
        let [sending, receiving] = self.run(&mut gm.world, &ends)?;
        Ok((sending + receiving) as f64 / 1e6)
    }
}

/// Opens the port; memory for messages out and in.
async fn open(gm: &mut Gm, buffers: u32, bytes: u32) -> Result<(Buffer, Vec<Buffer>), String> {
    gm.open(PORT).await.map_err(text)?;
    let room = capacity(size_for(bytes));
    let out = gm.allocate_dma(bytes).map_err(text)?;
    let rooms = (0..buffers).map(|_| gm.allocate_dma(room).map_err(text));
    let rooms = rooms.collect::<Result<_, _>>()?;
    Ok((out, rooms))
}

async fn provide(gm: &mut Gm, room: Buffer, bytes: u32) -> Result<(), String> {
    let size = size_for(bytes);
    gm.provide_receive_buffer(PORT, room, size, Priority::Low, 0)
        .await
        .map_err(text)
}

async fn send(gm: &mut Gm, out: Buffer, length: u32) -> Result<(), String> {
    let request = SendRequest {
        buffer: Buffer { length, ..out },
        size: size_for(length),
        priority: Priority::Low,
        node: 1 - gm.node(),
        port: PORT,
    };
    gm.send(PORT, request).await.map_err(text)?;
    Ok(())
}

/// Event of a port: the buffer of a message, or a number of complete sends.
enum PortEvent {
    Message(Buffer),
    Sends(u32),
}

async fn next(gm: &mut Gm) -> Result<PortEvent, String> {
    match gm.receive(PORT).await.map_err(text)? {
        Event::Received(message) => Ok(PortEvent::Message(Buffer {
            address: message.buffer,
            length: message.room,
        })),
        Event::Alarm(_) | Event::Completed(_) | Event::Violation(_) => {
            Err("an unexpected event".into())
        }
        Event::Sent(sent) => {
            let failed = sent.iter().find(|(_, status)| *status != Status::Success);
            match failed {
                Some((_, status)) => Err(format!("a send ended with {status:?}")),
                None => Ok(PortEvent::Sends(sent.len() as u32)),
            }
        }
    }
}

/// Waits for a message; completed sends pass.
async fn message(gm: &mut Gm) -> Result<Buffer, String> {
    loop {
        if let PortEvent::Message(room) = next(gm).await? {
            return Ok(room);
        }
    }
}

/// A side of a ping-pong: the end of each round, in picoseconds.
async fn ping_pong(mut gm: Gm, bytes: u32, rounds: u32) -> Result<Vec<u64>, String> {
    let (out, rooms) = open(&mut gm, 2, bytes).await?;
    let first = gm.node() == 0;
    for room in rooms {
        provide(&mut gm, room, bytes).await?;
    }
    if first {
        gm.system_mut().compute(LEAD_NS).await;
    }
    let mut stamps = Vec::new();
    for _ in 0..=rounds {
        if first {
            send(&mut gm, out, bytes).await?;
        }
        let room = message(&mut gm).await?;
        if !first {
            send(&mut gm, out, bytes).await?;
        }
        provide(&mut gm, room, bytes).await?;
        stamps.push(gm.system().now_ps());
    }
    Ok(stamps)
}

/// A side of a stream: the bandwidth of what it receives, in 10^6 bytes a second.
async fn stream(mut gm: Gm, bytes: u32, sends: u32, receives: u32) -> Result<Estimate, String> {
    let (window, buffers) = match bytes {
        MANY_BYTES.. => (WINDOW / 4, BUFFERS / 4),
        _ => (WINDOW, BUFFERS),
    };
    let (out, rooms) = open(&mut gm, buffers.min(receives), bytes).await?;
    let mut provided = 0;
    for room in rooms {
        provide(&mut gm, room, bytes).await?;
        provided += 1;
    }
    if sends > 0 {
        gm.system_mut().compute(LEAD_NS).await;
    }
    let warm = receives / WARM_UP;
    let (mut posted, mut complete, mut received) = (0, 0, 0);
    let mut stamps = Vec::new();
    while complete < sends || received < receives {
        while posted < sends && posted - complete < window {
            send(&mut gm, out, bytes).await?;
            posted += 1;
        }
        match next(&mut gm).await? {
            PortEvent::Sends(count) => complete += count,
            PortEvent::Message(room) => {
                received += 1;
                if received >= warm {
                    stamps.push(gm.system().now_ps());
                }
                if provided < receives {
                    provided += 1;
                    provide(&mut gm, room, bytes).await?;
                }
            }
        }
    }
    let measured = f64::from(bytes) * f64::from(receives - warm);
    let value = match receives {
        0 => 0.0,
        _ => measured / span(&stamps) as f64 * 1e6,
    };
    Ok(Estimate::of_rounds(value, &stamps))
}

/// Picoseconds of the library's calls: node 0 sends a message, node 1 receives it.
async fn overhead(mut gm: Gm) -> Result<u64, String> {
    let (out, rooms) = open(&mut gm, 2, SHORT).await?;
    let spare = rooms[1];
    provide(&mut gm, rooms[0], SHORT).await?;
    if gm.node() == 0 {
        gm.system_mut().compute(LEAD_NS).await;
        let start = gm.system().now_ps();
        send(&mut gm, out, SHORT).await?;
        let sent = gm.system().now_ps();
        gm.system_mut().compute(REST_NS).await;
        let done = gm.system().now_ps();
        next(&mut gm).await?;
        return Ok(sent - start + gm.system().now_ps() - done);
    }
    gm.system_mut().compute(LEAD_NS + REST_NS).await;
    let start = gm.system().now_ps();
    next(&mut gm).await?;
    provide(&mut gm, spare, SHORT).await?;
    Ok(gm.system().now_ps() - start)
}
