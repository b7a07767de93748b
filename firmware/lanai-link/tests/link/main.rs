//! The linker, with objects that are made in memory.

mod errors;
mod object;

use ::object::elf;
use ::object::read::elf::{ElfFile32, FileHeader};
use ::object::{BigEndian, Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};
use lanai_link::{Image, Input, Options, link};
use object::{CODE, DATA, Object};

/// Relocations by number, as in objects.
const CONSTANT21: u32 = 1;
const BRANCH25: u32 = 3;
const DATA32: u32 = 4;
const HIGH16: u32 = 5;
const LOW16: u32 = 6;

const NOP: u32 = 1;
const BT: u32 = 0xE000_0000;

fn link_all(inputs: &[Input]) -> Image {
    link(inputs, &Options::default()).expect("an image")
}

/// Words of the section `name` of an image.
fn words(image: &Image, name: &str) -> Vec<u32> {
    let file: ElfFile32<'_, BigEndian> = ElfFile32::parse(&*image.file).expect("an ELF file");
    let section = file.section_by_name(name).expect("a section");
    let bytes = section.data().expect("its bytes");
    let word = |word: &[u8]| u32::from_be_bytes(word.try_into().expect("a word"));
    bytes.chunks_exact(4).map(word).collect()
}

/// Address of the symbol `name` of an image.
fn address(image: &Image, name: &str) -> Option<u32> {
    let file: ElfFile32<'_, BigEndian> = ElfFile32::parse(&*image.file).expect("an ELF file");
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
    u32::try_from(symbol.address()).ok()
}

fn start() -> Object {
    let object = Object::new().section(".text.start", CODE, &[BT, NOP]);
    object.global("_start", 0).relocate(0, BRANCH25, "main", 0)
}

#[test]
fn the_entry_comes_first_and_uses_are_resolved() {
    let program = Object::new()
        .section(".text.helper", CODE, &[NOP, NOP])
        .local("helper", 4)
        .section(
            ".text.main",
            CODE,
            &[0xF180_0000, 0x0181_0000, 0x518C_0000, BT],
        )
        .global("main", 0)
        .relocate(0, CONSTANT21, "counter", 4)
        .relocate(4, HIGH16, "table", 0)
        .relocate(8, LOW16, "table", 0)
        .relocate(12, BRANCH25, "helper", 0)
        .section(".rodata.table", elf::SHF_ALLOC, &[0, 7])
        .global("table", 0)
        .relocate(0, DATA32, "main", 8)
        .section(".data.seed", DATA, &[9])
        .global("seed", 0)
        .relocate(0, DATA32, "__stack_top", -4)
        .zeros(".bss.counter", 12, 8)
        .global("counter", 0);
    // Something in a kept part refers to data that code does not use.
    let image = link_all(&[program.input("program.o"), start().input("start.o")]);
    // .text: start (8), helper (8), main (16); .rodata: table (8); .bss: counter.
    let expected = [
        BT | 16,
        NOP,
        NOP,
        NOP,
        0xF180_002C,
        0x0181_0000,
        0x518C_0020,
        BT | 12,
    ];
    assert_eq!(words(&image, ".text"), expected);
    assert_eq!(words(&image, ".rodata"), [24, 7]);
    let parts = [(".text", 0, 32), (".rodata", 32, 8), (".bss", 40, 12)];
    let parts = parts.map(|(name, address, size)| (name.to_owned(), address, size));
    assert_eq!(image.parts, parts);
    // .data.seed
    assert_eq!(image.removed, 4);
    for (name, expected) in [
        ("_start", Some(0)),
        ("helper", Some(12)),
        ("main", Some(16)),
        ("table", Some(32)),
        ("counter", Some(40)),
        ("seed", None),
        ("__text_end", Some(32)),
        ("__bss_start", Some(40)),
        ("__bss_end", Some(52)),
        ("__stack_top", Some(1 << 20)),
    ] {
        assert_eq!(address(&image, name), expected, "{name}");
    }
}

