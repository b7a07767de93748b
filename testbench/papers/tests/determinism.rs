//! Repeated measurements give identical results.

use lanigon_worlds::profile::built_in;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_papers::experiments::rounds::Rounds;
use lanigon_papers::experiments::{Setup, one_way};
use lanigon_worlds::calibrate;
use lanigon_worlds::images::own_image;
use lanigon_worlds::nodes::EMP_SRAM_BYTES;

#[test]
fn a_bandwidth_is_measured_twice_the_same() {
    let image = Arc::new(own_image("emp-base", EMP_SRAM_BYTES).unwrap());
    for profile in ["tigon2-88mhz", "emp-thesis"] {
        let profile = built_in(profile).unwrap();
        let setup = Setup {
            image: Arc::clone(&image),
            factors: Arc::new(calibrate::factors(&image, &profile).unwrap()),
            profile: Arc::new(profile.clone()),
            switch: None,
            flow_control: false,
            rounds: Rounds::QUICK,
            max_time: None,
            interrupt: Arc::new(AtomicBool::new(false)),
        };
        let measure = || one_way::measure(&setup, 10_000).unwrap();
        let first = measure();
        assert!(first.megabits_per_s > 0.0);
        assert_eq!(first, measure(), "{}", profile.name);
    }
}
