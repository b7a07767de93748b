//! Start-up: reset, firmware, routes, host words (`defs::gm::map`).

use defs::gm::layout::{LARGE_NODE_LIMIT, Layout};
use defs::gm::map::{
    COLLECTIVE_TICKS, COMMAND, COMMAND_START, FATAL_TICKS, NODE, NODES, PAGE_TABLE_HIGH,
    PAGE_TABLE_LOW, PAGE_TABLE_MASK, PEER_ROUTE, READY, RESEND_TICKS, ROUTE_LIMIT, ROUTE_VALID,
    ROUTE_WORDS, SESSION,
};
use defs::gm::mapping::{NO_NODE, OWN_HIGH, PEER_LIMIT};
use defs::gm::port::PORT_COUNT;

use super::Gm;
use super::board::Board;
use super::config::Config;
use super::driver::Driver;
use super::error::StartError;
use super::mapper::UniqueId;
use super::memory::Regions;
use super::port::{POLL_NS, POLLS};
use super::table::PageTable;
use crate::firmware::Firmware;
use crate::window::{AnySystem, AnyWindow, System};

impl Gm {
    /// Starts GM on the board behind `window`, which must have no other user from now on.
    ///
    /// With a `firmware`, resets the board, loads the image and lets it run; without, it expects a firmware that has just
    /// been started. Then it writes node, routes and settings. Each wait for the firmware ends after 200 ms.
    ///
    /// # Errors
    /// [`StartError`]: settings, image or firmware are not usable.
    #[doc(alias = "gm_init")]
    pub async fn start(
        window: AnyWindow,
        mut system: AnySystem,
        firmware: Option<&Firmware>,
        config: Config,
    ) -> Result<Self, StartError> {
        check(&config)?;
        let mut board = Board::new(window, config.family);
        if let Some(firmware) = firmware {
            board.boot(firmware, config.routes.len() as u32).await?;
        }
        let layout = await_layout(&mut board, &mut system).await?;
        check_nodes(&config, layout)?;
        board.check_layout(layout, config.routes.len() as u32)?;
        let (id, limit) = board.identity(layout);
        let table = PageTable::new(&mut system, config.page_buckets);
        let table = table.ok_or(StartError::NoMemory)?;
        prepare_mapping(&mut board, layout, (id, limit), &config).await;
        let has_collectives = board.has_collectives(layout);
        configure(&mut board, layout, &config, &table).await;
        await_word(&mut board, &mut system, COMMAND, 0, "the settings").await?;
        board.enable_interrupts().await;
        Ok(Self {
            board,
            system,
            layout,
            driver: Driver::new(table),
            process: 0,
            family: config.family,
            node: config.node,
            nodes: config.routes.len() as u16,
            overhead_ns: config.overhead_ns,
            regions: Regions::default(),
            ports: Default::default(),
            next_send: 0,
            next_alarm: 0,
            has_collectives,
            vectors: None,
        })
    }

    /// Another process of this host, which uses the same board: it registers memory and opens ports of its own. The board lets
    /// none of them use the memory or the ports of another one.
    ///
    /// # Errors
    /// [`StartError::Processes`]: there are as many as ports.
    pub fn process(&self, window: AnyWindow, system: AnySystem) -> Result<Gm, StartError> {
        let mut state = self.driver.lock();
        let process = state.processes;
        if u32::from(process) >= PORT_COUNT {
            return Err(StartError::Processes);
        }
        state.processes += 1;
        drop(state);
        Ok(Gm {
            board: self.board.process(window, process),
            system,
            layout: self.layout,
            driver: self.driver.clone(),
            process,
            family: self.family,
            node: self.node,
            nodes: self.nodes,
            overhead_ns: self.overhead_ns,
            regions: Regions::default(),
            ports: Default::default(),
            next_send: 0,
            next_alarm: 0,
            has_collectives: self.has_collectives,
            vectors: None,
        })
    }

    /// Sets the way to a node: route bytes, or `None` if it cannot be reached any more. Packets that are under way are sent
    /// again over the new route.
    pub async fn set_route(&mut self, node: u16, route: Option<&[u8]>) {
        if node < self.nodes {
            write_route(&mut self.board, self.layout, node, route).await;
        }
    }
}

