//! `lanigon reproduce`: published results.

mod ardmar;
mod collectives;
mod gm;
mod multicast;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use defs::emp::descriptor::MESSAGE_LIMIT_BYTES;
use emulator::image::Image;

use super::Status;
use crate::cli::{Explain, Paper, ReproduceArgs};
use crate::output;
use crate::progress::Progress;
use lanigon_figures::Figure;
use lanigon_papers::collectives::published::Table;
use lanigon_papers::conditions::Conditions;
use lanigon_papers::experiments::rounds::Rounds;
use lanigon_papers::experiments::scheme::Scheme;
use lanigon_papers::published;
use lanigon_papers::reproduce::results::Results;
use lanigon_papers::reproduce::rows::{self, Document};
use lanigon_papers::reproduce::{Plan, QUICK_SIZES, SIZES, Selection, explain, page, plot, table};
use lanigon_report::Report;
use lanigon_worlds::files::output as files;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::{boards, images, nodes, profile};

/// Runs the benchmarks, prints the results, and writes the requested files.
///
/// # Errors
/// If the request is invalid, or an experiment fails.
pub fn run(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    published::check()?;
    match args.paper {
        Paper::Emp => emp(args, interrupt),
        Paper::Gm => gm::run(args, interrupt),
        Paper::Barrier => collectives::run(args, "barrier", Table::Barrier, interrupt),
        Paper::Reduction => collectives::run(args, "reduction", Table::Reduction, interrupt),
        Paper::Multicast => multicast::run(args, interrupt),
        Paper::Gossip => collectives::run(args, "gossip", Table::Gossip, interrupt),
        Paper::MpiBarrier => collectives::run(args, "mpi-barrier", Table::MpiBarrier, interrupt),
        Paper::AbBroadcast => collectives::run(args, "ab-broadcast", Table::AbBroadcast, interrupt),
        Paper::AbReduction => collectives::run(args, "ab-reduction", Table::AbReduction, interrupt),
        Paper::Ardmar => ardmar::run(args, interrupt),
        Paper::Atomics => collectives::run(args, "atomics", Table::Atomics, interrupt),
    }
}

/// The scheme that `--explain` names.
fn explained(args: &ReproduceArgs) -> anyhow::Result<Option<Scheme>> {
    match args.explain {
        None => Ok(None),
        Some(Explain(Some(scheme))) => Ok(Some(scheme)),
        Some(Explain(None)) => {
            let names = Scheme::ALL.map(Scheme::name).join(", ");
            bail!("--explain: which scheme? There are {names}")
        }
    }
}

fn emp(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let scheme = explained(args)?;
    let selection = selection(args)?;
    let plan = plan(args, &selection, interrupt)?;
    if let Some(folder) = &args.out {
        prepare(folder, FIRST_FILE)?;
    }
    let progress = Progress::steps("measurements", plan.steps() as u64);
    let results = plan.run(|done| progress.set(done as u64))?;
    drop(progress);
    if let Some(folder) = &args.out {
        write_files(folder, &results, &selection, &conditions(args, &plan)?)?;
    }
    if args.json {
        output::print_json(&Document::new(&results, &selection))?;
    } else if let Some(scheme) = scheme {
        output::print(&explain::render(&results, scheme))?;
    } else {
        output::print(&table::render(&results, &selection))?;
    }
    Ok(if results.partial {
        Status::Interrupted
    } else {
        Status::Done
    })
}

/// The selected results.
fn selection(args: &ReproduceArgs) -> anyhow::Result<Selection> {
    let sizes = sizes(args)?;
    if let Some(scheme) = explained(args)? {
        return Ok(Selection::explanation(scheme));
    }
    match &args.figure {
        Some(id) => Selection::by_id(id, &sizes).with_context(|| unknown_figure(id)),
        None if args.sizes.is_empty() => Ok(Selection::whole(&sizes)),
        None => Ok(Selection::sizes(&sizes)),
    }
}

fn unknown_figure(id: &str) -> String {
    let known = Selection::known();
    match published::by_id(id) {
        Some(number) => format!(
            "--figure {id} ({}): a parameter of the thesis, nothing that could be reproduced (known: {known})",
            number.quantity
        ),
        None => format!(
            "--figure {id}: there is no such figure, table, number or claim (known: {known})"
        ),
    }
}

