//! Routes: shortest, without circles, and refused where there are none.

use std::collections::BTreeMap;

use emulator::wire::myrinet::RouteByte;
use emulator::wire::myrinet::routes::{RouteError, Routes, check, routes};
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::port::Port;

fn ring(crossbars: usize) -> Topology {
    let mut topology = Topology {
        crossbars: vec![8; crossbars],
        cables: Vec::new(),
    };
    for crossbar in 0..crossbars {
        topology.cable(crossbar, (crossbar, 0));
        topology.cable((crossbar, 1), ((crossbar + 1) % crossbars, 2));
    }
    topology
}

#[test]
fn all_pairs_have_routes_without_circles() {
    for (topology, longest) in [
        (Topology::pair(), 0),
        (Topology::one_crossbar(8, 8), 1),
        (Topology::tree(8, 3, 3), 5),
        (Topology::clos(16, 16), 3),
        (ring(7), 6),
    ] {
        let found = routes(&topology).unwrap();
        let nodes = topology.nodes().len();
        assert_eq!(found.len(), nodes * (nodes - 1));
        check(&topology, &found).unwrap();
        assert_eq!(found.values().map(Vec::len).max(), Some(longest));
    }
}

#[test]
fn a_clos_network_shares_its_spine() {
    let found = routes(&Topology::clos(16, 16)).unwrap();
    let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
    for ((from, _), route) in found.iter().filter(|(_, route)| route.len() == 3) {
        let first = RouteByte::read(route[0]).unwrap();
        *uses.entry(first.egress(from % 8, 16).unwrap()).or_default() += 1;
    }
    assert_eq!(Vec::from_iter(uses.keys().copied()), Vec::from_iter(8..16));
    let (least, most) = (uses.values().min(), uses.values().max());
    assert_eq!(least, most);
}

#[test]
fn topologies_without_routes_are_refused() {
    let mut apart = Topology::one_crossbar(8, 2);
    apart.crossbars.push(8);
    apart.cable(2, (1, 0));
    let (from, to) = (1, 0);
    let refused = routes(&apart);
    assert!(
        matches!(refused, Err(RouteError::Unreachable { .. })),
        "{refused:?}"
    );
    assert_eq!(
        RouteError::Unreachable { from, to }.to_string(),
        "no way leads from node 1 to node 0"
    );
    let mut twice = Topology::one_crossbar(8, 2);
    twice.cable(2, (0, 1));
    let port = Port::Switch { switch: 0, port: 1 };
    assert_eq!(routes(&twice), Err(RouteError::Occupied(port)));
    let mut beyond = Topology::one_crossbar(8, 2);
    beyond.cable(2, (0, 8));
    let port = Port::Switch { switch: 0, port: 8 };
    assert_eq!(routes(&beyond), Err(RouteError::NoSuchPort(port)));
    let mut far = Topology::default();
    far.crossbars.push(64);
    far.cable(0, (0, 0));
    far.cable(1, (0, 40));
    let refused = routes(&far);
    assert!(matches!(
        refused,
        Err(RouteError::TooFar { crossbar: 0, .. })
    ));
}

#[test]
fn wrong_routes_are_found() {
    let topology = ring(4);
    let one = |from, to, route: &[u8]| -> Result<(), RouteError> {
        let routes: Routes = [((from, to), route.to_vec())].into();
        check(&topology, &routes)
    };
    assert_eq!(one(0, 1, &[0x81, 0xBE]), Ok(()));
    let refused = one(0, 1, &[0x81]);
    assert_eq!(
        refused,
        Err(RouteError::EndsInside {
            from: 0,
            crossbar: 1
        })
    );
    let (from, crossbar) = (0, 0);
    for byte in [0x85, 0x9F, 0xBF, 0x01] {
        let nowhere = RouteError::Nowhere {
            from,
            at: 0,
            crossbar,
        };
        assert_eq!(one(0, 1, &[byte]), Err(nowhere));
    }
    let refused = one(0, 1, &[0x81, 0xBE, 0x81]);
    assert_eq!(refused, Err(RouteError::TooLong { from: 0, to: 1 }));
    let refused = one(0, 2, &[0x81, 0xBE]);
    assert_eq!(refused, Err(RouteError::Unreachable { from: 0, to: 2 }));
    let round = [0x81, 0xBF, 0xBF, 0xBF, 0xBF, 0xBE];
    let port = Port::Switch { switch: 0, port: 1 };
    assert_eq!(one(0, 1, &round), Err(RouteError::Loop { from: 0, port }));
    let refused = one(9, 1, &[]);
    assert_eq!(refused, Err(RouteError::NoCable(9)));
}

#[test]
fn a_circle_is_found() {
    // Each route goes half round the ring, the same way.
    let round = (0..4).map(|node| ((node, (node + 2) % 4), vec![0x81, 0xBF, 0xBE]));
    let round: Routes = round.collect();
    let Err(RouteError::Deadlock(ports)) = check(&ring(4), &round) else {
        panic!("no circle");
    };
    assert_eq!(ports.len(), 4);
    assert!(
        ports.iter().all(|port| port.number() == Some(1)),
        "{ports:?}"
    );
}
