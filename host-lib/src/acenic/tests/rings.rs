//! Commands, sends and receive buffers: contents of the rings.

use super::*;
use defs::acenic::descriptor::{Errors, Flags};
use defs::acenic::info::RingFlags;

const GROUP: MacAddress = MacAddress([0x01, 0x00, 0x5E, 1, 2, 3]);

#[test]
fn commands_are_words_in_the_ring() {
    let check = |command, general: &[(u32, u32)], entries: &[u32]| {
        let (fake, mut nic) = started(config());
        block_on(nic.command(command)).unwrap();
        let machine = fake.lock();
        for &(address, value) in general {
            assert_eq!(machine.word(address), value, "{command:?}");
        }
        let written: Vec<u32> = (0..entries.len() as u32)
            .map(|entry| machine.word(0x300 + 4 * entry))
            .collect();
        assert_eq!(written, entries, "{command:?}");
        assert_eq!(machine.word(0x10C), entries.len() as u32, "{command:?}");
    };
    let group = [(0x210, 0x0100), (0x214, 0x5E01_0203)];
    check(Command::StackUp, &[], &[0x0100_1000]);
    check(Command::StackDown, &[], &[0x0100_2000]);
    check(Command::UpdateGeneral, &[], &[0x0400_0000]);
    check(Command::ResetJumbo, &[], &[0x0500_0000]);
    check(Command::PartialReceive { count: 9 }, &[], &[0x0600_0009]);
    check(Command::AddMulticast(GROUP), &group, &[0x0800_0000]);
    check(Command::RemoveMulticast(GROUP), &group, &[0x0900_0000]);
    check(
        Command::AddMulticastExtended(GROUP),
        &[],
        &[0x1200_0000, 0x0100, 0x5E01_0203],
    );
    check(
        Command::RemoveMulticastExtended(GROUP),
        &[],
        &[0x1300_0000, 0x0100, 0x5E01_0203],
    );
    check(Command::Promiscuous(true), &[], &[0x0A00_1000]);
    check(Command::Promiscuous(false), &[], &[0x0A00_2000]);
    check(Command::NegotiateLink, &[], &[0x0B00_0000]);
    check(
        Command::SetAddress(OWN),
        &[(0x200, 0x60), (0x204, 0xCF20_1234)],
        &[0x0C00_0000],
    );
    check(Command::AllMulticast(true), &[], &[0x0E00_1000]);
    check(Command::AllMulticast(false), &[], &[0x0E00_2000]);
    check(Command::ClearStatistics, &[], &[0x0F00_0000]);
    check(Command::LoadStatistics, &[], &[0x1100_0000]);
    check(Command::Word(0x0200_0000), &[], &[0x0200_0000]);
}

#[test]
fn the_command_ring_wraps_and_never_overflows() {
    let (fake, mut nic) = started(config());
    block_on(async {
        for _ in 0..63 {
            nic.command(Command::LoadStatistics).await.unwrap();
        }
        let full = CommandError::Full { needed: 1, free: 0 };
        assert_eq!(nic.command(Command::StackUp).await, Err(full));
        fake.lock().take_commands(62);
        nic.command(Command::AddMulticastExtended(GROUP))
            .await
            .unwrap();
        let machine = fake.lock();
        assert_eq!(machine.word(0x300 + 63 * 4), 0x1200_0000);
        assert_eq!(machine.word(0x300), 0x0100);
        assert_eq!(machine.word(0x304), 0x5E01_0203);
        assert_eq!(machine.word(0x10C), 2);
    });
    block_on(async {
        fake.lock().take_commands(64);
        let wrong = CommandError::Consumer { consumer: 64 };
        assert_eq!(nic.command(Command::StackUp).await, Err(wrong));
        let address = OWN;
        let not_group = CommandError::NotGroup { address };
        assert_eq!(
            nic.command(Command::AddMulticast(OWN)).await,
            Err(not_group)
        );
    });
}

#[test]
fn a_command_that_is_never_taken_ends_the_wait() {
    let (fake, mut nic) = started(config());
    let outcome = block_on(nic.command_taken(Command::StackUp));
    assert!(
        matches!(
            outcome,
            Err(CommandError::NotTaken(WaitError::Timeout { .. }))
        ),
        "{outcome:?}"
    );
    fake.lock().takes_commands = true;
    assert_eq!(block_on(nic.command_taken(Command::StackUp)), Ok(()));
}

