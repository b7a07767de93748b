//! `lanigon sweep`: runs a scenario with many values.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use lanigon_sweep::execute::{self, Options, SweepProgress};
use lanigon_sweep::file::Sweep;
use lanigon_sweep::merge;
use lanigon_sweep::plan::{RunJob, SweepPlan};
use lanigon_sweep::store::{self, Rows, Shard};
use lanigon_sweep::table::{self, Summary};
use lanigon_worlds::interrupt::Interrupt;
use serde::Serialize;

use super::Status;
use crate::cli::sweep::{MergeArgs, SweepArgs, SweepCommand};
use crate::output;

/// Time between lines of progress where no terminal shows a bar.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// Largest number of points, failed or missing runs that are shown.
const MOST_POINTS: usize = 60;
const MOST_LINES: usize = 10;

/// JSON document of a sweep.
#[derive(Serialize)]
struct SweepDocument {
    sweep: String,
    description: String,
    folder: String,
    /// Runs of the whole sweep.
    runs: usize,
    /// Runs with results.
    done: usize,
    failed: usize,
    interrupted: bool,
    points: Vec<Summary>,
}

/// Runs the command.
///
/// # Errors
/// If the request or the sweep is invalid, or results cannot be written.
pub fn run(args: &SweepArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    if let Some(SweepCommand::Merge(args)) = &args.command {
        return join(args);
    }
    let path = args.file.as_deref().context("no sweep is named")?;
    let sweep = Sweep::load(path)?;
    let (plan, jobs) = SweepPlan::new(&sweep)?;
    if let Some(run) = args.print {
        return print(&plan, &jobs, run);
    }
    let folder = args.out.clone().unwrap_or_else(|| usual_folder(path));
    let shard = args.shard.unwrap_or(Shard::ALL);
    if args.dry_run {
        return list(&plan, &folder, shard, args.json);
    }
    let options = Options {
        threads: args.threads.unwrap_or_else(cores),
        shard,
        fresh: args.fresh,
        interrupt: interrupt.flag(),
    };
    let shown = SweepDisplay::new();
    let report = execute::run(&sweep, (&plan, &jobs), &folder, &options, |progress| {
        shown.show(progress);
    });
    drop(shown);
    let report = report?;
    // Of a part alone there are no tables: they would look like those of the whole.
    let files = match shard == Shard::ALL || report.complete {
        true => table::write(&folder, &plan, &report.rows)?,
        false => Vec::new(),
    };
    let results = Results {
        name: &sweep.name,
        plan: &plan,
        rows: &report.rows,
        folder: &folder,
        files: &files,
    };
    let done = report.progress;
    if args.json {
        output::print_json(&results.document(report.interrupted))?;
    } else {
        let runs = match shard {
            Shard::ALL => format!("{} runs", done.total),
            Shard { index, count } => format!("{} runs in part {index} of {count}", done.total),
        };
        let made = done.done - report.before;
        let title = format!("{runs}, {} had results, {made} made now", report.before);
        output::print(&results.text(&title))?;
    }
    if report.interrupted {
        let on = format!(
            "interrupted: {} of {} runs are done; the same command goes on with the others\n",
            done.done, done.total
        );
        output::print_aside(&on);
        return Ok(Status::Interrupted);
    }
    Ok(match done.failed {
        0 => Status::Done,
        _ => Status::Failed,
    })
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The folder of results of a file.
fn usual_folder(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-results");
    name.into()
}

/// `merge`: joins folders.
fn join(args: &MergeArgs) -> anyhow::Result<Status> {
    let merged = merge::merge(&args.folders, &args.out)?;
    let files = table::write(&args.out, &merged.plan, &merged.rows)?;
    let results = Results {
        name: "",
        plan: &merged.plan,
        rows: &merged.rows,
        folder: &args.out,
        files: &files,
    };
    let missing = merged.missing.len();
    if args.json {
        output::print_json(&results.document(false))?;
    } else {
        let runs = merged.plan.runs.len();
        let title = format!("{runs} runs, {} with results", runs - missing);
        output::print(&results.text(&title))?;
    }
    for &run in merged.missing.iter().take(MOST_LINES) {
        let line = format!("missing: run {} ({})\n", run + 1, merged.plan.describe(run));
        output::print_aside(&line);
    }
    if missing > MOST_LINES {
        output::print_aside(&format!("missing: {} more\n", missing - MOST_LINES));
    }
    let failed = table::failures(&merged.plan, &merged.rows);
    Ok(match missing == 0 && failed.is_empty() {
        true => Status::Done,
        false => Status::Failed,
    })
}

/// `--print`: the scenario of a run.
fn print(plan: &SweepPlan, jobs: &[RunJob], run: usize) -> anyhow::Result<Status> {
    let job = run.checked_sub(1).and_then(|index| jobs.get(index));
    let job = job.with_context(|| format!("--print {run}: the runs are 1 to {}", jobs.len()))?;
    let title = plan.describe(job.run);
    output::print(&format!("# Run {run}: {title}\n{}", job.text))?;
    Ok(Status::Done)
}

/// A run in a list.
#[derive(Serialize)]
struct Listed {
    run: usize,
    values: String,
    key: String,
    has_result: bool,
}

/// `--dry-run`: the runs.
fn list(plan: &SweepPlan, folder: &Path, shard: Shard, json: bool) -> anyhow::Result<Status> {
    let rows = match folder.exists() {
        true => store::read(folder, &plan.measures)?,
        false => Rows::new(),
    };
    let runs = plan.runs.iter().enumerate();
    let runs = runs.filter(|(index, _)| shard.has(*index));
    let listed: Vec<Listed> = runs
        .map(|(index, run)| Listed {
            run: index + 1,
            values: plan.describe(index),
            key: run.key.clone(),
            has_result: rows.contains_key(&run.key),
        })
        .collect();
    if json {
        output::print_json(&listed)?;
        return Ok(Status::Done);
    }
    let mut text = String::new();
    for run in &listed {
        let done = if run.has_result { "done" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:>6}  {done:<4}  {}", run.run, run.values);
    }
    let left = listed.iter().filter(|run| !run.has_result).count();
    let _ = writeln!(text, "{} runs, {left} without a result", listed.len());
    output::print(&text)?;
    Ok(Status::Done)
}

/// Results to show.
struct Results<'r> {
    name: &'r str,
    plan: &'r SweepPlan,
    rows: &'r Rows,
    folder: &'r Path,
    files: &'r [PathBuf],
}

