//! `lanigon reproduce gm`: GM on all boards that run it.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use lanigon_papers::conditions::Conditions;
use lanigon_papers::gm::report::{self, Document};
use lanigon_papers::gm::{LONG, Plan, QUICK_SIZES, SIZES, explain, page, plot, profiles};
use lanigon_worlds::boards::{self, Medium};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::profile;

use super::{Status, prepare, write_figure, write_file, write_report};
use crate::cli::{Explain, ReproduceArgs};
use crate::output;
use crate::progress::Progress;

const TEXT_FILE: &str = "gm.txt";
const JSON_FILE: &str = "gm.json";

/// Runs the measurements, prints the results, and writes the requested files.
///
/// # Errors
/// If the request is invalid, or a measurement fails.
pub(super) fn run(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let plan = plan(args, interrupt)?;
    if args.explain.is_some() {
        return explain(args, plan);
    }
    if let Some(folder) = &args.out {
        prepare(folder, TEXT_FILE)?;
    }
    let progress = Progress::steps("measurements", plan.steps() as u64);
    let done = AtomicUsize::new(0);
    let results = plan.run(|| progress.set(1 + done.fetch_add(1, Ordering::Relaxed) as u64))?;
    drop(progress);
    let document = serde_json::to_string_pretty(&Document::new(&results.profiles))? + "\n";
    let text = report::render(&results.profiles);
    if let Some(folder) = &args.out {
        write_file(folder, JSON_FILE, &document)?;
        write_file(folder, TEXT_FILE, &text)?;
        for (name, figure) in plot::figures(&results.profiles) {
            write_figure(folder, name, &figure)?;
        }
        write_report(folder, &page::report(&results, &conditions(&plan)?))?;
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

/// What the run's results depend on.
fn conditions(plan: &Plan) -> anyhow::Result<Conditions> {
    let (rounds, messages) = (plan.rounds, plan.messages);
    Ok(Conditions {
        version: env!("CARGO_PKG_VERSION").into(),
        images: plan.identities()?,
        repeats: format!("ping-pongs of {rounds} rounds, streams of up to {messages} messages"),
        sizes: plan.sizes.clone(),
    })
}

/// Explains the latency of a short message.
fn explain(args: &ReproduceArgs, mut plan: Plan) -> anyhow::Result<Status> {
    if let Some(Explain(Some(scheme))) = args.explain {
        bail!(
            "--explain {}: a scheme is for `reproduce emp`",
            scheme.name()
        );
    }
    if args.out.is_some() {
        bail!("--out and --explain: the explanation is printed only");
    }
    plan.profiles
        .retain(|profile| boards::of(profile).medium == Medium::Myrinet);
    if let (Some(name), []) = (&args.profile, plan.profiles.as_slice()) {
        bail!("--explain follows packets on Myrinet; {name} is no profile of boards on Myrinet");
    }
    let all = plan.explain()?;
    match args.json {
        true => output::print_json(&all)?,
        false => output::print(&explain::render(&all))?,
    }
    Ok(Status::Done)
}

fn plan(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Plan> {
    for (given, option) in [
        (args.figure.is_some(), "--figure"),
        (args.max_time.is_some(), "--max-time"),
    ] {
        if given {
            bail!("{option} is for `reproduce emp`");
        }
    }
    let names = match &args.profile {
        Some(name) => vec![name.as_str()],
        None => profiles(),
    };
    let profiles = names.into_iter().map(profile::load);
    let (rounds, messages) = match (args.quick, args.full) {
        (true, _) => (10, 80),
        (_, true) => (1000, 2000),
        _ => (50, 300),
    };
    Ok(Plan {
        profiles: profiles.collect::<Result<_, _>>()?,
        sizes: sizes(args)?,
        rounds,
        messages,
        interrupt: interrupt.flag(),
    })
}

fn sizes(args: &ReproduceArgs) -> anyhow::Result<Vec<u32>> {
    let mut sizes = match (args.sizes.as_slice(), args.quick) {
        ([], true) => QUICK_SIZES.to_vec(),
        ([], false) => SIZES.to_vec(),
        (sizes, _) => sizes.to_vec(),
    };
    if let Some(size) = sizes.iter().find(|&&size| size > LONG) {
        bail!("--size {size}: a message has at most {LONG} bytes");
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}
