//! The published figures beside the measured ones.

use super::PROFILE;
use super::primitives::Primitives;
use super::results::{APPLICATIONS, LARGE, PAPERS, Results, SMALL};
use lanigon_experiments::published::Published;

/// The figures on which the profile is calibrated, and those which it takes over as costs.
pub(super) const CALIBRATED_ON: [&str; 9] = [
    "ardmar-003",
    "ardmar-012",
    "ardmar-014",
    "ardmar-015",
    "ardmar-016",
    "ardmar-017",
    "ardmar-022",
    "ardmar-023b",
    "ardmar-057",
];

/// The application that a figure names.
fn application(figure: &Published) -> Option<&'static str> {
    let found = APPLICATIONS.iter().find(|(_, name)| *name == figure.scheme);
    found.map(|(program, _)| *program)
}

/// The size of the paper's run.
fn size(figure: &Published) -> &'static str {
    match figure.quantity.starts_with("small") {
        true => SMALL,
        false => LARGE,
    }
}

/// Difference of the measurement from the publication's.
pub(super) fn note(figure: &Published, results: &Results) -> &'static str {
    match (figure.id, figure.experiment) {
        ("ardmar-004", _) => "printed in GB/s, which the link does not have; messages of 64 KB",
        ("ardmar-023", _) => "the paper leaves out all but posts; here until the page is there",
        ("ardmar-026", _) => "23 + 36.39 is 59.39",
        (_, "gain") if results.most() < figure.nodes => {
            "a reduced size on 8 nodes; without --quick the paper's on 16"
        }
        (_, "gain") if results.nearest(size(figure)) != size(figure) => {
            "the small size; --full has the large one"
        }
        _ => "",
    }
}

/// The own value for a figure.
pub(super) fn value(figure: &Published, results: &Results) -> Option<f64> {
    match figure.experiment {
        "primitive" => primitive(results.primitives(PROFILE)?, figure.scheme),
        "fetch" => results.fetch_us(PAPERS, figure.nodes, figure.scheme == "ardmar"),
        "fetch posts" => {
            let found = results.primitives(PROFILE)?;
            let posts = found.immediate_post_us + found.page_post_us + found.short_post_us;
            Some(posts + found.receive_us)
        }
        "fetch sum" => {
            let found = results.primitives(PROFILE)?;
            Some(found.remote_atomic_us + found.read_us)
        }
        "gain" => {
            let nodes = figure.nodes.min(results.most());
            let size = results.nearest(size(figure));
            results.gain((PAPERS, application(figure)?, size, nodes))
        }
        "fault" => {
            let run = (PAPERS, "Pages", results.pages(), 2);
            let mean = |of| results.mean(run, false, of);
            let faults = mean("faults").filter(|faults| *faults > 0.0)?;
            Some(mean("fault_us")? / faults)
        }
        _ => None,
    }
}

fn primitive(found: &Primitives, scheme: &str) -> Option<f64> {
    Some(match scheme {
        "message" => found.message_us,
        "bandwidth" => found.bandwidth_gbps,
        "remote atomic" => found.remote_atomic_us,
        "local atomic" => found.local_atomic_us,
        "read" => found.read_us,
        "page post" => found.page_post_us,
        "short post" => found.short_post_us,
        "immediate post" => found.immediate_post_us,
        "receive" => found.receive_us,
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use lanigon_experiments::execute::MeasuredPoints;
    use lanigon_experiments::experiment::Experiment;
    use lanigon_experiments::grid::{AxisValue, Grid};
    use lanigon_experiments::paper::{Amount, ResultRequest};
    use lanigon_experiments::row::Row;
    use lanigon_experiments::verdict::JudgedClaim;

    use super::super::{Ardmar, FILE, Measured, Measurement, PAPER};
    use super::*;

    fn rows(results: &Results) -> Vec<Row> {
        let paper = Ardmar::new(&PAPER, &ResultRequest::default()).unwrap();
        paper.rows(&PAPER, results)
    }

    pub(in super::super) fn judge(results: &Results) -> Vec<JudgedClaim> {
        let paper = Ardmar::new(&PAPER, &ResultRequest::default()).unwrap();
        paper.claims(results)
    }

    /// Results in which a run without handlers takes `ardmar` times as long for each part, and parts become shorter with more nodes.
    pub(in super::super) fn results(amount: Amount, ardmar: f64) -> Results {
        let request = ResultRequest {
            amount,
            ..ResultRequest::default()
        };
        let paper = Ardmar::new(&PAPER, &request).unwrap();
        let measured = |measurement: Measurement| {
            let measured = match &measurement {
                Measurement::Primitives(_) => Measured::Primitives(Primitives::default()),
                Measurement::Run(key) => {
                    let factor = if key[4] == AxisValue::Flag(true) {
                        ardmar
                    } else {
                        1.0
                    };
                    let AxisValue::Count(nodes) = key[3] else {
                        panic!("{key:?}");
                    };
                    let part = factor * 1000.0 / nodes as f64;
                    // In the order of the file's measures.
                    let means = [
                        5.0 * part,
                        0.0,
                        part,
                        part,
                        0.0,
                        0.0,
                        66.0,
                        10.0,
                        10.0,
                        0.0,
                        0.0,
                    ];
                    Measured::Run(means.map(|mean| vec![mean]).into())
                }
            };
            (measurement, measured)
        };
        let points = paper.keys().into_iter().map(measured).collect();
        let partial = false;
        paper.results(MeasuredPoints { points, partial })
    }

    #[test]
    fn every_program_is_a_scenario() {
        for amount in [Amount::Quick, Amount::Usual, Amount::Full] {
            let request = ResultRequest {
                amount,
                ..ResultRequest::default()
            };
            Grid::new(FILE, &request).unwrap().check().unwrap();
        }
    }

    #[test]
    fn every_figure_has_an_answer_in_all_amounts() {
        for amount in [Amount::Quick, Amount::Usual, Amount::Full] {
            for row in rows(&results(amount, 0.5)) {
                assert!(row.measured.is_some(), "{row:?}");
            }
            for judged in judge(&results(amount, 0.5)) {
                assert!(
                    judged.holds.is_some() && !judged.claim.is_empty(),
                    "{judged:?}"
                );
            }
        }
        for row in rows(&Results::default()) {
            assert_eq!((row.measured, row.role), (None, "not measured"));
        }
    }

    #[test]
    fn a_gain_is_async_against_ardmar() {
        let all = rows(&results(Amount::Full, 0.5));
        let gains = all.iter().filter(|row| row.unit == "x");
        let gains: Vec<_> = gains.filter_map(|row| row.measured).collect();
        assert_eq!(gains, [2.0; 6]);
        let fault = all.iter().find(|row| row.id == Some("ardmar-057"));
        assert_eq!(fault.and_then(|row| row.measured), Some(6.6));
    }
}
