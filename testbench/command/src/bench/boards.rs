//! Memory use of boards: many of them, booted, and after messages.

use std::fs;
use std::time::Instant;

use anyhow::bail;
use emulator::board::CpuId;
use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::world::{RunEnd, RunLimits};

use super::{Measurement, Pace, Quantity, QuantityTarget, Sample};
use lanigon_papers::emp::measure::latency;
use lanigon_worlds::boards::KB;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::nodes::{self, START};

const BOARD: Quantity = Quantity {
    key: "board_megabytes",
    what: "resident host memory of a node with 1 MB of SRAM after messages, all of its SRAM in use",
    target: QuantityTarget::AtMost(4.0),
};
const MANY: Quantity = Quantity {
    key: "idle_boards_1024_gigabytes",
    what: "resident host memory while 1 024 boards have booted and are idle",
    target: QuantityTarget::AtMost(4.0),
};
const EXCHANGED: Quantity = Quantity {
    key: "boards_1024_messages_gigabytes",
    what: "the same once each board has exchanged messages of 64 bytes with another one",
    target: QuantityTarget::AtMost(1.0),
};
const BOOT: Quantity = Quantity {
    key: "idle_boards_1024_boot_s",
    what: "wall time in seconds in which they boot, one thread",
    target: QuantityTarget::None,
};

/// Messages there and back, and their length.
const EXCHANGE: (usize, u32) = (10, 64);

/// Boards in the world, and bytes of SRAM of each.
const BOARDS: u16 = 1024;
const SRAM_BYTES: u32 = 1024 * KB;

/// Many idle boards. One round suffices: memory use is constant.
#[derive(Debug)]
pub struct Boards<'a> {
    image: &'a Image,
    profile: &'a Profile,
    done: bool,
}

impl<'a> Boards<'a> {
    /// Boards with this firmware.
    #[must_use]
    pub const fn new(image: &'a Image, profile: &'a Profile) -> Self {
        Self {
            image,
            profile,
            done: false,
        }
    }
}

impl Measurement for Boards<'_> {
    fn quantities(&self) -> Vec<Quantity> {
        vec![BOARD, MANY, EXCHANGED, BOOT]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        if self.done {
            return Ok(Vec::new());
        }
        self.done = true;
        let before = resident_bytes();
        let clock = Instant::now();
        let mut cluster = EmpPairs::new(BOARDS / 2, SRAM_BYTES, self.image, self.profile, &[])?;
        let (rounds, bytes) = EXCHANGE;
        let mut outcomes = Vec::new();
        for first in (0..usize::from(BOARDS)).step_by(2) {
            let stamps = ResultSlot::default();
            let ping = move |emp| latency::ping(emp, bytes, rounds, stamps);
            outcomes.push(cluster.spawn(first, "ping", ping));
            let pong = move |emp| latency::pong(emp, bytes, rounds);
            outcomes.push(cluster.spawn(first + 1, "pong", pong));
        }
        let mut limits = RunLimits {
            interrupt: Some(pace.interrupt.flag()),
            max_time: Some(START),
            ..RunLimits::default()
        };
        match cluster.world.run(&limits) {
            RunEnd::TimeLimit(_) => {}
            RunEnd::Interrupted => return Ok(Vec::new()),
            end => bail!("the boards do not boot: {end:?}"),
        }
        let mut samples = vec![(BOOT, clock.elapsed().as_secs_f64())];
        let booted = resident_bytes();
        limits.max_time = None;
        match cluster.world.run(&limits) {
            RunEnd::Completed => {}
            RunEnd::Interrupted => return Ok(Vec::new()),
            end => bail!("the boards do not exchange messages: {end:?}"),
        }
        if !outcomes
            .iter()
            .all(|end| matches!(end.take(), Some(Ok(()))))
        {
            bail!("the boards do not exchange messages");
        }
        if let Some(((before, booted), after)) = before.zip(booted).zip(resident_bytes()) {
            samples.push((MANY, booted as f64 / 1e9));
            samples.push((EXCHANGED, after as f64 / 1e9));
            samples.push((BOARD, self.board_megabytes(cluster, before)?));
        }
        Ok(samples)
    }
}

impl Boards<'_> {
    /// Writes to all SRAM of every board, so that the host's memory for it is really there.
    fn board_megabytes(&self, mut cluster: EmpPairs, before: u64) -> anyhow::Result<f64> {
        for node in &mut cluster.world.nodes {
            for page in (0..SRAM_BYTES).step_by(4096) {
                let word = nodes::firmware_word(node, page);
                node.poke(CpuId::new(0), page, &word.to_be_bytes())?;
            }
        }
        let after = resident_bytes().unwrap_or(before);
        Ok(after.saturating_sub(before) as f64 / 1e6 / f64::from(BOARDS))
    }
}

/// Resident memory of this process; `None` if the system does not provide it.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
