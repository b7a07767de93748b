//! Joins folders of one sweep, such as those of several machines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::SweepError;
use crate::plan::SweepPlan;
use crate::store::{self, Rows, Shard, Store};
use crate::table;

/// Result of joining.
#[derive(Debug)]
pub struct Merged {
    /// The plan of all folders.
    pub plan: SweepPlan,
    /// All results.
    pub rows: Rows,
    /// Numbers of the runs without a result.
    pub missing: Vec<usize>,
}

/// Joins the results of folders into `out`, which may be one of them.
///
/// # Errors
/// If a folder has no plan, two are of different sweeps, or a file cannot be read or written.
pub fn merge(folders: &[PathBuf], out: &Path) -> Result<Merged, SweepError> {
    let mut plan: Option<(SweepPlan, &PathBuf)> = None;
    for folder in folders {
        let other = store::read_plan(folder)?;
        match &plan {
            None => plan = Some((other, folder)),
            Some((plan, first)) => {
                if let Some(reason) = difference(plan, &other) {
                    return Err(SweepError::Mismatch {
                        first: (*first).clone(),
                        second: folder.clone(),
                        reason,
                    });
                }
            }
        }
    }
    let Some((plan, _)) = plan else {
        return Err(SweepError::SweepPlan {
            path: out.into(),
            reason: "no folder to merge".into(),
        });
    };
    let wanted: HashMap<&str, ()> = plan.runs.iter().map(|run| (&*run.key, ())).collect();
    let mut found: HashMap<String, String> = HashMap::new();
    for folder in folders {
        for file in store::files(folder)? {
            store::lines(&file, |key, text, _| {
                if wanted.contains_key(key) {
                    found.entry(key.into()).or_insert_with(|| text.into());
                }
            })?;
        }
    }
    let mut store = Store::open(out, Shard::ALL)?;
    let known = store::read(out, &plan.measures)?;
    for run in &plan.runs {
        if let Some(text) = found.remove(&run.key)
            && !known.contains_key(&run.key)
        {
            let written = store.append_line(&text);
            written.map_err(SweepError::io(store.path()))?;
        }
    }
    store::write_plan(out, &plan)?;
    let rows = store::read(out, &plan.measures)?;
    table::check_measures(&plan, &rows, |_| true)?;
    let runs = plan.runs.iter().enumerate();
    let missing = runs.filter(|(_, run)| !rows.contains_key(&run.key));
    Ok(Merged {
        missing: missing.map(|(index, _)| index).collect(),
        rows,
        plan,
    })
}

/// First difference between two plans, if there is one.
fn difference(plan: &SweepPlan, other: &SweepPlan) -> Option<String> {
    if plan.version != other.version {
        return Some(format!("emulator {} and {}", plan.version, other.version));
    }
    let names = |plan: &SweepPlan| {
        let names = plan.axes.iter().map(|axis| axis.name.clone());
        names.collect::<Vec<_>>().join(", ")
    };
    if names(plan) != names(other) {
        return Some(format!("axes {} and {}", names(plan), names(other)));
    }
    let axes = plan.axes.iter().zip(&other.axes);
    if let Some((axis, _)) = axes.clone().find(|(axis, other)| axis != other) {
        return Some(format!("axis {} has other values", axis.name));
    }
    if plan.runs.len() != other.runs.len() {
        let counts = (plan.runs.len(), other.runs.len());
        return Some(format!("{} and {} runs", counts.0, counts.1));
    }
    let mut runs = plan.runs.iter().zip(&other.runs);
    if let Some(at) = runs.position(|(run, other)| run != other) {
        let run = plan.describe(at);
        return Some(format!(
            "run {} ({run}) has another scenario, image or profile",
            at + 1
        ));
    }
    let measures = |plan: &SweepPlan| {
        let measures = plan.measures.iter().cloned();
        let measures = measures.map(|mut measure| {
            measure.place.clear();
            measure
        });
        measures.collect::<Vec<_>>()
    };
    if measures(plan) != measures(other) {
        return Some("other measures".into());
    }
    (plan.plots != other.plots).then(|| "other plots".into())
}
