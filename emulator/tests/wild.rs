//! Firmware that runs wild: a CPU stops at the first instruction outside of its code, and where its stack leaves its region
//! (`cpu/code_map.rs`).

use std::ops::Range;

use cases::cases;
use emulator::board::{CpuId, CpuState, CpuView, ProbeTable, StopReason};
use emulator::cpu::architecture::Architecture;
use emulator::cpu::lanai::architecture::LANAI;
use emulator::cpu::lanai::asm as lanai_asm;
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::cpu::mips::architecture::MIPS;
use emulator::cpu::mips::asm;
use emulator::cpu::mips::bus::Width;
use emulator::image::{
    DebugInfo, ELF_FORM, Image, Memory, Names, Section, Segment, Symbol, SymbolKind, Symbols,
};
use emulator::lanai::board::Lanai;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;
use proptest::prelude::*;

const SCRATCHPAD: u32 = 0x00C0_0000;
/// Code of the images.
const CODE: Range<u32> = 0x4000..0x4200;
/// Data of the images.
const DATA: Range<u32> = 0x4200..0x4400;
/// Code in the scratchpad of CPU A.
const OWN_CODE: Range<u32> = SCRATCHPAD + 0x400..SCRATCHPAD + 0x500;

fn section(name: &str, memory: Memory, addresses: Range<u32>, executable: bool) -> Section {
    Section {
        name: name.into(),
        memory,
        run_address: addresses.start,
        size_bytes: addresses.end - addresses.start,
        executable,
        is_undivided: false,
        bytes: Vec::new(),
    }
}

fn symbol(name: &str, address: u32) -> Symbol {
    Symbol {
        name: name.into(),
        address,
        size_bytes: 0,
        kind: SymbolKind::Label,
        memory: None,
    }
}

/// An image that declares this, or only says that it loads the first section.
fn known(
    declares: bool,
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
    architecture: &'static dyn Architecture,
) -> ProbeTable {
    let first = sections.first().map(|section| Segment {
        name: section.name.clone(),
        load_address: section.run_address,
        run_address: section.run_address,
        bytes: vec![0; section.size_bytes as usize],
        memory_bytes: section.size_bytes,
    });
    ProbeTable::of(&Image {
        form: if declares { ELF_FORM } else { "raw" }.into(),
        entry: CODE.start,
        segments: first.into_iter().collect(),
        sections,
        symbols: Symbols::new(symbols),
        probes: Vec::new(),
        published: Vec::new(),
        handlers: Vec::new(),
        debug: DebugInfo::default(),
        names: Names::Own,
        architecture,
        built: None,
    })
}

/// A Tigon2 with 512 KB; its code is in the first section.
fn tigon2(declares: bool, symbols: Vec<Symbol>, source: &str) -> Node {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let mut board = Tigon2::new(SramSize::K512, timing);
    let sections = vec![
        section(".text", Memory::Sram, CODE, true),
        section(".rodata", Memory::Sram, DATA, false),
        section(".scratch_a.text", Memory::ScratchpadA, OWN_CODE, true),
    ];
    board.probes = known(declares, sections, symbols, &MIPS);
    let program = asm::assemble(source).expect("it assembles");
    for (address, word) in program.words() {
        match address {
            SCRATCHPAD.. => board.cores[0]
                .private
                .scratchpad
                .write(address, Width::Word, word),
            _ => board.fabric.sram.set_word(address, word),
        }
    }
    Node::new(0, board, &timing.host, 1)
}

/// Lets a node run in slices until a CPU has stopped, which must happen.
fn stopped(node: &mut Node, cpu: usize, slice: SimTime) -> (CpuView, String) {
    for _ in 0..5_000 {
        node.run_until(node.now() + slice);
        let view = node
            .inspect()
            .cpu(CpuId::new(cpu))
            .expect("there is such a CPU");
        if let CpuState::Stopped(StopReason::Fault(text, _)) = &view.state {
            let text = text.to_string();
            return (view, text);
        }
        assert!(view.state.executes(), "stopped by {}", view.state);
    }
    panic!("the CPU does not stop");
}

/// The way by which a CPU leaves its code.
#[derive(Debug, Clone, Copy)]
struct Leap {
    target: u32,
    is_call: bool,
    from_scratchpad: bool,
    /// The other CPU executes code in SRAM meanwhile, and writes to it.
    beside_other: bool,
    slice_ns: u64,
}

fn leap(target: impl Strategy<Value = u32>) -> impl Strategy<Value = Leap> {
    (
        target,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        20..3_000_u64,
    )
        .prop_map(
            |(target, is_call, from_scratchpad, beside_other, slice_ns)| Leap {
                target,
                is_call,
                from_scratchpad,
                beside_other,
                slice_ns,
            },
        )
}

