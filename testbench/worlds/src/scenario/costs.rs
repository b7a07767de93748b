//! `[costs]`: values that replace entries of the timing profile.

use super::error::{Position, ScenarioError};
use super::table::{Item, Table};

/// Largest value of a cost; the profile's own limits are narrower.
const LARGEST: f64 = 1e15;

/// A value in place of that of a profile's entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The entry, as `group.name`, or `stages.name` for the duration of a stage.
    pub entry: String,
    /// The value, in the entry's unit.
    pub value: f64,
    /// Position in the scenario.
    pub place: Position,
}

/// Reads a `[costs]` table over the costs of the enclosing table. Entries are nested tables (`[costs.core]`) or
/// names with a dot in quotes.
pub(super) fn read(outer: &[Cost], table: Option<Table<'_>>) -> Result<Vec<Cost>, ScenarioError> {
    let mut costs = outer.to_vec();
    for (name, item) in table.iter().flat_map(Table::entries) {
        match item.table() {
            Ok(group) => {
                for (member, item) in group.entries() {
                    add(&mut costs, format!("{name}.{member}"), &item)?;
                }
            }
            Err(_) => add(&mut costs, name, &item)?,
        }
    }
    Ok(costs)
}

fn add(costs: &mut Vec<Cost>, entry: String, item: &Item<'_>) -> Result<(), ScenarioError> {
    let value = item.number(0.0..=LARGEST)?;
    costs.retain(|cost| cost.entry != entry);
    costs.push(Cost {
        entry,
        value,
        place: item.place.clone(),
    });
    Ok(())
}
