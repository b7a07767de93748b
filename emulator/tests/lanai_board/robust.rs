//! No register write, window write or program makes the board panic; equal runs have equal bits, also over a saved state.

use cases::cases;
use proptest::prelude::*;

use crate::bench::{Bench, PROFILES};

/// Values that registers are likely to tell apart.
fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (0_u32..32).prop_map(|bit| 1 << bit),
        0_u32..0x9000,
        Just(u32::MAX),
        Just(0),
    ]
}

fn offset(four: bool) -> impl Strategy<Value = u32> {
    let registers = if four { 0xC_0000 } else { 0x80_4000 };
    prop_oneof![
        8 => (0_u32..128).prop_map(move |index| registers + 4 * index),
        1 => Just(if four { 0xE_0000 } else { 0x80_0040 }),
        1 => (0_u32..16).prop_map(|index| 0x80_0100 + 4 * index),
        1 => any::<u32>().prop_map(|offset| offset & 0xFF_FFFC),
    ]
}

/// A program of random stores to registers, then random words.
fn noise(stores: &[(u32, u32)]) -> String {
    let mut text = String::new();
    for (place, value) in stores {
        let address = (0xFFFF_FE00 + (place & 0x1FC)).cast_signed();
        text += &format!("li {value}, %r9\n nop\n nop\n st %r9, {address}[%r0]\n");
    }
    text + "end: bt end\n nop\n nop\n"
}

/// The end state of a run with a program of stores and with writes through the window, in so many slices after each.
fn run(
    profile: usize,
    window: &[(u32, u32, u32)],
    stores: &[(u32, u32)],
    slices: u64,
    skip: bool,
) -> impl PartialEq + std::fmt::Debug {
    let mut bench = Bench::running(PROFILES[profile], &noise(stores));
    bench.board().skip_idle = skip;
    bench.loop_back();
    for &(four, later, value) in window {
        let offset = if profile == 0 { four } else { later };
        bench.write(offset, value);
        bench.read(offset);
        for _ in 0..slices {
            bench.run_us(12 / slices);
        }
    }
    bench.world.save().unwrap();
    let view =
        emulator::board::Inspect::cpu(bench.board(), emulator::board::CpuId::new(0)).unwrap();
    (
        bench.world.trace_hash(),
        view.pc,
        view.instructions,
        view.time,
        bench.status(),
    )
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn no_write_panics(
        profile in 0_usize..4,
        window in prop::collection::vec((offset(true), offset(false), value()), 1..24),
        stores in prop::collection::vec((any::<u32>(), value()), 0..24),
    ) {
        let run = |slices, skip| run(profile, &window, &stores, slices, skip);
        let plain = run(1, true);
        prop_assert_eq!(&plain, &run(3, true));
        prop_assert_eq!(&plain, &run(1, false));
    }
}

/// Found by the test above.
#[test]
fn a_packet_may_come_back_while_it_is_sent() {
    let window = [(0, 0x80_0040, 0x2400_0000), (0, 0x80_4108, 1)];
    for slices in [1, 3] {
        let _ = run(1, &window, &[], slices, true);
    }
}

#[test]
fn a_saved_board_goes_on_with_equal_bits() {
    let source = "mov 0, %r8\nloop: add %r8, 1, %r8\n st %r8, 0x500[%r0]\n st %r8, {it}[%r0]\n bt loop\n nop\n nop\n";
    let mut plain = Bench::running("lanai4.3-33", source);
    plain.run_us(15);
    let (state, logs) = (plain.world.save().unwrap(), plain.world.logs());
    plain.run_us(30);
    let mut loaded = Bench::new("lanai4.3-33");
    loaded.world.load(&state, &logs).unwrap();
    loaded.run_us(30);
    assert_eq!(loaded.world.save().unwrap(), plain.world.save().unwrap());
}
