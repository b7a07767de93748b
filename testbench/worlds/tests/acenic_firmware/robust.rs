//! Defective hosts: the firmware reports the error and continues.

use emulator::tigon2::board::Tigon2;
use lanigon_worlds::boards::KB;
use std::time::Duration;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use defs::acenic::descriptor::{Errors, Flags, RECEIVE_BYTES, SEND_BYTES};
use defs::acenic::info::{self, RingFlags};
use defs::acenic::message::{CLEAR_STATISTICS, word};
use defs::acenic::{
    COMMAND_CONSUMER, COMMAND_ENTRIES, EVENT_CONSUMER, INFO_HIGH, INFO_LOW, JUMBO_ENTRIES,
    MAILBOX_COMMAND, MAILBOX_SEND, MAILBOX_STANDARD, MINI_ENTRIES, Mode, SEND_NIC_BASE,
    STANDARD_ENTRIES,
};
use defs::tigon2::map::{COMMAND_RING_BASE, mailbox_low};
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::frame::Frame;
use host_lib::acenic::{Command, Config, Event, Fragment, SendOptions, SendRing};
use host_lib::window::System;
use lanigon_worlds::images;

use super::support::{
    FRAMES_FROM, Nic, arriving, bench, bench_with, config, leaving, statistics, trace_names,
    work_for, work_until,
};

/// High word of an unmapped host address.
const NOWHERE: u32 = 0x7FFF_0000;

/// Frame `number` of a test.
fn frame(number: u32) -> Vec<u8> {
    leaving(1000, number as usize)
}

/// Queues `count` frames, changes words of the descriptors of those in `bad`, and sends them all.
async fn send(nic: &mut Nic, first: u32, count: u32, bad: &[u32], word: u32, value: u32) {
    for number in first..first + count {
        let bytes = frame(number);
        let whole = Fragment {
            bytes: &bytes,
            offset: 0,
        };
        nic.queue_fragments(&[whole], SendOptions::default())
            .await
            .unwrap();
    }
    for number in bad {
        let at = SEND_NIC_BASE + number * SEND_BYTES + word;
        nic.board_mut().write_sram(at, value).await;
    }
    nic.ring_send().await;
}

/// Checks bad frames: of 10 frames number 3 and 4 are bad, the others are sent, and the driver gets all descriptors back.
fn check_bad_frames(assist: Mode, word: u32, value: u32, counter: &'static str, events: usize) {
    let mut config = Config {
        send_ring: SendRing::NIC,
        ..config()
    };
    config.mode |= assist;
    let mut bench = bench(config, move |mut nic| async move {
        send(&mut nic, 0, 10, &[3, 4], word, value).await;
        let work = work_for(&mut nic, 5000).await;
        let events: Vec<_> = work.events.iter().map(|item| item.event).collect();
        assert_eq!(work.sent, 10);
        (events, statistics(&mut nic).await.get(counter))
    });
    let (reported, count) = bench.run();
    assert_eq!(reported, vec![Event::BadConfiguration; events]);
    assert_eq!(count, Some(2), "{counter}");
    let good: Vec<_> = [0, 1, 2, 5, 6, 7, 8, 9].map(frame).into();
    assert!(bench.sent() == good);
}

#[test]
fn bad_frames_hold_nobody_up() {
    let length_flags = |length: u32| length << 16 | Flags::END.bits();
    for assist in [Mode::empty(), Mode::ONE_DMA] {
        check_bad_frames(assist, 0, NOWHERE, "if_out_errors", 2);
        check_bad_frames(assist, 0, NOWHERE, "nic_dma_rd_master_aborts", 2);
        check_bad_frames(assist, 8, length_flags(0), "if_out_discards", 0);
        check_bad_frames(assist, 8, length_flags(13), "if_out_discards", 0);
        check_bad_frames(assist, 8, length_flags(9217), "if_out_discards", 0);
    }
}

#[test]
fn a_full_ring_without_an_end_is_given_back() {
    const ENTRIES: u32 = 127;
    let config = Config {
        send_ring: SendRing::NIC,
        ..config()
    };
    let mut bench = bench(config, |mut nic| async move {
        let all: Vec<u32> = (0..ENTRIES).collect();
        send(&mut nic, 0, ENTRIES, &all, 8, 1000 << 16).await;
        let lost = work_for(&mut nic, 2000).await.sent;
        send(&mut nic, 0, 1, &[], 0, 0).await;
        (lost, work_for(&mut nic, 2000).await.sent)
    });
    assert_eq!(bench.run(), (ENTRIES, 1));
    assert!(bench.sent() == [frame(0)]);
}

