//! Exploration and routes against simulated networks.

mod network;

use std::collections::{BTreeMap, BTreeSet};

use cases::cases;
use defs::gm::mapping::NO_NODE;
use proptest::prelude::*;

use super::explore::{ExplorationTerms, Findings, explore};
use super::map::Map;
use super::routes::{Routes, routes};
use super::verify::{Change, verify};
use crate::at_once::block_on;
use network::{Network, Plug, Random};

const NO_NUMBER: u16 = NO_NODE as u16;

fn terms(network: &Network, tries: u32) -> ExplorationTerms {
    let own = &network.hosts[network.mapper];
    ExplorationTerms {
        own: own.id,
        node: own.node,
        tries,
        most_ports: 32,
    }
}

fn findings(network: &mut Network, tries: u32) -> Findings {
    let terms = terms(network, tries);
    let found = block_on(explore(network, terms)).expect("it answers");
    let mut found = found.expect("answers do not contradict each other");
    found.map.number().expect("numbers");
    found
}

fn map(network: &mut Network, tries: u32) -> Map {
    findings(network, tries).map
}

/// Checks that a map is that of a network: with the same crossbars, nodes and cables, whose ports differ by a constant for each crossbar.
fn check_map(network: &Network, map: &Map) {
    // Where the routes of the map lead.
    let arrivals: Vec<(usize, u8)> = map
        .crossbars
        .iter()
        .map(|crossbar| network.arrival(&crossbar.route))
        .collect();
    let numbers: BTreeSet<usize> = arrivals.iter().map(|(crossbar, _)| *crossbar).collect();
    assert_eq!(numbers, network.reachable_crossbars(), "{map}");
    assert_eq!(
        numbers.len(),
        map.crossbars.len(),
        "a crossbar twice: {map}"
    );
    let real = |place: super::CrossbarPort| {
        let (crossbar, ingress) = arrivals[place.crossbar];
        let entry = map.crossbars[place.crossbar].entry;
        (crossbar, ingress + place.port - entry)
    };
    let mut cables = BTreeSet::new();
    for host in &map.hosts {
        let index = network.host_of(host.id);
        let at = host.at.map(real);
        match network.hosts[index].plug {
            Plug::Crossbar(crossbar, port) => assert_eq!(at, Some((crossbar, port))),
            _ => assert_eq!(at, None),
        }
        cables.extend(at);
    }
    for link in &map.links {
        let [a, b] = link.map(real);
        assert_eq!(network.ends[&a], Plug::Crossbar(b.0, b.1), "{map}");
        cables.extend([a, b]);
    }
    let living = |plug: &Plug| match plug {
        Plug::Host(host) => network.hosts[*host].answers,
        _ => true,
    };
    let there = network
        .ends
        .iter()
        .filter(|((crossbar, _), plug)| numbers.contains(crossbar) && living(plug));
    assert_eq!(cables, there.map(|(end, _)| *end).collect(), "{map}");
    assert!(map.beyond.is_empty());
}

/// Checks that routes lead where they should, and that packets cannot wait for each other in a circle.
fn check_routes(network: &Network, map: &Map, routes: &Routes) {
    let mut follows: BTreeMap<(usize, u8), BTreeSet<(usize, u8)>> = BTreeMap::new();
    for from in &map.hosts {
        for to in &map.hosts {
            if from.id == to.id && from.at.is_none() {
                continue;
            }
            let route = routes.get(&(from.node, to.node));
            let route = route.unwrap_or_else(|| panic!("{} to {}: {map}", from.node, to.node));
            let (way, end) = network.walk(network.host_of(from.id), route);
            assert_eq!(end, Some(network.host_of(to.id)), "{route:x?}: {map}");
            for pair in way.windows(2) {
                follows.entry(pair[0]).or_default().insert(pair[1]);
            }
        }
    }
    // Takes channels away that lead to none that is left.
    loop {
        let before = follows.len();
        let keys: BTreeSet<_> = follows.keys().copied().collect();
        follows.retain(|_, next| next.iter().any(|next| keys.contains(next)));
        if follows.len() == before {
            break;
        }
    }
    assert!(follows.is_empty(), "a circle: {follows:?}");
}

fn check(network: &mut Network, tries: u32) -> Map {
    let map = map(network, tries);
    check_map(network, &map);
    check_routes(network, &map, &routes(&map));
    map
}

