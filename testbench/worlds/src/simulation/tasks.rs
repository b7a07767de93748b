//! The programs of a scenario's nodes: their firmware, their settings, and their tasks in the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use emulator::host::costs::HostCosts;
use emulator::host::machine::Machine;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::myrinet::routes::RouteError;
use host_lib::firmware::Firmware;
use host_lib::gm;

use super::Lives;
use super::build::absolute;
use super::images::Images;
use super::settings::{self, Settings};
use crate::boards::BoardType;
use crate::fm as fm_nodes;
use crate::gm::{self as gm_nodes, GmNode};
use crate::images::firmware;
use crate::myrinet::host::Host;
use crate::pairs;
use crate::processes::Processes;
use crate::programs::atomic::{self, AtomicPlan, Region};
use crate::programs::check::Identity;
use crate::programs::collective::{self, CollectivePlan, On};
use crate::programs::deliveries::{Deliveries, FrameLife};
use crate::programs::dsm::DsmPlan;
use crate::programs::frames::{self, FramePlan};
use crate::programs::mpi::MpiPlan;
use crate::programs::multicast::{self, Library, MulticastPlan};
use crate::programs::outages::Outages;
use crate::programs::plan::{Plan, plans};
use crate::programs::{fm_traffic, gm_traffic, traffic};
use crate::scenario::Scenario;
use crate::scenario::faults::FaultSpec;
use crate::scenario::programs::{Program, ProgramSpec};

/// Sessions of GM that a node may begin between two resets.
const SESSIONS_OF_A_LIFE: u16 = 0x100;

/// Number of the process that exchanges messages on a host with several; others have those of their members.
const MESSAGES: usize = 0;
/// Number of the process that executes atomic operations for others, on a host with a member.
const SERVER: usize = 1;

/// Program of a node's host.
#[derive(Clone)]
enum Job {
    /// Boots the firmware of the board's protocol, and runs a plan of messages.
    Messages(Plan),
    /// Boots GM's firmware, and takes part in a collective operation: a process for each member of the node. Another process of the host
    /// may run a plan of messages.
    Collective(Vec<CollectivePlan>, Option<Plan>),
    /// Boots the firmware of the board's protocol, and takes part in multicasts.
    Multicast(MulticastPlan),
    /// Boots GM's firmware, and executes atomic operations. A second process of the host may be a server.
    Atomic(AtomicPlan),
    /// Boots the firmware of EMP or GM, and passes messages.
    Mpi(MpiPlan),
    /// Boots GM's firmware, and runs a program over shared memory.
    Dsm(DsmPlan),
    /// Boots the firmware of the board, and runs plans of frames: one for each program.
    Frames(Vec<FramePlan>),
    /// Is the host of a control program.
    Control(Host),
    /// Starts any firmware at this time after the start of the programs, without further accesses.
    Start(SimTime),
}

/// Name and program of each node. Nodes without a program boot the firmware of their protocol and do nothing; if no node
/// uses a protocol, their boards stay untouched.
fn jobs(scenario: &Scenario) -> Vec<Option<(&'static str, Job)>> {
    let other = scenario
        .uses_protocol()
        .then(|| ("idle", Job::Messages(Plan::default())));
    let nodes = scenario.nodes.iter();
    let idle = nodes.map(|node| other.clone().filter(|_| node.protocol.is_some()));
    let mut jobs: Vec<_> = idle.collect();
    for (spec, tag) in scenario.programs.iter().zip(0..) {
        if let Program::Start { nodes } = &spec.program {
            for &node in nodes {
                let after = SimTime::from_ns(spec.start_ns);
                jobs[node] = Some((spec.name, Job::Start(after)));
            }
        }
        for (node, plan) in multicast_plans(scenario, spec) {
            jobs[node] = Some((spec.name, Job::Multicast(plan)));
        }
        if let Program::Collective { nodes, settings } = &spec.program {
            let beside = scenario.has_messages_on(nodes);
            let (start_ns, seed) = (spec.start_ns, scenario.seed);
            for (node, plan) in CollectivePlan::all(settings, nodes, start_ns, seed, beside) {
                let messages = match &mut jobs[node] {
                    Some((_, Job::Collective(plans, _))) => {
                        plans.push(plan);
                        continue;
                    }
                    Some((_, Job::Messages(messages))) if scenario.has_messages_on(&[node]) => {
                        Some(std::mem::take(messages))
                    }
                    _ => None,
                };
                jobs[node] = Some((spec.name, Job::Collective(vec![plan], messages)));
            }
        }
        if let Program::Mpi { nodes, settings } = &spec.program {
            for (node, plan) in MpiPlan::all(settings, nodes, spec.start_ns) {
                jobs[node] = Some((spec.name, Job::Mpi(plan)));
            }
        }
        if let Program::Dsm { nodes, settings } = &spec.program {
            for (node, plan) in DsmPlan::all(settings, nodes, spec.start_ns) {
                jobs[node] = Some((spec.name, Job::Dsm(plan)));
            }
        }
        if let Program::Atomic {
            nodes,
            homes,
            settings,
        } = &spec.program
        {
            let (start_ns, seed) = (spec.start_ns, scenario.seed);
            for (node, plan) in AtomicPlan::all(settings, nodes, homes, start_ns, seed) {
                jobs[node] = Some((spec.name, Job::Atomic(plan)));
            }
        }
        for (node, plan) in frames::plans(spec, tag) {
            match &mut jobs[node] {
                Some((_, Job::Frames(plans))) => plans.push(plan),
                job => *job = Some((spec.name, Job::Frames(vec![plan]))),
            }
        }
        for (node, plan) in plans(spec, scenario.seed, scenario.resets()) {
            match &mut jobs[node] {
                Some((_, Job::Collective(_, messages))) => *messages = Some(plan),
                job => *job = Some((spec.name, Job::Messages(plan))),
            }
        }
    }
    jobs
}

