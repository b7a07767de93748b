//! Settings of EMP.

use defs::emp::control;
use defs::gm::layout::Layout;
use host_lib::emp::{Config, ReceiveTimeout};

use super::error::{Position, ScenarioError};
use super::nodes::Node;
use super::programs::ProgramSpec;
use super::table::Table;
use crate::boards::Protocol;

/// EMP settings of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmpSettings {
    /// Frames that one acknowledgment covers.
    pub ack_group: u32,
    /// Ethernet payload of a frame, in bytes.
    pub frame_bytes: u32,
    /// First retransmission timeout, in us.
    pub timeout_us: u32,
    /// Retransmissions before a message fails.
    pub retry_limit: u32,
    /// Whether senders slow down for receivers that are short of buffer space.
    pub flow_control: bool,
    /// Timeout of a partly filled receive.
    pub receive_timeout: ReceiveTimeout,
}

impl Default for EmpSettings {
    fn default() -> Self {
        Self {
            ack_group: control::DEFAULT_ACK_GROUP,
            frame_bytes: control::DEFAULT_FRAME_BYTES,
            timeout_us: control::DEFAULT_TIMEOUT_US,
            retry_limit: control::DEFAULT_RETRY_LIMIT,
            flow_control: false,
            receive_timeout: ReceiveTimeout::SenderGone,
        }
    }
}

impl EmpSettings {
    /// Copies the settings into a node's configuration.
    pub const fn apply(&self, config: &mut Config) {
        config.ack_group = self.ack_group;
        config.frame_bytes = self.frame_bytes;
        config.timeout_us = self.timeout_us;
        config.retry_limit = self.retry_limit;
        config.flow_control = self.flow_control;
        config.receive_timeout = self.receive_timeout;
    }

    /// These settings with the changes of a table.
    pub(super) fn read(self, table: Option<Table<'_>>) -> Result<Self, ScenarioError> {
        let Some(mut table) = table else {
            return Ok(self);
        };
        let settings = Self {
            ack_group: table.integer("ack_group", self.ack_group)?,
            frame_bytes: table.integer("frame_bytes", self.frame_bytes)?,
            timeout_us: table.integer("timeout_us", self.timeout_us)?,
            retry_limit: table.integer("retry_limit", self.retry_limit)?,
            flow_control: table.flag("flow_control", self.flow_control)?,
            receive_timeout: match table.get("receive_timeout_us") {
                Some(item) => match item.whole()? {
                    0 => ReceiveTimeout::Never,
                    us => ReceiveTimeout::AfterUs(us),
                },
                None => self.receive_timeout,
            },
        };
        table.finish()?;
        Ok(settings)
    }
}

/// Most nodes of a network with EMP: the entries of a board's route table.
const MOST_EMP_NODES: usize = control::ROUTE_TABLE_ENTRIES as usize;

/// Checks that a board with EMP has routes to all nodes; `place` is that of their number.
pub(super) fn check_nodes(
    nodes: &[Node],
    programs: &[ProgramSpec],
    place: &Position,
) -> Result<(), ScenarioError> {
    // A node without a program starts its firmware too.
    let uses_emp = programs.iter().any(ProgramSpec::uses_protocol)
        && nodes
            .iter()
            .any(|node| node.protocol == Some(Protocol::Emp));
    if nodes.len() <= MOST_EMP_NODES || !uses_emp {
        return Ok(());
    }
    Err(place.refuse(format!(
        "{} nodes are more than the {MOST_EMP_NODES} of EMP's route table: with protocol = \"gm\" up to {}",
        nodes.len(),
        Layout::USUAL.nodes()
    )))
}
