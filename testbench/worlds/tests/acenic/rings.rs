//! Send and receive rings: ring selection, fragments, wraps, coalescing, interrupts.

use defs::acenic::Mode;
use defs::acenic::descriptor::{Errors, Flags};
use defs::acenic::info::RingFlags;
use host_lib::acenic::{
    Coalescing, Command, Config, Fragment, JUMBO_MTU, RingKind, Rings, SendOptions, SendRing,
};
use host_lib::window::System;

use super::support::{
    QUIET_NS, TestResult, address, command, drain, frame, open, receive_all, receive_until, run,
    send, sleep_until, text,
};

/// Sends one frame of each length; checks received bytes and returns ring and flags.
#[track_caller]
fn check_rings(receiver: Config, expected: &[(usize, RingKind)]) {
    check_rings_of(Config::default(), receiver, expected);
}

#[track_caller]
fn check_rings_of(sender: Config, receiver: Config, expected: &[(usize, RingKind)]) {
    let lengths: Vec<usize> = expected.iter().map(|(length, _)| *length).collect();
    let ((), received) = run(
        [sender, receiver],
        async |mut nic| {
            open(&mut nic).await?;
            for length in lengths {
                send(&mut nic, &frame(address(1), length), SendOptions::default()).await?;
            }
            Ok(())
        },
        async |mut nic| {
            open(&mut nic).await?;
            receive_all(&mut nic).await
        },
    );
    let rings: Vec<_> = received
        .iter()
        .map(|item| (item.bytes.len(), item.ring))
        .collect();
    assert_eq!(rings, expected);
    for item in received {
        assert_eq!(item.bytes, frame(address(1), item.bytes.len()));
        assert_eq!(item.errors, Errors::empty());
        assert!(item.flags.contains(Flags::END));
    }
}

#[test]
fn short_frames_take_mini_buffers() {
    use RingKind::{Mini, Standard};
    check_rings(
        Config::default(),
        &[(60, Mini), (100, Mini), (200, Standard), (1514, Standard)],
    );
    let mut rings = Rings::alike(RingFlags::empty());
    rings.mini = RingFlags::DISABLED;
    let without_mini = Config {
        rings,
        return_entries: 1024,
        ..Config::default()
    };
    check_rings(without_mini, &[(60, Standard), (1514, Standard)]);
}

#[test]
fn long_frames_take_jumbo_buffers() {
    use RingKind::{Jumbo, Mini, Standard};
    let config = Config {
        jumbo_buffers: 32,
        mtu: JUMBO_MTU,
        ..Config::default()
    };
    check_rings_of(
        config.clone(),
        config,
        &[(60, Mini), (1514, Standard), (1600, Jumbo), (9014, Jumbo)],
    );
}

/// Frames in pieces: header and rest, an odd address, many pieces.
async fn send_in_pieces(mut nic: lanigon_worlds::acenic::Nic) -> TestResult<()> {
    open(&mut nic).await?;
    let whole = frame(address(1), 1001);
    for (cuts, offset) in [
        (vec![], 1),
        (vec![14], 0),
        (vec![14, 15, 100, 101], 3),
        (vec![13, 513], 7),
    ] {
        let mut ends = cuts.clone();
        ends.push(whole.len());
        let starts = [0].into_iter().chain(cuts);
        let fragments: Vec<_> = starts
            .zip(ends)
            .map(|(start, end)| Fragment {
                bytes: &whole[start..end],
                offset,
            })
            .collect();
        nic.send_fragments(&fragments, SendOptions::default())
            .await
            .map_err(text)?;
    }
    drain(&mut nic).await
}

#[test]
fn fragments_are_joined() {
    for send_ring in [SendRing::Host, SendRing::NIC] {
        let config = Config {
            send_ring,
            ..Config::default()
        };
        let ((), received) = run(
            [config, Config::default()],
            send_in_pieces,
            async |mut nic| {
                open(&mut nic).await?;
                receive_all(&mut nic).await
            },
        );
        assert_eq!(received.len(), 4, "{send_ring:?}");
        for item in received {
            assert_eq!(item.bytes, frame(address(1), 1001), "{send_ring:?}");
        }
    }
}

