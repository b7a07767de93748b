//! Multicasts along trees, in all ways.

use std::sync::Arc;

use defs::fm::packet::MTU;

use super::{Library, content, host_of, nodes, run};
use crate::fm::multicast::{Member, Multicast, MulticastError};
use crate::fm::predict::SendMethod;
use crate::fm::tree::{Postal, Tree};
use crate::fm::{ReceiveError, SendError};

const WAYS: [SendMethod; 4] = [
    way(false, false),
    way(false, true),
    way(true, false),
    way(true, true),
];

const fn way(multi_send: bool, pipelined: bool) -> SendMethod {
    SendMethod {
        multi_send,
        pipelined,
    }
}

/// The root is the last node.
fn multicast(nodes: usize, tree: Tree, way: SendMethod) -> Multicast {
    Multicast {
        tree: Arc::new(tree),
        members: (0..nodes as u16).rev().collect(),
        way,
        handler: 3,
    }
}

fn optimal(nodes: usize, lambda: u32) -> Tree {
    Tree::optimal(nodes, Postal::lambda(lambda)).expect("possible")
}

fn join(libraries: &mut [Library], multicast: &Multicast) -> Vec<Member> {
    let join = |library: &mut Library| library.join_multicast(multicast).expect("a member");
    libraries.iter_mut().map(join).collect()
}

#[test]
fn every_member_gets_every_byte() {
    const NODES: usize = 13;
    for way in WAYS {
        for tree in [
            Tree::binomial(NODES).expect("possible"),
            optimal(NODES, 1),
            optimal(NODES, 5),
            optimal(NODES, 13),
        ] {
            let mut libraries = nodes(NODES);
            let multicast = multicast(NODES, tree, way);
            let members = join(&mut libraries, &multicast);
            for length in [0, 1, MTU as usize, 16_384] {
                let bytes = content(length, length);
                let root = usize::from(multicast.members[0]);
                run(members[root].send(&mut libraries[root], &bytes)).expect("sent");
                for &node in &multicast.members[1..] {
                    let node = usize::from(node);
                    let got = run(members[node].receive(&mut libraries[node], Some(9)));
                    let got = got.map(|got| got.bytes);
                    assert!(got.as_ref() == Ok(&bytes), "{way:?}, node {node}, {length}");
                }
            }
        }
    }
}

#[test]
fn a_node_writes_a_packet_once_or_for_each_child() {
    for (way, packets) in WAYS.into_iter().zip([22, 22, 2, 2]) {
        let mut libraries = nodes(12);
        let multicast = multicast(12, optimal(12, 12), way);
        let members = join(&mut libraries, &multicast);
        let bytes = content(0, 2 * MTU as usize);
        run(members[11].send(&mut libraries[11], &bytes)).expect("sent");
        assert_eq!(libraries[11].slots.used, packets, "{way:?}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let mut libraries = nodes(80);
    let mut refused = |change: &dyn Fn(&mut Multicast), error| {
        let mut multicast = multicast(80, optimal(80, 2), way(true, true));
        change(&mut multicast);
        let joined = libraries[7].join_multicast(&multicast);
        assert_eq!(joined.err(), Some(error));
    };
    let members =
        |members: Vec<u16>| move |all: &mut Multicast| all.members = members.clone().into();
    let error = MulticastError::Members {
        nodes: 80,
        members: 79,
    };
    refused(&members((0..79).collect()), error);
    let twice = [vec![7, 7], (8..86).collect()].concat();
    refused(&members(twice), MulticastError::Twice { node: 7 });
    let others = (10..90).collect();
    refused(&members(others), MulticastError::NotMember { node: 7 });
    let star = |all: &mut Multicast| all.tree = Arc::new(optimal(80, 80));
    let error = MulticastError::Children {
        node: 79,
        count: 79,
    };
    refused(&star, error);
    let mut unicast = multicast(80, optimal(80, 80), way(false, true));
    let member = libraries[7].join_multicast(&unicast).expect("many sends");
    let sent = run(member.send(&mut libraries[7], b"x"));
    assert_eq!(sent, Err(MulticastError::NotRoot { node: 7 }));
    unicast.members = (7..87).collect();
    let member = libraries[7].join_multicast(&unicast).expect("many sends");
    let got = run(member.receive(&mut libraries[7], None));
    assert_eq!(got, Err(MulticastError::Root { node: 7 }));
    // Members that do not exist are refused when they are sent to.
    let sent = run(member.send(&mut libraries[7], b"x"));
    let unknown = SendError::UnknownNode {
        node: 80,
        nodes: 80,
    };
    assert_eq!(sent, Err(MulticastError::Send(unknown)));
}

#[test]
fn a_lost_packet_makes_its_message_incomplete() {
    for way in WAYS {
        let mut libraries = nodes(2);
        let multicast = multicast(2, optimal(2, 1), way);
        let members = join(&mut libraries, &multicast);
        let bytes = content(0, 3 * MTU as usize);
        host_of(&libraries[1]).lock().damage = 1;
        run(members[1].send(&mut libraries[1], &bytes)).expect("sent");
        let got = run(members[0].receive(&mut libraries[0], Some(9)));
        let error = MulticastError::Incomplete {
            sender: 1,
            bytes: 2 * MTU,
            length: 3 * MTU,
        };
        assert_eq!(got, Err(error));
        // The next one is complete, though the first one ended within it.
        run(members[1].send(&mut libraries[1], &bytes)).expect("sent");
        run(members[1].send(&mut libraries[1], b"next")).expect("sent");
        for expected in [bytes, b"next".to_vec()] {
            let got = run(members[0].receive(&mut libraries[0], Some(9)));
            assert_eq!(got.map(|got| got.bytes), Ok(expected));
        }
        let nothing = ReceiveError::Nothing { timeout_ns: 9 };
        let got = run(members[0].receive(&mut libraries[0], Some(9)));
        assert_eq!(got, Err(MulticastError::Receive(nothing)));
    }
}
