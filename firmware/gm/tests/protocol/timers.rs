//! Timers: packets that are sent again, delayed acks, alarms; and programs that sleep.

use defs::gm::event::{ALARM as ALARM_EVENT, SLEEP};
use defs::gm::map::{ACK_PACKETS, BACK_OFF_LIMIT, Counter, WINDOW};
use defs::gm::port::{ALARM, PORT_SIGNALS, SEND_TOKENS, SIGNALS, WAKE, control_block};

use crate::cases::{OK, exchange, pair};
use crate::node::{Message, RESEND};
use crate::world::{World, message};

#[test]
fn the_time_between_resends_doubles() {
    let mut world = pair();
    world.faults.lost = 256;
    world.send(&message(2, 40));
    world.settle();
    let mut times = Vec::new();
    let mut since = 0;
    for _ in 0..400 {
        let before = world.packets;
        world.pass(1);
        since += 1;
        if world.packets != before {
            times.push(since);
            since = 0;
        }
    }
    let mut expected: Vec<u32> = (0..=BACK_OFF_LIMIT).map(|at| RESEND << at).collect();
    expected.insert(0, RESEND);
    let longest = RESEND << BACK_OFF_LIMIT;
    // The first wait begins when the send is posted, so that the first two are equal or double.
    let times: Vec<u32> = times.into_iter().take(8).collect();
    assert_eq!(times[0], RESEND);
    for pair in times.windows(2) {
        assert!(pair[1] == longest || pair[1] == 2 * pair[0], "{times:?}");
    }
    assert_eq!(times[7], longest, "{times:?}");
    // An ack ends the back-off.
    world.faults.lost = 0;
    world.nodes[1].provide(2, 6, 0, 1);
    world.pass(longest);
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), 1);
    world.lose = vec![world.packets];
    world.nodes[1].provide(2, 6, 0, 1);
    world.send(&message(2, 40));
    world.settle();
    world.pass(RESEND);
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), 2);
}

#[test]
fn acks_are_delayed() {
    let mut world = pair();
    for _ in 0..20 {
        world.nodes[1].provide(2, 6, 0, 1);
    }
    // Everything but the timer of the acks.
    let mut acks = Vec::new();
    for sent in 1..=2 * ACK_PACKETS {
        world.send(&message(2, 40));
        let before = world.packets;
        for _ in 0..10 {
            for node in 0..2 {
                for action in [4, 0, 1, 2, 3] {
                    while world.act(node, action) {}
                }
            }
        }
        acks.push((sent, world.packets - before - 1));
    }
    for (sent, acks) in acks {
        let expected = usize::from(sent % ACK_PACKETS == 0);
        assert_eq!(acks, expected, "after {sent} packets");
    }
    world.send(&message(2, 40));
    world.settle();
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), 2 * ACK_PACKETS as usize + 1);
}

#[test]
fn the_window_limits_what_is_under_way() {
    let mut world = pair();
    world.nodes[0].open(4);
    world.faults.lost = 256;
    for port in [2, 4] {
        for _ in 0..SEND_TOKENS {
            let one = Message {
                target_port: 2,
                ..message(port, 20)
            };
            world.nodes[1].provide(2, one.size, 0, 1);
            world.send(&one);
        }
    }
    world.settle();
    assert_eq!(world.packets, WINDOW as usize);
    world.faults.lost = 0;
    world.run(100);
    world.receive();
    assert_eq!(world.nodes[1].received.len(), 2 * SEND_TOKENS as usize);
    assert_eq!(world.nodes[0].sent.len(), 2 * SEND_TOKENS as usize);
}

#[test]
fn alarms_come_at_their_time() {
    let mut world = pair();
    world.nodes[0].open(4);
    world.nodes[0].control(2, ALARM, 7);
    world.nodes[0].control(4, ALARM, 3);
    world.settle();
    let mut times = Vec::new();
    for tick in 1..=12 {
        world.pass(1);
        world.receive();
        for (port, kind, _) in world.nodes[0].notices.drain(..) {
            assert_eq!(kind, ALARM_EVENT);
            times.push((port, tick));
        }
    }
    assert_eq!(times, [(4, 3), (2, 7)]);
    // A later alarm replaces the one before; 0 cancels; a closed port has none.
    world.nodes[0].control(2, ALARM, 3);
    world.nodes[0].control(2, ALARM, 9);
    world.nodes[0].control(4, ALARM, 3);
    world.nodes[0].control(4, ALARM, 0);
    world.settle();
    world.pass(8);
    world.receive();
    assert!(world.nodes[0].notices.is_empty());
    world.pass(1);
    world.receive();
    assert_eq!(world.nodes[0].notices.len(), 1);
    world.nodes[0].control(2, ALARM, 3);
    world.settle();
    world.nodes[0].close(2);
    world.nodes[0].reopen(2);
    world.pass(5);
    world.receive();
    assert_eq!(world.nodes[0].notices.len(), 1);
}

