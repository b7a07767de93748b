//! Trees of multicasts against the postal model, and predicted times against the published ones.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::fm::predict::{Costs, LinearCost, SendMethod, best, deliveries, last_ps, packets};
use crate::fm::tree::{Postal, Tree, TreeError, postal_times};

/// F of the dissertation's recurrence: nodes that can be reached in a time.
fn reached(postal: Postal, time: u64, known: &mut BTreeMap<u64, u64>) -> u64 {
    if time < postal.latency {
        return 1;
    }
    if let Some(&found) = known.get(&time) {
        return found;
    }
    let found = reached(postal, time - postal.gap, known).saturating_add(reached(
        postal,
        time - postal.latency,
        known,
    ));
    known.insert(time, found);
    found
}

/// Each node but the root is the child of one node, and comes behind it.
fn is_whole(tree: &Tree) {
    let mut seen = vec![0; tree.nodes()];
    for rank in 0..tree.nodes() {
        for &child in tree.children(rank) {
            seen[child] += 1;
            assert!(child > rank);
            assert_eq!(tree.parent(child), Some(rank));
        }
    }
    assert_eq!(seen[0], 0);
    assert!(seen[1..].iter().all(|&count| count == 1), "{seen:?}");
    assert_eq!(tree.parent(0), None);
}

fn optimal(nodes: usize, lambda: u32) -> Tree {
    Tree::optimal(nodes, Postal::lambda(lambda)).expect("possible")
}

proptest! {
    #[test]
    fn the_last_node_is_reached_as_early_as_the_model_allows(
        nodes in 1..300_usize, gap in 1..8_u64, more in 0..40_u64,
    ) {
        let postal = Postal { latency: gap + more, gap };
        let tree = Tree::optimal(nodes, postal).expect("possible");
        is_whole(&tree);
        let last = postal_times(&tree, postal).into_iter().max().expect("a node");
        let mut known = BTreeMap::new();
        prop_assert!(reached(postal, last, &mut known) >= nodes as u64);
        // No earlier time suffices: F only grows.
        if last > 0 {
            prop_assert!(reached(postal, last - 1, &mut known) < nodes as u64);
        }
    }

    #[test]
    fn binomial_trees_are_whole_and_as_deep_as_lambda_1(nodes in 1..600_usize) {
        let tree = Tree::binomial(nodes).expect("possible");
        is_whole(&tree);
        let rounds = nodes.next_power_of_two().ilog2() as u64;
        prop_assert!(tree.depth() as u64 <= rounds);
        let times = |tree: &Tree| postal_times(tree, Postal::lambda(1)).into_iter().max();
        prop_assert_eq!(times(&tree), Some(rounds));
        prop_assert_eq!(times(&optimal(nodes, 1)), Some(rounds));
        if nodes.is_power_of_two() {
            prop_assert_eq!(optimal(nodes, 1).depth() as u64, rounds);
            prop_assert_eq!(tree.depth() as u64, rounds);
        }
    }

    #[test]
    fn a_last_leaf_gets_the_message_last(
        nodes in 2..60_usize, lambda in 1..20_u32, bytes in 0..9000_u32,
    ) {
        let tree = optimal(nodes, lambda);
        let way = SendMethod { multi_send: true, pipelined: false };
        let times = deliveries(&tree, bytes, way, &Costs::PUBLISHED);
        let last = |rank: usize| times[rank].iter().max().copied();
        let all = (0..nodes).filter_map(last).max();
        let leaves = tree.last_leaves().into_iter().filter_map(last).max();
        prop_assert_eq!(all, leaves);
    }
}

