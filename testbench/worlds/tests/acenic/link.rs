//! Loss and recovery of the link.

use defs::acenic::Link;
use emulator::sim::time::SimTime;
use host_lib::acenic::{
    Command, Config, Event, FIXED_LINK, LinkChange, NEGOTIATED_LINK, SendOptions,
};
use lanigon_worlds::acenic::Nic;

use super::support::{
    TestResult, address, command, frame, open, pair, receive_until, run_world, sleep_until, text,
};

/// The link's changes so far.
fn changes(nic: &Nic) -> Vec<LinkChange> {
    let events = nic.history().iter();
    events
        .filter_map(|item| match item.event {
            Event::Link(change) => Some(change),
            _ => None,
        })
        .collect()
}

async fn watch(mut nic: Nic) -> TestResult<(Vec<LinkChange>, Link, Link, usize)> {
    open(&mut nic).await?;
    sleep_until(&mut nic, 90_000).await;
    let without = nic.link_state().await;
    let mut received = receive_until(&mut nic, 250_000).await?.len();
    let with = nic.link_state().await;
    let peer = address(u16::from(nic.address() == address(0)));
    nic.send(&frame(peer, 300), SendOptions::default())
        .await
        .map_err(text)?;
    received += receive_until(&mut nic, 260_000).await?.len();
    Ok((changes(&nic), without, with, received))
}

#[test]
fn both_sides_report_that_the_cable_is_out() {
    for link in [FIXED_LINK, NEGOTIATED_LINK] {
        let config = Config {
            link,
            ..Config::default()
        };
        let mut world = pair(link);
        let (from, until) = (SimTime::from_us(60_000), SimTime::from_us(100_000));
        world.unplug(0, from, Some(until)).unwrap();
        let (a, b) = run_world(&mut world, [config.clone(), config], watch, watch);
        for (changes, without, with, received) in [a, b] {
            use LinkChange::{Down, Up};
            assert_eq!(changes, [Up, Down, Up], "{link:?}");
            assert_eq!(without, Link::empty());
            assert!(with.contains(Link::UP | Link::SPEED_1000 | Link::FULL_DUPLEX));
            assert_eq!(received, 1, "frames pass again");
        }
    }
}

#[test]
fn a_negotiation_on_demand_brings_the_link_back() {
    let negotiate = async |mut nic: Nic| {
        open(&mut nic).await?;
        nic.want_link(NEGOTIATED_LINK).await;
        command(&mut nic, Command::NegotiateLink).await?;
        receive_until(&mut nic, 300_000).await?;
        Ok((changes(&nic), nic.link_state().await))
    };
    let configs = [Config::default(), Config::default()];
    let (a, b) = run_world(&mut pair(NEGOTIATED_LINK), configs, negotiate, negotiate);
    for (changes, state) in [a, b] {
        assert_eq!(changes.last(), Some(&LinkChange::Up), "{changes:?}");
        assert!(
            state.contains(Link::UP | Link::NEGOTIATE),
            "{state:?} {changes:?}"
        );
    }
}
