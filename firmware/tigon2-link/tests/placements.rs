//! Random programs with multiplications, divisions and unaligned accesses at every place, also in delay slots: the changed
//! program on the emulated core against the original one on an interpreter that has all instructions.

#[allow(dead_code, reason = "it serves other tests too")]
#[path = "../../../emulator/tests/mips/flat.rs"]
mod flat;
#[allow(
    dead_code,
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::bool_to_int_with_if,
    clippy::manual_is_multiple_of,
    reason = "naive on purpose"
)]
#[path = "../../../emulator/tests/mips/reference.rs"]
mod reference;

use std::collections::BTreeSet;
use std::path::Path;

use cases::cases;
use defs::software::{BY_ZERO, HI, LO_REGISTER, ROUTINES};
use emulator::cpu::mips::bus::Width;
use emulator::cpu::mips::exec::{Core, Exit, run};
use flat::FlatBus;
use object::{Object, ObjectSection, ObjectSymbol};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use reference::{Reference, Step};
use tigon2_link::{CodeRun, LinkedProgram, Reason, Routines, plan};

/// Addresses of the program, the code moved out of line, its data, and the stack.
const CODE: u32 = 0x1_0000;
const MOVED: u32 = 0x2_0000;
const DATA: u32 = 0x3_0000;
const DATA_BYTES: u32 = 64;
const STACK: u32 = 0x4_0000;
/// Memory of the interpreter; the scratchpad's word for HI is beyond it.
const MEMORY: usize = 0x4_0100;
const LIMIT: u64 = 100_000;
/// `break 0`.
const BREAK: u32 = 0x0d;

/// The routines of the HAL, as a built program contains them.
struct Hal {
    /// Addresses and words of the image's code.
    text: Vec<(u32, u32)>,
    routines: Routines,
}

impl Hal {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tigon2/cases/operands");
        let hint = "`make -C firmware cases` builds the program with all routines";
        let bytes = std::fs::read(path).expect(hint);
        let elf = object::File::parse(&*bytes).expect("an image");
        let address = |name: &str| {
            let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name));
            symbol.unwrap_or_else(|| panic!("{name}")).address() as u32
        };
        let text = elf.section_by_name(".text").expect("code");
        let words = text.data().expect("code").chunks_exact(4);
        let words = words.map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")));
        Self {
            text: (text.address() as u32..).step_by(4).zip(words).collect(),
            routines: Routines {
                routines: ROUTINES.map(|(_, symbol)| address(symbol)),
                high: address(HI),
            },
        }
    }
}

/// One drawn instruction: kind, three registers, a value.
type Draw = (u8, u8, u8, u8, u16);

const fn special(function: u32, s: u32, t: u32, d: u32) -> u32 {
    s << 21 | t << 16 | d << 11 | function
}
const fn immediate(opcode: u32, s: u32, t: u32, value: u32) -> u32 {
    opcode << 26 | s << 21 | t << 16 | value & 0xffff
}

/// Registers of drawn instructions: all but the base of the data ($s7), $k0, $k1 and $sp.
fn register(number: u8) -> u32 {
    match u32::from(number % 32) {
        23 | 26 | 27 | 29 => 2,
        register => register,
    }
}

/// An instruction without a jump.
fn plain(&(kind, a, b, c, value): &Draw) -> u32 {
    let (s, t, d) = (register(a), register(b), register(c));
    let value = u32::from(value);
    let place = value % (DATA_BYTES - 8);
    match kind % 20 {
        0..=3 => special(0x18 + u32::from(kind % 4), s, t, 0),
        4 | 5 => special(0x10, 0, 0, d),
        6 => special(0x12, 0, 0, d),
        7 => special(0x11, s, 0, 0),
        8 => special(0x13, s, 0, 0),
        9 => immediate(0x22, 23, t, place),
        10 => immediate(0x26, 23, t, place),
        11 => immediate(0x2a, 23, t, place),
        12 => immediate(0x2e, 23, t, place),
        13 => immediate(0x23, 23, t, place & !3),
        14 => immediate(0x2b, 23, t, place & !3),
        15 => special(0x21, s, t, d),
        16 => special(0x23, s, t, d),
        17 => immediate(0x09, s, t, value),
        18 => immediate(0x0f, 0, t, value),
        _ => 0,
    }
}

