//! `lanigon launch`: runs programs of this machine on emulated hosts: one of MPI, or several with sockets.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Error, anyhow, bail, ensure};
use emulator::sim::world::RunEnd;
use lanigon_processes::{
    Hub, Launch, LaunchKind, Mode, MpiLaunch, Output, Processes, ProgramCommand, check_program,
    exit_text,
};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::scenario::programs::{Program, ProgramSpec};
use lanigon_worlds::simulation::RunOptions;

use super::Status;
use super::run::{Observed, status};
use crate::cli::launch::LaunchArgs;
use crate::output;

/// Ports of the largest crossbar: more nodes are on several.
const CROSSBAR_PORTS: usize = 32;

/// Kind of programs that are processes.
const KIND: &str = "process";

/// Name of the network without a scenario, in results.
const USUAL: &str = "LANai 9.2 boards with GM";

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is invalid, or the program cannot be started.
pub fn run(args: &LaunchArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let commands = match args.sockets {
        true => commands(&args.program, args.ranks, args.compute)?,
        false => command(args)?,
    };
    let ranks: usize = commands.iter().map(|command| command.ranks).sum();
    let universe = args.universe.map_or(ranks, |universe| universe as usize);
    ensure!(
        universe >= ranks,
        "--universe {universe}: the program has {ranks} ranks"
    );
    let nodes = usize::div_ceil(universe, args.per_node as usize);
    let (name, network) = network(args, nodes)?;
    let reader = args.stdin as usize;
    ensure!(
        !args.sockets || reader < ranks,
        "--stdin: there is no rank {reader}"
    );
    let kind = match args.sockets {
        true => LaunchKind::Sockets(Some(reader)),
        false => LaunchKind::Mpi(MpiLaunch {
            starter: args.mpiexec.clone(),
            on_boards: args.nic_collectives,
            universe,
        }),
    };
    let launch = Launch::new(commands, &kind, Output::Standard, interrupt.flag())?;
    let hub = launch.hub();
    let scenario = scenario(args, nodes, &name, network, hub)?;
    let of_ranks = scenario.programs.iter().filter(|spec| is_of_ranks(spec));
    let of_ranks = of_ranks.filter_map(ProgramSpec::workload);
    let nodes = of_ranks.flat_map(|ranks| ranks.nodes());
    let mut protocols = nodes.map(|node| scenario.nodes[node].protocol);
    ensure!(
        !args.nic_collectives || protocols.all(|protocol| protocol == Some(Protocol::Gm)),
        "--nic-collectives: {name} has boards without GM, which execute no collective operations"
    );
    let mut observed = Observed::begin(&args.observe, &name, &scenario)?;
    let options = RunOptions {
        max_time: args.max_time,
        interrupt: Some(interrupt.flag()),
        clock: None,
        // One process runs at a time, whichever the world has come to.
        threads: NonZeroUsize::MIN,
    };
    launch.start()?;
    let outcome = observed.run(&options);
    let code = code(&launch.end(), args.sockets);
    let (report, written) = observed.finish(&outcome);
    output::print(&report)?;
    written?;
    Ok(match code {
        Some(code) if code != 0 && outcome.end != RunEnd::Interrupted => {
            Status::Program(u8::try_from(code).unwrap_or(1))
        }
        _ => status(&outcome),
    })
}

/// The exit code: of several processes that of the first one that has failed. Those of ranks with sockets are named.
fn code(codes: &[Option<i32>], have_sockets: bool) -> Option<i32> {
    let codes = (0..).zip(codes);
    let codes: Vec<(usize, i32)> = codes
        .filter_map(|(rank, code)| Some((rank, (*code)?)))
        .collect();
    let failed = codes.iter().filter(|(_, code)| *code != 0);
    for (rank, code) in failed.clone().filter(|_| have_sockets) {
        eprintln!("rank {rank} has ended with {}", exit_text(*code));
    }
    failed.chain(&codes).map(|(_, code)| *code).next()
}

/// The program of a starter. It may have options of its own, and finds programs elsewhere, too.
fn command(args: &LaunchArgs) -> anyhow::Result<Vec<ProgramCommand>> {
    let words = args.program.clone();
    if words.iter().any(|word| word == ":") {
        bail!("`:` separates programs with --sockets only")
    }
    let first = words[0].as_encoded_bytes();
    let is_here = !first.contains(&b'/') && Path::new(&words[0]).is_file();
    if !is_here && !first.starts_with(b"-") {
        check_program(&words, Path::new("")).map_err(Error::msg)?;
    }
    let (ranks, folder) = (args.ranks.unwrap_or(1) as usize, None);
    let command = ProgramCommand {
        ranks,
        words,
        folder,
        compute: args.compute,
    };
    Ok(vec![command])
}

