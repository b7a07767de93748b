//! Goodput of 64 kB messages against the share of lost frames: a table, and `out/goodput.csv`.
//!
//! `make firmware && cargo run --release -p lanigon-papers --example goodput [MESSAGES]`

use lanigon_worlds::profile::built_in;
use std::sync::Arc;

use anyhow::Context;
use lanigon_papers::emp::measure::goodput::{self, RATES, SIZE};
use lanigon_papers::emp::measure::{Setup, rounds::Rounds};
use lanigon_worlds::images;
use lanigon_worlds::nodes;

/// Messages for each rate, unless the command line says otherwise.
const MESSAGES: usize = 1000;

fn main() -> anyhow::Result<()> {
    let messages = match std::env::args().nth(1) {
        Some(text) => text.parse().context("the number of messages")?,
        None => MESSAGES,
    };
    let setup = Setup {
        image: Arc::new(images::own_image("emp-base", nodes::EMP_SRAM_BYTES)?),
        profile: Arc::new(built_in("tigon2-88mhz")?),
        factors: Arc::default(),
        switch: None,
        flow_control: false,
        rounds: Rounds::FULL,
        max_time: None,
        interrupt: Arc::default(),
    };
    let points = goodput::curve(&setup, &RATES, SIZE, messages)?;
    print!("{}", goodput::table(&points));
    std::fs::create_dir_all("out")?;
    std::fs::write("out/goodput.csv", goodput::csv(&points))?;
    Ok(())
}
