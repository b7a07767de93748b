//! The firmware's registers are the board's; its probes are read.

use std::collections::BTreeSet;

use defs::gm::probe::Event;
use defs::lanai::{l4, l9};
use emulator::lanai::chip::Generation;
use emulator::lanai::special::rows;

use crate::bench::image;

#[test]
fn registers_have_one_place() {
    let check = |generation, base, registers: &[(&str, u32)]| {
        assert_eq!(Generation::register_base(generation), base);
        for (name, offset) in registers {
            let row = rows(generation).iter().find(|row| row.name == *name);
            let found = row.map(|row| row.offset);
            assert_eq!(found, Some(*offset), "{name} of {generation:?}");
        }
    };
    let four = [
        ("isr", l4::ISR),
        ("eimr", l4::EIMR),
        ("it", l4::IT),
        ("rtc", l4::RTC),
        ("ear", l4::EAR),
        ("lar", l4::LAR),
        ("dma_ctr", l4::DMA_CTR),
        ("rmp", l4::RMP),
        ("rml", l4::RML),
        ("smp", l4::SMP),
        ("smlt", l4::SMLT),
        ("sa", l4::SA),
        ("dma_dir", l4::DMA_DIR),
        ("myrinet", l4::MYRINET),
    ];
    check(Generation::L4, l4::BASE, &four);
    let later = [
        ("isr", l9::ISR),
        ("eimr", l9::EIMR),
        ("it0", l9::IT0),
        ("rtc", l9::RTC),
        ("pulse", l9::PULSE),
        ("it1", l9::IT1),
        ("it2", l9::IT2),
        ("rmp", l9::RMP),
        ("rml", l9::RML),
        ("smp", l9::SMP),
        ("smh", l9::SMH),
        ("smlt", l9::SMLT),
        ("sa", l9::SA),
        ("myrinet", l9::MYRINET),
    ];
    check(Generation::L7, l9::BASE, &later);
    check(Generation::L9, l9::BASE, &later);
}

#[test]
fn images_have_all_probes() {
    for name in ["gm", "gm-l4"] {
        let Some(image) = image(name) else {
            return;
        };
        let found: BTreeSet<&str> = image.probes.iter().map(|probe| &*probe.text).collect();
        let expected: BTreeSet<&str> = Event::ALL.iter().map(|event| event.name()).collect();
        assert_eq!(found, expected, "{name}");
        assert!(image.probes.iter().all(|probe| probe.registers.len() <= 2));
    }
}