/// Addresses that are no code of the images.
fn target() -> impl Strategy<Value = u32> {
    let any = prop_oneof![
        any::<u32>(),
        0..0x8000_u32,
        0x7_F000..0x9_0000_u32,
        SCRATCHPAD - 64..SCRATCHPAD + 0x4100,
    ];
    let is_code = |at: &u32| CODE.contains(at) || OWN_CODE.contains(at);
    any.prop_filter("it is code", move |at| !is_code(at))
}

/// Addresses in memory to which nothing was ever written, nor behind them.
fn unwritten() -> impl Strategy<Value = u32> {
    let any = prop_oneof![
        0x6000..0x1_0000_u32,
        SCRATCHPAD + 0x600..SCRATCHPAD + 0x3FFC
    ];
    any.prop_map(|at| at & !3)
}

/// Executes a leap on CPU A; gives what is said.
fn check(declares: bool, leap: Leap) -> String {
    let Leap {
        target, is_call, ..
    } = leap;
    let (jump, start) = (
        if is_call { "jalr $t9" } else { "jr $t9" },
        if leap.from_scratchpad {
            OWN_CODE.start
        } else {
            CODE.start
        },
    );
    let (high, low) = (target >> 16, target & 0xFFFF);
    let source = format!(
        ".org {start:#x}\nlui $t9, {high:#x}\nori $t9, $t9, {low:#x}\n{jump}\nnop\n\
         .org 0x4100\nagain: lw $t0, 0x4300($zero)\naddiu $t0, $t0, 1\nsw $t0, 0x4300($zero)\n\
         sw $t0, 0x41F0($zero)\nb again\nnop\n"
    );
    let mut node = tigon2(declares, Vec::new(), &source);
    if leap.beside_other {
        node.start_cpu(CpuId::new(1), 0x4100);
    }
    node.start_cpu(CpuId::new(0), start);
    let (view, text) = stopped(&mut node, 0, SimTime::from_ns(leap.slice_ns));
    assert_eq!((view.pc, view.instructions), (target, 4), "{leap:?} {text}");
    let blamed = if is_call { start + 8 } else { target };
    assert_eq!(view.blamed, blamed, "{text}");
    let way = if is_call { "call to " } else { "jump to " };
    assert!(text.starts_with(way), "{text}");
    text
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_cpu_stops_at_the_first_word_that_is_no_code(leap in leap(target())) {
        check(true, leap);
    }

    #[test]
    fn a_cpu_stops_where_nothing_was_ever_written(leap in leap(unwritten())) {
        let text = check(false, leap);
        prop_assert!(text.contains("to which nothing was ever written"), "{}", text);
    }
}

/// Each kind of place has its own message.
#[test]
fn places_that_are_no_code() {
    let check = |target, expected: &str| {
        let leap = Leap {
            target,
            is_call: true,
            from_scratchpad: false,
            beside_other: true,
            slice_ns: 1_000,
        };
        assert_eq!(
            check(true, leap),
            format!("call to {expected}, at 0x00004008")
        );
    };
    check(0, "address 0");
    check(0x4240, "0x00004240, no code but .rodata");
    check(0x5000, "0x00005000, outside the image");
    check(0x4002, "0x00004002, which is no multiple of 4");
    // Memory repeats there: it is the code of the image, at another address.
    check(0x8_4000, "0x00084000, where no memory is");
    check(0x0090_0000, "0x00900000, where no memory is");
    check(0x00D0_0000, "0x00d00000, where no memory is");
}

#[test]
fn a_cpu_that_runs_on_behind_its_code_stops() {
    let source = format!(".org {:#x}\nnop\nnop\n", CODE.end - 8);
    let mut node = tigon2(true, Vec::new(), &source);
    node.start_cpu(CpuId::new(0), CODE.end - 8);
    let (view, text) = stopped(&mut node, 0, SimTime::from_us(1));
    assert_eq!(text, "execution runs on to 0x00004200, no code but .rodata");
    assert_eq!((view.blamed, view.instructions), (CODE.end - 4, 2));
}

/// Firmware may write code into memory, unless its image says what is code.
#[test]
fn written_code_is_code_of_an_image_that_declares_none() {
    let source = ".org 0x4000\nlui $t0, 0x2402\nori $t0, $t0, 7\nsw $t0, 0x6008($zero)\n\
                  li $t0, 0xD\nsw $t0, 0x600C($zero)\nj 0x6000\nnop\n";
    let ends = |declares| {
        let mut node = tigon2(declares, Vec::new(), source);
        node.start_cpu(CpuId::new(0), CODE.start);
        node.run_until(SimTime::from_us(10));
        let view = node
            .inspect()
            .cpu(CpuId::new(0))
            .expect("there is such a CPU");
        (view.pc, view.state.to_string())
    };
    assert_eq!(ends(false), (0x600C, "stopped by break 0".into()));
    let expected = "stopped: jump to 0x00006000, outside the image";
    assert_eq!(ends(true), (0x6000, expected.into()));
}

