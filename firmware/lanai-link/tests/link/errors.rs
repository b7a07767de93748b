//! Inputs that the linker refuses, with the words of its messages.

use lanai_link::{Input, Options, link};
use object::elf;

use super::object::{CODE, DATA, Object};
use super::{BRANCH25, CONSTANT21, DATA32, NOP, start};

#[track_caller]
fn check(objects: Vec<Object>, expected: &[&str]) {
    check_in(1 << 22, objects, expected);
}

#[track_caller]
fn check_in(memory: u32, objects: Vec<Object>, expected: &[&str]) {
    let numbered = objects.into_iter().enumerate();
    let inputs: Vec<Input> = numbered
        .map(|(number, object)| object.input(&format!("{number}.o")))
        .collect();
    let options = Options {
        memory,
        ..Options::default()
    };
    let error = link(&inputs, &options).expect_err("a refusal").to_string();
    for words in expected {
        assert!(error.contains(words), "{words:?} in {error:?}");
    }
}

fn main_with(words: &[u32]) -> Object {
    Object::new()
        .section(".text.main", CODE, words)
        .global("main", 0)
}

#[test]
fn undefined_symbols() {
    let main = main_with(&[NOP, NOP])
        .relocate(0, BRANCH25, "helper", 0)
        .relocate(4, DATA32, "table", 0);
    check(
        vec![start(), main],
        &["undefined: helper (in 1.o, .text.main), table (in 1.o, .text.main)"],
    );
    check(
        vec![main_with(&[NOP])],
        &["no object defines the entry _start"],
    );
}

#[test]
fn doubly_defined_symbols() {
    check(
        vec![start(), main_with(&[NOP]), main_with(&[NOP])],
        &["main is defined in 1.o and in 2.o"],
    );
}

#[test]
fn entries_that_cannot_come_first() {
    let inside = Object::new()
        .section(".text", CODE, &[NOP, NOP])
        .global("_start", 4);
    let data = Object::new()
        .section(".data", DATA, &[NOP])
        .global("_start", 0);
    for object in [inside, data] {
        check(vec![object], &["the entry _start is not at the start"]);
    }
}

#[test]
fn values_out_of_range() {
    // Buffers of 3 MiB: one object of zeros comes to lie beyond the reach of 21 bits.
    let main = main_with(&[0xF180_0000, 0xF180_0000])
        .relocate(0, CONSTANT21, "near", 0)
        .relocate(4, CONSTANT21, "far", 0)
        .zeros(".bss.near", 3 << 20, 8)
        .global("near", 0)
        .zeros(".bss.far", 8, 8)
        .global("far", 0);
    check(
        vec![start(), main],
        &[
            "1.o, .text.main+0x4, symbol far",
            "0x300010 does not fit into the 21 bits",
        ],
    );
    let main = main_with(&[NOP]).relocate(0, BRANCH25, "main", 2);
    check(
        vec![start(), main],
        &["symbol main", "0xa is not the address of a word"],
    );
    let main = main_with(&[NOP]).relocate(0, 9, "main", 0);
    check(vec![start(), main], &["unknown relocation 9"]);
    let main = main_with(&[NOP]).relocate(2, DATA32, "main", 0);
    check(vec![start(), main], &["outside of its section"]);
}

#[test]
fn images_larger_than_the_memory() {
    let main = main_with(&[NOP])
        .relocate(0, DATA32, "buffer", 0)
        .zeros(".bss.buffer", 0x1000, 8)
        .global("buffer", 0);
    check_in(
        0x1000,
        vec![start(), main],
        &["the image ends at 0x1010, the memory at 0x1000"],
    );
}

#[test]
fn bad_code_names_its_function() {
    let name = "_ZN8firmware4poll17h0123456789abcdefE";
    let call = main_with(&[NOP]).relocate(0, BRANCH25, name, 0);
    let bad = Object::new()
        .section(".text.poll", CODE, &[NOP, NOP, 0x9199_0004, 0xC31A_3D03])
        .local("before", 0)
        .global(name, 4);
    check(
        vec![start(), call, bad],
        &[
            "firmware::poll+0x4 (2.o): a load or store moves its base",
            "firmware::poll+0x8 (2.o): a conditional instruction sets flags",
        ],
    );
}

#[test]
fn addresses_that_a_constant_moves_away_name_their_function() {
    let name = "_ZN8firmware4poll17h0123456789abcdefE";
    for addend in [-0x10_0000, 0x40_0000] {
        let call = main_with(&[NOP]).relocate(0, BRANCH25, name, 0);
        let far = Object::new()
            .section(".text.poll", CODE, &[NOP, 0xF180_0000])
            .relocate(4, CONSTANT21, "main", addend)
            .global(name, 0);
        check(
            vec![start(), call, far],
            &["firmware::poll+0x4 (2.o): an index into a static has a constant part"],
        );
    }
}

#[test]
fn bad_code_that_is_not_in_the_image_is_accepted() {
    let unused = Object::new()
        .section(".text.unused", CODE, &[0x9199_0004])
        .global("unused", 0);
    let inputs = [
        start().input("0.o"),
        main_with(&[NOP]).input("1.o"),
        unused.input("2.o"),
    ];
    link(&inputs, &Options::default()).expect("an image");
    // An assembler's text is its author's business.
    let bytes = main_with(&[0x9199_0004]).bytes();
    let assembled = Input::new("by-hand.o", &bytes, false).expect("an object");
    link(&[start().input("0.o"), assembled], &Options::default()).expect("an image");
}

#[test]
fn files_that_are_no_objects() {
    let refused = |bytes: &[u8]| {
        let error = Input::new("x.o", bytes, true).expect_err("a refusal");
        error.to_string()
    };
    assert!(refused(b"").starts_with("x.o: "));
    assert!(refused(b"BC\xC0\xDE").starts_with("x.o: "));
    let mips = main_with(&[NOP]).machine(8).bytes();
    assert_eq!(
        refused(&mips),
        "x.o: not a relocatable object for the LANai"
    );
    let constructors = main_with(&[NOP])
        .section(".init_array", DATA, &[0])
        .kind(elf::SHT_INIT_ARRAY);
    let expected = ".init_array holds constructors, which no start code runs";
    assert!(refused(&constructors.bytes()).ends_with(expected));
    let thread = main_with(&[NOP]).section(".tdata", DATA | elf::SHF_TLS, &[0]);
    assert!(refused(&thread.bytes()).ends_with(".tdata is thread-local"));
}

proptest::proptest! {
    /// No damage of an object makes the linker panic.
    #[test]
    fn damaged_objects_are_errors(at in 0_usize..2000, value: u8, cut in 0_usize..2000) {
        let object = main_with(&[NOP, NOP]).relocate(0, BRANCH25, "main", 0).zeros(".bss", 8, 8).global("zeros", 0);
        let mut bytes = object.bytes();
        let at = at % bytes.len();
        bytes[at] = value;
        if cut % 3 == 0 {
            bytes.truncate(cut);
        }
        if let Ok(input) = Input::new("damaged.o", &bytes, true) {
            let _ = link(&[start().input("start.o"), input], &Options::default());
        }
    }
}
