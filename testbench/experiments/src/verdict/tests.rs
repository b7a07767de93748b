//! Verdicts of synthetic samples.

use super::*;

/// Means of 16 rounds.
#[derive(Debug, Clone)]
struct Means(Vec<Estimate>);

impl Sample for Means {
    fn means(&mut self) -> Vec<&mut Estimate> {
        self.0.iter_mut().collect()
    }

    fn name(&self, place: usize) -> String {
        format!("mean {place}")
    }
}

const LIMITS: Limits = Limits {
    run: 60,
    full: 1_000,
};

/// By how many percent the first mean is above the second.
fn gain(Means(means): &Means) -> f64 {
    100.0 * (means[0].value / means[1].value - 1.0)
}

/// Judges that the gain is between these percentages.
fn judged(means: &[(f64, f64)], least: f64, most: f64) -> JudgedClaim {
    let mean = |&(value, half): &(f64, f64)| Estimate {
        value,
        rounds: 16,
        interval: Some(half),
    };
    let sample = Means(means.iter().map(mean).collect());
    let judge = |means: &Means| Ok(((least..=most).contains(&gain(means)), "numbers".into()));
    judge_one(&sample, judge)
}

fn judge_one(sample: &Means, claim: impl Fn(&Means) -> Verdict) -> JudgedClaim {
    let mut all = judge(
        sample,
        LIMITS,
        [("id".to_owned(), "claim".to_owned(), claim)],
    );
    all.remove(0)
}

#[track_caller]
fn check(means: &[(f64, f64)], [least, most]: [f64; 2], verdict: &str) {
    let found = judged(means, least, most);
    assert_eq!(found.verdict, verdict, "{found:?}");
    assert_eq!(word(found.holds), verdict);
    assert!(found.evidence.starts_with("numbers"), "{found:?}");
}

#[test]
fn a_verdict_stands_where_no_interval_reaches_the_bound() {
    check(&[(110.0, 1.0), (100.0, 1.0)], [5.0, f64::INFINITY], "holds");
    check(&[(102.0, 1.0), (100.0, 1.0)], [5.0, f64::INFINITY], "fails");
    check(&[(107.0, 1.5), (100.0, 1.5)], [5.0, f64::INFINITY], "open");
    check(&[(104.0, 1.5), (100.0, 1.5)], [5.0, f64::INFINITY], "open");
    // Without variation the mean itself decides, however near.
    check(&[(105.1, 0.0), (100.0, 0.0)], [5.0, f64::INFINITY], "holds");
}

#[test]
fn an_interval_that_is_wider_than_the_tolerance_carries_nothing() {
    // "Within 2 %", and a mean of 902 Mb/s that is known to 65.
    check(&[(921.0, 24.0), (902.0, 65.0)], [-2.0, 2.0], "open");
    check(&[(902.0, 0.0), (902.0, 65.0)], [-2.0, 2.0], "open");
    // Both ends of the interval are outside of the tolerance, and the middle is not.
    check(&[(904.0, 60.0), (876.0, 0.0)], [-2.0, 2.0], "open");
    check(&[(902.0, 5.0), (902.0, 5.0)], [-2.0, 2.0], "holds");
}

#[test]
fn an_open_claim_names_its_means_and_the_rounds_that_would_do() {
    // The bound is at a third of the half width: nine times the rounds, and a little more for both ends of a step.
    let one = judged(&[(103.0, 3.0), (100.0, 0.0)], 2.0, 9.0);
    let rounds = one.rounds_needed.unwrap();
    assert!((16 * 9..16 * 9 * 2).contains(&rounds), "{one:?}");
    let expected = format!(
        "numbers; open: intervals too wide (mean 0: 103.00 ± 3.00, 16 rounds); about {rounds} rounds would do, more than the 60 of this run"
    );
    assert_eq!(one.evidence, expected);
    // Few more rounds would do, which this run may have.
    let near = judged(&[(103.0, 1.2), (100.0, 0.0)], 2.0, 9.0);
    assert!(near.rounds_needed.unwrap() <= 60, "{near:?}");
    assert!(near.evidence.ends_with("rounds would do"), "{near:?}");
    let never = judged(&[(103.0, 3.0), (100.0, 0.0)], 2.99, 9.0);
    assert_eq!((never.verdict, never.rounds_needed), ("open", None));
    let expected = "not even the 1000 rounds of --full would do";
    assert!(never.evidence.ends_with(expected), "{never:?}");
    // No mean decides alone, but both together.
    let both = judged(&[(103.0, 0.6), (100.0, 0.6)], 2.0, 9.0);
    assert_eq!(both.verdict, "open");
    assert!(both.evidence.contains("too wide; about"), "{both:?}");
}

#[test]
fn a_claim_without_numbers_is_open() {
    let found = judge_one(&Means(Vec::new()), |_| Err("nothing was measured".into()));
    assert_eq!((found.verdict, found.holds), ("open", None));
    assert_eq!(found.evidence, "nothing was measured");
}

#[test]
fn a_mean_without_an_interval_is_taken_as_it_is() {
    let sample = Means([5.1, 5.0].map(Estimate::single).into());
    let higher = |Means(means): &Means| Ok((means[0].value > means[1].value, String::new()));
    assert_eq!(judge_one(&sample, higher).verdict, "holds");
}

#[test]
fn bounds_follow_the_same_rule() {
    let at = |half| {
        let mean = Estimate {
            value: 5.2,
            rounds: 16,
            interval: Some(half),
        };
        let met = |Means(means): &Means| Some(means[0].value >= 5.0);
        bound(&Means(vec![mean]), LIMITS, met)
    };
    assert_eq!(at(0.1), Ok(Some(true)));
    let why = at(0.4).unwrap_err();
    assert!(why.contains("mean 0: 5.20 ± 0.40"), "{why}");
}

#[test]
fn totals_count_all() {
    let mut all = vec![judged(&[(110.0, 1.0), (100.0, 1.0)], 5.0, 20.0); 3];
    all[1].holds = Some(false);
    all[2].holds = None;
    assert_eq!(
        Totals::count(&all).to_string(),
        "3 claims: 1 hold, 1 fail, 1 are open"
    );
}
