//! Load segments: what is refused, files without section headers, compressed sections, and links to other files.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;
use crate::{DebugLink, Names};

/// Places in a program header.
const OFFSET: usize = 4;
const RUN: usize = 8;
const LOAD: usize = 12;
const IN_FILE: usize = 16;
const IN_MEMORY: usize = 20;
const FLAGS: usize = 24;

/// Places in the file header.
const SECTIONS_AT: usize = 32;
const SECTIONS: usize = 48;

fn put(file: &mut [u8], at: usize, word: u32) {
    file[at..at + 4].copy_from_slice(&word.to_be_bytes());
}

/// The sample with changed words in the program headers: segment, place, value.
fn changed(words: &[(usize, usize, u32)]) -> Vec<u8> {
    let mut file = sample();
    for &(segment, place, word) in words {
        put(&mut file, 52 + 32 * segment + place, word);
    }
    file
}

/// A file without its section headers.
fn undivided(mut file: Vec<u8>) -> Vec<u8> {
    put(&mut file, SECTIONS_AT, 0);
    put(&mut file, SECTIONS, 0);
    file
}

#[test]
fn wrong_segments_are_refused() {
    let check = |words: &[(usize, usize, u32)], why| check_refused(&changed(words), why);
    check(
        &[(0, IN_MEMORY, 32)],
        "\".text\" has 36 bytes in the file, more than its 32 in memory",
    );
    check(
        &[(3, IN_MEMORY, 0), (3, IN_FILE, 4), (3, OFFSET, 52)],
        "\"segment at 0x5000\" has 4 bytes in the file, more than its 0 in memory",
    );
    check(
        &[(1, LOAD, 0x4102)],
        "\".scratch_a.text\" is loaded at 0x4102, which is no multiple of 4: align it",
    );
    check(
        &[(2, RUN, 0xC0_0402), (2, LOAD, 0x4300)],
        "\"segment at 0xc00402\" is used at 0xc00402, which is no multiple of 4: align it",
    );
    check(
        &[(1, LOAD, 0x4020)],
        "\".text\" and \".scratch_a.text\" both are loaded to 0x4020 to 0x4024",
    );
    check(
        &[(3, RUN, 0x4000)],
        "\".text\" and \"segment at 0x4000\" both use 0x4000 to 0x4024",
    );
    check(
        &[(0, RUN, 0x6000)],
        "the code in \".text\" is not loaded: it lies in no segment",
    );
    let nothing = "the file loads nothing: none of its segments has contents (a file of debugging information only is for \
         --symbols)";
    for kind in [0, 4] {
        let mut file = undivided(sample());
        for segment in 0..4 {
            put(&mut file, 52 + 32 * segment, kind);
        }
        check_refused(&file, nothing);
    }
    let empty: Vec<_> = (0..4).map(|segment| (segment, IN_FILE, 0)).collect();
    check_refused(&undivided(changed(&empty)), nothing);
}

/// The scratchpads of both CPUs have equal addresses.
#[test]
fn two_cpus_have_code_at_equal_addresses() {
    let mut parts = parts();
    let other = vec![3; 16];
    parts[2] = part(".scratch_b.data", DATA, TABLE + 8, Some(0x4300), other);
    let image = Image::parse(&elf(0x4000, parts, NAMES), &LIMITS).unwrap();
    let names: Vec<_> = image.segments.iter().map(|part| &*part.name).collect();
    assert_eq!(
        names,
        [".text", ".scratch_a.text", ".scratch_b.data", ".bss"]
    );
}

#[test]
fn segments_decide_what_sections_contain() {
    let mut file = sample();
    let headers = u32::from_be_bytes(*file[SECTIONS_AT..].first_chunk().unwrap());
    let offset_of_text = headers as usize + 40 + 16;
    put(&mut file, offset_of_text, 52);
    let elsewhere = Image::parse(&file, &LIMITS).unwrap();
    assert_eq!(elsewhere, image());
}

