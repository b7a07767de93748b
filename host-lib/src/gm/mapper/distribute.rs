//! Routes to all nodes, over the network.
//!
//! Every node first gets its whole table, the own one before all others. When all have theirs, each is told that the tables are
//! complete: only then do programs begin that wait for a map. Numbers without a node get an entry without a way.

use defs::gm::mapping::ENTRY_LIMIT;

use super::board::MapperPort;
use super::error::MapError;
use super::map::{Map, MappedNode};
use super::packets::{MapperAnswer, MapperPacket, Patience, Prober, RouteTable};
use super::routes::{Routes, routes};

/// Whether a version is later than another one.
const fn is_later(version: u32, than: u32) -> bool {
    version != 0 && version.wrapping_sub(than).wrapping_sub(1) < (1 << 31) - 1
}

/// The packets of a node's table, then the one that says that all tables are complete. `None` if no way leads there or back.
fn packets(
    map: &Map,
    routes: &Routes,
    host: &MappedNode,
    version: u32,
    nodes: u16,
) -> Option<(Vec<MapperPacket>, MapperPacket)> {
    let own = map.mapper_node()?;
    let (there, back) = match host.node == own {
        true => (&[][..], &[][..]),
        false => (
            &routes.get(&(own, host.node))?[..],
            &routes.get(&(host.node, own))?[..],
        ),
    };
    let table = RouteTable {
        node: host.node,
        nodes,
        version,
        there,
        back,
    };
    let entries: Vec<(u16, Option<&[u8]>)> = (0..nodes)
        .map(|to| (to, routes.get(&(host.node, to)).map(Vec::as_slice)))
        .collect();
    let parts = entries.chunks(ENTRY_LIMIT as usize);
    let parts = parts.map(|part| table.packet(part, false)).collect();
    Some((parts, table.packet(&[], true)))
}

/// Gives routes to all nodes of a map. Returns the nodes that did not take them.
pub(super) async fn distribute(
    port: &mut MapperPort,
    map: &Map,
    version: u32,
    nodes: u16,
    tries: u32,
) -> Result<Vec<u16>, MapError> {
    let routes = routes(map);
    let (mut silent, mut others, mut own) = (Vec::new(), Vec::new(), None);
    for host in &map.hosts {
        match packets(map, &routes, host, version, nodes) {
            Some(parts) if host.id == map.mapper => own = Some(parts),
            Some(parts) => others.push((host, parts)),
            None => silent.push(host.node),
        }
    }
    for part in own.iter().flat_map(|(parts, _)| parts) {
        if !port.give_own(part, version).await? {
            let version = port.version().await;
            return Err(MapError::Superseded { version });
        }
    }
    // A node keeps one answer only, so the packets of one node do not follow each other.
    let longest = others.iter().map(|(_, (parts, _))| parts.len()).max();
    for index in 0..longest.unwrap_or(0) {
        let group: Vec<(&MappedNode, MapperPacket)> = others
            .iter()
            .filter_map(|(host, (parts, _))| Some((*host, parts.get(index)?.clone())))
            .collect();
        let refused = send_packets(port, &group, version, tries).await?;
        others.retain(|(host, _)| !refused.contains(&host.node));
        silent.extend(refused);
    }
    let last: Vec<(&MappedNode, MapperPacket)> = others
        .iter()
        .map(|(host, (_, complete))| (*host, complete.clone()))
        .collect();
    silent.extend(send_packets(port, &last, version, tries).await?);
    if let Some((_, complete)) = own {
        port.give_own(&complete, version).await?;
    }
    // By number: answers come in any order.
    silent.sort_unstable();
    Ok(silent)
}

/// Gives a packet to each of some nodes. Returns those that did not take it.
async fn send_packets(
    port: &mut MapperPort,
    group: &[(&MappedNode, MapperPacket)],
    version: u32,
    tries: u32,
) -> Result<Vec<u16>, MapError> {
    let packets: Vec<MapperPacket> = group.iter().map(|(_, packet)| packet.clone()).collect();
    // Routes are worth more tries than a question to a port without a cable.
    let answers = port.ask(&packets, Patience::all(4 * tries)).await?;
    let mut silent = Vec::new();
    for ((host, _), answer) in group.iter().zip(answers) {
        match answer {
            Some(MapperAnswer { version: known, .. }) if is_later(known, version) => {
                return Err(MapError::Superseded { version: known });
            }
            Some(answer)
                if answer.id == host.id
                    && answer.node == host.node
                    && answer.version == version => {}
            _ => silent.push(host.node),
        }
    }
    Ok(silent)
}