#[test]
fn small_trees_are_those_of_the_algorithm() {
    let lists = |tree: Tree| {
        let children = (0..tree.nodes()).map(|rank| tree.children(rank).to_vec());
        children.collect::<Vec<_>>()
    };
    // Four nodes, lambda 2: the root sends to all (dissertation-051).
    let flat = optimal(4, 2);
    assert_eq!(flat.depth(), 1);
    assert_eq!(flat.last_leaves(), [3]);
    assert_eq!(lists(flat)[0], [1, 2, 3]);
    assert_eq!(
        lists(optimal(5, 2)),
        [vec![1, 2, 3], vec![4], vec![], vec![], vec![]]
    );
    let binomial = Tree::binomial(6).expect("possible");
    let expected = [vec![4, 2, 1], vec![], vec![3], vec![], vec![5], vec![]];
    assert_eq!(lists(binomial), expected);
    assert_eq!(optimal(1, 3).last_leaves(), [0]);
}

#[test]
fn impossible_trees_are_refused() {
    assert_eq!(Tree::binomial(0), Err(TreeError::Empty));
    let refused = |latency, gap| {
        let error = Tree::optimal(3, Postal { latency, gap }).expect_err("no model");
        assert_eq!(error, TreeError::Postal { latency, gap });
    };
    refused(1, 0);
    refused(2, 3);
}

/// Time in us until the last of six destinations has a packet of 1,536 bytes.
fn six_us(costs: &Costs, multi_send: bool) -> f64 {
    let star = optimal(7, 7);
    assert_eq!(star.depth(), 1);
    let way = SendMethod {
        multi_send,
        pipelined: false,
    };
    last_ps(&star, 1536, way, costs) as f64 / 1e6
}

#[test]
fn predictions_are_the_published_formulas() {
    let near = |found: f64, published: f64| {
        assert!((found - published).abs() < 1e-3, "{found}, not {published}");
    };
    near(six_us(&Costs::PUBLISHED, true), 153.2089);
    near(six_us(&Costs::PUBLISHED, false), 333.7294);
    let mut combining = Costs::PUBLISHED;
    combining.send.per_byte_ps = 10_600;
    near(six_us(&combining, true), 123.2569);
    near(six_us(&combining, false), 154.0174);
    assert_eq!(packets(0), [0]);
    assert_eq!(packets(1536), [1536]);
    assert_eq!(packets(4000), [1536, 1536, 928]);
}

#[test]
fn packets_pass_a_node_one_by_one_or_as_a_message() {
    let line = |fixed_ps| LinearCost {
        fixed_ps,
        per_byte_ps: 0,
    };
    let costs = Costs {
        send: line(10),
        transmit: line(4),
        receive: line(7),
        handle: line(2),
    };
    let chain = Tree::optimal(3, Postal::lambda(1)).expect("possible");
    // Of three nodes with lambda 1 the root sends to both.
    assert_eq!(chain.children(0), [1, 2]);
    let times = |multi_send, pipelined| {
        let way = SendMethod {
            multi_send,
            pipelined,
        };
        deliveries(&chain, 3072, way, &costs)
    };
    assert_eq!(times(true, false), [[0, 0], [17, 27], [21, 31]]);
    assert_eq!(times(false, false), [[0, 0], [17, 27], [37, 47]]);
    assert_eq!(times(false, true), [[0, 0], [17, 37], [27, 47]]);
    let four = Tree::binomial(4).expect("possible");
    let way = |pipelined| SendMethod {
        multi_send: true,
        pipelined,
    };
    // Node 3 is the child of node 2, which is sent to first.
    assert_eq!(deliveries(&four, 3072, way(false), &costs)[3], [44, 54]);
    assert_eq!(deliveries(&four, 3072, way(true), &costs)[3], [34, 46]);
}

#[test]
fn the_best_lambda_depends_on_the_message() {
    let way = SendMethod {
        multi_send: true,
        pipelined: true,
    };
    let (lambda, tree) = best(16, 16_384, way, &Costs::PUBLISHED).expect("possible");
    let least = last_ps(&tree, 16_384, way, &Costs::PUBLISHED);
    for other in 1..=16 {
        assert!(last_ps(&optimal(16, other), 16_384, way, &Costs::PUBLISHED) >= least);
    }
    assert_eq!(tree, optimal(16, lambda));
    let postal = Costs::PUBLISHED.postal(16_384);
    assert_eq!(postal, Costs::PUBLISHED.postal(1536));
    assert!(postal.check().is_ok());
}
