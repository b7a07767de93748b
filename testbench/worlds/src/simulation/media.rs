//! The network of a scenario in a world: switches, cables and their faults, for each medium.

use emulator::profile::{Profile, ProfileError};
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::{self, SwitchConfig};
use emulator::wire::fault::{FaultCounts, RandomFaults};
use emulator::wire::lane::LaneCounts;
use emulator::wire::myrinet::{self, CrossbarConfig, Watermarks};
use emulator::wire::port::Port;

use crate::boards::Medium;
use crate::builder::{WorldBuilder, WorldError, add_layer};
use crate::nodes::mac_address;
use crate::scenario::{CrossbarSpec, Forwarding, LinkEnd, Network, SwitchSpec};

/// A link's end as a port of the world.
pub(super) const fn port(end: LinkEnd) -> Port {
    match end {
        LinkEnd::Node(node) => Port::Node(node),
        LinkEnd::Port { switch, port } => Port::Switch { switch, port },
    }
}

fn switch(spec: &SwitchSpec) -> SwitchConfig {
    let routes = spec.routes.iter().enumerate();
    SwitchConfig {
        ports: spec.ports,
        forwarding: match spec.forwarding {
            Forwarding::StoreAndForward => switch::Forwarding::StoreAndForward,
            Forwarding::CutThrough => switch::Forwarding::CutThrough,
        },
        latency: spec.latency,
        buffer_bytes: u64::from(spec.buffer_bytes),
        routes: routes
            .filter_map(|(node, &port)| Some((mac_address(node as u16), port?)))
            .collect(),
    }
}

/// A crossbar: what the scenario does not say, the profile does.
fn crossbar(spec: &SwitchSpec, profile: &Profile) -> Result<CrossbarConfig, ProfileError> {
    let usual = CrossbarConfig::read(spec.ports, &mut profile.reader())?;
    let CrossbarSpec {
        latency,
        stop_bytes,
        go_bytes,
        watchdog,
    } = spec.crossbar;
    let stop_bytes = stop_bytes.map_or(usual.watermarks.stop_bytes, u64::from);
    let usual_go = usual.watermarks.go_bytes.min(stop_bytes.saturating_sub(1));
    Ok(CrossbarConfig {
        ports: spec.ports,
        latency: latency.unwrap_or(usual.latency),
        watermarks: Watermarks {
            stop_bytes,
            go_bytes: go_bytes.map_or(usual_go, u64::from),
        },
        watchdog: watchdog.or(usual.watchdog),
    })
}

/// Adds switches and cables to the description of a world. Crossbars have the properties of `profile`, that of the boards, unless the
/// scenario gives others.
///
/// # Errors
/// If the profile has none.
pub(super) fn join(
    world: &mut WorldBuilder,
    network: &Network,
    profile: &Profile,
) -> Result<(), ProfileError> {
    for spec in &network.switches {
        match network.medium {
            Medium::Ethernet => world.switch(switch(spec)),
            Medium::Myrinet => world.crossbar(crossbar(spec, profile)?),
        };
    }
    for spec in &network.links {
        let [a, b] = spec.ends.map(port);
        let (byte_time, propagation) = (spec.byte_time, spec.propagation);
        match network.medium {
            Medium::Ethernet => world.cable(
                a,
                b,
                Link {
                    byte_time,
                    propagation,
                },
            ),
            Medium::Myrinet => world.myrinet_cable(
                a,
                b,
                myrinet::Link {
                    byte_time,
                    propagation,
                },
            ),
        }
    }
    Ok(())
}

/// Adds random faults of what leaves an end of a link.
///
/// # Errors
/// If there is no such port.
pub(super) fn add_faults(
    world: &mut World,
    medium: Medium,
    end: LinkEnd,
    layer: RandomFaults,
) -> Result<(), WorldError> {
    add_layer(world, medium, port(end), layer)
}

/// Cuts the link at an end from one time to another one, if ever.
///
/// # Errors
/// If there is no such port.
pub(super) fn cut(
    world: &mut World,
    medium: Medium,
    end: LinkEnd,
    (from, until): (SimTime, Option<SimTime>),
) -> Result<(), WorldError> {
    match medium {
        Medium::Ethernet => world.unplug(port(end), from, until)?,
        Medium::Myrinet => world.unplug_myrinet(port(end), from, until)?,
    }
    Ok(())
}

/// Ports of nodes and Ethernet switches.
fn ethernet_ports(world: &World) -> impl Iterator<Item = Port> {
    let nodes = (0..world.nodes.len()).map(Port::Node);
    let switches = world.switches().iter();
    nodes.chain(switches.flat_map(|of| {
        let switch = of.index();
        (0..of.counts().count()).map(move |port| Port::Switch { switch, port })
    }))
}

/// Counts of what left each port, of all media.
pub(super) fn lanes(world: &World) -> impl Iterator<Item = &LaneCounts> {
    let ethernet = ethernet_ports(world).filter_map(|port| world.line_counts(port).ok());
    ethernet.chain(world.myrinet_lanes())
}

/// Counts of all fault layers.
pub(super) fn fault_counts(world: &World) -> impl Iterator<Item = FaultCounts> {
    let ethernet = ethernet_ports(world).filter_map(|port| world.fault_counts(port).ok());
    ethernet.flatten().chain(world.myrinet_layers())
}
