//! Start-up.

use defs::gm::map::{PEER_ROUTE, READ_BLOCKS, ROUTE_WORDS, WRITE_BLOCKS, peer};
use defs::lanai::window::{RESET_OFF, four, later};

use super::{config, hosts, image, run};
use crate::firmware::Firmware;
use crate::gm::{Config, Gm, StartError};
use crate::lanai::{Family, LanaiError};

/// Starts node 0 of 2; returns the error, and the writes outside of SRAM.
fn start(config: Config, image: &Firmware, starts: bool) -> (Option<StartError>, Vec<(u32, u32)>) {
    let crate::gm::Family::Lanai(family) = config.family else {
        panic!("{config:?}");
    };
    let host = hosts(2, family).remove(0);
    host.lock().nodes[0].starts = starts;
    let result = run(Gm::start(
        host.clone().into(),
        host.clone().into(),
        Some(image),
        config,
    ));
    let writes = host.lock().nodes[0].writes.clone();
    (result.err(), writes)
}

#[test]
fn the_board_is_released_after_its_channels_are_set() {
    let check = |family, expected: &[(u32, u32)]| {
        let (error, writes) = start(config(family, 0, 2), &image(), true);
        assert_eq!(error, None);
        // Then the firmware may interrupt.
        let before = &writes[..writes.len() - 2];
        assert!(before.ends_with(expected), "{writes:x?}");
    };
    check(Family::Four, &[(four::CONTROL, RESET_OFF)]);
    let later = [
        (later::CHAINS, WRITE_BLOCKS),
        (later::CHAINS + 8, READ_BLOCKS),
        (later::CONTROL, RESET_OFF),
    ];
    check(Family::Later, &later);
}

#[test]
fn routes_end_where_their_entries_end() {
    let host = hosts(2, Family::Later).remove(0);
    let config = config(host.family, 0, 2);
    run(Gm::start(
        host.clone().into(),
        host.clone().into(),
        Some(&image()),
        config,
    ))
    .expect("it starts");
    let mut world = host.lock();
    let fake = world.nodes[0].fake();
    assert_eq!(fake.word(peer(0) + PEER_ROUTE), 0);
    assert_eq!(fake.word(peer(1) + PEER_ROUTE), 0x8000_0002);
    let words = ROUTE_WORDS.map(|at| fake.word(peer(1) + at));
    assert_eq!(words, [0x8581, 0, 0, 0]);
}

#[test]
fn unusable_settings_and_images_are_refused() {
    let check = |config, image: Firmware, error| {
        assert_eq!(start(config, &image, true).0, Some(error));
    };
    let usual = || config(Family::Later, 0, 2);
    let other = |node, routes: Vec<_>| Config::new(usual().family, node, routes);
    let none = |count| vec![None; count];
    check(
        other(2, none(2)),
        image(),
        StartError::Node { node: 2, nodes: 2 },
    );
    check(
        other(0, none(4097)),
        image(),
        StartError::TooManyNodes {
            nodes: 4097,
            limit: 4096,
        },
    );
    let length_bytes = 17;
    let long = vec![None, Some(vec![0x80; length_bytes])];
    check(
        other(0, long),
        image(),
        StartError::LongRoute {
            node: 1,
            length_bytes,
        },
    );
    let entry = Firmware {
        entry: 4,
        ..image()
    };
    check(usual(), entry, LanaiError::Entry(4).into());
    let part = |address, length| Firmware {
        segments: vec![(address, vec![0; length])],
        entry: 0,
    };
    let (address, length_bytes) = (0x3_FFFC, 5);
    let outside = StartError::ImageTooLarge {
        address,
        length_bytes,
    };
    check(usual(), part(address, length_bytes), outside);
    let address = 2;
    let unaligned = LanaiError::Unaligned { address };
    check(usual(), part(address, 4), unaligned.into());
    let (error, _) = start(usual(), &image(), false);
    assert!(matches!(error, Some(StartError::Silent { .. })));
    let host = hosts(2, Family::Later).remove(0);
    let sram_bytes = 256 << 10;
    host.lock().sram_bytes = sram_bytes;
    let image = image();
    let error = run(Gm::start(
        host.clone().into(),
        host.into(),
        Some(&image),
        usual(),
    ))
    .err();
    assert_eq!(
        error,
        Some(StartError::Sram {
            sram_bytes,
            needed: defs::gm::map::sram_bytes(2),
        })
    );
}
