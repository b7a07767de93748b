//! Cost of losses: `testbench/papers/examples/goodput.rs` draws the whole curve.

use lanigon_worlds::profile::built_in;
use std::sync::Arc;

use lanigon_papers::emp::measure::goodput::{SIZE, curve};
use lanigon_papers::emp::measure::{Setup, rounds::Rounds};
use lanigon_worlds::images::own_image;
use lanigon_worlds::nodes::EMP_SRAM_BYTES;

#[test]
fn one_percent_loss_leaves_most_of_the_goodput() {
    let setup = Setup {
        image: Arc::new(own_image("emp-base", EMP_SRAM_BYTES).unwrap()),
        profile: Arc::new(built_in("tigon2-88mhz").unwrap()),
        factors: Arc::default(),
        switch: None,
        flow_control: false,
        rounds: Rounds::FULL,
        max_time: None,
        interrupt: Arc::default(),
    };
    let points = curve(&setup, &[0.0, 0.01, 0.05], SIZE, 150).unwrap();
    let share = |at: usize| points[at].megabits_per_s / points[0].megabits_per_s;
    assert!(points[0].megabits_per_s > 900.0 && points[0].frames_resent == 0);
    assert!(share(1) > 0.7 && share(1) < 1.0, "{points:?}");
    assert!(share(2) > 0.25, "{points:?}");
}
