//! Registers, timers, interrupt status, window, reset.

use emulator::sim::time::SimTime;

use crate::bench::{Bench, PROFILES};

const HOST_SIG: u32 = 1 << 30;

/// Loads the constant, then stores it to the register.
fn set(register: &str, value: u32) -> String {
    format!("li {value}, %r9\n nop\n nop\n st %r9, {{{register}}}[%r0]\n nop\n")
}

const STOP: &str = "end: bt end\n nop\n nop\n";

/// Runs a program on a chip for some time, then compares words of memory.
fn check(profile: &str, source: &str, us: u64, words: &[(u32, u32)]) -> Bench {
    let mut bench = Bench::running(profile, &format!("{source}\n{STOP}"));
    bench.run_us(us);
    for &(address, word) in words {
        assert_eq!(
            bench.word(address),
            word,
            "{profile}: {address:#x}\n{source}"
        );
    }
    bench
}

/// Copies a register to memory.
fn keep(register: &str, address: u32) -> String {
    format!("ld {{{register}}}[%r0], %r10\n nop\n nop\n nop\n st %r10, {address}[%r0]\n nop\n")
}

#[test]
fn the_clock_counts_half_microseconds() {
    for profile in PROFILES {
        let clock = [set("rtc", 0), "wait: ".to_owned() + &keep("rtc", 0x400)].concat();
        let source = format!(
            "{clock} sub.f %r10, 20, %r0\n bult wait\n nop\n nop\n {}",
            keep("rtc", 0x404)
        );
        let mut bench = Bench::running(profile, &format!("{source}\n{STOP}"));
        bench.run_us(9);
        assert_eq!(bench.word(0x404), 0);
        bench.run_us(3);
        assert!((20..23).contains(&bench.word(0x404)), "{profile}");
    }
}

#[test]
fn an_interval_timer_raises_its_bit() {
    let check = |profile, timer, bit: u32| {
        let mut bench = Bench::running(profile, &format!("{} {STOP}", set(timer, 99)));
        bench.run_us(49);
        assert_eq!(bench.status() & bit, 0, "{profile} {timer}");
        bench.run_us(3);
        assert_eq!(bench.status() & bit, bit, "{profile} {timer}");
        let offset = bench.register(timer);
        assert!(bench.read(offset) > 0xFFFF_FFF0);
    };
    check("lanai4.3-33", "it", 1 << 5);
    check("lanai7.2-66", "it0", 1 << 6);
    check("lanai7.2-66", "it1", 1 << 7);
    check("lanai9.1-133", "it2", 1 << 13);
}

#[test]
fn ones_clear_bits_and_the_signal_crosses() {
    for profile in PROFILES {
        let all = set("isr", !0);
        let mut bench = check(profile, &all, 5, &[]);
        assert_eq!(bench.status() & HOST_SIG, HOST_SIG);
        let isr = bench.register("isr");
        bench.write(isr, HOST_SIG);
        assert_eq!(bench.status() & HOST_SIG, 0, "{profile}");
    }
    // The host wakes the LANai, which answers and clears the bit: through register 31 on a LANai 4.
    let answer = |status: &str, clear: &str| {
        format!(
            "loop: {status}\n nop\n nop\n li 0x400, %r9\n and.f %r10, %r9, %r0\n beq loop\n nop\n nop\n {clear} {}",
            set("isr", HOST_SIG)
        )
    };
    let source = answer("mov %r31, %r10", "mov 0x400, %r31\n nop\n");
    let mut bench = Bench::running("lanai4.3-33", &format!("{source}\n{STOP}"));
    bench.run_us(50);
    assert_eq!(bench.status() & HOST_SIG, 0);
    let control = bench.control();
    bench.write(control, 1 << 27);
    assert_eq!(bench.status() & 0x400, 0x400);
    bench.run_us(50);
    assert_eq!(bench.status() & (HOST_SIG | 0x400), HOST_SIG);
}

#[test]
fn the_host_is_interrupted_by_masked_bits() {
    for profile in PROFILES {
        let mut bench = check(profile, &set("isr", HOST_SIG), 5, &[]);
        let line = |bench: &mut Bench| emulator::board::Board::interrupt_line(bench.board());
        let (mask, control) = (bench.register("eimr"), bench.control());
        bench.write(mask, HOST_SIG);
        assert!(!line(&mut bench));
        bench.write(
            control,
            if profile.starts_with("lanai4") {
                1 << 29
            } else {
                1 << 25
            },
        );
        assert!(line(&mut bench), "{profile}");
        let isr = bench.register("isr");
        bench.write(isr, HOST_SIG);
        assert!(!line(&mut bench), "{profile}");
    }
}

