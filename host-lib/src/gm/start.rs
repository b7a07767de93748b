//! Start-up: reset, firmware, routes, host words (`defs::gm::map`).

use defs::gm::map::{
    COMMAND, COMMAND_START, FATAL_TICKS, GLOBALS, NODE, NODE_LIMIT, NODES, READ_BLOCKS, READY,
    READY_MAGIC, RESEND_TICKS, ROUTE_BYTES, ROUTE_LIMIT, ROUTE_VALID, ROUTES, SESSION, SRAM_BYTES,
    WRITE_BLOCKS,
};
use defs::gm::mapping::{MAP_VERSION, NO_NODE, OWN_HIGH, PROBES_TAKEN};

use super::Gm;
use super::config::Config;
use super::error::StartError;
use super::mapper::UniqueId;
use super::memory::Regions;
use super::port::{POLL_NS, POLLS};
use crate::firmware::Firmware;
use crate::lanai::LanaiBoard;
use crate::window::{System, Window};

impl<W: Window, S: System> Gm<W, S> {
    /// Starts GM on the board behind `window`, which must have no other user from now on.
    ///
    /// With a `firmware`, resets the LANai, loads the image and releases it; without, it expects a firmware that has just
    /// been started. Then it writes node, routes and settings. Each wait for the firmware ends after 200 ms.
    ///
    /// # Errors
    /// [`StartError`]: settings, image or firmware are not usable.
    #[doc(alias = "gm_init")]
    pub async fn start(
        window: W,
        mut system: S,
        firmware: Option<&Firmware>,
        config: Config,
    ) -> Result<Self, StartError> {
        check(&config)?;
        let mut board = LanaiBoard::new(window, config.family);
        if let Some(firmware) = firmware {
            boot(&mut board, firmware).await?;
        }
        let id = board.record().map(|record| UniqueId(record.address));
        await_word(&mut board, &mut system, READY, READY_MAGIC, "the start").await?;
        prepare_mapping(&mut board, id, &config).await;
        configure(&mut board, &config).await;
        await_word(&mut board, &mut system, COMMAND, 0, "the settings").await?;
        Ok(Self {
            board,
            system,
            node: config.node,
            nodes: config.routes.len() as u16,
            overhead_ns: config.overhead_ns,
            regions: Regions::default(),
            ports: Default::default(),
            next_send: 0,
        })
    }
}

fn check(config: &Config) -> Result<(), StartError> {
    let nodes = config.routes.len();
    let node = config.node;
    if nodes > NODE_LIMIT as usize {
        return Err(StartError::TooManyNodes { nodes });
    }
    if nodes == 0 && (u32::from(node) < NODE_LIMIT || u32::from(node) == NO_NODE) {
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

/// Resets the LANai, loads the image and lets it run.
async fn boot<W: Window>(board: &mut LanaiBoard<W>, firmware: &Firmware) -> Result<(), StartError> {
    for (address, bytes) in &firmware.segments {
        let (address, length_bytes) = (*address, bytes.len());
        if u64::from(address) + length_bytes as u64 > u64::from(GLOBALS) {
            return Err(StartError::Image {
                address,
                length_bytes,
            });
        }
    }
    let sram_bytes = board.reset().await?.sram_bytes;
    if sram_bytes < SRAM_BYTES {
        return Err(StartError::Sram { sram_bytes });
    }
    board.load(firmware).await?;
    // SRAM survives a reset: clear the words of an earlier run.
    board.write_sram(READY, 0).await;
    board.write_sram(COMMAND, 0).await;
    board.write_sram(PROBES_TAKEN, 0).await;
    board.write_sram(MAP_VERSION, 0).await;
    board.set_chain(0, WRITE_BLOCKS).await;
    board.set_chain(2, READ_BLOCKS).await;
    board.release().await;
    Ok(())
}

/// Words of a route's entry: the route ends where the entry ends.
fn entry(route: Option<&Vec<u8>>) -> [u32; ROUTE_BYTES as usize / 4] {
    let mut bytes = [0; ROUTE_BYTES as usize];
    if let Some(route) = route {
        let first = ROUTE_VALID | route.len() as u32;
        bytes[..4].copy_from_slice(&first.to_be_bytes());
        bytes[ROUTE_BYTES as usize - route.len()..].copy_from_slice(route);
    }
    let mut words = [0; ROUTE_BYTES as usize / 4];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    words
}

/// Writes the own id, and for a node that gets its routes from a mapper a table without any.
async fn prepare_mapping<W: Window>(
    board: &mut LanaiBoard<W>,
    id: Option<UniqueId>,
    config: &Config,
) {
    // A node whose EEPROM was not read is told apart by its number.
    let id = id.unwrap_or(UniqueId([
        0,
        0,
        0,
        0,
        (config.node >> 8) as u8,
        config.node as u8,
    ]));
    board.write_sram_burst(OWN_HIGH, &id.words()).await;
    if config.routes.is_empty() {
        for node in 0..NODE_LIMIT {
            board.write_sram(ROUTES + node * ROUTE_BYTES, 0).await;
        }
    }
}

/// Writes everything that the firmware needs.
async fn configure<W: Window>(board: &mut LanaiBoard<W>, config: &Config) {
    for (at, route) in (ROUTES..).step_by(ROUTE_BYTES as usize).zip(&config.routes) {
        board.write_sram_burst(at, &entry(route.as_ref())).await;
    }
    for (address, value) in [
        (NODE, config.node.into()),
        (NODES, config.routes.len() as u32),
        (SESSION, config.session.into()),
        (RESEND_TICKS, config.resend_ticks),
        (FATAL_TICKS, config.fatal_ticks),
        (COMMAND, COMMAND_START),
    ] {
        board.write_sram(address, value).await;
    }
}

/// Polls an SRAM word until it is `expected`.
async fn await_word<W: Window, S: System>(
    board: &mut LanaiBoard<W>,
    system: &mut S,
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
