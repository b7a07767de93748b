//! A node's settings for its firmware.

use defs::emp::control;
use defs::emp::frame::{ETHERNET_BYTES, MINIMUM_FRAME_BYTES};

use super::error::ConfigError;
use super::settings::{ReceiveTimeout, Settings};
use crate::address::MacAddress;

/// Shortest frame payload: a shorter one would be padded on the wire.
pub const MINIMUM_FRAME_PAYLOAD_BYTES: u32 = MINIMUM_FRAME_BYTES - ETHERNET_BYTES;
/// Longest frame payload: a jumbo frame's.
pub const MAXIMUM_FRAME_PAYLOAD_BYTES: u32 = 9000;

/// Settings of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Own node number: an index into `routes`.
    pub node: u16,
    /// The Ethernet address of every node, in the order of their numbers.
    pub routes: Vec<MacAddress>,
    /// Epoch of this run, which distinguishes its frames from those of earlier runs. Each start of the node
    /// needs a later epoch (epochs wrap: later means by less than 0x8000). Peers that keep running take a
    /// node with an unchanged epoch for the earlier run, and its messages for duplicates.
    pub epoch: u16,
    /// Frames that one acknowledgment covers: 1 to 16.
    pub ack_group: u32,
    /// Ethernet payload of a frame, in bytes: [`MINIMUM_FRAME_PAYLOAD_BYTES`] to
    /// [`MAXIMUM_FRAME_PAYLOAD_BYTES`].
    pub frame_bytes: u32,
    /// First retransmission timeout, in microseconds
    /// ([`TIMEOUT_US_RANGE`](super::TIMEOUT_US_RANGE)). It doubles with each retry, up to 16 times the
    /// first.
    pub timeout_us: u32,
    /// Retransmissions of a group before its message fails:
    /// [`MAXIMUM_RETRY_LIMIT`](super::MAXIMUM_RETRY_LIMIT) at most.
    pub retry_limit: u32,
    /// Whether senders slow down for receivers that are short of buffer space. Off by default: dropping and
    /// retransmitting is faster.
    pub flow_control: bool,
    /// Timeout of a partly filled receive whose sender is silent.
    pub receive_timeout: ReceiveTimeout,
    /// Processor time of the library's own instructions in each post, in nanoseconds.
    pub post_overhead_ns: u64,
}

impl Config {
    /// The default settings of the control block, for node `node` of `routes`.
    #[must_use]
    pub const fn new(node: u16, routes: Vec<MacAddress>) -> Self {
        Self {
            node,
            routes,
            epoch: 1,
            ack_group: control::DEFAULT_ACK_GROUP,
            frame_bytes: control::DEFAULT_FRAME_BYTES,
            timeout_us: control::DEFAULT_TIMEOUT_US,
            retry_limit: control::DEFAULT_RETRY_LIMIT,
            flow_control: false,
            receive_timeout: ReceiveTimeout::SenderGone,
            post_overhead_ns: 0,
        }
    }

    /// Checks the settings; returns the own Ethernet address.
    pub(super) fn check(&self) -> Result<MacAddress, ConfigError> {
        Settings::from(self).check()?;
        let payload = MINIMUM_FRAME_PAYLOAD_BYTES..=MAXIMUM_FRAME_PAYLOAD_BYTES;
        if !payload.contains(&self.frame_bytes) {
            return Err(ConfigError::FrameBytes {
                frame_bytes: self.frame_bytes,
            });
        }
        self.routes
            .get(usize::from(self.node))
            .copied()
            .ok_or(ConfigError::Node {
                node: self.node,
                nodes: self.routes.len(),
            })
    }
}
