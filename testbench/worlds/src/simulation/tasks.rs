//! The programs of a scenario's nodes: their firmware, their settings, and their tasks in the world.

use host_lib::emp::Emp;
use host_lib::fm::Fm;
use host_lib::gm::Gm;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use emulator::host::machine::Machine;
use emulator::host::outside::{self, Outside};
use emulator::profile::Profile;
use emulator::profile::costs::HostCosts;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::myrinet::routes::RouteError;
use host_lib::firmware::Firmware;
use host_lib::window::System;

use super::Lives;
use super::build::absolute;
use super::images::Images;
use super::settings::{self, Settings};
use crate::boards::BoardType;
use crate::emp::{self};
use crate::fm::{self};
use crate::gm::{self};
use crate::images::firmware;
use crate::myrinet::host::ControlHost;
use crate::programs::check::Identity;
use crate::programs::deliveries::{Deliveries, FrameLife};
use crate::programs::frames::{self, FramePlan};
use crate::programs::outages::Outages;
use crate::programs::plan::{TrafficPlan, plans};
use crate::programs::{fm_traffic, gm_traffic, traffic};
use crate::scenario::Scenario;
use crate::scenario::faults::FaultSpec;
use crate::scenario::programs::Program;
use crate::shared_board::Processes;
use crate::workload::{self, JobContext};

/// Sessions of GM that a node may begin between two resets.
const SESSIONS_OF_A_LIFE: u16 = 0x100;

/// Program of a node's host.
enum NodeJob {
    /// Boots the firmware of the board's protocol, and runs a plan of messages.
    Messages(TrafficPlan),
    /// Does the part of a workload. Another process of the host may run a plan of messages.
    Workload(Box<dyn workload::Job>, Option<TrafficPlan>),
    /// Boots the firmware of the board, and runs plans of frames: one for each program.
    Frames(Vec<FramePlan>),
    /// Is the host of a control program.
    Control(ControlHost),
    /// Starts any firmware at this time after the start of the programs, without further accesses.
    Start(SimTime),
}

/// Name and program of each node. Nodes without a program boot the firmware of their protocol and do nothing; if no node
/// uses a protocol, their boards stay untouched.
fn jobs(scenario: &Scenario) -> Vec<Option<(&'static str, NodeJob)>> {
    let any_protocol = scenario.uses_protocol();
    let nodes = scenario.nodes.iter();
    let idle = nodes.map(|node| {
        let boots = any_protocol && node.protocol.is_some();
        boots.then(|| ("idle", NodeJob::Messages(TrafficPlan::default())))
    });
    let mut jobs: Vec<_> = idle.collect();
    for (spec, tag) in scenario.programs.iter().zip(0..) {
        let start_ns = spec.start_ns;
        if let Program::Start { nodes } = &spec.program {
            for &node in nodes {
                jobs[node] = Some((spec.name, NodeJob::Start(SimTime::from_ns(start_ns))));
            }
        }
        if let Program::Workload(_, workload) = &spec.program {
            for (node, job) in workload.jobs(JobContext { scenario, start_ns }) {
                let messages = match &mut jobs[node] {
                    Some((_, NodeJob::Messages(messages))) if scenario.has_messages_on(&[node]) => {
                        Some(std::mem::take(messages))
                    }
                    _ => None,
                };
                jobs[node] = Some((spec.name, NodeJob::Workload(job, messages)));
            }
        }
        for (node, plan) in frames::plans(spec, tag) {
            match &mut jobs[node] {
                Some((_, NodeJob::Frames(plans))) => plans.push(plan),
                job => *job = Some((spec.name, NodeJob::Frames(vec![plan]))),
            }
        }
        for (node, plan) in plans(spec, scenario.seed, scenario.resets()) {
            match &mut jobs[node] {
                Some((_, NodeJob::Workload(_, messages))) => *messages = Some(plan),
                job => *job = Some((spec.name, NodeJob::Messages(plan))),
            }
        }
    }
    jobs
}

