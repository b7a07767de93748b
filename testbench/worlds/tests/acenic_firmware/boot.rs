//! Start-up until the firmware-running event, with valid and invalid configurations.

use lanigon_worlds::boards::KB;
use std::time::Duration;

use defs::acenic::info::{self, RingFlags};
use defs::acenic::{EVENT_CONSUMER, GIGABIT_STATE, INFO_HIGH, INFO_LOW, Mode, TRACE_MASK};
use defs::tigon2::regs::{ASSIST_STATE, PCI_STATE, PciState};
use emulator::wire::ethernet::frame::Frame;
use host_lib::acenic::{Command, Config, Event, Rings, SendRing};
use host_lib::window::{System, VirtualAddress};
use lanigon_worlds::images;

use super::support::{
    FRAMES_FROM, arriving, bench_with, command, config, open, trace_names, work_for, work_until,
};

#[test]
fn every_memory_size_and_assist_boots() {
    for (sram, megabytes) in [
        (512 * KB, 0x8_0000),
        (1024 * KB, 0x10_0000),
        (2048 * KB, 0x20_0000),
    ] {
        for assist in [Mode::empty(), Mode::ONE_DMA] {
            let mut config = config();
            config.mode |= assist;
            let mut bench = bench_with(sram, config, |mut nic| async move {
                nic.wait_running().await.unwrap();
                let state = nic.board_mut().read_register(ASSIST_STATE).await;
                (state & 0xFF, nic.trace().await.unwrap())
            });
            let (state, trace) = bench.run();
            assert_eq!(state, if assist.is_empty() { 0x20 } else { 0x25 });
            assert_eq!((&*trace[0].name, trace[0].code), ("probeMem", megabytes));
            assert!(trace.iter().any(|record| record.name == "**DAWN_A"));
            let b = trace.iter().any(|record| record.name == "**DAWN_B");
            assert_eq!(b, assist.is_empty());
        }
    }
}

#[test]
fn the_first_words_are_the_protocols() {
    let mut bench = bench_with(1024 * KB, config(), |mut nic| async move {
        open(&mut nic).await;
        let link = nic.board_mut().read_sram(GIGABIT_STATE).await;
        let words: Vec<u32> = nic.history().iter().map(|event| event.word).collect();
        (words, link)
    });
    let (words, link) = bench.run();
    assert_eq!(words, [0x0100_0000, 0x0600_1000]);
    assert_eq!(link, 0xC00C_0000);
}

#[test]
fn bad_configurations_do_not_open() {
    let with = |change: fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        config
    };
    let cases = [
        (
            "mini flags",
            with(|c| c.rings.mini = RingFlags::TCP_UDP_SUM),
        ),
        ("jumbo flags", with(|c| c.rings.jumbo = RingFlags::SNAP_SUM)),
        (
            "a send ring too low",
            with(|c| c.send_ring = SendRing::Nic { address: 0x1000 }),
        ),
        (
            "a send ring too high",
            with(|c| c.send_ring = SendRing::Nic { address: 0x3810 }),
        ),
        ("a short return ring", with(|c| c.return_entries = 1024)),
        (
            "sums and hardware assist",
            with(|c| {
                c.rings.send = RingFlags::TCP_UDP_SUM;
                c.mode |= Mode::ONE_DMA;
            }),
        ),
    ];
    for (name, config) in cases {
        let mut bench = bench_with(1024 * KB, config, |mut nic| async move {
            nic.wait_running().await.unwrap();
            let mut events: Vec<Event> = nic.history().iter().map(|item| item.event).collect();
            let more = work_for(&mut nic, 1000).await.events;
            events.extend(more.iter().map(|item| item.event));
            nic.fill_rings().await.unwrap();
            command(&mut nic, Command::StackUp).await;
            let work = work_until(&mut nic, FRAMES_FROM + FRAMES_FROM).await;
            (events, work.received.len(), trace_names(&mut nic).await)
        });
        bench.arrive([Frame::new(arriving(100, 0))], Duration::ZERO);
        let (events, received, trace) = bench.run();
        assert!(
            events.contains(&Event::BadConfiguration),
            "{name}: {events:?}"
        );
        assert_eq!(received, 0, "{name}");
        assert!(
            trace.iter().any(|name| name == "fwOpFail"),
            "{name}: {trace:?}"
        );
    }
}

