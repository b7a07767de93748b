//! `lanigon reproduce barrier`, `reduction`, `gossip`, `atomics`: collective and atomic operations on hosts and on boards.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use lanigon_papers::collectives::explain;
use lanigon_papers::collectives::plan::{FULL_ROUNDS, Plan};
use lanigon_papers::collectives::plots;
use lanigon_papers::collectives::published::Table;
use lanigon_papers::collectives::report::{self, Document};
use lanigon_papers::conditions::Conditions;
use lanigon_worlds::interrupt::Interrupt;

use super::{Status, prepare, write_figure, write_file, write_report};
use crate::cli::{Explain, ReproduceArgs};
use crate::output;
use crate::progress::Progress;

/// Runs the measurements, prints the results, and writes the requested files.
///
/// # Errors
/// If the request is invalid, or a measurement fails.
pub(super) fn run(
    args: &ReproduceArgs,
    name: &str,
    table: Table,
    interrupt: &Interrupt,
) -> anyhow::Result<Status> {
    for (given, option) in [
        (args.figure.is_some(), "--figure"),
        (args.max_time.is_some(), "--max-time"),
        (args.profile.is_some(), "--profile"),
        (!args.sizes.is_empty(), "--size"),
    ] {
        if given {
            bail!("{option} is for `reproduce emp`, and some options for `reproduce gm`");
        }
    }
    let (rounds, most_nodes) = match (args.quick, args.full) {
        (true, _) => (40, 64),
        (_, true) => (FULL_ROUNDS, 1_024),
        _ => (200, 256),
    };
    let plan = Plan::new(table, args.quick, rounds, most_nodes, interrupt.flag())?;
    if args.explain.is_some() {
        return explained(args, &plan);
    }
    let (text_file, json_file) = (format!("{name}.txt"), format!("{name}.json"));
    if let Some(folder) = &args.out {
        prepare(folder, &text_file)?;
    }
    let progress = Progress::steps("measurements", plan.steps() as u64);
    let done = AtomicUsize::new(0);
    let results = plan.run(|| progress.set(1 + done.fetch_add(1, Ordering::Relaxed) as u64))?;
    drop(progress);
    let document = serde_json::to_string_pretty(&Document::new(&plan, &results))? + "\n";
    let text = report::render(&plan, &results);
    if let Some(folder) = &args.out {
        write_file(folder, &json_file, &document)?;
        write_file(folder, &text_file, &text)?;
        for (file, figure) in plots::figures(table, &results) {
            write_figure(folder, &file, &figure)?;
        }
        let conditions = Conditions {
            version: env!("CARGO_PKG_VERSION").into(),
            images: plan.identities()?,
            repeats: format!(
                "{rounds} operations after 20 that are ignored; all-to-all broadcasts a fourth of them"
            ),
            sizes: Vec::new(),
        };
        let report = report::report(name, &plan, &results, &conditions);
        write_report(folder, &report)?;
    }
    output::print(match args.json {
        true => &document,
        false => &text,
    })?;
    Ok(match results.partial {
        true => Status::Interrupted,
        false => Status::Done,
    })
}

/// Explains operations: who waited for whom.
fn explained(args: &ReproduceArgs, plan: &Plan) -> anyhow::Result<Status> {
    if let Some(Explain(Some(scheme))) = args.explain {
        bail!(
            "--explain {}: a scheme is for `reproduce emp`",
            scheme.name()
        );
    }
    if args.out.is_some() {
        bail!("--out and --explain: the explanation is printed only");
    }
    if plan.table == Table::Atomics {
        bail!(
            "--explain: there is no critical path of atomic operations; `lanigon ledger` splits the messages to servers"
        );
    }
    if matches!(plan.table, Table::AbBroadcast | Table::AbReduction) {
        bail!(
            "--explain: late processes have no critical path; `mpi time` of `lanigon run scenarios/mpi-bypass.toml` tells where their time goes"
        );
    }
    let all = plan.explain()?;
    match args.json {
        true => output::print_json(&all)?,
        false => output::print(&explain::render(&all))?,
    }
    Ok(Status::Done)
}
