//! The published figures beside the measured ones.

use lanigon_experiments::published::Published;

use super::{INSIDE, MOST_US, TOTAL, Time, gain};

/// Own value for a published figure.
pub(super) fn value(figure: &Published, time: Time<'_>) -> Option<f64> {
    let nodes = figure.nodes;
    match figure.experiment {
        "inside" => gain(time, nodes, MOST_US, INSIDE),
        "total" | "skew" => gain(time, nodes, MOST_US, TOTAL),
        "no skew" => gain(time, nodes, 0, TOTAL),
        "handlers" => {
            let of = |mean| time(true, nodes, MOST_US, mean);
            Some(of(TOTAL)? - of(INSIDE)?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::grid::{PointKey, PointValues};
    use lanigon_experiments::scenarios;

    use super::super::{BROADCAST, Broadcast, REDUCTION, Reduction};

    /// With bypass, the last axis, an operation takes half of the time.
    fn point(key: &PointKey) -> PointValues {
        let us = match key.last() == Some(&true.into()) {
            true => 50.0,
            false => 100.0,
        };
        vec![vec![us], vec![us + 5.0]]
    }

    #[test]
    fn every_figure_and_claim_has_an_answer_in_each_amount() {
        scenarios::check::<Broadcast>(&BROADCAST, point);
        scenarios::check::<Reduction>(&REDUCTION, point);
    }
}
