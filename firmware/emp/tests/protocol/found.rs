//! Cases that random schedules (`schedule.rs`) found, each in its simplest form.

use crate::common::engine::{Records, SCHEMES, use_scheme};
use crate::common::memory::HostMemory;
use crate::common::{Buffer, Faults, Settings, World};
use crate::hosts::{Hosts, ReceiveRequest, SendRequest};
use crate::network::{Hold, Network, Numbers};
use defs::emp::control::Counter;
use defs::emp::descriptor::{Code, Form, node_tag};

/// Two frames of some 30 bytes are an ack group.
fn settings() -> Settings {
    Settings {
        ack_group: 2,
        frame_bytes: 46,
        timeout_us: 300,
        retry_limit: 3,
        receive_timeout_us: 0,
        host_bytes: 1 << 20,
    }
}

/// Numbers of the firmware: each run of a node starts with equal identifiers.
const NUMBERS: Numbers = Numbers {
    id: 0,
    id_step: 0,
    epoch: 1,
};

/// Runs a case with hosts on a fault-free wire.
fn with_hosts(nodes: usize, restarts: usize, case: impl FnOnce(&mut Hosts)) {
    let settings = settings();
    let lives = nodes + restarts;
    let mut tables: Vec<Records> = (0..lives).map(|_| Records::new()).collect();
    let network = Network::new(nodes, 1, NUMBERS, settings, &mut tables);
    case(&mut Hosts::new(network, settings, 1));
}

fn post_receive(hosts: &mut Hosts, at: usize, capacity: usize) {
    hosts.receive(ReceiveRequest {
        at,
        from: None,
        tag: None,
        capacity,
        hole: false,
    });
}

fn wait(hosts: &mut Hosts, done: impl Fn(&Hosts) -> bool) {
    for _ in 0..1000 {
        if done(hosts) {
            return;
        }
        hosts.pass(1);
    }
    panic!("it did not come to that");
}

/// One run of the receiver has acknowledged the first group. The next run receives the header frame again
/// and acknowledges the second group.
#[test]
fn what_two_lives_have_in_parts_is_not_done() {
    with_hosts(2, 1, |hosts| {
        post_receive(hosts, 1, 112);
        hosts.send(SendRequest {
            from: 0,
            to: 1,
            tag: 1,
            length: 112,
            hole: false,
        });
        wait(hosts, |hosts| hosts.network.frames_sent() == 2);
        hosts.network.hold_up(0, Hold::Mac, 200);
        wait(hosts, |hosts| {
            let node = &hosts.network.stations[0].node;
            node.counter(Counter::AcksReceived) == 1
        });
        hosts.restart(1);
        post_receive(hosts, 1, 112);
        let first = hosts.network.frames_sent() - 1;
        hosts.network.replay(first, false);
        hosts.finish();
        assert_eq!(hosts.ledger.sent[0].code, Some(Code::Timeout));
    });
}

/// As above, with the acks of both runs in the queue to the sender's CPU (if the matcher is on the other
/// CPU). The report of the restart is between them in the queue, so that epochs need not be compared again.
#[test]
fn acks_of_two_lives_wait_in_their_order() {
    for scheme in 0..SCHEMES {
        use_scheme(scheme);
        with_hosts(2, 1, |hosts| {
            post_receive(hosts, 1, 112);
            hosts.send(SendRequest {
                from: 0,
                to: 1,
                tag: 1,
                length: 112,
                hole: false,
            });
            wait(hosts, |hosts| hosts.network.frames_sent() == 2);
            hosts.network.hold_up(0, Hold::Mac, 200);
            hosts.network.hold_up(0, Hold::OneCpu(0), 250);
            wait(hosts, |hosts| {
                let node = &hosts.network.stations[1].node;
                node.counter(Counter::AcksSent) == 1
            });
            hosts.pass(20);
            hosts.restart(1);
            post_receive(hosts, 1, 112);
            let first = hosts.network.frames_sent() - 1;
            hosts.network.replay(first, false);
            hosts.finish();
            assert_eq!(hosts.ledger.sent[0].code, Some(Code::Timeout), "{scheme}");
        });
    }
}

/// The memory of a message's only frame is missing, and this is known before the whole frame is queued.
#[test]
fn a_last_frame_without_memory_ends_its_message() {
    let mut world = World::new(2, 1, &settings(), Faults::default());
    let node = &mut world.nodes[0];
    let mut pieces: Vec<_> = (0..20)
        .map(|_| (node.nic().host.allocate(1, 0), 1))
        .collect();
    pieces[3].0 = HostMemory::NOWHERE;
    let form = Form::Indirect;
    let posting = node.prepare(false, node_tag(1, 1), 20, Buffer { pieces, form });
    let head = posting.expect("descriptors").head;
    world.post(0, false, head);
    assert_eq!(world.await_outcome(0, head).code, Code::HostMemory);
    world.settle();
}
