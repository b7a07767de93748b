//! `lanigon trace diff`: the first difference between two runs.

use std::fmt::Write;
use std::path::Path;

use emulator::observe::event::TraceEvent;
use emulator::observe::file::{End, Events};

use super::Status;
use crate::cli::trace::DiffArgs;
use crate::output;
use crate::progress::ProgressLine;
use lanigon_analysis::trace::diff::{Comparison, results, setups};
use lanigon_analysis::trace::open::{Ending, TraceInput, broken, open};

/// A trace being read event by event.
struct TraceRun<'a> {
    path: &'a Path,
    events: Events<TraceInput>,
    next: Option<TraceEvent>,
    ending: Ending,
}

impl TraceRun<'_> {
    /// Returns the next event and reads another one.
    fn next_event(&mut self) -> anyhow::Result<Option<TraceEvent>> {
        let read = match self.events.next_of(|_| true) {
            Ok(event) => event,
            Err(error) => {
                self.ending = broken(self.path, error)?;
                None
            }
        };
        Ok(std::mem::replace(&mut self.next, read))
    }

    fn end(&self) -> End {
        self.events.end().cloned().unwrap_or_default()
    }
}

/// Runs the command.
pub(super) fn run(args: &DiffArgs) -> anyhow::Result<Status> {
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    let mut comparison = Comparison::new([&a.header, &b.header], args.context);
    let setups = setups(&a.header, &b.header);
    let run = |path, events| TraceRun {
        path,
        events,
        next: None,
        ending: Ending::Whole,
    };
    let mut runs = [run(&args.a, a.into_events()), run(&args.b, b.into_events())];
    for run in &mut runs {
        run.next_event()?;
    }
    let progress = ProgressLine::steps("comparing the traces", 0);
    // Read in the order of time, to keep few unmatched events.
    loop {
        let [a, b] = &runs;
        let which = match (&a.next, &b.next) {
            (Some(a), Some(b)) => usize::from(b.time < a.time),
            (Some(_), None) => 0,
            (None, Some(_)) => 1,
            (None, None) => break,
        };
        if let Some(event) = runs[which].next_event()? {
            comparison.push(which, event);
        }
    }
    let difference = comparison.finish();
    drop(progress);
    let results = results(&runs[0].end(), &runs[1].end());
    if args.json {
        let mut document = difference.document();
        document["setup"] = setups.into();
        document["results"] = results
            .iter()
            .map(|(name, a, b)| serde_json::json!([name, a, b]))
            .collect();
        output::print_json(&document)?;
    } else {
        let mut text = format!(
            "A         {}\nB         {}\n",
            args.a.display(),
            args.b.display()
        );
        for line in &setups {
            let _ = writeln!(text, "{:<10}{line}", "");
        }
        text += &difference.text();
        for (index, (name, a, b)) in results.iter().enumerate() {
            let title = if index == 0 {
                "\nresults   "
            } else {
                "          "
            };
            let _ = writeln!(text, "{title}{name}: {a}\n{:<12}now {b}", "");
        }
        output::print(&text)?;
    }
    let whole = runs.iter().all(|run| run.ending == Ending::Whole);
    Ok(match difference.is_none() && whole {
        true => Status::Done,
        false => Status::Failed,
    })
}
