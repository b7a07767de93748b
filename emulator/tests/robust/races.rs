//! Two CPUs race over data, registers and each other's code. However far a CPU runs ahead of the other one,
//! results must equal those of steps of a few instructions.
//!
//! No CPU halts the other one here or writes to its scratchpad: that takes effect only at the other one's
//! turn (ARCHITECTURE.md, "Compromises").

use defs::tigon2::map::{REGISTER_BASE, SCRATCHPAD_BASE};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::bench::{Bench, CODE, TX_BUFFER, words};

/// Distance between the programs of A and B.
const APART: u32 = 0x200;
/// Number of compared words in SRAM, from `CODE` on.
const COMPARED_WORDS: u32 = 0x200;
const STEPS: u32 = 12;
/// Interval between two starts.
const STEP_NS: u64 = 4_000;

/// A CPU's program; it may run in the scratchpad.
#[derive(Debug, Clone)]
pub struct Racer {
    body: Vec<u32>,
    scratchpad: bool,
}

pub fn racer() -> impl Strategy<Value = Racer> {
    (vec(instruction(), 4..60), any::<bool>())
        .prop_map(|(body, scratchpad)| Racer { body, scratchpad })
}

fn encode(opcode: u32, base: u32, register: u32, low: u32) -> u32 {
    opcode << 26 | base << 21 | register << 16 | low & 0xFFFF
}

/// An instruction: $1 points to registers, $2 to data, $3 to the own scratchpad, $4 to code.
fn instruction() -> impl Strategy<Value = u32> {
    let offsets = select(vec![
        0x48u32, 0x4C, 0x54, 0x58, 0x60, 0x64, 0x70, 0x78, 0xC4, 0xE0, 0xE4, 0xE8, 0x100, 0x104,
        0x108, 0x120, 0x210, 0x3F0,
    ]);
    let load_store = || select(vec![0x23u32, 0x23, 0x2B]);
    let narrow = select(vec![0x20u32, 0x21, 0x23, 0x24, 0x25, 0x28, 0x29, 0x2B]);
    let other = || 8..24u32;
    let registers = (load_store(), other(), offsets);
    let memory = (narrow, 2..4u32, other(), 0..16u32);
    // Copies of whole instructions.
    let code = (load_store(), other(), 0..(2 * APART / 4));
    let branch = (
        select(vec![4u32, 5, 6, 7, 0x14, 0x15]),
        other(),
        other(),
        -8..12i16,
    );
    let compute = (
        select(vec![0x21u32, 0x23, 0x24, 0x25, 0x26, 0x2A, 0x0B]),
        other(),
        other(),
        other(),
    );
    let immediate = (8..15u32, other(), other(), any::<u16>());
    prop_oneof![
        2 => registers.prop_map(|(op, rt, offset)| encode(op, 1, rt, offset)),
        3 => memory.prop_map(|(op, base, rt, word)| encode(op, base, rt, 4 * word)),
        4 => code.prop_map(|(op, rt, word)| encode(op, 4, rt, 4 * word)),
        2 => branch.prop_map(|(op, rs, rt, by)| {
            let rt = if matches!(op, 6 | 7) { 0 } else { rt };
            encode(op, rs, rt, u32::from(by.cast_unsigned()))
        }),
        3 => compute.prop_map(|(function, rs, rt, rd)| rs << 21 | rt << 16 | rd << 11 | function),
        2 => immediate.prop_map(|(op, rs, rt, value)| encode(op, rs, rt, u32::from(value))),
    ]
}

/// Final state of a race: trace hash, SRAM; instructions, cycles, program counter and registers of both
/// CPUs.
type Left = (u64, Vec<u32>, Vec<(u64, u64, u32, Vec<u32>)>);

/// Runs both CPUs, optionally in time slices.
pub fn race(racers: &[Racer; 2], slice: Option<SimTime>) -> Left {
    let mut bench = Bench::new(SramSize::K512);
    let pointers = format!(
        "li $1, {REGISTER_BASE:#x}\n li $2, {TX_BUFFER:#x}\n li $3, {SCRATCHPAD_BASE:#x}\n li $4, {CODE}\n"
    );
    let mut starts = Vec::new();
    for (cpu, racer) in racers.iter().enumerate() {
        let mut code = words(&pointers);
        code.extend(&racer.body);
        let back = (code.len() as u32 + 1).wrapping_neg();
        code.extend([0x1000_0000 | back & 0xFFFF, 0]);
        let at = if racer.scratchpad {
            bench.load_scratchpad(cpu, SCRATCHPAD_BASE + 0x100, &code);
            SCRATCHPAD_BASE + 0x100
        } else {
            bench.load(CODE + APART * cpu as u32, &code);
            CODE + APART * cpu as u32
        };
        starts.push((at, code.len() as u32));
    }
    for step in 0..STEPS {
        for (cpu, (at, length)) in starts.iter().enumerate() {
            // A CPU that still runs continues.
            bench.start(cpu, at + 4 * (step * 7 % length));
        }
        let end = bench.0.now() + SimTime::from_ns(STEP_NS);
        while let Some(slice) = slice
            && bench.0.now() + slice < end
        {
            bench.run(slice);
        }
        let rest = end.saturating_sub(bench.0.now());
        bench.run(rest);
    }
    let sram = &bench.0.board::<Tigon2>().fabric.sram;
    let sram = (0..COMPARED_WORDS)
        .map(|word| sram.word(CODE + 4 * word))
        .collect();
    let left = bench.0.board::<Tigon2>().cores.iter().map(|unit| {
        let core = &unit.core;
        let registers = core.registers().to_vec();
        (core.instructions(), core.clock.cycles, core.pc(), registers)
    });
    (bench.0.trace.hash(), sram, left.collect())
}