/// Frames with failed DMA do not occupy space permanently.
#[test]
fn many_unreadable_frames_leave_room() {
    let config = Config {
        send_ring: SendRing::NIC,
        ..config()
    };
    let mut bench = bench(config, |mut nic| async move {
        let all: Vec<u32> = (0..128).collect();
        for _ in 0..8 {
            // 127 entries at a time: those behind the ring's end are written at its beginning.
            send(&mut nic, 0, 120, &all, 0, NOWHERE).await;
            assert_eq!(work_for(&mut nic, 5000).await.sent, 120);
        }
        send(&mut nic, 7, 1, &[], 0, 0).await;
        work_for(&mut nic, 2000).await.sent
    });
    assert_eq!(bench.run(), 1);
    assert!(bench.sent() == [frame(7)]);
}

/// Address of the standard ring's cache; the trace gives the end of the tables.
async fn standard_cache(nic: &mut Nic) -> u32 {
    let end = nic.trace().await.unwrap()[0].arguments[0];
    end - (MINI_ENTRIES + JUMBO_ENTRIES + STANDARD_ENTRIES) * RECEIVE_BYTES
}

/// Corrupts the first of two standard buffers; returns the results.
fn check_bad_buffer(assist: Mode, word: u32, value: u32, expected: Errors, events: usize) {
    let mut config = config();
    config.mode |= assist;
    let mut bench = bench(config, move |mut nic| async move {
        let cache = standard_cache(&mut nic).await;
        nic.board_mut().write_sram(cache + word, value).await;
        let work = work_until(&mut nic, FRAMES_FROM + SimTime::from_us(3000)).await;
        (work.received, work.events.len())
    });
    let frames = [1, 2].map(|seed| Frame::new(arriving(500, seed)));
    bench.arrive(frames, Duration::ZERO);
    let (received, reported) = bench.run();
    assert_eq!(reported, events);
    assert_eq!(received[0].errors, expected);
    assert!(received[0].flags.contains(Flags::FRAME_ERROR));
    assert!(received[1].bytes == arriving(500, 2) && received[1].errors.is_empty());
}

#[test]
fn bad_buffers_hold_nobody_up() {
    for assist in [Mode::empty(), Mode::ONE_DMA] {
        check_bad_buffer(assist, 0, NOWHERE, Errors::MAC_ABORT, 1);
        check_bad_buffer(assist, 8, 100, Errors::TRUNCATED, 0);
    }
}

#[test]
fn nonsense_in_mailboxes_is_traced() {
    let mut bench = bench(config(), |mut nic| async move {
        for (mailbox, value) in [
            (MAILBOX_SEND, 257),
            (MAILBOX_STANDARD, 0xFFFF_FFFF),
            (31, 5),
        ] {
            nic.board_mut()
                .write_sram(mailbox_low(mailbox), value)
                .await;
            // A mailbox holds one value: the firmware must take it before the next one.
            nic.system_mut().compute(20_000).await;
        }
        // The command ring wraps once more, without new commands.
        nic.board_mut()
            .write_sram(mailbox_low(MAILBOX_COMMAND), 64 + 1)
            .await;
        nic.send(&frame(0), SendOptions::default()).await.unwrap();
        let work = work_for(&mut nic, 1000).await;
        (work.sent, work.events.len(), trace_names(&mut nic).await)
    });
    let (sent, events, names) = bench.run();
    assert_eq!((sent, events), (1, 0));
    let count = |name| names.iter().filter(|other| *other == name).count();
    assert_eq!((count("badProd"), count("hcmdMbx?")), (2, 1));
}

