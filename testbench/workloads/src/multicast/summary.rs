//! Results of a program with multicasts.

use super::workload::MulticastRecords;
use super::{MulticastPlan, Settings};
use lanigon_worlds::programs::deliveries::Deliveries;
use lanigon_worlds::workload::{Outcome, grouped};

/// Deliveries to a node.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NodeDelivery {
    /// Rank in the tree.
    pub rank: usize,
    /// Number of the node.
    pub node: usize,
    /// Complete messages.
    pub messages: usize,
    /// Mean time from the root's call until the message is complete at this node, in us.
    pub mean_us: f64,
}

/// Results of a program.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct MulticastUse {
    /// Name of the tree.
    pub tree: String,
    /// Whether boards copy packets.
    pub multi_send: bool,
    /// Whether packets are sent on before their message is complete.
    pub pipelined: bool,
    /// Bytes of a message.
    pub bytes: u32,
    /// Number of nodes.
    pub nodes: usize,
    /// Rounds in which the root got the answer.
    pub rounds: usize,
    /// Mean time that the root's call takes: the host's part of all its sends, in us.
    pub call_us: f64,
    /// Mean time from the root's call to the answer of a leaf, in us; the longest one over the leaves that are last children
    /// (dissertation, 2.5).
    pub answered_us: f64,
    /// Deliveries, by rank.
    pub deliveries: Vec<NodeDelivery>,
}

impl MulticastUse {
    /// The results, from the records of the nodes by rank; `None` without a root.
    #[must_use]
    pub fn from_records(
        settings: &Settings,
        nodes: &[usize],
        records: &[Deliveries],
    ) -> Option<Self> {
        let root = records.first()?.records();
        let own = root.own_copy::<MulticastRecords>();
        let mut leaves: Vec<(u64, u64)> = Vec::new();
        for round in &own.rounds {
            if leaves.len() <= round.process {
                leaves.resize(round.process + 1, (0, 0));
            }
            let (sum, count) = &mut leaves[round.process];
            *sum += round.ended_ps - round.began_ps;
            *count += 1;
        }
        let means = leaves
            .iter()
            .map(|(sum, count)| *sum as f64 / 1e6 / (*count).max(1) as f64);
        let plans = MulticastPlan::all(settings, nodes, 0, 0, 0).ok()?;
        let delivery = |(rank, (node, plan)): (usize, &(usize, MulticastPlan))| {
            let flow = plan.flow(*node as u16);
            let sent = root.sent.get(&flow)?;
            let receiver = records.get(rank)?.records();
            let got = receiver.got.get(&flow)?;
            let spans = got.iter().filter_map(|got| {
                let sent = sent.get(got.sequence as usize)?;
                Some(got.time_ps.saturating_sub(sent.posted_ps))
            });
            Some(NodeDelivery {
                rank,
                node: *node,
                messages: got.len(),
                mean_us: spans.sum::<u64>() as f64 / 1e6 / got.len().max(1) as f64,
            })
        };
        Some(Self {
            tree: settings.tree.name(),
            multi_send: settings.way.multi_send,
            pipelined: settings.way.pipelined,
            bytes: settings.bytes,
            nodes: nodes.len(),
            rounds: own.rounds.len(),
            call_us: own.calls_ps.iter().sum::<u64>() as f64
                / 1e6
                / own.calls_ps.len().max(1) as f64,
            answered_us: means.fold(0.0, f64::max),
            deliveries: plans
                .iter()
                .enumerate()
                .skip(1)
                .filter_map(delivery)
                .collect(),
        })
    }

    /// When the last node has a message, as a mean over the rounds, in us.
    #[must_use]
    pub fn last_us(&self) -> f64 {
        let times = self.deliveries.iter().map(|delivery| delivery.mean_us);
        times.fold(0.0, f64::max)
    }
}

impl Outcome for MulticastUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        vec![("multicast", self.line())]
    }
}

impl MulticastUse {
    /// The results in one line.
    fn line(&self) -> String {
        let send = match self.multi_send {
            true => "multi-sends",
            false => "unicast sends",
        };
        let pipelined = match self.pipelined {
            true => ", pipelined",
            false => "",
        };
        format!(
            "{} bytes to {} nodes, {}, {send}{pipelined}, {} rounds: last delivery after {:.2} us, slowest answer after {:.2} us",
            grouped(self.bytes.into()),
            self.nodes - 1,
            self.tree,
            grouped(self.rounds as u64),
            self.last_us(),
            self.answered_us,
        )
    }
}