#[test]
fn the_file_is_an_executable_with_segments() {
    let main = Object::new()
        .section(".text.main", CODE, &[0xF180_0000])
        .global("main", 0)
        .relocate(0, CONSTANT21, "buffer", 0)
        .zeros(".bss.buffer", 100, 64)
        .global("buffer", 0);
    let image = link_all(&[start().input("start.o"), main.input("main.o")]);
    let file: ElfFile32<'_, BigEndian> = ElfFile32::parse(&*image.file).expect("an ELF file");
    let header = file.elf_header();
    assert_eq!(header.e_type(BigEndian), elf::ET_EXEC);
    assert_eq!(header.e_machine(BigEndian), 244);
    assert_eq!(header.e_entry(BigEndian), 0);
    let segments = file.segments().map(|one| (one.address(), one.size()));
    assert_eq!(segments.collect::<Vec<_>>(), [(0, 12), (64, 100)]);
    let local_first = file.symbols().map(|symbol| symbol.is_local());
    assert!(local_first.is_sorted_by(|before, after| before >= after));
}

#[test]
fn sections_without_a_use_are_removed_and_what_tells_of_them_stays() {
    let main = Object::new()
        .section(".text.main", CODE, &[NOP])
        .global("main", 0)
        .section(".text.unused", CODE, &[NOP, BT])
        .global("unused", 0)
        .relocate(4, BRANCH25, "missing_but_unused", 0)
        .section(".text.retained", CODE | elf::SHF_GNU_RETAIN, &[NOP])
        .section(".debug_info", 0, &[0, 0])
        .relocate(0, DATA32, "main", 4)
        .relocate(4, DATA32, "unused", 4)
        .section(".debug_ranges", 0, &[0])
        .relocate(0, DATA32, "unused", 4)
        .section(".probes", 0, &[0, 5])
        .relocate(0, DATA32, "main", 0)
        .section(".comment", 0, &[0x4142_4300]);
    let more = Object::new()
        .section(".probes", 0, &[0, 6])
        .relocate(0, DATA32, "main", 4);
    let image = link_all(&[
        start().input("start.o"),
        main.input("main.o"),
        more.input("more.o"),
    ]);
    assert_eq!(words(&image, ".text"), [BT | 8, NOP, NOP, NOP]);
    assert_eq!(words(&image, ".debug_info"), [12, 0xFFFF_FFFF]);
    assert_eq!(words(&image, ".debug_ranges"), [1]);
    assert_eq!(words(&image, ".probes"), [8, 5, 12, 6]);
    assert_eq!(words(&image, ".comment"), [0x4142_4300]);
    assert_eq!(address(&image, "unused"), None);
    assert_eq!(image.removed, 8);
}

#[test]
fn strong_definitions_win_over_weak_ones() {
    let weak = Object::new()
        .section(".text.weak", CODE, &[2])
        .weak("main", 0)
        .weak_use("absent");
    let weak = weak.relocate(0, DATA32, "absent", 0);
    let strong = Object::new()
        .section(".text.strong", CODE, &[3])
        .global("main", 0);
    let image = link_all(&[
        start().input("start.o"),
        weak.input("weak.o"),
        strong.input("strong.o"),
    ]);
    assert_eq!(words(&image, ".text"), [BT | 8, NOP, 3]);
    let weak = Object::new()
        .section(".text.weak", CODE, &[2])
        .weak("main", 0)
        .weak_use("absent")
        .relocate(0, DATA32, "absent", 0);
    let image = link_all(&[start().input("start.o"), weak.input("weak.o")]);
    assert_eq!(words(&image, ".text"), [BT | 8, NOP, 0]);
}

#[test]
fn the_same_objects_make_the_same_image() {
    let make = || {
        let main = Object::new()
            .section(".text.main", CODE, &[NOP])
            .global("main", 0);
        link_all(&[start().input("start.o"), main.input("main.o")])
    };
    assert_eq!(make(), make());
}