/// An information block with unmapped addresses only.
fn block_of_nowhere() -> Vec<u8> {
    let mut words = vec![0u32; (info::INFO_BYTES / 4) as usize];
    let mut set = |at: u32, word| words[(at / 4) as usize] = word;
    for ring in [
        info::EVENT_RING,
        info::SEND_RING,
        info::STANDARD_RING,
        info::JUMBO_RING,
        info::MINI_RING,
        info::RETURN_RING,
    ] {
        set(ring + info::RING_HIGH, NOWHERE);
    }
    set(
        info::SEND_RING + info::RING_LENGTH_FLAGS,
        256 << 16 | RingFlags::HOST_RING.bits(),
    );
    set(info::STANDARD_RING + info::RING_LENGTH_FLAGS, 1538 << 16);
    set(info::RETURN_RING + info::RING_LENGTH_FLAGS, 2048 << 16);
    for pointer in [
        info::EVENT_PRODUCER_POINTER,
        info::RETURN_PRODUCER_POINTER,
        info::SEND_CONSUMER_POINTER,
        info::STATISTICS_POINTER,
    ] {
        set(pointer, NOWHERE);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn rings_that_are_nowhere_stop_nothing() {
    let entry = images::own_image("acenic", 1024 * KB).unwrap().entry;
    for assist in [Mode::empty(), Mode::ONE_DMA] {
        let mut config = config();
        config.mode |= assist;
        let mut bench = bench_with(1024 * KB, config, move |mut nic| async move {
            nic.wait_running().await.unwrap();
            nic.halt().await.unwrap();
            let block = nic.system_mut().allocate(4096).unwrap();
            nic.system_mut()
                .write_memory(block, &block_of_nowhere())
                .unwrap();
            let pages = nic.system_mut().translate(block, 1).await.unwrap();
            let board = nic.board_mut();
            board.write_sram(INFO_HIGH, (pages[0].0 >> 32) as u32).await;
            board.write_sram(INFO_LOW, pages[0].0 as u32).await;
            board.write_sram(EVENT_CONSUMER, 0).await;
            board.start_cpu_a(entry).await;
            nic.system_mut().compute(2_000_000).await;
            nic.command(Command::StackUp).await.unwrap();
            for (mailbox, producer) in [(MAILBOX_STANDARD, 5), (MAILBOX_SEND, 200)] {
                let mailbox = mailbox_low(mailbox);
                nic.board_mut().write_sram(mailbox, producer).await;
            }
            nic.command_taken(Command::LoadStatistics).await.unwrap();
            let end = FRAMES_FROM + SimTime::from_us(5_000);
            let rest = nic.left_ns(end.ps());
            nic.system_mut().compute(rest).await;
            nic.command_taken(Command::ClearStatistics).await.unwrap();
            (
                nic.board_mut().halted_at().await,
                nic.trace().await.unwrap(),
            )
        });
        let frames = (0..10).map(|seed| Frame::new(arriving(500, seed)));
        bench.arrive(frames, Duration::ZERO);
        let (halted, trace) = bench.run();
        assert_eq!(halted, None);
        assert!(bench.sent().is_empty());
        let failed = trace
            .iter()
            .filter(|record| record.name.trim_end() == "dmaFail")
            .count();
        assert!((10..100).contains(&failed), "{failed}: {trace:?}");
    }
}

/// A host that writes anything into mailboxes, general words, commands, descriptors and buffers.
#[test]
fn a_wild_host_stops_nothing() {
    const WORD: u32 = 4;
    for seed in 0..40 {
        let mut config = config();
        if seed % 2 == 0 {
            config.send_ring = SendRing::NIC;
        }
        if seed % 3 == 0 {
            config.mode |= Mode::ONE_DMA;
        }
        let mut bench = bench(config, move |mut nic| async move {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let cache = standard_cache(&mut nic).await;
            for _ in 0..400 {
                let value = match random.next_u32() % 4 {
                    0 => random.next_u32(),
                    1 => random.next_u32() % 0x200,
                    2 => word(random.next_u32() % 0x14, random.next_u32() % 4, 0),
                    _ => (random.next_u32() % 2000) << 16 | 4,
                };
                let (base, words) = match random.next_u32() % 8 {
                    0 => (0x200, 0x100 / WORD),
                    1 => (0x300, 0x100 / WORD),
                    2 => (0x2000, 0x2000 / WORD),
                    3 => (cache, 0x100 / WORD),
                    _ => (mailbox_low(0), 12),
                };
                let at = base + random.next_u32() % words * WORD;
                nic.board_mut().write_sram(at, value).await;
                nic.system_mut().compute(20_000).await;
            }
            // It still accepts commands after all that.
            nic.system_mut().compute(20_000_000).await;
            let board = nic.board_mut();
            let commands = [word(CLEAR_STATISTICS, 0, 0); COMMAND_ENTRIES as usize];
            board.write_sram_burst(COMMAND_RING_BASE, &commands).await;
            board.write_sram(COMMAND_CONSUMER, 5).await;
            board.write_sram(mailbox_low(MAILBOX_COMMAND), 6).await;
            nic.system_mut().compute(20_000_000).await;
            (
                nic.board_mut().halted_at().await,
                nic.board_mut().read_sram(COMMAND_CONSUMER).await,
            )
        });
        let frames = (0..200).map(|number| Frame::new(arriving(60 + number * 6, number)));
        bench.arrive(frames, Duration::from_micros(30));
        assert_eq!(bench.run(), (None, 6), "seed {seed}");
        for cpu in 0..2 {
            assert_eq!(
                bench.node.board::<Tigon2>().stop_reason(cpu),
                None,
                "seed {seed}, CPU {cpu}"
            );
        }
    }
}
