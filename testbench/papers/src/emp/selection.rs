//! Selection of published numbers, claims and figures, and the tasks that they need.

use std::collections::BTreeSet;

use super::answers::{self, answer};
use super::{LARGE, QUICK_SIZES, SMALL, Task};
use crate::emp::measure::netpipe::Stack;
use crate::emp::measure::scheme::Scheme;
use crate::emp::published;

/// Selected numbers, claims and figures.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Published numbers.
    pub numbers: Vec<&'static str>,
    /// Claims.
    pub claims: Vec<&'static str>,
    /// Numbers of the figures to draw.
    pub figures: Vec<String>,
    /// Tasks that they need.
    pub tasks: BTreeSet<Task>,
}

/// Tables of the thesis that can be selected by number.
const TABLES: [&str; 3] = ["table 3.1", "table 3.2", "table 3.3"];

impl Selection {
    /// Selects everything, with curves of these sizes.
    #[must_use]
    pub fn whole(sizes: &[u32]) -> Self {
        let mut whole = Self::points(sizes);
        whole
            .tasks
            .extend(Scheme::ALL.into_iter().flat_map(Task::explanation));
        whole.tasks.extend(Task::others());
        whole.tasks.extend(Stack::ALL.map(Task::NetPipe));
        whole.numbers = answered().collect();
        for id in &whole.numbers {
            whole.tasks.extend(needs(id, sizes));
        }
        whole.claims = published::claims().map(|(id, _)| id).collect();
        whole
    }

    /// Selects every experiment with these sizes, and the published numbers that they answer.
    #[must_use]
    pub fn sizes(sizes: &[u32]) -> Self {
        let mut selection = Self::points(sizes);
        let enough = |id: &&str| {
            // The highest value of a curve needs a sufficient number of points.
            let needs = needs(id, QUICK_SIZES);
            !needs.is_empty() && needs.iter().all(|task| selection.tasks.contains(task))
        };
        selection.numbers = answered().filter(enough).collect();
        selection
    }

    fn points(sizes: &[u32]) -> Self {
        Self::drawn(sizes, &|_| true)
    }

    /// Selects figures by their numbers.
    fn drawn(sizes: &[u32], wanted: &dyn Fn(&str) -> bool) -> Self {
        // Each has a curve with small messages.
        let (figures, _) = answers::figures(&[SMALL], wanted);
        let (_, tasks) = answers::figures(sizes, wanted);
        Self {
            tasks: tasks.into_iter().collect(),
            figures,
            ..Self::default()
        }
    }

    /// Selects a figure or table by number, or a published number or claim by id.
    #[must_use]
    pub fn by_id(id: &str, sizes: &[u32]) -> Option<Self> {
        let mut selection = Self::default();
        let table = id.replace('-', " ");
        // "figure-3.5" and "fig3.5" are accepted too.
        let number = id.strip_prefix("figure").or_else(|| id.strip_prefix("fig"));
        let number = number.unwrap_or(id).trim_start_matches(['-', ' ']);
        let drawn = Self::drawn(sizes, &|known| known == number);
        if !drawn.figures.is_empty() {
            selection = drawn;
        } else if TABLES.contains(&table.as_str()) {
            let numbers = published::TABLE
                .numbers()
                .iter()
                .filter(|number| number.section == table);
            selection.numbers = numbers.map(|number| number.id).collect();
        } else if let Some(id) = answered().find(|known| *known == id) {
            selection.numbers = vec![id];
        } else {
            let (claim, _) = published::claims().find(|(known, _)| *known == id)?;
            selection = Self::whole(sizes);
            selection.numbers.clear();
            selection.figures.clear();
            selection.claims = vec![claim];
            return Some(selection);
        }
        for id in &selection.numbers {
            selection.tasks.extend(needs(id, sizes));
        }
        // The thesis's latency includes its ledger.
        if let Some(Task::Point(key)) = selection.tasks.first()
            && selection.tasks.len() == 1
            && key.size == SMALL
        {
            selection.tasks.insert(Task::Ledger(key.scheme, SMALL));
        }
        Some(selection)
    }