impl Results<'_> {
    fn document(&self, interrupted: bool) -> SweepDocument {
        let runs = self.plan.runs.iter();
        SweepDocument {
            sweep: self.name.into(),
            description: self.plan.description.clone(),
            folder: self.folder.display().to_string(),
            runs: self.plan.runs.len(),
            done: runs.filter(|run| self.rows.contains_key(&run.key)).count(),
            failed: table::failures(self.plan, self.rows).len(),
            interrupted,
            points: table::summaries(self.plan, self.rows),
        }
    }

    fn text(&self, title: &str) -> String {
        let mut text = format!("{:<10}{title}\n", "sweep");
        for (run, reason) in table::failures(self.plan, self.rows)
            .into_iter()
            .take(MOST_LINES)
        {
            let values = self.plan.describe(run);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:<10}run {} ({values}): {reason}", "FAILED", run + 1);
        }
        let failed = table::failures(self.plan, self.rows).len();
        if failed > MOST_LINES {
            let _ = writeln!(text, "{:<10}{} more", "FAILED", failed - MOST_LINES);
        }
        if self.files.is_empty() {
            let folder = self.folder.display();
            let _ = writeln!(
                text,
                "{:<10}{folder}; `lanigon sweep merge` makes tables of all parts",
                "results"
            );
            return text;
        }
        for file in self.files {
            let _ = writeln!(text, "{:<10}{}", "written", file.display());
        }
        text + &self.points()
    }

    /// A table of the points, if there are not too many: mean and half the width of the confidence interval.
    fn points(&self) -> String {
        let points = table::points(self.plan, self.rows);
        if points.len() > MOST_POINTS {
            return String::new();
        }
        let axes = self.plan.axes.iter().map(|axis| axis.column());
        let measures = self.plan.measures.iter().map(|measure| measure.column());
        let mut lines: Vec<Vec<String>> = vec![axes.chain(measures).collect()];
        for point in &points {
            let mut line: Vec<String> = table::labels(self.plan, point.point).collect();
            for sample in &point.samples {
                line.push(match sample {
                    None => "-".into(),
                    Some(sample) => match sample.interval {
                        Some(interval) => format!("{:.2} +-{interval:.2}", sample.mean),
                        None => format!("{:.2}", sample.mean),
                    },
                });
            }
            lines.push(line);
        }
        let width = |column: usize| {
            let widths = lines.iter().map(|line| line[column].chars().count());
            widths.max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
        let mut text = String::from("\n");
        for line in &lines {
            let fields = line.iter().zip(&widths);
            let fields = fields.map(|(field, width)| format!("{field:>width$}"));
            text += &fields.collect::<Vec<_>>().join("  ");
            text.push('\n');
        }
        text
    }
}

/// Progress: a bar on a terminal, else a line every so often.
struct SweepDisplay {
    bar: Option<ProgressBar>,
    last: std::cell::Cell<Option<Instant>>,
}

impl SweepDisplay {
    fn new() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let template = "{bar:40} {human_pos} of {human_len} runs {msg}  {elapsed}";
            let style = ProgressStyle::with_template(template);
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        });
        Self {
            bar,
            last: std::cell::Cell::new(Some(Instant::now())),
        }
    }

    fn show(&self, progress: SweepProgress) {
        let mut message = String::new();
        if progress.failed > 0 {
            // Writing to a string cannot fail.
            let _ = write!(message, ", {} failed", progress.failed);
        }
        if let Some(left) = progress.left {
            let _ = write!(message, ", about {} left", span(left));
        }
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(message);
            return;
        }
        let is_due = self
            .last
            .get()
            .is_none_or(|last| last.elapsed() >= LINE_EVERY);
        if is_due && progress.done < progress.total {
            self.last.set(Some(Instant::now()));
            let line = format!("{} of {} runs{message}\n", progress.done, progress.total);
            output::print_aside(&line);
        }
    }
}

impl Drop for SweepDisplay {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A time of hours, minutes or seconds.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let check = |seconds, expected| assert_eq!(span(Duration::from_secs(seconds)), expected);
        check(0, "0 s");
        check(99, "99 s");
        check(100, "2 min");
        check(5999, "100 min");
        check(9000, "2.5 h");
    }
}
