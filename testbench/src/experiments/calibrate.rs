//! Calibration: how long each protocol stage takes on the hardware as it is, and by how much a
//! profile stretches it (ARCHITECTURE.md, "Timing").
//!
//! One quiet exchange: a single message that fills a single 1500-byte frame, one CPU on each board,
//! nothing else on the wire. A stage's cycles are its own: no waits, no stalls.

use std::collections::BTreeMap;
use std::sync::Arc;

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::frame::header_frame_capacity;
use emulator::image::Image;
use emulator::tigon2::timing::Profile;
use host_lib::emp::{Source, Tag};
use host_lib::window::System;

use super::latency::buffer;
use super::{ExperimentError, completed};
use crate::cluster::EmpPair;

/// The sender waits so long: until the receive is posted, and until both NICs are idle again.
const SETTLE_NS: u64 = 200_000;

/// A stage's own duration on the hardware.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// The stage.
    pub stage: String,
    /// Own cycles in the exchange.
    pub cycles: u64,
    /// The same in microseconds of the core's clock.
    pub us: f64,
}

/// Measures every stage's own cycles in the quiet exchange.
///
/// # Errors
/// Whatever keeps the exchange from completing.
pub fn stage_times(image: &Image, profile: &Profile) -> Result<Vec<StageTime>, ExperimentError> {
    let mut pair = EmpPair::new(image, profile, &[])?;
    let size = header_frame_capacity(DEFAULT_FRAME_BYTES);
    let sender = pair.spawn(0, "sender", move |mut emp| async move {
        let out = buffer(&mut emp, size)?;
        emp.system_mut().compute(SETTLE_NS).await;
        let transmit = emp
            .post_transmit(1, 1, out)
            .await
            .map_err(|e| e.to_string())?;
        emp.wait(transmit).await.map_err(|e| e.to_string())?;
        // The host sees the completion before the NIC is through with its last stage.
        emp.system_mut().compute(SETTLE_NS).await;
        Ok(())
    });
    let receiver = pair.spawn(1, "receiver", move |mut emp| async move {
        let space = buffer(&mut emp, size)?;
        let receive = emp
            .post_receive(Source::Node(0), Tag::Value(1), space)
            .await
            .map_err(|e| e.to_string())?;
        emp.wait(receive).await.map(drop).map_err(|e| e.to_string())
    });
    let end = pair.world.run(&Default::default());
    for (program, outcome) in [("sender", sender), ("receiver", receiver)] {
        if let Some(Err(message)) = outcome.take() {
            return Err(ExperimentError::Program { program, message });
        }
    }
    completed(end)?;
    let mut totals = BTreeMap::new();
    for node in &pair.world.nodes {
        for stages in &node.board.stages {
            for (stage, total) in stages.totals() {
                *totals.entry(Arc::clone(stage)).or_insert(0) += total.cycles;
            }
        }
    }
    let per_us = profile.timing.core_clock_hz as f64 / 1e6;
    Ok(totals
        .into_iter()
        .map(|(stage, cycles)| StageTime {
            stage: stage.to_string(),
            cycles,
            us: cycles as f64 / per_us,
        })
        .collect())
}

/// The factor by which the profile stretches each of its stages; none for plain hardware.
///
/// # Errors
/// Whatever keeps the exchange from completing; a stage that the image does not mark.
pub fn factors(image: &Image, profile: &Profile) -> Result<Vec<(String, f64)>, ExperimentError> {
    if profile.stages.is_empty() {
        return Ok(Vec::new());
    }
    let times = stage_times(image, profile)?;
    profile
        .stages
        .iter()
        .map(|(stage, target)| {
            times
                .iter()
                .find(|time| time.stage == *stage && time.cycles > 0)
                .map(|time| (stage.clone(), target.value / time.us))
                .ok_or_else(|| ExperimentError::NoStage(stage.clone()))
        })
        .collect()
}
