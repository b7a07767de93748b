//! Images built byte by byte: accepted files, refused files, and no panic for any file.

mod builder;
mod loaded;
mod segments;
mod symbols;
mod unwind;

use builder::{
    CLASS_AT, CODE, DATA, DATA_AT, FUNC, MACHINE_AT, NOBITS, NOTYPE, Name, OBJECT, Part, TYPE_AT,
    UNLOADED, elf, part, words,
};
use defs::probe::{ENTRIES_SHIFT, Kind};
use proptest::prelude::*;

use super::{Image, ImageError, Memory, MemoryLimits, Symbol, SymbolKind, Symbols, probes, stack};
use defs::tigon2::event::TABLE_ENTRIES;
use defs::tigon2::map::{SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES, SCRATCHPAD_BASE};
use emulator_cpu::mips::architecture::MIPS;

const LIMITS: MemoryLimits = MemoryLimits {
    board: "tigon2",
    architecture: &MIPS,
    sram_bytes: 512 * 1024,
    scratchpad_base: SCRATCHPAD_BASE,
    scratchpad_a_bytes: SCRATCHPAD_A_BYTES,
    scratchpad_b_bytes: SCRATCHPAD_B_BYTES,
    dispatch_tables: (&["__dispatch_table_a", "__dispatch_table_b"], TABLE_ENTRIES),
};

const NOP: u32 = 0;
const JR_RA: u32 = 0x03E0_0008;
const MULT: u32 = 0x0022_0018;
const NO_ARGUMENT: u32 = 0x0000_0021;
/// `addu $zero, $4, $5` and `addu $zero, $6, $zero`.
const A0_A1: u32 = 0x0085_0021;
const A2: u32 = 0x00C0_0021;

const fn jump(target: u32) -> u32 {
    0x0800_0000 | target >> 2
}

const fn call(target: u32) -> u32 {
    0x0C00_0000 | target >> 2
}

const fn push(bytes: u32) -> u32 {
    0x27BD_0000 | (0x1_0000 - bytes)
}

const TABLE: u32 = 0xC0_0400;
const HANDLER: u32 = TABLE + 33 * 8;
const LOOP: u32 = 0x4010;

/// A dispatch table in which only event 22 has a handler, and that handler.
fn dispatch() -> Vec<u8> {
    let mut code = vec![jump(LOOP), NOP];
    for index in 1..33 {
        code.extend([jump(if index == 23 { HANDLER } else { 0x4018 }), NOP]);
    }
    code.extend([push(24), call(0x4018), NOP, JR_RA, NOP]);
    words(&code)
}

fn parts() -> Vec<Part> {
    let text = words(&[
        push(16),
        NOP,
        JR_RA,
        NOP,
        jump(LOOP),
        NOP,
        push(40),
        JR_RA,
        NOP,
    ]);
    let entries = words(
        &[
            [0x4004, Kind::Log as u32, 0, A0_A1, A2],
            [
                HANDLER,
                Kind::StageEnter as u32,
                10,
                NO_ARGUMENT,
                NO_ARGUMENT,
            ],
            // A probe of a removed function.
            [0x28, Kind::Event as u32, 10, NO_ARGUMENT, NO_ARGUMENT],
        ]
        .concat(),
    );
    let bss = Part {
        kind: (NOBITS, DATA),
        size_bytes: 64,
        ..part(".bss", DATA, 0x5000, Some(0x5000), vec![])
    };
    vec![
        part(".text", CODE, 0x4000, Some(0x4000), text),
        part(".scratch_a.text", CODE, TABLE, Some(0x4100), dispatch()),
        part(".scratch_b.data", DATA, 0xC0_0400, Some(0x4300), vec![1; 8]),
        bss,
        part(".probes", UNLOADED, 0, None, entries),
        part(
            ".probetext",
            UNLOADED,
            0,
            None,
            b"{} {x} {}\0transmission\0".to_vec(),
        ),
    ]
}

const NAMES: &[Name] = &[
    ("_start", 0x4000, 16, FUNC, ".text"),
    (".Lprivate", 0x4000, 16, FUNC, ".text"),
    ("__dispatch_a", LOOP, 8, FUNC, ".text"),
    (
        "_RNvNtCskxR0ko2WFpZ_5hello5event10unexpected",
        0x4018,
        12,
        FUNC,
        ".text",
    ),
    ("__dispatch_table_a", TABLE, 264, FUNC, ".scratch_a.text"),
    ("on_mailbox", HANDLER, 20, FUNC, ".scratch_a.text"),
    ("STATE", 0xC0_0400, 8, OBJECT, ".scratch_b.data"),
    ("label", 0x4008, 0, NOTYPE, ".text"),
    ("TEXT", 0, 8, OBJECT, ".probetext"),
    ("__stack_bytes", 1024, 0, NOTYPE, ""),
    ("__main_a", 0x4000, 16, FUNC, ".text"),
];

