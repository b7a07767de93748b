//! Pairs of nodes on which EMP programs run.

use std::future::Future;
use std::sync::Arc;

use emulator::host::machine::Machine;
use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::ethernet::switch::SwitchConfig;
use host_lib::emp::{Buffer, Config, Emp};
use host_lib::firmware::Firmware;
use host_lib::window::{System, SystemPort};

use crate::boards;
use crate::builder::{WorldBuilder, WorldError};
use crate::end::ResultSlot;
use crate::images::firmware;
use crate::nodes::{START, StageFactors, cable, mac_address, parts, probes};

/// Directly connected pairs of nodes for EMP programs. Within its pair a node is number 0 or 1.
#[derive(Debug)]
pub struct EmpPairs {
    /// The world: nodes 0 and 1 are a pair, 2 and 3, ...
    pub world: World,
    firmware: Arc<Firmware>,
    configs: Vec<Config>,
}

impl EmpPairs {
    /// One pair with boards of the EMP thesis, this image and profile; `factors` stretch stages.
    ///
    /// # Errors
    /// If the cable cannot be connected.
    pub fn one(
        image: &Image,
        profile: &Profile,
        factors: &StageFactors,
    ) -> Result<Self, WorldError> {
        Self::new(1, sram_bytes(profile), image, profile, factors)
    }

    /// One pair with a switch between its nodes, on ports 0 and 1.
    ///
    /// # Errors
    /// If the switch is invalid.
    pub fn switched(
        image: &Image,
        profile: &Profile,
        factors: &StageFactors,
        config: &SwitchConfig,
    ) -> Result<Self, WorldError> {
        let mut world = nodes(1, sram_bytes(profile), image, profile, factors)?;
        world.star(config.clone(), cable(profile)?);
        Ok(Self::pairs_of(world.build()?, image, profile))
    }

    /// Creates several pairs.
    ///
    /// # Errors
    /// If the cables cannot be connected.
    pub fn new(
        pairs: u16,
        sram_bytes: u32,
        image: &Image,
        profile: &Profile,
        factors: &StageFactors,
    ) -> Result<Self, WorldError> {
        let mut world = nodes(pairs, sram_bytes, image, profile, factors)?;
        world.pairs(cable(profile)?);
        Ok(Self::pairs_of(world.build()?, image, profile))
    }

    /// Pairs of this world's nodes.
    fn pairs_of(world: World, image: &Image, profile: &Profile) -> Self {
        let config = |index: u16| {
            let first = index & !1;
            let routes = vec![mac_address(first), mac_address(first + 1)];
            let mut config = Config::new(index & 1, routes);
            config.post_overhead_ns = profile.host.post.ps() / 1000;
            config
        };
        Self {
            firmware: Arc::new(firmware(image)),
            configs: (0..world.nodes.len() as u16).map(config).collect(),
            world,
        }
    }

    /// Settings of a node, for changes before its program is spawned.
    pub fn config_mut(&mut self, node: usize) -> &mut Config {
        &mut self.configs[node]
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
        P: FnOnce(Emp) -> F + Send + 'static,
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
                    Ok(emp) => program(emp).await,
                    Err(error) => Err(error),
                };
                left.set(result);
            });
        outcome
    }
}

/// Pairs of nodes without cables.
fn nodes(
    pairs: u16,
    sram_bytes: u32,
    image: &Image,
    profile: &Profile,
    factors: &StageFactors,
) -> Result<WorldBuilder, WorldError> {
    let probes = probes(image, factors);
    let mut world = WorldBuilder::new();
    for _ in 0..pairs.saturating_mul(2) {
        world.node(
            boards::for_profile(profile),
            &parts(profile, Some(&probes), sram_bytes),
        )?;
    }
    Ok(world)
}

/// SRAM of the boards of a scenario with this profile.
fn sram_bytes(profile: &Profile) -> u32 {
    boards::for_profile(profile).scenario_sram_bytes
}

/// Loads and starts the firmware, and waits for [`START`].
///
/// # Errors
/// If board or firmware fail to start.
pub async fn boot(machine: Machine, firmware: &Firmware, config: Config) -> Result<Emp, String> {
    let mut clock = machine.clone();
    let emp = Emp::start(
        machine.clone().into(),
        machine.into(),
        Some(firmware),
        config,
    )
    .await
    .map_err(|error| error.to_string())?;
    let rest = START.saturating_sub(SimTime::from_ps(clock.now_ps()));
    clock.compute(rest.ps() / 1000).await;
    Ok(emp)
}

/// Allocates a buffer of `length` bytes (at least one page) in the program's memory.
///
/// # Errors
/// If host memory is exhausted.
pub fn buffer(emp: &mut Emp, length: u32) -> Result<Buffer, String> {
    let address = emp
        .system_mut()
        .allocate(u64::from(length.max(1)))
        .ok_or("host memory is exhausted")?;
    Ok(Buffer { address, length })
}

/// An error as text.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
