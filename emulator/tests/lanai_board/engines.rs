//! Host DMA, chains of blocks, and packets that come back over a looped cable.

use emulator::lanai::crc::crc32;
use emulator::sim::time::SimTime;
use emulator::wire::myrinet::{Packet, crc8};
use emulator::wire::unit::Unit;

use crate::bench::{Bench, PROFILES};

const STOP: &str = "end: bt end\n nop\n nop\n";

fn set(register: &str, value: u32) -> String {
    format!("li {value}, %r9\n nop\n nop\n st %r9, {{{register}}}[%r0]\n nop\n")
}

fn pattern(length: u32, seed: u8) -> Vec<u8> {
    (0..length)
        .map(|index| (index * 7 + index / 251) as u8 ^ seed)
        .collect()
}

/// Host memory of the bench: physical address of a contiguous buffer.
fn buffer(bench: &mut Bench, bytes: &[u8]) -> u64 {
    bench.world.nodes[0].with_board::<emulator::lanai::board::Lanai, _>(|_, ctx| {
        let (_, physical) = ctx
            .with_memory(|memory| memory.allocate_contiguous(1 << 16))
            .unwrap();
        ctx.write_memory(physical, bytes).unwrap();
        physical
    })
}

fn host_bytes(bench: &mut Bench, physical: u64, length: u32) -> Vec<u8> {
    bench.world.nodes[0].with_board::<emulator::lanai::board::Lanai, _>(|_, ctx| {
        let mut bytes = vec![0; length as usize];
        ctx.with_memory(|memory| memory.read_physical(physical, &mut bytes))
            .unwrap();
        bytes
    })
}

fn ones_sum(bytes: &[u8]) -> u32 {
    bytes.chunks(4).fold(0_u64, |sum, word| {
        let sum = sum + u64::from(u32::from_be_bytes(word.try_into().unwrap()));
        (sum & 0xFFFF_FFFF) + (sum >> 32)
    }) as u32
}

#[test]
fn a_lanai_4_moves_data_both_ways() {
    let check = |length: u32, seed: u32| {
        let bytes = pattern(length, 0x5A);
        let mut bench = Bench::new("lanai4.3-33");
        let host = buffer(&mut bench, &bytes);
        let move_it = |direction, host: u64, local| {
            [
                set("ear", host as u32),
                set("lar", local),
                set("dma_dir", direction),
                set("dma_ctr", length),
                format!("w{direction}: mov %r31, %r10\n nop\n li 0x10, %r9\n and.f %r10, %r9, %r0\n beq w{direction}\n nop\n"),
            ]
            .concat()
        };
        let source = [
            set("cks", seed),
            move_it(1, host, 0x8000),
            move_it(0, host + 0x8000, 0x8000),
            "mov 1, %r10\n st %r10, 0x400[%r0]\n".to_owned(),
        ];
        bench.load(&format!("{}{STOP}", source.concat()));
        let control = bench.control();
        bench.write(control, 1 << 31);
        bench.run_us(600);
        assert_eq!(bench.word(0x400), 1);
        assert_eq!(bench.board().fabric.sram.copy(0x8000, length), bytes);
        assert_eq!(host_bytes(&mut bench, host + 0x8000, length), bytes);
        let [counter, sum] = ["dma_ctr", "cks"].map(|name| bench.register(name));
        assert_eq!(bench.read(counter), 0);
        let expected = [&seed.to_be_bytes()[..], &bytes, &bytes].concat();
        assert_eq!(bench.read(sum), ones_sum(&expected));
    };
    check(4, 0);
    check(1000, 0x1234_5678);
    check(16384, !0);
}

/// Writes a block of a chain.
fn block(bench: &mut Bench, at: u32, next: u32, length: u32, local: u32, host: u64) {
    let words = [next, 0, length, local, (host >> 32) as u32, host as u32];
    for (index, word) in (0..).zip(words) {
        bench.board().fabric.sram.set_word(at + 4 * index, word);
    }
}