/// A block as Linux 2.2.1 fills it, for firmware 12.1. Its events reach the host.
#[test]
fn an_older_host_is_told() {
    const BLOCK_WORDS: usize = info::INFO_BYTES as usize / 4;
    const EVENTS: u64 = 0x1000;
    const PRODUCER: u64 = 0x2000;
    let entry = images::own_image("acenic", 1024 * KB).unwrap().entry;
    let mut bench = bench_with(1024 * KB, config(), move |mut nic| async move {
        nic.wait_running().await.unwrap();
        nic.halt().await.unwrap();
        let system = nic.system_mut();
        let (block, bus) = system.allocate_contiguous(0x3000).unwrap();
        let mut words = [0_u32; BLOCK_WORDS];
        let mut put = |at: u32, word: u64| words[at as usize / 4] = word as u32;
        put(info::EVENT_RING + info::RING_LOW, bus.0 + EVENTS);
        put(info::SEND_RING + info::RING_LOW, 0x3800);
        put(info::SEND_RING + info::RING_LENGTH_FLAGS, 128 << 16);
        put(info::STANDARD_RING + info::RING_LENGTH_FLAGS, 1538 << 16);
        put(info::MINI_RING + info::RING_LENGTH_FLAGS, 2048 << 16);
        for (at, to) in [
            (0x460, PRODUCER),
            (0x468, PRODUCER + 8),
            (0x470, PRODUCER + 16),
        ] {
            put(at + 4, bus.0 + to);
        }
        let bytes: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        system.write_memory(block, &bytes).unwrap();
        let board = nic.board_mut();
        board.write_sram(INFO_HIGH, 0).await;
        board.write_sram(INFO_LOW, bus.0 as u32).await;
        board.write_sram(EVENT_CONSUMER, 0).await;
        board.start_cpu_a(entry).await;
        nic.system_mut().compute(2_000_000).await;
        let word = |at: u64| {
            let mut bytes = [0; 4];
            let at = VirtualAddress(block.0 + at);
            nic.system().read_memory(at, &mut bytes).unwrap();
            u32::from_le_bytes(bytes)
        };
        let events = [EVENTS, EVENTS + 8].map(word);
        (events, word(PRODUCER), trace_names(&mut nic).await)
    });
    let (events, producer, trace) = bench.run();
    assert_eq!(events, [0x0100_0000, 0x0700_3000]);
    assert!(producer >= 2, "{producer}");
    assert!(trace.iter().any(|name| name == "oldHost"), "{trace:?}");
}

/// Restarts CPU A with a changed SRAM word (or, without one, register). Returns whether it halts, and the
/// names in its trace.
fn boot_again(sram: bool, address: u32, value: u32) -> (bool, Vec<String>) {
    let entry = images::own_image("acenic", 1024 * KB).unwrap().entry;
    let mut config = config();
    config.rings = Rings::offload();
    let mut bench = bench_with(1024 * KB, config, move |mut nic| async move {
        nic.wait_running().await.unwrap();
        nic.halt().await.unwrap();
        let board = nic.board_mut();
        if sram {
            board.write_sram(address, value).await;
        } else {
            board.write_register(address, value).await;
        }
        board.start_cpu_a(entry).await;
        nic.system_mut().compute(2_000_000).await;
        let halted = nic.board_mut().halted_at().await.is_some();
        (halted, trace_names(&mut nic).await)
    });
    bench.run()
}

#[test]
fn what_the_host_got_wrong_is_said() {
    let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
    // It boots again with valid values.
    let (halted, names) = boot_again(true, TRACE_MASK, 1);
    assert!(!halted && has(&names, "linkUP"), "{names:?}");
    assert!(!has(&names, "fwOpFail"), "{names:?}");
    // Receive checksums and aligned writes.
    let (halted, names) = boot_again(false, PCI_STATE, PciState::WRITE_ALL_ALIGN.bits());
    assert!(!halted && has(&names, "fwOpFail"), "{names:?}");
    // No information block.
    let (halted, names) = boot_again(true, INFO_HIGH, 0x7FFF_FFFF);
    assert!(halted && has(&names, "*PANIC*"), "{names:?}");
    assert!(!has(&names, "genConf"), "{names:?}");
}
