//! Placement: the rank that executes each node.

/// Nodes that can reach each other, and whether several ranks can execute them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeGroup {
    pub(crate) nodes: Vec<usize>,
    pub(crate) divisible: bool,
}

/// The rank of each node. Nodes that can reach each other and are more than the share of a rank are divided among all ranks, in blocks
/// of neighbours; all others stay together, because they then need no exchange.
pub(super) fn owners(components: &[NodeGroup], nodes: usize, ranks: usize) -> Vec<usize> {
    let share = nodes.div_ceil(ranks.max(1));
    let mut owners = vec![0; nodes];
    let mut loads = vec![0; ranks];
    let is_divided = |component: &&NodeGroup| component.divisible && component.nodes.len() > share;
    for component in components.iter().filter(is_divided) {
        let count = component.nodes.len();
        for (place, &node) in component.nodes.iter().enumerate() {
            owners[node] = place * ranks / count;
            loads[owners[node]] += 1;
        }
    }
    for component in components.iter().filter(|component| !is_divided(component)) {
        let least = (0..ranks).min_by_key(|&rank| loads[rank]).unwrap_or(0);
        for &node in &component.nodes {
            owners[node] = least;
            loads[least] += 1;
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sizes: &[(usize, bool)], ranks: usize, expected: &[usize]) {
        let mut first = 0;
        let components = sizes.iter().map(|&(count, divisible)| {
            let nodes = (first..first + count).collect();
            first += count;
            NodeGroup { nodes, divisible }
        });
        let components: Vec<_> = components.collect();
        assert_eq!(owners(&components, first, ranks), expected);
    }

    #[test]
    fn large_components_are_divided_and_small_ones_stay_together() {
        check(&[(5, true)], 1, &[0; 5]);
        check(&[(5, true)], 2, &[0, 0, 0, 1, 1]);
        check(&[(2, true)], 3, &[0, 1]);
        check(&[(2, false); 3], 2, &[0, 0, 1, 1, 0, 0]);
        check(&[(2, true); 4], 2, &[0, 0, 1, 1, 0, 0, 1, 1]);
        check(&[(2, false), (4, true)], 2, &[0, 0, 0, 0, 1, 1]);
        check(&[(2, false)], 4, &[0, 0]);
    }
}