/// The process of a port asks to be woken, and takes the board's answer.
fn sleep(world: &mut World, node: usize) {
    let before = world.nodes[node].gm.nic().interrupts;
    world.nodes[node].control(2, WAKE, 0);
    world.settle();
    world.nodes[node].receive(2);
    assert_eq!(world.nodes[node].notices.pop(), Some((2, SLEEP, 0)));
    assert_eq!(world.nodes[node].gm.nic().interrupts, before);
}

/// A report of every place in the report buffers wakes a process that sleeps.
#[test]
fn a_process_that_sleeps_is_woken_by_the_next_event() {
    let mut world = pair();
    for round in 0..12 {
        let before = world.nodes[0].gm.nic().interrupts;
        sleep(&mut world, 0);
        let one = message(2, 20);
        world.nodes[1].provide(2, one.size, 0, 1);
        world.send(&one);
        world.settle();
        world.nodes[0].receive(2);
        assert_eq!(world.nodes[0].sent.len(), round + 1);
        assert_eq!(world.nodes[0].gm.nic().interrupts, before + 1, "{round}");
        // Messages too; and only once.
        let before = world.nodes[1].gm.nic().interrupts;
        world.receive();
        sleep(&mut world, 1);
        exchange(&mut world, &[one.clone(), one]);
        assert_eq!(world.nodes[1].gm.nic().interrupts, before + 1, "{round}");
        world.nodes[0].sent.truncate(round + 1);
    }
}

/// Messages for another port of the node, and its reports, do not wake it.
#[test]
fn events_of_other_ports_do_not_wake_a_process() {
    let mut world = pair();
    for node in 0..2 {
        world.nodes[node].open(4);
        sleep(&mut world, node);
    }
    let before = [0, 1].map(|node| world.nodes[node].gm.nic().interrupts);
    let one = message(4, 20);
    for _ in 0..12 {
        exchange(&mut world, std::slice::from_ref(&one));
    }
    let after = [0, 1].map(|node| world.nodes[node].gm.nic().interrupts);
    assert_eq!(after, before);
}

/// Only messages of high priority are signals, one each, and only while the process says so.
#[test]
fn a_message_of_high_priority_is_a_signal() {
    let mut world = pair();
    let enable = |world: &mut World, enabled| {
        let word = control_block(2) + PORT_SIGNALS;
        world.nodes[1].gm.nic_mut().set_word(word, enabled);
    };
    let signals = |world: &mut World, priority, bytes| {
        let one = Message {
            priority,
            ..message(2, bytes)
        };
        let before = world.nodes[1].gm.nic().interrupts;
        exchange(world, &[one]);
        world.nodes[1].gm.nic().interrupts - before
    };
    enable(&mut world, 1);
    assert_eq!(
        signals(&mut world, 1, 20),
        0,
        "nothing has asked for signals"
    );
    world.nodes[1].control(2, SIGNALS, 0);
    world.settle();
    for (enabled, priority, bytes, expected) in [
        (1, 1, 20, 1),
        (1, 0, 20, 0),
        (0, 1, 20, 0),
        (1, 1, 3000, 1),
        // Of several packets the last one is.
        (1, 1, 12_000, 1),
        (1, 0, 12_000, 0),
        (0, 1, 12_000, 0),
        (1, 1, 0, 1),
    ] {
        enable(&mut world, enabled);
        let found = signals(&mut world, priority, bytes);
        assert_eq!(found, expected, "{enabled} {priority} {bytes}");
    }
    // A program that sleeps is woken as before.
    enable(&mut world, 1);
    sleep(&mut world, 1);
    assert_eq!(signals(&mut world, 0, 20), 1);
    assert_eq!(signals(&mut world, 1, 20), 1);
}

/// Reports of several ports, and more than an event holds, are written without another event.
#[test]
fn all_reports_come_at_once() {
    let mut world = pair();
    for port in [0, 1, 4] {
        world.nodes[0].open(port);
    }
    for port in [0, 1, 2, 4] {
        let one = Message {
            target_port: 2,
            ..message(port, 20)
        };
        world.nodes[1].provide(2, one.size, 0, 1);
        world.send(&one);
    }
    for _ in 0..20 {
        for action in [4, 0, 2] {
            world.act(0, action);
        }
        for action in [3, 4, 1] {
            world.act(1, action);
        }
    }
    world.settle();
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), 4);
    // 60 sends whose acks are lost but for the last one.
    let one = message(2, 20);
    for _ in 0..60 {
        world.nodes[1].provide(2, one.size, 0, 1);
        world.send(&one);
    }
    world.settle_without(&[1]);
    world.nodes[1].gm.nic_mut().ack_tick();
    let _ = world.nodes[0].gm.nic_mut().tick();
    world.pass(RESEND);
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), 64);
    assert!(world.nodes[0].sent.iter().all(|sent| sent.2 == OK));
    assert_eq!(world.nodes[0].counter(Counter::FailedSends), 0);
}
