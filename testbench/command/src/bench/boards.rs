//! Memory use of boards: many of them, booted and idle.

use emulator::tigon2::board::Tigon2;
use std::fs;
use std::time::Instant;

use anyhow::bail;
use emulator::image::Image;
use emulator::sim::world::{RunEnd, RunLimits};
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Profile;

use super::{Measurement, Pace, Quantity, Sample, Target};
use lanigon_worlds::pairs::EmpPairs;

const BOARD: Quantity = Quantity {
    key: "board_megabytes",
    what: "resident host memory of a node with 1 MB of SRAM, booted, all of its SRAM in use",
    target: Target::AtMost(4.0),
};
const MANY: Quantity = Quantity {
    key: "idle_boards_1024_gigabytes",
    what: "resident host memory while 1 024 boards have booted and are idle",
    target: Target::AtMost(4.0),
};
const BOOT: Quantity = Quantity {
    key: "idle_boards_1024_boot_s",
    what: "wall time in seconds in which they boot, one thread",
    target: Target::None,
};

const BOARDS: u16 = 1024;

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
        vec![BOARD, MANY, BOOT]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        if self.done {
            return Ok(Vec::new());
        }
        self.done = true;
        let before = resident_bytes();
        let clock = Instant::now();
        let mut cluster = EmpPairs::new(BOARDS / 2, SramSize::M1, self.image, self.profile, &[])?;
        for node in 0..usize::from(BOARDS) {
            cluster.spawn(node, "start", |_| async { Ok(()) });
        }
        let limits = RunLimits {
            interrupt: Some(pace.interrupt.flag()),
            ..RunLimits::default()
        };
        match cluster.world.run(&limits) {
            RunEnd::Completed => {}
            RunEnd::Interrupted => return Ok(Vec::new()),
            end => bail!("the boards do not boot: {end:?}"),
        }
        let mut samples = vec![(BOOT, clock.elapsed().as_secs_f64())];
        if let Some((before, after)) = before.zip(resident_bytes()) {
            samples.push((MANY, after as f64 / 1e9));
            samples.push((BOARD, self.board_megabytes(cluster, before)));
        }
        Ok(samples)
    }
}

impl Boards<'_> {
    /// Writes to all SRAM of every board, so that the host's memory for it is really there.
    fn board_megabytes(&self, mut cluster: EmpPairs, before: u64) -> f64 {
        for node in &mut cluster.world.nodes {
            let sram = &mut node.board_mut::<Tigon2>().fabric.sram;
            for page in (0..sram.size_bytes() as u32).step_by(4096) {
                let word = sram.word(page);
                sram.set_word(page, word);
            }
        }
        let after = resident_bytes().unwrap_or(before);
        after.saturating_sub(before) as f64 / 1e6 / f64::from(BOARDS)
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
