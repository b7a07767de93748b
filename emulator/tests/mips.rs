//! Tests of the MIPS core: data files in `mips/` through one `check` function per kind of file, and
//! random programs against an independent interpreter.

#[path = "mips/flat.rs"]
mod flat;
#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::bool_to_int_with_if,
    clippy::manual_is_multiple_of,
    reason = "naive on purpose"
)]
#[path = "mips/reference.rs"]
mod reference;

use cases::cases;
use emulator::cpu::decoded::Place;
use emulator::cpu::mips::asm::{Program, assemble};
use emulator::cpu::mips::bits::BitChange;
use emulator::cpu::mips::bus::{Bus, BusStop, Fault, Private, Width};
use emulator::cpu::mips::disasm::{REGISTER_NAMES, disassemble};
use emulator::cpu::mips::exec::{Core, Exit, run};
use emulator::cpu::mips::isa::{self, Flow, Kind, Op, Operand};
use flat::FlatBus;
use proptest::prelude::*;
use reference::{Reference, Step};

const MEMORY_BYTES: usize = 0x1000;

/// The cases of a data file: title, text above `--`, lines below it.
fn vectors(file: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    file.split("\n== ").map(|case| {
        let (title, body) = case.split_once('\n').expect("a title line");
        let (source, expected) = body.split_once("--\n").expect("a line of two dashes");
        (title.trim_start_matches("== "), source, expected)
    })
}

fn stop_text(exit: &Exit) -> String {
    match exit {
        Exit::Break { code } => format!("break {}, {}", code >> 10, code & 0x3ff),
        Exit::Fault(fault) => fault.to_string(),
        Exit::Limit => "limit".to_owned(),
        other => format!("{other:?}"),
    }
}

/// An expected number: the assembler evaluates it at the end of the program.
fn expected_value(source: &str, text: &str) -> u32 {
    let source = format!("{source}\n .org 0xfff00000\n .word {text}\n");
    let program = assemble(&source).unwrap_or_else(|error| panic!("{text}: {error}"));
    program.words().last().expect("the word just added").1
}

/// Runs the assembly text until it stops; then each line `what = value` must be true. Without a line `stop
/// = ...` it must stop at a plain `break`.
fn check(title: &str, source: &str, expected: &str) {
    let program = assemble(source).unwrap_or_else(|error| panic!("{title}: {error}"));
    let mut bus = FlatBus::new(MEMORY_BYTES);
    bus.place(&program);
    let mut core = Core::default();
    let exit = run(&mut core, &mut bus, u64::MAX, 1000);
    let mut expected_stop = "break 0, 0";
    for line in expected.lines().filter(|line| !line.is_empty()) {
        let (what, text) = line.split_once(" = ").expect("what = value");
        if what == "stop" {
            expected_stop = text;
            continue;
        }
        let register = REGISTER_NAMES.iter().position(|&name| name == what);
        let actual = match (what, register) {
            (_, Some(index)) => core.register(index),
            ("pc", _) => core.pc(),
            ("next_pc", _) => core.next_pc(),
            ("instructions", _) => u32::try_from(core.instructions()).expect("few"),
            ("cycles", _) => u32::try_from(core.clock.cycles).expect("few"),
            _ => {
                let address = what
                    .strip_prefix('[')
                    .and_then(|what| what.strip_suffix(']'));
                let address = address.unwrap_or_else(|| panic!("{title}: what is {what}?"));
                bus.read(expected_value(source, address), Width::Word)
            }
        };
        let value = expected_value(source, text);
        assert_eq!(
            actual, value,
            "{title}: {what} is {actual:#x}, expected {value:#x}"
        );
    }
    assert_eq!(stop_text(&exit), expected_stop, "{title}");
}

fn check_all(file: &str) {
    for (title, source, expected) in vectors(file) {
        check(title, source, expected);
    }
}

#[test]
fn arithmetic() {
    check_all(include_str!("mips/arithmetic.txt"));
}

#[test]
fn dispatch() {
    check_all(include_str!("mips/dispatch.txt"));
}

#[test]
fn branches() {
    check_all(include_str!("mips/branches.txt"));
}

