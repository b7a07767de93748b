//! Random instructions on both cores.

use defs::tigon2::map::{REGISTER_BASE, SCRATCHPAD_BASE};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::wire::ethernet::frame::Frame;
use proptest::prelude::*;

use crate::acts::value;
use crate::bench::{Bench, CODE, TX_BUFFER, words};

/// A random instruction: any word, or an access to memory and registers through $1 to $4.
pub fn instruction() -> impl Strategy<Value = u32> {
    // lb, lh, lwl, lw, lbu, lhu, lwr, sb, sh, swl, sw, swr.
    let memory = prop::sample::select(vec![
        0x20u32, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x28, 0x29, 0x2A, 0x2B, 0x2E,
    ]);
    let offset = prop_oneof![0..0x100u32, any::<u16>().prop_map(u32::from)];
    let memory = (memory, 1..5u32, 0..32u32, offset);
    // beq, bne, blez, bgtz, and their likely forms, a few instructions backwards or forwards.
    let branch = (
        prop::sample::select(vec![4u32, 5, 6, 7, 0x14, 0x15]),
        0..32u32,
        0..32u32,
        -20..20i16,
    );
    let arithmetic = (8..16u32, 0..32u32, 5..32u32, value());
    prop_oneof![
        2 => any::<u32>(),
        6 => memory.prop_map(|(op, base, rt, offset)| {
            op << 26 | base << 21 | rt << 16 | (offset * 4) & 0xFFFF
        }),
        2 => branch.prop_map(|(op, rs, rt, offset)| {
            op << 26 | rs << 21 | rt << 16 | u32::from(offset.cast_unsigned())
        }),
        3 => arithmetic.prop_map(|(op, rs, rt, value)| {
            op << 26 | rs << 21 | rt << 16 | value & 0xFFFF
        }),
    ]
}

/// Code that sets up pointers, then runs random instructions repeatedly.
fn program(body: &[u32]) -> Vec<u32> {
    let pointers = format!(
        "li $1, {REGISTER_BASE:#x}\n li $2, {TX_BUFFER:#x}\n li $3, {SCRATCHPAD_BASE:#x}\n li $4, 0x4000\n"
    );
    let mut code = words(&pointers);
    code.extend(body);
    // Back to the start: beq $zero, $zero.
    let back = (code.len() as u32 + 1).wrapping_neg();
    code.extend([0x1000_0000 | back & 0xFFFF, 0]);
    code
}

/// Executes random instructions on both cores, from SRAM or scratchpad; a stopped core is restarted
/// elsewhere. Returns the trace hash.
pub fn execute(body: &[u32], scratchpad: bool, skip_idle: bool) -> u64 {
    const STEPS: u32 = 40;
    let mut bench = Bench::new(SramSize::K512);
    let code = program(body);
    bench.load(CODE, &code);
    for cpu in 0..2 {
        bench.load_scratchpad(cpu, SCRATCHPAD_BASE, &code);
    }
    bench.0.board_mut::<Tigon2>().skip_idle = skip_idle;
    bench.0.board_mut::<Tigon2>().instruction_limit = 100_000;
    let base = if scratchpad { SCRATCHPAD_BASE } else { CODE };
    for step in 0..STEPS {
        for cpu in 0..2 {
            let skipped = if step == 0 { 0 } else { step * 7 + cpu as u32 };
            bench.start(cpu, base + 4 * (skipped % code.len() as u32));
        }
        let now = bench.0.now();
        bench
            .0
            .frame_arrives(Frame::new(vec![step as u8; 60 + step as usize]), now);
        bench.run(SimTime::from_us(20));
        assert!(bench.0.pending_events() < 300, "events pile up");
    }
    let hash = bench.0.trace.hash();
    bench.recovers();
    hash
}
