//! Own cycles of each stage for messages of one frame and more.
use defs::emp::frame::{data_frame_capacity, header_frame_capacity};
use testbench::experiments::calibrate::stage_times_of;
fn main() {
    let profile = emulator::tigon2::timing::Profile::built_in("tigon2-88mhz").unwrap();
    for scheme in ["base", "so", "ro", "dsr", "sr"] {
        let name = format!("emp-{scheme}");
        let image =
            testbench::cluster::own_image(&name, emulator::tigon2::sram::SramSize::K512).unwrap();
        let of = |frames: u32| {
            stage_times_of(
                &image,
                &profile,
                header_frame_capacity(1500) + (frames - 1) * data_frame_capacity(1500),
            )
            .unwrap()
        };
        let (one, four, ten) = (of(1), of(4), of(10));
        println!("{scheme}");
        for ((a, b), c) in one.iter().zip(&four).zip(&ten) {
            println!(
                "  {:22} header {:5}  data frame {:7.1}   A/B {:?}",
                a.stage,
                a.cycles,
                (c.cycles - b.cycles) as f64 / 6.0,
                a.cpus_us
            );
        }
    }
}
