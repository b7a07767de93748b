//! Earliest departures from the nodes of a segment, in a tree: the first of all, and the nodes with departures before a horizon, are
//! found without a look at every node.

use emulator_base::time::SimTime;

/// The earliest times at which a unit, and a control, could leave.
pub(super) type Departures = [SimTime; 2];

/// Departures of a node that nothing ever leaves.
const NEVER: Departures = [SimTime::MAX; 2];

/// The departures of all nodes as the leaves of a binary tree, in which every other place has the earliest ones of the two below it.
#[derive(Debug)]
pub(super) struct DepartureTree {
    /// The root is at 1, the places below `n` are at `2 n` and `2 n + 1`.
    places: Vec<Departures>,
    /// The first leaf: a power of two.
    leaves: usize,
}

/// The earlier unit and the earlier control.
fn earlier(a: Departures, b: Departures) -> Departures {
    [a[0].min(b[0]), a[1].min(b[1])]
}

impl DepartureTree {
    /// Departures of `count` nodes, none of which anything leaves.
    pub(super) fn new(count: usize) -> Self {
        let leaves = count.max(1).next_power_of_two();
        Self {
            places: vec![NEVER; 2 * leaves],
            leaves,
        }
    }

    /// Sets the departures of a node.
    pub(super) fn set(&mut self, node: usize, departures: Departures) {
        let mut place = self.leaves + node;
        let mut earliest = departures;
        while self.places[place] != earliest {
            self.places[place] = earliest;
            if place == 1 {
                return;
            }
            earliest = earlier(earliest, self.places[place ^ 1]);
            place /= 2;
        }
    }

    /// The earliest times of all nodes.
    pub(super) fn first(&self) -> Departures {
        self.places[1]
    }

    /// A node that something can leave as early as any other.
    pub(super) fn soonest_node(&self) -> usize {
        let earliest = |place: usize| {
            let [unit, control] = self.places[place];
            unit.min(control)
        };
        let mut place = 1;
        while place < self.leaves {
            place *= 2;
            place += usize::from(earliest(place + 1) < earliest(place));
        }
        place - self.leaves
    }

    /// The earliest times of all nodes but one.
    pub(super) fn without(&self, node: usize) -> Departures {
        let mut place = self.leaves + node;
        let mut earliest = NEVER;
        while place > 1 {
            earliest = earlier(earliest, self.places[place ^ 1]);
            place /= 2;
        }
        earliest
    }

    /// Sets `nodes` to the nodes that something may leave before `time`, in ascending order.
    pub(super) fn before(&self, time: SimTime, nodes: &mut Vec<usize>) {
        nodes.clear();
        self.collect(1, time, nodes);
    }

    /// Adds the nodes below a place that something may leave before `time`.
    fn collect(&self, place: usize, time: SimTime, nodes: &mut Vec<usize>) {
        let [unit, control] = self.places[place];
        if unit.min(control) >= time {
            return;
        }
        if place >= self.leaves {
            return nodes.push(place - self.leaves);
        }
        self.collect(2 * place, time, nodes);
        self.collect(2 * place + 1, time, nodes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ns(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    proptest! {
        #[test]
        fn the_tree_gives_the_answers_of_a_list(
            count in 1..40_usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..50_u64, 0..50_u64), 0..200),
        ) {
            let mut list = vec![NEVER; count];
            let mut tree = DepartureTree::new(count);
            let mut found = Vec::new();
            for (index, unit, control) in changes {
                let node = index.index(count);
                list[node] = [ns(unit), ns(control)];
                tree.set(node, list[node]);
                let first = list.iter().copied().fold(NEVER, earlier);
                prop_assert_eq!(tree.first(), first);
                let soonest_node = tree.soonest_node();
                let soonest = |[unit, control]: Departures| unit.min(control);
                prop_assert_eq!(soonest(list[soonest_node]), soonest(first));
                let others = list.iter().enumerate().filter(|(node, _)| *node != soonest_node);
                let others = others.map(|(_, departures)| *departures).fold(NEVER, earlier);
                prop_assert_eq!(tree.without(soonest_node), others);
                let time = ns(unit.midpoint(control));
                tree.before(time, &mut found);
                let due = list.iter().map(|[unit, control]| unit.min(control) < &time);
                let due: Vec<usize> = (0..count).zip(due).filter(|(_, due)| *due).map(|(node, _)| node).collect();
                prop_assert_eq!(&found, &due);
            }
        }
    }
}