/// The plans of a program with multicasts; none of another one.
fn multicast_plans(scenario: &Scenario, spec: &ProgramSpec) -> Vec<(usize, MulticastPlan)> {
    let Program::Multicast { nodes, settings } = &spec.program else {
        return Vec::new();
    };
    let timeout_ns = scenario.nodes[nodes[0]].fm.timeout_ns();
    let (start_ns, seed) = (spec.start_ns, scenario.seed);
    // The scenario's reader has built the tree before.
    MulticastPlan::all(settings, nodes, start_ns, seed, timeout_ns).unwrap_or_default()
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
    hosts: &BTreeMap<usize, Host>,
) -> Result<Vec<Lives>, RouteError> {
    let firmware = images.all().map(|(_, image)| Arc::new(firmware(image)));
    let firmware: Vec<_> = firmware.collect();
    let settings = settings::of_nodes(scenario, profiles)?;
    let outages = outages(scenario);
    let mut all_lives = Vec::with_capacity(settings.len());
    for (index, (job, settings)) in jobs(scenario).into_iter().zip(settings).enumerate() {
        let node = &scenario.nodes[index];
        let lives = Lives::default();
        all_lives.push(lives.clone());
        let host = hosts.get(&index);
        let host = host.map(|host| (host.kind.program(), Job::Control(host.clone())));
        let Some((name, job)) = host.or(job) else {
            continue;
        };
        let task = Arc::new(Task {
            job,
            lives,
            settings,
            node: index as u16,
            board: node.board,
            firmware: Arc::clone(&firmware[images.index_of(index)]),
            seed: scenario.seed,
            processes: Processes::default(),
            region: Region::default(),
            outages: outages.clone(),
            mpi_call_ns: profiles[index].host.mpi_call.ps() / 1000,
            host: profiles[index].host,
        });
        let programs = &mut world.nodes[index].programs;
        if let Job::Collective(_, Some(_)) = task.job {
            let task = Arc::clone(&task);
            programs.spawn("messages", move |machine| async move {
                task.run_beside(machine).await;
            });
        }
        if let Job::Atomic(plan) = &task.job
            && plan.settings.on == On::Host
        {
            let task = Arc::clone(&task);
            programs.spawn("server", move |machine| async move {
                task.run_server(machine).await;
            });
        }
        if let Job::Collective(plans, _) = &task.job {
            for process in 1..plans.len() {
                let task = Arc::clone(&task);
                programs.spawn(name, move |machine| async move {
                    task.run_member(machine, process).await;
                });
            }
        }
        programs.spawn_restartable(name, move |machine, life| {
            let task = Arc::clone(&task);
            async move { task.run(machine, life).await }
        });
    }
    Ok(all_lives)
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
struct Task {
    job: Job,
    lives: Lives,
    settings: Settings,
    node: u16,
    board: &'static BoardType,
    firmware: Arc<Firmware>,
    seed: u64,
    processes: Processes,
    /// The words of atomic operations that a server serves.
    region: Region,
    /// The resets of all nodes.
    outages: Outages,
    /// Processor time of a call of message passing, in ns.
    mpi_call_ns: u64,
    /// Costs of the host, for shared memory.
    host: HostCosts,
}

impl Task {
    async fn run(&self, machine: Machine, life: u32) {
        let deliveries = self.lives.begin(machine.now().ps());
        let done = match &self.job {
            Job::Messages(plan) => self.exchange(machine, life, plan, &deliveries).await,
            Job::Collective(plans, _) => self.collective(machine, life, plans, &deliveries).await,
            Job::Multicast(plan) => self.multicast(machine, life, plan, &deliveries).await,
            Job::Atomic(plan) => self.atomic(machine, life, plan, &deliveries).await,
            Job::Mpi(plan) => self.pass_messages(machine, life, plan, &deliveries).await,
            Job::Dsm(plan) => self.share_memory(machine, life, plan, &deliveries).await,
            Job::Frames(plans) => self.frames(machine, life, plans, &deliveries).await,
            Job::Control(host) => {
                deliveries.records().operations_left = 1;
                host.run(machine, &self.firmware).await;
                Ok(())
            }
            Job::Start(after) => {
                // The program has no messages to wait for.
                deliveries.records().sending_over = true;
                let firmware = Arc::clone(&self.firmware);
                self.board.start(machine, firmware, absolute(*after)).await
            }
        };
        let mut records = deliveries.records();
        // Another process says itself when its messages have been sent.
        records.sending_over |= !matches!(self.job, Job::Collective(_, Some(_)));
        records.operations_left = records.operations_left.saturating_sub(1);
        records.problem = records.problem.take().or(done.err());
    }

    /// Takes part in a collective operation as a further member of the node, once the first one has booted the firmware.
    async fn run_member(&self, machine: Machine, process: usize) {
        let Job::Collective(plans, _) = &self.job else {
            return;
        };
        let library = self.processes.join(process, machine).await;
        let (Some(plan), Some(gm)) = (plans.get(process), library) else {
            return;
        };
        let deliveries = self.lives.last();
        let done = collective::run(gm, plan.clone(), deliveries.clone()).await;
        let mut records = deliveries.records();
        records.operations_left = records.operations_left.saturating_sub(1);
        records.problem = records.problem.take().or(done.err());
    }

    /// Runs a program of message passing.
    async fn pass_messages(
        &self,
        machine: Machine,
        life: u32,
        plan: &MpiPlan,
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        deliveries.records().operations_left = 1;
        let mut plan = plan.clone();
        plan.settings.library_ns = self.mpi_call_ns;
        plan.settings.seed = self.seed;
        let report = match &self.settings {
            Settings::Emp(config) => {
                let mut config = config.clone();
                // EMP requires a later epoch at each start.
                config.epoch = life as u16;
                let emp = pairs::boot(machine, &self.firmware, config).await?;
                plan.over_emp(emp).await?
            }
            Settings::Gm(config) => {
                plan.over_gm(self.boot_gm(machine, life, config).await?)
                    .await?
            }
            Settings::Fm(_) | Settings::Acenic(_) => {
                return Err("the board runs neither EMP nor GM".into());
            }
        };
        deliveries.records().report = report;
        Ok(())
    }

    /// Runs a program over shared memory.
    async fn share_memory(
        &self,
        machine: Machine,
        life: u32,
        plan: &DsmPlan,
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        let Settings::Gm(config) = &self.settings else {
            return Err("the board does not run GM".into());
        };
        deliveries.records().operations_left = 1;
        let gm = self.boot_gm(machine, life, config).await?;
        let report = plan.run(gm, &self.host).await?;
        deliveries.records().shared = Some(report);
        Ok(())
    }

    /// Executes atomic operations for others, once the member of the node has booted the firmware.
    async fn run_server(&self, machine: Machine) {
        let Job::Atomic(plan) = &self.job else {
            return;
        };
        let Some(gm) = self.processes.join(SERVER, machine).await else {
            return;
        };
        let deliveries = self.lives.last();
        let done = atomic::serve(gm, plan.settings.wait, &self.region).await;
        let mut records = deliveries.records();
        records.problem = records.problem.take().or(done.err());
    }

    async fn atomic(
        &self,
        machine: Machine,
        life: u32,
        plan: &AtomicPlan,
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        let Settings::Gm(config) = &self.settings else {
            return Err("the board does not run GM".into());
        };
        deliveries.records().operations_left = 1;
        let gm = self.boot_gm(machine, life, config).await;
        if gm.is_err() {
            self.processes.share(None)?;
        }
        let share = |gm: &GmNode, words| {
            self.region.set(words);
            self.processes.share(Some(gm))
        };
        atomic::run(gm?, plan.clone(), share, deliveries.clone()).await
    }

    /// Exchanges messages beside a collective operation, in a process of its own, once the other one has booted the firmware.
    async fn run_beside(&self, machine: Machine) {
        let Job::Collective(_, Some(plan)) = &self.job else {
            return;
        };
        let Some(gm) = self.processes.join(MESSAGES, machine).await else {
            return;
        };
        let deliveries = self.lives.last();
        let who = Identity {
            node: self.node,
            life: 0,
            seed: self.seed,
        };
        let done = gm_traffic::run(gm, who, plan.clone(), deliveries.clone()).await;
        let mut records = deliveries.records();
        records.sending_over = true;
        records.problem = records.problem.take().or(done.err());
    }

    async fn exchange(
        &self,
        machine: Machine,
        life: u32,
        plan: &Plan,
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        let who = Identity {
            node: self.node,
            life: (life - 1) as u16,
            seed: self.seed,
        };
        let (plan, deliveries) = (plan.clone(), deliveries.clone());
        match &self.settings {
            Settings::Emp(config) => {
                let mut config = config.clone();
                // EMP requires a later epoch at each start.
                config.epoch = life as u16;
                let emp = pairs::boot(machine, &self.firmware, config).await?;
                traffic::run(emp, who, plan, deliveries).await
            }
            Settings::Gm(config) => {
                let gm = self.boot_gm(machine, life, config).await?;
                gm_traffic::run(gm, who, plan, deliveries).await
            }
            Settings::Fm(config) => {
                let fm = fm_nodes::boot(machine, &self.firmware, config.clone()).await?;
                fm_traffic::run(fm, who, plan, deliveries).await
            }
            Settings::Acenic(config) => {
                // Programs with messages use other protocols: this one is idle.
                deliveries.records().receiving_over = true;
                let nic = frames::boot(machine, &self.firmware, config.clone()).await;
                nic.map(drop)
            }
        }
    }

    async fn boot_gm(
        &self,
        machine: Machine,
        life: u32,
        config: &gm::Config,
    ) -> Result<GmNode, String> {
        let mut config = config.clone();
        // A connection begins sessions of its own after the first one.
        config.session = (life as u16).wrapping_mul(SESSIONS_OF_A_LIFE);
        gm_nodes::boot(machine, &self.firmware, config).await
    }

    async fn collective(
        &self,
        machine: Machine,
        life: u32,
        plans: &[CollectivePlan],
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        let Settings::Gm(config) = &self.settings else {
            return Err("the board does not run GM".into());
        };
        deliveries.records().operations_left = plans.len();
        let gm = self.boot_gm(machine, life, config).await;
        self.processes.share(gm.as_ref().ok())?;
        let gm = gm?;
        let plan = plans.first().ok_or("a program without a member")?;
        collective::run(gm, plan.clone(), deliveries.clone()).await
    }

    async fn multicast(
        &self,
        machine: Machine,
        life: u32,
        plan: &MulticastPlan,
        deliveries: &Deliveries,
    ) -> Result<(), String> {
        deliveries.records().operations_left = 1;
        let library = match &self.settings {
            Settings::Fm(config) => Library::Fm(Box::new(
                fm_nodes::boot(machine, &self.firmware, config.clone()).await?,
            )),
            Settings::Gm(config) => {
                Library::Gm(Box::new(self.boot_gm(machine, life, config).await?))
            }
            Settings::Emp(_) | Settings::Acenic(_) => {
                return Err("the board runs neither FM nor GM".into());
            }
        };
        multicast::run(library, plan.clone(), deliveries.clone()).await
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
        let who = Identity {
            node: self.node,
            life: (life - 1) as u16,
            seed: self.seed,
        };
        let nic = frames::boot(machine, &self.firmware, config.clone()).await;
        // Nothing arrives at a node that does not start.
        deliveries.records().receiving_over = nic.is_err();
        let outages = self.outages.clone();
        frames::run(nic?, who, plans.to_vec(), outages, deliveries.clone()).await
    }
}
