//! Routes over a [`Map`] without deadlocks: up*/down*.
//!
//! Each crossbar has a level. A route goes up any number of cables, then down any number, and never up again, so packets wait
//! for channels in one order only. Among those routes the shortest are taken; equally short ones, over parallel cables too, are
//! shared out over the pairs of nodes.

use std::collections::{BTreeMap, VecDeque};

use defs::gm::map::ROUTE_LIMIT;

use super::map::{CrossbarPort, Map};
use super::packets::route_byte;

/// Routes by the numbers of the nodes where they begin and end.
pub type Routes = BTreeMap<(u16, u16), Vec<u8>>;

/// A cable from one crossbar to another one.
#[derive(Debug, Clone, Copy)]
struct Cable {
    egress: u8,
    to: CrossbarPort,
}

/// The cables of each crossbar, and its level: smaller is higher.
#[derive(Debug)]
struct Graph {
    cables: Vec<Vec<Cable>>,
    levels: Vec<usize>,
}

/// Number of cables from each crossbar to a target: when the way may still go up, and when it goes down.
#[derive(Debug)]
struct Distances {
    any: Vec<usize>,
    down: Vec<usize>,
}

impl Graph {
    fn new(map: &Map) -> Self {
        let mut cables = vec![Vec::new(); map.crossbars.len()];
        for &[a, b] in &map.links {
            if a.crossbar == b.crossbar {
                continue;
            }
            for (from, to) in [(a, b), (b, a)] {
                let egress = from.port;
                cables[from.crossbar].push(Cable { egress, to });
            }
        }
        for all in &mut cables {
            all.sort_by_key(|cable| cable.egress);
        }
        Self {
            levels: vec![0; cables.len()],
            cables,
        }
    }

    /// The distance of each crossbar from the nearest of some.
    fn spread(&self, from: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut distances = vec![usize::MAX; self.cables.len()];
        let mut queue: VecDeque<usize> = from.into_iter().collect();
        queue.iter().for_each(|&crossbar| distances[crossbar] = 0);
        while let Some(crossbar) = queue.pop_front() {
            for cable in &self.cables[crossbar] {
                let next = cable.to.crossbar;
                if distances[next] == usize::MAX {
                    distances[next] = distances[crossbar] + 1;
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    fn is_up(&self, from: usize, to: usize) -> bool {
        (self.levels[to], to) < (self.levels[from], from)
    }

    fn distances(&self, to: usize) -> Distances {
        let mut any = vec![usize::MAX; self.cables.len()];
        let mut down = any.clone();
        (any[to], down[to]) = (0, 0);
        let mut queue = VecDeque::from([(to, true), (to, false)]);
        while let Some((crossbar, going_down)) = queue.pop_front() {
            let far = match going_down {
                true => down[crossbar],
                false => any[crossbar],
            };
            for cable in &self.cables[crossbar] {
                let before = cable.to.crossbar;
                let came_up = self.is_up(before, crossbar);
                // A way that goes down from here was either going down already or went up until now.
                if came_up && any[before] == usize::MAX && !going_down {
                    any[before] = far + 1;
                    queue.push_back((before, false));
                }
                if !came_up && going_down && down[before] == usize::MAX {
                    down[before] = far + 1;
                    queue.push_back((before, true));
                    if any[before] == usize::MAX {
                        any[before] = far + 1;
                        queue.push_back((before, false));
                    }
                }
            }
        }
        Distances { any, down }
    }

    /// The bytes of a route, or `None` if there is no way.
    fn find_route(
        &self,
        from: CrossbarPort,
        to: CrossbarPort,
        distances: &Distances,
        spread: usize,
    ) -> Option<Vec<u8>> {
        let (mut here, mut route, mut going_down) = (from, Vec::new(), false);
        while here.crossbar != to.crossbar {
            let left = |crossbar: usize, down: bool| match down {
                true => distances.down[crossbar],
                false => distances.any[crossbar],
            };
            let far = left(here.crossbar, going_down);
            let shorter = |cable: &&Cable| {
                let up = self.is_up(here.crossbar, cable.to.crossbar);
                let then = left(cable.to.crossbar, !up);
                !(going_down && up) && then != usize::MAX && then + 1 == far
            };
            let choices: Vec<&Cable> = self.cables[here.crossbar].iter().filter(shorter).collect();
            let chosen = *choices.get(spread % choices.len().max(1))?;
            route.push(delta(here.port, chosen.egress));
            going_down |= !self.is_up(here.crossbar, chosen.to.crossbar);
            here = chosen.to;
        }
        route.push(delta(here.port, to.port));
        Some(route)
    }
}

const fn delta(ingress: u8, egress: u8) -> u8 {
    route_byte(egress.cast_signed() - ingress.cast_signed())
}

/// The routes between all nodes of a map, also from each node at a crossbar to itself. Pairs without a route of at most
/// [`ROUTE_LIMIT`] bytes are missing.
#[must_use]
pub fn routes(map: &Map) -> Routes {
    if map.crossbars.is_empty() {
        let pairs = map.hosts.iter().flat_map(|from| {
            let others = map.hosts.iter().filter(move |to| to.id != from.id);
            others.map(move |to| ((from.node, to.node), Vec::new()))
        });
        return pairs.collect();
    }
    let mut graph = Graph::new(map);
    // Crossbars far from nodes are up: in a tree or a Clos network all shortest ways are allowed. Elsewhere there may be no way
    // between two nodes; with levels below one root there always is one.
    let with_nodes = map.hosts.iter().filter_map(|host| Some(host.at?.crossbar));
    let distances = graph.spread(with_nodes);
    graph.levels = distances.iter().map(|far| usize::MAX - far).collect();
    let (found, complete) = all_ways(map, &graph);
    if complete {
        return found;
    }
    graph.levels = graph.spread([0]);
    all_ways(map, &graph).0
}

/// The routes for these levels, and whether no pair is missing.
fn all_ways(map: &Map, graph: &Graph) -> (Routes, bool) {
    let mut known: BTreeMap<usize, Distances> = BTreeMap::new();
    let (mut found, mut complete) = (Routes::new(), true);
    for to in &map.hosts {
        let Some(end) = to.at else {
            continue;
        };
        let distances = known
            .entry(end.crossbar)
            .or_insert_with(|| graph.distances(end.crossbar));
        for from in &map.hosts {
            let spread = usize::from(from.node) + usize::from(to.node);
            let way = from
                .at
                .and_then(|from| graph.find_route(from, end, distances, spread));
            match way.filter(|route| route.len() <= ROUTE_LIMIT as usize) {
                Some(route) => {
                    found.insert((from.node, to.node), route);
                }
                None => complete = false,
            }
        }
    }
    (found, complete)
}
