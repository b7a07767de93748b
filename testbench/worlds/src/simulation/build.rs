//! Builds the world of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use emulator::board::{BoardFault, ProbeTable, StallFrom};
use emulator::host::machine::Machine;
use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::fault::RandomFaults;
use host_lib::emp::Config;
use host_lib::firmware::Firmware;

use super::images::Images;
use super::media;
use super::result::Counters;
use super::started::Started;
use super::{Lives, Simulation};
use crate::boards::{BoardType, Parts};
use crate::builder::{WorldBuilder, WorldError};
use crate::calibrate;
use crate::faults::{self, Strikes};
use crate::images::firmware;
use crate::nodes::{self, START, mac_address};
use crate::pairs;
use crate::programs::deliveries::Deliveries;
use crate::programs::plan::{Plan, plans};
use crate::programs::traffic::{self, Identity};
use crate::scenario::ProfileName;
use crate::scenario::faults::FaultSpec;
use crate::scenario::programs::Program;
use crate::scenario::{Scenario, ScenarioError};

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
}

impl Blueprint {
    /// Reads the files that the scenario refers to.
    ///
    /// # Errors
    /// If the image or a profile is invalid; with the position in the scenario.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let images = Images::read(scenario)?;
        Ok(Self {
            speeds: speeds(scenario, &images)?,
            images,
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
        } = self;
        let refuse = |error: WorldError| scenario.place.refuse(error.to_string());
        let mut world = world(scenario, speeds).map_err(refuse)?;
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
        resets.sort_unstable();
        let counters = Counters::new(world.nodes.len());
        let lives = spawn(&mut world, scenario, images, speeds);
        let started = Started::new(&mut world, scenario);
        let profiles = speeds.iter().map(|speed| Arc::clone(&speed.profile));
        let names = scenario.nodes.iter().map(|node| node.name.clone());
        Ok(Simulation {
            world,
            images: images.clone(),
            profiles: profiles.collect(),
            lives,
            started,
            resets,
            counters,
            looks: 0,
            exact_faults,
            max_time: scenario.max_time,
            names: names.collect(),
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
    let mut known = BTreeMap::new();
    let mut speeds = Vec::with_capacity(scenario.nodes.len());
    for (index, node) in scenario.nodes.iter().enumerate() {
        let key = (&node.profile.name, images.index_of(index));
        let speed = match known.get(&key) {
            Some(speed) => Arc::clone(speed),
            None => {
                let speed = Arc::new(speed(scenario, &node.profile, images.of(index))?);
                known.insert(key, Arc::clone(&speed));
                speed
            }
        };
        let fits = speed.profile.for_board(node.board.name);
        fits.map_err(|error| node.profile.place.refuse(error.to_string()))?;
        speeds.push(speed);
    }
    Ok(speeds)
}

fn speed(scenario: &Scenario, name: &ProfileName, image: &Image) -> Result<Speed, ScenarioError> {
    let file = scenario.folder.join(&name.name).display().to_string();
    let path = if name.is_file() { &file } else { &name.name };
    let profile =
        crate::profile::load(path).map_err(|error| name.place.refuse(format!("{error:#}")))?;
    let factors = calibrate::factors(image, &profile);
    let factors = factors.map_err(|error| name.place.refuse(error.to_string()))?;
    Ok(Speed {
        profile: Arc::new(profile),
        probes: nodes::probes(image, &factors),
    })
}

fn world(scenario: &Scenario, speeds: &[Arc<Speed>]) -> Result<World, WorldError> {
    let mut world = WorldBuilder::new();
    for (node, speed) in scenario.nodes.iter().zip(speeds) {
        let parts = Parts {
            profile: &speed.profile,
            probes: Some(&speed.probes),
            sram_bytes: node.board.scenario_sram_bytes,
            memory_megabytes: node.memory_mb,
        };
        world.node(node.board, &parts)?;
    }
    media::join(&mut world, &scenario.network);
    world.build()
}

/// Converts a time relative to the start of the programs to an absolute time.
const fn absolute(time: SimTime) -> SimTime {
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
        FaultSpec::Exact(fault, _) => {
            let fault = fault.clone().later_by(START);
            return Ok(faults::install(world, &fault)?);
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
    }
    Ok(Strikes::default())
}

/// Program of a node's host.
#[derive(Clone)]
enum Job {
    /// Boots EMP, and runs a plan of messages.
    Emp(Plan),
    /// Starts any firmware at this time after the start of the programs, without further accesses.
    Start(SimTime),
}

/// Name and program of each node. Nodes without a program boot EMP and do nothing; if no node uses EMP,
/// their boards stay untouched.
fn jobs(scenario: &Scenario) -> Vec<Option<(&'static str, Job)>> {
    let other = scenario
        .uses_emp()
        .then(|| ("idle", Job::Emp(Plan::default())));
    let nodes = scenario.nodes.iter();
    let idle = nodes.map(|node| other.clone().filter(|_| node.board.runs_emp));
    let mut jobs: Vec<_> = idle.collect();
    for spec in &scenario.programs {
        if let Program::Start { nodes } = &spec.program {
            for &node in nodes {
                let after = SimTime::from_ns(spec.start_ns);
                jobs[node] = Some((spec.name, Job::Start(after)));
            }
        }
        for (node, plan) in plans(spec, scenario.seed, scenario.resets()) {
            jobs[node] = Some((spec.name, Job::Emp(plan)));
        }
    }
    jobs
}

/// Starts the programs.
fn spawn(
    world: &mut World,
    scenario: &Scenario,
    images: &Images,
    speeds: &[Arc<Speed>],
) -> Vec<Lives> {
    let firmware = images.all().map(|(_, image)| Arc::new(firmware(image)));
    let firmware: Vec<_> = firmware.collect();
    let count = scenario.nodes.len();
    let routes: Vec<_> = (0..count).map(|node| mac_address(node as u16)).collect();
    let mut all_lives = Vec::with_capacity(count);
    for (index, job) in jobs(scenario).into_iter().enumerate() {
        let node = &scenario.nodes[index];
        let mut config = Config::new(index as u16, routes.clone());
        node.emp.apply(&mut config);
        let host = &speeds[index].profile.host;
        config.post_overhead_ns = host.post.ps() / 1000;
        let lives = Lives::default();
        all_lives.push(lives.clone());
        let Some((name, job)) = job else {
            continue;
        };
        let task = Arc::new(Task {
            job,
            lives,
            config,
            board: node.board,
            firmware: Arc::clone(&firmware[images.index_of(index)]),
            seed: scenario.seed,
        });
        let programs = &mut world.nodes[index].programs;
        programs.spawn_restartable(name, move |machine, life| {
            let task = Arc::clone(&task);
            async move { task.run(machine, life).await }
        });
    }
    all_lives
}

/// Data that a node's program needs at each start.
struct Task {
    job: Job,
    lives: Lives,
    config: Config,
    board: &'static BoardType,
    firmware: Arc<Firmware>,
    seed: u64,
}

impl Task {
    async fn run(&self, machine: Machine, life: u32) {
        let deliveries = self.lives.begin(machine.now().ps());
        let done = match &self.job {
            Job::Emp(plan) => self.exchange(machine, life, plan, &deliveries).await,
            Job::Start(after) => {
                // The program has no messages to wait for.
                deliveries.records().sending_over = true;
                let firmware = Arc::clone(&self.firmware);
                self.board.start(machine, firmware, absolute(*after)).await
            }
        };
        let mut records = deliveries.records();
        records.sending_over = true;
        records.problem = done.err();
    }

    async fn exchange(
        &self,
        machine: Machine,
        life: u32,
        plan: &Plan,
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        let mut config = self.config.clone();
        let who = Identity {
            node: config.node,
            life: (life - 1) as u16,
            seed: self.seed,
        };
        // EMP requires a later epoch at each start.
        config.epoch = life as u16;
        let emp = pairs::boot(machine, &self.firmware, config).await?;
        traffic::run(emp, who, plan.clone(), deliveries.clone()).await
    }
}