/// Starts the programs.
///
/// # Errors
/// If the network has no routes.
pub(super) fn spawn(
    world: &mut World,
    scenario: &Scenario,
    images: &Images,
    profiles: &[Arc<Profile>],
    hosts: &BTreeMap<usize, ControlHost>,
) -> Result<Vec<Lives>, RouteError> {
    let firmware = images.all().map(|(_, image)| Arc::new(firmware(image)));
    let firmware: Vec<_> = firmware.collect();
    let settings = settings::of_nodes(scenario, profiles)?;
    let outages = outages(scenario);
    let mut all_lives = Vec::with_capacity(settings.len());
    for (index, (job, settings)) in jobs(scenario).into_iter().zip(settings).enumerate() {
        let node = &scenario.nodes[index];
        let lives = Lives::with(match &job {
            Some((_, NodeJob::Workload(job, _))) => Some(job.read_records()),
            _ => None,
        });
        all_lives.push(lives.clone());
        let host = hosts.get(&index);
        let host = host.map(|host| (host.kind.program(), NodeJob::Control(host.clone())));
        let Some((name, job)) = host.or(job) else {
            continue;
        };
        let task = Arc::new(ProgramTask {
            job,
            lives,
            settings,
            node: index as u16,
            board: node.board,
            firmware: Arc::clone(&firmware[images.index_of(index)]),
            seed: scenario.seed,
            processes: Processes::default(),
            outages: outages.clone(),
            mpi_call_ns: profiles[index].host.mpi_call.ps() / 1000,
            host: profiles[index].host,
        });
        if let NodeJob::Workload(job, _) = &task.job {
            job.prepare(&mut world.nodes[index], index as u16);
        }
        start(world, index, name, task);
    }
    Ok(all_lives)
}

/// Starts the processes of a host: those that wait for a library first, then the one that boots the board.
fn start(world: &mut World, node: usize, name: &'static str, task: Arc<ProgramTask>) {
    let programs = &mut world.nodes[node].programs;
    for (process, name) in task.further().into_iter().enumerate() {
        let task = Arc::clone(&task);
        programs.spawn(name, move |machine| async move {
            task.run_further(machine, process).await;
        });
    }
    programs.spawn_restartable(name, move |machine, life| {
        let task = Arc::clone(&task);
        async move { task.run(machine, life).await }
    });
}

/// The resets of the scenario's nodes.
fn outages(scenario: &Scenario) -> Outages {
    let resets = scenario.faults.iter().filter_map(|fault| match *fault {
        FaultSpec::Reset { node, at, pause } => Some((node as u16, absolute(at), pause)),
        _ => None,
    });
    let cuts = scenario.faults.iter().filter_map(|fault| match *fault {
        FaultSpec::Cut { from, until, .. } => Some((absolute(from), absolute(until?))),
        _ => None,
    });
    Outages::new(resets).with_cuts(cuts)
}

/// Notes that a reset has ended a program of frames: then it is dropped before it has received all.
struct FramesEnd(Deliveries);

impl FramesEnd {
    fn begin(deliveries: &Deliveries) -> Self {
        deliveries.records().frames = Some(FrameLife::default());
        Self(deliveries.clone())
    }
}

impl Drop for FramesEnd {
    fn drop(&mut self) {
        let mut records = self.0.records();
        let is_cut = !records.receiving_over;
        if let Some(life) = &mut records.frames {
            life.is_cut = is_cut;
        }
    }
}

/// Data that a node's program needs at each start.
struct ProgramTask {
    job: NodeJob,
    lives: Lives,
    settings: Settings,
    node: u16,
    board: &'static BoardType,
    firmware: Arc<Firmware>,
    seed: u64,
    processes: Processes,
    /// The resets of all nodes.
    outages: Outages,
    /// Processor time of a call of message passing, in ns.
    mpi_call_ns: u64,
    /// Costs of the host, for shared memory.
    host: HostCosts,
}

