//! Results of a program over shared memory.

use host_lib::dsm::Report;

use lanigon_worlds::workload::Outcome;

use super::{DsmSettings, DsmWork};

/// Times and counts of one node, or the mean of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct NodeTimes {
    /// From the begin of the measured part to its end, in us.
    pub total_us: f64,
    /// The program's own work, in us.
    pub compute_us: f64,
    /// Waits for pages, in us.
    pub page_us: f64,
    /// Handlers of other nodes' requests, in us.
    pub handler_us: f64,
    /// Locks, in us.
    pub lock_us: f64,
    /// Barriers, in us.
    pub barrier_us: f64,
    /// Page-fault handlers, in us.
    pub fault_us: f64,
    /// Page faults.
    pub faults: f64,
    /// Pages fetched.
    pub fetches: f64,
    /// Requests that handlers have served.
    pub handled: f64,
    /// Changes of pages that went to homes.
    pub diffs: f64,
    /// Fetches begun before a fault.
    pub early_begun: f64,
    /// Early fetches whose copy was used.
    pub early_used: f64,
    /// Early fetches whose copy was wasted.
    pub early_vain: f64,
    /// Accesses that waited for a part of a page.
    pub part_waits: f64,
    /// Puts of write notices.
    pub notice_puts: f64,
}

impl NodeTimes {
    fn from_report(report: &Report) -> Self {
        let us = |ps: u64| ps as f64 / 1e6;
        Self {
            total_us: us(report.total_ps),
            compute_us: us(report.compute_ps),
            page_us: us(report.page_ps),
            handler_us: us(report.handler_ps),
            lock_us: us(report.lock_ps),
            barrier_us: us(report.barrier_ps),
            fault_us: us(report.fault_ps),
            faults: report.faults() as f64,
            fetches: report.fetches as f64,
            handled: report.handled as f64,
            diffs: report.diffs as f64,
            early_begun: report.early_begun as f64,
            early_used: report.early_used as f64,
            early_vain: report.early_vain as f64,
            part_waits: report.part_waits as f64,
            notice_puts: report.notice_puts as f64,
        }
    }

    /// All values, in the order of their declaration.
    fn values(&mut self) -> [&mut f64; 16] {
        [
            &mut self.total_us,
            &mut self.compute_us,
            &mut self.page_us,
            &mut self.handler_us,
            &mut self.lock_us,
            &mut self.barrier_us,
            &mut self.fault_us,
            &mut self.faults,
            &mut self.fetches,
            &mut self.handled,
            &mut self.diffs,
            &mut self.early_begun,
            &mut self.early_used,
            &mut self.early_vain,
            &mut self.part_waits,
            &mut self.notice_puts,
        ]
    }
}

/// Results of a program.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct DsmUse {
    /// Name of the program.
    pub program: &'static str,
    /// Size of the program: keys, points, bodies.
    pub size: usize,
    /// Protocol by which pages are fetched.
    pub protocol: &'static str,
    /// Means of all nodes; for the page benchmark of those that fetch.
    pub mean: NodeTimes,
    /// Each node, by rank; none if the program has not ended.
    pub nodes: Vec<NodeTimes>,
    /// Races, as page, word and both ranks, if they are looked for.
    pub races: Vec<(u32, u32, usize, usize)>,
}

impl DsmUse {
    /// The results of a program whose nodes have these reports.
    #[must_use]
    pub fn new(settings: &DsmSettings, reports: &[Report]) -> Self {
        let nodes: Vec<_> = reports.iter().map(NodeTimes::from_report).collect();
        let first = usize::from(matches!(settings.work, DsmWork::Pages(_)) && nodes.len() > 1);
        let measured = nodes.get(first..).unwrap_or_default();
        let mut mean = NodeTimes::default();
        for node in measured {
            let mut node = *node;
            let values = mean.values().into_iter().zip(node.values());
            values.for_each(|(sum, value)| *sum += *value);
        }
        let count = measured.len().max(1) as f64;
        mean.values().into_iter().for_each(|sum| *sum /= count);
        let races = reports.iter().flat_map(|report| &report.races);
        Self {
            program: settings.work.name(),
            size: settings.work.size(),
            protocol: settings.memory.protocol.name(),
            mean,
            nodes,
            races: races
                .map(|race| (race.page, race.word, race.ranks.0, race.ranks.1))
                .collect(),
        }
    }

    /// The results as lines: a header, each node, the mean.
    #[must_use]
    pub fn table(&self) -> Vec<String> {
        let header = "  rank  total us   compute      page   handler      lock   barrier     fault  faults fetches".to_owned();
        let line = |name: String, of: &NodeTimes| {
            let times = [
                of.total_us,
                of.compute_us,
                of.page_us,
                of.handler_us,
                of.lock_us,
                of.barrier_us,
                of.fault_us,
            ];
            let times: String = times.iter().map(|us| format!("{us:>10.0}")).collect();
            format!("{name:>6}{times}{:>8.0}{:>8.0}", of.faults, of.fetches)
        };
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes.map(|(rank, node)| line(rank.to_string(), node));
        let races = self.races.iter().map(|(page, word, one, other)| {
            format!("race: word {word} of page {page} is written by nodes {one} and {other}")
        });
        let mean = &self.mean;
        let beside = mean.early_begun + mean.part_waits > 0.0;
        let beside = beside.then(|| {
            format!(
                "mean of early fetches: {:.1} begun, {:.1} used, {:.1} in vain; waits for parts: {:.1}",
                mean.early_begun, mean.early_used, mean.early_vain, mean.part_waits
            )
        });
        std::iter::once(header)
            .chain(nodes)
            .chain([line("mean".into(), &self.mean)])
            .chain(beside)
            .chain(races)
            .collect()
    }
}

impl Outcome for DsmUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let head = format!("{} of {}, {}", self.program, self.size, self.protocol);
        let table = self.table().into_iter().map(|line| ("", line));
        [("dsm", head)].into_iter().chain(table).collect()
    }
}
