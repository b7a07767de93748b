//! Collective operations as a workload.

use host_lib::gm::Gm;
use std::sync::Arc;

use defs::gm::vector::VECTORS_END;
use emulator::lanai::board::Lanai;
use emulator::sim::node::Node;
use emulator::value_struct;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::workload::{
    GmNeeds, HostProcess, Job, JobContext, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::{
    CollectivePlan, CollectiveUse, ExecutedOn, Round, Settings, Traps, VectorWork, keys, run,
};

/// Collective operations over GM.
pub const KIND: WorkloadType = WorkloadType {
    names: &[
        "barrier",
        "reduction",
        "all-to-all-broadcast",
        "random-collectives",
    ],
    about: "Collective operations over GM, on hosts and on boards (docs/collectives.md). random-collectives: each round one at random.",
    keys: keys::KEYS,
    results: "collectives",
    read: |name, table, nodes| Ok(Arc::new(keys::read(name, table, nodes)?)),
};

/// A program of a scenario.
#[derive(Debug)]
pub(super) struct Collective {
    /// The value of `run`.
    pub(super) name: &'static str,
    /// The nodes, by rank.
    pub(super) nodes: Vec<usize>,
    pub(super) settings: Settings,
}

/// Rounds of all members of a node.
#[derive(Debug, Clone, Default)]
pub struct Rounds(pub Vec<Round>);

value_struct!(Round {
    process: process,
    began_ps: began_ps,
    ended_ps: ended_ps,
    traps: traps,
    trap_ps: trap_ps
});
value_struct!(Rounds { 0: rounds });

impl Collective {
    /// The only member that learns the result of a round.
    fn root(&self, seed: u64, round: u64) -> Option<usize> {
        let Settings {
            work, on, per_node, ..
        } = self.settings;
        let members = self.nodes.len() * per_node;
        work.in_round(on, seed, members, round).root()
    }
}

/// The image with reductions of vectors.
const VECTOR_IMAGE: &str = "gm-vectors";

impl Collective {
    /// Boards that reduce vectors have the image and the memory for it, and one member each.
    fn check_vectors(&self, scenario: &Scenario) -> Result<(), String> {
        let Settings { on, per_node, .. } = self.settings;
        if on == ExecutedOn::Host || self.settings.vector().is_none() {
            return Ok(());
        }
        if per_node > 1 {
            return Err("vectors have one member on each node: per_node = 1".into());
        }
        for node in &self.nodes {
            let node = &scenario.nodes[*node];
            if node.image.name != VECTOR_IMAGE || node.sram_bytes() < VECTORS_END {
                return Err(format!(
                    "vectors need a LANai 7 or 9 with image = \"{VECTOR_IMAGE}\" and 2 MB of memory: node {}",
                    node.name
                ));
            }
        }
        Ok(())
    }
}

impl Workload for Collective {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Gm]
    }

    fn memory_bytes(&self) -> u64 {
        self.settings.memory_bytes(self.nodes.len())
    }

    fn runs_beside_messages(&self) -> bool {
        true
    }

    fn gm_needs(&self) -> GmNeeds {
        GmNeeds {
            shared_bytes: 0,
            own_route: self.settings.per_node > 1,
        }
    }

    /// The members of one node need a way to each other: boards know it, messages need a crossbar that sends them back.
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        self.check_vectors(scenario)?;
        if self.settings.per_node == 1 || self.settings.on == ExecutedOn::Nic {
            return Ok(());
        }
        let lacks = |node: &&usize| !scenario.has_own_route(**node);
        match self.nodes.iter().find(lacks) {
            None => Ok(()),
            Some(&node) => Err(format!(
                "messages between members of node {} need a crossbar and computed routes: on = \"nic\"",
                scenario.nodes[node].name
            )),
        }
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let JobContext { scenario, start_ns } = context;
        let beside = scenario.has_messages_on(&self.nodes);
        let seed = scenario.seed;
        let plans = CollectivePlan::all(&self.settings, &self.nodes, start_ns, seed, beside);
        let of_node = plans.chunk_by(|(a, _), (b, _)| a == b);
        let job = |members: &[(usize, CollectivePlan)]| {
            let job = CollectiveJob {
                name: self.name,
                plans: members.iter().map(|(_, plan)| plan.clone()).collect(),
            };
            (members[0].0, Box::new(job) as Box<dyn Job>)
        };
        of_node.map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let Settings { on, per_node, .. } = self.settings;
        let rounds = |member: usize| {
            let (node, process) = (self.nodes[member / per_node], member % per_node);
            let Rounds(mut rounds) = records.deliveries_of(node).records().own_copy();
            rounds.retain(|round| round.process == process);
            rounds
        };
        let members: Vec<_> = (0..self.nodes.len() * per_node).map(rounds).collect();
        let (name, seed) = (records.name, records.seed);
        let found = CollectiveUse::from_records(name, on, |round| self.root(seed, round), &members);
        let Some((mut outcome, early)) = found else {
            return (None, Vec::new());
        };
        if self.settings.vector().is_some() {
            outcome.traps.get_or_insert_default();
        }
        let problem = early.first().map(|round| {
            let count = early.len();
            format!(
                "{name}: {count} rounds were over at a node before all nodes had begun, first round {round}"
            )
        });
        (Some(Arc::new(outcome)), problem.into_iter().collect())
    }
}

/// The members of a node.
struct CollectiveJob {
    name: &'static str,
    plans: Vec<CollectivePlan>,
}

impl CollectiveJob {
    /// Whether hosts compute for boards.
    fn has_traps(&self) -> bool {
        let traps = |plan: &CollectivePlan| plan.settings.vector().is_some_and(VectorWork::traps);
        self.plans.iter().any(traps)
    }
}

impl Job for CollectiveJob {
    fn prepare(&self, node: &mut Node, _index: u16) {
        if self.has_traps() {
            let costs = node.programs.costs().with_light_interrupts();
            node.set_host_costs(&costs);
            if let Some(board) = node.try_board_mut::<Lanai>() {
                board.fabric.timing.host = costs;
            }
        }
    }

    fn operations(&self) -> usize {
        self.plans.len()
    }

    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let gm = process.boot_gm().await;
            process.share(gm.as_ref().ok())?;
            let plan = self.plans.first().ok_or("a program without a member")?;
            let traps = Traps {
                machine: process.machine(),
                costs: process.costs().trap,
            };
            run(gm?, plan.clone(), process.deliveries.clone(), Some(traps)).await
        })
    }

    fn further(&self) -> Vec<&'static str> {
        vec![self.name; self.plans.len().saturating_sub(1)]
    }

    fn run_further<'a>(&'a self, place: usize, gm: Gm, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let plan = self.plans.get(1 + place).ok_or("no such member")?;
            let done = run(gm, plan.clone(), process.deliveries.clone(), None).await;
            let mut records = process.deliveries.records();
            records.operations_left = records.operations_left.saturating_sub(1);
            done
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<Rounds>
    }
}
