//! Boards that are joined: packets by programs of both, backpressure, packets that a reset cuts, routes over a crossbar.

use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use emulator::wire::myrinet::CrossbarConfig;

use crate::bench::{Bench, PROFILES};

const STOP: &str = "end: bt end\n nop\n nop\n";
const SEND: u32 = 8;
const BUFF: u32 = 4;
const RECV: u32 = 2;

fn set(register: &str, value: u32) -> String {
    format!("li {value}, %r9\n nop\n nop\n st %r9, {{{register}}}[%r0]\n nop\n")
}

fn four(bench: &Bench) -> bool {
    bench.register("isr") == 0xC_0028
}

/// The options with CRC-8 both ways.
fn options(bench: &Bench) -> String {
    set("myrinet", if four(bench) { 2 } else { 0xC })
}

/// Waits for a bit of the status.
fn wait(bench: &Bench, bit: u32, label: &str) -> String {
    let read = match four(bench) {
        true => "mov %r31, %r10",
        false => "ld {isr}[%r0], %r10",
    };
    format!(
        "{label}: {read}\n nop\n nop\n li {bit}, %r9\n and.f %r10, %r9, %r0\n beq {label}\n nop\n nop\n"
    )
}

/// Sends a segment from `start`.
fn segment(bench: &Bench, start: u32, length: u32, tail: bool, label: &str) -> String {
    let limit = match four(bench) {
        true => start + length - 4,
        false => start + length,
    };
    [
        set("smp", start),
        set("sa", 0),
        set(if tail { "smlt" } else { "sml" }, limit),
        wait(bench, SEND, label),
    ]
    .concat()
}

/// Arms the receiver.
fn arm(start: u32, length: u32) -> String {
    [set("rmp", start), set("rml", start + length - 4)].concat()
}

fn bytes(length: u32, seed: u8) -> Vec<u8> {
    (0..length).map(|index| (index * 5) as u8 ^ seed).collect()
}

/// Loads the programs of both nodes, and starts them.
fn start(bench: &mut Bench, programs: [&str; 2]) {
    for (node, program) in programs.into_iter().enumerate() {
        bench.node = node;
        let options = options(bench);
        bench.load(&format!("{options}{program}{STOP}"));
    }
    for node in 0..2 {
        bench.node = node;
        let control = bench.control();
        bench.write(control, 1 << 31);
    }
}

fn stored(bench: &mut Bench, node: usize, at: u32, length: u32) -> Vec<u8> {
    bench.node = node;
    bench.board().fabric.sram.copy(at, length)
}

/// Routes of the packets: none over a cable, a byte over a crossbar.
fn exchange(profile: &str, crossbar: bool) {
    let mut bench = match crossbar {
        false => Bench::pair(profile),
        true => {
            let pipeline = Bench::new(profile).generation.pipeline();
            let mut bench = Bench::nodes(profile, pipeline, 2);
            let cable = bench.cable(6);
            let ports = bench.world.add_crossbar(&CrossbarConfig::new(8)).unwrap();
            for node in 0..2 {
                bench
                    .world
                    .connect_myrinet(node, (ports, node), cable)
                    .unwrap();
            }
            bench
        }
    };
    // A ping of two segments, and a pong of one.
    let ping = [
        arm(0x4000, 4096),
        segment(&bench, 0x2000, 8, false, "a"),
        segment(&bench, 0x3000, 1000, true, "b"),
        wait(&bench, RECV, "c"),
    ]
    .concat();
    let pong = [
        arm(0x4000, 4096),
        wait(&bench, RECV, "a"),
        segment(&bench, 0x2000, 64, true, "b"),
    ]
    .concat();
    let header = |there, seed| {
        let mut header = bytes(8, seed);
        // The route goes in front of the type, or is part of the data.
        header[..3].copy_from_slice(if crossbar { there } else { &[0, 0, 4] });
        header
    };
    let (first, second) = (header(&[0x81, 0, 4], 1), header(&[0xBF, 0, 4], 2));
    let (body, rest) = (bytes(1000, 3), bytes(56, 4));
    for (node, places) in [
        [(0x2000, &first), (0x3000, &body)],
        [(0x2000, &second), (0x2008, &rest)],
    ]
    .into_iter()
    .enumerate()
    {
        bench.node = node;
        for (at, data) in places {
            bench.board().fabric.sram.store(at, data);
        }
    }
    start(&mut bench, [&ping, &pong]);
    bench.run_us(200);
    let skip = usize::from(crossbar);
    let check = |data: &[&[u8]]| [&data.concat()[skip..], &[0]].concat();
    for (node, expected) in [(1, check(&[&first, &body])), (0, check(&[&second, &rest]))] {
        let found = stored(&mut bench, node, 0x4000, expected.len() as u32);
        assert!(found == expected, "{profile} {node}: {found:x?}");
        assert_eq!(
            bench.status() & (SEND | RECV | BUFF),
            SEND | RECV,
            "{profile}"
        );
    }
    let counts = bench.world.fabric_counts();
    assert_eq!((counts.sent, counts.delivered), (2, 2));
}