#[test]
fn likely_branches() {
    check_all(include_str!("mips/likely.txt"));
}

#[test]
fn memory() {
    check_all(include_str!("mips/memory.txt"));
}

#[test]
fn faults() {
    check_all(include_str!("mips/faults.txt"));
}

#[test]
fn assembler_errors() {
    for (title, source, expected) in vectors(include_str!("mips/errors.txt")) {
        let error = assemble(source).expect_err(title).to_string();
        assert_eq!(error, expected.trim_end(), "{title}");
    }
}

#[test]
fn disassembly() {
    let lines = include_str!("mips/disasm.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (numbers, text) = line.split_once(" = ").expect("numbers = text");
        let (address, word) = numbers.split_once(' ').expect("address and word");
        let (address, word) = (expected_value("", address), expected_value("", word));
        assert_eq!(disassemble(word, address), text, "{word:#010x}");
        assert_eq!(assemble_at(address, text), word, "{text}");
    }
}

fn assemble_at(address: u32, text: &str) -> u32 {
    let program = assemble(&format!(".org {address}\n{text}"));
    let program = program.unwrap_or_else(|error| panic!("{text}: {error}"));
    let words: Vec<(u32, u32)> = program.words().collect();
    assert_eq!(words.len(), 1, "{text}");
    assert_eq!(words[0].0, address, "{text}");
    words[0].1
}

/// A row's encoding with the given operand bits.
fn encode(row: &isa::Row, bits: u32) -> u32 {
    row.bits | bits & !row.mask
}

#[test]
fn every_row_is_found_by_its_encoding() {
    for row in isa::ROWS {
        let low_bit = encode(row, 0x0421_0841);
        let found = isa::lookup(low_bit).expect("a row");
        assert_eq!(found.mnemonic, row.mnemonic);
        assert_eq!(Op::decode(low_bit).kind(), row.kind);
    }
    for alias in isa::ALIASES {
        let row = isa::lookup(alias.bits).expect("a row");
        assert_eq!(row.kind, alias.kind, "{}", alias.mnemonic);
    }
}

#[test]
fn a_page_of_decoded_instructions_is_dense() {
    assert_eq!(size_of::<Op>(), 8);
    assert_eq!(size_of::<Place<Op>>(), 8);
}

/// `Kind::flow` must agree with the executor.
#[test]
fn flow_agrees_with_execution() {
    let no_slots = isa::ROWS.iter().filter(|row| row.kind.flow() == Flow::Next);
    for row in no_slots {
        let state = step_one(encode(row, 0x0022_0040));
        assert_eq!(
            (state.pc(), state.next_pc()),
            (0x104, 0x108),
            "{}",
            row.mnemonic
        );
    }
    for row in isa::ROWS.iter().filter(|row| row.kind.flow() == Flow::Jump) {
        let state = step_one(encode(row, 0x0020_0080));
        assert_eq!(state.pc(), 0x104, "{}", row.mnemonic);
        assert_ne!(state.next_pc(), 0x108, "{}", row.mnemonic);
    }
    for row in isa::ROWS.iter().filter(|row| row.kind.flow() == Flow::Stop) {
        assert_eq!(step_one(encode(row, 0)).pc(), 0x100, "{}", row.mnemonic);
    }
    for row in isa::ROWS {
        let taken_and_not = [0, 1, u32::MAX].map(|value| {
            let mut state = core_at(0x100);
            state.set_register(1, value);
            step_with(state, encode(row, 0x0020_0010))
        });
        let annuls = taken_and_not.iter().any(|state| state.pc() == 0x108);
        assert_eq!(annuls, row.kind.flow() == Flow::Likely, "{}", row.mnemonic);
        let branches = row.kind.flow() == Flow::Branch;
        let some_taken = taken_and_not.iter().any(|state| state.next_pc() == 0x144);
        assert_eq!(some_taken, branches || annuls, "{}", row.mnemonic);
    }
}

fn core_at(pc: u32) -> Core {
    let mut core = Core::default();
    core.start_at(pc);
    core
}

fn step_one(word: u32) -> Core {
    step_with(core_at(0x100), word)
}

