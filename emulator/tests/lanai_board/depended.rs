//! Behaviour that control programs of that time depend on (docs/control-programs.md, docs/lanai.md, section 3).

use emulator::board::Board;
use emulator::lanai::recent::KEPT;
use emulator::sim::initiator::Initiator;

use crate::bench::{Bench, PROFILES};

const HOST_SIG: u32 = 1 << 30;
const STOP: &str = "end: bt end\n nop\n nop\n";

fn set(register: &str, value: u32) -> String {
    format!("li {value}, %r9\n nop\n nop\n st %r9, {{{register}}}[%r0]\n nop\n")
}

/// The writes of special registers by the CPU, with their values.
fn writes(bench: &mut Bench) -> Vec<(&'static str, u32)> {
    let recent = bench.board().fabric.recent.iter();
    let own = recent.filter(|write| write.who == Initiator::Cpu(0));
    own.map(|write| (write.name, write.value)).collect()
}

/// The start of the program of 1996: each write comes in its order, and each register shows what was written or done.
#[test]
fn the_start_of_a_lanai_4_program_is_in_order() {
    let steps = [
        ("led", 1),
        ("dma_sts", 0x3F),
        ("isr", 0x1_0C3E),
        ("myrinet", 2),
        ("timeout", 0),
        ("version", 3),
        ("rmp", 0x2_1E00),
        ("rml", 0x2_3F28),
        ("rtc", 0),
        ("it", 0x7FFF),
        ("it", 0xC350),
        ("isr", HOST_SIG),
        ("it", 0xC350),
        ("led", 0),
    ];
    let wait = "busy: ld {dma_ctr}[%r0], %r10\n nop\n sub.f %r10, 0, %r0\n bne busy\n nop\n";
    let mut source = set(steps[0].0, steps[0].1) + wait;
    for (name, value) in &steps[1..] {
        source += &set(name, *value);
    }
    let mut bench = Bench::running("lanai4.3-33", &(source + STOP));
    bench.run_us(10);
    assert_eq!(writes(&mut bench), steps);
    let check = |bench: &mut Bench, name, value| {
        let offset = bench.register(name);
        assert_eq!(bench.read(offset), value, "{name}");
    };
    for (name, value) in [
        ("led", 0),
        ("dma_sts", 0x3F),
        ("dma_ctr", 0),
        ("myrinet", 2),
        ("timeout", 0),
        ("version", 3),
        ("rmp", 0x2_1E00),
    ] {
        check(&mut bench, name, value);
    }
    assert_eq!(bench.status() & HOST_SIG, HOST_SIG);
}

/// The host reads the address of a shared structure in the send pointer, which nothing has sent from.
#[test]
fn the_send_pointer_publishes_an_address() {
    let check = |profile, address| {
        let source = set("isr", !0) + &set("smp", address) + &set("isr", HOST_SIG);
        let mut bench = Bench::running(profile, &(source + STOP));
        bench.run_us(10);
        let smp = bench.register("smp");
        assert_eq!(bench.read(smp), address, "{profile}");
        assert_eq!(bench.status() & HOST_SIG, HOST_SIG, "{profile}");
        let (isr, mask, control) = (
            bench.register("isr"),
            bench.register("eimr"),
            bench.control(),
        );
        bench.write(isr, HOST_SIG);
        bench.write(mask, HOST_SIG);
        bench.write(control, 1 << 29 | 1 << 25);
        assert_eq!(bench.status() & HOST_SIG, 0, "{profile}");
        assert!(!Board::interrupt_line(bench.board()), "{profile}");
    };
    check("lanai4.3-33", 0x6FB0);
    check("lanai7.2-66", 0x8D00);
    check("lanai9.1-133", 0x6FB0);
}

/// Programs wait for 22.5 ms by the clock, whatever the clock of the CPU.
#[test]
fn forty_five_thousand_ticks_are_22500_us() {
    for profile in PROFILES {
        let source = set("rtc", 0)
            + "wait: ld {rtc}[%r0], %r10\n nop\n nop\n li 45000, %r9\n sub.f %r10, %r9, %r0\n bult wait\n nop\n nop\n"
            + &set("led", 7);
        let mut bench = Bench::running(profile, &(source + STOP));
        let led = bench.register("led");
        bench.run_us(22_490);
        assert_eq!(bench.read(led), 0, "{profile}");
        bench.run_us(20);
        assert_eq!(bench.read(led), 7, "{profile}");
    }
}

#[test]
fn a_lanai_4_skips_at_most_three_bytes() {
    let check = |skip: u32, first: u32, length: u32| {
        let send = set("rmp", 0x4000)
            + &set("rml", 0x41FC)
            + &set("myrinet", 2)
            + &set("sa", skip)
            + &set("smp", 0x3000)
            + &set("smlt", 0x301C);
        let mut bench = Bench::new("lanai4.3-33");
        bench.loop_back();
        bench.load(&(send + STOP));
        for index in 0..8 {
            bench.write(0x3000 + 4 * index, 0x0005_0001 + index);
        }
        let control = bench.control();
        bench.write(control, 1 << 31);
        bench.run_us(50);
        assert_eq!(bench.word(0x4000), first, "{skip}");
        assert_eq!(bench.status() & 0xA, 0xA, "{skip}");
        // The residue is the last byte.
        let over = bench.status() >> 8 & 3;
        let rmp = bench.register("rmp");
        assert_eq!(bench.read(rmp) - over, 0x4000 + length + 1, "{skip}");
        let last = 0x4000 + length;
        assert_eq!(
            bench.word(last) >> (24 - 8 * (last % 4)) & 0xFF,
            0,
            "{skip}"
        );
    };
    check(0, 0x0005_0001, 32);
    check(4, 0x0005_0001, 32);
    check(7, 0x0100_0500, 29);
    check(3, 0x0100_0500, 29);
}

#[test]
fn wake_comes_from_the_control_register_of_a_lanai_4() {
    let mut bench = Bench::running("lanai4.3-33", STOP);
    let control = bench.control();
    bench.write(control, 1 << 27);
    assert_eq!(bench.status() & 0x400, 0x400);
    let isr = bench.register("isr");
    bench.write(isr, 0x400);
    assert_eq!(bench.status() & 0x400, 0);
}

#[test]
fn the_last_writes_are_kept() {
    let source = "mov 0, %r9\nagain: add %r9, 1, %r9\n st %r9, {led}[%r0]\n sub.f %r9, 30, %r0\n bne again\n nop\n nop\n";
    for profile in PROFILES {
        let mut bench = Bench::running(profile, &format!("{source}{STOP}"));
        bench.run_us(20);
        let eimr = bench.register("eimr");
        bench.write(eimr, 3);
        let recent: Vec<_> = bench.board().fabric.recent.iter().copied().collect();
        assert_eq!(recent.len(), KEPT);
        let (last, before) = (recent[KEPT - 1], recent[KEPT - 2]);
        assert_eq!(
            (last.name, last.value, last.who),
            ("eimr", 3, Initiator::Host)
        );
        assert_eq!((before.name, before.value), ("led", 30), "{profile}");
        assert!(recent.is_sorted_by_key(|write| write.time));
    }
}
