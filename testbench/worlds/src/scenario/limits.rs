//! Limits of messages, by protocol.

use defs::emp::descriptor::MESSAGE_LIMIT_BYTES;
use defs::gm::packet::capacity;
use defs::gm::port::{RECEIVE_TOKENS, SEND_TOKENS};

use super::error::ScenarioError;
use super::nodes::Nodes;
use super::programs::{DEFAULT_WINDOW, ProgramSpec};
use super::table::Item;
use crate::boards::Protocol;
use crate::programs::fm_traffic;
use crate::programs::plan::{most_receives, most_transmits};

/// Longest message of a program over GM: buffers of 16 MB.
const GM_LIMIT_BYTES: u32 = capacity(24);

/// Limits of a program's messages: those of its nodes' protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits(Protocol);

impl Limits {
    pub(super) fn of(spec: &ProgramSpec, nodes: &Nodes) -> Self {
        let of = |protocol| {
            let mut all = spec.nodes().into_iter();
            all.any(|node| nodes.all[node].protocol == Some(protocol))
        };
        let found = [Protocol::Gm, Protocol::Fm]
            .into_iter()
            .find(|&protocol| of(protocol));
        Self(found.unwrap_or(Protocol::Emp))
    }

    /// The length of a message.
    pub(super) fn length(self, item: &Item<'_>) -> Result<u32, ScenarioError> {
        let most = match self.0 {
            Protocol::Emp | Protocol::Acenic => MESSAGE_LIMIT_BYTES,
            Protocol::Gm => GM_LIMIT_BYTES,
            Protocol::Fm => fm_traffic::LONGEST_BYTES,
        };
        item.integer(0..=u64::from(most))
    }

    /// Largest number of posted transmits of this length.
    pub(super) const fn transmits(self, length: u32) -> usize {
        match self.0 {
            Protocol::Emp | Protocol::Acenic => most_transmits(length),
            Protocol::Gm => SEND_TOKENS as usize,
            // FM returns from a send when the board has it: one message at a time.
            Protocol::Fm => DEFAULT_WINDOW,
        }
    }

    /// Largest number of posted receives of this length.
    pub(super) const fn receives(self, length: u32) -> usize {
        match self.0 {
            Protocol::Emp | Protocol::Acenic => most_receives(length),
            Protocol::Gm => RECEIVE_TOKENS as usize,
            // FM has no posted receives.
            Protocol::Fm => 1,
        }
    }
}
