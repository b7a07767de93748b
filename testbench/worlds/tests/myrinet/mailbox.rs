//! A control program with a mailbox, for the LANai 4: its start, one channel, frames both ways.

use emulator::lanai::chip::Generation;
use host_lib::myrinet::mailbox::layout as at;

use super::assembly::Assembly;

/// Bits of the interrupt status that the program clears.
const CLEARED: u32 = 0x1_0C3E;
const WAKE: u32 = 0x400;
const DMA: u32 = 0x10;
const SEND: u32 = 0x8;
const RECEIVE: u32 = 0x2;
/// Buffers for packets.
const RECEIVED: u32 = 0x2_1E00;
const RECEIVE_LIMIT: u32 = 0x2_3F28;
const PACKET: u32 = 0x2_4000;
const PROBE: u32 = 0x1_4F84;
/// Bytes in front of a frame.
const HEADER: u32 = 36;

/// What to leave out or do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Nothing,
    /// Stops before it turns the LED off.
    HangsAtStart,
    /// Never takes frames.
    IgnoresFrames,
    /// Changes a byte of each frame.
    DamagesFrames,
    /// Executes a word that is no instruction.
    Faults,
}

/// The image.
pub fn image(fault: Fault) -> Vec<u8> {
    let mut asm = Assembly::new(Generation::L4);
    start(&mut asm, fault);
    asm.place("main").status("r20");
    asm.constant(WAKE, "r9").line("and.f %r20, %r9, %r0");
    asm.branch("bne", "wake");
    asm.constant(RECEIVE, "r9").line("and.f %r20, %r9, %r0");
    asm.branch("bne", "receive").branch("bt", "main");
    wake(&mut asm, fault);
    send(&mut asm, fault);
    receive(&mut asm);
    asm.line(".org 0x10000\n.ascii \"VersionString: mcp-l4v3 test\"\n.byte 0");
    asm.line(".align 2");
    asm.image()
}

fn start(asm: &mut Assembly, fault: Fault) {
    asm.set("led", 1);
    asm.place("idle").get("dma_ctr", "r10");
    asm.unless("r10", 0, "idle");
    asm.load(at::BURST, "r10").set_from("r10", "dma_sts");
    asm.line("mov 0, %r30");
    asm.status("r10").constant(CLEARED, "r9");
    asm.lines("or %r10, %r9, %r10\n mov %r10, %r31\n nop");
    asm.set("myrinet", 2).set("timeout", 0).set("version", 3);
    arm(asm);
    asm.set("rtc", 0).set("it", 0x7FFF).set("it", 0xC350);
    asm.set_status(1 << 30).set("it", 0xC350);
    match fault {
        Fault::HangsAtStart => asm.place("hang").branch("bt", "hang"),
        Fault::Faults => asm.line(".word 0xffffffff"),
        _ => asm.set("led", 0),
    };
    asm.store_constant(3, at::CHANNELS);
    asm.store_constant(at::WAITS_FOR_HOST, at::STATE);
}

fn arm(asm: &mut Assembly) {
    asm.set("rmp", RECEIVED).set("rml", RECEIVE_LIMIT);
}

/// The handshake, with a packet of the mapper, and the begin of sending.
fn wake(asm: &mut Assembly, fault: Fault) {
    asm.place("wake").set_status(WAKE);
    asm.load(at::STATE, "r10");
    asm.unless("r10", at::WAITS_FOR_NETWORK, "known");
    asm.store_constant(at::READY, at::STATE);
    for (index, word) in [0x0005_0001, 0x18, 2, 1, 0, 0, 0, 0]
        .into_iter()
        .enumerate()
    {
        asm.store_constant(word, PROBE + 4 * index as u32);
    }
    // Skips no byte: two bits of the register count.
    asm.set("sa", 4).set("smp", PROBE).set("smlt", PROBE + 28);
    asm.wait_status(SEND).branch("bt", "main");
    asm.place("known");
    if fault == Fault::IgnoresFrames {
        asm.branch("bt", "main");
    }
}

