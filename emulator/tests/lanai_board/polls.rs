//! A loop that polls the interrupt status and two words of memory, while engines use the bus, the host reads and writes, and timers pass:
//! skipped and executed rounds give the same results.

use cases::cases;
use emulator::board::{CpuId, Inspect};
use proptest::prelude::*;

use crate::bench::{Bench, PROFILES};

/// The words that the loop reads: the host's, and one in the buffer of received packets.
const WORDS: [u32; 2] = [0x600, 0x4008];
/// Address at which the loop notes the clock when something has changed.
const LOG: u32 = 0x800;

/// Notes the clock each time that the sum of status and words changes.
fn program() -> String {
    let [first, second] = WORDS;
    format!(
        "li {LOG}, %r12\n nop\n nop\n\
        loop: ld {{isr}}[%r0], %r10\n nop\n nop\n\
         ld {first}[%r0], %r11\n nop\n nop\n add %r10, %r11, %r10\n\
         ld {second}[%r0], %r11\n nop\n nop\n add %r10, %r11, %r10\n\
         sub.f %r10, %r15, %r0\n beq loop\n nop\n nop\n\
         mov %r10, %r15\n ld {{rtc}}[%r0], %r9\n nop\n nop\n st %r9, [%r12]\n add %r12, 4, %r12\n\
         bt loop\n nop\n nop\n"
    )
}

/// An action on the board from outside.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A packet leaves, and comes back over the looped cable.
    Send { length: u32 },
    /// The receiver stores what comes from here on.
    Arm { at: u32 },
    /// The host writes a word.
    Write { address: u32, value: u32 },
    /// The host reads a word.
    Read { address: u32 },
    /// A timer is set.
    Timer { value: u32 },
}

fn act() -> impl Strategy<Value = (Act, u64)> {
    let address = prop_oneof![Just(WORDS[0]), 0x700_u32..0x710, Just(LOG + 0x200)];
    let address = address.prop_map(|address| address & !3);
    let act = prop_oneof![
        3 => (16_u32..600).prop_map(|length| Act::Send { length: length & !7 }),
        3 => prop_oneof![Just(0x4000), Just(0x5000)].prop_map(|at| Act::Arm { at }),
        2 => (address.clone(), 0_u32..3).prop_map(|(address, value)| Act::Write { address, value }),
        1 => address.prop_map(|address| Act::Read { address }),
        1 => (1_u32..30).prop_map(|value| Act::Timer { value }),
    ];
    (act, 1_u64..9)
}

fn carry_out(bench: &mut Bench, act: Act) {
    let four = bench.register("isr") == 0xC_0028;
    let mut set = |name, value| {
        let offset = bench.register(name);
        bench.write(offset, value);
    };
    match act {
        Act::Send { length } => {
            set("smp", 0x3000);
            set("sa", 0);
            set("smlt", 0x3000 + length - if four { 4 } else { 0 });
        }
        Act::Arm { at } => {
            set("rmp", at);
            set("rml", at + 0x800 - 4);
        }
        Act::Write { address, value } => bench.write(address, value),
        Act::Read { address } => drop(bench.read(address)),
        Act::Timer { value } => set(if four { "it" } else { "it0" }, value),
    }
}

/// The end state of a run, and the ticks that the CPU was idle.
fn run(profile: usize, acts: &[(Act, u64)], skip: bool) -> (impl PartialEq + std::fmt::Debug, u64) {
    let mut bench = Bench::running(PROFILES[profile], &program());
    bench.board().skip_idle = skip;
    bench.loop_back();
    for (offset, byte) in (0x3000..0x3400).zip(1_u8..=251) {
        bench.board().fabric.sram.store(offset, &[byte]);
    }
    bench.run_us(20);
    for &(act, us) in acts {
        carry_out(&mut bench, act);
        bench.run_us(us);
    }
    let log: Vec<u32> = (0..64).map(|index| bench.word(LOG + 4 * index)).collect();
    let status = bench.status();
    let view = bench.board().cpu(CpuId::new(0)).expect("a CPU");
    let hash = bench.world.trace_hash();
    let left = (
        hash,
        log,
        status,
        view.pc,
        view.instructions,
        view.cycles,
        view.time,
    );
    (left, view.idle_ticks)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn skipped_rounds_are_those_that_are_executed(
        profile in 0..PROFILES.len(),
        acts in prop::collection::vec(act(), 1..24),
    ) {
        let (executed, none) = run(profile, &acts, false);
        let (skipped, idle) = run(profile, &acts, true);
        prop_assert_eq!(&executed, &skipped);
        prop_assert_eq!(none, 0);
        prop_assert!(idle > 0);
    }
}
