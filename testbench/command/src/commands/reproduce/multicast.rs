//! `lanigon reproduce multicast`: multicasts over FM's multi-send.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use lanigon_papers::conditions::Conditions;
use lanigon_papers::multicast::PROFILE;
use lanigon_papers::multicast::plan::Plan;
use lanigon_papers::multicast::plots;
use lanigon_papers::multicast::report::{self, Document};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::profile;

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
        (args.explain.is_some(), "--explain"),
    ] {
        if given {
            bail!("{option} is not for `reproduce multicast`");
        }
    }
    let rounds = match (args.quick, args.full) {
        (true, _) => 2,
        (_, true) => 1000,
        _ => 10,
    };
    let plan = Plan {
        quick: args.quick,
        rounds,
        interrupt: interrupt.flag(),
    };
    if let Some(folder) = &args.out {
        prepare(folder, "multicast.txt")?;
    }
    let progress = Progress::steps("measurements", plan.steps() as u64);
    let done = AtomicUsize::new(0);
    let results = plan.run(|| progress.set(1 + done.fetch_add(1, Ordering::Relaxed) as u64))?;
    drop(progress);
    let document = serde_json::to_string_pretty(&Document::new(&results))? + "\n";
    let text = report::render(&results);
    if let Some(folder) = &args.out {
        write_file(folder, "multicast.json", &document)?;
        write_file(folder, "multicast.txt", &text)?;
        for (file, figure) in plots::figures(&results) {
            write_figure(folder, &file, &figure)?;
        }
        let conditions = Conditions {
            version: env!("CARGO_PKG_VERSION").into(),
            images: plan.identities()?,
            repeats: format!("{rounds} messages for each answering leaf"),
            sizes: Vec::new(),
        };
        let profile = profile::load(PROFILE)?;
        let about = (profile.name.as_str(), profile.description.as_str());
        write_report(folder, &report::report(&results, &conditions, about))?;
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
