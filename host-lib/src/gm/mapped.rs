//! Nodes that get their routes from a mapper: a host program that explores the network and sends routes to all nodes. The firmware writes the
//! node's number and the number of nodes to SRAM before it sets [`MAP_VERSION`].

use defs::gm::map::{NODE, NODES};
use defs::gm::mapping::MAP_VERSION;

use super::Gm;
use super::error::StartError;
use super::port::POLL_NS;
use crate::window::System;

impl Gm {
    /// Waits until a mapper has given routes to all nodes; takes over the own number and the number of nodes. Returns the version
    /// of the routes. With routes in its [`Config`](super::Config) a node need not wait.
    ///
    /// # Errors
    /// [`StartError::Silent`] after `timeout_ns`.
    pub async fn await_map(&mut self, timeout_ns: u64) -> Result<u32, StartError> {
        let (begin_ps, mut polls) = (self.system.now_ps(), 0);
        loop {
            let version = self.board.read_sram(MAP_VERSION).await;
            if version != 0 {
                self.take_numbers().await;
                return Ok(version);
            }
            polls += 1;
            if (self.system.now_ps() - begin_ps) / 1000 >= timeout_ns {
                let waited_for = "the routes of a mapper";
                return Err(StartError::Silent { waited_for, polls });
            }
            self.system.sleep(POLL_NS).await;
        }
    }

    /// Version of the latest routes that a mapper has given to all nodes; 0 without. If it is another one than before, there may
    /// be more nodes.
    pub async fn map_version(&mut self) -> u32 {
        let version = self.board.read_sram(MAP_VERSION).await;
        if version != 0 {
            self.take_numbers().await;
        }
        version
    }

    /// Reads the own number and the number of nodes, once there is a version.
    async fn take_numbers(&mut self) {
        self.node = self.board.read_sram(NODE).await as u16;
        self.nodes = self.board.read_sram(NODES).await.min(self.layout.nodes()) as u16;
    }
}
