//! Claims of chapter 5 without a number, judged by measurements.

use lanigon_experiments::grid::Points;
use lanigon_experiments::verdict::{Claim, Judgement, all, list, lists};

use super::{ExecutedOn, HIT, HOWS, SMP, UP, latency, load, lock};

/// Numbers of lockers of a quick run, without the least one.
const SOME: [u16; 4] = [2, 4, 7, 15];

/// Times with these numbers of lockers.
fn times(points: &Points, on: ExecutedOn, cpus: u32) -> Option<Vec<f64>> {
    all(SOME, |lockers| lock(points, on, cpus, lockers))
}

/// Whether a further locker adds less, from two to seven of them, than half of what it adds from there on; with the times.
fn grows_late(points: &Points, on: ExecutedOn) -> Judgement {
    let found = times(points, on, SMP)?;
    let (few, more) = ((found[2] - found[0]) / 5.0, (found[3] - found[2]) / 8.0);
    Some((few < 0.5 * more, list(&found)))
}

pub(super) const CLAIMS: &[Claim<Points>] = &[
    Claim("dissertation-192", |points| {
        let found = all(HOWS, |how| latency(points, how, HIT))?;
        let [no_mutex, direct, mutex, poll, spin, block] = found[..] else {
            return None;
        };
        let fastest = poll.min(spin).min(block);
        let holds = no_mutex < fastest && direct < fastest && mutex > fastest && mutex < block;
        Some((holds, list(&found)))
    }),
    Claim("dissertation-196", |points| {
        let of = |on| Some([times(points, on, SMP)?, times(points, on, UP)?]);
        let (boards, hosts) = (of(ExecutedOn::Boards)?, of(ExecutedOn::Hosts)?);
        let mut pairs = boards[0].iter().zip(&boards[1]);
        let same = pairs.all(|(a, b)| (a / b - 1.0).abs() < 0.02);
        let is_less = |hosts: &Vec<f64>| hosts.iter().zip(&boards[0]).all(|(a, b)| b < a);
        let holds = same && hosts.iter().all(is_less);
        Some((holds, lists(&[boards, hosts].concat())))
    }),
    Claim("dissertation-197", |points| {
        let of = |cpus| times(points, ExecutedOn::Hosts, cpus);
        let (smp, up) = (of(SMP)?, of(UP)?);
        let holds = smp.iter().zip(&up).all(|(smp, up)| smp < up);
        Some((holds, lists(&[smp, up])))
    }),
    Claim("dissertation-198", |points| {
        grows_late(points, ExecutedOn::Boards)
    }),
    Claim("dissertation-199", |points| {
        let (late, text) = grows_late(points, ExecutedOn::Hosts)?;
        Some((!late, text))
    }),
    Claim("dissertation-201", |points| {
        let of = |on| {
            all([0, 400, 50], |pause_us| {
                load(points, on, "iterations", pause_us)
            })
        };
        let (boards, hosts) = (of(ExecutedOn::Boards)?, of(ExecutedOn::Hosts)?);
        let undisturbed = boards
            .iter()
            .all(|count| (count / boards[0] - 1.0).abs() < 0.01);
        let falls = hosts.windows(2).all(|pair| pair[1] < 0.99 * pair[0]);
        Some((undisturbed && falls, lists(&[boards, hosts])))
    }),
];
