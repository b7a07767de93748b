//! Results of a program with a collective operation.

use super::ExecutedOn;
use lanigon_worlds::workload::{Outcome, grouped};

use super::Round;

/// Results of a program, over all its members.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CollectiveUse {
    /// Name of the program.
    pub program: String,
    /// Executor of the operation: `host` or `nic`.
    pub on: &'static str,
    /// Number of members.
    pub members: usize,
    /// Rounds that all members have completed.
    pub rounds: usize,
    /// Time from the last arrival of a round to its end, in us: the last departure, or the result at the root.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Mean time from the end of a round to that of the next one, in us; 0 with one round.
    pub period_us: f64,
    /// Mean time of a member inside a call, which the host's processor spends on it, in us.
    pub cpu_us: f64,
    /// Light interrupts in which hosts have computed; none without reductions of vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traps: Option<TrapShare>,
}

/// Use of the hosts by light interrupts.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TrapShare {
    /// Their number.
    pub count: u64,
    /// Mean time of a member's processor for each round, in us.
    pub cpu_us: f64,
}

impl CollectiveUse {
    /// The results of the rounds of all members, by rank; `None` before the first round is complete. `root` gives the rank of the only
    /// member that learns the result of a round. With the rounds in which a member left a barrier, or had all blocks, before another one
    /// came.
    #[must_use]
    pub fn from_records(
        program: &str,
        on: ExecutedOn,
        root: impl Fn(u64) -> Option<usize>,
        members: &[Vec<Round>],
    ) -> Option<(Self, Vec<usize>)> {
        let rounds = members.iter().map(Vec::len).min().unwrap_or_default();
        let mut times = Vec::with_capacity(rounds);
        let mut ends = Vec::with_capacity(rounds);
        let (mut early, mut inside_ps) = (Vec::new(), 0_u64);
        for round in 0..rounds {
            let of_round = || members.iter().map(|member| member[round]);
            let last = of_round().map(|one| one.began_ps).max()?;
            let leaving = match root(round as u64) {
                Some(root) => members.get(root)?[round]..members.get(root)?[round],
                None => {
                    let first = of_round().min_by_key(|one| one.ended_ps)?;
                    first..of_round().max_by_key(|one| one.ended_ps)?
                }
            };
            if leaving.start.ended_ps < last {
                early.push(round);
            }
            let end = leaving.end.ended_ps;
            times.push(end.saturating_sub(last));
            ends.push(end);
            inside_ps += of_round()
                .map(|one| one.ended_ps - one.began_ps)
                .sum::<u64>();
        }
        let (first, last) = ends.first().zip(ends.last())?;
        times.sort_unstable();
        let us = |ps: u64, count: usize| ps as f64 / 1e6 / count.max(1) as f64;
        let place = |percent: usize| times[(rounds * percent).div_ceil(100).max(1) - 1];
        let all = || members.iter().flat_map(|member| &member[..rounds]);
        let count = all().map(|one| one.traps).sum();
        let trap_ps = all().map(|one| one.trap_ps).sum();
        let traps = (count > 0).then(|| TrapShare {
            count,
            cpu_us: us(trap_ps, rounds * members.len()),
        });
        let result = Self {
            program: program.to_owned(),
            on: on.name(),
            members: members.len(),
            rounds,
            mean_us: us(times.iter().sum(), rounds),
            p50_us: us(place(50), 1),
            p99_us: us(place(99), 1),
            period_us: us(last - first, rounds - 1),
            cpu_us: us(inside_ps, rounds * members.len()),
            traps,
        };
        Some((result, early))
    }
}

impl Outcome for CollectiveUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        vec![("operation", self.line())]
    }
}

impl CollectiveUse {
    /// The results in one line.
    fn line(&self) -> String {
        let traps = self.traps.as_ref().filter(|traps| traps.count > 0);
        let traps = traps.map_or_else(String::new, |traps| {
            let (count, cpu_us) = (grouped(traps.count), traps.cpu_us);
            format!("; {count} traps, {cpu_us:.2} us of a host for each round")
        });
        format!(
            "{} on {} of {}, {} rounds: mean {:.2} us, p50 {:.2} us, p99 {:.2} us; a round each {:.2} us; {:.2} us inside the call{traps}",
            self.program,
            self.on,
            self.members,
            grouped(self.rounds as u64),
            self.mean_us,
            self.p50_us,
            self.p99_us,
            self.period_us,
            self.cpu_us,
        )
    }
}
