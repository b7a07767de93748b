//! The published figures and claims about atomic operations, and what they are here.

use host_lib::gm::atomic::Wait;

use super::super::On;
use super::super::claims::{Claim, all, list, lists};
use super::super::results::Results;
use super::{HIT, How, Kernel, LOCKERS, Load, PAUSES_US, Point, key};
use lanigon_experiments::published::Published;

/// Latency of a compare and swap that hits, in us.
fn latency(results: &Results, how: How) -> Option<f64> {
    let operation = HIT;
    let point = Point::Latency { operation, how };
    results.of(key(how.on(), 2, point))
}

/// Time of acquiring and releasing, in us.
pub(super) fn lock(results: &Results, on: On, kernel: Kernel, lockers: u16) -> Option<f64> {
    let point = Point::Lock { kernel };
    results.of(key(on, lockers, point))
}

/// Ratio of the lock's time on hosts to its time on boards.
pub(super) fn gain(results: &Results, kernel: Kernel, lockers: u16) -> Option<f64> {
    let on = |on| lock(results, on, kernel, lockers);
    Some(on(On::Host)? / on(On::Nic)?)
}

pub(super) fn load(results: &Results, on: On, what: Load, pause_us: u32) -> Option<f64> {
    let point = Point::Load { what, pause_us };
    results.of(key(on, 2, point))
}

/// Busy time of the home's board for a use of the lock, in us: what its utilisation grows by with their rate, between the longest and
/// the shortest pause that were measured.
fn slope(results: &Results, on: On) -> Option<f64> {
    let at = |pause_us| {
        let of = |what| load(results, on, what, pause_us);
        Some((of(Load::Uses)?, of(Load::Busy)?))
    };
    let mut measured = PAUSES_US.into_iter().filter_map(at);
    let first = measured.next()?;
    let last = measured.next_back()?;
    Some(1e6 * (last.1 - first.1) / (last.0 - first.0))
}

/// What a published figure is here.
pub(in super::super) fn measured(figure: &Published, results: &Results) -> Option<f64> {
    let of = |how| latency(results, how);
    let server = |wait| of(How::Server(wait));
    let largest = |kernel| {
        let gains = LOCKERS
            .into_iter()
            .filter_map(|nodes| gain(results, kernel, nodes));
        gains.reduce(f64::max)
    };
    match (figure.experiment, figure.scheme) {
        ("latency", "no-mutex nic") => of(How::NoMutex),
        ("latency", "poll host") => server(Wait::Poll),
        ("latency", "spin-block host") => server(Wait::SpinBlock),
        ("latency", "block host") => server(Wait::Block),
        ("latency", "no-mutex against poll") => Some(server(Wait::Poll)? / of(How::NoMutex)?),
        ("latency", "no-mutex against block") => Some(server(Wait::Block)? / of(How::NoMutex)?),
        ("lock", "up") => largest(Kernel::Up),
        ("lock", "smp") => largest(Kernel::Smp),
        ("load", _) => Some(slope(results, On::Host)? / slope(results, On::Nic)?),
        _ => None,
    }
}

/// Times with these numbers of lockers.
fn times(results: &Results, on: On, kernel: Kernel, lockers: &[u16]) -> Option<Vec<f64>> {
    all(lockers.iter().copied(), |count| {
        lock(results, on, kernel, count)
    })
}

/// Measured points with the largest numbers of lockers of a quick run.
const SOME: [u16; 4] = [2, 4, 7, 15];

/// What chapter 5 says without a number.
pub(in super::super) const CLAIMS: &[Claim<Results>] = &[
    Claim("dissertation-192", |results| {
        let found = all(How::ALL, |(how, _)| latency(results, how))?;
        let [no_mutex, direct, mutex, poll, spin, block] = found[..] else {
            return None;
        };
        let fastest = poll.min(spin).min(block);
        let holds = no_mutex < fastest && direct < fastest && mutex > fastest && mutex < block;
        Some((holds, list(&found)))
    }),
    Claim("dissertation-196", |results| {
        let of = |on, kernel| times(results, on, kernel, &SOME);
        let nic = [of(On::Nic, Kernel::Smp)?, of(On::Nic, Kernel::Up)?];
        let host = [of(On::Host, Kernel::Smp)?, of(On::Host, Kernel::Up)?];
        let same = nic[0]
            .iter()
            .zip(&nic[1])
            .all(|(a, b)| (a / b - 1.0).abs() < 0.02);
        let less = host
            .iter()
            .all(|host| host.iter().zip(&nic[0]).all(|(host, nic)| nic < host));
        Some((same && less, lists(&[nic, host].concat())))
    }),
    Claim("dissertation-197", |results| {
        let smp = times(results, On::Host, Kernel::Smp, &SOME)?;
        let up = times(results, On::Host, Kernel::Up, &SOME)?;
        let holds = smp.iter().zip(&up).all(|(smp, up)| smp < up);
        Some((holds, lists(&[smp, up])))
    }),
    Claim("dissertation-198", |results| {
        let found = times(results, On::Nic, Kernel::Smp, &SOME)?;
        let [two, _, seven, many] = found[..] else {
            return None;
        };
        let (few, more) = ((seven - two) / 5.0, (many - seven) / 8.0);
        Some((few < 0.5 * more, list(&found)))
    }),
    Claim("dissertation-199", |results| {
        let found = times(results, On::Host, Kernel::Smp, &SOME)?;
        let [two, _, seven, many] = found[..] else {
            return None;
        };
        let (few, more) = ((seven - two) / 5.0, (many - seven) / 8.0);
        Some((few >= 0.5 * more, list(&found)))
    }),
    Claim("dissertation-201", |results| {
        let of = |on| {
            all([0, 400, 50], |pause| {
                load(results, on, Load::Iterations, pause)
            })
        };
        let (nic, host) = (of(On::Nic)?, of(On::Host)?);
        let undisturbed = nic.iter().all(|count| (count / nic[0] - 1.0).abs() < 0.01);
        let falls = host.windows(2).all(|pair| pair[1] < 0.99 * pair[0]);
        Some((undisturbed && falls, lists(&[nic, host])))
    }),
];
