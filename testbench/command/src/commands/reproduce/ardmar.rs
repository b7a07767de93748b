//! `lanigon reproduce ardmar`: programs over shared memory, with and without handlers.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use lanigon_papers::conditions::Conditions;
use lanigon_papers::dsm::key::Amount;
use lanigon_papers::dsm::plan::Plan;
use lanigon_papers::dsm::plots;
use lanigon_papers::dsm::report::{self, Document};
use lanigon_worlds::interrupt::Interrupt;

use super::{Status, prepare, write_figure, write_file, write_report};
use crate::cli::ReproduceArgs;
use crate::output;
use crate::progress::Progress;

/// Runs the measurements, prints the results, and writes the requested files.
///
/// # Errors
/// If the request is invalid, or a measurement fails.
pub(super) fn run(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    for (given, option) in [
        (args.figure.is_some(), "--figure"),
        (args.max_time.is_some(), "--max-time"),
        (args.profile.is_some(), "--profile"),
        (!args.sizes.is_empty(), "--size"),
    ] {
        if given {
            bail!("{option} is not for `reproduce ardmar`");
        }
    }
    if args.explain.is_some() {
        bail!(
            "--explain: handlers and waits of many nodes have no critical path; `lanigon run scenarios/dsm.toml` tells where the time of each node goes"
        );
    }
    let amount = match (args.quick, args.full) {
        (true, _) => Amount::Quick,
        (_, true) => Amount::Full,
        _ => Amount::Usual,
    };
    let plan = Plan::new(amount, interrupt.flag())?;
    if let Some(folder) = &args.out {
        prepare(folder, "ardmar.txt")?;
    }
    let progress = Progress::steps("measurements", plan.steps() as u64);
    let done = AtomicUsize::new(0);
    let results = plan.run(|| progress.set(1 + done.fetch_add(1, Ordering::Relaxed) as u64))?;
    drop(progress);
    let document = serde_json::to_string_pretty(&Document::new(&results))? + "\n";
    let text = report::render(&plan, &results);
    if let Some(folder) = &args.out {
        write_file(folder, "ardmar.json", &document)?;
        write_file(folder, "ardmar.txt", &text)?;
        for (file, figure) in plots::figures(&results) {
            write_figure(folder, &file, &figure)?;
        }
        let conditions = Conditions {
            version: env!("CARGO_PKG_VERSION").into(),
            images: plan.identities()?,
            repeats: "100 repetitions of each primitive; each program once".into(),
            sizes: Vec::new(),
        };
        write_report(folder, &report::report(&plan, &results, &conditions))?;
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
