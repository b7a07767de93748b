//! The table of pipelines in docs/lanai-core.md, section 1: one case for each row. A case fails if its row is changed.

use emulator::cpu::lanai::asm::assemble;
use emulator::cpu::lanai::exec::{Core, Exit, run};
use emulator::cpu::lanai::pipeline::{PcValue, Pipeline};

use super::flat::FlatBus;

/// Result of a program that does not have an instruction.
const MISSING: u32 = u32::MAX;

/// A row of the table.
struct Row {
    name: &'static str,
    /// The program; its result is in `%r8`.
    source: &'static str,
    /// Results by pipeline: LLVM, L4, L7, L9.
    results: [u32; 4],
    /// Another value of the row.
    change: fn(&mut Pipeline),
}

fn result<const FAST: bool>(row: &Row, pipeline: Pipeline) -> u32 {
    let program = assemble(row.source).unwrap_or_else(|error| panic!("{}: {error}", row.name));
    let mut bus = FlatBus::<FAST>::new(0x400);
    bus.place(&program);
    bus.status = 0x400;
    let mut core = Core::new(pipeline);
    let exit = run(&mut core, &mut bus, u64::MAX, 100);
    let end = program.symbols.get("end");
    match exit {
        Exit::Fault(_) if end == Some(&core.pc()) => core.register(8),
        Exit::Fault(_) => MISSING,
        exit => panic!("{}: {exit:?}", row.name),
    }
}

fn check(row: &Row) {
    for (mut pipeline, expected) in Pipeline::ALL.into_iter().zip(row.results) {
        let name = pipeline.name;
        assert_eq!(
            result::<true>(row, pipeline),
            expected,
            "{}: {name}",
            row.name
        );
        assert_eq!(
            result::<false>(row, pipeline),
            expected,
            "{}: {name}",
            row.name
        );
        (row.change)(&mut pipeline);
        let changed = result::<true>(row, pipeline);
        assert_ne!(changed, expected, "{}: {name}: no test", row.name);
        assert_eq!(
            result::<false>(row, pipeline),
            changed,
            "{}: {name}",
            row.name
        );
    }
}

/// Ends every program.
macro_rules! program {
    ($($line:literal)*) => {
        concat!($($line, "\n",)* "nop\n nop\n nop\n end: .word 0xffffffff\n")
    };
}

#[test]
fn a_loaded_value_arrives_after_the_load_slots() {
    // Each instruction that still reads the old value 1 adds 1; the new value is 16.
    check(&Row {
        name: "load slots",
        source: program!(
            "mov 1, %r9"
            "mov 16, %r12"
            "st %r12, [0x200]"
            "ld [0x200], %r9"
            "add %r8, %r9, %r8"
            "add %r8, %r9, %r8"
            "add %r8, %r9, %r8"
        ),
        results: [48, 33, 18, 48],
        change: |pipeline| pipeline.load_slots = (pipeline.load_slots + 1) % 3,
    });
}

#[test]
fn an_interlocked_pipeline_waits_for_a_value_that_is_used_at_once() {
    let source = program!("mov 0x200, %r9" "ld 0[%r9], %r12" "add %r12, 1, %r8");
    for (pipeline, cycles) in Pipeline::ALL.into_iter().zip([7, 6, 6, 7]) {
        let program = assemble(source).expect("valid");
        let mut bus = FlatBus::<true>::new(0x400);
        bus.place(&program);
        let mut core = Core::new(pipeline);
        run(&mut core, &mut bus, u64::MAX, 6);
        assert_eq!(core.clock.cycles, cycles, "{}", pipeline.name);
    }
}

#[test]
fn a_branch_has_slots() {
    check(&Row {
        name: "branch slots",
        source: program!(
            "bt 0x20" "add %r8, 1, %r8" "add %r8, 1, %r8" "add %r8, 1, %r8" "add %r8, 1, %r8"
            "nop" "nop" "nop"
        ),
        results: [1, 1, 2, 1],
        change: |pipeline| pipeline.branch_slots ^= 3,
    });
}

