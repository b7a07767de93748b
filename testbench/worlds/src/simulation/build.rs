//! Builds the world of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use emulator::board::{BoardFault, ProbeTable, StallFrom};
use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::fault::RandomFaults;

use super::counters::Counters;
use super::failed;
use super::images::Images;
use super::inputs;
use super::mapping;
use super::media;
use super::started::StartedNodes;
use super::{Simulation, StartedWorkload, tasks};
use crate::boards::Parts;
use crate::builder::{WorldBuilder, WorldError};
use crate::calibrate;
use crate::faults::{self, Strikes};
use crate::myrinet;
use crate::myrinet::host::ControlHost;
use crate::nodes::{self, START};
use crate::replay::Replays;
use crate::scenario::faults::{ExactFault, FaultSpec};
use crate::scenario::programs::Program;
use crate::scenario::{Node, Scenario, ScenarioError};

/// A timing profile, and the image's probes with the stretch factors of their stages.
#[derive(Debug)]
struct Speed {
    profile: Arc<Profile>,
    probes: ProbeTable,
}

/// Everything needed to build simulations of a scenario; can build any number of equal ones.
#[derive(Debug)]
pub struct Blueprint {
    scenario: Scenario,
    /// Images on the boards.
    pub images: Images,
    /// Speed of each node.
    speeds: Vec<Arc<Speed>>,
    replays: Replays,
}

impl Blueprint {
    /// Reads the files that the scenario refers to.
    ///
    /// # Errors
    /// If the image or a profile is invalid; with the position in the scenario.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        for spec in &scenario.programs {
            let workload = spec.workload();
            let checked = workload.map_or(Ok(()), |workload| workload.check_inputs(scenario));
            checked.map_err(|reason| spec.place.refuse(reason))?;
        }
        let images = Images::read(scenario)?;
        Ok(Self {
            speeds: speeds(scenario, &images)?,
            images,
            replays: Replays::read(scenario)?,
            scenario: scenario.clone(),
        })
    }

    /// Builds a simulation.
    ///
    /// # Errors
    /// If the network cannot be built.
    pub fn build(&self) -> Result<Simulation, ScenarioError> {
        let Self {
            scenario,
            images,
            speeds,
            replays,
        } = self;
        let refuse = |error: WorldError| scenario.place.refuse(error.to_string());
        let mut world = world(scenario, speeds, images).map_err(refuse)?;
        let mut resets = Vec::new();
        let mut exact_faults = Vec::new();
        for (index, fault) in scenario.faults.iter().enumerate() {
            let strikes = install(&mut world, scenario, index, fault).map_err(refuse)?;
            if let FaultSpec::Exact(_, place) = fault {
                exact_faults.push((place.clone(), strikes));
            }
            if let FaultSpec::Reset { node, at, .. } = fault {
                resets.push((START.saturating_add(*at), *node));
            }
        }
        // By time: the file may name them in any order.
        resets.sort_unstable();
        let counters = Counters::new(&scenario.nodes);
        let profiles: Vec<_> = speeds
            .iter()
            .map(|speed| Arc::clone(&speed.profile))
            .collect();
        let hosts = hosts(scenario);
        let lives = tasks::spawn(&mut world, scenario, images, &profiles, &hosts);
        let lives = lives.map_err(|error| scenario.place.refuse(error.to_string()))?;
        let installed = replays.install(&mut world, scenario);
        installed.map_err(refuse)?;
        let mappings = mapping::spawn(&mut world, scenario);
        let started = StartedNodes::new(&mut world, scenario);
        let names = scenario.nodes.iter().map(|node| node.name.clone());
        let warnings = scenario.warnings.iter().map(String::as_str);
        let warnings = warnings.chain(images.warnings()).map(str::to_owned);
        Ok(Simulation {
            world,
            warnings: warnings.collect(),
            images: images.clone(),
            profiles,
            lives,
            hosts,
            mappings,
            started,
            replays: replays.clone(),
            resets,
            counters,
            looks: 0,
            exact_faults,
            workloads: workloads(scenario),
            seed: scenario.seed,
            max_time: scenario.max_time,
            quiet: scenario.quiet,
            may_fail_from: failed::may_fail_from(scenario),
            names: names.collect(),
            looks_for_races: false,
            elsewhere: BTreeMap::new(),
        })
    }
}

impl Simulation {
    /// Builds the simulation of a scenario.
    ///
    /// # Errors
    /// If the image or a profile is invalid; with the position in the scenario.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        Blueprint::new(scenario)?.build()
    }
}

/// The speed of each node: one for all nodes with the same profile and image.
fn speeds(scenario: &Scenario, images: &Images) -> Result<Vec<Arc<Speed>>, ScenarioError> {
    let mut known: Vec<((_, _, _), Arc<Speed>)> = Vec::new();
    let mut speeds = Vec::with_capacity(scenario.nodes.len());
    for (index, node) in scenario.nodes.iter().enumerate() {
        let key = (&node.profile.name, &node.costs, images.index_of(index));
        let found = known.iter().find(|(other, _)| *other == key);
        let speed = match found {
            Some((_, speed)) => Arc::clone(speed),
            None => {
                let speed = Arc::new(speed(scenario, node, images.image_of(index))?);
                known.push((key, Arc::clone(&speed)));
                speed
            }
        };
        let fits = speed.profile.for_board(node.board.name);
        fits.map_err(|error| node.profile.place.refuse(error.to_string()))?;
        speeds.push(speed);
    }
    Ok(speeds)
}

