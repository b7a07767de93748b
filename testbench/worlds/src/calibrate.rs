//! Calibration: durations of protocol stages on unmodified hardware, and the stretch factors of a profile
//! (ARCHITECTURE.md, "Timing").
//!
//! It uses one quiet exchange: a single message that fills a 1500-byte frame, with one CPU per board. Only
//! a stage's own cycles count, without waits and stalls.

use std::collections::BTreeMap;
use std::iter::repeat;
use std::sync::Arc;

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::frame::header_frame_capacity;
use defs::probe::stage;
use emulator::board::CpuId;
use emulator::image::Image;
use emulator::profile::{Profile, ProfileError};
use emulator::sim::world::RunLimits;
use host_lib::emp::{Emp, Source, Tag};
use host_lib::window::System;

use crate::builder::WorldError;
use crate::emp::{EmpPairs, buffer, text};
use crate::end::{RunError, completed};

/// Pause of the sender, until the receive is posted or both NICs are idle.
const SETTLE_NS: u64 = 200_000;

/// Reasons for which a calibration gives no result.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The world cannot be built.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The profile has no clock.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The exchange did not complete.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The image lacks a stage's probes, or the stage took no time.
    #[error("the image marks no stage \"{0}\", which the profile stretches")]
    NoStage(String),
}

/// A stage's own duration on the hardware.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// Name of the stage.
    pub stage: String,
    /// Own cycles for one message, on both CPUs together.
    pub cycles: u64,
    /// Duration in microseconds of the core's clock.
    pub us: f64,
    /// Shares of CPU A and CPU B, in microseconds.
    pub cpus_us: Vec<f64>,
}

/// Measures each stage's own cycles for one message of a quiet exchange.
///
/// The second message counts: the first one also exchanges epochs.
///
/// # Errors
/// If the exchange cannot be completed.
pub fn stage_times(image: &Image, profile: &Profile) -> Result<Vec<StageTime>, CalibrationError> {
    stage_times_of(image, profile, MESSAGE_BYTES)
}

/// Like [`stage_times`], for messages of `bytes` bytes.
///
/// # Errors
/// If the exchange cannot be completed.
pub fn stage_times_of(
    image: &Image,
    profile: &Profile,
    bytes: u32,
) -> Result<Vec<StageTime>, CalibrationError> {
    let one = total_cycles(image, profile, 1, bytes)?;
    let two = total_cycles(image, profile, 2, bytes)?;
    let clock_hz = profile.reader().rate("core.clock", "Hz")?;
    let us = |cycles: u64| cycles as f64 / (clock_hz as f64 / 1e6);
    Ok(two
        .into_iter()
        .map(|(stage, cycles)| {
            let first = one.get(&stage).map_or(&[][..], Vec::as_slice);
            let all = |cycles: &[u64]| cycles.iter().sum::<u64>();
            let total = all(&cycles).saturating_sub(all(first));
            // Any CPU may do a stage: one that did it for the first message may have less to do for two.
            let cycles = cycles.iter().zip(first.iter().copied().chain(repeat(0)));
            let cycles = cycles.map(|(both, one)| both.saturating_sub(one));
            StageTime {
                stage: stage.to_string(),
                cycles: total,
                us: us(total),
                cpus_us: cycles.map(us).collect(),
            }
        })
        .collect())
}

/// The node on which a stage is measured, that of Table 3.1. The other node also enters some stages, for an
/// ack or an empty queue.
fn measured_on(stage: &str) -> usize {
    match stage {
        stage::SEND_BOOKKEEPING
        | stage::SEND_FRAME
        | stage::TRANSMISSION
        | stage::TAKE_ACK
        | stage::RECEIVE_ACK => 0,
        _ => 1,
    }
}

/// Own cycles of each stage on each CPU, in an exchange of `messages` messages.
fn total_cycles(
    image: &Image,
    profile: &Profile,
    messages: u32,
    bytes: u32,
) -> Result<BTreeMap<Arc<str>, Vec<u64>>, CalibrationError> {
    let mut pair = EmpPairs::one(image, profile, &[])?;
    let sender = pair.spawn(0, "sender", move |emp| send(emp, messages, bytes));
    let receiver = pair.spawn(1, "receiver", move |emp| receive(emp, messages, bytes));
    let end = pair.world.run(&RunLimits::default());
    for (program, outcome) in [("sender", sender), ("receiver", receiver)] {
        if let Some(Err(message)) = outcome.take() {
            return Err(RunError::Program { program, message }.into());
        }
    }
    completed(end)?;
    let mut totals = BTreeMap::new();
    for (index, node) in pair.world.nodes.iter().enumerate() {
        let board = node.inspect();
        let stages = board.stages().iter().enumerate();
        for (number, stage) in stages.filter(|(_, stage)| measured_on(stage) == index) {
            let cpus = 0..board.cpus().len();
            let of_cores = cpus.map(|cpu| board.stage_total(CpuId::new(cpu), number));
            let of_cores: Vec<_> = of_cores.collect();
            if of_cores.iter().any(|total| total.visits > 0) {
                let cycles = of_cores.iter().map(|total| total.cycles);
                totals.insert(Arc::clone(stage), cycles.collect());
            }
        }
    }
    Ok(totals)
}

/// Length of a message that fills one frame.
const MESSAGE_BYTES: u32 = header_frame_capacity(DEFAULT_FRAME_BYTES);

async fn send(mut emp: Emp, messages: u32, bytes: u32) -> Result<(), String> {
    let out = buffer(&mut emp, bytes)?;
    for _ in 0..messages {
        emp.system_mut().compute(SETTLE_NS).await;
        let transmit = emp.post_transmit(1, 1, out).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
    }
    // The host reads the completion before the NIC has finished its last stage.
    emp.system_mut().compute(SETTLE_NS).await;
    Ok(())
}

async fn receive(mut emp: Emp, messages: u32, bytes: u32) -> Result<(), String> {
    let space = buffer(&mut emp, bytes)?;
    for _ in 0..messages {
        let receive = emp
            .post_receive(Source::Node(0), Tag::Value(1), space)
            .await
            .map_err(text)?;
        emp.wait(receive).await.map_err(text)?;
    }
    Ok(())
}

/// Stretch factors of the profile's stages; empty for plain hardware.
///
/// # Errors
/// If the exchange cannot be completed, or the image does not mark a stage.
pub fn factors(image: &Image, profile: &Profile) -> Result<Vec<(String, f64)>, CalibrationError> {
    if profile.stages.is_empty() {
        return Ok(Vec::new());
    }
    factors_of(&stage_times(image, profile)?, profile)
}

/// Like [`factors`], for measured stages.
///
/// # Errors
/// If the image does not mark a stage.
pub fn factors_of(
    times: &[StageTime],
    profile: &Profile,
) -> Result<Vec<(String, f64)>, CalibrationError> {
    let stages = profile.stages.iter();
    stages
        .map(|(stage, target)| {
            times
                .iter()
                .find(|time| time.stage == *stage && time.cycles > 0)
                .map(|time| (stage.clone(), target.value / time.us))
                .ok_or_else(|| CalibrationError::NoStage(stage.clone()))
        })
        .collect()
}