/// A process of a host, in which the job of a workload runs.
#[derive(Clone)]
pub struct HostProcess<'a> {
    task: &'a ProgramTask,
    machine: Machine,
    /// Number of this start among those of the host's program, from 1.
    life: u32,
    /// The records of this start.
    pub deliveries: Deliveries,
}

impl HostProcess<'_> {
    /// The scenario's seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.task.seed
    }

    /// The host, for calls that the trace shall have.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine.clone()
    }

    /// Costs of the host.
    #[must_use]
    pub const fn costs(&self) -> &HostCosts {
        &self.task.host
    }

    /// Processor time of a call of message passing, in ns.
    #[must_use]
    pub const fn mpi_call_ns(&self) -> u64 {
        self.task.mpi_call_ns
    }

    /// The board's firmware, which nothing has loaded.
    #[must_use]
    pub fn firmware(&self) -> &Firmware {
        &self.task.firmware
    }

    /// Waits until so long after the start of the programs.
    pub async fn start_after(&self, start_ns: u64) {
        if start_ns > 0 {
            let mut machine = self.machine.clone();
            let time = absolute(SimTime::from_ns(start_ns));
            let rest = time.saturating_sub(machine.now());
            machine.sleep(rest.ps() / 1000).await;
        }
    }

    /// Has another process in the place of this one, up to its end.
    ///
    /// # Errors
    /// If that process could not go on.
    pub async fn run_outside<H: Outside>(&self, host: &mut H) -> Result<(), H::Error> {
        outside::run(self.machine.clone(), host).await
    }

    /// Boots the firmware of the board's protocol.
    ///
    /// # Errors
    /// The board does not start, or its firmware has no messages.
    // A boxed future: else each crate with a workload compiles the starts of all protocols again.
    pub fn boot(&self) -> Pin<Box<dyn Future<Output = Result<Library, String>> + Send + '_>> {
        Box::pin(self.task.boot(self.machine.clone(), self.life))
    }

    /// Boots GM's firmware.
    ///
    /// # Errors
    /// The board does not start, or runs another protocol.
    pub async fn boot_gm(&self) -> Result<Gm, String> {
        match self.boot().await? {
            Library::Gm(gm) => Ok(*gm),
            _ => Err("the board does not run GM".into()),
        }
    }

    /// Gives the further processes of the host libraries of the board; none if it has not started.
    ///
    /// # Errors
    /// There are more processes than ports.
    pub fn share(&self, board: Option<&Gm>) -> Result<(), String> {
        self.task.processes.share(board)
    }
}

/// The library of a message protocol, on a board that runs.
pub enum Library {
    /// A library of EMP.
    Emp(Box<Emp>),
    /// A library of GM.
    Gm(Box<Gm>),
    /// A library of FM.
    Fm(Box<Fm>),
}