/// The words of send descriptor `entry` in host memory.
fn descriptor(machine: &Machine, entry: u32) -> [u32; 4] {
    let ring = machine.info_address(info::SEND_RING) + u64::from(entry * 16);
    [0, 4, 8, 12].map(|offset| machine.host_word(ring + offset))
}

/// The bytes of a send descriptor's buffer.
fn bytes(machine: &Machine, [high, low, length, _]: [u32; 4]) -> Vec<u8> {
    let start = u64::from(high) << 32 | u64::from(low);
    let bytes = start..start + u64::from(length >> 16);
    bytes.map(|at| machine.memory[&at]).collect()
}

#[test]
fn a_frame_is_a_descriptor_for_each_fragment() {
    let (fake, mut nic) = started(config());
    let fragments = [
        Fragment {
            bytes: &[1; 14],
            offset: 0,
        },
        Fragment {
            bytes: &[2; 101],
            offset: 3,
        },
    ];
    let options = SendOptions {
        checksum: true,
        vlan: Some(0x123),
        coalesce_now: true,
    };
    block_on(async {
        nic.send_fragments(&fragments, options).await.unwrap();
        nic.send(&[3; 60], SendOptions::default()).await.unwrap();
    });
    let machine = fake.lock();
    let all = [0, 1, 2].map(|entry| descriptor(&machine, entry));
    assert_eq!(
        all.map(|words| words[2]),
        [14 << 16 | 0xA01, 101 << 16 | 0xA05, 60 << 16 | 4]
    );
    assert_eq!(all.map(|words| words[3]), [0x123, 0x123, 0]);
    assert_eq!(all[1][1] % 64, 3, "the offset that the test requested");
    assert_eq!(
        all.map(|words| bytes(&machine, words)),
        [vec![1; 14], vec![2; 101], vec![3; 60]]
    );
    assert_eq!(machine.word(0x114), 3, "mailbox 2");
    assert_eq!((nic.send_pending(), nic.send_free()), (3, 252));
}

#[test]
fn a_ring_in_sram_is_written_through_the_window() {
    let (fake, mut nic) = started(Config {
        send_ring: SendRing::NIC,
        ..config()
    });
    block_on(nic.send(&[3; 60], SendOptions::default())).unwrap();
    let machine = fake.lock();
    let words = [0, 4, 8, 12].map(|offset| machine.word(0x3000 + offset));
    assert_eq!(words[2..], [60 << 16 | 4, 0]);
    assert_eq!(bytes(&machine, words), vec![3; 60]);
    assert_eq!(nic.send_free(), 126);
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let (fake, mut nic) = started(config());
    let mut check = |fragments: &[&[u8]], expected| {
        let fragments: Vec<_> = fragments
            .iter()
            .map(|bytes| Fragment { bytes, offset: 0 })
            .collect();
        let outcome = block_on(nic.send_fragments(&fragments, SendOptions::default()));
        assert_eq!(outcome, Err(expected));
    };
    let length = |length_bytes| SendError::Length {
        length_bytes,
        least: 14,
        most: 1536,
    };
    check(&[], length(0));
    check(&[&[0; 13]], length(13));
    check(&[&[0; 1537]], length(1537));
    check(&[&[0; 1000], &[0; 1000]], length(2000));
    check(&[&[0; 20], &[]], SendError::EmptyFragment { index: 1 });
    assert_eq!(fake.lock().word(0x114), 0, "nothing was handed over");
}

#[test]
fn the_send_ring_wraps_and_never_overflows() {
    let (fake, mut nic) = started(config());
    block_on(async {
        for _ in 0..255 {
            nic.send(&[0; 60], SendOptions::default()).await.unwrap();
        }
        let full = SendError::Full { needed: 1, free: 0 };
        assert_eq!(nic.send(&[0; 60], SendOptions::default()).await, Err(full));
        fake.lock().report(info::SEND_CONSUMER_POINTER, 250);
        assert_eq!(nic.collect().await.unwrap().sent, 250);
        for _ in 0..3 {
            nic.send(&[7; 60], SendOptions::default()).await.unwrap();
        }
        assert_eq!(fake.lock().word(0x114), 2, "mailbox 2");
        fake.lock().report(info::SEND_CONSUMER_POINTER, 2);
        assert_eq!(nic.collect().await.unwrap().sent, 8);
        assert_eq!(nic.send_pending(), 0);
    });
}

