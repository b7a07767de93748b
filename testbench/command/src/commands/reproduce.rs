//! `lanigon reproduce`: published results.

use lanigon_experiments::paper::{self, Amount, Paper, ResultRequest};
use lanigon_experiments::summary;
use lanigon_papers::PAPERS;
use lanigon_worlds::interrupt::Interrupt;

use super::Status;
use crate::cli::{Papers, ReproduceArgs};
use crate::output;
use crate::progress::ProgressLine;

/// Runs the measurements of a paper, prints the results, and writes the requested files.
///
/// # Errors
/// If the request is invalid, or a measurement fails.
pub fn run(args: &ReproduceArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    for paper in PAPERS {
        paper.table.check()?;
    }
    let request = ResultRequest {
        amount: match (args.quick, args.full) {
            (true, _) => Amount::Quick,
            (_, true) => Amount::Full,
            _ => Amount::Usual,
        },
        figure: args.figure.clone(),
        explain: args.explain.clone(),
        sizes: args.sizes.clone(),
        profile: args.profile.clone(),
        max_time: args.max_time,
        out: args.out.clone(),
        interrupt: interrupt.flag(),
    };
    let progress = |unit, steps| {
        let progress = ProgressLine::steps(unit, steps as u64);
        move |done| progress.set(done as u64)
    };
    let (document, text, partial) = match args.papers {
        Papers(Some(paper)) => {
            paper::check(PAPERS, paper, &request)?;
            let outcome = paper::run(paper, &request, |steps| progress("measurements", steps))?;
            let partial = outcome.is_partial();
            (outcome.document, outcome.text, partial)
        }
        Papers(None) => {
            let begin = |paper: &Paper, steps| progress(paper.name, steps);
            let all = summary::run(PAPERS, &request, begin)?;
            (all.document()?, all.text(), all.is_partial())
        }
    };
    output::print(if args.json { &document } else { &text })?;
    Ok(match partial {
        true => Status::Interrupted,
        false => Status::Done,
    })
}