    /// Selects the explanation of a scheme.
    #[must_use]
    pub fn explanation(scheme: Scheme) -> Self {
        Self {
            tasks: Task::explanation(scheme).collect(),
            ..Self::default()
        }
    }

    /// All known ids, for an error message.
    #[must_use]
    pub fn known() -> String {
        let (figures, _) = answers::figures(&[SMALL], &|_| true);
        let claims: Vec<_> = published::claims().map(|(id, _)| id).collect();
        let is_point = |task: &Task| matches!(task, Task::Point(_));
        let numbers: Vec<_> = answered()
            .filter(|id| needs(id, &[LARGE]).iter().any(is_point))
            .collect();
        format!(
            "figures {}; {}; numbers {}; claims {}",
            figures.join(", "),
            TABLES.join(", "),
            numbers.join(", "),
            claims.join(", ")
        )
    }
}

/// Ids of all published numbers with an answer, including "not modelled".
fn answered() -> impl Iterator<Item = &'static str> {
    let numbers = published::TABLE.numbers().iter();
    numbers
        .filter(|number| answer(number).is_some())
        .map(|number| number.id)
}

/// Tasks needed for a published number.
fn needs(id: &str, sizes: &[u32]) -> Vec<Task> {
    let answer = published::TABLE.get(id).and_then(answer);
    answer.map_or_else(Vec::new, |answer| answer.needs(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emp::SIZES;
    use crate::emp::key::{Experiment, Key};
    use crate::emp::measure::testbed::Testbed;
    use crate::emp::published::PARAMETER;

    #[test]
    fn every_measured_or_derived_number_is_accounted_for() {
        let whole = Selection::whole(SIZES);
        for number in published::TABLE.numbers() {
            let asked = whole.numbers.contains(&number.id);
            assert_eq!(asked, number.kind != PARAMETER, "{}", number.id);
        }
    }

    #[test]
    fn a_quick_run_measures_all_that_numbers_need() {
        for sizes in [SIZES, QUICK_SIZES] {
            let points = Selection::points(sizes);
            for id in answered() {
                for task in needs(id, sizes) {
                    let apart = match task {
                        Task::Point(key) => key.experiment.is_other(),
                        _ => true,
                    };
                    let there = apart || points.tasks.contains(&task);
                    assert!(there, "{id}: {task:?}");
                }
            }
        }
    }

    #[test]
    fn every_experiment_testbed_and_scheme_is_in_a_figure() {
        let tasks = Selection::points(&[10]).tasks;
        let has = |testbed, key: Key| {
            let key = Key { testbed, ..key };
            assert!(tasks.contains(&Task::Point(key)), "{key}");
        };
        for scheme in Scheme::ALL {
            for experiment in Experiment::OWN {
                for testbed in [Testbed::Direct933, Testbed::Switch700] {
                    has(testbed, Key::new(experiment, scheme, 10));
                }
            }
            let two_way = Key::new(Experiment::TwoWay, scheme, 10);
            has(Testbed::Direct700, two_way);
        }
        let controlled = |task: &&Task| matches!(task, Task::Point(key) if key.flow_control);
        assert_eq!(tasks.iter().filter(controlled).count(), 2);
    }

    #[test]
    fn one_thing_at_a_time() {
        let counts = |id| {
            let selection = Selection::by_id(id, &[4, 10])?;
            Some((selection.numbers.len(), selection.tasks.len()))
        };
        assert_eq!(counts("emp-004"), Some((1, 2)));
        assert_eq!(counts("emp-010"), Some((1, 2)));
        for id in ["3.1", "figure-3.1", "fig3.1"] {
            assert_eq!(counts(id), Some((0, 10)), "{id}");
        }
        assert_eq!(counts("3.8"), None);
        let long = Selection::by_id("3.3", &[LARGE]);
        assert_eq!(long.map(|one| one.tasks.len()), Some(0));
        assert_eq!(counts("figure"), None);
        assert_eq!(counts("table-3.1"), Some((6, 1)));
        assert_eq!(counts("emp-074"), Some((1, 2)));
        assert_eq!(counts("emp-none"), None);
        assert_eq!(counts(""), None);
        assert_eq!(
            Selection::by_id("emp-178", &[10]).map(|one| one.claims),
            Some(vec!["emp-178"])
        );
    }
}