fn sample() -> Vec<u8> {
    elf(0x4000, parts(), NAMES)
}

fn image() -> Image {
    Image::parse(&sample(), &LIMITS).expect("the sample is sound")
}

#[test]
fn segments_say_where_they_are_loaded_and_run() {
    let image = image();
    let loads: Vec<_> = image
        .load_parts()
        .map(|(address, bytes)| (address, bytes.len()))
        .collect();
    assert_eq!(loads, [(0x4000, 36), (0x4100, 284), (0x4300, 8)]);
    assert_eq!(image.segments[1].run_address, TABLE);
    let bss = &image.segments[3];
    assert_eq!(
        (bss.load_address, bss.bytes.len(), bss.memory_bytes),
        (0x5000, 0, 64)
    );
    assert_eq!(image.entry, 0x4000);
}

#[test]
fn sections_know_their_memory() {
    let place = |name: &str| {
        let section = image()
            .sections
            .into_iter()
            .find(|section| section.name == name);
        section.map(|section| (section.memory, section.executable))
    };
    assert_eq!(place(".text"), Some((Memory::Sram, true)));
    assert_eq!(place(".scratch_a.text"), Some((Memory::ScratchpadA, true)));
    assert_eq!(place(".scratch_b.data"), Some((Memory::ScratchpadB, false)));
    assert_eq!(place(".probes"), None);
}

#[test]
fn probes_carry_text_and_registers() {
    let probe = |address, kind, text: &str, registers: &[u8]| probes::Probe {
        address,
        kind,
        text: text.into(),
        registers: registers.to_vec(),
    };
    let expected = [
        probe(0x4004, Kind::Log, "{} {x} {}", &[4, 5, 6]),
        probe(HANDLER, Kind::StageEnter, "transmission", &[]),
    ];
    assert_eq!(image().probes, expected);
}

#[test]
fn handlers_are_read_from_the_table() {
    let found: Vec<_> = image()
        .handlers
        .into_iter()
        .map(|h| (h.cpu, h.event, h.name))
        .collect();
    assert_eq!(
        found,
        [
            (Some(0), None, "__dispatch_a".into()),
            (Some(0), Some(22), "on_mailbox".into())
        ]
    );
}

#[test]
fn symbols_describe_addresses() {
    let image = image();
    let check = |address, expected: &str| assert_eq!(image.symbols.describe(address), expected);
    check(0x4000, "_start");
    check(0x4008, "label");
    check(0x400C, "_start+0xc");
    check(0x401C, "hello::event::unexpected+0x4");
    check(HANDLER + 4, "on_mailbox+0x4");
    check(0x4900, "0x4900");
    assert!(image.symbols.named(".Lprivate").is_none());
    assert!(image.symbols.named("TEXT").is_none());
}

#[test]
fn the_deepest_chain_of_calls_is_found() {
    let image = image();
    let used = stack::worst_case(&image, 0);
    assert_eq!(used.bytes, 24 + 40);
    assert_eq!(used.chain, ["on_mailbox", "hello::event::unexpected"]);
    assert!(used.unknown.is_empty());
    assert_eq!(stack::available_bytes(&image), Some(1024));
}

#[test]
fn recursion_and_unknown_calls_are_named() {
    const JALR_T9: u32 = 0x0320_F809;
    let text = words(&[push(8), call(0x4000), NOP, push(16), JALR_T9, NOP]);
    let names = [
        ("__main_a", 0x4000, 12, FUNC, ".text"),
        ("__main_b", 0x400C, 12, FUNC, ".text"),
    ];
    let file = elf(
        0x4000,
        vec![part(".text", CODE, 0x4000, Some(0x4000), text)],
        &names,
    );
    let image = Image::parse(&file, &LIMITS).expect("sound");
    let used = |cpu| stack::worst_case(&image, cpu);
    assert_eq!(
        (used(0).bytes, used(0).unknown),
        (8, vec!["__main_a".into()])
    );
    assert_eq!(
        (used(1).bytes, used(1).unknown),
        (16, vec!["__main_b".into()])
    );
}

#[test]
fn a_chain_of_any_length_ends() {
    let count = 5000;
    let functions = (0..count).map(|i| 0x4000 + 8 * i);
    let text = functions
        .clone()
        .flat_map(|at| [call(at + 8), NOP])
        .collect::<Vec<_>>();
    let mut names: Vec<Name> = functions.map(|at| ("f", at, 8, FUNC, ".text")).collect();
    names.push(("__main_a", 0x4000, 8, FUNC, ".text"));
    let file = elf(
        0x4000,
        vec![part(".text", CODE, 0x4000, Some(0x4000), words(&text))],
        &names,
    );
    let image = Image::parse(&file, &LIMITS).expect("sound");
    assert!(!stack::worst_case(&image, 0).unknown.is_empty());
}

