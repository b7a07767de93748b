//! Claims about barriers of message passing.

use super::super::ExecutedOn;
use super::super::key::{FINE_NS, L4, L7, Metric, NODES, VARIED_US};
use super::super::results::Results;
use super::super::rows::{flat_us, mpi_adds};
use super::{Claim, all, falls, list, rises};

pub(super) const CLAIMS: &[Claim<Results>] = &[
    Claim("dissertation-084", |results| {
        let adds = all(NODES, |nodes| mpi_adds(results, L4, nodes))?;
        let (first, last) = (adds.first()?, adds.last()?);
        let holds = first < last && last - first < 3.0;
        Some((holds, list(&adds)))
    }),
    Claim("dissertation-091", |results| {
        let old = all(NODES, |nodes| results.gain(L4, nodes, Metric::Mpi))?;
        let new = all([2, 4, 8], |nodes| results.gain(L7, nodes, Metric::Mpi))?;
        let text = format!("LANai 4: {}; LANai 7: {}", list(&old), list(&new));
        Some((rises(&old) && rises(&new), text))
    }),
    Claim("dissertation-092", |results| {
        let times = all([8, 7], |nodes| {
            results.at(L4, ExecutedOn::Nic, nodes, Metric::Mpi)
        })?;
        Some((rises(&times), list(&times)))
    }),
    Claim("dissertation-096", |results| {
        let flat = [
            flat_us(results, L7, ExecutedOn::Host)?,
            flat_us(results, L4, ExecutedOn::Host)?,
        ];
        Some((rises(&flat), format!("up to {} us", list(&flat))))
    }),
    Claim("dissertation-098", |results| {
        let time = |compute_ns| results.at(L4, ExecutedOn::Nic, 8, Metric::looped(compute_ns, 0));
        let grown = time(FINE_NS[2])? - time(FINE_NS[0])?;
        let added = (FINE_NS[2] - FINE_NS[0]) as f64 / 1e3;
        Some((
            grown > added / 2.0,
            format!("{grown:.2} us of {added:.2} us"),
        ))
    }),
    Claim("dissertation-116", |results| {
        let gap = |us: u64, percent| {
            let what = Metric::looped(us * 1_000, percent);
            let on = |on| results.at(L4, on, 16, what);
            Some(on(ExecutedOn::Host)? - on(ExecutedOn::Nic)?)
        };
        let even = all(VARIED_US, |us| gap(us, 0))?;
        let varied = all(VARIED_US, |us| gap(us, 20))?;
        let most = even.iter().copied().fold(0.0, f64::max);
        let flat = even.iter().all(|gap| *gap > 0.9 * most);
        let shrinks = falls(&varied);
        let faster = varied.iter().all(|gap| *gap > 0.0);
        let text = format!("gap at 0 %: {}; at 20 %: {} us", list(&even), list(&varied));
        Some((flat && shrinks && faster, text))
    }),
];
