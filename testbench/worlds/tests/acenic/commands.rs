//! Commands and their events, statistics, invalid settings, and a second start.

use std::any::Any;

use defs::acenic::info::RingFlags;
use emulator::host::machine::Machine;
use host_lib::acenic::{Command, Config, Event, Rings, SendOptions, SendRing, Statistics};
use host_lib::emp::MacAddress;
use lanigon_worlds::acenic::Nic;

use super::support::{
    QUIET_NS, TestResult, address, command, expect_event, frame, open, receive_until, run, send,
    sleep_until, text,
};

/// A partner that only opens its interface.
async fn partner(mut nic: Nic) -> TestResult<()> {
    open(&mut nic).await
}

#[test]
fn events_answer_commands() {
    let group = MacAddress([0x01, 0, 0x5E, 1, 2, 3]);
    let steps = vec![
        (Command::AddMulticast(group), Event::MulticastAdded),
        (Command::RemoveMulticast(group), Event::MulticastRemoved),
        (Command::AddMulticastExtended(group), Event::MulticastAdded),
        (
            Command::RemoveMulticastExtended(group),
            Event::MulticastRemoved,
        ),
        (Command::ResetJumbo, Event::JumboReset),
    ];
    let wrong = [0x02, 0x07, 0x0D, 0x14, 0xFF].map(|number| {
        let event = Event::InvalidCommand { command: number };
        (Command::Word(number << 24), event)
    });
    run(
        [Config::default(), Config::default()],
        async move |mut nic| {
            open(&mut nic).await?;
            for (wish, event) in steps.into_iter().chain(wrong) {
                nic.command(wish).await.map_err(text)?;
                expect_event(&mut nic, event).await?;
            }
            Ok(())
        },
        partner,
    );
}

#[test]
fn the_command_ring_wraps() {
    run(
        [Config::default(), Config::default()],
        async |mut nic| {
            open(&mut nic).await?;
            for _ in 0..150 {
                command(&mut nic, Command::UpdateGeneral).await?;
            }
            let statistics = nic.next_statistics().await.map_err(text)?;
            match statistics.get("nic_cmds_update_gencomm_stats") {
                Some(150) => Ok(()),
                other => Err(format!("{other:?} commands were counted")),
            }
        },
        partner,
    );
}

#[test]
fn statistics_are_counted_cleared_and_reported_periodically() {
    let every_5_ms = Config {
        statistics_ticks: 5_000,
        ..Config::default()
    };
    run(
        [Config::default(), every_5_ms],
        async |mut nic| {
            open(&mut nic).await?;
            for length in [60, 1000] {
                send(&mut nic, &frame(address(1), length), SendOptions::default()).await?;
            }
            Ok(())
        },
        async |mut nic| {
            open(&mut nic).await?;
            receive_until(&mut nic, 80_000).await?;
            let reports = |nic: &Nic| {
                let events = nic.history().iter();
                events
                    .filter(|item| item.event == Event::StatisticsUpdated)
                    .count()
            };
            let before = reports(&nic);
            receive_until(&mut nic, 130_000).await?;
            let periodic = reports(&nic) - before;
            let counter = |statistics: Statistics| {
                let value = statistics.get("if_hc_in_ucast_pkts");
                value.ok_or_else(|| "no such counter".to_owned())
            };
            let counted = counter(nic.statistics().map_err(text)?)?;
            command(&mut nic, Command::ClearStatistics).await?;
            let cleared = counter(nic.next_statistics().await.map_err(text)?)?;
            match (periodic, counted, cleared) {
                (9..=11, 2, 0) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        },
    );
}

/// Starts the firmware with these settings, and checks its complaint.
#[track_caller]
fn check_refused(config: Config) {
    let expect = async |mut nic: Nic| {
        // Both events may come with one interrupt.
        let _ = nic.wait_running().await;
        let known = |nic: &Nic, event| nic.history().iter().any(|item| item.event == event);
        if !known(&nic, Event::BadConfiguration) {
            expect_event(&mut nic, Event::BadConfiguration).await?;
        }
        if known(&nic, Event::FirmwareRunning) {
            Ok(())
        } else {
            Err("it did not report that it runs".to_owned())
        }
    };
    run([config.clone(), config], expect, expect);
}

#[test]
fn settings_that_make_no_sense_are_reported() {
    let default = Config::default;
    let mut flags_differ = default();
    flags_differ.rings.standard = RingFlags::TCP_UDP_SUM;
    check_refused(flags_differ);
    for address in [0x1000, 0x4000, 0x8000] {
        check_refused(Config {
            send_ring: SendRing::Nic { address },
            ..default()
        });
    }
    for return_entries in [512, 1024] {
        check_refused(Config {
            return_entries,
            ..default()
        });
    }
}

#[test]
fn rings_that_are_disabled_may_differ() {
    let mut rings = Rings::alike(RingFlags::TCP_UDP_SUM);
    rings.mini = RingFlags::DISABLED;
    rings.jumbo = RingFlags::DISABLED;
    let config = Config {
        rings,
        ..Config::default()
    };
    run([config, Config::default()], partner, partner);
}

/// Halts the adapter during operation and restarts it: a reset clears all state.
#[test]
fn an_adapter_starts_again() {
    let ((), received) = run(
        [Config::default(), Config::default()],
        async |mut nic| {
            open(&mut nic).await?;
            nic.halt().await.map_err(text)?;
            let system: &dyn Any = nic.system();
            let machine: &Machine = system.downcast_ref().ok_or("another machine")?;
            let firmware = &super::support::FIRMWARE.firmware;
            let again = host_lib::acenic::AceNic::start(
                machine.clone().into(),
                machine.clone().into(),
                firmware,
                Config::default(),
            );
            let mut nic = again.await.map_err(text)?;
            open(&mut nic).await?;
            sleep_until(&mut nic, 100_000).await;
            send(&mut nic, &frame(address(1), 700), SendOptions::default()).await
        },
        async |mut nic| {
            open(&mut nic).await?;
            receive_until(&mut nic, 110_000 + QUIET_NS / 1000).await
        },
    );
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].bytes, frame(address(1), 700));
}