fn step_with(mut core: Core, word: u32) -> Core {
    let mut bus = FlatBus::new(MEMORY_BYTES);
    bus.write(0x100, Width::Word, word);
    run(&mut core, &mut bus, u64::MAX, 1);
    core
}

#[test]
fn time_and_budget_end_a_run_before_the_next_instruction() {
    let mut bus = FlatBus::new(MEMORY_BYTES);
    let mut core = Core::default();
    assert_eq!(run(&mut core, &mut bus, 0, 5), Exit::Until);
    assert_eq!(run(&mut core, &mut bus, 1024, 0), Exit::Limit);
    assert_eq!(core.instructions(), 0);
    assert_eq!(
        run(&mut core, &mut bus, 3 * 1024 - 1, u64::MAX),
        Exit::Until
    );
    assert_eq!((core.instructions(), core.clock.now), (3, 3 * 1024));
    core.timing.instruction_cycles = 2;
    core.clock.ticks_per_cycle = 1536;
    assert_eq!(run(&mut core, &mut bus, u64::MAX, 4), Exit::Limit);
    assert_eq!(
        (core.clock.cycles, core.clock.now),
        (11, 3 * 1024 + 8 * 1536)
    );
}

#[test]
fn taken_branches_cost_what_the_profile_says() {
    let program = assemble("b over\n nop\n over: bnez $zero, over\n nop\n break").expect("valid");
    let mut bus = FlatBus::new(MEMORY_BYTES);
    bus.place(&program);
    let mut core = Core::default();
    core.timing.taken_branch_cycles = 10;
    run(&mut core, &mut bus, u64::MAX, 100);
    assert_eq!((core.instructions(), core.clock.cycles), (5, 15));
}

/// A bus that charges for every access, logs probes, watches stores above 0x800, and, with random waits
/// enabled, makes the core wait at random.
struct MoodyBus {
    inner: FlatBus,
    moods: Option<u64>,
    probes: Vec<(u32, u64)>,
}

/// Multiplier of a linear congruential sequence modulo 2^64.
const MOOD_FACTOR: u64 = 6_364_136_223_846_793_005;

impl MoodyBus {
    fn mood(&mut self) -> Result<(), BusStop> {
        match &mut self.moods {
            Some(state) => {
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                if *state >> 62 == 0 {
                    Ok(())
                } else {
                    Err(BusStop::Wait)
                }
            }
            None => Ok(()),
        }
    }
}

impl Bus for MoodyBus {
    type Own<'a> = ();
    type Witness<'a> = ();

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    fn private(&mut self, _: &Core) -> Private<'_, (), ()> {
        Private::default()
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        self.mood()?;
        let op = self.inner.fetch(core, pc)?;
        core.clock.charge(3);
        Ok(op.with_probe())
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        self.mood()?;
        core.clock.charge(5);
        self.inner.load(core, address, width)
    }

    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.mood()?;
        core.clock.charge(7);
        self.inner.store(core, address, width, value)?;
        if address < 0x800 {
            Ok(())
        } else {
            Err(BusStop::Yield)
        }
    }

    fn change_bits(
        &mut self,
        core: &mut Core,
        address: u32,
        change: BitChange,
    ) -> Result<u32, BusStop> {
        self.mood()?;
        core.clock.charge(11);
        self.inner.change_bits(core, address, change)
    }

    fn probe(&mut self, core: &mut Core, pc: u32) -> bool {
        self.probes.push((pc, core.clock.now));
        true
    }
}

/// Runs for `budget` instructions, and resumes after every wait.
fn run_patiently(core: &mut Core, bus: &mut MoodyBus, budget: u64) -> (Exit, u64) {
    let mut yields = 0;
    for _ in 0..100_000 {
        match run(core, bus, u64::MAX, budget - core.instructions()) {
            Exit::Wait => {}
            Exit::Yield => yields += 1,
            exit => return (exit, yields),
        }
    }
    panic!("the core does not get on");
}

/// A core before `source`, and a bus without random waits.
fn scene_of(source: &str) -> (Core, MoodyBus) {
    let mut inner = FlatBus::new(MEMORY_BYTES);
    inner.place(&assemble(source).expect("valid"));
    let bus = MoodyBus {
        inner,
        moods: None,
        probes: Vec::new(),
    };
    (Core::default(), bus)
}

