//! The files that a scenario refers to: timing profiles, and identities of everything that determines a run.

use std::fmt::Write;
use std::fs;

use emulator::profile::{Entry, Profile};

use super::images::Images;
use crate::replay::Replays;
use crate::scenario::programs::ProgramSpec;
use crate::scenario::{Node, Scenario, ScenarioError, unknown};

/// The profile of a node, with the scenario's own costs.
///
/// # Errors
/// If the profile or a cost is invalid; with the position in the scenario.
pub(super) fn profile(scenario: &Scenario, node: &Node) -> Result<Profile, ScenarioError> {
    let name = &node.profile;
    let file = scenario.folder.join(&name.name).display().to_string();
    let path = if name.is_file() { &file } else { &name.name };
    let mut profile =
        crate::profile::load(path).map_err(|error| name.place.refuse(format!("{error:#}")))?;
    // One at a time, so that an error has the position of its cost.
    for cost in &node.costs {
        if !profile.names().any(|known| known == cost.entry) {
            let names: Vec<String> = profile.names().collect();
            let names = names.iter().map(String::as_str);
            let what = format!("entry of profile {}", name.name);
            return Err(cost.place.refuse(unknown(&what, &cost.entry, names)));
        }
        let changed = profile.with_values([(cost.entry.as_str(), cost.value)]);
        profile = changed.map_err(|error| cost.place.refuse(error.to_string()))?;
    }
    Ok(profile)
}

/// Reads everything that a scenario refers to, and describes it in a text that is equal for equal inputs: the images'
/// identities, and each cost of each node's profile. No calibration is run.
///
/// # Errors
/// If an image or a profile is invalid; with the position in the scenario.
pub fn describe(scenario: &Scenario) -> Result<String, ScenarioError> {
    let images = Images::read(scenario)?;
    let mut text = images.identity();
    let mut known: Vec<(&Node, usize)> = Vec::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        let same = |(other, _): &&(&Node, usize)| {
            (&other.profile.name, &other.costs, other.board.name)
                == (&node.profile.name, &node.costs, node.board.name)
        };
        // Writing to a string cannot fail.
        if let Some((_, first)) = known.iter().find(same) {
            let _ = write!(text, "\nnode {index} as {first}");
        } else {
            let profile = profile(scenario, node)?;
            let fits = profile.for_board(node.board.name);
            fits.map_err(|error| node.profile.place.refuse(error.to_string()))?;
            let _ = write!(text, "\nnode {index} {}", profile.board());
            entries(&mut text, "", profile.entries.iter());
            entries(&mut text, "stages.", profile.stages.iter());
            known.push((node, index));
        }
        let _ = write!(text, " image {}", images.index_of(index));
    }
    for checksum in Replays::read(scenario)?.checksums() {
        let _ = write!(text, "\nreplay {checksum:08x}");
    }
    Ok(text)
}

/// Describes the files of a scenario's workloads in a text that is equal for equal files, and empty without any.
#[must_use]
pub fn describe_files(scenario: &Scenario) -> String {
    let workloads = scenario.programs.iter().filter_map(ProgramSpec::workload);
    let mut text = String::new();
    for path in workloads.flat_map(|workload| workload.files(scenario)) {
        let checksum = fs::read(&path).map_or(0, |bytes| crc32fast::hash(&bytes));
        // Writing to a string cannot fail.
        let _ = write!(text, "\nfile {checksum:08x}");
    }
    text
}

fn entries<'e>(
    text: &mut String,
    group: &str,
    entries: impl Iterator<Item = (&'e String, &'e Entry)>,
) {
    for (name, entry) in entries {
        let _ = write!(text, " {group}{name}={}{}", entry.value, entry.unit);
    }
}