#[test]
fn receive_rings_are_filled() {
    let check = |config: Config, ring, mailbox, count: u32, expected: [u32; 2]| {
        let (fake, mut nic) = started(config);
        block_on(nic.fill_rings()).unwrap();
        let machine = fake.lock();
        assert_eq!(machine.word(mailbox), count);
        let mut buffers = Vec::new();
        for entry in 0..count {
            let words = machine.posted_buffer(ring, entry);
            assert_eq!(words[2], entry << 16 | expected[0]);
            assert_eq!(words[3], expected[1]);
            assert_ne!(words[7], 0);
            buffers.push(u64::from(words[0]) << 32 | u64::from(words[1]));
        }
        let apart = |pair: &[u64]| pair[1] - pair[0] >= u64::from(expected[0]);
        assert!(buffers.windows(2).all(apart), "buffers overlap");
    };
    check(config(), info::STANDARD_RING, 0x11C, 128, [1538, 0]);
    check(config(), info::MINI_RING, 0x12C, 128, [128, 0x1000]);
    let jumbo = Config {
        jumbo_buffers: 16,
        mtu: JUMBO_MTU,
        rings: Rings::alike(RingFlags::TCP_UDP_SUM),
        ..config()
    };
    check(jumbo.clone(), info::JUMBO_RING, 0x124, 16, [9038, 0x11]);
    check(jumbo, info::STANDARD_RING, 0x11C, 128, [1538, 1]);
}

#[test]
fn returned_frames_are_taken_and_their_buffers_posted_again() {
    let (fake, mut nic) = started(config());
    block_on(nic.fill_rings()).unwrap();
    {
        let mut machine = fake.lock();
        let mut mini = machine.posted_buffer(info::MINI_RING, 5);
        mini[2] = mini[2] & 0xFFFF_0000 | 60;
        mini[3] |= 4;
        machine.return_frame(0, mini, &[6; 60]);
        let mut standard = machine.posted_buffer(info::STANDARD_RING, 127);
        standard[2] = standard[2] & 0xFFFF_0000 | 1514;
        standard[3] = Flags::END.bits() | 0x201;
        standard[4] = 0xABCD_1234;
        standard[5] = 0x0001_0777;
        machine.return_frame(1, standard, &[9; 1514]);
        machine.report(info::RETURN_PRODUCER_POINTER, 2);
    }
    let work = block_on(nic.collect()).unwrap();
    assert_eq!(work.mistakes, []);
    let [short, long] = &work.received[..] else {
        panic!("two frames");
    };
    assert_eq!(
        (short.ring, &short.bytes[..]),
        (RingKind::Mini, &[6; 60][..])
    );
    assert_eq!((short.tcp_udp_sum, short.vlan), (None, None));
    assert_eq!(
        (long.ring, &long.bytes[..]),
        (RingKind::Standard, &[9; 1514][..])
    );
    assert_eq!((long.ip_sum, long.tcp_udp_sum), (0xABCD, Some(0x1234)));
    assert_eq!((long.vlan, long.errors), (Some(0x777), Errors::CRC));
    let machine = fake.lock();
    assert_eq!(
        machine.word(0x280),
        0,
        "stock drivers leave the return consumer at 0"
    );
    assert_eq!((machine.word(0x11C), machine.word(0x12C)), (129, 129));
    assert_eq!(
        machine.posted_buffer(info::MINI_RING, 128)[2],
        5 << 16 | 128
    );
    assert_eq!(
        machine.posted_buffer(info::STANDARD_RING, 128)[2],
        127 << 16 | 1538
    );
}

#[test]
fn all_receive_rings_wrap() {
    let (fake, mut nic) = started(Config {
        standard_buffers: 1,
        ..config()
    });
    block_on(nic.fill_rings()).unwrap();
    for number in 0..5000_u32 {
        {
            let mut machine = fake.lock();
            let mut words = machine.posted_buffer(info::STANDARD_RING, number % 512);
            words[2] = 200;
            words[3] = 4;
            machine.return_frame(number % 2048, words, &[number as u8; 200]);
            machine.report(info::RETURN_PRODUCER_POINTER, (number + 1) % 2048);
        }
        let work = block_on(nic.collect()).unwrap();
        assert_eq!(work.mistakes, [], "frame {number}");
        assert_eq!(work.received[0].bytes, [number as u8; 200]);
    }
    let machine = fake.lock();
    assert_eq!(machine.word(0x11C), 5001 % 512);
}
