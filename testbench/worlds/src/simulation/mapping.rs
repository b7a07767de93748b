//! Mappers of GM in scenarios.

use std::sync::{Arc, Mutex, PoisonError};

use emulator::host::machine::Machine;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use host_lib::gm;
use host_lib::gm::mapper::{MapError, Mapper, Report, Settings};
use host_lib::lanai::Family;
use host_lib::window::System;

use crate::nodes::START;
use crate::scenario::Scenario;

/// A pause after an error, in nanoseconds.
const PAUSE_NS: u64 = 1_000_000;

/// Result of a mapper: it gave routes to all nodes.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Mapping {
    /// Name of the mapper's node.
    pub mapper: String,
    /// When all nodes had their routes, in us since the start of the programs.
    pub at_us: f64,
    /// Duration of the mapper's work, in us.
    pub took_us: f64,
    /// Version of the routes.
    pub version: u32,
    /// Nodes that were found.
    pub nodes: usize,
    /// Crossbars that were found.
    pub crossbars: usize,
    /// Cables between crossbars that were found.
    pub cables: usize,
    /// Packets of the mapper.
    pub packets: u64,
    /// Nodes that did not take their routes.
    pub silent: Vec<u16>,
}

/// Record of all mappers of a run: their results in the order of time, and the last error of one.
#[derive(Debug, Clone, Default)]
pub(super) struct Mappings(Arc<Mutex<MappingLog>>);

#[derive(Debug, Default)]
struct MappingLog {
    done: Vec<Mapping>,
    error: Option<(String, MapError)>,
}

impl Mappings {
    /// Results so far, in the order of time and name.
    pub(super) fn done(&self) -> Vec<Mapping> {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut done = log.done.clone();
        // Nodes on several threads end in any order: the name decides among equal times.
        done.sort_by(|a, b| {
            a.at_us
                .total_cmp(&b.at_us)
                .then_with(|| a.mapper.cmp(&b.mapper))
        });
        done
    }

    /// The error of a mapper that has not mapped its network.
    pub(super) fn problem(&self) -> Option<String> {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, error) = log.error.as_ref()?;
        Some(format!("node {name}: mapper: {error}"))
    }

    fn note(&self, name: &str, now_ps: u64, result: Result<Option<Report>, MapError>) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Err(error) => log.error = Some((name.to_owned(), error)),
            Ok(report) => {
                log.error = None;
                log.done.extend(report.map(|report| Mapping {
                    mapper: name.to_owned(),
                    at_us: SimTime::from_ps(now_ps).saturating_sub(START).us(),
                    took_us: report.time_ns as f64 / 1000.0,
                    version: report.version,
                    nodes: report.nodes,
                    crossbars: report.crossbars,
                    cables: report.links,
                    packets: report.packets,
                    silent: report.silent,
                }));
            }
        }
    }
}

/// Starts the mappers of a scenario.
pub(super) fn spawn(world: &mut World, scenario: &Scenario) -> Mappings {
    let mappings = Mappings::default();
    for &index in &scenario.mappers {
        let node = &scenario.nodes[index];
        // Only a Myrinet is mapped.
        let Some(gm::Family::Lanai(family)) = node.board.gm.map(|firmware| firmware.family) else {
            continue;
        };
        let task = MapperTask {
            name: node.name.clone(),
            family,
            pause_ns: u64::from(node.settings.gm.verify_us) * 1000,
            mappings: mappings.clone(),
        };
        let programs = &mut world.nodes[index].programs;
        programs.spawn_restartable("mapper", move |machine, _| {
            let task = task.clone();
            async move { task.run(machine).await }
        });
    }
    mappings
}

#[derive(Clone)]
struct MapperTask {
    name: String,
    family: Family,
    /// Pause until the mapper looks for changes; 0: it does not.
    pause_ns: u64,
    mappings: Mappings,
}

impl MapperTask {
    async fn run(&self, machine: Machine) {
        let settings = Settings::default();
        let mut mapper = Mapper::new(
            machine.clone().into(),
            machine.into(),
            self.family,
            settings,
        );
        mapper.await_start().await;
        // The boards of all nodes have been started by then.
        let now = SimTime::from_ps(mapper.system_mut().now_ps());
        let rest = START.saturating_sub(now);
        mapper.system_mut().sleep(rest.ps().div_ceil(1000)).await;
        loop {
            let result = mapper.maintain().await;
            let now_ps = mapper.system_mut().now_ps();
            let failed = result.is_err();
            self.mappings.note(&self.name, now_ps, result);
            if failed {
                mapper.system_mut().sleep(PAUSE_NS).await;
                mapper.await_start().await;
            } else if self.pause_ns == 0 {
                return;
            } else {
                mapper.system_mut().sleep(self.pause_ns).await;
            }
        }
    }
}
