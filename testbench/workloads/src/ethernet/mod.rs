//! Frames between two nodes, whose boards run the Ethernet firmware for any number of CPUs (`host_lib::ethernet`): as fast as it goes, or at
//! a fixed interval. Bytes and order of all frames are checked.
//!
//! The host's work for frames takes no time but for its accesses to the board, so that it does not limit.

mod engine;
mod keys;
mod summary;
mod workload;

use host_lib::ethernet::Ordering;
use lanigon_worlds::nodes::mac_address;
use lanigon_worlds::programs::content::{self, Flow};

pub use engine::EthernetRecords;
pub use summary::{EthernetUse, WayUse};
pub use workload::KIND;

/// Bytes of the check sequence, which boards append.
const FCS_BYTES: u32 = 4;
/// Bytes of the two addresses and the type.
const HEADER_BYTES: u32 = 14;
/// Type of the frames: local experiments (IEEE 802).
const ETHER_TYPE: [u8; 2] = [0x88, 0xB5];

/// EthernetSettings of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EthernetSettings {
    /// Both nodes send.
    pub both: bool,
    /// Frames of each sender.
    pub frames: u32,
    /// Bytes of a frame with FCS.
    pub bytes: u32,
    /// Time from one frame to the next, in ns; 0: as fast as it goes.
    pub interval_ns: u64,
    /// Way to restore the order of frames on the board.
    pub ordering: Ordering,
    /// Most frames that a CPU takes at a time.
    pub batch: u32,
}

/// Sender and receiver of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The sender.
    pub from: u16,
    /// The receiver.
    pub to: u16,
}

impl Way {
    /// Frame number `sequence`, without FCS.
    #[must_use]
    pub fn frame(self, seed: u64, sequence: u32, settings: &EthernetSettings) -> Vec<u8> {
        let flow = Flow {
            from: self.from,
            to: self.to,
            tag: 0,
            life: 0,
        };
        let length = settings.bytes.saturating_sub(HEADER_BYTES + FCS_BYTES);
        let mut bytes = Vec::with_capacity(settings.bytes as usize);
        bytes.extend(mac_address(self.to).0);
        bytes.extend(mac_address(self.from).0);
        bytes.extend(ETHER_TYPE);
        bytes.extend(content::bytes(seed, flow, sequence, length));
        bytes
    }
}

/// Number that a frame says it has.
fn sequence_of(bytes: &[u8]) -> Option<u32> {
    let word = bytes.get(HEADER_BYTES as usize..)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}
