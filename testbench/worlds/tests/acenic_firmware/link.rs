//! The link: fixed, negotiated, lost.

use defs::acenic::GIGABIT_STATE;
use emulator::board::Board;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::serdes::LinkPartner;
use host_lib::acenic::{Command, Config, Event, FIXED_LINK, LinkChange, NEGOTIATED_LINK};
use lanigon_worlds::boards::KB;

use super::support::{Bench, bench_with, config, open, work_for};

const UP: Event = Event::Link(LinkChange::Up);
const DOWN: Event = Event::Link(LinkChange::Down);

/// Runs a board with these link settings and this partner for a fifth of a second; returns its link events
/// and the final link state.
fn link(config: Config, partner: LinkPartner) -> Bench<(Vec<Event>, u32)> {
    let mut bench = bench_with(1024 * KB, config, |mut nic| async move {
        nic.wait_running().await.unwrap();
        let mut events: Vec<_> = nic.history().iter().map(|item| item.event).collect();
        let more = work_for(&mut nic, 200_000).await.events;
        events.extend(more.iter().map(|item| item.event));
        events.retain(|event| matches!(event, Event::Link(_)));
        (events, nic.board_mut().read_sram(GIGABIT_STATE).await)
    });
    bench.node.board_mut::<Tigon2>().fabric.serdes.partner = partner;
    bench
}

#[test]
fn the_link_comes_up() {
    let negotiating = |ability| LinkPartner::Negotiating { ability };
    for (wanted, partner, state) in [
        (FIXED_LINK, LinkPartner::Idle, 0xC00C_0000),
        (FIXED_LINK, negotiating(0xA001), 0xC00C_0000),
        (NEGOTIATED_LINK, negotiating(0xA001), 0xE0AC_0000),
        (NEGOTIATED_LINK, negotiating(0x2000), 0xE00C_0000),
        (NEGOTIATED_LINK, LinkPartner::Idle, 0xC00C_0000),
    ] {
        let config = Config {
            link: wanted,
            ..config()
        };
        let (events, word) = link(config, partner).run();
        assert_eq!(events, [UP], "{wanted:?} {partner:?}");
        assert_eq!(word, state, "{wanted:?} {partner:?}");
    }
}

#[test]
fn without_a_signal_there_is_no_link() {
    let mut bench = link(config(), LinkPartner::Idle);
    bench.node.board_mut::<Tigon2>().fabric.serdes.signal = false;
    assert_eq!(bench.run(), (vec![], 0));
}

#[test]
fn a_pulled_cable_is_noticed() {
    for wanted in [FIXED_LINK, NEGOTIATED_LINK] {
        let config = Config {
            link: wanted,
            ..config()
        };
        let mut bench = link(config, LinkPartner::FULL_DUPLEX_WITH_PAUSE);
        for (present, ms) in [(false, 80), (true, 90)] {
            let at = SimTime::from_us(ms * 1000);
            bench
                .node
                .with_board::<Tigon2, _>(|board, ctx| board.schedule_carrier(present, at, ctx));
        }
        let (events, state) = bench.run();
        assert_eq!(events, [UP, DOWN, UP], "{wanted:?}");
        assert_ne!(state, 0);
    }
}

#[test]
fn the_host_may_negotiate_anew() {
    let mut bench = bench_with(1024 * KB, config(), |mut nic| async move {
        open(&mut nic).await;
        nic.want_link(NEGOTIATED_LINK).await;
        nic.command(Command::NegotiateLink).await.unwrap();
        let events = work_for(&mut nic, 100_000).await.events;
        let events: Vec<_> = events.iter().map(|item| item.event).collect();
        (events, nic.link_state().await.bits())
    });
    bench.node.board_mut::<Tigon2>().fabric.serdes.partner = LinkPartner::FULL_DUPLEX_WITH_PAUSE;
    assert_eq!(bench.run(), (vec![DOWN, UP], 0xE0AC_0000));
}
