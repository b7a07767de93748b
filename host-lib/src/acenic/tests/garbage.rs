//! Invalid data of a firmware in host memory never stops the driver.

use proptest::prelude::*;

use super::*;

/// The mistakes that the rings contain after `act`.
fn mistakes(act: impl FnOnce(&mut Machine)) -> Vec<Mistake> {
    let (fake, mut nic) = started(config());
    block_on(nic.fill_rings()).unwrap();
    block_on(nic.send(&[0; 60], SendOptions::default())).unwrap();
    act(&mut fake.lock());
    let found = block_on(nic.collect()).unwrap().mistakes;
    let again = block_on(nic.collect()).unwrap().mistakes;
    assert_eq!(again, [], "each mistake is reported once");
    found
}

/// The mistakes of one descriptor in the return ring.
fn returned(words: [u32; 8]) -> Vec<Mistake> {
    mistakes(|machine| {
        machine.return_frame(0, words, &[]);
        machine.report(info::RETURN_PRODUCER_POINTER, 1);
    })
}

#[test]
fn every_kind_of_nonsense_has_its_name() {
    let index = |index, value| Mistake::Index { index, value };
    let check = |pointer, value, expected| {
        assert_eq!(
            mistakes(|machine| machine.report(pointer, value)),
            [expected]
        );
    };
    for value in [256, u32::MAX] {
        check(
            info::EVENT_PRODUCER_POINTER,
            value,
            index("the event producer", value),
        );
        check(
            info::SEND_CONSUMER_POINTER,
            value,
            index("the send consumer", value),
        );
    }
    check(
        info::RETURN_PRODUCER_POINTER,
        2048,
        index("the return producer", 2048),
    );
    let (value, first, posted) = (2, 0, 1);
    check(
        info::SEND_CONSUMER_POINTER,
        value,
        Mistake::NotPosted {
            value,
            first,
            posted,
        },
    );
    let unknown = |ring, buffer| Mistake::NoSuchBuffer {
        entry: 0,
        ring,
        buffer,
    };
    assert_eq!(
        returned([0, 0, 128 << 16 | 60, 4, 0, 0, 0, 0]),
        [unknown(RingKind::Standard, 128)]
    );
    assert_eq!(
        returned([0, 0, 60, 0x14, 0, 0, 0, 0]),
        [unknown(RingKind::Jumbo, 0)]
    );
    assert_eq!(
        returned([0, 0, 129, 0x1004, 0, 0, 0, 0x5A03_0000]),
        [Mistake::TooLong {
            entry: 0,
            ring: RingKind::Mini,
            length_bytes: 129,
            buffer_bytes: 128,
        }]
    );
    assert_eq!(
        returned([0, 0, 60, 4, 0, 0, 0, 1]),
        [Mistake::Opaque {
            entry: 0,
            posted: 0x5A01_0000,
            found: 1,
        }]
    );
}

proptest! {
    #![proptest_config(cases::remembered(40))]

    #[test]
    fn no_garbage_stops_the_driver(
        indices in prop::array::uniform3(any::<u32>().prop_map(|v| if v % 3 == 0 { v } else { v % 2100 })),
        words in prop::collection::vec(any::<u32>(), 64),
    ) {
        let (fake, mut nic) = started(config());
        block_on(nic.fill_rings()).unwrap();
        for round in 0..3_u32 {
            let words = words.clone();
            interrupt(&fake, move |machine| {
                for (entry, words) in words.chunks_exact(8).enumerate() {
                    let mut descriptor = [0; 8];
                    descriptor.copy_from_slice(words);
                    // Mostly existing buffers.
                    descriptor[2] %= 200 << 16;
                    machine.return_frame(entry as u32, descriptor, &[]);
                    machine.event(entry as u32, words[0]);
                }
                for (pointer, value) in [
                    info::EVENT_PRODUCER_POINTER,
                    info::RETURN_PRODUCER_POINTER,
                    info::SEND_CONSUMER_POINTER,
                ].into_iter().zip(indices) {
                    machine.report(pointer, value.wrapping_add(round));
                }
            });
            let work = block_on(nic.wait(1_000)).unwrap();
            prop_assert!(work.received.iter().all(|frame| frame.bytes.len() <= 1538));
            prop_assert!(work.events.len() < 256 && work.received.len() < 2048);
        }
    }
}
