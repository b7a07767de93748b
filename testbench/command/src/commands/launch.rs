//! `lanigon launch`: runs an MPI program of this machine on emulated hosts.

use std::env;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use emulator::sim::world::RunEnd;
use lanigon_analysis::capture;
use lanigon_analysis::trace::record;
use lanigon_processes::{Hub, KIND, Processes, Starter, StarterKind, provider};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::scenario::programs::Program;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use lanigon_worlds::workload::Workloads;

use super::Status;
use super::run::report::RunReport;
use super::run::{ObserverArgs, Observers, warn};
use crate::cli::launch::LaunchArgs;
use crate::output;

/// The only programs of these scenarios.
const WORKLOADS: Workloads = Workloads(&[&KIND]);

/// Ports of the largest crossbar: more nodes are on several.
const CROSSBAR_PORTS: u64 = 32;

/// Name of the network without a scenario, in results.
const USUAL: &str = "LANai 9.2 boards with GM";

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is invalid, or the program cannot be started.
pub fn run(args: &LaunchArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let pcap = args.pcap.as_deref();
    ensure!(
        !pcap.is_some_and(capture::is_stdout),
        "--pcap: standard output is the program's"
    );
    let (name, network) = network(args)?;
    let kind = StarterKind::ask(&args.mpiexec)?;
    let provider = provider(&env::current_exe().context("the own program")?)?;
    let mut starter = Starter::new(kind, &provider)?;
    let ranks = args.ranks as usize;
    let hub = Hub::listen(&starter.socket(), ranks, interrupt.flag());
    let hub = Arc::new(hub.context("a socket for the processes")?);
    let scenario = scenario(args, &name, network, &hub)?;
    let written = [
        ("--trace", args.record.trace.as_deref()),
        ("--pcap", pcap),
        ("--timeline", args.timeline.timeline.as_deref()),
    ];
    output::apart_from_scenario(&scenario, &written)?;
    let mut simulation = Simulation::new(&scenario)?;
    warn(&simulation);
    let known = record::of_scenario(&name, &scenario, &simulation.images);
    let observed = ObserverArgs {
        record: &args.record,
        timeline: &args.timeline,
        pcap,
    };
    let observers = Observers::begin(&observed, &mut simulation.world, &known)?;
    let options = RunOptions {
        max_time: args.max_time,
        interrupt: Some(interrupt.flag()),
        clock: None,
        // One process runs at a time, whichever the world has come to.
        threads: NonZeroUsize::MIN,
    };
    starter.start(ranks, &args.program, hub.ended())?;
    let outcome = simulation.run(&options, |_| ());
    let interrupted = outcome.end == RunEnd::Interrupted;
    let code = starter.finish(interrupted || outcome.end != RunEnd::Completed);
    let report = RunReport {
        file: Path::new(&name),
        scenario: &scenario,
        outcome: &outcome,
    };
    observers.recording.results(report.results());
    let written = observers.finish(&mut simulation.world);
    output::print(&report.text())?;
    written?;
    Ok(match code {
        _ if interrupted => Status::Interrupted,
        Some(code) if code != 0 => Status::Program(u8::try_from(code).unwrap_or(1)),
        Some(_) if outcome.is_good() => Status::Done,
        _ => Status::Failed,
    })
}

/// Name and text of the scenario, or of the usual network.
fn network(args: &LaunchArgs) -> anyhow::Result<(String, String)> {
    if let Some(path) = &args.scenario {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| name.clone())?;
        return Ok((name, text));
    }
    let ranks = args.ranks;
    let shape = match ranks {
        0..=CROSSBAR_PORTS => "topology = \"star\"",
        _ => "topology = \"clos\"\nports = 16",
    };
    let network = format!("board = \"lanai9.2-200\"\n[network]\n{shape}\nnodes = {ranks}\n");
    Ok((USUAL.to_owned(), network))
}

/// The scenario of this name and text, with a rank on each of its first nodes.
fn scenario(
    args: &LaunchArgs,
    name: &str,
    network: String,
    hub: &Arc<Hub>,
) -> anyhow::Result<Scenario> {
    let ranks = args.ranks;
    let usual = format!("\n[[program]]\nrun = \"process\"\nnodes = [\"0..{ranks}\"]\n");
    // A scenario may choose the nodes itself.
    let own = WORKLOADS.parse(name, &network).ok();
    let own = own.filter(|own| own.programs.iter().any(|spec| spec.name == "process"));
    let mut scenario = match own {
        Some(own) => own,
        None => WORKLOADS.parse(name, &(network + &usual))?,
    };
    if let Some(path) = &args.scenario {
        scenario.folder = path.parent().unwrap_or(Path::new("")).into();
        scenario.source = Some(path.clone());
    }
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    for spec in &mut scenario.programs {
        if let Program::Workload(_, workload) = &mut spec.program {
            let nodes = workload.nodes().len() as u64;
            ensure!(nodes == ranks, "{name}: {nodes} nodes for -n {ranks}");
            *workload = Arc::new(Processes {
                nodes: workload.nodes(),
                hub: Some(Arc::clone(hub)),
            });
        }
    }
    Ok(scenario)
}
