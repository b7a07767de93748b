//! Control programs with a shared structure, for all three chips: handshake, DMA tests, self-test packet.

use emulator::lanai::chip::Generation;
use host_lib::myrinet::mcpshmem::layout as at;

use super::assembly::Assembly;

/// Address of the shared structure.
pub const BASE: u32 = 0x1_0000;
/// Sizes of the DMA tests.
pub const SIZES: [u32; 8] = [16384, 8192, 4096, 1024, 512, 256, 128, 4];
/// Results of the benchmark, in nanoseconds.
pub const BENCHMARK: [i32; 3] = [10_000, -20_000, 30_000];
/// Two blocks for DMA from the host, two for DMA to the host.
const FROM_HOST: u32 = 0x8000;
const TO_HOST: u32 = 0x8040;
/// Distance of the two blocks of a chain.
const OTHER: u32 = 0x20;
const TERMINAL: u32 = 2;
const WAKE: u32 = 4;
/// Buffers.
const DATA: u32 = 0x6_0000;
const PACKET: u32 = 0x7_0000;
const RECEIVED: u32 = 0x7_2000;
/// The self-test packet: route, type, mark.
const ROUTE: u32 = 0x80;
const SELF_TEST: u32 = 0x0803_5900;

/// A variant of the program.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// Transfers of each test.
    pub transfers: u32,
    /// The chain from the host is named first.
    pub exchanged: bool,
    /// Blocks say their direction before their first use.
    pub directions: bool,
    /// Version of the structure.
    pub version: u32,
    /// The pattern to the host has a wrong word.
    pub damages: bool,
    /// The program finds wrong data from the host.
    pub wrong_from_host: bool,
    /// The receiver is armed after the self-test packet has left.
    pub arms_late: bool,
    /// The self-test packet comes back with its route.
    pub keeps_route: bool,
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            transfers: 5,
            exchanged: false,
            directions: true,
            version: at::VERSION_VALUE,
            damages: false,
            wrong_from_host: false,
            arms_late: false,
            keeps_route: false,
        }
    }
}

/// The image: text, and data behind it.
pub fn image(chip: Generation, variant: Variant) -> (Vec<u8>, Vec<u8>) {
    let mut asm = Assembly::new(chip);
    asm.branch("bt", "start").line("nop");
    asm.line(".org 16").line(&format!(".word {BASE}"));
    start(&mut asm);
    requests(&mut asm, variant);
    for size in SIZES {
        from_host(&mut asm, size, variant);
    }
    for size in SIZES {
        to_host(&mut asm, size, variant);
    }
    self_test(&mut asm, variant);
    for (index, value) in BENCHMARK.into_iter().enumerate() {
        asm.store_constant(
            value.cast_unsigned(),
            BASE + at::BENCHMARK + 4 * index as u32,
        );
    }
    asm.store_constant(1, BASE + at::SELF_TEST);
    asm.place("end").branch("bt", "end");
    let mut memory = asm.image();
    let text_bytes = memory.len().next_multiple_of(8);
    assert!(text_bytes <= FROM_HOST as usize, "{text_bytes:#x}");
    memory.resize((BASE + at::VERSION + 4) as usize, 0);
    let mut set = |address: u32, word: u32| {
        memory[address as usize..address as usize + 4].copy_from_slice(&word.to_be_bytes());
    };
    set(BASE + at::IDENTIFICATION, at::IDENTIFICATION_VALUE);
    set(BASE + at::VERSION, variant.version);
    let mut data = memory.split_off(text_bytes);
    data.extend(
        format!(
            "\0---> This is an MCP for a {}.x LANai <--\0",
            chip.number()
        )
        .bytes(),
    );
    (memory, data)
}

fn start(asm: &mut Assembly) {
    asm.place("start");
    match asm.chip {
        Generation::L4 => asm.set("myrinet", 2).set("timeout", 3),
        Generation::L7 => asm.set("myrinet", 0).set("link", 3),
        Generation::L9 => asm.set("myrinet", 0xC),
    };
    let timer = if asm.chip == Generation::L4 {
        "it"
    } else {
        "it0"
    };
    asm.set("led", 1).set("rtc", 0).set(timer, u32::MAX);
    asm.place("settle").get("rtc", "r10").constant(45_000, "r9");
    asm.line("sub.f %r10, %r9, %r0").branch("bult", "settle");
    asm.set("eimr", 0)
        .set_status(u32::MAX)
        .set("smp", BASE)
        .signal();
}