/// Register 12 = register 11 times the bytes of a send entry.
fn send(asm: &mut Assembly, fault: Fault) {
    asm.place("send")
        .load(at::SEND_HEAD, "r11")
        .load(at::SEND_TAIL, "r10");
    asm.line("sub.f %r10, %r11, %r0").branch("beq", "main");
    asm.lines("sh %r11, 7, %r12\n sh %r11, 4, %r13\n add %r12, %r13, %r12");
    asm.lines("sh %r11, 3, %r13\n add %r12, %r13, %r12\n sh %r11, 2, %r13\n add %r12, %r13, %r12");
    asm.constant(at::SEND_ENTRIES, "r9")
        .line("add %r12, %r9, %r12");
    asm.lines("ld 0[%r12], %r13\n nop\n ld 144[%r12], %r14\n nop");
    asm.constant(PACKET, "r16").constant(0x0004_0001, "r9");
    asm.lines("st %r9, 0[%r16]\n st %r14, 4[%r16]");
    for (from, to) in [(132, 8), (136, 12)] {
        asm.line(&format!("ld {from}[%r12], %r9\n nop\n st %r9, {to}[%r16]"));
    }
    asm.load(at::ADDRESS, "r10").line("st %r10, 16[%r16]");
    asm.load(at::ADDRESS + 4, "r10").line("st %r10, 20[%r16]");
    asm.set_from("r13", "ear")
        .set("lar", PACKET + HEADER)
        .set("dma_dir", 1);
    asm.set_from("r14", "dma_ctr").wait_status(DMA);
    if fault == Fault::DamagesFrames {
        asm.lines("ld 76[%r16], %r9\n nop\n xor %r9, 1, %r9\n st %r9, 76[%r16]");
    }
    asm.lines("add %r14, %r16, %r10\n add %r10, 32, %r10");
    asm.set("sa", 0).set("smp", PACKET).set_from("r10", "smlt");
    asm.wait_status(SEND);
    asm.line("add %r11, 1, %r11")
        .mask("r11", 15)
        .store("r11", at::SEND_HEAD);
    asm.branch("bt", "send");
}

/// A packet has come: data go to the host, others nowhere.
fn receive(asm: &mut Assembly) {
    asm.place("receive").load(RECEIVED, "r10");
    asm.unless("r10", 0x0004_0001, "rearm");
    // The residue is the last byte in front of the pointer, minus the overshoot.
    asm.line("sh %r20, -8, %r10")
        .mask("r10", 3)
        .get("rmp", "r11");
    asm.lines("sub %r11, %r10, %r11\n sub %r11, 1, %r11\n uld.b 0[%r11], %r10\n nop");
    asm.unless("r10", 0, "rearm");
    asm.load(RECEIVED + 4, "r14");
    entry(asm, at::EMPTY_HEAD, at::EMPTY_ENTRIES, "r12");
    asm.lines("ld 0[%r12], %r13\n nop\n ld 68[%r12], %r17\n nop");
    asm.set("cks", 0)
        .set_from("r13", "ear")
        .set("lar", RECEIVED + HEADER)
        .set("dma_dir", 0);
    asm.set_from("r14", "dma_ctr").wait_status(DMA);
    entry(asm, at::FULL_TAIL, at::FULL_ENTRIES, "r12");
    asm.line("st %r14, 4[%r12]\n st %r17, 68[%r12]");
    asm.get("cks", "r10").line("st %r10, 64[%r12]");
    advance(asm, at::EMPTY_HEAD);
    advance(asm, at::FULL_TAIL);
    asm.load(at::COUNTERS + 8, "r10").line("add %r10, 1, %r10");
    asm.store("r10", at::COUNTERS + 8);
    asm.load(at::INTERRUPT_MASK, "r10").test("r10", 2);
    asm.branch("beq", "rearm").signal();
    asm.place("rearm");
    arm(asm);
    asm.branch("bt", "main");
}

/// `register` = address of the entry whose index stands in a word.
fn entry(asm: &mut Assembly, index: u32, entries: u32, register: &str) {
    asm.load(index, "r11");
    asm.line(&format!(
        "sh %r11, 6, %{register}\n sh %r11, 3, %r18\n add %{register}, %r18, %{register}"
    ));
    asm.line(&format!(
        "sh %r11, 2, %r18\n add %{register}, %r18, %{register}"
    ));
    asm.constant(entries, "r9");
    asm.line(&format!("add %{register}, %r9, %{register}"));
}

/// Moves an index on.
fn advance(asm: &mut Assembly, index: u32) {
    let inside = asm.label();
    asm.load(index, "r11").line("add %r11, 1, %r11");
    asm.unless("r11", at::RECEIVE_COUNT, &inside);
    asm.line("mov 0, %r11").place(&inside).store("r11", index);
}