fn plan(
    args: &ReproduceArgs,
    selection: &Selection,
    interrupt: &Interrupt,
) -> anyhow::Result<Plan> {
    let profiles = match &args.profile {
        Some(name) => vec![profile::load(name)?],
        None => boards::DEFAULT
            .profiles
            .names()
            .map(profile::load)
            .collect::<Result<_, _>>()?,
    };
    Ok(Plan {
        images: images(explained(args)?)?,
        profiles,
        gm: Plan::gm_boards()?,
        tasks: selection.tasks.clone(),
        rounds: match (args.quick, args.full) {
            (true, _) => Rounds::QUICK,
            (_, true) => Rounds::FULL,
            _ => Rounds::USUAL,
        },
        max_time: args.max_time,
        interrupt: interrupt.flag(),
    })
}

/// The built images. Base, or the one requested scheme, is required.
fn images(asked: Option<Scheme>) -> anyhow::Result<BTreeMap<Scheme, Arc<Image>>> {
    let needed = asked.unwrap_or(Scheme::Base);
    let mut images = BTreeMap::new();
    for scheme in Scheme::ALL {
        match images::own_image(scheme.image(), nodes::EMP_SRAM_BYTES) {
            Ok(image) => {
                images.insert(scheme, Arc::new(image));
            }
            Err(FirmwareError::File { error, .. })
                if error.kind() == ErrorKind::NotFound && scheme != needed => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(images)
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

/// First file to be written: checks a folder before the measurements.
const FIRST_FILE: &str = "emp.txt";

/// Creates the folder for results, and checks that it is writable.
fn prepare(folder: &Path, first_file: &str) -> anyhow::Result<()> {
    let refuse = || format!("--out {}: cannot be written", folder.display());
    std::fs::create_dir_all(folder).with_context(refuse)?;
    // Dropped at once: what an earlier run left stays until there are results.
    files::create(&folder.join(first_file)).with_context(refuse)?;
    Ok(())
}

fn write_file(
    folder: &Path,
    name: &str,
    text: &(impl AsRef<[u8]> + ?Sized),
) -> Result<(), output::WriteError> {
    let path = folder.join(name);
    files::write(&path, text.as_ref())
        .map_err(|error| output::WriteError::new(path.display(), error))
}

/// What the run's results depend on.
fn conditions(args: &ReproduceArgs, plan: &Plan) -> anyhow::Result<Conditions> {
    let images = plan.images.iter();
    let images = images.map(|(scheme, image)| (scheme.image().to_owned(), image.identity()));
    let gm = plan.gm.iter();
    let images = images.chain(gm.map(|(_, image)| ("gm".to_owned(), image.identity())));
    let Rounds {
        least,
        most,
        skipped,
        ..
    } = plan.rounds;
    Ok(Conditions {
        version: env!("CARGO_PKG_VERSION").into(),
        images: images.collect(),
        repeats: format!(
            "{least} to {most} rounds of each benchmark, until its mean is stable, after {skipped} that are ignored"
        ),
        sizes: sizes(args)?,
    })
}

/// Writes a report as a page and as Markdown.
fn write_report(folder: &Path, report: &Report) -> Result<(), output::WriteError> {
    write_file(folder, "report.html", &lanigon_report::html(report))?;
    write_file(folder, "report.md", &lanigon_report::markdown(report))
}

/// Writes a figure as SVG and as PDF.
fn write_figure(folder: &Path, name: &str, figure: &Figure) -> Result<(), output::WriteError> {
    write_file(
        folder,
        &format!("{name}.svg"),
        &lanigon_figures::svg(figure),
    )?;
    write_file(
        folder,
        &format!("{name}.pdf"),
        &lanigon_figures::pdf(figure),
    )
}

fn write_files(
    folder: &Path,
    results: &Results,
    selection: &Selection,
    conditions: &Conditions,
) -> anyhow::Result<()> {
    let write = |name: &str, text: &str| write_file(folder, name, text);
    for figure in &selection.figures {
        for profile in &results.profiles {
            if let Some(drawing) = plot::figure(figure, profile) {
                let name = page::figure_file(figure, profile);
                write_figure(folder, &name, &drawing)?;
            }
        }
    }
    let document = Document::new(results, selection);
    write(
        "emp.json",
        &(serde_json::to_string_pretty(&document)? + "\n"),
    )?;
    write("emp.csv", &rows::csv(results, selection))?;
    write(FIRST_FILE, &table::render(results, selection))?;
    Ok(write_report(
        folder,
        &page::report(results, selection, conditions),
    )?)
}