#[test]
fn many_frames_queued_at_once_are_all_sent() {
    for mode in [Mode::empty(), Mode::ONE_DMA] {
        let mut config = Config::default();
        config.mode |= mode;
        let ((), received) = run(
            [config.clone(), config],
            async |mut nic| {
                open(&mut nic).await?;
                for _ in 0..200 {
                    let frame = frame(address(1), 300);
                    let whole = Fragment {
                        bytes: &frame,
                        offset: 0,
                    };
                    nic.queue_fragments(&[whole], SendOptions::default())
                        .await
                        .map_err(text)?;
                }
                nic.ring_send().await;
                drain(&mut nic).await
            },
            async |mut nic| {
                open(&mut nic).await?;
                receive_all(&mut nic).await
            },
        );
        assert_eq!(received.len(), 200);
    }
}

/// Sends 40 frames; returns the receiver's number of interrupts.
fn interrupts_of(receiver: Config) -> u64 {
    let ((), interrupts) = run(
        [Config::default(), receiver],
        async |mut nic| {
            open(&mut nic).await?;
            for _ in 0..40 {
                nic.system_mut().compute(50_000).await;
                nic.send(&frame(address(1), 500), SendOptions::default())
                    .await
                    .map_err(text)?;
            }
            drain(&mut nic).await
        },
        async |mut nic| {
            open(&mut nic).await?;
            let mut interrupts = 0;
            let mut received = 0;
            loop {
                let work = nic.wait(QUIET_NS).await.map_err(text)?;
                interrupts += u64::from(work.interrupted);
                received += work.received.len();
                if !work.interrupted {
                    break;
                }
            }
            if received != 40 {
                return Err(format!("{received} frames"));
            }
            Ok(interrupts)
        },
    );
    interrupts
}

#[test]
fn coalescing_saves_interrupts() {
    let with = |rx_descriptors, rx_ticks| Config {
        coalescing: Coalescing {
            rx_descriptors,
            rx_ticks,
            ..Coalescing::default()
        },
        ..Config::default()
    };
    let (each, some, all) = (
        interrupts_of(with(1, 120)),
        interrupts_of(with(10, 1_000)),
        interrupts_of(with(64, 1_000)),
    );
    assert!(each > some && some > all, "{each} {some} {all}");
    assert!(all <= 3, "40 frames in 2 ms, reported every 1 ms");
}

/// Without interrupts, a check of the rings finds received frames.
#[test]
fn interrupts_that_are_not_wanted_do_not_come() {
    async fn look(mut nic: lanigon_worlds::acenic::Nic, mask: bool) -> TestResult<(bool, usize)> {
        open(&mut nic).await?;
        nic.mask_interrupts(mask).await;
        let work = nic.wait(QUIET_NS).await.map_err(text)?;
        let interrupted = work.interrupted;
        let later = nic.collect().await.map_err(text)?;
        Ok((interrupted, work.received.len() + later.received.len()))
    }
    let mut quiet = Config::default();
    quiet.mode |= Mode::NO_RECEIVE_INTERRUPT;
    for (config, mask, expected) in [
        (Config::default(), false, (true, 1)),
        (Config::default(), true, (false, 1)),
        (quiet, false, (false, 1)),
    ] {
        let (_, seen) = run(
            [Config::default(), config],
            async |mut nic| {
                open(&mut nic).await?;
                nic.system_mut().compute(1_000_000).await;
                send(&mut nic, &frame(address(1), 60), SendOptions::default()).await
            },
            async move |nic| look(nic, mask).await,
        );
        assert_eq!(seen, expected, "mask {mask}");
    }
}

#[test]
fn a_closed_interface_receives_nothing_and_opens_again() {
    let ((), counts) = run(
        [Config::default(), Config::default()],
        async |mut nic| {
            open(&mut nic).await?;
            for at_us in [60_000, 80_000, 100_000] {
                sleep_until(&mut nic, at_us).await;
                send(&mut nic, &frame(address(1), 60), SendOptions::default()).await?;
            }
            Ok(())
        },
        async |mut nic| {
            open(&mut nic).await?;
            let mut counts = vec![receive_until(&mut nic, 70_000).await?.len()];
            for (change, end_us) in [(Command::StackDown, 90_000), (Command::StackUp, 110_000)] {
                command(&mut nic, change).await?;
                counts.push(receive_until(&mut nic, end_us).await?.len());
            }
            Ok(counts)
        },
    );
    assert_eq!(counts, [1, 0, 1]);
}
