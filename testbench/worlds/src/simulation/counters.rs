//! Counters of boards and their firmware, sampled during a run.

use std::collections::BTreeMap;

use defs::emp::control::{COUNTER_COUNT, COUNTERS};
use defs::fm::map as fm;
use defs::gm::map as gm;
use emulator::sim::node::Node as BoardNode;
use emulator::sim::ranks::{RankError, Ranks};
use emulator::sim::world::World;
use emulator::state;

use super::shared::report::NodeReport;
use super::started::StartedNodes;
use crate::boards::Protocol;
use crate::nodes;
use crate::programs::verdict::ProgramLife;
use crate::scenario::Node;

/// Counters of a NIC's firmware.
pub type NicCounters = [u64; MOST_COUNTERS];

/// Number of counters of the firmware that has most of them.
const MOST_COUNTERS: usize = {
    let (emp, gm) = (COUNTER_COUNT as usize, gm::COUNTER_COUNT as usize);
    if emp > gm { emp } else { gm }
};

/// GM's counters with their names in reports.
const GM_COUNTERS: [(&str, gm::Counter); gm::COUNTER_COUNT as usize] = [
    ("bad_packets", gm::Counter::BadPackets),
    ("duplicates", gm::Counter::Duplicates),
    ("gaps", gm::Counter::Gaps),
    ("no_token", gm::Counter::NoToken),
    ("closed_port", gm::Counter::ClosedPort),
    ("resends", gm::Counter::Resends),
    ("failed_sends", gm::Counter::FailedSends),
    ("bad_posts", gm::Counter::BadPosts),
    ("sessions", gm::Counter::Sessions),
    ("delivered", gm::Counter::Delivered),
    ("page_misses", gm::Counter::PageMisses),
    ("violations", gm::Counter::Violations),
    ("refused", gm::Counter::Refused),
    ("bad_length", gm::Counter::BadLength),
    ("bad_type", gm::Counter::BadType),
    ("bad_address", gm::Counter::BadAddress),
    ("collectives", gm::Counter::Collectives),
    ("unexpected", gm::Counter::Unexpected),
    ("atomics", gm::Counter::Atomics),
    ("guard_busy", gm::Counter::GuardBusy),
];

/// FM's counters with their names in reports.
const FM_COUNTERS: [(&str, fm::Counter); fm::COUNTER_COUNT as usize] = [
    ("bad_packets", fm::Counter::BadPackets),
    ("bad_type", fm::Counter::BadType),
    ("bad_address", fm::Counter::BadAddress),
    ("bad_lists", fm::Counter::BadLists),
];

/// Counters that must be sampled during a run.
#[derive(Debug, Clone)]
pub(super) struct Counters {
    /// Firmware counters of incarnations that a reset ended.
    ended: Vec<NicCounters>,
    /// Busy times of each board at the start of the programs.
    busy: Vec<BusyTimes>,
    /// Protocol of each node's firmware.
    protocols: Vec<Option<Protocol>>,
}

state!(Counters { ended, busy } fixed { protocols });

/// Busy times of the units of a board, in ps.
pub(super) type BusyTimes = Vec<u64>;

fn busy(node: &BoardNode) -> BusyTimes {
    let units = node.inspect().busy_units();
    units.iter().map(|unit| unit.time.ps()).collect()
}

impl Counters {
    pub(super) fn new(nodes: &[Node]) -> Self {
        let protocols = nodes.iter().map(|node| node.protocol);
        let (protocols, nodes): (Vec<_>, _) = (protocols.collect(), nodes.len());
        Self {
            protocols,
            ended: vec![[0; MOST_COUNTERS]; nodes],
            busy: vec![BusyTimes::new(); nodes],
        }
    }

    /// Samples the counters: at the start of the programs, or before a node's reset.
    pub(super) fn look(&mut self, world: &World, reset: Option<usize>) {
        let Some(node) = reset else {
            self.busy = world.nodes.iter().map(busy).collect();
            return;
        };
        let life = self.of_life(&world.nodes[node], node);
        for (all, life) in self.ended[node].iter_mut().zip(life) {
            *all += life;
        }
    }