fn speed(scenario: &Scenario, node: &Node, image: &Image) -> Result<Speed, ScenarioError> {
    let name = &node.profile;
    let profile = inputs::profile(scenario, node)?;
    let factors = calibrate::factors(image, &profile);
    let factors = factors.map_err(|error| name.place.refuse(error.to_string()))?;
    Ok(Speed {
        profile: Arc::new(profile),
        probes: nodes::probes(image, &factors),
    })
}

/// The programs that are workloads.
fn workloads(scenario: &Scenario) -> Vec<StartedWorkload> {
    let programs = scenario.programs.iter();
    let found = programs.filter_map(|spec| match &spec.program {
        Program::Workload(kind, workload) => Some(StartedWorkload {
            name: spec.name,
            results: kind.results,
            workload: Arc::clone(workload),
        }),
        _ => None,
    });
    found.collect()
}

/// The hosts of control programs, by node.
fn hosts(scenario: &Scenario) -> BTreeMap<usize, ControlHost> {
    let mut hosts = BTreeMap::new();
    for spec in &scenario.programs {
        let Some(settings) = spec.control() else {
            continue;
        };
        for index in spec.nodes() {
            // The scenario's reader has refused other boards.
            if let Some(generation) = myrinet::generation(scenario.nodes[index].board) {
                let (kind, exchange) = (settings.host, spec.exchange(index));
                // Adapters that meet start before the programs do.
                let delay_ns = if spec.exchanges_frames() {
                    0
                } else {
                    spec.start_ns
                };
                let host = ControlHost::new(kind, generation, index, delay_ns, exchange);
                hosts.insert(index, host);
            }
        }
    }
    hosts
}

fn world(scenario: &Scenario, speeds: &[Arc<Speed>], images: &Images) -> Result<World, WorldError> {
    let mut world = WorldBuilder::new();
    for (index, (node, speed)) in scenario.nodes.iter().zip(speeds).enumerate() {
        let parts = Parts {
            profile: &speed.profile,
            probes: Some(&speed.probes),
            sram_bytes: node.sram_bytes(),
            memory_megabytes: node.memory_mb,
            original: nodes::is_original(images.image_of(index)),
        };
        world.node(node.board, &parts)?;
    }
    if let Some(first) = speeds.first() {
        media::join(&mut world, &scenario.network, &first.profile)?;
    }
    world.build()
}

/// Converts a time relative to the start of the programs to an absolute time.
pub(super) const fn absolute(time: SimTime) -> SimTime {
    START.saturating_add(time)
}

/// Installs a fault. Returns the hit counter of an exact fault.
fn install(
    world: &mut World,
    scenario: &Scenario,
    index: usize,
    fault: &FaultSpec,
) -> Result<Strikes, WorldError> {
    match fault {
        FaultSpec::Exact(ExactFault::Emp(fault), _) => {
            let fault = fault.clone().later_by(START);
            return Ok(faults::install(world, &fault)?);
        }
        FaultSpec::Exact(ExactFault::Gm(fault), _) => {
            let fault = fault.clone().later_by(START);
            return faults::install_packet(world, &fault);
        }
        FaultSpec::Exact(ExactFault::Program(fault), _) => {
            let fault = fault.clone().later_by(START);
            return Ok(faults::install_program(world, &fault)?);
        }
        FaultSpec::Random { links, rates } => {
            for &link in links {
                let ends = scenario.network.links[link].ends;
                for (direction, end) in ends.into_iter().enumerate() {
                    // Rates were checked by the scenario's reader.
                    let stream = ((index as u64) << 32) | (2 * link + direction) as u64;
                    if let Ok(layer) = RandomFaults::new(*rates, scenario.seed, stream) {
                        media::add_faults(world, scenario.network.medium, end, layer)?;
                    }
                }
            }
        }
        FaultSpec::Cut { link, from, until } => {
            let end = scenario.network.links[*link].ends[0];
            let span = (absolute(*from), until.map(absolute));
            media::cut(world, scenario.network.medium, end, span)?;
        }
        &FaultSpec::Replug {
            link,
            ends,
            at,
            until,
        } => {
            let old = media::port(scenario.network.links[link].ends[0]);
            let ends = ends.map(media::port);
            world.replug_myrinet(old, ends, absolute(at), absolute(until))?;
        }
        &FaultSpec::Board { node, mut fault } => {
            let BoardFault::DmaStall { from, .. } = &mut fault;
            if let StallFrom::Time(time) = from {
                *time = absolute(*time);
            }
            world.nodes[node].inspect_mut().inject(&fault)?;
        }
        &FaultSpec::Reset { node, at, pause } => {
            world.nodes[node].schedule_reset(absolute(at), pause);
        }
        &FaultSpec::BoardReset { node, at } => {
            world.nodes[node].schedule_board_reset(absolute(at));
        }
    }
    Ok(Strikes::default())
}
