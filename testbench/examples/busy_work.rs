//! A fixed amount of the benchmark's work, for tools that count instructions:
//! `valgrind --tool=callgrind target/release/examples/busy_work scratchpad|sram [MICROSECONDS]`

use emulator::sim::time::SimTime;
use emulator::tigon2::timing::Profile;
use testbench::kernel;

fn main() -> anyhow::Result<()> {
    let code_in_sram = std::env::args().nth(1).as_deref() == Some("sram");
    let span_us = std::env::args()
        .nth(2)
        .map_or(Ok(20_000), |text| text.parse())?;
    let timing = Profile::built_in("tigon2-88mhz")?.timing;
    let mut node = kernel::busy_node(timing, code_in_sram)?;
    node.run_until(SimTime::from_us(span_us));
    println!("{} instructions", kernel::instructions(&node));
    Ok(())
}
