//! The world of a case: boards around a crossbar, cables that lose packets, members and messages.

use std::sync::Arc;

use emulator::wire::fault::{FaultRates, RandomFaults};
use emulator::wire::port::Port;
use lanigon_worlds::boards::{self, Medium};
use lanigon_worlds::builder::add_layer;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;
use lanigon_worlds::programs::check::Identity;
use lanigon_worlds::programs::deliveries::Deliveries;
use lanigon_worlds::programs::gm_traffic;
use lanigon_worlds::programs::plan::{SendPlan, TrafficPlan, plans};
use lanigon_worlds::shared_board::Processes;

use super::{Case, LIMIT_TICKS, Member, Records};

/// Packets that are not acknowledged are sent again after so many ticks.
const RESEND_TICKS: u32 = 10;
/// Pause between two messages of a host.
const PAUSE_NS: u64 = 500_000;

/// The messages of each host: random ones, with pauses.
fn traffic(case: &Case) -> Vec<TrafficPlan> {
    let scenario = format!(
        "board = \"lanai9.1-133\"\nseed = {}\n[network]\ntopology = \"star\"\nnodes = {}\n\
         [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = {}\nmax_bytes = 3000\n",
        case.seed, case.nodes, case.messages
    );
    let scenario = lanigon_workloads::parse("traffic.toml", &scenario).unwrap();
    let plans = plans(&scenario.programs[0], case.seed, false);
    let slow = |(_, mut plan): (usize, TrafficPlan)| {
        if let SendPlan::Drawn(steps) = &mut plan.sends {
            steps.iter_mut().for_each(|step| step.pause_ns = PAUSE_NS);
        }
        plan
    };
    plans.into_iter().map(slow).collect()
}

/// The world of a case, the ends of its members, and the records of its messages.
pub(super) type World = (
    GmWorld,
    Vec<ResultSlot<Result<Records, String>>>,
    Vec<Deliveries>,
);

pub(super) fn world(case: Case) -> World {
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.1-133").unwrap();
    let mut world = GmWorld::new(case.nodes, &image, &profile).unwrap();
    world.configure(|config| {
        config.resend_ticks = RESEND_TICKS;
        config.collective_ticks = LIMIT_TICKS;
    });
    let rates = FaultRates {
        loss: 0.02,
        ..FaultRates::default()
    };
    for node in 0..usize::from(case.nodes) {
        let switch = Port::Switch {
            switch: 0,
            port: node,
        };
        for (end, port) in (0..).zip([Port::Node(node), switch]) {
            let stream = 2 * node as u64 + end;
            let layer = RandomFaults::new(rates, case.seed, stream).unwrap();
            add_layer(&mut world.world, Medium::Myrinet, port, layer).unwrap();
        }
    }
    let (mut ends, mut all) = (Vec::new(), Vec::new());
    for (node, plan) in traffic(&case).into_iter().enumerate() {
        let processes = Arc::new(Processes::default());
        let deliveries = Deliveries::default();
        all.push(deliveries.clone());
        let who = Identity {
            node: node as u16,
            life: 0,
            seed: case.seed,
        };
        let other = Arc::clone(&processes);
        let programs = &mut world.world.nodes[node].programs;
        programs.spawn("messages", move |machine| async move {
            if let Some(gm) = other.join(0, machine).await {
                let done = gm_traffic::run(gm, who, plan, deliveries.clone()).await;
                deliveries.records().problem = done.err();
            }
        });
        ends.push(world.spawn(node, "member", move |gm| async move {
            processes.share(Some(&gm))?;
            Member::run(gm, case).await
        }));
    }
    (world, ends, all)
}