#[test]
fn later_chips_move_linked_blocks() {
    let check = |profile, length: u32, skew: u32| {
        let bytes = pattern(length, 0x33);
        let mut bench = Bench::new(profile);
        let host = buffer(&mut bench, &[&vec![0; skew as usize][..], &bytes].concat());
        let (from_host, terminal, wake) = (1, 2, 4);
        let second = host + 0x8000 + u64::from(skew);
        block(
            &mut bench,
            0x1000,
            0x1018 | from_host | wake,
            length,
            0x8003,
            host + u64::from(skew),
        );
        block(&mut bench, 0x1018, terminal, 0, 0, 0);
        block(&mut bench, 0x1100, 0x1118 | wake, length, 0x8003, second);
        block(&mut bench, 0x1118, terminal, 0, 0, 0);
        bench.write(0x80_0100, 0x1100);
        bench.write(0x80_0108, 0x1000);
        let wait = |at: u32, label| {
            format!(
                "{label}: ld {at}[%r0], %r10\n nop\n nop\n li 2, %r9\n and.f %r10, %r9, %r0\n beq {label}\n nop\n nop\n"
            )
        };
        let source = [
            set("pulse", 4),
            wait(0x1000, "a"),
            set("pulse", 2),
            wait(0x1100, "b"),
        ];
        bench.load(&format!("{}{STOP}", source.concat()));
        let control = bench.control();
        bench.write(control, 1 << 31);
        bench.run_us(200);
        assert_eq!(
            bench.board().fabric.sram.copy(0x8003, length),
            bytes,
            "{profile}"
        );
        assert_eq!(host_bytes(&mut bench, second, length), bytes);
        assert_eq!(bench.word(0x1100), 0x1118 | wake | terminal);
        assert_eq!(bench.read(0x80_0100), 0x1118);
        assert_eq!(bench.status() & 1 << 12, 1 << 12);
        let mut sum: u32 = bytes
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from))
            .sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        assert_eq!(bench.word(0x1004), sum, "{profile}");
    };
    for profile in &PROFILES[1..] {
        check(profile, 1, 0);
        check(profile, 4096, 0);
        check(profile, 5000, 3);
    }
}

#[test]
fn a_missing_page_ends_a_transfer_without_its_status() {
    let mut bench = Bench::running(
        "lanai4.3-33",
        &format!(
            "{}{}{}{STOP}",
            set("ear", 0xF000_0000),
            set("dma_dir", 1),
            set("dma_ctr", 64)
        ),
    );
    bench.run_us(20);
    assert_eq!(bench.status() & 0x10, 0);
    assert_eq!(emulator::board::Inspect::failed_transfers(bench.board()), 1);
}

/// Sends a header and a body over a looped cable, and receives them.
fn loop_program(bench: &Bench, network: u32, body: u32) -> String {
    let four = bench.register("isr") == 0xC_0028;
    let limit = |start: u32, length: u32| {
        if four {
            start + length - 4
        } else {
            start + length
        }
    };
    let read = if four {
        "mov %r31, %r10"
    } else {
        "ld {isr}[%r0], %r10"
    };
    let wait = |bit: u32, label: &str| {
        format!(
            "{label}: {read}\n nop\n nop\n li {bit}, %r9\n and.f %r10, %r9, %r0\n beq {label}\n nop\n nop\n"
        )
    };
    [
        set("myrinet", network),
        set("rmp", 0x4000),
        set("rml", 0x4000 + 8192 - 4),
        set("smp", 0x2000),
        set("sa", 2),
        set("sml", limit(0x2000, 16)),
        wait(8, "a"),
        set("smp", 0x3000),
        set("sa", 0),
        set("smlt", limit(0x3000, body)),
        wait(8, "b"),
        wait(2, "c"),
    ]
    .concat()
}

