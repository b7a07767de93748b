//! The known faults of LLVM's back end for the LANai: each is avoided by the driver's options, or refused by the linker. Where a
//! fault is gone with another version of LLVM, its test says so.

#[path = "../llvm/mod.rs"]
mod llvm;

use std::fmt::Write as _;
use std::fs;

use lanai_link::driver::{CODE_GENERATOR_OPTIONS, Tools};
use lanai_link::{Fault, Image, Input, LinkError, Options, Role, link};

/// The driver's options without those that start with one of `left_out`.
fn options(left_out: &[&str]) -> Vec<&'static str> {
    let stays = |option: &&str| !left_out.iter().any(|start| option.starts_with(start));
    CODE_GENERATOR_OPTIONS.into_iter().filter(stays).collect()
}

/// Compiles LLVM's text.
fn compile(tools: &Tools, name: &str, text: &str, options: &[&str]) -> Input {
    let folder = llvm::folder("faults");
    // Tests run at the same time.
    let (source, object) = (
        folder.join(format!("{name}-{}.ll", options.len())),
        folder.join(format!("{name}-{}.o", options.len())),
    );
    fs::write(&source, text).expect("a file");
    let files = [source.as_os_str(), "-o".as_ref(), object.as_os_str()];
    let options = options.iter().map(|option| option.as_ref());
    tools.run("llc", options.chain(files)).expect("llc runs");
    Input::new(name, &fs::read(&object).expect("an object"), true).expect("an object")
}

/// Links one object whose execution begins at `function`.
fn link_from(input: &Input, function: &str) -> Result<Image, LinkError> {
    let options = Options {
        entry: function.to_owned(),
        ..Options::default()
    };
    link(std::slice::from_ref(input), &options)
}

/// Names and faults of bad code.
fn bad_code(result: Result<Image, LinkError>) -> Vec<(String, Fault)> {
    match result {
        Ok(_) => Vec::new(),
        Err(LinkError::BadCode(found)) => {
            let found = found.into_iter();
            found.map(|bad| (bad.function, bad.fault)).collect()
        }
        Err(error) => panic!("{error}"),
    }
}

/// Checks what the linker refuses in `function` of a text that was compiled without the options in `left_out`.
#[track_caller]
fn check(name: &str, text: &str, left_out: &[&str], function: &str, expected: &[Fault]) {
    let Some(tools) = llvm::tools(name) else {
        return;
    };
    let input = compile(&tools, name, text, &options(left_out));
    let expected = expected.iter().map(|fault| (function.to_owned(), *fault));
    let found = bad_code(link_from(&input, function));
    assert_eq!(found, expected.collect::<Vec<_>>(), "{name}");
}

#[test]
fn flags_of_conditional_instructions() {
    let text = include_str!("conditional-flags.ll");
    let (name, function) = ("conditional-flags", "is_idle");
    let fault = Fault::ConditionalFlags;
    check(name, text, &["-disable-peephole"], function, &[fault]);
    check(name, text, &[], function, &[]);
}

#[test]
fn bases_that_move() {
    let text = include_str!("moved-base.ll");
    let (name, function) = ("moved-base", "number");
    let left_out = ["-disable-lanai-mem-alu-combiner"];
    check(name, text, &left_out, function, &[Fault::MovedBase]);
    check(name, text, &[], function, &[]);
}

#[test]
fn stack_slots_far_from_the_frame_pointer() {
    let text = include_str!("far-stack-slot.ll");
    let (name, function) = ("far-stack-slot", "checksum");
    check(name, text, &[], function, &[Fault::FarStackSlot]);
    // A buffer of 400 bytes leaves all slots near.
    let near = text.replace("[700 x i8]", "[400 x i8]");
    check("near-stack-slot", &near, &[], function, &[]);
}

/// Frames of 64 KB and more: each use of a distant slot is refused.
#[test]
fn frames_larger_than_a_constant() {
    let Some(tools) = llvm::tools("large-frame") else {
        return;
    };
    let text = include_str!("large-frame.ll");
    let faults = |name: &str, text: &str| {
        let input = compile(&tools, name, text, &options(&[]));
        let mut found = bad_code(link_from(&input, "gather"));
        found.dedup();
        found
    };
    let expected = ("gather".to_owned(), Fault::LargeFrame);
    assert_eq!(faults("large-frame", text), [expected]);
    let smaller = text.replace("[70000 x i8]", "[60000 x i8]");
    assert_eq!(faults("smaller-frame", &smaller), []);
}

#[test]
fn reads_that_are_exchanged() {
    let text = include_str!("exchanged-reads.ll");
    let function = "elapsed";
    let fault = Fault::ReadInSlot;
    check("exchanged-reads", text, &[], function, &[fault]);
    let text = include_str!("ordered-reads.ll");
    check("ordered-reads", text, &[], function, &[]);
}

/// Cases of the jump table.
const CASES: usize = 120;

/// A function that branches through a table.
fn switch() -> String {
    let mut text = "target triple = \"lanai\"\n\
        target datalayout = \"E-m:e-p:32:32-i64:64-a:0:32-n32-S64\"\n\
        define fastcc i32 @handle(i32 %event) {\n  switch i32 %event, label %other ["
        .to_owned();
    for case in 0..CASES {
        let _ = write!(text, " i32 {case}, label %on{case}");
    }
    text.push_str(" ]\n");
    for case in 0..CASES {
        // Nothing that a table of values could replace.
        let _ = write!(
            text,
            "on{case}:\n  store volatile i32 {}, ptr inttoptr (i32 {} to ptr)\n  ret i32 {case}\n",
            case * case,
            4 * (case + 1)
        );
    }
    text.push_str("other:\n  ret i32 -1\n}\n");
    text
}

/// Words of the jump table, and how many of them are addresses in the function.
fn table(tools: &Tools, name: &str, options: &[&str]) -> (usize, usize) {
    let input = compile(tools, name, &switch(), options);
    let image = link_from(&input, "handle").expect("an image");
    let part = |wanted: &str| {
        let mut parts = image.parts.iter().filter(|(name, ..)| name == wanted);
        parts.next().map_or(0, |(_, _, size)| *size)
    };
    let code = part(".text");
    let file = object::read::elf::ElfFile32::<object::BigEndian>::parse(&*image.file);
    let file = file.expect("an ELF file");
    let section = object::Object::section_by_name(&file, ".rodata").expect("a table");
    let bytes = object::ObjectSection::data(&section).expect("its bytes");
    let words = bytes.chunks_exact(4).map(|word| {
        let word: [u8; 4] = word.try_into().expect("a word");
        u32::from_be_bytes(word)
    });
    let inside = words.filter(|word| (1..code).contains(word) && word % 4 == 0);
    // Each case has a place of its own.
    let places: std::collections::BTreeSet<u32> = inside.collect();
    (bytes.len() / 4, places.len())
}

#[test]
fn jump_tables() {
    let Some(tools) = llvm::tools("jump tables") else {
        return;
    };
    assert_eq!(table(&tools, "static", &options(&[])), (CASES, CASES));
    // The default, position-independent code, cannot be linked: a difference of addresses becomes an address.
    let default = options(&["-relocation-model"]);
    let input = compile(&tools, "default", &switch(), &default);
    let code = |input: &Input| {
        let mut sections = input.sections.iter();
        let code = sections.find(|section| section.role == Role::Code && section.size > 0);
        code.map(|section| section.bytes.clone())
    };
    let right = compile(&tools, "static-again", &switch(), &options(&[]));
    assert_ne!(
        code(&input),
        code(&right),
        "the default is as good: fault 4 is gone"
    );
}
