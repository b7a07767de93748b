//! Averages of the ledgers of many messages.

use emulator::sim::time::SimTime;

use super::{Ledger, Owner};

/// Statistics of a part over many messages. A message without the part counts as zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartStats {
    /// Owner of the time.
    pub owner: Owner,
    /// Name of the part.
    pub what: String,
    /// Number of messages with the part.
    pub messages: usize,
    /// Sum over all messages: the sums of all parts add up to the sum of all messages' times.
    pub sum: SimTime,
    /// Median.
    pub p50: SimTime,
    /// 99th percentile.
    pub p99: SimTime,
    /// Maximum.
    pub max: SimTime,
}

/// Messages of one size class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeClass {
    /// Name of the class.
    pub name: &'static str,
    /// Number of messages.
    pub messages: usize,
    /// Number of retransmitted frames.
    pub resent: usize,
    /// Statistics of whole messages.
    pub whole: PartStats,
    /// Parts by owner, then in the order of their occurrence.
    pub parts: Vec<PartStats>,
}

/// Size classes: longest message, name.
const SIZES: [(u32, &str); 5] = [
    (64, "up to 64 bytes"),
    (1478, "65 bytes to 1478"),
    (16_384, "1479 bytes to 16 KB"),
    (131_072, "16 KB to 128 KB"),
    (u32::MAX, "above 128 KB"),
];

impl PartStats {
    /// Statistics of the times of a part in `count` messages.
    fn new(owner: Owner, what: &str, mut times: Vec<SimTime>, count: usize) -> Self {
        let messages = times.len();
        times.resize(count.max(messages), SimTime::ZERO);
        times.sort_unstable();
        let at = |share: usize| {
            let rank = (times.len() * share).div_ceil(100).max(1) - 1;
            times.get(rank).copied().unwrap_or_default()
        };
        Self {
            owner,
            what: what.into(),
            messages,
            sum: times.iter().fold(SimTime::ZERO, |sum, time| sum + *time),
            p50: at(50),
            p99: at(99),
            max: at(100),
        }
    }

    /// Mean over `count` messages in microseconds.
    #[must_use]
    pub fn mean_us(&self, count: usize) -> f64 {
        self.sum.us() / count.max(1) as f64
    }
}

impl SizeClass {
    fn new(name: &'static str, ledgers: &[&Ledger]) -> Self {
        let mut parts: Vec<(Owner, &str, Vec<SimTime>)> = Vec::new();
        for ledger in ledgers {
            for (owner, what, time) in ledger.parts() {
                match parts
                    .iter_mut()
                    .find(|part| (part.0, part.1) == (owner, what))
                {
                    Some((.., times)) => times.push(time),
                    None => parts.push((owner, what, vec![time])),
                }
            }
        }
        parts.sort_by_key(|part| part.0);
        let count = ledgers.len();
        let stats = |(owner, what, times)| PartStats::new(owner, what, times, count);
        let whole = ledgers.iter().map(|ledger| ledger.total()).collect();
        Self {
            name,
            messages: count,
            resent: ledgers.iter().map(|ledger| ledger.resent).sum(),
            whole: PartStats::new(Owner::SenderHost, "in all", whole, count),
            parts: parts.into_iter().map(stats).collect(),
        }
    }
}

/// All messages as one class, and each size class if there are several.
#[must_use]
pub fn classes(ledgers: &[Ledger]) -> Vec<SizeClass> {
    let mut classes = vec![SizeClass::new(
        "all sizes",
        &ledgers.iter().collect::<Vec<_>>(),
    )];
    let mut least = 0;
    let mut by_size = Vec::new();
    for (most, name) in SIZES {
        let fits = |ledger: &&Ledger| (least..=most).contains(&ledger.length);
        let of_class: Vec<_> = ledgers.iter().filter(fits).collect();
        if !of_class.is_empty() {
            by_size.push(SizeClass::new(name, &of_class));
        }
        least = most.saturating_add(1);
    }
    if by_size.len() > 1 {
        classes.extend(by_size);
    }
    classes
}
