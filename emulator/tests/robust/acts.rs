//! Random acts.

use defs::tigon2::map::{RX_BUFFER_LIMIT, WINDOW_BYTES};
use defs::tigon2::regs as r;
use defs::tigon2::rings::{MAC_RX_BELOW, MAC_TX_BELOW, READ_RING_BELOW, WRITE_RING_BELOW};
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::act::Act;
use crate::bench::{CODE, RX_BUFFER, TX_BUFFER};

/// Both cores: wait for events, count them in SRAM, touch DMA and MAC registers.
const BUSY: &str = "lui $t0, 0xC000; again: lw $t1, 0x60($t0); lw $t2, 0x210($zero); \
    beq $t1, $zero, again; addu $t2, $t2, $t1; sw $t2, 0x210($zero); lw $t3, 0xE0($t0); \
    sw $t3, 0xE4($t0); sw $t3, 0xE8($t0); lw $t3, 0x104($t0); b again; sw $t3, 0x108($t0)";

pub fn sram_size() -> impl Strategy<Value = SramSize> {
    select(vec![SramSize::K512, SramSize::M1, SramSize::M2])
}

/// Any word, often one that is meaningful for a register.
pub fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        Just(0),
        Just(u32::MAX),
        (0..32u32).prop_map(|bit| 1 << bit),
        0..0x800u32,
        TX_BUFFER - 0x3000..RX_BUFFER_LIMIT + 0x100,
        0xFFFF_F000..=u32::MAX,
        0x10_0000..0x11_0000u32,
        CODE - 0x40..CODE + 0x80,
        0xC0_0000..0xC0_0080u32,
        select(vec![
            RX_BUFFER_LIMIT,
            TX_BUFFER,
            RX_BUFFER,
            1 << 31,
            i32::MAX as u32
        ]),
    ]
}

/// Registers in which invalid values have wide effects.
fn register() -> impl Strategy<Value = u32> {
    let cores = [
        r::CPU_STATE,
        r::CPU_PC,
        r::STACK_MAP,
        r::SCRATCH_ADDRESS,
        r::SCRATCH_DATA,
    ];
    let mut registers = vec![r::ASSIST_STATE, r::MAC_TX_STATE, r::MAC_RX_STATE, r::TIMER];
    registers.extend([
        r::READ_STATE,
        r::WRITE_STATE,
        r::READ_LENGTH,
        r::WRITE_LENGTH,
    ]);
    registers.extend((r::RX_BUFFER_BASE..=r::WRITE_RING_FREE).step_by(4));
    registers.extend(cores);
    registers.extend(cores.map(|register| register + r::CPU_B));
    select(registers)
}

/// Descriptors of a ring, and the write that posts them.
fn descriptors() -> impl Strategy<Value = Vec<Act>> {
    let ring = select(vec![
        (MAC_TX_BELOW, 2, r::TX_DESCRIPTOR_PRODUCER),
        (MAC_RX_BELOW, 2, r::RX_DESCRIPTOR_CONSUMER),
        (READ_RING_BELOW, 8, r::READ_RING_PRODUCER),
        (WRITE_RING_BELOW, 8, r::WRITE_RING_PRODUCER),
    ]);
    (ring, 1..70usize, vec(value(), 8), value()).prop_map(
        |((below, entry_words, producer), count, entry, pointer)| {
            let words = entry[..entry_words].repeat(count);
            vec![
                Act::Sram(TX_BUFFER - below, words),
                Act::Write(producer, pointer),
            ]
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let offset =
        || prop_oneof![4 => register(), 4 => 0..0x400u32, 2 => 0..WINDOW_BYTES, 1 => any::<u32>()];
    let length = prop_oneof![0..80usize, 1500..1530usize, 0..16_385usize];
    let frames = (1..20u32, length, any::<u8>(), any::<bool>());
    let start = (0..2usize, value());
    prop_oneof![
        10 => (offset(), value()).prop_map(|(offset, value)| Act::Write(offset, value)),
        3 => offset().prop_map(Act::Read),
        4 => (0..50_000u64).prop_map(Act::Run),
        1 => frames.prop_map(|(count, length, fill, damaged)| {
            Act::Frames { count, length, fill, damaged }
        }),
        1 => start.prop_map(|(cpu, pc)| Act::Start(cpu, pc)),
        1 => (value(), vec(value(), 1..9)).prop_map(|(at, words)| Act::Sram(at, words)),
    ]
}

/// Both CPUs run, and then random acts follow.
pub fn acts() -> impl Strategy<Value = Vec<Act>> {
    let some = prop_oneof![9 => act().prop_map(|act| vec![act]), 1 => descriptors()];
    vec(some, 1..120).prop_map(|some| {
        let begin = [
            Act::Code(CODE, BUSY.to_owned()),
            Act::Start(0, CODE),
            Act::Start(1, CODE),
        ];
        begin
            .into_iter()
            .chain(some.into_iter().flatten())
            .collect()
    })
}
