//! Start-up: what is refused.

use super::{Config, config, hosts, image, run};
use crate::firmware::Firmware;
use crate::fm::{Fm, StartError};

fn refused(change: impl Fn(&mut Config), firmware: &Firmware, runs: bool) -> Option<StartError> {
    let host = hosts(2).remove(0);
    host.lock().nodes[0].runs = runs;
    let mut config = config(0, 2);
    change(&mut config);
    run(Fm::start(
        host.clone().into(),
        host.into(),
        firmware,
        config,
    ))
    .err()
}

#[test]
fn impossible_settings_are_refused() {
    let check = |change: &dyn Fn(&mut Config), error| {
        assert_eq!(refused(change, &image(), true), Some(error));
    };
    check(
        &|config| config.node = 2,
        StartError::Node { node: 2, nodes: 2 },
    );
    let nodes = 257;
    check(
        &|config| config.routes = vec![None; nodes],
        StartError::TooManyNodes { nodes },
    );
    for credits in [0, 1025] {
        let error = StartError::Credits { credits };
        check(&|config| config.credits = credits, error);
    }
    let (node, length_bytes) = (1, 17);
    check(
        &|config| config.routes[1] = Some(vec![0x80; 17]),
        StartError::LongRoute { node, length_bytes },
    );
    let (credits, slots) = (1024, 1024 * 2);
    let bytes = slots * 1600 + 12;
    check(
        &|config| (config.credits, config.routes) = (credits, vec![None; 3]),
        StartError::NoMemory { bytes },
    );
}

#[test]
fn boards_and_images_that_do_not_work_are_refused() {
    let mut large = image();
    large.segments.push((0x3_FFFC, vec![0; 8]));
    let (address, length_bytes) = (0x3_FFFC, 8);
    let error = StartError::Image {
        address,
        length_bytes,
    };
    assert_eq!(refused(|_| {}, &large, true), Some(error));
    let (waited_for, polls) = ("the start", 10_000);
    let silent = StartError::Silent { waited_for, polls };
    assert_eq!(refused(|_| {}, &image(), false), Some(silent));
    let host = hosts(2).remove(0);
    host.lock().sram_bytes = 256 << 10;
    let started = run(Fm::start(
        host.clone().into(),
        host.into(),
        &image(),
        config(0, 2),
    ));
    let sram_bytes = 256 << 10;
    assert_eq!(started.err(), Some(StartError::Sram { sram_bytes }));
}