/// The sample with its first part's instructions replaced.
fn with_code(code: &[u32]) -> Vec<u8> {
    let mut parts = parts();
    parts[0] = part(".text", CODE, 0x4000, Some(0x4000), words(code));
    elf(0x4000, parts, NAMES)
}

fn check_refused(file: &[u8], expected: &str) {
    let error = Image::parse(file, &LIMITS).expect_err(expected);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn foreign_files_are_refused() {
    let changed = |at: usize, byte: u8| {
        let mut file = sample();
        file[at] = byte;
        file
    };
    check_refused(b"", "not an ELF file, but an empty file");
    check_refused(b"text", "not an ELF file");
    check_refused(&sample()[..4], "the file is cut off within \"ELF header\"");
    check_refused(&sample()[..40], "the file is cut off within \"ELF header\"");
    check_refused(
        &changed(CLASS_AT, 2),
        "a 64-bit ELF file; the NIC needs a 32-bit one",
    );
    check_refused(
        &changed(DATA_AT, 1),
        "a little-endian ELF file; the NIC is big-endian",
    );
    check_refused(
        &changed(MACHINE_AT + 1, 62),
        "an ELF file for another processor (machine 62); the CPUs of tigon2 run mips code",
    );
    let not_linked = "not an executable: it was not linked, or is a library";
    check_refused(&changed(TYPE_AT + 1, 1), not_linked);
    check_refused(&changed(TYPE_AT + 1, 3), not_linked);
}

#[test]
fn truncated_files_are_refused() {
    let file = sample();
    for length in 5..file.len() {
        let error = Image::parse(&file[..length], &LIMITS).expect_err("a part is missing");
        assert!(
            matches!(
                error,
                ImageError::Truncated { .. } | ImageError::Damaged { .. }
            ),
            "{error}"
        );
    }
}

#[test]
fn segments_must_fit_their_memory() {
    let refused = |run_address, load_address, name, size_bytes, expected: &str| {
        let mut parts = parts();
        let new = part(name, DATA, run_address, Some(load_address), vec![0; 4]);
        parts.push(Part { size_bytes, ..new });
        check_refused(&elf(0x4000, parts, NAMES), expected);
    };
    refused(
        0x7_FFF0,
        0x7_FFF0,
        ".data",
        32,
        "\".data\" does not fit: 32 bytes at 0x7fff0, but SRAM ends at 0x80000",
    );
    refused(
        0xC0_3FFC,
        0x6000,
        ".scratch_a.data",
        8,
        "\".scratch_a.data\" does not fit: 8 bytes at 0xc03ffc, but scratchpad A ends at 0xc04000",
    );
    refused(
        0xC0_2000,
        0x6000,
        ".scratch_b.text",
        8,
        "\".scratch_b.text\" does not fit: 8 bytes at 0xc02000, but scratchpad B ends at 0xc02000",
    );
    refused(
        0xC0_3000,
        0x8_0000,
        ".scratch_a.data",
        8,
        "\".scratch_a.data\" does not fit: 4 bytes at 0x80000, but SRAM ends at 0x80000",
    );
    refused(
        0xFFFF_FFFC,
        0xFFFF_FFFC,
        ".high",
        8,
        "\".high\" does not fit: 8 bytes at 0xfffffffc, but scratchpad A ends at 0xc04000",
    );
}

#[test]
fn the_entry_point_must_be_code() {
    check_refused(
        &elf(0x5000, parts(), NAMES),
        "no code at the entry point 0x5000",
    );
    check_refused(
        &elf(0x4002, parts(), NAMES),
        "no code at the entry point 0x4002",
    );
}

#[test]
fn forbidden_instructions_are_named() {
    check_refused(
        &with_code(&[NOP, MULT, JR_RA, NOP]),
        "_start+0x4 (0x4004): the chip has no mult instruction (0x00220018);\nmultiplication, division, unaligned accesses and \
         fences are done in software by the linker tigon2-link: link with it, as firmware/build.sh of a new project does \
         (docs/images.md, \"Ordinary Rust\")",
    );
    check_refused(
        &with_code(&[NOP, 0x0000_0005, 0xc082_0000, NOP]),
        "2 instructions that the chip does not have\n  _start+0x4 (0x4004): the chip has no instruction 0x00000005\n  label \
         (0x4008): the chip has no ll instruction (0xc0820000);\nthe chip has no atomic changes of memory: use atomic loads \
         and stores, the semaphore, or a queue of the HAL",
    );
}

#[test]
fn padding_and_data_within_code_are_not_instructions() {
    let names = |second: u8| {
        [
            ("_start", 0x4000, 8, FUNC, ".text"),
            ("second", 0x4008, 4, second, ".text"),
        ]
    };
    let file = |names: &[Name]| {
        let text = words(&[JR_RA, NOP, MULT, 0xFFFF_FFFF]);
        elf(
            0x4000,
            vec![part(".text", CODE, 0x4000, Some(0x4000), text)],
            names,
        )
    };
    let refusals = |names: &[Name]| match Image::parse(&file(names), &LIMITS) {
        Ok(_) => 0,
        Err(ImageError::ForbiddenInstructions(found)) => found.len(),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(refusals(&names(OBJECT)), 0);
    assert_eq!(refusals(&names(FUNC)), 1);
    assert_eq!(refusals(&[]), 2, "without functions everything is code");
}

#[test]
fn bad_probes_are_refused() {
    let refused = |entry: &[u32], expected: &str| {
        let mut parts = parts();
        parts[4] = part(".probes", UNLOADED, 0, None, words(entry));
        check_refused(&elf(0x4000, parts, NAMES), expected);
    };
    let none = NO_ARGUMENT;
    refused(&[0x4000, 11, 0, none, none], "probe 0: an unknown kind");
    let published = Kind::Published as u32;
    let one = 1 << ENTRIES_SHIFT | 1;
    for [address, counts, every_bytes] in [
        [0x4002, one, 4],
        [0x4000, one, 0],
        // No word in an entry, and more words than an entry has.
        [0x4000, one - 1, 4],
        [0x4000, one + 1, 4],
        [0x4000, 0xFFFF << ENTRIES_SHIFT | 1, 0x1_0000],
    ] {
        refused(
            &[address, published, 0, counts, every_bytes],
            "probe 0: declared words that lie nowhere",
        );
    }
    let boards = Kind::Boards as u32;
    refused(
        &[0x4000, boards, 0, none, none],
        "firmware for boards of type {} or {x} or {}, not tigon2",
    );
    refused(&[0x4000, 0, 0, none], "probe 0: half an entry");
    refused(
        &[0x4000, 0, 99, none, none],
        "probe 0: a text that lies outside its section",
    );
    refused(
        &[0x4000, 0, 0, 0x10, none],
        "probe 0: an argument that names no registers",
    );
    refused(
        &[0x4000, 0, 0, none, none, 0x4000],
        "probe 1: half an entry",
    );
}

#[test]
fn lines_are_filled_in() {
    let memory = b"dma.rs";
    let check = |format, values: &[u32], expected: &str| {
        let line = probes::format(format, values, |address| {
            memory[address as usize % memory.len()]
        });
        assert_eq!(line, expected);
    };
    check("plain", &[], "plain");
    check("{} and {x}", &[12, 0x1F], "12 and 0x1f");
    check("panic at {s}:{}", &[0, 6, 33], "panic at dma.rs:33");
    check("{} {}", &[1], "1 {}");
    check("{s}", &[0], "{s}");
    check("{y} {", &[1], "{y} {");
    check("}{{}", &[5], "}{{}");
    assert_eq!(probes::format("{s}", &[0, u32::MAX], |_| b'x').len(), 256);
}

/// Uses all parts of an image, if the file is accepted.
fn use_all(file: &[u8]) {
    if let Ok(image) = Image::parse(file, &LIMITS) {
        for (address, bytes) in image.load_parts() {
            assert!(address as usize + bytes.len() <= LIMITS.sram_bytes as usize);
        }
        for cpu in 0..2 {
            let _ = stack::worst_case(&image, cpu);
        }
        for address in (0..0x1_0000).step_by(0x333) {
            let _ = image.symbols.describe(address);
        }
    }
}

proptest! {
    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut file = sample();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        use_all(&file);
    }

    #[test]
    fn changed_words_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), interesting()), 1..6),
        length in any::<prop::sample::Index>(),
    ) {
        let mut file = sample();
        for (at, word) in changes {
            let at = at.index(file.len() / 4) * 4;
            file[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        use_all(&file);
        use_all(&file[..length.index(file.len())]);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        use_all(&bytes);
        let mut file = sample()[..52].to_vec();
        file.extend(bytes);
        use_all(&file);
    }
}

/// Words near arithmetic limits.
fn interesting() -> impl Strategy<Value = u32> {
    let edges = [
        0,
        1,
        4,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFF0,
        0xFFFF_FFFC,
        u32::MAX,
    ];
    prop_oneof![
        prop::sample::select(edges.to_vec()),
        0u32..0x1000,
        any::<u32>()
    ]
}
