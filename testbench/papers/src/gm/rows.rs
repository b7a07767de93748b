//! The published figures beside the measured ones.

use lanigon_experiments::published::Published;
use lanigon_experiments::row::{self, PREDICTED, Row};

use super::{LONG, ProfileResults, SHORT, TABLE};

/// Begin of the names of calibrated profiles; that of the hardware profile follows.
pub(super) const CALIBRATED: &str = "gm-paper-";
/// Latencies for which the clock of such a profile was chosen; that of others was chosen for a barrier.
const LATENCIES: [&str; 2] = ["gm-001", "gm-006"];

/// The costs of the host's library were chosen for the published processor time; calibrated profiles have a clock that was
/// chosen for one published time; nothing else was fitted.
fn role(of: &ProfileResults, figure: &Published) -> &'static str {
    match figure.experiment {
        "host" => "input",
        "latency" if of.profile.starts_with(CALIBRATED) && LATENCIES.contains(&figure.id) => {
            row::CALIBRATED
        }
        _ => PREDICTED,
    }
}

/// The profile of the hardware that a profile is about.
pub(super) fn hardware(of: &ProfileResults) -> &str {
    of.profile.strip_prefix(CALIBRATED).unwrap_or(&of.profile)
}

fn value(of: &ProfileResults, figure: &Published) -> Option<f64> {
    match figure.experiment {
        "latency" => Some(of.point_at(SHORT)?.latency_us),
        "one-way" => Some(of.point_at(LONG)?.one_way),
        "two-way" => Some(of.point_at(LONG)?.two_way),
        "half-power" => of.half_power_bytes(),
        "host" => Some(of.host_us),
        _ => None,
    }
}

/// The published figures for a profile.
#[must_use]
pub fn rows(of: &ProfileResults) -> Vec<Row> {
    let figures = TABLE.numbers().iter();
    let figures = figures.filter(|figure| figure.profile == hardware(of));
    let row = |figure: &Published| {
        let note = match figure.kind {
            "recalled" => "recalled: no document states it",
            _ => "",
        };
        Row {
            profile: of.profile.clone(),
            scheme: figure.scheme,
            testbed: of.image,
            what: format!("{}: {}", figure.experiment, figure.quantity),
            ..Row::new(figure, value(of, figure), role(of, figure), note.into())
        }
    };
    figures.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gm::profiles;

    #[test]
    fn every_line_is_read() {
        assert_eq!(TABLE.numbers().len(), TABLE.text.lines().count() - 1);
        for figure in TABLE.numbers() {
            assert!(profiles().contains(&figure.profile), "{}", figure.id);
        }
    }
}
