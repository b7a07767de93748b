//! The thesis's claims in words, judged by measurements.

mod base;
mod one_way;
mod other;
mod two_way;

use super::Selection;
use super::key::{Experiment, Key};
use super::results::{ProfileResults, Results};
use super::rows::{why_missing, why_other_is_missing, why_tcp_is_missing};
use crate::emp::measure::passing::System;
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::testbed::Testbed;
use crate::emp::measure::usage::{Directions, Usage};
use crate::emp::published;
use lanigon_experiments::verdict::{self, JudgedClaim, Verdict};

/// A claim of the thesis without a number (`data/published-emp-claims.csv`).
#[derive(Debug, Clone, Copy)]
pub struct ThesisClaim(
    /// Id.
    pub &'static str,
    /// Interpretation: sizes, and thresholds for words such as "about".
    pub &'static str,
    fn(&View<'_>) -> Verdict,
);

impl ThesisClaim {
    /// The claim, with its interpretation in brackets.
    #[must_use]
    pub fn text(&self) -> String {
        let statement = published::claim(self.0).unwrap_or_default();
        match self.1 {
            "" => statement.to_owned(),
            taken => format!("{statement} [{taken}]"),
        }
    }
}

/// All claims, in the order of the thesis.
#[must_use]
pub fn all() -> Vec<ThesisClaim> {
    let lists = [
        base::CLAIMS,
        one_way::CLAIMS,
        two_way::CLAIMS,
        other::CLAIMS,
    ];
    let mut claims = lists.concat();
    claims.sort_by_key(|claim| claim.0);
    claims
}

/// Judges the selected claims.
#[must_use]
pub fn judge(results: &Results, selection: &Selection) -> Vec<JudgedClaim> {
    let Some(profile) = results.judged() else {
        return Vec::new();
    };
    let asked = all()
        .into_iter()
        .filter(|claim| selection.claims.contains(&claim.0));
    let asked = asked.map(|claim| {
        let judge = move |profile: &ProfileResults| claim.2(&View { results, profile });
        (claim.0, claim.text(), judge)
    });
    verdict::judge(profile, results.limits, asked)
}

/// Measurements for the judgement of a claim.
struct View<'a> {
    results: &'a Results,
    profile: &'a ProfileResults,
}

impl<'a> View<'a> {
    fn value(&self, key: Key) -> Result<f64, String> {
        self.profile.value(key).ok_or_else(|| {
            let missing = self.results.missing.contains(&key.scheme);
            let why = if missing || self.results.partial {
                why_missing(self.results, Some(key.scheme))
            } else {
                format!(
                    "no {} of {} bytes in this run",
                    key.experiment.name(),
                    key.size
                )
            };
            format!("not measured: {why}")
        })
    }

    /// Values of these schemes at one point.
    fn values(&self, key: Key, schemes: &[Scheme]) -> Result<Vec<(Scheme, f64)>, String> {
        let values = schemes
            .iter()
            .map(|&scheme| Ok((scheme, self.value(key.with_scheme(scheme))?)));
        values.collect()
    }

    /// Latency of another system.
    fn other(&self, system: System, size: u32) -> Result<f64, String> {
        let missing = || format!("not measured: {}", why_other_is_missing(self.results));
        self.profile.other(system, size).ok_or_else(missing)
    }

    /// Latency of TCP, with time of the hosts' processors.
    fn tcp_latency(&self, size: u32) -> Result<f64, String> {
        let tcp = self.profile.tcp.get(&true);
        let found = tcp.and_then(|tcp| tcp.latencies.get(&size).copied());
        found.ok_or_else(|| format!("not measured: {}", why_tcp_is_missing(self.results)))
    }

    /// Latency, one-way and two-way bandwidth on the first testbed.
    fn latency(&self, scheme: Scheme, size: u32) -> Result<f64, String> {
        self.value(Key::new(Experiment::Latency, scheme, size))
    }

    fn usage(&self, scheme: Scheme, flow: Directions) -> Result<&'a Usage, String> {
        let usage = self
            .profile
            .schemes
            .get(&scheme)
            .and_then(|scheme| scheme.usage(flow));
        usage.ok_or_else(|| format!("not measured: {}", why_missing(self.results, Some(scheme))))
    }
}

/// Increase of `a` over `b`, in percent.
fn above(a: f64, b: f64) -> f64 {
    100.0 * (a / b - 1.0)
}

/// Formats "base 870.1, SO 880.2 Mb/s".
fn list(values: &[(Scheme, f64)], unit: &str) -> String {
    let words: Vec<_> = values
        .iter()
        .map(|(scheme, value)| format!("{} {value:.1}", scheme.title()))
        .collect();
    format!("{} {unit}", words.join(", "))
}

/// The value of a scheme in a list.
fn value_of(values: &[(Scheme, f64)], scheme: Scheme) -> f64 {
    let found = values.iter().find(|(known, _)| *known == scheme);
    found.map_or(f64::NAN, |(_, value)| *value)
}

/// Highest value of the other schemes.
fn best_but(values: &[(Scheme, f64)], scheme: Scheme) -> f64 {
    let others = values.iter().filter(|(known, _)| *known != scheme);
    others
        .map(|(_, value)| *value)
        .fold(f64::NEG_INFINITY, f64::max)
}

/// Lowest value of the other schemes.
fn worst_but(values: &[(Scheme, f64)], scheme: Scheme) -> f64 {
    let others = values.iter().filter(|(known, _)| *known != scheme);
    others
        .map(|(_, value)| *value)
        .fold(f64::INFINITY, f64::min)
}

/// A point on the second testbed.
const fn switched(experiment: Experiment, scheme: Scheme, size: u32) -> Key {
    Key::new(experiment, scheme, size).with_testbed(Testbed::Switch700)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique() {
        let claims = all();
        let ids: BTreeSet<_> = claims.iter().map(|claim| claim.0).collect();
        assert_eq!(ids.len(), claims.len());
    }

    #[test]
    fn every_published_claim_is_judged() {
        let judged: Vec<_> = all().iter().map(|claim| claim.0).collect();
        let published: Vec<_> = published::claims().map(|(id, _)| id).collect();
        assert_eq!(judged, published);
    }

    #[test]
    fn orders_of_schemes() {
        let values = [(Scheme::Base, 1.0), (Scheme::So, 3.0), (Scheme::Ro, 2.0)];
        assert_eq!(value_of(&values, Scheme::So), 3.0);
        assert_eq!(best_but(&values, Scheme::So), 2.0);
        assert_eq!(worst_but(&values, Scheme::Base), 2.0);
        assert_eq!(list(&values[..2], "us"), "base 1.0, SO 3.0 us");
        assert!((above(1.1, 1.0) - 10.0).abs() < 1e-9);
    }
}
