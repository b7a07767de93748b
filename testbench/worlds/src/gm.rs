//! Nodes on which GM programs run: boards around one crossbar of Myrinet, or on a cable of Ethernet.

use std::future::Future;
use std::sync::Arc;

use emulator::host::machine::Machine;
use emulator::image::Image;
use emulator::profile::{Profile, ProfileError};
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::myrinet::CrossbarConfig;
use emulator::wire::myrinet::routes::{self, RouteError};
use emulator::wire::myrinet::topology::Topology;
use host_lib::firmware::Firmware;
use host_lib::gm::{Config, Gm};
use host_lib::window::{System, SystemPort};

/// Calls of the library and polls for its events, as traces show them.
pub use host_lib::gm::{Call, NO_EVENT};

use crate::boards::{self, BoardType, Medium, Protocol};
use crate::builder::{WorldBuilder, WorldError, crossbar_ports};
use crate::end::ResultSlot;
use crate::images::firmware;
use crate::nodes::{START, cable, ethernet_route, parts, probes, profile_cable};

/// Nodes for GM programs cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum GmWorldError {
    /// The boards cannot run GM.
    #[error("boards of type {0} run no GM")]
    Board(&'static str),
    /// A node or a cable.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A profile lacks an entry.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A route cannot be computed.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// More nodes than the largest crossbar has ports.
    #[error("{0} nodes do not fit on a crossbar of 32 ports")]
    Nodes(usize),
    /// More nodes than a cable has ends.
    #[error("{0} nodes do not fit on a cable of Ethernet")]
    Cable(usize),
}

/// Nodes around one crossbar, or two on a cable.
#[derive(Debug)]
pub struct GmWorld {
    /// Nodes and network.
    pub world: World,
    firmware: Arc<Firmware>,
    configs: Vec<Config>,
}

impl GmWorld {
    /// `count` nodes with boards of a profile; two at most on Ethernet.
    ///
    /// # Errors
    /// [`GmWorldError`].
    pub fn new(count: u16, image: &Image, profile: &Profile) -> Result<Self, GmWorldError> {
        let board = boards::for_profile(profile);
        let family = board.gm.ok_or(GmWorldError::Board(board.name))?.family;
        let nodes = usize::from(count);
        let mut world = boards_only(board, count, image, profile)?;
        let routes = match board.medium {
            Medium::Myrinet => crossbar(&mut world, nodes, profile)?,
            Medium::Ethernet => cables(&mut world, nodes, profile)?,
        };
        let world = world.build()?;
        let config = |node: u16| {
            let mut config = Config::new(family, node, routes[usize::from(node)].clone());
            config.overhead_ns = profile.host.post.ps() / 1000;
            config
        };
        Ok(Self {
            firmware: Arc::new(firmware(image)),
            configs: (0..count).map(config).collect(),
            world,
        })
    }

    /// Changes the settings with which the boards will be booted.
    pub fn configure(&mut self, change: impl FnMut(&mut Config)) {
        self.configs.iter_mut().for_each(change);
    }

    /// Runs `program` on a node after its board has booted. The outcome is the program's result, or the
    /// message of an error at start-up.
    pub fn spawn<T, P, F>(
        &mut self,
        node: usize,
        name: &str,
        program: P,
    ) -> ResultSlot<Result<T, String>>
    where
        T: Send + 'static,
        P: FnOnce(Gm) -> F + Send + 'static,
        F: Future<Output = Result<T, String>> + Send + 'static,
    {
        let outcome = ResultSlot::default();
        let left = outcome.clone();
        let firmware = Arc::clone(&self.firmware);
        let config = self.configs[node].clone();
        self.world.nodes[node]
            .programs
            .spawn(name, move |machine| async move {
                let result = match boot(machine, &firmware, config).await {
                    Ok(gm) => program(gm).await,
                    Err(error) => Err(error),
                };
                left.set(result);
            });
        outcome
    }
}

/// Route byte back to the sender's own port of a crossbar.
pub(crate) const OWN_PORT: u8 = 0x80;

/// The routes from a node to all.
type Routes = Vec<Option<Vec<u8>>>;

/// Joins the nodes by one crossbar; returns the routes of each.
fn crossbar(
    world: &mut WorldBuilder,
    nodes: usize,
    profile: &Profile,
) -> Result<Vec<Routes>, GmWorldError> {
    let ports = crossbar_ports(nodes);
    let ports = ports.ok_or(GmWorldError::Nodes(nodes))?;
    let crossbar = CrossbarConfig::read(ports, &mut profile.reader())?;
    world.myrinet_star(crossbar, profile_cable(profile)?);
    let ways = routes::routes(&Topology::one_crossbar(ports, nodes))?;
    let route = |from, to| match to == from {
        // A crossbar returns a packet by a difference of 0.
        true => Some(vec![OWN_PORT]),
        false => ways.get(&(from, to)).cloned(),
    };
    let of = |from| (0..nodes).map(|to| route(from, to)).collect();
    Ok((0..nodes).map(of).collect())
}

/// Joins two nodes by a cable; returns the routes of each.
fn cables(
    world: &mut WorldBuilder,
    nodes: usize,
    profile: &Profile,
) -> Result<Vec<Routes>, GmWorldError> {
    if nodes > 2 {
        return Err(GmWorldError::Cable(nodes));
    }
    world.pairs(cable(profile)?);
    let of = |from| (0..nodes).map(|to| ethernet_route(from, to)).collect();
    Ok((0..nodes).map(of).collect())
}

fn boards_only(
    board: &'static BoardType,
    count: u16,
    image: &Image,
    profile: &Profile,
) -> Result<WorldBuilder, WorldError> {
    let probes = probes(image, &[]);
    let mut world = WorldBuilder::new();
    let sram_bytes = board.sram_bytes_for(Some(Protocol::Gm));
    for _ in 0..count {
        world.node(board, &parts(profile, Some(&probes), sram_bytes))?;
    }
    Ok(world)
}

/// Loads and starts the firmware, and waits for [`START`].
///
/// # Errors
/// If board or firmware fail to start.
pub async fn boot(machine: Machine, firmware: &Firmware, config: Config) -> Result<Gm, String> {
    let mut clock = machine.clone();
    let gm = Gm::start(
        machine.clone().into(),
        machine.into(),
        Some(firmware),
        config,
    )
    .await
    .map_err(|error| error.to_string())?;
    let rest = START.saturating_sub(SimTime::from_ps(clock.now_ps()));
    clock.compute(rest.ps() / 1000).await;
    Ok(gm)
}