fn request(asm: &mut Assembly, reason: u32) {
    asm.store_constant(reason, BASE + at::REASON).signal();
}

/// DMA setup and the host's structure.
fn requests(asm: &mut Assembly, variant: Variant) {
    if asm.chip != Generation::L4 {
        for (block, flag) in [(FROM_HOST, 1), (TO_HOST, 0)] {
            let direction = if variant.directions { flag } else { 0 };
            asm.store_constant((block + OTHER) | TERMINAL | direction, block);
            asm.store_constant(block | TERMINAL | direction, block + OTHER);
        }
        let chains = match variant.exchanged {
            true => [FROM_HOST, TO_HOST],
            false => [TO_HOST, FROM_HOST],
        };
        asm.store_constant(chains[0], BASE + at::CHAINS[0]);
        asm.store_constant(chains[1], BASE + at::CHAINS[1]);
        asm.constant(FROM_HOST, "r24").constant(TO_HOST, "r25");
        request(asm, at::REASON_DMA);
        asm.wait_word(BASE + at::CHAINS[0], 0);
    }
    request(asm, at::REASON_STRUCTURE);
    asm.wait_word(BASE + at::DRIVER, at::DRIVER_VALUE);
    asm.load(BASE + at::HOST_STRUCTURE, "r10");
    asm.line("sub.f %r10, 0, %r0").branch("beq", "end");
}

/// One transfer between the buffer and the host's buffer, whose address is in register 20.
fn transfer(asm: &mut Assembly, from_host: bool, size: u32) {
    if asm.chip == Generation::L4 {
        asm.set_from("r20", "ear").set("lar", DATA);
        asm.set("dma_dir", from_host.into()).set("dma_ctr", size);
        asm.wait_status(0x10);
        return;
    }
    let (block, flags, pulse) = match from_host {
        true => ("r24", WAKE | 1, 4),
        false => ("r25", WAKE, 2),
    };
    for (offset, value) in [(4, 0), (8, size), (12, DATA), (16, 0)] {
        asm.constant(value, "r9")
            .line(&format!("st %r9, {offset}[%{block}]"));
    }
    asm.line(&format!("st %r20, 20[%{block}]"));
    asm.line(&format!(
        "xor %{block}, {OTHER}, %r21\n or %r21, {flags}, %r22"
    ));
    asm.line(&format!("st %r22, 0[%{block}]"));
    asm.set("pulse", pulse);
    let again = asm.label();
    asm.place(&again)
        .line(&format!("ld 0[%{block}], %r10\n nop\n nop"));
    asm.test("r10", TERMINAL).branch("beq", &again);
    asm.wait_status(1 << 12).set_status(1 << 12);
    asm.line(&format!("or %r21, 0, %{block}"));
}

/// `times` transfers.
fn transfers(asm: &mut Assembly, from_host: bool, size: u32, times: u32) {
    let again = asm.label();
    asm.constant(times, "r23").place(&again);
    transfer(asm, from_host, size);
    asm.line("sub.f %r23, 1, %r23").branch("bne", &again);
}

/// Goes over the words of the buffer with register 12 as pointer, and the pattern's word in register 14.
fn words(asm: &mut Assembly, seed: u32, size: u32, each: impl FnOnce(&mut Assembly)) {
    let again = asm.label();
    asm.constant(DATA, "r12")
        .constant(0, "r13")
        .constant(seed, "r15");
    asm.place(&again);
    asm.lines("sh %r13, 16, %r14\n or %r14, %r13, %r14\n xor %r14, %r15, %r14");
    each(asm);
    asm.lines("add %r12, 4, %r12\n add %r13, 1, %r13");
    asm.constant(size / 4, "r9");
    asm.line("sub.f %r13, %r9, %r0").branch("bult", &again);
}

/// A request of a test: the host gives its buffer when it is ready.
fn ask(asm: &mut Assembly, reason: u32, size: u32) {
    asm.store_constant(0, BASE + at::TEST_BUFFER);
    asm.store_constant(size, BASE + at::TEST_LENGTH);
    asm.store_constant(0, BASE + at::TEST_RESULT);
    request(asm, reason);
}

