//! Repeated measurements give identical results, which the wire can carry.

use lanigon_worlds::profile::built_in;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_papers::emp::answers::limit_megabits_per_s;
use lanigon_papers::emp::measure::rounds::Rounds;
use lanigon_papers::emp::measure::scheme::Scheme;
use lanigon_papers::emp::measure::{Setup, one_way, two_way};
use lanigon_worlds::calibrate;
use lanigon_worlds::images::own_image;
use lanigon_worlds::nodes::EMP_SRAM_BYTES;

fn setup(scheme: Scheme, profile: &str) -> Setup {
    let image = Arc::new(own_image(scheme.image(), EMP_SRAM_BYTES).unwrap());
    let profile = built_in(profile).unwrap();
    Setup {
        factors: Arc::new(calibrate::factors(&image, &profile).unwrap()),
        image,
        profile: Arc::new(profile),
        switch: None,
        flow_control: false,
        rounds: Rounds::QUICK,
        max_time: None,
        interrupt: Arc::new(AtomicBool::new(false)),
    }
}

#[test]
fn a_bandwidth_is_measured_twice_the_same() {
    for profile in ["tigon2-88mhz", "emp-thesis"] {
        let setup = setup(Scheme::Base, profile);
        let measure = || one_way::measure(&setup, 10_000).unwrap();
        let first = measure();
        assert!(first.value > 0.0);
        assert_eq!(first, measure(), "{profile}");
    }
}

/// Every bandwidth is below the wire's, at most by the firmware's pauses.
#[test]
fn no_bandwidth_exceeds_the_wire() {
    for scheme in Scheme::ALL {
        let setup = setup(scheme, "tigon2-88mhz");
        for size in [1488, 8192, 28_672, 65_536] {
            let limit = limit_megabits_per_s(size) * (1.0 + 1e-9);
            let one_way = one_way::measure(&setup, size).unwrap().value;
            let two_way = two_way::measure(&setup, size).unwrap().value;
            let name = scheme.name();
            assert!(
                one_way <= limit && one_way > 0.3 * limit,
                "{name}, {size}: {one_way} of {limit}"
            );
            assert!(
                two_way <= 2.0 * limit && two_way > 0.5 * limit,
                "{name}, {size}: {two_way}"
            );
        }
    }
}