impl ProgramTask {
    /// Names of the processes that get a library from the one that boots the board.
    fn further(&self) -> Vec<&'static str> {
        let NodeJob::Workload(job, messages) = &self.job else {
            return Vec::new();
        };
        let messages = messages.iter().map(|_| "messages");
        messages.chain(job.further()).collect()
    }

    async fn run(&self, machine: Machine, life: u32) {
        let deliveries = self.lives.begin(machine.now().ps());
        let done = match &self.job {
            NodeJob::Messages(plan) => self.exchange(machine, life, plan, &deliveries).await,
            NodeJob::Workload(job, _) => {
                deliveries.records().operations_left = job.operations();
                job.run(self.process(machine, life, &deliveries)).await
            }
            NodeJob::Frames(plans) => self.frames(machine, life, plans, &deliveries).await,
            NodeJob::Control(host) => {
                deliveries.records().operations_left = 1;
                host.run(machine, &self.firmware).await;
                Ok(())
            }
            NodeJob::Start(after) => {
                // The program has no messages to wait for.
                deliveries.records().sending_over = true;
                let firmware = Arc::clone(&self.firmware);
                self.board.start(machine, firmware, absolute(*after)).await
            }
        };
        let mut records = deliveries.records();
        // Another process says itself when its messages have been sent.
        records.sending_over |= !matches!(self.job, NodeJob::Workload(_, Some(_)));
        records.operations_left = records.operations_left.saturating_sub(1);
        records.problem = records.problem.take().or(done.err());
    }

    fn process(&self, machine: Machine, life: u32, deliveries: &Deliveries) -> HostProcess<'_> {
        HostProcess {
            task: self,
            machine,
            life,
            deliveries: deliveries.clone(),
        }
    }

    /// Runs a further process of a workload's host, once the first one has booted the firmware.
    async fn run_further(&self, machine: Machine, process: usize) {
        let NodeJob::Workload(job, messages) = &self.job else {
            return;
        };
        let library = self.processes.join(process, machine.clone()).await;
        let Some(gm) = library else { return };
        let deliveries = self.lives.last();
        let done = match (messages, process) {
            (Some(plan), 0) => {
                let who = self.identity(1);
                let done = gm_traffic::run(gm, who, plan.clone(), deliveries.clone()).await;
                deliveries.records().sending_over = true;
                done
            }
            _ => {
                let place = process - messages.iter().len();
                let process = self.process(machine, 1, &deliveries);
                job.run_further(place, gm, process).await
            }
        };
        let mut records = deliveries.records();
        records.problem = records.problem.take().or(done.err());
    }

    /// Who sends the messages of a start.
    fn identity(&self, life: u32) -> Identity {
        Identity {
            node: self.node,
            life: (life - 1) as u16,
            seed: self.seed,
        }
    }

    async fn boot(&self, machine: Machine, life: u32) -> Result<Library, String> {
        match &self.settings {
            Settings::Emp(config) => {
                let mut config = config.clone();
                // EMP requires a later epoch at each start.
                config.epoch = life as u16;
                let emp = emp::boot(machine, &self.firmware, config).await?;
                Ok(Library::Emp(Box::new(emp)))
            }
            Settings::Gm(config) => {
                let mut config = config.clone();
                // A connection begins sessions of its own after the first one.
                config.session = (life as u16).wrapping_mul(SESSIONS_OF_A_LIFE);
                let gm = gm::boot(machine, &self.firmware, config).await?;
                Ok(Library::Gm(Box::new(gm)))
            }
            Settings::Fm(config) => {
                let fm = fm::boot(machine, &self.firmware, config.clone()).await?;
                Ok(Library::Fm(Box::new(fm)))
            }
            Settings::Acenic(_) => Err("the board exchanges frames only".into()),
        }
    }

    async fn exchange(
        &self,
        machine: Machine,
        life: u32,
        plan: &TrafficPlan,
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        if let Settings::Acenic(config) = &self.settings {
            // Programs with messages use other protocols: this one is idle.
            deliveries.records().receiving_over = true;
            let nic = frames::boot(machine, &self.firmware, config.clone()).await;
            return nic.map(drop);
        }
        let who = self.identity(life);
        let (plan, deliveries) = (plan.clone(), deliveries.clone());
        match self.boot(machine, life).await? {
            Library::Emp(emp) => traffic::run(*emp, who, plan, deliveries).await,
            Library::Gm(gm) => gm_traffic::run(*gm, who, plan, deliveries).await,
            Library::Fm(fm) => fm_traffic::run(*fm, who, plan, deliveries).await,
        }
    }

    /// Exchanges frames.
    async fn frames(
        &self,
        machine: Machine,
        life: u32,
        plans: &[FramePlan],
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        let Settings::Acenic(config) = &self.settings else {
            return Err("the board does not exchange frames".into());
        };
        let _end = FramesEnd::begin(deliveries);
        let who = self.identity(life);
        let nic = frames::boot(machine, &self.firmware, config.clone()).await;
        // Nothing arrives at a node that does not start.
        deliveries.records().receiving_over = nic.is_err();
        let outages = self.outages.clone();
        frames::run(nic?, who, plans.to_vec(), outages, deliveries.clone()).await
    }
}
