//! Ports of a program, and its listeners.

use std::collections::{BTreeSet, VecDeque};

use super::SocketError;
use super::wire::SocketHeader;

/// Ports of connections that ask for none, first and last: as Linux has them.
const USUAL: (u16, u16) = (32_768, 60_999);

/// The ports that have an owner.
#[derive(Debug, Default)]
pub(super) struct Ports {
    taken: BTreeSet<u16>,
    /// Number of the next one of the usual ports.
    next: u16,
}

impl Ports {
    /// Takes a port: any for 0.
    pub(super) fn take_port(&mut self, port: u16) -> Result<u16, SocketError> {
        if port != 0 {
            let is_free = self.taken.insert(port);
            return is_free.then_some(port).ok_or(SocketError::PortInUse(port));
        }
        let count = USUAL.1 - USUAL.0 + 1;
        for _ in 0..count {
            let port = USUAL.0 + self.next;
            self.next = (self.next + 1) % count;
            if self.taken.insert(port) {
                return Ok(port);
            }
        }
        Err(SocketError::NoPort)
    }

    pub(super) fn is_taken(&self, port: u16) -> bool {
        self.taken.contains(&port)
    }

    pub(super) fn give_back(&mut self, port: u16) {
        self.taken.remove(&port);
    }
}

/// A listener.
#[derive(Debug)]
pub(super) struct Listening {
    /// Connections that no accept has taken, at most.
    pub(super) backlog: usize,
    /// Connections that no accept has taken.
    pub(super) ready: VecDeque<u32>,
    /// Requests beyond them, with their ranks: they wait.
    pub(super) waiting: VecDeque<(usize, SocketHeader)>,
    /// Number of connections so far.
    pub(super) count: u32,
}

impl Listening {
    pub(super) fn new(backlog: usize) -> Self {
        Self {
            backlog: backlog.max(1),
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            count: 0,
        }
    }
}
