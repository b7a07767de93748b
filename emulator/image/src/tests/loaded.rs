//! Images without names, and the files that name them.

use super::*;
use crate::SymbolsError;

/// The sample as one piece from its first to its last loaded byte.
fn stripped() -> Image {
    let image = image();
    let mut bytes = Vec::new();
    for (address, part) in image.load_parts() {
        bytes.resize((address - 0x4000) as usize, 0);
        bytes.extend(part);
    }
    Image::loaded("a form".into(), image.entry, vec![(0x4000, bytes)], &LIMITS)
}

#[test]
fn a_loaded_image_has_code_and_no_names() {
    let image = stripped();
    assert_eq!(image.instruction(0x4000), Some(push(16)));
    assert_eq!(image.symbols.iter().count(), 0);
    assert!(!image.code_is_checked());
}

#[test]
fn symbols_name_the_code_and_leave_what_is_loaded() {
    let (plain, full) = (stripped(), image());
    let named = plain
        .clone()
        .with_symbols("it", &sample(), &LIMITS)
        .unwrap();
    assert_eq!(named.identity(), plain.identity());
    assert_eq!(named.segments, plain.segments);
    assert_eq!(named.symbols, full.symbols);
    assert_eq!(named.probes, full.probes);
    assert_eq!(named.handlers, full.handlers);
    assert_eq!(named.sections, full.sections);
    assert_eq!(named.form, "a form");
    assert_ne!(named.marks_identity(), plain.marks_identity());
}

#[test]
fn symbols_without_code_take_it_from_the_image() {
    let without = parts().into_iter().map(|mut part| {
        if part.load_address.is_some() {
            part.size_bytes = part.size_bytes.max(part.bytes.len() as u32);
            part.bytes.clear();
            part.kind.0 = NOBITS;
        }
        part
    });
    let file = elf(0x4000, without.collect(), NAMES);
    let named = stripped().with_symbols("it", &file, &LIMITS).unwrap();
    assert_eq!(named.instruction(0x4000), Some(push(16)));
    assert_eq!(named.instruction(HANDLER), Some(push(24)));
    assert_eq!(named.handlers, image().handlers);
}

#[test]
fn symbols_of_other_code_are_refused() {
    let refused = |image: Image, file: &[u8]| image.with_symbols("it", file, &LIMITS).unwrap_err();
    let mut other = stripped();
    other.segments[0].bytes[9] ^= 1;
    assert_eq!(
        refused(other, &sample()),
        SymbolsError::Differs {
            address: 0x4009,
            place: "_start+0x9".into(),
            expected: 0xE0,
            found: 0xE1,
        }
    );
    let elsewhere = Image::loaded(String::new(), 0x8000, vec![(0x8000, vec![0; 16])], &LIMITS);
    let address = 0x4000;
    assert_eq!(
        refused(elsewhere, &sample()),
        SymbolsError::Elsewhere { address }
    );
    let nameless = elf(0x4000, parts(), &[]);
    assert_eq!(refused(stripped(), &nameless), SymbolsError::None);
    assert_eq!(
        refused(stripped(), b"text"),
        SymbolsError::Image(ImageError::NotElf { form: None })
    );
}
