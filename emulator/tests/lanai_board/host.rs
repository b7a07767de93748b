//! Host programs and the chip.

use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::window::{System, Window};

use crate::bench::Bench;

const HOST_SIG: u32 = 1 << 30;
const CONTROL: u32 = 0xE_0000;
const ISR: u32 = 0xC_0028;
const EIMR: u32 = 0xC_002C;

/// Signals the host, waits for its wake, clears that, and writes a word.
const ANSWER: &str = "
    li -1, %r9
    st %r9, {it}[%r0]
    li 0x40000000, %r9
    mov %r9, %r31
    li 0x400, %r9
loop:
    mov %r31, %r10
    and.f %r10, %r9, %r0
    beq loop
    nop
    mov %r9, %r31
    mov 1, %r10
    st %r10, 0x600[%r0]
end:
    bt end
    nop";

fn limits() -> RunLimits {
    RunLimits {
        max_time: Some(SimTime::from_us(1_000_000)),
        ..RunLimits::default()
    }
}

#[test]
fn a_host_program_and_the_chip_signal_each_other() {
    let mut bench = Bench::new("lanai4.3-33");
    bench.load(ANSWER);
    let programs = &mut bench.world.nodes[0].programs;
    programs.spawn("driver", |mut machine| async move {
        machine.write(EIMR, HOST_SIG).await;
        machine.write(CONTROL, 1 << 31 | 1 << 29).await;
        assert!(machine.wait_interrupt(Some(1_000_000)).await.is_ok());
        assert_eq!(machine.read(ISR).await & HOST_SIG, HOST_SIG);
        machine.write(ISR, HOST_SIG).await;
        machine.write(CONTROL, 1 << 27).await;
        machine.poll_until(0x600, !0, 1, "the answer").await;
    });
    assert_eq!(bench.world.run(&limits()), RunEnd::Completed);
    assert_eq!(bench.status() & (HOST_SIG | 0x400), 0);
}

#[test]
fn a_host_that_waits_for_an_idle_chip_is_in_a_deadlock() {
    let mut bench = Bench::new("lanai4.3-33");
    bench.load(ANSWER);
    let programs = &mut bench.world.nodes[0].programs;
    programs.spawn("driver", |mut machine| async move {
        machine.write(CONTROL, 1 << 31).await;
        machine
            .poll_until(0x600, !0, 1, "an answer that never comes")
            .await;
    });
    let end = bench.world.run(&limits());
    assert!(matches!(end, RunEnd::Deadlock(_)), "{end:?}");
    assert_eq!(bench.state(), "idle");
}
