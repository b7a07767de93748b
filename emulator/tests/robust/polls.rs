//! Polling firmware: random loops on both CPUs while host, wire and timer are active. Skipping rounds of
//! such a loop must give the result of stepping.

use emulator::tigon2::board::Tigon2;
use std::fmt;

use defs::tigon2::map::SCRATCHPAD_BASE;
use emulator::cpu::mips::asm::assemble;
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::act::{Act, play};
use crate::bench::{Bench, CODE};

/// Reads of a loop in addition to its event register: none, values that only others change, and values that
/// change by themselves.
const LOOKS: &[&str] = &[
    "nop",
    "xor $t2, $t2, $t3",
    "lw $t2, 0x10($k0)",
    "lw $t2, 0x100($gp)",
    "lw $t3, 0x104($gp)",
    "lw $t2, 0x120($gp)",
    "lw $t3, 0x0B0($gp)",
    "lw $t2, 0x11C($gp)",
    "lw $t3, 0x0E0($gp)",
    "lw $t2, 0x064($gp)",
    "lw $t3, 0x048($gp)",
    "lw $t2, 0x058($gp)",
    "lw $t2, 0x0C4($gp)",
    "lw $t3, 0x0D8($gp)",
    "lw $t2, 0x0F4($gp)",
    "lw $t2, 0x040($gp)",
    "lw $t2, OWN_STATE($gp)",
    "lw $t2, OTHER_STATE($gp)",
    "lw $t2, OTHER_EVENT($gp)",
    "lw $t2, 0x054($gp)",
    "lw $t2, 0x210($zero)",
    "lw $t2, 0x06C($gp)",
    "addiu $s0, $s0, 1",
];

/// Exit conditions of a loop.
const ENDS: &[&str] = &[
    "pri $t4, $t0, $s4; beqz $t4, again",
    "pri $t4, $t0, $s4; beqzl $t4, again",
    "and $t4, $t0, $s4; beqz $t4, again",
    "beqz $t0, again",
    "beq $t2, $t3, again",
    "bnel $t2, $t3, again",
];

/// Reactions of the firmware.
const WORKS: &[&str] = &[
    "addiu $s1, $s1, 1",
    "lw $t5, 0x054($gp); addiu $t5, $t5, 3; sw $t5, REFERENCE($gp)",
    "lw $t5, 0x054($gp); addiu $t5, $t5, 40; sw $t5, REFERENCE($gp)",
    "lw $t5, MAILBOXES($gp); sw $t5, MAILBOXES($gp)",
    "lw $t5, 0x0E0($gp); sw $t5, 0x0E4($gp); sw $t5, 0x0E8($gp)",
    "lw $t5, 0x104($gp); sw $t5, 0x108($gp)",
    "lw $t5, 0x124($gp); sw $t5, 0x128($gp)",
    "lw $t5, 0x100($gp); addiu $t5, $t5, 0x20; sw $t5, 0x100($gp)",
    "lw $t5, OTHER_EVENT($gp); xori $t5, $t5, 8; sw $t5, OTHER_EVENT($gp)",
    "lw $t5, EVENT($gp); xori $t5, $t5, 16; sw $t5, EVENT($gp)",
    "sw $zero, 0x048($gp)",
    "sw $s1, 0x210($zero)",
    "sw $s1, 0x10($k0)",
    "li $t5, 4; sw $t5, 0x0B0($gp)",
    "li $t5, 4; sw $t5, 0x044($gp)",
    "lui $t5, 1; sw $t5, OTHER_STATE($gp)",
    "sw $zero, OTHER_STATE($gp)",
];

/// Register names that differ between the CPUs.
const NAMES: [(&str, [&str; 2]); 7] = [
    ("OTHER_EVENT", ["0x070", "0x060"]),
    ("OTHER_STATE", ["0x240", "0x140"]),
    ("OWN_STATE", ["0x140", "0x240"]),
    ("EVENT", ["0x060", "0x070"]),
    ("REFERENCE", ["0x058", "0x078"]),
    ("MAILBOXES", ["0x064", "0x074"]),
    ("MASK", ["0xFFFF", "0xD8FF"]),
];

/// Program of a CPU: address and text.
#[derive(Clone)]
pub struct Polling {
    scratchpad: bool,
    text: String,
}

/// Prints a failed case in the form of a seed.
impl fmt::Debug for Polling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.scratchpad {
            "scratchpad"
        } else {
            "sram"
        };
        write!(f, "{place} {}", self.text)
    }
}

impl Polling {
    /// Parses a line of a seed.
    fn parse(line: &str) -> Self {
        let (place, text) = line.split_once(' ').expect("a place and a text");
        let scratchpad = match place {
            "scratchpad" => true,
            "sram" => false,
            _ => panic!("{line}: where?"),
        };
        let text = text.to_owned();
        Self { scratchpad, text }
    }
}

/// Parses a seed: its title, the programs of A and B, then acts.
pub fn parse(text: &str) -> ([Polling; 2], Vec<Act>) {
    let lines: Vec<&str> = text.splitn(4, '\n').collect();
    let [title, a, b, acts] = lines[..] else {
        panic!("{text}: too short");
    };
    assert!(title.starts_with("# "), "a seed says what it covers");
    ([a, b].map(Polling::parse), Act::parse_all(acts))
}

