//! NRES takes blocked packets out of the network; the status tells that, and a lost carrier.

use emulator::lanai::chip::Generation;
use emulator::sim::time::SimTime;

use super::bench::{Bench, PROFILES};

/// A program that does nothing.
const REST: &str = "a: bt a\n nop\n";
/// Bits of the status.
const NRES: u32 = 1 << 11;
const RECV: u32 = 1 << 1;

/// Two nodes at rest out of reset, with these options of the port.
fn pair(profile: &str, options: [u32; 2]) -> Bench {
    let mut bench = Bench::pair(profile);
    for (node, options) in options.into_iter().enumerate() {
        bench.node = node;
        bench.load(REST);
        let control = bench.control();
        bench.write(control, 1 << 31);
        let myrinet = bench.register("myrinet");
        bench.write(myrinet, options);
    }
    bench
}

/// Node 0 sends `length` bytes.
fn send(bench: &mut Bench, length: u32) {
    bench.node = 0;
    bench.board().fabric.sram.store(0x2000, &[0, 4, 1, 2, 3, 4]);
    let [start, limit] = ["smp", "smlt"].map(|name| bench.register(name));
    bench.write(start, 0x2000);
    let end = 0x2000 + length;
    bench.write(
        limit,
        end - if bench.generation == Generation::L4 {
            4
        } else {
            0
        },
    );
}

fn status(bench: &mut Bench, node: usize) -> u32 {
    bench.node = node;
    bench.status()
}

/// The bit for a sender that was blocked.
const fn blocked(generation: Generation) -> u32 {
    match generation {
        Generation::L4 => 1 << 6,
        Generation::L7 => 0,
        Generation::L9 => 1 << 23,
    }
}

#[test]
fn a_blocked_packet_is_taken_out_after_the_time_out() {
    for profile in PROFILES {
        // Options: CRC; node 1 never arms its receiver.
        let check = |options: [u32; 2], at_sender: bool, at_receiver: bool| {
            let mut bench = pair(profile, options);
            let blocked = blocked(bench.generation);
            send(&mut bench, 1000);
            bench.run_us(49_000);
            assert_eq!(status(&mut bench, 0) & (NRES | blocked), 0, "{profile}");
            assert_eq!(
                bench.world.fabric_counts().lost + bench.world.fabric_counts().cut_short,
                0
            );
            bench.run_us(2_000);
            let expected = if at_sender { NRES | blocked } else { 0 };
            assert_eq!(
                status(&mut bench, 0) & (NRES | blocked),
                expected,
                "{profile} {options:?}"
            );
            let found = status(&mut bench, 1) & NRES != 0;
            assert_eq!(found, at_receiver, "{profile} {options:?}");
            let counts = bench.world.fabric_counts();
            assert_eq!(
                counts.lost + counts.cut_short,
                u64::from(at_sender || at_receiver)
            );
            bench
        };
        check([2, 2], false, false);
        check([3, 2], true, false);
        let mut bench = check([2, 3], false, true);
        // The port is free: the next packet comes whole.
        send(&mut bench, 16);
        bench.node = 1;
        let [buffer, limit] = ["rmp", "rml"].map(|name| bench.register(name));
        bench.write(buffer, 0x4000);
        bench.write(limit, 0x4FF8);
        bench.run_us(20);
        assert_eq!(status(&mut bench, 1) & RECV, RECV, "{profile}");
        assert_eq!(bench.word(0x4000), 0x0004_0102, "{profile}");
    }
}

#[test]
fn go_in_time_saves_a_packet() {
    let mut bench = pair("lanai9.1-133", [3, 3]);
    send(&mut bench, 1000);
    bench.run_us(49_000);
    bench.node = 1;
    let [buffer, limit] = ["rmp", "rml"].map(|name| bench.register(name));
    bench.write(buffer, 0x4000);
    bench.write(limit, 0x4FF8);
    bench.run_us(60_000);
    assert_eq!(status(&mut bench, 1) & (RECV | NRES), RECV);
    assert_eq!(status(&mut bench, 0) & NRES, 0);
}

#[test]
fn a_lost_carrier_shows_in_the_status() {
    for profile in PROFILES {
        let mut bench = pair(profile, [2, 2]);
        let bits = match bench.generation {
            Generation::L4 => 1 << 12,
            Generation::L7 => 1 << 24,
            Generation::L9 => 1 << 24 | 1 << 16,
        };
        let [from, until] = [50, 60].map(|us| bench.world.now() + SimTime::from_us(us));
        bench.world.unplug_myrinet(0, from, Some(until)).unwrap();
        bench.run_us(49);
        assert_eq!(status(&mut bench, 0) & bits, 0, "{profile}");
        bench.run_us(20);
        for node in 0..2 {
            assert_eq!(status(&mut bench, node) & bits, bits, "{profile}");
        }
        // Writing 1 clears them: the carrier is back.
        let isr = bench.register("isr");
        bench.write(isr, bits);
        bench.run_us(20);
        assert_eq!(bench.status() & bits, 0, "{profile}");
    }
}