#[test]
fn packets_come_back_over_a_looped_cable() {
    let check = |profile: &str, network: u32, body: u32, check: &[u8]| {
        let mut bench = Bench::new(profile);
        bench.loop_back();
        let source = loop_program(&bench, network, body);
        bench.load(&format!("{source}{STOP}"));
        let (header, data) = (pattern(16, 1), pattern(body, 9));
        bench.board().fabric.sram.store(0x2000, &header);
        bench.board().fabric.sram.store(0x3000, &data);
        let control = bench.control();
        bench.write(control, 1 << 31);
        bench.run_us(100);
        let expected = [&header[2..], &data, check].concat();
        let length = expected.len() as u32;
        let stored = bench.board().fabric.sram.copy(0x4000, length);
        assert!(stored == expected, "{profile} {network}");
        let status = bench.status();
        assert_eq!(status & 0xE, 0xA, "{profile}: {status:#x}");
        let offset = bench.register("rmp");
        let pointer = bench.read(offset);
        let unit = if profile.starts_with("lanai4") { 4 } else { 8 };
        let over = status >> 8 & (unit - 1);
        assert_eq!(pointer - 0x4000 - over, length, "{profile}");
        assert_eq!(pointer % unit, 0);
    };
    check("lanai4.3-33", 2, 400, &[0]);
    check("lanai4.3-33", 2, 4096, &[0]);
    check("lanai7.2-66", 0, 403, &[0]);
    check("lanai7.2-66", 2, 64, &[0; 4]);
    check("lanai9.1-133", 0xC, 401, &[0]);
    check("lanai9.2-200", 2, 1000, &[0; 4]);
    // Without a check the last byte stands for it.
    check("lanai4.3-33", 0, 400, &[]);
    check("lanai9.2-200", 0, 399, &[]);
}

#[test]
fn a_packet_waits_until_the_receiver_is_armed() {
    for profile in PROFILES {
        let mut bench = Bench::running(profile, STOP);
        let network = bench.register("myrinet");
        bench.write(
            network,
            0xE & if profile.starts_with("lanai4") {
                2
            } else {
                0xC
            },
        );
        let bytes = pattern(100, 3);
        let packet = Packet::with_crc(bytes.clone(), 0x77);
        let residue = crc8(&bytes) ^ 0x77;
        assert!(packet.defects().check);
        bench.arrive(packet, SimTime::from_ns(100));
        bench.run_us(50);
        assert_eq!(bench.status() & 6, 0);
        let [rmp, rml] = ["rmp", "rml"].map(|name| bench.register(name));
        bench.write(rmp, 0x4000);
        bench.write(rml, 0x4000 + 60);
        bench.run_us(50);
        assert_eq!(bench.status() & 6, 4, "{profile}: the buffer is full");
        bench.write(rml, 0x4000 + 1000);
        assert_eq!(bench.status() & 6, 0);
        bench.run_us(50);
        assert_eq!(bench.status() & 6, 2, "{profile}");
        let stored = bench.board().fabric.sram.copy(0x4000, 101);
        assert_eq!(stored, [&bytes[..], &[residue]].concat(), "{profile}");
    }
}

#[test]
fn a_chip_in_reset_absorbs_packets() {
    let mut bench = Bench::new("lanai9.1-133");
    let packet = Packet::new(pattern(20, 0));
    bench.arrive(packet, SimTime::from_ns(100));
    bench.run_us(5);
    bench.load(STOP);
    bench.write(0x80_0040, 1 << 31);
    let [rmp, rml] = ["rmp", "rml"].map(|name| bench.register(name));
    bench.write(rmp, 0x4000);
    bench.write(rml, 0x4100);
    bench.run_us(50);
    assert_eq!(bench.status() & 6, 0);
}

#[test]
fn the_crc_32_leaves_the_routing_header_out() {
    let mut bench = Bench::new("lanai9.2-200");
    let source = [
        set("myrinet", 2),
        set("smh", 0x2002),
        set("smp", 0x2000),
        set("smlt", 0x2020),
    ];
    bench.load(&format!("{}{STOP}", source.concat()));
    let bytes = pattern(32, 4);
    bench.board().fabric.sram.store(0x2000, &bytes);
    bench.loop_back();
    bench.write(0x80_0040, 1 << 31);
    let [rmp, rml] = ["rmp", "rml"].map(|name| bench.register(name));
    bench.write(rmp, 0x4000);
    bench.write(rml, 0x4100);
    bench.run_us(20);
    // The route comes back with the packet: no crossbar takes it off, so the residue is not 0.
    let own = crc32(&bytes[2..]).to_be_bytes();
    let residue = crc32(&[&bytes[..], &own].concat()).to_be_bytes();
    let stored = bench.board().fabric.sram.copy(0x4000, 36);
    assert_eq!(stored, [&bytes[..], &residue].concat());
}