#[test]
fn programs_of_two_boards_exchange_packets() {
    for profile in PROFILES {
        exchange(profile, false);
        exchange(profile, true);
    }
}

/// A node that sends a packet of `length` bytes at once, and one that does nothing.
fn one_way(profile: &str, length: u32) -> Bench {
    let mut bench = Bench::pair(profile);
    let send = segment(&bench, 0x3000, length, true, "a");
    bench.board().fabric.sram.store(0x3000, &bytes(length, 7));
    start(&mut bench, [&send, ""]);
    bench
}

#[test]
fn a_receiver_without_a_buffer_stops_the_sender() {
    let check = |profile: &str, length: u32, waits: bool| {
        let mut bench = one_way(profile, length);
        bench.run_us(500);
        bench.node = 0;
        // A packet that fits into the slack of the port and the cable leaves its sender.
        assert_eq!(bench.status() & SEND != 0, !waits, "{profile} {length}");
        let stops = bench.world.myrinet_flow_counts(0).unwrap().stops;
        assert_eq!(stops, 1);
        bench.node = 1;
        let [rmp, rml] = ["rmp", "rml"].map(|name| bench.register(name));
        bench.write(rmp, 0x4000);
        // The buffer is too short at first.
        bench.write(rml, 0x4000 + 48 - 4);
        bench.run_us(100);
        assert_eq!(bench.status() & (RECV | BUFF), BUFF, "{profile} {length}");
        bench.write(rml, 0x4000 + 8192);
        bench.run_us(100);
        assert_eq!(bench.status() & (RECV | BUFF), RECV, "{profile} {length}");
        let expected = [bytes(length, 7), vec![0]].concat();
        let found = stored(&mut bench, 1, 0x4000, expected.len() as u32);
        assert!(found == expected, "{profile} {length}");
        bench.node = 0;
        assert_eq!(bench.status() & SEND, SEND);
        assert_eq!(bench.world.fabric_counts().delivered, 1);
    };
    for profile in PROFILES {
        check(profile, 2000, true);
        check(profile, 52, false);
    }
}

#[test]
fn a_reset_cuts_a_packet_that_leaves() {
    for profile in PROFILES {
        let mut bench = one_way(profile, 4000);
        bench.node = 1;
        let [rmp, rml] = ["rmp", "rml"].map(|name| bench.register(name));
        bench.write(rmp, 0x4000);
        bench.write(rml, 0x8000);
        bench.run_us(10);
        bench.node = 0;
        let control = bench.control();
        bench.write(control, 1 << 30);
        bench.run_us(100);
        bench.node = 1;
        assert_eq!(bench.status() & (RECV | BUFF), RECV, "{profile}");
        let pointer = bench.read(rmp);
        assert!(pointer > 0x4000 && pointer < 0x4000 + 4000, "{pointer:#x}");
        assert_eq!(bench.world.fabric_counts().cut_short, 1);
        // The next packet is whole.
        bench.write(rmp, 0x8000);
        bench.write(rml, 0xC000);
        bench.node = 0;
        bench.write(control, 1 << 31);
        bench.run_us(100);
        assert_eq!(
            stored(&mut bench, 1, 0x8000, 4000),
            bytes(4000, 7),
            "{profile}"
        );
        assert_eq!(bench.world.fabric_counts().delivered, 1);
    }
}

#[test]
fn a_chip_that_is_reset_absorbs_the_packet_that_comes_in() {
    for profile in PROFILES {
        let mut bench = one_way(profile, 4000);
        bench.run_us(10);
        bench.node = 1;
        let control = bench.control();
        bench.write(control, 1 << 30);
        bench.run_us(100);
        bench.node = 0;
        assert_eq!(bench.status() & SEND, SEND, "{profile}");
        bench.node = 1;
        bench.write(control, 1 << 31);
        let [rmp, rml] = ["rmp", "rml"].map(|name| bench.register(name));
        bench.write(rmp, 0x4000);
        bench.write(rml, 0x8000);
        bench.run_us(100);
        assert_eq!(bench.status() & RECV, 0, "{profile}");
        assert_eq!(bench.world.fabric_counts().delivered, 1);
    }
}

#[test]
fn threads_and_interruptions_change_nothing() {
    let run = |slices: u64, threads: usize, skip: bool| {
        let mut bench = one_way("lanai9.1-133", 3000);
        for node in 0..2 {
            bench.node = node;
            bench.board().skip_idle = skip;
        }
        bench.node = 1;
        let rmp = bench.register("rmp");
        bench.write(rmp, 0x4000);
        let rml = bench.register("rml");
        bench.write(rml, 0x4100);
        for slice in 1..=slices {
            let end = SimTime::from_us(120 * slice / slices);
            bench.world.pass_time(&RunLimits {
                max_time: Some(end),
                threads: threads.try_into().unwrap(),
                ..RunLimits::default()
            });
        }
        (
            bench.world.trace_hash(),
            bench.world.fabric_counts(),
            bench.status(),
        )
    };
    let plain = run(1, 1, true);
    assert_eq!(plain, run(60, 1, true));
    assert_eq!(plain, run(7, 2, true));
    assert_eq!(plain, run(1, 1, false));
}