#[test]
fn a_probe_comes_between_fetch_and_effect_of_each_instruction() {
    let (mut core, mut bus) = scene_of("lw $t0, 0($zero)\n sw $t0, 0x800($zero)\n nop\n break");
    let end = run_patiently(&mut core, &mut bus, 100);
    assert_eq!(end, (Exit::Break { code: 0 }, 1));
    // The `nop` belongs to its probe: its fetch is charged, its cycle is not.
    let fetched_at_cycle = [3, 12, 23, 26];
    let probes = (0..)
        .zip(fetched_at_cycle)
        .map(|(index, cycle)| (4 * index, 1024 * cycle));
    assert_eq!(bus.probes, Vec::from_iter(probes));
    assert_eq!(core.instructions(), 3);
}

#[test]
fn a_restarted_core_forgets_what_it_waited_for() {
    let (mut core, mut bus) = scene_of("lw $t0, 0($zero)\n li $v0, 1\n break");
    // A state whose first answer is "continue" and whose second is "wait".
    let state = (0..).find(|&state: &u64| {
        let next = |state: u64| state.wrapping_mul(MOOD_FACTOR).wrapping_add(1);
        next(state) >> 62 == 0 && next(next(state)) >> 62 != 0
    });
    bus.moods = state;
    assert_eq!(run(&mut core, &mut bus, u64::MAX, 100), Exit::Wait);
    assert_eq!(
        (core.pc(), core.instructions(), bus.probes.len()),
        (0, 0, 1)
    );
    core.start_at(4);
    run_patiently(&mut core, &mut bus, 100);
    assert_eq!(
        (core.register(2), core.register(8), core.instructions()),
        (1, 0, 2)
    );
}

#[test]
fn a_skipped_stretch_counts_and_takes_time() {
    let mut core = core_at(0x100);
    core.skip(12, 20, 30_000);
    assert_eq!((core.pc(), core.instructions()), (0x100, 12));
    assert_eq!((core.clock.cycles, core.clock.now), (20, 30_000));
}

/// A random program with random registers.
#[derive(Debug, Clone)]
struct Scene {
    words: Vec<u32>,
    registers: Vec<u32>,
}

impl Scene {
    fn core(&self) -> Core {
        let mut core = Core::default();
        for (index, &value) in self.registers.iter().enumerate() {
            core.set_register(index, value);
        }
        core
    }

    fn bus(&self) -> FlatBus {
        let mut bus = FlatBus::new(MEMORY_BYTES);
        for (index, &word) in (0..).zip(&self.words) {
            bus.write(4 * index, Width::Word, word);
        }
        bus
    }

    fn reference(&self) -> Reference {
        let mut registers = [0; 32];
        registers[1..].copy_from_slice(&self.registers[1..]);
        let mut memory: Vec<u8> = self
            .words
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
        memory.resize(MEMORY_BYTES, 0);
        Reference {
            registers,
            pc: 0,
            next_pc: 4,
            memory,
        }
    }
}

/// Usually an instruction of the chip, sometimes any word. Offsets are mostly small, so that control and
/// data stay within the memory.
fn any_word() -> impl Strategy<Value = u32> {
    let own: Vec<&isa::Row> = isa::ROWS
        .iter()
        .filter(|row| row.kind != Kind::Missing)
        .collect();
    let row = prop::sample::select(own);
    let near = prop_oneof![
        12 => (-6i16..6).prop_map(|words| 4 * words),
        1 => -24i16..24,
        1 => any::<i16>(),
    ];
    let encoded = (row, any::<u32>(), near).prop_map(|(row, bits, near)| {
        let near = u32::from(near.cast_unsigned());
        encode(
            row,
            match row.operands {
                [Operand::Jump] => near & 0x3f,
                [.., Operand::Branch | Operand::Memory] => bits & 0xffff_0000 | near,
                _ => bits,
            },
        )
    });
    prop_oneof![50 => encoded, 1 => any::<u32>()]
}

