//! Table 1 of the paper on shared memory, on profiles by name or file: what `hca-4x` is calibrated on (docs/dsm-results.md, section 6).
//!
//! `make firmware && cargo run --release -p lanigon-papers --example primitives [PROFILE]...`

use std::sync::Arc;

use lanigon_papers::ardmar::PROFILE;
use lanigon_papers::ardmar::primitives::Primitives;
use lanigon_worlds::profile;

/// Repetitions of each.
const ROUNDS: u32 = 100;

fn main() -> anyhow::Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let names = if chosen.is_empty() {
        vec![PROFILE.to_owned()]
    } else {
        chosen
    };
    for name in names {
        let profile = profile::load(&name)?;
        let found = Primitives::measure(&profile, ROUNDS, &Arc::default())?;
        println!("{name}: {found:#.2?}");
    }
    Ok(())
}
