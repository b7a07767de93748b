//! Start-up: reset, firmware, routes, receive queue, the host's words (`defs::fm::map`).

use std::sync::Arc;

use defs::fm::map::{
    COMMAND, COMMAND_START, CREDITS, GLOBALS, NODE, NODE_LIMIT, NODES, READY, READY_MAGIC, RING,
    RING_END, ROUTE_LIMIT, ROUTE_WORDS, SRAM_BYTES, route,
};
use defs::fm::ring::SLOT_BYTES;

use super::config::{Config, MOST_CREDITS};
use super::credit::Peer;
use super::error::StartError;
use super::extract::PacketRing;
use super::stream::Slots;
use super::{Fm, StartError as Error};
use crate::firmware::{Firmware, words};
use crate::lanai::{Family, LanaiBoard};
use crate::window::{AnySystem, AnyWindow, PhysicalAddress, System};

/// Poll interval while the firmware starts, in nanoseconds.
const POLL_NS: u64 = 20_000;
/// Largest number of polls: 200 ms in all.
const POLLS: u32 = 10_000;

impl Fm {
    /// Starts FM on the board behind `window`, which must have no other user from now on: resets the board, loads the image, lets it
    /// run, and writes node and routes. Each wait for the firmware ends after 200 ms.
    ///
    /// # Errors
    /// [`StartError`]: settings, image or firmware are not usable.
    #[doc(alias = "FM_initialize")]
    pub async fn start(
        window: AnyWindow,
        mut system: AnySystem,
        firmware: &Firmware,
        config: Config,
    ) -> Result<Self, StartError> {
        check(&config)?;
        let mut board = LanaiBoard::new(window, Family::Four);
        boot(&mut board, firmware).await?;
        await_word(&mut board, &mut system, READY, READY_MAGIC, "the start").await?;
        let nodes = config.routes.len() as u32;
        // A slot for each credit; a node alone has one.
        let slots = u32::from(config.credits) * (nodes - 1).max(1);
        let ring_bytes = u64::from(slots) * u64::from(SLOT_BYTES);
        let bytes = ring_bytes + u64::from(4 * nodes);
        let memory = system.allocate_contiguous(bytes);
        let (virtual_start, physical) = memory.ok_or(Error::NoMemory { bytes })?;
        let low = below_4_gb(physical, bytes)?;
        for (node, route) in (0..).zip(&config.routes) {
            write_route(&mut board, node, route.as_deref()).await;
        }
        for (address, value) in [
            (NODE, config.node.into()),
            (NODES, nodes),
            (RING, low),
            (RING_END, low + ring_bytes as u32),
            (CREDITS, low + ring_bytes as u32),
            (COMMAND, COMMAND_START),
        ] {
            board.write_sram(address, value).await;
        }
        await_word(&mut board, &mut system, COMMAND, 0, "the settings").await?;
        Ok(Self {
            board,
            system,
            peers: vec![Peer::default(); config.routes.len()],
            ring: PacketRing::new(virtual_start, slots),
            slots: Slots::default(),
            handlers: Default::default(),
            streams: Default::default(),
            lock: Arc::new(()),
            next_message: 0,
            config,
        })
    }
}

fn check(config: &Config) -> Result<(), StartError> {
    let (node, nodes) = (config.node, config.routes.len());
    if nodes > NODE_LIMIT as usize {
        return Err(StartError::TooManyNodes { nodes });
    }
    if usize::from(node) >= nodes {
        return Err(StartError::Node { node, nodes });
    }
    let credits = config.credits;
    if !(1..=MOST_CREDITS).contains(&credits) {
        return Err(StartError::Credits { credits });
    }
    for (node, route) in config.routes.iter().enumerate() {
        let length_bytes = route.as_ref().map_or(0, Vec::len);
        if length_bytes > ROUTE_LIMIT as usize {
            return Err(StartError::LongRoute { node, length_bytes });
        }
    }
    Ok(())
}

/// The lower half of the address of memory that the board can reach.
fn below_4_gb(start: PhysicalAddress, bytes: u64) -> Result<u32, StartError> {
    let last = start.0.checked_add(bytes);
    match (u32::try_from(start.0), last.map(u32::try_from)) {
        (Ok(low), Some(Ok(_))) => Ok(low),
        _ => Err(StartError::NoMemory { bytes }),
    }
}

async fn boot(board: &mut LanaiBoard, firmware: &Firmware) -> Result<(), StartError> {
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
    for word in [READY, COMMAND] {
        board.write_sram(word, 0).await;
    }
    board.release().await;
    Ok(())
}

/// The words of a route, which end where a header begins.
pub(super) fn route_words(route: &[u8]) -> Vec<u32> {
    let mut bytes = vec![0; route.len().next_multiple_of(4) - route.len()];
    bytes.extend(route);
    words(&bytes)
}

async fn write_route(board: &mut LanaiBoard, node: u8, way: Option<&[u8]>) {
    let way = way.unwrap_or(&[]);
    let words = route_words(way);
    let entry = route(node);
    let end = entry + ROUTE_WORDS + ROUTE_LIMIT;
    board.write_sram(entry, way.len() as u32).await;
    if !words.is_empty() {
        let start = end - 4 * words.len() as u32;
        board.write_sram_burst(start, &words).await;
    }
}

/// Polls an SRAM word until it is `expected`.
async fn await_word(
    board: &mut LanaiBoard,
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
