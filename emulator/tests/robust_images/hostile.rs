//! A firmware that sends its driver invalid data: it writes anything into the host's rings, indices and
//! statistics, and interrupts.

use defs::acenic::info::{
    EVENT_PRODUCER_POINTER, EVENT_RING, INFO_BYTES, JUMBO_RING, MINI_RING, RETURN_PRODUCER_POINTER,
    RETURN_RING, SEND_CONSUMER_POINTER, SEND_RING, STANDARD_RING, STATISTICS_POINTER,
};
use emulator::cpu::mips::asm::assemble;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Start of the image, and its entry.
pub const BASE: u32 = 0x4000;
/// Address of the list of invalid writes.
const LIST: u32 = 0x4800;
/// Address of the words to write.
const WORDS: u32 = 0x5000;
/// Their number.
const WORD_COUNT: usize = 512;

/// Reads the information block, then executes the list repeatedly.
const LIAR: &str = "
    lui $gp, 0xC000
    lw $t0, 0x208($zero)
    sw $t0, 0x90($gp)
    lw $t0, 0x20C($zero)
    sw $t0, 0x94($gp)
    lui $s2, 1
    sw $s2, 0xB4($gp)
    li $t0, INFO_BYTES
    sw $t0, 0x9C($gp)
    li $s3, 6                # start, keep values
    sw $s3, 0xB0($gp)
read:
    lw $t0, 0xB0($gp)
    andi $t0, $t0, 4
    bnez $t0, read
    nop
again:
    li $s0, LIST
next:
    lw $t0, 0($s0)           # where the block tells the address
    bltz $t0, again
    addu $t0, $t0, $s2
    lw $t1, 0($t0)
    sw $t1, 0x80($gp)
    lw $t1, 4($t0)
    lw $t2, 4($s0)           # distance from that address
    addu $t1, $t1, $t2
    sw $t1, 0x84($gp)
    lw $t1, 8($s0)           # bytes
    sw $t1, 0xAC($gp)
    lw $t1, 12($s0)          # the words in SRAM
    sw $t1, 0xA4($gp)
    sw $s3, 0xA0($gp)
write:
    lw $t0, 0xA0($gp)
    andi $t0, $t0, 4
    bnez $t0, write
    nop
    lw $t1, 16($s0)          # an SRAM word too
    lw $t2, 20($s0)
    sw $t2, 0($t1)
    li $t1, 4
    sw $t1, 0x44($gp)        # interrupt
    li $t1, 2000
pause:
    bnez $t1, pause
    addiu $t1, $t1, -1
    b next
    addiu $s0, $s0, 24
";

fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => 0..8u32,
        2 => 0..2050u32,
        2 => (0..10u32, 0..5u32, 0..20u32).prop_map(|(what, code, index)| what << 24 | code << 12 | index),
        1 => (0..600u32, 0..0x800u32).prop_map(|(index, length)| index << 16 | length),
        1 => any::<u32>(),
    ]
}

/// One invalid write: pointer, distance, bytes, source, SRAM address, SRAM word.
fn lie() -> impl Strategy<Value = [u32; 6]> {
    let pointer = select(vec![
        EVENT_RING,
        SEND_RING,
        STANDARD_RING,
        JUMBO_RING,
        MINI_RING,
        RETURN_RING,
        EVENT_PRODUCER_POINTER,
        RETURN_PRODUCER_POINTER,
        SEND_CONSUMER_POINTER,
        STATISTICS_POINTER,
    ]);
    let distance = prop_oneof![4 => Just(0), 1 => (0..0x200u32).prop_map(|words| 4 * words)];
    let bytes = prop_oneof![2 => Just(8u32), 2 => 0..0x800u32];
    let source = (0..WORD_COUNT as u32).prop_map(|index| WORDS + 4 * index);
    let general = (0x80..0x100u32).prop_map(|index| 4 * index);
    (pointer, distance, bytes, source, general, word()).prop_map(
        |(pointer, distance, bytes, source, at, word)| [pointer, distance, bytes, source, at, word],
    )
}

/// A payload for `BASE`.
pub fn payload() -> impl Strategy<Value = Vec<u8>> {
    (vec(lie(), 1..24), vec(word(), WORD_COUNT)).prop_map(|(lies, words)| {
        let source = LIAR
            .replace("INFO_BYTES", &INFO_BYTES.to_string())
            .replace("LIST", &LIST.to_string());
        let list: Vec<u32> = lies.concat();
        let data = |words: &[u32]| {
            let lines = words.iter().map(|word| format!(".word {word}\n"));
            lines.collect::<String>()
        };
        let source = format!(
            ".org {BASE}\n{source}.align 11\n{}.word {}\n.align 12\n{}",
            data(&list),
            u32::MAX,
            data(&words)
        );
        let program = assemble(&source).expect("it assembles");
        assert_eq!(program.symbols.get("again").map(|at| at % 4), Some(0));
        let parts = program.segments.into_iter().map(|segment| segment.bytes);
        parts.flatten().collect()
    })
}
