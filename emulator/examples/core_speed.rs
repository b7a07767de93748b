//! How fast the MIPS core runs on this machine: a loop that matches tags and sums words, on a flat
//! memory. `cargo run --release -p emulator --example core_speed [MILLIONS]`

use std::time::Instant;

use emulator::cpu::mips::asm::assemble;
use emulator::cpu::mips::exec::{Core, Exit, run};

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/mips/flat.rs"]
mod flat;
use flat::FlatBus;

/// Looks a tag up in a list of 64 and sums what it reads, for ever.
const PROGRAM: &str = "
again:
    li    $a0, 0x1000           # list
    li    $a1, 0x1100           # its end
    li    $a2, 0x7777           # the tag, which is not there
next:
    lw    $t0, 0($a0)
    addu  $t1, $t1, $t0         # one's complement sum
    sltu  $t2, $t1, $t0
    addu  $t1, $t1, $t2
    bne   $t0, $a2, other
    addiu $a0, $a0, 4
    break
other:
    bne   $a0, $a1, next
    sw    $t1, 0x800($zero)
    b     again
    nop
";

fn main() {
    let millions = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1000);
    let program = match assemble(PROGRAM) {
        Ok(program) => program,
        Err(error) => return eprintln!("core_speed: {error}"),
    };
    let mut bus = FlatBus::new(0x2000);
    bus.place(&program);
    let mut core = Core::default();
    let start = Instant::now();
    let exit = run(&mut core, &mut bus, u64::MAX, millions * 1_000_000);
    let seconds = start.elapsed().as_secs_f64();
    if exit != Exit::Limit {
        return eprintln!("core_speed: the program stopped: {exit:?}");
    }
    let rate = core.instructions() as f64 / seconds / 1e6;
    println!("{rate:.0} million instructions/s ({seconds:.2} s)");
}