#[test]
fn the_window_shows_memory_registers_and_eeprom() {
    for profile in PROFILES {
        let mut bench = Bench::running(profile, &format!("{} {STOP}", set("led", 5)));
        bench.write(0x1000, 0x1234_5678);
        assert_eq!(
            (bench.read(0x1000), bench.word(0x1000)),
            (0x1234_5678, 0x1234_5678)
        );
        bench.run_us(2);
        let led = bench.register("led");
        assert_eq!(bench.read(led), 5, "{profile}");
        let eeprom = if profile.starts_with("lanai4") {
            0x8_0004
        } else {
            0xA0_0004
        };
        let version = bench.read(eeprom) >> 16;
        let digits = profile.as_bytes();
        let expected = u32::from(digits[5] - b'0') << 8 | u32::from(digits[7] - b'0');
        assert_eq!(version, expected, "{profile}");
    }
}

#[test]
fn reset_stops_the_chip_and_keeps_memory() {
    for profile in PROFILES {
        let count =
            "mov 0, %r8\nloop: add %r8, 1, %r8\n st %r8, 0x500[%r0]\n bt loop\n nop\n nop\n";
        let mut bench = Bench::running(profile, count);
        bench.run_us(20);
        let control = bench.control();
        bench.write(control, 1 << 30);
        assert_eq!(bench.state(), "halted");
        let before = bench.word(0x500);
        assert!(before > 10, "{profile}: {before}");
        bench.run_us(20);
        assert_eq!(bench.word(0x500), before);
        bench.write(control, 1 << 31);
        bench.run_us(2);
        let after = bench.word(0x500);
        assert!(0 < after && after < before, "{profile}: {after}");
    }
}

#[test]
fn doorbells_are_queued_in_memory() {
    let mut bench = Bench::new("lanai9.1-133");
    bench.write(0x80_0110, 0x2000);
    bench.write(0x80_8010, 77);
    bench.write(0x80_9000, 78);
    let words = [0x2000, 0x2004, 0x2008, 0x200C].map(|at| bench.word(at));
    assert_eq!(words, [0x80_8010, 77, 0x80_9000, 78]);
}

#[test]
fn the_cycle_counter_of_a_lanai_9() {
    let source = [keep("cpuc", 0x400), keep("cpuc", 0x404)].concat();
    let mut bench = check("lanai9.2-200", &source, 5, &[]);
    let span = bench.word(0x404) - bench.word(0x400);
    assert!((6..12).contains(&span), "{span}");
}

/// Idle loops over the interrupt status, and over a word of memory that the host writes, take no time of the simulation and give
/// the same results as executed ones.
#[test]
fn skipped_idle_loops_change_nothing() {
    let by_word = format!(
        "loop: ld 0x600[%r0], %r10\n nop\n nop\n sub.f %r10, 7, %r0\n bne loop\n nop\n nop\n {}",
        keep("rtc", 0x400)
    );
    let by_status = format!(
        "{} loop: ld {{isr}}[%r0], %r10\n nop\n nop\n li {HOST_SIG}, %r9\n and.f %r10, %r9, %r0\n beq loop\n nop\n nop\n {}",
        set("rtc", 0),
        keep("rtc", 0x400)
    );
    for profile in PROFILES {
        for source in [&by_word, &by_status] {
            let run = |skip: bool| {
                let mut bench = Bench::running(profile, &format!("{source}\n{STOP}"));
                bench.board().skip_idle = skip;
                for _ in 0..7 {
                    bench.run_us(13);
                }
                let isr = bench.register("isr");
                let shown = bench.world.nodes[0]
                    .inspect()
                    .cpu(emulator::board::CpuId::new(0));
                let shown = shown.unwrap();
                let middle = (shown.instructions, shown.cycles, shown.time);
                assert_eq!(
                    shown.state.to_string(),
                    if skip { "idle" } else { "running" }
                );
                bench.write(0x600, 7);
                bench.write(isr, 1);
                bench.run_us(10);
                let view = bench.world.nodes[0]
                    .inspect()
                    .cpu(emulator::board::CpuId::new(0))
                    .unwrap();
                let end = (view.instructions, view.cycles, view.pc);
                (middle, end, bench.word(0x400), bench.world.now())
            };
            let (skipped, executed) = (run(true), run(false));
            assert_eq!(skipped, executed, "{profile}");
            assert!(skipped.0.2 > SimTime::from_us(90));
        }
    }
}
