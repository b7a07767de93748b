//! A control program with a mailbox, for the LANai 4: its start, one channel, frames both ways.
//!
//! The program probes each route of a crossbar of eight ports, and the cable without a route, when it becomes ready; a probe says which route
//! it takes, so its receiver knows the way back, which it stores by the last byte of the sender's address, and answers.

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
/// Ways by the last byte of an address: 0 if there is none, else [`WAY`] and the byte of the route, 0 without a route.
const WAYS: u32 = 0x2_8000;
const WAY: u32 = 0x100;
/// The sender is busy; way of an answer that is due; way of the next probe.
const BUSY: u32 = 0x2_9000;
const ANSWER: u32 = 0x2_9004;
const NEXT_PROBE: u32 = 0x2_9008;
/// Types of packets.
const DATA: u32 = 0x0004_0001;
const MAP: u32 = 0x0005_0001;
/// Bytes in front of a frame.
const HEADER: u32 = 36;

/// Defect of the program.
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

/// Image of the program with a defect.
pub fn image(fault: Fault) -> Vec<u8> {
    let mut asm = Assembly::new(Generation::L4);
    start(&mut asm, fault);
    asm.place("main").status("r20");
    asm.test("r20", RECEIVE).branch("bne", "receive");
    asm.test("r20", WAKE).branch("bne", "wake");
    // No packet waits for the sender: two programs that wait for each other would never receive.
    asm.load(BUSY, "r10").line("sub.f %r10, 0, %r0");
    asm.branch("beq", "free");
    asm.test("r20", SEND).branch("beq", "main");
    asm.store_constant(0, BUSY).place("free");
    asm.load(ANSWER, "r19").line("sub.f %r19, 0, %r0");
    asm.branch("bne", "answer");
    asm.load(NEXT_PROBE, "r19").line("sub.f %r19, 0, %r0");
    asm.branch("bne", "probe");
    if fault == Fault::IgnoresFrames {
        asm.branch("bt", "main");
    }
    send(&mut asm, fault);
    wake(&mut asm);
    probes(&mut asm);
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

/// The handshake; probes begin with it.
fn wake(asm: &mut Assembly) {
    asm.place("wake").set_status(WAKE);
    asm.load(at::STATE, "r10");
    asm.unless("r10", at::WAITS_FOR_NETWORK, "main");
    asm.store_constant(at::READY, at::STATE);
    asm.store_constant(WAY, NEXT_PROBE).branch("bt", "main");
}

/// Sends an answer or a probe with the way in register 19. Probes go without a route, then along 0x80 to 0x87 and 0xb9 to 0xbf.
fn probes(asm: &mut Assembly) {
    asm.place("answer").store_constant(0, ANSWER);
    probe(asm, 2);
    asm.place("probe").line("add %r19, 1, %r22");
    for (last, next) in [(WAY, 0x180), (0x187, 0x1B9), (0x1BF, 0)] {
        let other = asm.label();
        asm.unless("r19", last, &other).constant(next, "r22");
        asm.place(&other);
    }
    asm.store("r22", NEXT_PROBE);
    probe(asm, 1);
}

/// A packet of the mapper: kind, the program's address, its way.
fn probe(asm: &mut Assembly, kind: u32) {
    for (index, word) in [MAP, 0x18, kind].into_iter().enumerate() {
        asm.store_constant(word, PROBE + 4 * index as u32);
    }
    asm.load(at::ADDRESS, "r10").store("r10", PROBE + 12);
    asm.load(at::ADDRESS + 4, "r10").store("r10", PROBE + 16);
    asm.store("r19", PROBE + 20).constant(PROBE + 28, "r21");
    start_sender(asm, PROBE);
}

/// Starts the sender for a packet whose last word is in register 21, along the way in register 19.
fn start_sender(asm: &mut Assembly, packet: u32) {
    let [direct, go] = [asm.label(), asm.label()];
    asm.store_constant(1, BUSY);
    asm.line("or %r19, 0, %r18").mask("r18", 0xFF);
    asm.store("r18", packet - 4).line("sub.f %r18, 0, %r0");
    asm.branch("beq", &direct);
    asm.set("sa", 3).set("smp", packet - 4).branch("bt", &go);
    // Skips no byte: two bits of the register count.
    asm.place(&direct).set("sa", 4).set("smp", packet);
    asm.place(&go).set_from("r21", "smlt").branch("bt", "main");
}

/// The next frame of the host goes out, if its destination is known. Register 12 = register 11 times the bytes of a send entry.
fn send(asm: &mut Assembly, fault: Fault) {
    asm.load(at::SEND_HEAD, "r11").load(at::SEND_TAIL, "r10");
    asm.line("sub.f %r10, %r11, %r0").branch("beq", "main");
    asm.lines("sh %r11, 7, %r12\n sh %r11, 4, %r13\n add %r12, %r13, %r12");
    asm.lines("sh %r11, 3, %r13\n add %r12, %r13, %r12\n sh %r11, 2, %r13\n add %r12, %r13, %r12");
    asm.constant(at::SEND_ENTRIES, "r9")
        .line("add %r12, %r9, %r12");
    asm.lines("ld 0[%r12], %r13\n nop\n ld 144[%r12], %r14\n nop");
    asm.constant(PACKET, "r16").constant(DATA, "r9");
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
    asm.lines("add %r14, %r16, %r21\n add %r21, 32, %r21");
    asm.line("add %r11, 1, %r11")
        .mask("r11", 15)
        .store("r11", at::SEND_HEAD);
    asm.line("ld 136[%r12], %r11\n nop\n nop");
    way(asm);
    asm.line("ld 0[%r11], %r19\n nop\n nop\n sub.f %r19, 0, %r0");
    asm.branch("beq", "main");
    start_sender(asm, PACKET);
}

/// Register 11 = place of the way to the address whose last word it holds.
fn way(asm: &mut Assembly) {
    asm.mask("r11", 0xFF).line("sh %r11, 2, %r11");
    asm.constant(WAYS, "r9").line("add %r11, %r9, %r11");
}

/// A packet has come: data go to the host, probes tell a way, others go nowhere.
fn receive(asm: &mut Assembly) {
    asm.place("receive");
    // The residue is the last byte in front of the pointer, minus the overshoot.
    asm.line("sh %r20, -8, %r10")
        .mask("r10", 3)
        .get("rmp", "r11");
    asm.lines("sub %r11, %r10, %r11\n sub %r11, 1, %r11\n uld.b 0[%r11], %r10\n nop");
    asm.unless("r10", 0, "rearm");
    asm.load(RECEIVED, "r10").unless("r10", DATA, "probed");
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
    asm.branch("beq", "rearm").signal().branch("bt", "rearm");
    asm.place("probed").unless("r10", MAP, "rearm");
    probed(asm);
    asm.place("rearm");
    arm(asm);
    asm.branch("bt", "main");
}

/// Stores the way back of a probe, which is as many ports the other way; answers it.
fn probed(asm: &mut Assembly) {
    let known = asm.label();
    asm.load(RECEIVED + 20, "r18").mask("r18", 0xFF);
    asm.constant(WAY, "r19").line("sub.f %r18, 0, %r0");
    asm.branch("beq", &known);
    asm.line("sub %r0, %r18, %r18").mask("r18", 0x3F);
    asm.line("or %r18, 0x180, %r19").place(&known);
    asm.load(RECEIVED + 16, "r11");
    way(asm);
    asm.line("st %r19, 0[%r11]");
    asm.load(RECEIVED + 8, "r10").unless("r10", 1, "rearm");
    asm.store("r19", ANSWER);
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
