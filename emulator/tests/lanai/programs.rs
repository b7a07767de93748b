//! Programs with expected results.

use emulator::cpu::lanai::asm::assemble;
use emulator::cpu::lanai::bus::Width;
use emulator::cpu::lanai::disasm::{REGISTER_NAMES, STATUS_REGISTER_NAMES};
use emulator::cpu::lanai::exec::{Core, Exit, run};
use emulator::cpu::lanai::pipeline::Pipeline;

use super::flat::FlatBus;

/// An expected number: the assembler evaluates it at the end of the program.
fn expected_value(source: &str, text: &str) -> u32 {
    let source = format!("{source}\n .org 0xfff00000\n .word {text}\n");
    let program = assemble(&source).unwrap_or_else(|error| panic!("{text}: {error}"));
    program.words().last().expect("the word just added").1
}

/// Runs the program until it stops; then each line `what = value` must be true. It must stop at the word 0xffffffff, unless a
/// line `stop = ...` says otherwise. A line `pipelines = ...` names those that run it; else all do.
fn check<const FAST: bool>(title: &str, source: &str, expected: &str, pipeline: Pipeline) {
    let title = format!("{title} ({})", pipeline.name);
    let program = assemble(source).unwrap_or_else(|error| panic!("{title}: {error}"));
    let mut bus = FlatBus::<FAST>::new(0x1000);
    bus.place(&program);
    bus.status = 0x1234;
    let mut core = Core::new(pipeline);
    let exit = run(&mut core, &mut bus, u64::MAX, 2000);
    let mut expected_stop = "the chip has no instruction 0xffffffff";
    for line in expected.lines().filter(|line| !line.is_empty()) {
        let (what, text) = line.split_once(" = ").expect("what = value");
        if what == "stop" {
            expected_stop = text;
            continue;
        }
        let named = |names: &[&str; 32]| names.iter().position(|&name| name == what);
        let number = || {
            what.strip_prefix('r')
                .and_then(|number| number.parse().ok())
        };
        let register = named(&REGISTER_NAMES)
            .or_else(|| named(&STATUS_REGISTER_NAMES))
            .or_else(number);
        let actual = match (what, register) {
            ("pipelines", _) => continue,
            ("pc", _) => core.pc(),
            ("flags", _) => core.flags(),
            ("status", _) => bus.status,
            ("instructions", _) => u32::try_from(core.instructions()).expect("few"),
            ("cycles", _) => u32::try_from(core.clock.cycles).expect("few"),
            (_, Some(index)) => core.register(index),
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
    let stop = match exit {
        Exit::Fault(fault) => fault.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(stop, expected_stop, "{title}");
}

fn check_all(file: &str) {
    for (title, source, expected) in super::vectors(file) {
        let names = expected
            .lines()
            .find_map(|line| line.strip_prefix("pipelines = "));
        for pipeline in Pipeline::ALL {
            let named = |names: &str| names.split(' ').any(|name| name == pipeline.name);
            if names.is_none_or(named) {
                check::<true>(title, source, expected, pipeline);
                check::<false>(title, source, expected, pipeline);
            }
        }
    }
}

#[test]
fn operations_and_flags() {
    check_all(include_str!("operations.txt"));
}

#[test]
fn memory() {
    check_all(include_str!("memory.txt"));
}

#[test]
fn control() {
    check_all(include_str!("control.txt"));
}

#[test]
fn hazards() {
    check_all(include_str!("hazards.txt"));
}

#[test]
fn faults_name_their_address() {
    let check = |pipeline: Pipeline, source: &str, expected: &str| {
        let mut bus = FlatBus::<true>::new(0x100);
        bus.place(&assemble(source).expect("valid"));
        let mut core = Core::new(pipeline);
        let Exit::Fault(fault) = run(&mut core, &mut bus, u64::MAX, 100) else {
            panic!("{source}: no fault");
        };
        assert_eq!(format!("{fault:x?}"), expected);
        assert_eq!(core.pc(), 4);
    };
    check(
        Pipeline::L7,
        "nop\n popc %r5, %r6",
        "Missing { address: 4, mnemonic: \"popc\", word: d3140001 }",
    );
    check(
        Pipeline::LLVM,
        "nop\n sub %r0, [%r1 addc %r0], %r14",
        "Missing { address: 4, mnemonic: \"nested\", word: d7000a01 }",
    );
    check(
        Pipeline::L4,
        "nop\n add.ne %r5, %r7, %r6",
        "Missing { address: 4, mnemonic: \"conditional\", word: c3143803 }",
    );
    check(
        Pipeline::L4,
        "nop\n sne %r5",
        "Missing { address: 4, mnemonic: \"sne\", word: e6140002 }",
    );
    check(
        Pipeline::L9,
        "nop\n .word 0xfb378804",
        "Illegal { address: 4, word: fb378804 }",
    );
}
