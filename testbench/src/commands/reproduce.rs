//! `lanigon reproduce`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use defs::emp::descriptor::MESSAGE_LIMIT_BYTES;
use emulator::tigon2::timing::Profile;

use super::Status;
use crate::cli::{Paper, ReproduceArgs};
use crate::experiments::rounds::Rounds;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::reproduce::results::{Experiment, Results, TARGETS};
use crate::reproduce::{Plan, QUICK_SIZES, SIZES, table};
use crate::{cluster, output, profile, published};

/// The image that carries the single-CPU protocol.
const IMAGE: &str = "emp-base";

/// Runs the benchmarks, prints the results, and writes them where the user wants them.
///
/// # Errors
/// A wrong request, or an experiment that cannot be carried out.
pub fn run(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let Paper::Emp = args.paper;
    let plan = plan(args, interrupt)?;
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let progress = Progress::steps("measurements", plan.points() as u64);
    let results = plan.run(|done| progress.set(done as u64))?;
    drop(progress);
    if let Some(folder) = &args.out {
        write_files(folder, &results)?;
    }
    if args.json {
        output::print_json(&results.document())?;
    } else {
        output::print(&table::render(&results))?;
    }
    Ok(if results.partial {
        Status::Interrupted
    } else {
        Status::Done
    })
}

fn plan(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Plan> {
    let profiles = match &args.profile {
        Some(name) => vec![profile::load(name)?],
        None => Profile::names()
            .map(Profile::built_in)
            .collect::<Result<_, _>>()?,
    };
    let rounds = match (args.quick, args.full) {
        (true, _) => Rounds::QUICK,
        (_, true) => Rounds::FULL,
        _ => Rounds::USUAL,
    };
    let (sizes, experiments) = match &args.figure {
        Some(id) => figure(id)?,
        None => (sizes(args)?, Experiment::ALL.to_vec()),
    };
    Ok(Plan {
        image: Arc::new(cluster::own_image(IMAGE, cluster::EMP_SRAM)?),
        profiles,
        sizes,
        experiments,
        rounds,
        max_time: args.max_time,
        interrupt: interrupt.flag(),
    })
}

fn sizes(args: &ReproduceArgs) -> anyhow::Result<Vec<u32>> {
    let mut sizes = match (args.sizes.as_slice(), args.quick) {
        ([], true) => QUICK_SIZES.to_vec(),
        ([], false) => SIZES.to_vec(),
        (sizes, _) => sizes.to_vec(),
    };
    if let Some(size) = sizes
        .iter()
        .find(|size| !(1..=MESSAGE_LIMIT_BYTES).contains(size))
    {
        bail!("--size {size}: a message has between 1 and {MESSAGE_LIMIT_BYTES} bytes");
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// What to measure for one published number.
fn figure(id: &str) -> anyhow::Result<(Vec<u32>, Vec<Experiment>)> {
    if let Some(target) = TARGETS.iter().find(|target| target.id == id) {
        return Ok((vec![target.size], vec![target.experiment]));
    }
    let known = TARGETS.map(|target| target.id).join(", ");
    match published::by_id(id) {
        Some(number) => bail!(
            "--figure {id} ({}): not reproduced by this version (reproduced: {known})",
            number.quantity
        ),
        None => bail!("--figure {id}: there is no such published number (reproduced: {known})"),
    }
}

fn write_files(folder: &Path, results: &Results) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(&results.document())? + "\n";
    let files = [
        ("emp.json", json),
        ("emp.csv", results.csv()),
        ("emp.txt", table::render(results)),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}