pub fn polling() -> impl Strategy<Value = Polling> {
    let looks = vec(select(LOOKS), 0..4);
    let works = vec(select(WORKS), 1..4);
    // The event register may be read in the delay slot of a branch to itself, and once more as its target.
    let heads = prop_oneof![8 => Just("again:"), 1 => Just("again: b here; here:")];
    (any::<bool>(), heads, looks, select(ENDS), select(LOOKS), works).prop_map(
        |(scratchpad, head, looks, end, slot, works)| {
            let text = format!(
                "lui $gp, 0xC000; lui $k0, 0xC0; lui $s4, MASK; {head} lw $t0, EVENT($gp); {}; {end}; \
                 {slot}; {}; b again; nop",
                looks.join("; "),
                works.join("; ")
            );
            Polling { scratchpad, text }
        },
    )
}

/// Acts of hosts and wires on polling firmware.
fn act() -> impl Strategy<Value = Act> {
    let write = (
        select(vec![
            0x50C, 0x5FC, 0x058, 0x078, 0x100, 0x120, 0x060, 0x070, 0x054, 0x140, 0x240,
        ]),
        prop_oneof![0..100u32, (0..32u32).prop_map(|bit| 1 << bit)],
    );
    let frames =
        (1..4u32, 60..200usize, any::<u8>()).prop_map(|(count, length, fill)| Act::Frames {
            count,
            length,
            fill,
            damaged: false,
        });
    prop_oneof![
        4 => (0..60_000u64).prop_map(Act::Run),
        3 => write.prop_map(|(offset, value)| Act::Write(offset, value)),
        1 => frames,
    ]
}

/// A DMA that the host starts: host address, local address, length, state.
fn dma() -> impl Strategy<Value = Vec<Act>> {
    let registers = select(vec![
        [0x094, 0x0B4, 0x09C, 0x0B0],
        [0x084, 0x0A4, 0x0AC, 0x0A0],
    ]);
    (registers, 0..3000u32, select(vec![0x101_000, 0])).prop_map(|(registers, length, host)| {
        let values = [host, 0x10_0000, length, 4];
        let writes = registers.into_iter().zip(values);
        writes
            .map(|(offset, value)| Act::Write(offset, value))
            .collect()
    })
}

pub fn acts() -> impl Strategy<Value = Vec<Act>> {
    let some = prop_oneof![6 => act().prop_map(|act| vec![act]), 1 => dma()];
    vec(some, 1..24).prop_map(|some| some.concat())
}

/// Execution parameters of a run, which must not affect its result.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Rounds of idle loops may be skipped.
    pub skip_idle: bool,
    /// Length of time slices, in nanoseconds.
    pub slice_ns: Option<u64>,
}

/// Final state of a run.
#[derive(Debug, PartialEq)]
pub struct Left {
    /// Trace hash.
    trace: u64,
    /// Instructions, cycles, program counter and registers of both CPUs.
    cores: Vec<(u64, u64, u32, Vec<u32>)>,
    /// Whether the order is promised: no CPU stopped or observed one that was ahead of it.
    pub ordered: bool,
}

/// Loads and starts the programs of both CPUs.
pub fn load(programs: &[Polling; 2], bench: &mut Bench) {
    for (cpu, program) in programs.iter().enumerate() {
        let names = NAMES
            .iter()
            .fold(program.text.clone(), |text, (name, values)| {
                text.replace(name, values[cpu])
            });
        let at = if program.scratchpad {
            SCRATCHPAD_BASE + 0x100
        } else {
            CODE + 0x400 * cpu as u32
        };
        let source = format!(".org {at}\n{}", names.replace(';', "\n"));
        let program_words = assemble(&source).unwrap_or_else(|error| panic!("{source}: {error}"));
        let words: Vec<u32> = program_words.words().map(|(_, word)| word).collect();
        if program.scratchpad {
            bench.load_scratchpad(cpu, at, &words);
        } else {
            bench.load(at, &words);
        }
        bench.start(cpu, at);
    }
}

/// Lets both CPUs poll during `acts`.
pub fn poll(programs: &[Polling; 2], acts: &[Act], manner: Manner) -> Left {
    let mut bench = Bench::new(SramSize::K512);
    bench.0.board_mut::<Tigon2>().skip_idle = manner.skip_idle;
    load(programs, &mut bench);
    bench.0.trace.keep(true);
    for act in acts.iter().chain(&[Act::Run(100_000)]) {
        match (act, manner.slice_ns) {
            (Act::Run(ns), Some(slice_ns)) => {
                let slices = vec![Act::Run(slice_ns); (ns / slice_ns) as usize];
                play(&mut bench, &slices);
                play(&mut bench, &[Act::Run(ns % slice_ns)]);
            }
            _ => play(&mut bench, std::slice::from_ref(act)),
        }
    }
    let left = bench.0.board::<Tigon2>().cores.iter().map(|unit| {
        let core = &unit.core;
        let registers = core.registers().to_vec();
        (core.instructions(), core.clock.cycles, core.pc(), registers)
    });
    let left = left.collect();
    Left {
        trace: bench.0.trace.hash(),
        cores: left,
        ordered: !bench.was_seen_ahead(),
    }
}