fn any_scene() -> impl Strategy<Value = Scene> {
    let value = prop_oneof![
        9 => (0u32..0x400).prop_map(|word| 4 * word),
        1 => 0u32..0x1000,
        1 => any::<u32>(),
        1 => Just(0),
    ];
    (
        prop::collection::vec(any_word(), 1..96),
        prop::collection::vec(value, 32),
    )
        .prop_map(|(words, registers)| Scene { words, registers })
}

fn step_of(exit: &Exit) -> Step {
    match exit {
        Exit::Limit => Step::Done,
        Exit::Break { code } => Step::Break(*code),
        Exit::Fault(Fault::Misaligned { .. }) => Step::Misaligned,
        Exit::Fault(Fault::NoCode { .. }) => Step::NoCode,
        Exit::Fault(_) => Step::Unknown,
        Exit::Until | Exit::Wait | Exit::Yield => panic!("a flat bus never says {exit:?}"),
    }
}

fn memory_of(bus: &FlatBus) -> Vec<u8> {
    (0..MEMORY_BYTES as u32)
        .map(|address| bus.read(address, Width::Byte) as u8)
        .collect()
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn executes_as_the_reference_does(scene in any_scene()) {
        let (mut core, mut bus) = (scene.core(), scene.bus());
        let mut reference = scene.reference();
        for _ in 0..200 {
            let text = disassemble(bus.read(reference.pc, Width::Word), reference.pc);
            let step = reference.step();
            let exit = run(&mut core, &mut bus, u64::MAX, 1);
            prop_assert_eq!(&step_of(&exit), &step, "{}", &text);
            prop_assert_eq!(core.registers(), &reference.registers, "{}", &text);
            let program_counters = (core.pc(), core.next_pc());
            prop_assert_eq!(program_counters, (reference.pc, reference.next_pc), "{}", &text);
            if step != Step::Done {
                break;
            }
        }
        prop_assert_eq!(memory_of(&bus), reference.memory);
    }

    #[test]
    fn waiting_leaves_no_trace(scene in any_scene(), seed: u64, ticks_per_cycle in 1024u64..4096) {
        let [calm, moody] = [None, Some(seed)].map(|moods| {
            let mut core = scene.core();
            core.clock.ticks_per_cycle = ticks_per_cycle;
            let mut bus = MoodyBus { inner: scene.bus(), moods, probes: Vec::new() };
            let end = run_patiently(&mut core, &mut bus, 100);
            let state = (*core.registers(), core.pc(), core.next_pc(), core.instructions());
            (end, state, core.clock, bus.probes, memory_of(&bus.inner))
        });
        prop_assert_eq!(calm, moody);
    }

    #[test]
    fn one_run_equals_many(scene in any_scene(), slices in prop::collection::vec(0u64..9, 40)) {
        let (mut whole, mut bus) = (scene.core(), scene.bus());
        let total = slices.iter().sum();
        run(&mut whole, &mut bus, u64::MAX, total);
        let (mut sliced, mut bus) = (scene.core(), scene.bus());
        for slice in slices {
            if run(&mut sliced, &mut bus, u64::MAX, slice) != Exit::Limit {
                break;
            }
        }
        prop_assert_eq!(whole.registers(), sliced.registers());
        prop_assert_eq!(&whole.clock, &sliced.clock);
        prop_assert_eq!(whole.instructions(), sliced.instructions());
    }

    #[test]
    fn text_and_words_correspond(index in 0..isa::ROWS.len(), bits: u32, address: u32) {
        let (word, address) = (encode(&isa::ROWS[index], bits), address & 0xffff_fff0);
        let text = disassemble(word, address);
        prop_assert!(!text.starts_with('.'), "{}", text);
        prop_assert_eq!(assemble_at(address, &text), word, "{}", text);
    }

    #[test]
    fn any_word_has_a_text_that_assembles_to_it(word: u32, address: u32) {
        let address = address & 0xffff_fff0;
        prop_assert_eq!(assemble_at(address, &disassemble(word, address)), word);
    }

    #[test]
    fn the_assembler_never_panics(source in "(\\PC|[\\n:#$,\"()+-]|li |\\.org |\\.word |\\.align ){0,60}") {
        let _: Result<Program, _> = assemble(&source);
    }
}