/// The programs between colons, each with its number of ranks.
fn commands(
    words: &[OsString],
    ranks: Option<u64>,
    compute: Option<f64>,
) -> anyhow::Result<Vec<ProgramCommand>> {
    let parts: Vec<&[OsString]> = words.split(|word| word == ":").collect();
    let only = parts.len() == 1;
    let mut commands = Vec::new();
    for part in parts {
        let (count, words) = match part {
            [option, count, words @ ..] if option == "-n" => {
                let count = count.to_str().and_then(|count| count.parse().ok());
                let count = count.filter(|count| (1..=1024).contains(count));
                (
                    count.context("-n of a program: a number from 1 to 1024")?,
                    words,
                )
            }
            words if only => (ranks.unwrap_or(1) as usize, words),
            words => (1, words),
        };
        if words.is_empty() {
            bail!("there is no program on one side of `:`");
        }
        check_program(words, Path::new("")).map_err(Error::msg)?;
        let words = words.to_vec();
        commands.push(ProgramCommand {
            ranks: count,
            words,
            folder: None,
            compute,
        });
    }
    let sum: usize = commands.iter().map(|command| command.ranks).sum();
    if let Some(ranks) = ranks {
        ensure!(
            sum as u64 == ranks,
            "-n {ranks}: the programs have {sum} ranks"
        );
    }
    Ok(commands)
}

/// Whether the ranks are the processes of this program.
fn is_of_ranks(spec: &ProgramSpec) -> bool {
    spec.name == KIND
}

/// Text of a network whose nodes do not fit the ranks.
fn nodes_for_ranks(nodes: usize, ranks: usize) -> String {
    let several = |count: usize| if count == 1 { "" } else { "s" };
    format!(
        "{nodes} node{} for {ranks} rank{}",
        several(nodes),
        several(ranks)
    )
}

/// Name and text of the scenario, or of the usual network.
fn network(args: &LaunchArgs, nodes: usize) -> anyhow::Result<(String, String)> {
    if let Some(path) = &args.scenario {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| name.clone())?;
        return Ok((name, text));
    }
    let shape = match nodes {
        0..=CROSSBAR_PORTS => "topology = \"star\"",
        _ => "topology = \"clos\"\nports = 16",
    };
    // A rank that waits has a CPU of its own: it looks again and again.
    let cpus = args.per_node.max(2);
    let network = format!(
        "board = \"lanai9.2-200\"\ncosts = {{ host.cpus = {cpus} }}\n[network]\n{shape}\nnodes = {nodes}\n"
    );
    Ok((USUAL.to_owned(), network))
}

/// The scenario of this name and text, with a rank on each of its first nodes.
fn scenario(
    args: &LaunchArgs,
    nodes: usize,
    name: &str,
    network: String,
    hub: &Arc<Hub>,
) -> anyhow::Result<Scenario> {
    let mode = match args.sockets {
        true => Mode::Sockets {
            apart_ns: args.apart.ps() / 1000,
        },
        false => Mode::Messages,
    };
    // A process may sleep for long, if the scenario does not say otherwise.
    let may_sleep = !network.contains("quiet_us");
    let on = |which: &str| {
        let program = format!("\n[[program]]\nrun = \"process\"\nnodes = [\"{which}\"]\n");
        lanigon_workloads::parse(name, &(network.clone() + &program))
    };
    // A scenario may choose the nodes itself.
    let own = lanigon_workloads::parse(name, &network).ok();
    let own = own.filter(|own| own.programs.iter().any(is_of_ranks));
    let mut scenario = match own {
        Some(own) => own,
        None => on(&format!("0..{nodes}")).or_else(|error| match on("all") {
            Ok(all) => bail!(
                "{name}: {}",
                nodes_for_ranks(all.nodes.len(), hub.universe())
            ),
            // The file has no such line: the program is not the user's.
            Err(_) if error.line > network.lines().count() => bail!("{name}: {}", error.reason),
            Err(_) => Err(error.into()),
        })?,
    };
    if let Some(path) = &args.scenario {
        scenario.folder = path.parent().unwrap_or(Path::new("")).into();
        scenario.source = Some(path.clone());
    }
    if may_sleep {
        scenario.quiet = None;
    }
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let programs = scenario.programs.iter_mut();
    for spec in programs.filter(|spec| is_of_ranks(spec)) {
        if let Program::Workload(_, workload) = &mut spec.program {
            ensure!(
                !Processes::have_command(&**workload),
                "{name}: its programs have commands: `lanigon run` starts them"
            );
            let (of_program, ranks) = (workload.nodes().len(), hub.universe());
            ensure!(
                of_program == nodes,
                "{name}: {}",
                nodes_for_ranks(of_program, ranks)
            );
            let per_node = args.per_node as usize;
            let hub = Some(Arc::clone(hub));
            let mut processes = Processes::new(mode, workload.nodes(), per_node, hub);
            processes.compute = args.compute;
            *workload = Arc::new(processes);
        }
    }
    let mut workloads = scenario.programs.iter().filter_map(ProgramSpec::workload);
    let checked = workloads.try_for_each(|workload| workload.check(&scenario));
    checked.map_err(|why| anyhow!("{name}: {why}"))?;
    Ok(scenario)
}
