//! Commands and their events.

use std::time::Duration;

use defs::acenic::Mode;
use defs::acenic::message::word;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::frame::Frame;
use host_lib::acenic::{Command, Config, Event, SendOptions};
use host_lib::address::MacAddress;

use super::support::{
    FRAMES_FROM, arriving, bench, command, config, leaving, statistics, work_for, work_until,
};

#[test]
fn every_command_has_its_event() {
    use Command as C;
    use Event as E;
    let group = MacAddress([1, 0, 0x5E, 0, 0, 1]);
    let refused = |command| vec![E::InvalidCommand { command }];
    let plain = |what| C::Word(word(what, 0, 0));
    let cases = [
        (C::StackDown, vec![]),
        (C::StackUp, vec![]),
        (C::UpdateGeneral, vec![]),
        (C::ResetJumbo, vec![E::JumboReset]),
        (C::PartialReceive { count: 0 }, vec![]),
        (
            C::PartialReceive { count: 64 },
            vec![E::UnimplementedCommand { command: 6 }],
        ),
        (C::AddMulticast(group), vec![E::MulticastAdded]),
        (C::RemoveMulticast(group), vec![E::MulticastRemoved]),
        (C::AddMulticastExtended(group), vec![E::MulticastAdded]),
        (C::RemoveMulticastExtended(group), vec![E::MulticastRemoved]),
        (C::Promiscuous(true), vec![]),
        (C::AllMulticast(true), vec![]),
        (C::SetAddress(MacAddress([2, 0, 0, 0, 0, 9])), vec![]),
        (C::ClearStatistics, vec![]),
        (C::LoadStatistics, vec![]),
        (plain(0x00), refused(0x00)),
        (plain(0x02), refused(0x02)),
        (plain(0x07), refused(0x07)),
        (plain(0x0D), refused(0x0D)),
        (plain(0x14), refused(0x14)),
        (plain(0xFF), refused(0xFF)),
        // A code that is neither on nor off.
        (C::Word(word(0x01, 3, 0)), refused(0x01)),
        (C::Word(word(0x0A, 0, 0)), refused(0x0A)),
    ];
    let commands: Vec<_> = cases.iter().map(|(command, _)| *command).collect();
    let mut bench = bench(config(), |mut nic| async move {
        let mut answers = Vec::new();
        for given in commands {
            answers.push(command(&mut nic, given).await);
        }
        answers
    });
    for ((command, expected), answer) in cases.iter().zip(bench.run()) {
        assert_eq!(answer, *expected, "{command:?}");
    }
}

#[test]
fn the_command_ring_wraps() {
    let group = MacAddress([1, 0, 0x5E, 0, 0, 1]);
    let mut bench = bench(config(), move |mut nic| async move {
        for _ in 0..50 {
            nic.command_taken(Command::AddMulticastExtended(group))
                .await
                .unwrap();
        }
        let events = work_for(&mut nic, 1000).await.events.len();
        (
            events,
            statistics(&mut nic).await.get("nic_cmds_add_mcast_addr"),
        )
    });
    assert_eq!(bench.run(), (50, Some(50)));
}

#[test]
fn statistics_come_by_themselves_and_can_be_cleared() {
    let config = Config {
        statistics_ticks: 5_000,
        ..config()
    };
    let mut bench = bench(config, |mut nic| async move {
        let events = work_for(&mut nic, 21_000).await.events;
        command(&mut nic, Command::ClearStatistics).await;
        work_for(&mut nic, 6_000).await;
        (events, nic.statistics().unwrap())
    });
    let (events, statistics) = bench.run();
    let times: Vec<_> = events
        .iter()
        .map(|reported| {
            assert_eq!(reported.event, Event::StatisticsUpdated);
            reported.time_ps / 1_000_000
        })
        .collect();
    assert!(times.len() >= 4);
    assert!(
        times
            .windows(2)
            .all(|pair| (4_950..5_050).contains(&(pair[1] - pair[0]))),
        "{times:?}"
    );
    assert_eq!(statistics.get("nic_cmds_clear_stats"), Some(1));
    assert_eq!(statistics.get("nic_cmds_host_state"), Some(0));
}

/// Command 0x11 reads the host's block into the board: counts since the last report are lost.
#[test]
fn loaded_statistics_are_those_of_the_last_report() {
    let config = Config {
        statistics_ticks: 5_000,
        ..config()
    };
    let mut bench = bench(config, |mut nic| async move {
        let first = nic.next_statistics().await.unwrap();
        command(&mut nic, Command::ClearStatistics).await;
        let answers = command(&mut nic, Command::LoadStatistics).await;
        let second = nic.next_statistics().await.unwrap();
        (first, answers, second)
    });
    let (first, answers, second) = bench.run();
    assert_eq!(answers, []);
    for statistics in [first, second] {
        assert_eq!(statistics.get("nic_cmds_host_state"), Some(1));
        assert_eq!(statistics.get("nic_cmds_clear_stats"), Some(0));
        assert_eq!(statistics.get("nic_cmds_refresh_stats"), Some(0));
    }
}

#[test]
fn masked_interrupts_wait() {
    let mut bench = bench(config(), |mut nic| async move {
        nic.mask_interrupts(true).await;
        nic.command(Command::ResetJumbo).await.unwrap();
        let masked = work_for(&mut nic, 30_000).await.events.len();
        nic.mask_interrupts(false).await;
        let after = work_for(&mut nic, 30_000).await.events.len();
        (masked, after)
    });
    assert_eq!(bench.run(), (0, 1));
}

/// Results of an interrupt, and of a check of the rings without one, after a frame in each direction.
fn told(mode: Mode) -> [(usize, u32); 2] {
    let mut config = config();
    config.mode |= mode;
    let mut bench = bench(config, |mut nic| async move {
        nic.send(&leaving(60, 0), SendOptions::default())
            .await
            .unwrap();
        let end = FRAMES_FROM + SimTime::from_us(2_000);
        let told = work_until(&mut nic, end).await;
        let rest = nic.collect().await.unwrap();
        [told, rest].map(|work| (work.received.len(), work.sent))
    });
    bench.arrive([Frame::new(arriving(60, 0))], Duration::ZERO);
    bench.run()
}

#[test]
fn modes_keep_interrupts_away() {
    let (send, receive) = (Mode::NO_SEND_INTERRUPT, Mode::NO_RECEIVE_INTERRUPT);
    assert_eq!(told(Mode::empty()), [(1, 1), (0, 0)]);
    assert_eq!(told(send | receive), [(0, 0), (1, 1)]);
    // Any interrupt lets the host find all reports: frames sent long before, and frames received later.
    assert_eq!(told(send), [(1, 1), (0, 0)]);
    assert_eq!(told(receive), [(0, 1), (1, 0)]);
}