fn check(config: &Config) -> Result<(), StartError> {
    let nodes = config.routes.len();
    let node = config.node;
    let buckets = config.page_buckets;
    if !buckets.is_power_of_two() || buckets > 1 << 20 {
        return Err(StartError::PageTable { buckets });
    }
    if nodes > LARGE_NODE_LIMIT as usize {
        let limit = LARGE_NODE_LIMIT;
        return Err(StartError::TooManyNodes { nodes, limit });
    }
    if nodes == 0 && (u32::from(node) < LARGE_NODE_LIMIT || u32::from(node) == NO_NODE) {
        return Ok(());
    }
    if usize::from(node) >= nodes {
        return Err(StartError::Node { node, nodes });
    }
    for (node, route) in config.routes.iter().enumerate() {
        let length_bytes = route.as_ref().map_or(0, Vec::len);
        if length_bytes > ROUTE_LIMIT as usize {
            return Err(StartError::LongRoute { node, length_bytes });
        }
    }
    Ok(())
}

/// Checks that the firmware has room for the nodes.
fn check_nodes(config: &Config, layout: &Layout) -> Result<(), StartError> {
    let nodes = config.routes.len();
    let limit = layout.nodes();
    if nodes > limit as usize {
        return Err(StartError::TooManyNodes { nodes, limit });
    }
    Ok(())
}

/// Waits for the start of the firmware, which tells its layout.
async fn await_layout(
    board: &mut Board,
    system: &mut AnySystem,
) -> Result<&'static Layout, StartError> {
    for _ in 0..POLLS {
        let ready = board.read_sram(READY).await;
        if let Some(layout) = Layout::of_ready(ready) {
            return Ok(layout);
        }
        system.compute(POLL_NS).await;
    }
    Err(StartError::Silent {
        waited_for: "the start",
        polls: POLLS,
    })
}

/// Writes the route to a node. Its first word is valid last.
async fn write_route(board: &mut Board, layout: &Layout, node: u16, route: Option<&[u8]>) {
    let at = layout.peer(node.into());
    let mut bytes = [0; ROUTE_LIMIT as usize];
    for (to, from) in bytes
        .iter_mut()
        .rev()
        .zip(route.unwrap_or(&[]).iter().rev())
    {
        *to = *from;
    }
    for (part, place) in bytes.rchunks_exact(4).zip(ROUTE_WORDS) {
        let word = part
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
        board.write_sram(at + place, word).await;
    }
    let valid = match route {
        Some(route) => ROUTE_VALID | route.len() as u32,
        None => 0,
    };
    board.write_sram(at + PEER_ROUTE, valid).await;
}

/// Writes the own id, and for a node that gets its routes from a mapper a table without any.
async fn prepare_mapping(
    board: &mut Board,
    layout: &Layout,
    (id, limit): (Option<UniqueId>, u32),
    config: &Config,
) {
    // A node whose EEPROM was not read is told apart by its number.
    let [high, low] = config.node.to_be_bytes();
    let id = id.unwrap_or(UniqueId([0, 0, 0, 0, high, low]));
    board.write_sram_burst(OWN_HIGH, &id.words()).await;
    board.write_sram(PEER_LIMIT, limit).await;
    if config.routes.is_empty() {
        for node in 0..limit {
            board.write_sram(layout.peer(node) + PEER_ROUTE, 0).await;
        }
    }
}

/// Writes everything that the firmware needs.
async fn configure(board: &mut Board, layout: &Layout, config: &Config, table: &PageTable) {
    board.configure(&config.routes).await;
    let collective_ticks = match board.has_collectives(layout) {
        true => config.collective_ticks.max(1),
        false => 0,
    };
    for (node, route) in (0..).zip(config.routes.iter()) {
        write_route(board, layout, node, route.as_deref()).await;
    }
    for (address, value) in [
        (NODE, config.node.into()),
        (NODES, config.routes.len() as u32),
        (SESSION, config.session.into()),
        (RESEND_TICKS, config.resend_ticks),
        (FATAL_TICKS, config.fatal_ticks),
        (COLLECTIVE_TICKS, collective_ticks),
        (PAGE_TABLE_HIGH, (table.physical.0 >> 32) as u32),
        (PAGE_TABLE_LOW, table.physical.0 as u32),
        (PAGE_TABLE_MASK, table.mask),
        (COMMAND, COMMAND_START),
    ] {
        board.write_sram(address, value).await;
    }
}

/// Polls an SRAM word until it is `expected`.
async fn await_word(
    board: &mut Board,
    system: &mut AnySystem,
    address: u32,
    expected: u32,
    waited_for: &'static str,
) -> Result<(), StartError> {
    for _ in 0..POLLS {
        if board.read_sram(address).await == expected {
            return Ok(());
        }
        system.compute(POLL_NS).await;
    }
    Err(StartError::Silent {
        waited_for,
        polls: POLLS,
    })
}