#[test]
fn a_computed_program_counter_has_slots() {
    check(&Row {
        name: "slots behind a write to pc",
        source: program!(
            "mov 0x20, %pc" "add %r8, 1, %r8" "add %r8, 1, %r8" "add %r8, 1, %r8" "add %r8, 1, %r8"
            "nop" "nop" "nop"
        ),
        results: [1, 1, 2, 1],
        change: |pipeline| pipeline.pc_write_slots ^= 3,
    });
}

#[test]
fn a_loaded_program_counter_has_slots() {
    check(&Row {
        name: "slots behind a load of pc",
        source: program!(
            "ld [0x20], %pc" "add %r8, 1, %r8" "add %r8, 1, %r8" "add %r8, 1, %r8" "add %r8, 1, %r8"
            "nop" "nop" "nop" ".word 0x24"
        ),
        results: [2, 2, 3, 2],
        change: |pipeline| pipeline.pc_load_slots ^= 1,
    });
}

#[test]
fn the_program_counter_has_a_value() {
    check(&Row {
        name: "value of pc",
        source: program!("nop" "nop" "add %pc, 0x100, %r8"),
        results: [0x108, 0x10c, 0x10c, 0x10c],
        change: |pipeline| {
            pipeline.pc_value = match pipeline.pc_value {
                PcValue::Own => PcValue::Next,
                PcValue::Next => PcValue::Own,
            }
        },
    });
}

#[test]
fn register_3_is_the_status_or_a_general_register() {
    // The flag Z is set: bit 0.
    check(&Row {
        name: "register 3",
        source: program!("mov 0x70, %r3" "sub.f %r9, %r9, %r9" "add %r3, 0, %r8"),
        results: [0x70, 0x9, 0x70, 0x70],
        change: |pipeline| pipeline.status_register ^= true,
    });
}

#[test]
fn register_31_is_the_interrupt_status_or_a_general_register() {
    check(&Row {
        name: "register 31",
        source: program!("add %r31, 0, %r8" "mov 3, %r31" "add %r8, %r31, %r8"),
        results: [3, 0x800, 3, 3],
        change: |pipeline| pipeline.interrupt_register ^= true,
    });
}

#[test]
fn opcode_1101_is_an_operation_on_three_registers() {
    check(&Row {
        name: "nested operations",
        source: program!("sub.f %r8, 1, %r9" "sub %r0, [%r1 addc %r0], %r8"),
        results: [MISSING, 1, MISSING, MISSING],
        change: |pipeline| {
            pipeline.nested ^= true;
            pipeline.bit_counts = false;
        },
    });
}

#[test]
fn opcode_1101_counts_bits() {
    check(&Row {
        name: "bit counts",
        source: program!("mov 0xf0, %r9" "add.f %r9, %r9, %r10" "popc %r9, %r8"),
        // As an operation on three registers: the sum of 0xf0 and the carry.
        results: [4, 0xf0, MISSING, MISSING],
        change: |pipeline| {
            pipeline.bit_counts ^= true;
            pipeline.nested = false;
        },
    });
}

#[test]
fn a_condition_can_be_a_value() {
    check(&Row {
        name: "conditions as values",
        source: program!("sub.f %r9, %r9, %r0" "seq %r8"),
        results: [1, MISSING, MISSING, 1],
        change: |pipeline| pipeline.set_condition ^= true,
    });
}

#[test]
fn operations_can_have_conditions() {
    check(&Row {
        name: "predicates",
        source: program!("mov 2, %r9" "sub.f %r9, %r9, %r0" "add.eq %r9, %r9, %r8" "add.ne %r8, %r9, %r8"),
        results: [4, MISSING, MISSING, MISSING],
        change: |pipeline| pipeline.predicates ^= true,
    });
    check(&Row {
        name: "selection",
        source: program!("mov 2, %r9" "sub.f %r9, %r9, %r0" "sel.ne %r0, %r9, %r8"),
        results: [2, MISSING, MISSING, MISSING],
        change: |pipeline| pipeline.predicates ^= true,
    });
}