/// Waits for the host's buffer, and makes the transfers with the address in register 20; register 26 becomes their time.
fn with_buffer(asm: &mut Assembly, from_host: bool, size: u32, variant: Variant) {
    let again = asm.label();
    asm.place(&again).load(BASE + at::TEST_BUFFER, "r20");
    asm.line("sub.f %r20, 0, %r0").branch("beq", &again);
    asm.set("rtc", 0);
    transfers(asm, from_host, size, variant.transfers);
    asm.get("rtc", "r26").line("add %r26, 2, %r26");
}

/// Reports the result of a test without a signal; goes on once the host has taken it and lets itself be interrupted.
fn report(asm: &mut Assembly) {
    asm.store("r26", BASE + at::TEST_RESULT);
    asm.wait_word(BASE + at::TEST_RESULT, 0);
    let again = asm.label();
    asm.place(&again).get("eimr", "r10").test("r10", 1 << 30);
    asm.branch("beq", &again);
}

fn from_host(asm: &mut Assembly, size: u32, variant: Variant) {
    ask(asm, at::REASON_FROM_HOST, size);
    with_buffer(asm, true, size, variant);
    let wrong = variant.wrong_from_host && size == 256;
    words(asm, at::from_host(0) ^ u32::from(wrong), size, |asm| {
        let right = asm.label();
        asm.line("ld 0[%r12], %r10\n nop\n nop");
        asm.line("sub.f %r10, %r14, %r0").branch("beq", &right);
        asm.constant(at::WRONG_DATA, "r26").place(&right);
    });
    report(asm);
}

fn to_host(asm: &mut Assembly, size: u32, variant: Variant) {
    ask(asm, at::REASON_TO_HOST, size);
    let seed = at::to_host(0) ^ u32::from(variant.damages && size == 256);
    // The buffer is filled after the request: a host that compares at once finds other words.
    words(asm, seed, size, |asm| {
        asm.line("st %r14, 0[%r12]");
    });
    with_buffer(asm, false, size, variant);
    report(asm);
    asm.load(BASE + at::TEST_LENGTH, "r10");
    asm.line("sub.f %r10, 0, %r0").branch("bne", "end");
}

/// Sends a packet with one route byte in two segments, and receives it.
fn self_test(asm: &mut Assembly, variant: Variant) {
    let arm = |asm: &mut Assembly| {
        asm.set("rmp", RECEIVED).set("rml", RECEIVED + 8192 - 4);
    };
    if !variant.arms_late {
        arm(asm);
    }
    asm.load(BASE + at::NODE, "r10").constant(SELF_TEST, "r9");
    asm.line("or %r10, %r9, %r10").store("r10", PACKET + 8);
    asm.store_constant(ROUTE, PACKET)
        .store_constant(ROUTE, PACKET + 4);
    // Limits are the last word on a LANai 4, and one past the end on others.
    let (skip, limits) = match asm.chip {
        Generation::L4 => (3, [PACKET, PACKET + 8]),
        _ => (7, [PACKET + 8, PACKET + 12]),
    };
    asm.set("smp", PACKET).set("sa", skip).set("sml", limits[0]);
    asm.wait_status(8);
    asm.set("smp", PACKET + 8)
        .set("sa", 0)
        .set("smlt", limits[1]);
    asm.wait_status(8);
    if variant.arms_late {
        // The packet stands in the port by then.
        asm.set("rtc", 0)
            .place("late")
            .get("rtc", "r10")
            .constant(100, "r9");
        asm.line("sub.f %r10, %r9, %r0").branch("bult", "late");
        arm(asm);
    }
    asm.wait_status(2).load(RECEIVED, "r10");
    let bytes = if variant.keeps_route {
        asm.unless("r10", ROUTE << 24 | SELF_TEST >> 8, "end");
        6
    } else {
        // The packet of another adapter has another number.
        asm.load(PACKET + 8, "r11");
        asm.line("sub.f %r10, %r11, %r0").branch("bne", "end");
        5
    };
    // Bytes with the residue, from the pointer and the overshoot.
    asm.status("r11").line("sh %r11, -8, %r11").mask("r11", 7);
    if asm.chip == Generation::L4 {
        asm.mask("r11", 3);
    }
    asm.get("rmp", "r10").line("sub %r10, %r11, %r10");
    asm.unless("r10", RECEIVED + bytes, "end");
    asm.constant(RECEIVED + bytes - 1, "r9");
    asm.line("uld.b 0[%r9], %r10\n nop\n nop");
    asm.unless("r10", 0, "end");
}
