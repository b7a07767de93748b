//! Words and their text.

use cases::cases;
use emulator::cpu::decoded::Place;
use emulator::cpu::lanai::Op;
use emulator::cpu::lanai::asm::{Program, assemble};
use emulator::cpu::lanai::disasm::{disassemble, is_canonical};
use emulator::cpu::lanai::isa;
use emulator::cpu::lanai::pipeline::Pipeline;
use proptest::prelude::*;

/// The word of one instruction.
pub fn word_of(text: &str) -> u32 {
    let program = assemble(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let words: Vec<(u32, u32)> = program.words().collect();
    assert_eq!(words.len(), 1, "{text}");
    words[0].1
}

/// A row's encoding with the given operand bits.
pub fn encode(row: &isa::Row, bits: u32) -> u32 {
    row.bits | bits & !row.mask
}

#[test]
fn words_have_texts() {
    for line in include_str!("disasm.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let (numbers, text) = line.split_once(" = ").expect("word = text");
        let (name, word) = numbers.split_once(' ').expect("pipeline and word");
        let word = u32::from_str_radix(word, 16).expect("a word");
        let pipelines = Pipeline::ALL.into_iter();
        for pipeline in pipelines.filter(|pipeline| matches!(name, "all") || name == pipeline.name)
        {
            assert_eq!(disassemble(word, &pipeline), text, "{word:#010x}");
            if is_canonical(word, &pipeline) {
                assert_eq!(word_of(text), word, "{text}");
            }
        }
    }
}

#[test]
fn every_row_is_found_by_its_encoding() {
    for row in isa::ROWS {
        // The lowest bit of each field.
        let word = encode(row, 0x0084_0808);
        let pipeline = Pipeline::ALL
            .into_iter()
            .find(|pipeline| pipeline.has(row.feature(word)))
            .expect("a pipeline has it");
        let found = isa::lookup(word, &pipeline).expect("a row");
        assert_eq!(
            (found.bits, found.mask),
            (row.bits, row.mask),
            "{}",
            row.mnemonic
        );
    }
}

/// Opcode 1101 has two meanings; no other word has more than one.
#[test]
fn rows_are_disjoint() {
    for (index, one) in isa::ROWS.iter().enumerate() {
        for other in &isa::ROWS[index + 1..] {
            let common = one.mask & other.mask;
            let overlap = one.bits & common == other.bits & common;
            let two_meanings = one.bits >> 28 == 0xd && one.feature != other.feature;
            assert!(!overlap || two_meanings, "{one:?}\n{other:?}");
        }
    }
}

#[test]
fn a_page_of_decoded_instructions_is_dense() {
    assert_eq!(size_of::<Op>(), 8);
    assert_eq!(size_of::<Place<Op>>(), 8);
}

#[test]
fn no_operations_are_known() {
    let check = |text, is_nop| {
        for pipeline in Pipeline::ALL {
            assert_eq!(
                Op::decode(word_of(text), &pipeline).is_nop(),
                is_nop,
                "{text}"
            );
        }
    };
    check("nop", true);
    check("log_4", true);
    check(".word 0", true);
    check("addc %r0, 0x0, %rr1", false);
    check("sub.f %r5, 0x1, %r0", false);
    check("bf 0x100", false);
    check("ld 0[%r5], %r0", false);
}

#[test]
fn assembler_errors() {
    for (title, source, expected) in super::vectors(include_str!("errors.txt")) {
        let error = assemble(source).expect_err(title).to_string();
        assert_eq!(error, expected.trim_end(), "{title}");
    }
}

/// An encoding of a row, or any word.
pub fn any_word() -> impl Strategy<Value = u32> {
    let row = (0..isa::ROWS.len(), any::<u32>());
    prop_oneof![
        9 => row.prop_map(|(index, bits)| encode(&isa::ROWS[index], bits)),
        1 => any::<u32>(),
    ]
}

pub fn any_pipeline() -> impl Strategy<Value = Pipeline> {
    prop::sample::select(Pipeline::ALL.to_vec())
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn text_and_words_correspond(word in any_word(), pipeline in any_pipeline()) {
        let text = disassemble(word, &pipeline);
        let again = word_of(&text);
        if isa::is_executable(word, &pipeline) {
            let ops = [again, word].map(|word| Op::decode(word, &pipeline));
            prop_assert_eq!(ops[0], ops[1], "{}", &text);
        }
        prop_assert_eq!(disassemble(again, &pipeline), text);
        if is_canonical(word, &pipeline) {
            prop_assert_eq!(again, word);
        }
    }

    #[test]
    fn the_assembler_never_panics(source in "(\\PC|[\\n:!%,\"\\[\\]+*-]|li |ld |st |add |bt |\\.org |\\.word |\\.align ){0,60}") {
        let _: Result<Program, _> = assemble(&source);
    }
}
