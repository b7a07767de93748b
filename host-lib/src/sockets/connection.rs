//! State of a stream connection: setup, bytes under way in both directions, and its end.

use std::collections::VecDeque;

use super::wire::{SocketHeader, SocketPacketKind};
use super::{Address, Readiness, SocketError};

/// Stage of a connection, from setup to failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The own side has asked for the connection.
    Asked,
    /// Both sides have the connection.
    Open,
    /// The connection has failed.
    Failed,
}

/// Stream connection between two sockets.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    /// The other side, and its name of the connection.
    pub(super) peer: Address,
    pub(super) peer_name: u32,
    pub(super) port: u16,
    /// The port belongs to this connection alone.
    pub(super) owns_port: bool,
    /// Bytes that were not read.
    store: VecDeque<u8>,
    /// Bytes that may be written.
    pub(super) credit: u32,
    /// Bytes that the other side may write.
    room: u32,
    /// Bytes that were read since the other side has got credit.
    owed: u32,
    window: u32,
    /// The other side writes nothing any more.
    pub(super) peer_finished: bool,
    /// This side writes nothing any more.
    pub(super) finished: bool,
    /// This side reads nothing any more.
    pub(super) deaf: bool,
    /// Is told once.
    pub(super) error: Option<SocketError>,
    reads: u32,
    writes: u32,
}

impl Connection {
    pub(super) fn new(phase: Phase, peer: Address, port: u16, window: u32) -> Self {
        Self {
            phase,
            peer,
            peer_name: 0,
            port,
            owns_port: false,
            store: VecDeque::new(),
            credit: 0,
            room: window,
            owed: 0,
            window,
            peer_finished: false,
            finished: false,
            deaf: false,
            error: None,
            reads: 0,
            writes: 0,
        }
    }

    /// The header of a packet to the other side. `name`: the own one.
    pub(super) fn header(&mut self, kind: SocketPacketKind, name: u32) -> SocketHeader {
        let credit = match kind {
            SocketPacketKind::Connect => self.window,
            SocketPacketKind::Data | SocketPacketKind::Credit => self.pay(),
            _ => 0,
        };
        SocketHeader {
            kind,
            to: self.peer_name,
            from: name,
            to_port: self.peer.port,
            from_port: self.port,
            credit,
        }
    }

    /// Credit for what was read.
    fn pay(&mut self) -> u32 {
        self.room += self.owed;
        std::mem::take(&mut self.owed)
    }

    /// Whether the other side should get credit without waiting for data to carry it.
    pub(super) const fn is_in_debt(&self) -> bool {
        self.owed > 0 && self.owed >= self.window / 4
    }

    /// Opens the connection: the other side has accepted it and has room for `credit` bytes.
    pub(super) fn opened(&mut self, peer_name: u32, credit: u32) {
        self.phase = Phase::Open;
        self.peer_name = peer_name;
        self.credit = credit;
        self.writes += 1;
    }

    pub(super) fn granted(&mut self, credit: u32) {
        if credit > 0 {
            self.writes += u32::from(self.credit == 0);
            self.credit = self.credit.saturating_add(credit);
        }
    }

    /// Bytes have come; `false` if the other side had no credit for them.
    pub(super) fn came(&mut self, bytes: &[u8]) -> bool {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let Some(room) = self.room.checked_sub(length) else {
            return false;
        };
        self.room = room;
        if self.peer_finished {
            return false;
        }
        if self.deaf {
            self.owed += length;
        } else {
            self.store.extend(bytes);
            self.reads += 1;
        }
        true
    }

    pub(super) fn ended(&mut self) {
        self.peer_finished = true;
        self.reads += 1;
    }

    pub(super) fn fail(&mut self, error: SocketError) {
        self.phase = Phase::Failed;
        self.error = Some(error);
        self.reads += 1;
        self.writes += 1;
    }

    pub(super) fn stored(&self) -> usize {
        self.store.len()
    }

    /// The next bytes, which stay.
    pub(super) fn peek(&self, most: usize) -> Vec<u8> {
        self.store.iter().take(most).copied().collect()
    }

    /// The next bytes.
    pub(super) fn take_bytes(&mut self, most: usize) -> Vec<u8> {
        let count = most.min(self.store.len());
        self.owed += count as u32;
        self.store.drain(..count).collect()
    }

    /// Whether a read finds an end.
    pub(super) fn is_at_end(&self) -> bool {
        self.store.is_empty() && (self.peer_finished || self.deaf || self.phase == Phase::Failed)
    }

    pub(super) fn readiness(&self) -> Readiness {
        let failed = self.error.is_some();
        let is_over = self.phase == Phase::Failed;
        let finished = self.peer_finished || self.deaf || is_over;
        let writable = self.phase == Phase::Open && self.credit > 0;
        Readiness {
            readable: !self.store.is_empty() || finished,
            writable: writable || is_over || self.finished,
            finished,
            hung_up: is_over || (self.peer_finished && self.finished),
            failed,
            reads: self.reads,
            writes: self.writes,
        }
    }
}