/// A program, and the targets of its jumps through registers. Each jump goes forwards, to one of the words behind its slot.
fn program(draws: &[Draw], jumps: u8) -> (Vec<u32>, BTreeSet<u32>) {
    let mut words = Vec::new();
    let mut targets = BTreeSet::from([CODE]);
    for (index, draw) in draws.iter().enumerate() {
        let &(kind, a, b, c, value) = draw;
        let left = (draws.len() - index) as u32;
        if kind < 255 - jumps || index + 1 == draws.len() {
            words.push(plain(draw));
            continue;
        }
        // A target must not be in the slot of another jump: the end always is none.
        let (s, t) = (register(a), register(b));
        let slot = plain(&draws[(index + 1) % draws.len()]);
        let distance = 1 + u32::from(value) % (3 + left);
        let at = CODE + 4 * words.len() as u32;
        let to = at + 4 + 4 * distance;
        let jump = |opcode: u32, to: u32| opcode << 26 | to >> 2;
        let register = if s == 0 { 2 } else { s };
        let through = [
            immediate(0x0f, 0, register, to >> 16),
            immediate(0x0d, register, register, to + 8),
        ];
        if matches!(c % 10, 2 | 3) {
            targets.insert(to + 8);
        }
        match c % 10 {
            0 => words.push(jump(0x02, to)),
            1 => words.push(jump(0x03, to)),
            2 => words.extend(through.into_iter().chain([special(0x08, register, 0, 0)])),
            3 if register != 31 => {
                words.extend(through.into_iter().chain([special(0x09, register, 0, 31)]))
            }
            4 if register != 31 => words.push(immediate(
                1,
                register,
                [0x10, 0x11, 0x12, 0x13][b as usize % 4],
                distance,
            )),
            5 => words.push(immediate(1, s, u32::from(b) % 4, distance)),
            6 => words.push(immediate(0x14 + u32::from(b & 1), s, t, distance)),
            7 => words.push(immediate(
                6 + u32::from(b & 1) + if b & 2 == 0 { 0 } else { 0x10 },
                s,
                0,
                distance,
            )),
            _ => words.push(immediate(4 + u32::from(b & 1), s, t, distance)),
        }
        words.push(slot);
    }
    // Whatever a jump at the end passes.
    words.extend([0; 8]);
    words.push(BREAK);
    (words, targets)
}

/// End of a program, and its results. A division by zero ends within the routine, whose registers mean nothing.
#[derive(Debug, PartialEq, Eq)]
struct End {
    code: u32,
    /// But for $k1.
    registers: Vec<u32>,
    high: u32,
    low: u32,
    data: Vec<u32>,
}