    /// Takes over what other ranks have sampled of the nodes that they execute.
    pub(super) fn gather(&mut self, ranks: &mut Ranks) -> Result<(), RankError> {
        let mine = (0..self.busy.len()).filter(|&node| ranks.owns(node));
        let mine: Vec<_> = mine
            .map(|node| (node, self.ended[node], self.busy[node].clone()))
            .collect();
        for (rank, sampled) in ranks.gather(&mine)?.into_iter().enumerate() {
            for (node, ended, busy) in sampled {
                // Only of its own nodes: so the number is possible, too.
                if node < self.busy.len() && ranks.owner(node) == rank {
                    self.ended[node] = ended;
                    self.busy[node] = busy;
                }
            }
        }
        Ok(())
    }

    /// Protocol of a node's firmware.
    pub(super) fn protocol(&self, node: usize) -> Option<Protocol> {
        self.protocols.get(node).copied().flatten()
    }

    /// The counters of a node's firmware since it was started.
    fn of_life(&self, board: &BoardNode, node: usize) -> NicCounters {
        nic_counters(board, self.protocols[node])
    }

    /// The counters at the end of a run. A board keeps its memory in a reset, so the words of a node that has not begun anew are those of the life before.
    pub(super) fn sums(
        &self,
        nodes: &[NodeReport],
        started: &StartedNodes,
        lives: &[ProgramLife],
    ) -> Sums {
        let mut sums = Sums {
            emp: vec![[0; MOST_COUNTERS]; nodes.len()],
            ..Sums::default()
        };
        for (index, node) in nodes.iter().enumerate() {
            let (ended, now) = &node.counters;
            // Firmware that is only started uses these words differently.
            if started.contains(index) {
                continue;
            }
            let mut all = *ended;
            let last = lives.iter().rfind(|life| life.node == index);
            if last.is_none_or(|life| life.ended_ps.is_none()) {
                all = std::array::from_fn(|counter| ended[counter] + now[counter]);
            }
            match self.protocol(index) {
                Some(Protocol::Emp) => sums.emp[index] = all,
                Some(Protocol::Gm) => {
                    add(
                        &mut sums.gm,
                        GM_COUNTERS.map(|(name, counter)| (name, all[counter as usize])),
                    );
                }
                Some(Protocol::Fm) => {
                    add(
                        &mut sums.fm,
                        FM_COUNTERS.map(|(name, counter)| (name, all[counter as usize])),
                    );
                }
                Some(Protocol::Acenic) | None => {}
            }
        }
        sums
    }

    /// Busy times of a board at the start of the programs, and now.
    pub(super) fn busy(&self, board: &BoardNode, node: usize) -> (BusyTimes, BusyTimes) {
        (self.busy[node].clone(), busy(board))
    }

    /// The counters of a node's firmware: of lives that a reset ended, and since it was started.
    pub(super) fn of_node(&self, board: &BoardNode, node: usize) -> (NicCounters, NicCounters) {
        (self.ended[node], self.of_life(board, node))
    }
}

/// Counters of all boards at the end of a run.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Sums of EMP's firmware on each board; 0 on others.
    pub emp: Vec<NicCounters>,
    /// Sums of GM's firmware, of all boards together; none if no board runs it.
    pub gm: NamedCounts,
    /// Sums of FM's firmware, of all boards together; none if no board runs it.
    pub fm: NamedCounts,
}

/// Counters by their names in reports.
type NamedCounts = Option<BTreeMap<&'static str, u64>>;

fn add(sums: &mut NamedCounts, counts: impl IntoIterator<Item = (&'static str, u64)>) {
    let sums = sums.get_or_insert_default();
    for (name, count) in counts {
        *sums.entry(name).or_default() += count;
    }
}

/// Reads the counters from the firmware's memory, without side effects.
fn nic_counters(node: &BoardNode, protocol: Option<Protocol>) -> NicCounters {
    let (first, count) = match protocol {
        Some(Protocol::Emp) => (COUNTERS, COUNTER_COUNT),
        Some(Protocol::Gm) => (gm::COUNTERS, gm::COUNTER_COUNT),
        Some(Protocol::Fm) => (fm::COUNTERS, fm::COUNTER_COUNT),
        Some(Protocol::Acenic) | None => (0, 0),
    };
    let halves = match (protocol, node.inspect().cpus()) {
        // Each CPU has counters of its own.
        (Some(Protocol::Gm), [_, _, ..]) => [first, gm::RECEIVER_COUNTERS].to_vec(),
        _ => vec![first],
    };
    std::array::from_fn(|index| {
        let word = |first: &u32| u64::from(nodes::firmware_word(node, first + 4 * index as u32));
        match index < count as usize {
            true => halves.iter().map(word).sum(),
            false => 0,
        }
    })
}
