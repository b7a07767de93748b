//! The settings of each node's protocol, from the scenario, the network and the profile.

use std::sync::Arc;

use defs::gm::map::PAGE_BYTES;
use emulator::profile::Profile;
use emulator::wire::myrinet::routes::RouteError;
use host_lib::{acenic, emp, fm, gm};

use super::ways;
use crate::boards::{Medium, Protocol};
use crate::gm::OWN_PORT;
use crate::nodes::{ethernet_route, mac_address};
use crate::scenario::Scenario;
use crate::scenario::programs::ProgramSpec;
use crate::workload::{GmNeeds, Workload};

/// Settings of a node's protocol.
pub(super) enum Settings {
    Emp(emp::Config),
    Gm(gm::Config),
    Fm(fm::Config),
    Acenic(acenic::Config),
}

/// The settings of each node.
pub(super) fn of_nodes(
    scenario: &Scenario,
    profiles: &[Arc<Profile>],
) -> Result<Vec<Settings>, RouteError> {
    let count = scenario.nodes.len();
    let addresses: Vec<_> = (0..count).map(|node| mac_address(node as u16)).collect();
    let ways = ways::routes(&scenario.network, count)?;
    let nodes = scenario.nodes.iter().zip(profiles).enumerate();
    let settings = nodes.map(|(index, (node, profile))| {
        let overhead_ns = profile.host.post.ps() / 1000;
        if node.protocol == Some(Protocol::Acenic) {
            return Settings::Acenic(acenic_config(scenario, index));
        }
        if let (Some(Protocol::Gm), Some(firmware)) = (node.protocol, node.board.gm) {
            let needs = gm_needs(scenario, index);
            let routes = (0..count).map(|to| match node.board.medium {
                Medium::Myrinet if to == index => needs.own_route.then(|| vec![OWN_PORT]),
                Medium::Myrinet => ways.get(&(index, to)).cloned(),
                Medium::Ethernet => ethernet_route(index, to),
            });
            let mapped = node.settings.gm.mapped && scenario.network.link_of(index).is_some();
            let mut config = match mapped {
                true => gm::Config::mapped(firmware.family, Some(index as u16)),
                false => gm::Config::new(firmware.family, index as u16, routes.collect::<Vec<_>>()),
            };
            node.settings.gm.apply(&mut config);
            config.overhead_ns = overhead_ns;
            config.page_buckets = config.page_buckets.max(page_buckets(needs.shared_bytes));
            return Settings::Gm(config);
        }
        if node.protocol == Some(Protocol::Fm) {
            let routes = (0..count).map(|to| ways.get(&(index, to)).cloned());
            let mut config = fm::Config::new(index as u16, routes.collect());
            node.settings.fm.apply(&mut config);
            config.overhead_ns = overhead_ns;
            return Settings::Fm(config);
        }
        let mut config = emp::Config::new(index as u16, addresses.clone());
        node.settings.emp.apply(&mut config);
        config.post_overhead_ns = overhead_ns;
        Settings::Emp(config)
    });
    Ok(settings.collect())
}

/// Needs of a node's workloads from GM.
fn gm_needs(scenario: &Scenario, node: usize) -> GmNeeds {
    let workloads = scenario.programs.iter().filter_map(ProgramSpec::workload);
    let mut on_node = workloads.filter(|workload| workload.nodes().contains(&node));
    on_node.next().map(Workload::gm_needs).unwrap_or_default()
}

/// Buckets of the page table that a node's shared memory needs: one for each page, since some fill up before others.
fn page_buckets(shared_bytes: u64) -> u32 {
    let pages = shared_bytes.div_ceil(PAGE_BYTES.into());
    u32::try_from(pages.next_power_of_two()).unwrap_or(u32::MAX)
}

/// The configuration of a node's driver, for what its program sends.
fn acenic_config(scenario: &Scenario, index: usize) -> acenic::Config {
    let mut programs = scenario.programs.iter();
    let own = programs.find(|spec| spec.nodes().contains(&index));
    let frames = own.map(|spec| spec.frames).unwrap_or_default();
    let mut config = acenic::Config {
        address: Some(mac_address(index as u16)),
        ..acenic::Config::default()
    };
    scenario.nodes[index]
        .settings
        .acenic
        .apply(&mut config, frames);
    config
}
