//! Routes of a Myrinet, as hosts compute them.

use std::collections::BTreeMap;

use emulator::wire::myrinet::routes::{self, RouteError, Routes};
use emulator::wire::myrinet::topology::Topology;

use super::media::port;
use crate::boards::Medium;
use crate::scenario::Network;

/// The routes between all nodes that cables join, over a network of Myrinet; none over another medium.
///
/// # Errors
/// [`RouteError`].
pub(super) fn routes(network: &Network, nodes: usize) -> Result<Routes, RouteError> {
    let mut all = Routes::new();
    if network.medium != Medium::Myrinet {
        return Ok(all);
    }
    for topology in islands(network, nodes) {
        all.extend(routes::routes(&topology)?);
    }
    Ok(all)
}

/// The parts of a network that are not joined with each other and have several nodes.
fn islands(network: &Network, nodes: usize) -> Vec<Topology> {
    let mut cables: BTreeMap<usize, Topology> = BTreeMap::new();
    for (link, island) in network.links.iter().zip(network.islands(nodes)) {
        let [a, b] = link.ends;
        let topology = cables.entry(island).or_insert_with(|| Topology {
            crossbars: network.switches.iter().map(|switch| switch.ports).collect(),
            cables: Vec::new(),
        });
        topology.cable(port(a), port(b));
    }
    let several = |topology: &Topology| topology.nodes().len() > 1;
    cables.into_values().filter(several).collect()
}
