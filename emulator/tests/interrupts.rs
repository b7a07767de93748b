//! Interrupts, as host programs see them (docs/tigon2-registers.md, section 2: `RAISE_INTERRUPT`,
//! `MASK_INTERRUPTS`, mailbox 0).
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::future::Future;
use std::sync::{Arc, Mutex};

use defs::tigon2::map::window_mailbox;
use defs::tigon2::regs::{HOST_CONTROL, HostControl, LOCAL_CONTROL, LocalControl};
use emulator::cpu::mips::asm::assemble;
use emulator::host::machine::Machine;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;
use host_lib::window::{System, SystemPort, Window};

const LATENCY_NS: u64 = 2_000;
const RAISE: u32 = LocalControl::RAISE_INTERRUPT.bits();

/// Notes of the programs, in order.
type Notes = Arc<Mutex<Vec<(&'static str, u64)>>>;

struct Bench {
    world: World,
    notes: Notes,
}

impl Bench {
    fn new() -> Self {
        let timing = Timing::built_in("tigon2-88mhz").unwrap();
        assert_eq!(timing.host.interrupt, SimTime::from_ns(LATENCY_NS));
        let board = Tigon2::new(SramSize::M1, timing);
        Self {
            world: World::new(vec![Node::new(0, board, &timing.host, 1)]),
            notes: Notes::default(),
        }
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &str,
        program: impl FnOnce(Machine, Notes) -> F,
    ) {
        let notes = Arc::clone(&self.notes);
        self.world.nodes[0]
            .programs
            .spawn(name, |machine| program(machine, notes));
    }

    fn run(&mut self) -> RunEnd {
        self.world.run(&RunLimits::default())
    }

    /// The times of the notes with this name.
    fn noted(&self, name: &str) -> Vec<u64> {
        let notes = self.notes.lock().unwrap();
        let with_name = notes.iter().filter(|(note, _)| *note == name);
        with_name.map(|(_, ps)| *ps).collect()
    }

    fn interrupts(&self) -> u64 {
        self.world.nodes[0].board::<Tigon2>().fabric.interrupts
    }
}

/// Waits for an interrupt, and notes time and result.
async fn wait(machine: &mut Machine, notes: &Notes, timeout_ns: Option<u64>) {
    let came = machine.wait_interrupt(timeout_ns).await;
    let note = if came.is_ok() { "interrupt" } else { "timeout" };
    notes.lock().unwrap().push((note, machine.now_ps()));
}

#[test]
fn a_program_goes_on_when_the_firmware_raises_the_interrupt() {
    let mut bench = Bench::new();
    let source = format!(
        "lui $gp, 0xc000\n li $t0, 1000\nloop: addiu $t0, $t0, -1\n bgtz $t0, loop\n nop\n \
         li $t0, {RAISE}\n sw $t0, {LOCAL_CONTROL}($gp)\n break"
    );
    let program = assemble(&format!(".org 0xc00000\n{source}")).unwrap();
    let node = &mut bench.world.nodes[0];
    for (address, word) in program.words() {
        let scratchpad = &mut node.board_mut::<Tigon2>().cores[0].private.scratchpad;
        scratchpad.write(address, emulator::cpu::mips::bus::Width::Word, word);
    }
    node.trace.keep(true);
    node.with_board::<Tigon2, _>(|board, ctx| board.start_core(0, 0xC0_0000, ctx));
    bench.spawn("first", |mut machine, notes| async move {
        wait(&mut machine, &notes, None).await;
    });
    bench.spawn("second", |mut machine, notes| async move {
        wait(&mut machine, &notes, Some(1_000_000)).await;
    });
    assert_eq!(bench.run(), RunEnd::Completed);
    let events = bench.world.nodes[0].trace.take();
    let raised = events
        .iter()
        .find(|event| event.kind.to_string() == "interrupt 1")
        .expect("the line rises");
    assert!(raised.time > SimTime::from_us(20), "after the loop");
    let taken = raised.time.ps() + LATENCY_NS * 1000;
    assert_eq!(bench.noted("interrupt"), [taken, taken]);
    assert_eq!(bench.interrupts(), 1);
}

#[test]
fn an_asserted_line_ends_every_wait() {
    let mut bench = Bench::new();
    bench.spawn("program", |mut machine, notes| async move {
        machine.write(LOCAL_CONTROL, RAISE).await;
        machine.compute(10_000).await;
        for _ in 0..2 {
            notes.lock().unwrap().push(("begin", machine.now_ps()));
            wait(&mut machine, &notes, None).await;
        }
        machine.write(window_mailbox(0), 0).await;
        machine.compute(1_000).await;
        wait(&mut machine, &notes, Some(5_000)).await;
    });
    assert_eq!(bench.run(), RunEnd::Completed);
    let expected: Vec<u64> = bench
        .noted("begin")
        .iter()
        .map(|ps| ps + 2_000_000)
        .collect();
    assert_eq!(bench.noted("interrupt"), expected);
    assert_eq!(bench.noted("timeout").len(), 1, "mailbox 0 ends it");
    assert_eq!(bench.interrupts(), 1);
}

#[test]
fn waits_end_in_time() {
    let mut bench = Bench::new();
    bench.spawn("program", |mut machine, notes| async move {
        for timeout_ns in [50_000, 10_000, 0, 100_000] {
            wait(&mut machine, &notes, Some(timeout_ns)).await;
        }
        machine.write(LOCAL_CONTROL, RAISE).await;
        wait(&mut machine, &notes, Some(1_000_000)).await;
        machine.write(window_mailbox(0), 0).await;
        // The timeout of the previous wait is still pending, and later than this one.
        wait(&mut machine, &notes, Some(7_000)).await;
        // Now the pending timeout is earlier.
        wait(&mut machine, &notes, Some(2_000_000)).await;
    });
    assert_eq!(bench.run(), RunEnd::Completed);
    let us = |ps: &u64| ps / 1_000_000;
    let timeouts = bench.noted("timeout");
    assert_eq!(timeouts[..4], [50, 60, 60, 160].map(|us| us * 1_000_000));
    let interrupt = us(&bench.noted("interrupt")[0]);
    assert_eq!(us(&timeouts[4]), interrupt + 7);
    assert_eq!(us(&timeouts[5]), interrupt + 2_007);
}

#[test]
fn a_masked_interrupt_does_not_reach_the_host() {
    let mut bench = Bench::new();
    let mask = HostControl::MASK_INTERRUPTS.bits();
    bench.spawn("program", move |mut machine, notes| async move {
        machine.write(HOST_CONTROL, mask).await;
        machine.write(LOCAL_CONTROL, RAISE).await;
        wait(&mut machine, &notes, Some(20_000)).await;
        assert_eq!(machine.read(HOST_CONTROL).await & 1, 1);
        machine.write(HOST_CONTROL, 0).await;
        wait(&mut machine, &notes, Some(20_000)).await;
    });
    assert_eq!(bench.run(), RunEnd::Completed);
    assert_eq!(bench.noted("timeout").len(), 1);
    assert_eq!(bench.noted("interrupt").len(), 1);
    assert_eq!(bench.interrupts(), 1, "it rises when the mask goes");
}

#[test]
fn each_raise_after_a_clear_counts() {
    let mut bench = Bench::new();
    let clear = HostControl::CLEAR_INTERRUPT.bits();
    bench.spawn("program", move |mut machine, notes| async move {
        for _ in 0..3 {
            machine.write(LOCAL_CONTROL, RAISE).await;
            machine.write(LOCAL_CONTROL, RAISE).await;
            wait(&mut machine, &notes, None).await;
            machine.write(HOST_CONTROL, clear).await;
        }
    });
    assert_eq!(bench.run(), RunEnd::Completed);
    assert_eq!(bench.interrupts(), 3);
}

#[test]
fn who_waits_for_ever_is_reported() {
    let mut bench = Bench::new();
    bench.spawn("driver", |mut machine, notes| async move {
        wait(&mut machine, &notes, None).await;
    });
    let RunEnd::Deadlock(lines) = bench.run() else {
        panic!("nothing can happen");
    };
    assert_eq!(lines[0], "node 0: driver waits for an interrupt");
}
