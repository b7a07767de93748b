//! FM 2.1 with multi-send on boards with a LANai 4 (docs/fm.md): streams of packets, handlers, credits.
//!
//! | FM | here |
//! |----|------|
//! | `FM_initialize` | [`Fm::start`] |
//! | `FM_begin_message`, `FM_send_piece`, `FM_end_message` | [`Fm::begin_message`], [`Fm::send_piece`], [`Fm::end_message`] |
//! | `FM_begin_message_multi`, `FM_unsafe_begin_message_multi` | [`Fm::begin_message_multi`], [`Fm::unsafe_begin_message_multi`] |
//! | `FM_extract` | [`Fm::extract`], which calls handlers ([`Fm::set_handler`]) |
//!
//! A node that sends what it gets to two others:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use host_lib::fm::Fm;
//!
//! async fn forward(fm: &mut Fm) -> Result<(), Box<dyn std::error::Error>> {
//!     let message = Arc::new(Mutex::new(Vec::new()));
//!     let filled = Arc::clone(&message);
//!     fm.set_handler(1, move |piece| {
//!         if let Ok(mut message) = filled.lock() {
//!             message.extend(piece.bytes);
//!         }
//!     });
//!     fm.wait(None).await?;
//!     fm.extract(u32::MAX).await?;
//!
//!     let message = message.lock().map(|message| message.clone()).unwrap_or_default();
//!     let mut stream = fm.begin_message_multi(&[4, 5], message.len() as u32, 1).await?;
//!     fm.send_piece(&mut stream, &message).await?;
//!     fm.end_message(stream).await?;
//!     Ok(())
//! }
//! ```

mod config;
mod credit;
mod error;
mod extract;
pub mod multicast;
pub mod predict;
mod start;
mod stream;
#[cfg(test)]
mod tests;
pub mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use defs::fm::map::{COUNTERS, Counter};

use crate::lanai::LanaiBoard;
use crate::window::{AnySystem, SystemPort};

pub use config::{Config, MOST_CREDITS, USUAL_CREDITS};
pub use error::{ReceiveError, SendError, StartError};
pub use extract::Piece;
pub use stream::SendStream;

use credit::Peer;
use extract::{Handler, PacketRing, PartialMessage};
use stream::Slots;

/// FM on one node.
pub struct Fm {
    board: LanaiBoard,
    system: AnySystem,
    config: Config,
    peers: Vec<Peer>,
    ring: PacketRing,
    slots: Slots,
    handlers: BTreeMap<u16, Handler>,
    /// Messages of which a part has come: by sender and number.
    streams: BTreeMap<(u8, u16), PartialMessage>,
    /// Every open stream with a lock has a share of it.
    lock: Arc<()>,
    next_message: u16,
}

impl std::fmt::Debug for Fm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fm")
            .field("node", &self.config.node)
            .field("peers", &self.peers)
            .finish_non_exhaustive()
    }
}

impl Fm {
    /// The own node.
    #[must_use]
    #[doc(alias = "FM_nodeid")]
    pub const fn node(&self) -> u16 {
        self.config.node
    }

    /// Number of nodes.
    #[must_use]
    #[doc(alias = "FM_numnodes")]
    pub const fn nodes(&self) -> u16 {
        self.peers.len() as u16
    }

    /// The machine that the library runs on.
    pub fn system(&mut self) -> &mut dyn SystemPort {
        &mut *self.system
    }

    /// Reads a counter of the firmware.
    pub async fn counter(&mut self, counter: Counter) -> u32 {
        self.board.read_sram(COUNTERS + 4 * counter as u32).await
    }

    /// Whether a stream with a lock is open.
    fn is_locked(&self) -> bool {
        Arc::strong_count(&self.lock) > 1
    }
}