#[test]
fn files_without_section_headers_are_whole_segments() {
    let plain = image();
    let flags = [(0, FLAGS, 5), (1, FLAGS, 7), (2, FLAGS, 6), (3, FLAGS, 6)];
    let bare = Image::parse(&undivided(changed(&flags)), &LIMITS).unwrap();
    assert!(plain.code_is_checked() && !bare.code_is_checked());
    let loaded = |image: &Image| -> Vec<_> {
        let parts = image.load_parts();
        parts.map(|(at, bytes)| (at, bytes.to_vec())).collect()
    };
    assert_eq!(loaded(&bare), loaded(&plain));
    assert_eq!(bare.identity(), plain.identity());
    let shown: Vec<_> = bare
        .sections
        .iter()
        .map(|part| {
            (
                &*part.name,
                part.executable,
                part.bytes.len(),
                part.size_bytes,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("segment at 0x4000", true, 36, 36),
            ("segment at 0x5000", false, 0, 64),
            ("segment at 0xc00400", true, 284, 284),
            ("segment at 0xc00400", false, 8, 8),
        ]
    );
    assert_eq!(bare.instruction(0x4000), Some(push(16)));
    let no_code = undivided(changed(&[(0, FLAGS, 6)]));
    check_refused(&no_code, "no code at the entry point 0x4000");
    let named = bare.with_symbols("it", &sample(), &LIMITS).unwrap();
    assert_eq!(named.handlers, plain.handlers);
    assert_eq!(named.names, Names::Other("it".into()));
    assert!(named.code_is_checked());
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// The sample with another section.
fn with_section(name: &'static str, flags: u32, bytes: Vec<u8>) -> Vec<u8> {
    let mut parts = parts();
    parts.push(part(name, flags, 0, None, bytes));
    elf(0x4000, parts, NAMES)
}

const COMPRESSED: u32 = 1 << 11;

#[test]
fn debugging_information_is_decompressed() {
    let text: Vec<u8> = (0..3000_u32).map(|at| (at / 7) as u8).collect();
    let debug = |name, flags, bytes| {
        let file = with_section(name, flags, bytes);
        Image::parse(&file, &LIMITS).map(|image| image.debug)
    };
    let plain = debug(".debug_str", 0, text.clone()).unwrap();
    assert_ne!(plain, image().debug);
    let headed = |method, size, content: Vec<u8>| [words(&[method, size, 1]), content].concat();
    for content in [headed(1, 3000, zlib(&text)), headed(2, 3000, zstd(&text))] {
        assert_eq!(debug(".debug_str", COMPRESSED, content).unwrap(), plain);
    }
    let old = [b"ZLIB".to_vec(), words(&[0, 3000]), zlib(&text)].concat();
    assert_eq!(debug(".zdebug_str", 0, old.clone()).unwrap(), plain);
    let refused = |flags, content, why: &str| {
        let name = if flags == 0 {
            ".zdebug_str"
        } else {
            ".debug_str"
        };
        let error = debug(name, flags, content).unwrap_err().to_string();
        let expected = format!("damaged ELF file: section \"{name}\" is compressed: {why}");
        assert!(error.starts_with(&expected), "{error}");
    };
    refused(COMPRESSED, words(&[1, 3000]), "its header is cut off");
    refused(0, old[..11].to_vec(), "its header is cut off");
    refused(0, b"GZIP".to_vec(), "its header is cut off");
    refused(COMPRESSED, headed(3, 9, vec![]), "method 3 is unknown");
    let size = "its contents have not the";
    refused(COMPRESSED, headed(1, 2999, zlib(&text)), size);
    refused(COMPRESSED, headed(2, 3001, zstd(&text)), size);
    refused(
        COMPRESSED,
        headed(1, 67_108_865, zlib(&text)),
        "67108865 bytes are more than 67108864",
    );
    refused(
        COMPRESSED,
        headed(1, 3000, zstd(&text)),
        "corrupt deflate stream",
    );
    refused(COMPRESSED, headed(2, 3000, zlib(&text)), "");
    refused(COMPRESSED, headed(2, 3000, zstd(&text)[..20].to_vec()), "");
}

#[test]
fn a_link_names_a_file_and_its_checksum() {
    let names = |bytes: &[u8]| {
        let file = with_section(".gnu_debuglink", 0, bytes.to_vec());
        Image::parse(&file, &LIMITS).map(|image| image.names)
    };
    let linked = names(b"fw.debug\0\0\0\0\xCB\xF4\x39\x26").unwrap();
    let link = DebugLink {
        file: "fw.debug".into(),
        crc: 0xCBF4_3926,
    };
    assert!(link.is(b"123456789") && !link.is(b"12345678"));
    assert_eq!(linked, Names::Linked(link));
    assert_eq!(image().names, Names::Own);
    for wrong in [
        &b"fw.debug"[..],
        b"fw.debug\0\0\0\0\xCB",
        b"\0\0\0\0\0\0\0\0",
        b"a/b\0\0\0\0\0",
        b"\xFF\0\0\0\0\0\0\0",
    ] {
        let error = names(wrong).unwrap_err().to_string();
        assert_eq!(
            error,
            "damaged ELF file: .gnu_debuglink has no name of a file with a checksum"
        );
    }
}

#[test]
fn other_files_are_named() {
    let check = |file: &[u8], form: &str| {
        check_refused(file, &format!("not an ELF file, but {form}"));
    };
    check(b"MZ\x90\0\x03\0", "a PE file, a program for Windows");
    check(b"!<arch>\nx", "an archive of object files: link it");
    check(&0xFEED_FACE_u32.to_be_bytes(), "a Mach-O file for macOS");
    check(&0xFEED_FACF_u32.to_le_bytes(), "a Mach-O file for macOS");
    check(b"BC\xC0\xDE", "LLVM bitcode: compile and link it");
    check(b"#!/bin/sh", "a script");
}

proptest! {
    /// Compressed contents are damaged behind their headers too.
    #[test]
    fn damaged_compression_never_panics(
        is_zstd in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in any::<prop::sample::Index>(),
    ) {
        let text: Vec<u8> = (0..2000_u32).map(|at| (at % 251 / 3) as u8).collect();
        let (method, content) = if is_zstd { (2, zstd(&text)) } else { (1, zlib(&text)) };
        let mut bytes = [words(&[method, 2000, 1]), content].concat();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let short = bytes[..length.index(bytes.len())].to_vec();
        for bytes in [bytes, short] {
            use_all(&with_section(".debug_str", COMPRESSED, bytes));
        }
    }
}
