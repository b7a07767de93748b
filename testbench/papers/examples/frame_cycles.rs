//! Own cycles of each stage of each scheme, for the calibrated message of one frame and for a later frame of a long message.
//!
//! `make firmware && cargo run --release -p lanigon-papers --example frame_cycles`

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::frame::{data_frame_capacity, header_frame_capacity};
use lanigon_papers::emp::measure::scheme::Scheme;
use lanigon_worlds::calibrate::stage_times_of;
use lanigon_worlds::images;
use lanigon_worlds::nodes::EMP_SRAM_BYTES;
use lanigon_worlds::profile::built_in;

/// Frames of the longer messages: whole ack groups apart.
const FRAMES: [u32; 2] = [4, 10];

fn main() -> anyhow::Result<()> {
    let profile = built_in("tigon2-88mhz")?;
    for scheme in Scheme::ALL {
        let image = images::own_image(scheme.image(), EMP_SRAM_BYTES)?;
        let times = |frames: u32| {
            let more = (frames - 1) * data_frame_capacity(DEFAULT_FRAME_BYTES);
            let bytes = header_frame_capacity(DEFAULT_FRAME_BYTES) + more;
            stage_times_of(&image, &profile, bytes)
        };
        let (one, few, many) = (times(1)?, times(FRAMES[0])?, times(FRAMES[1])?);
        println!("{}", scheme.title());
        for ((one, few), many) in one.iter().zip(&few).zip(&many) {
            let more = (many.cycles - few.cycles) as f64 / f64::from(FRAMES[1] - FRAMES[0]);
            println!("  {:22} {:5} {more:7.1}", one.stage, one.cycles);
        }
    }
    Ok(())
}
