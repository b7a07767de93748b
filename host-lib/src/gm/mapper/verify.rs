//! Whether a network still is what a map says.

use defs::gm::map::ROUTE_LIMIT;

use super::error::MapError;
use super::explore::{ExplorationTerms, compare};
use super::map::{CrossbarPort, Map, MappedNode};
use super::packets::{MapperAnswer, MapperPacket, Patience, Prober};

/// The route to a crossbar, as distances.
fn route_to(map: &Map, crossbar: usize) -> Vec<i8> {
    let delta = |&byte: &u8| (byte << 2).cast_signed() >> 2;
    map.crossbars[crossbar].route.iter().map(delta).collect()
}

/// The distance of a port from that where the route to its crossbar comes in.
fn distance(map: &Map, place: CrossbarPort) -> i8 {
    let entry = map.crossbars[place.crossbar].entry;
    place.port.cast_signed() - entry.cast_signed()
}

/// The route out of a port.
fn out(map: &Map, place: CrossbarPort) -> Vec<i8> {
    let mut route = route_to(map, place.crossbar);
    route.push(distance(map, place));
    route
}

/// Packets that are answered if something is plugged into a port without a cable.
fn vacant(map: &Map, terms: ExplorationTerms) -> Vec<MapperPacket> {
    let mut vacant = Vec::new();
    for index in 0..map.crossbars.len() {
        for port in map.vacant(index, terms.most_ports) {
            let mut route = route_to(map, index);
            route.push(port);
            if route.len() < ROUTE_LIMIT as usize {
                vacant.push(MapperPacket::echo(&route));
            }
            vacant.push(MapperPacket::scout(&route));
        }
    }
    if map.crossbars.is_empty() && map.hosts.len() == 1 {
        vacant.extend([MapperPacket::scout(&[]), MapperPacket::echo(&[])]);
    }
    vacant
}

/// Change of a network since its map was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// No change.
    None,
    /// The network is the same, but a node has other routes than those of this version: it began anew.
    Restarted,
    /// Cables or nodes.
    Network,
}

/// Looks whether a network still is what a map says: every node, every cable, and, once, every port without a cable.
///
/// # Errors
/// [`MapError`] of the prober; [`MapError::Superseded`].
pub(super) async fn verify<P: Prober>(
    prober: &mut P,
    map: &Map,
    terms: ExplorationTerms,
    version: u32,
) -> Result<Change, MapError> {
    let hosts: Vec<&MappedNode> = map
        .hosts
        .iter()
        .filter(|host| host.id != map.mapper)
        .collect();
    let scouts: Vec<MapperPacket> = hosts
        .iter()
        .map(|host| MapperPacket::scout(&host.at.map_or_else(Vec::new, |at| out(map, at))))
        .collect();
    let mut change = Change::None;
    let patience = Patience::all(terms.tries);
    for (host, answer) in hosts.iter().zip(prober.ask(&scouts, patience).await?) {
        match answer {
            Some(MapperAnswer { version: later, .. })
                if later != version && later.wrapping_sub(version) < 1 << 31 && later != 0 =>
            {
                return Err(MapError::Superseded { version: later });
            }
            Some(answer) if answer.id == host.id && answer.version != version => {
                change = Change::Restarted;
            }
            Some(answer) if answer.id == host.id => {}
            _ => return Ok(Change::Network),
        }
    }
    let circles: Vec<MapperPacket> = map
        .links
        .iter()
        .map(|&[a, b]| compare(&out(map, a), &route_to(map, b.crossbar), distance(map, b)))
        .collect();
    if prober.ask(&circles, patience).await?.contains(&None) {
        return Ok(Change::Network);
    }
    let found = prober.ask(&vacant(map, terms), Patience::all(1)).await?;
    let new = |answer: &MapperAnswer| answer.id != map.mapper || !map.crossbars.is_empty();
    if found.iter().flatten().any(new) {
        return Ok(Change::Network);
    }
    Ok(change)
}