/// The stack of each CPU: 240 bytes in its scratchpad, 2 KB to which it overflows.
#[test]
fn a_stack_that_leaves_its_region_stops_its_cpu() {
    let symbols = || {
        let map = SCRATCHPAD - 0x800 - 0x1_0000;
        vec![
            symbol("__stack_top", SCRATCHPAD + 0xF0),
            symbol("__overflow_a", 0x1_0000),
            symbol("__stack_map_a", map),
        ]
    };
    let source = "
        .org 0x4000
        lui $sp, 0xC0
        ori $sp, $sp, 0xF0
        lui $t0, 0xBE
        ori $t0, $t0, 0xF800
        lui $t1, 0xC000
        sw $t0, {MAP}($t1)
        rec: addiu $sp, $sp, -32
        sw $ra, 28($sp)
        jal rec
        nop";
    for (cpu, map) in [(0, "0x150"), (1, "0x250")] {
        let mut node = tigon2(true, symbols(), &source.replace("{MAP}", map));
        node.board_mut::<Tigon2>()
            .fabric
            .sram
            .set_word(0xFFFC, 0x1234);
        node.start_cpu(CpuId::new(cpu), CODE.start);
        let (view, text) = stopped(&mut node, cpu, SimTime::from_us(1));
        let expected =
            "stack overflow: store to 0x00bff7ec, below 0x00bff800, where the stack ends";
        assert_eq!((view.pc, text.as_str()), (0x401C, expected));
        assert_eq!(node.board::<Tigon2>().fabric.sram.word(0xFFFC), 0x1234);
    }
}

/// A LANai with these declarations and this code at address 0.
fn lanai(declares: bool, symbols: Vec<Symbol>, source: &str) -> Node {
    let timing = emulator::lanai::timing::Timing::built_in("lanai9.1-133").expect("built in");
    let mut board = Lanai::new(512 << 10, timing, Pipeline::LLVM);
    let sections = vec![
        section(".text", Memory::Sram, 0..0x100, true),
        section(".bss", Memory::Sram, 0x100..0x200, false),
    ];
    board.set_probes(known(declares, sections, symbols, &LANAI));
    for (address, word) in lanai_asm::assemble(source).expect("it assembles").words() {
        board.fabric.sram.set_word(address, word);
    }
    let mut node = Node::new(0, board, &timing.host, 1);
    node.start_cpu(CpuId::new(0), 0);
    node
}

#[test]
fn a_lanai_stops_where_no_code_is() {
    const CALL: &str = "
        mov 0x7F00, %sp
        ld 0x100[%r0], %r8
        nop
        add %pc, 0x10, %rca
        st %rca, [--%sp]
        mov %r8, %pc
        nop
        nop
        nop";
    let check = |declares, target: u32, expected: &str| {
        let mut node = lanai(declares, Vec::new(), CALL);
        node.board_mut::<Lanai>()
            .fabric
            .sram
            .set_word(0x100, target);
        let (view, text) = stopped(&mut node, 0, SimTime::from_us(1));
        assert_eq!((view.pc, text.as_str()), (target, expected));
        assert!(view.instructions < 9, "{}", view.instructions);
    };
    check(true, 0, "call to address 0, at 0x00000014");
    check(
        true,
        0x104,
        "call to 0x00000104, no code but .bss, at 0x00000014",
    );
    check(
        true,
        0x1000,
        "call to 0x00001000, outside the image, at 0x00000014",
    );
    // Memory repeats there.
    check(
        true,
        0x8_0000,
        "call to 0x00080000, where no memory is, at 0x00000014",
    );
    check(
        true,
        0x100_0000,
        "call to 0x01000000, where no memory is, at 0x00000014",
    );
    let unwritten = "call to 0x00001000, to which nothing was ever written, at 0x00000014";
    check(false, 0x1000, unwritten);
}

/// The stack of a LANai lies between its data and the end of memory.
#[test]
fn a_stack_of_a_lanai_does_not_reach_its_data() {
    let source = "
        mov 0x7F00, %sp
        rec: st %fp, [--%sp]
        add %sp, 8, %fp
        sub %sp, 0x20, %sp
        add %pc, 0x10, %rca
        st %rca, [--%sp]
        bt 0x4
        nop
        nop";
    let symbols = vec![symbol("__bss_end", 0x200), symbol("__stack_top", 0x7F00)];
    let mut node = lanai(true, symbols, source);
    let (view, text) = stopped(&mut node, 0, SimTime::from_us(1));
    assert!(
        text.starts_with("stack overflow: store to 0x00001f"),
        "{text}"
    );
    assert!(
        text.ends_with("below 0x00002000, where the stack ends"),
        "{text}"
    );
    assert!([4, 0x14].contains(&view.pc), "{:#x}", view.pc);
    let sram = &node.board::<Lanai>().fabric.sram;
    let untouched = (0x200..0x1F00).step_by(4).all(|at| sram.word(at) == 0);
    assert!(untouched);
}