/// The original program, by the interpreter; none if it leaves its code: it jumped behind the instructions that load a register for a jump.
fn expected(words: &[u32], registers: [u32; 32], data: &[u32]) -> Option<End> {
    let mut machine = Reference {
        registers,
        pc: CODE,
        next_pc: CODE + 4,
        memory: vec![0; MEMORY],
    };
    let put = |memory: &mut Vec<u8>, at: u32, words: &[u32]| {
        for (place, word) in memory[at as usize..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    };
    put(&mut machine.memory, CODE, words);
    put(&mut machine.memory, DATA, data);
    let (mut high, mut low) = (0u32, 0u32);
    for _ in 0..LIMIT {
        let word = *words.get((machine.pc.checked_sub(CODE)? / 4) as usize)?;
        let [s, t, d] = [21, 16, 11].map(|place| (word >> place & 31) as usize);
        let (left, right) = (machine.registers[s], machine.registers[t]);
        let mut code = None;
        match (word >> 26, word & 63) {
            (0, 0x10) => machine.registers[d] = high,
            (0, 0x11) => high = left,
            (0, 0x12) => machine.registers[d] = low,
            (0, 0x13) => low = left,
            (0, 0x18) => {
                let product = i64::from(left.cast_signed()) * i64::from(right.cast_signed());
                (high, low) = ((product >> 32) as u32, product as u32);
            }
            (0, 0x19) => {
                let product = u64::from(left) * u64::from(right);
                (high, low) = ((product >> 32) as u32, product as u32);
            }
            (0, 0x1a | 0x1b) if right == 0 => code = Some(BY_ZERO),
            (0, 0x1a) => {
                let (left, right) = (left.cast_signed(), right.cast_signed());
                low = left.wrapping_div(right) as u32;
                high = left.wrapping_rem(right) as u32;
            }
            (0, 0x1b) => (high, low) = (left % right, left / right),
            (0x22 | 0x26 | 0x2a | 0x2e, _) => unaligned(&mut machine, word),
            _ => match machine.step() {
                Step::Done => continue,
                Step::Break(number) => code = Some(number >> 10),
                _ => return None,
            },
        }
        if let Some(code) = code {
            let data = machine.memory[DATA as usize..][..DATA_BYTES as usize].chunks_exact(4);
            let data = data.map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")));
            return Some(End {
                code,
                registers: machine.registers.to_vec(),
                high,
                low,
                data: data.collect(),
            });
        }
        machine.registers[0] = 0;
        machine.pc = machine.next_pc;
        machine.next_pc = machine.pc.wrapping_add(4);
    }
    None
}

/// `lwl`, `lwr`, `swl`, `swr`, byte by byte.
fn unaligned(machine: &mut Reference, word: u32) {
    let t = (word >> 16 & 31) as usize;
    let address =
        machine.registers[(word >> 21 & 31) as usize].wrapping_add(word & 0xffff) as usize;
    let mut bytes = machine.registers[t].to_be_bytes();
    let is_left = matches!(word >> 26, 0x22 | 0x2a);
    // The bytes of memory, and the first byte of the register that they meet.
    let (from, count, first) = match is_left {
        true => (address, 4 - address % 4, 0),
        false => (address & !3, address % 4 + 1, 3 - address % 4),
    };
    let memory = &mut machine.memory[from..from + count];
    if word >> 26 < 0x28 {
        bytes[first..first + count].copy_from_slice(memory);
        machine.registers[t] = u32::from_be_bytes(bytes);
    } else {
        memory.copy_from_slice(&bytes[first..first + count]);
    }
}

/// The changed program, on the emulated core; none if it cannot be changed for a reason that a jump gives.
fn changed(
    bus: &mut FlatBus,
    hal: &Hal,
    program: &LinkedProgram,
    registers: [u32; 32],
    data: &[u32],
) -> Option<End> {
    let plan = match plan(program) {
        Ok(plan) => plan,
        Err(places) => {
            let reasons = [Reason::Targets, Reason::TargetInSlot, Reason::ChangesJump];
            assert!(places.iter().all(|place| reasons.contains(&place.reason)));
            return None;
        }
    };
    let mut put = |at: u32, words: &[u32]| {
        for (at, &word) in (at..).step_by(4).zip(words) {
            bus.write(at, Width::Word, word);
        }
    };
    put(CODE, &program.code[0].words);
    put(DATA, data);
    put(hal.routines.high, &[0]);
    let mut at = MOVED;
    for (address, word) in &plan.in_place {
        put(*address, &[*word]);
    }
    for chunk in &plan.chunks {
        for (address, word) in chunk.replaced(at) {
            put(address, &[word]);
        }
        let code = chunk.code(&hal.routines);
        put(at, &code);
        at += 4 * code.len() as u32;
    }
    let mut core = Core::default();
    core.start_at(CODE);
    for (number, value) in (0..).zip(registers) {
        core.set_register(number, value);
    }
    let code = match run(&mut core, bus, u64::MAX, LIMIT) {
        Exit::Break { code } => code,
        // It goes on for ever, or leaves its code.
        _ => u32::MAX,
    };
    let mut registers = core.registers().to_vec();
    let low = std::mem::take(&mut registers[LO_REGISTER as usize]);
    Some(End {
        code: code >> 10,
        registers,
        high: bus.read(hal.routines.high, Width::Word),
        low,
        data: (DATA..DATA + DATA_BYTES)
            .step_by(4)
            .map(|at| bus.read(at, Width::Word))
            .collect(),
    })
}

#[test]
fn changed_programs_do_the_same() {
    let hal = Hal::read();
    let mut bus = FlatBus::new(hal.routines.high as usize + 4);
    for &(address, word) in &hal.text {
        bus.write(address, Width::Word, word);
    }
    let value = prop_oneof![
        2 => any::<u32>(),
        1 => prop::sample::select(vec![0u32, 1, 2, 10, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]),
        1 => 0u32..1000,
    ];
    let registers = prop::array::uniform32(value.clone());
    let data = prop::collection::vec(value, DATA_BYTES as usize / 4);
    let draws = prop::collection::vec(any::<Draw>(), 1..24);
    // From programs without jumps to those in which every second instruction jumps.
    let strategy = (
        draws,
        registers,
        data,
        prop_oneof![Just(0u8), Just(20), Just(60), Just(120)],
    );
    let bus = std::cell::RefCell::new(bus);
    let compared = std::cell::Cell::new(0);
    let config = cases(2000);
    let cases = config.cases;
    let mut runner = TestRunner::new(config);
    let result = runner.run(&strategy, |(draws, mut registers, data, jumps)| {
        for (register, value) in [(0, 0), (23, DATA), (26, 7), (27, 0), (29, STACK)] {
            registers[register] = value;
        }
        let (words, targets) = program(&draws, jumps);
        let Some(mut expected) = expected(&words, registers, &data) else {
            return Ok(());
        };
        let code = CodeRun {
            address: CODE,
            words: words.clone(),
        };
        let program = LinkedProgram {
            code: vec![code],
            targets,
            fixed: BTreeSet::new(),
        };
        let changed = changed(&mut bus.borrow_mut(), &hal, &program, registers, &data);
        let Some(mut changed) = changed else {
            return Ok(());
        };
        for end in [&mut expected, &mut changed] {
            if end.code == BY_ZERO {
                (end.registers, end.low) = (Vec::new(), 0);
            }
        }
        compared.set(compared.get() + 1);
        let listing: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
        prop_assert_eq!(changed, expected, "{}", listing.join(" "));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let compared = compared.get();
    assert!(
        compared > cases / 2,
        "only {compared} of {cases} programs were compared"
    );
}