proptest! {
    #![proptest_config(cases(150))]

    /// Any network: crossbars of 4 to 16 ports, parallel cables, cables from a crossbar to itself, nodes that do not answer.
    #[test]
    fn any_network_is_mapped(seed in any::<u64>()) {
        let mut network = Network::random(&mut Random(seed), 7);
        check(&mut network, 1);
    }

    /// Exploration with lost packets finds the whole network.
    #[test]
    fn lost_packets_change_nothing(seed in any::<u64>()) {
        let mut network = Network::random(&mut Random(seed), 4);
        let truth = map(&mut network, 1);
        network.loss = 13;
        prop_assert_eq!(map(&mut network, 12), truth);
    }

    /// A cable that is plugged in elsewhere, or out, is found; without a change none is found.
    #[test]
    fn a_change_is_found(seed in any::<u64>()) {
        let mut random = Random(seed);
        let mut network = Network::random(&mut random, 5);
        let before = map(&mut network, 1);
        let terms = terms(&network, 1);
        let change = |network: &mut Network| {
            block_on(verify(network, &before, terms, 0)).expect("it answers")
        };
        prop_assert_eq!(change(&mut network), Change::None);
        if network.replug(&mut random) {
            let found = change(&mut network);
            let after = check(&mut network, 1);
            prop_assert!(found == Change::Network || after == before, "{}\n{}", before, after);
        }
    }
}

#[test]
fn networks_without_crossbars() {
    let mut pair = Network::pair();
    let found = check(&mut pair, 1);
    assert_eq!((found.hosts.len(), found.crossbars.len()), (2, 0));
    assert_eq!(routes(&found).len(), 2);
    let mut lone = Network::pair();
    lone.hosts[1].answers = false;
    let found = check(&mut lone, 2);
    assert_eq!((found.hosts.len(), routes(&found).len()), (1, 0));
}

#[test]
fn a_clos_network_has_shortest_routes_over_all_of_its_spine() {
    let mut network = Network::clos(8, 8);
    let map = check(&mut network, 1);
    assert_eq!(
        (map.crossbars.len(), map.hosts.len(), map.links.len()),
        (12, 32, 32)
    );
    let routes = routes(&map);
    let longest = routes.values().map(Vec::len).max();
    assert_eq!(longest, Some(3));
    // From one node to all others the first cables are used alike.
    let firsts = (4..32).map(|to| routes[&(0, to)][0]);
    let mut uses = BTreeMap::new();
    firsts.for_each(|first| *uses.entry(first).or_insert(0) += 1);
    assert_eq!(uses.values().copied().collect::<Vec<_>>(), [7; 4]);
    println!("{} packets", network.packets);
}

#[test]
fn nodes_keep_their_numbers_and_others_get_free_ones() {
    let mut network = Network::clos(8, 2);
    let given = [None, Some(9), None, Some(0), None, None, Some(2), None];
    for (host, node) in network.hosts.iter_mut().zip(given) {
        host.node = node.unwrap_or(NO_NUMBER);
    }
    network.hosts[5].version = 0xFFFF_FFFE;
    network.hosts[6].version = 3;
    let found = findings(&mut network, 1);
    let mut numbers: Vec<(usize, u16)> = found
        .map
        .hosts
        .iter()
        .map(|host| (network.host_of(host.id), host.node))
        .collect();
    numbers.sort_unstable();
    let numbers: Vec<u16> = numbers.into_iter().map(|(_, node)| node).collect();
    assert_eq!(numbers, [1, 9, 3, 0, 4, 5, 2, 6]);
    assert_eq!((found.version, found.map.number_count()), (3, 10));
    network.hosts[0].node = 9;
    let terms = terms(&network, 1);
    let twice = block_on(explore(&mut network, terms)).expect("it answers");
    let error = twice.expect("a map").map.number().expect_err("twice");
    let text = "nodes 00:60:dd:00:00:00 and 00:60:dd:00:00:01 both have number 9";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_long_chain_ends_where_routes_do() {
    let mut network = Network::chain(20);
    let map = map(&mut network, 1);
    // The node at the last crossbar to which a route of 16 bytes leads.
    assert_eq!((map.crossbars.len(), map.hosts.len()), (16, 16));
    assert_eq!(map.beyond.len(), 0);
    assert_eq!(routes(&map).values().map(Vec::len).max(), Some(16));
}

#[test]
fn a_map_is_shown_as_text() {
    let mut network = Network::clos(4, 2);
    network.hosts[3].answers = false;
    let text = map(&mut network, 1).to_string();
    let expected = "\
crossbar 0, route
  port  0: node 0 (00:60:dd:00:00:00)
  port  1: node 1 (00:60:dd:00:00:01)
  port  2: crossbar 1 port 0
  port  3: crossbar 2 port 0
crossbar 1, route 82
  port  0: crossbar 0 port 2
  port  1: crossbar 3 port 2
crossbar 2, route 83
  port  0: crossbar 0 port 3
  port  1: crossbar 3 port 3
crossbar 3, route 82 81
  port  0: node 2 (00:60:dd:00:00:02)
  port  2: crossbar 1 port 1
  port  3: crossbar 2 port 1
";
    assert_eq!(text, expected);
}
