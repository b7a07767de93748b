//! Packets that arrive and leave: dispatch to connections and listeners.

use super::connection::{Connection, Phase};
use super::wire::{SocketHeader, SocketPacketKind};
use super::{SocketError, Sockets};
use crate::mpi::{Arrival, Delivery, Transport};

impl<T: Transport> Sockets<T> {
    /// Takes what arrives within `limit_ns`, and posts what there is room for; whether anything has arrived.
    ///
    /// # Errors
    /// [`SocketError::Network`].
    pub async fn step(&mut self, limit_ns: u64) -> Result<bool, SocketError> {
        self.post().await?;
        if let Some((header, content)) = self.looped.pop_front() {
            let own = self.rank();
            self.transport.charge_copy(content.len()).await;
            self.accept_packet(own, header, &content);
            self.post().await?;
            return Ok(true);
        }
        let arrival = match limit_ns {
            0 => self.transport.poll().await?,
            limit_ns => self.transport.next(limit_ns).await?,
        };
        match arrival {
            None => return Ok(false),
            Some(Arrival::Packet { from, bytes }) => {
                self.transport.charge_arrival(bytes.len()).await;
                // What is no packet of a socket concerns none.
                if let Some((header, content)) = SocketHeader::read(&bytes) {
                    self.accept_packet(from, header, content);
                }
            }
            Some(Arrival::Failed { to, why }) => self.lose(to, &why),
            Some(
                Arrival::Landed { .. }
                | Arrival::Transferred { .. }
                | Arrival::CollectiveEnded { .. }
                | Arrival::Progress,
            ) => {}
        }
        self.post().await?;
        Ok(true)
    }

    /// Waits until everything that was written is with the board, and has left it. A program ends with it.
    ///
    /// # Errors
    /// [`SocketError`].
    pub async fn flush(&mut self) -> Result<(), SocketError> {
        self.post().await?;
        while !self.busy.is_empty() || !self.looped.is_empty() || !self.transport.is_flushed() {
            self.wait().await?;
        }
        Ok(())
    }

    /// Waits for any arrival.
    pub(super) async fn wait(&mut self) -> Result<(), SocketError> {
        let limit_ns = self.settings.limit_ns;
        match self.step(limit_ns).await? {
            true => Ok(()),
            false => Err(SocketError::TimedOut(limit_ns)),
        }
    }

    /// Whether packets to this rank have not been posted.
    pub(super) fn is_behind(&self, rank: usize) -> bool {
        self.busy.contains(&rank)
    }

    /// Adds a packet to those that leave. Bytes of a stream join the ones before, where these have not left.
    pub(super) fn send(&mut self, to: usize, header: SocketHeader, content: Vec<u8>) {
        if self.lost.contains_key(&to) {
            return;
        }
        self.traffic.sent_bytes += content.len() as u64;
        let longest = self.transport.eager_bytes();
        let Some(queue) = self.outgoing.get_mut(to) else {
            return;
        };
        if let Some((before, bytes)) = queue.back_mut()
            && (before.kind, header.kind) == (SocketPacketKind::Data, SocketPacketKind::Data)
            && before.from == header.from
            && bytes.len() + content.len() <= longest
        {
            before.credit += header.credit;
            bytes.extend(content);
            return;
        }
        self.traffic.sent += 1;
        queue.push_back((header, content));
        self.busy.insert(to);
    }

    /// Gives the board what it takes now.
    pub(super) async fn post(&mut self) -> Result<(), SocketError> {
        let own = self.rank();
        let ranks: Vec<usize> = self.busy.iter().copied().collect();
        for rank in ranks {
            while let Some((header, content)) = self.outgoing[rank].pop_front() {
                if rank == own {
                    self.looped.push_back((header, content));
                    continue;
                }
                let bytes = header.bytes();
                let posted = self.transport.post(rank, Delivery::Quiet, &bytes, &content);
                if !posted.await? {
                    self.outgoing[rank].push_front((header, content));
                    break;
                }
            }
            if self.outgoing[rank].is_empty() {
                self.busy.remove(&rank);
            }
        }
        Ok(())
    }

    /// Gives up a rank: packets to it do not arrive any more.
    fn lose(&mut self, rank: usize, why: &str) {
        self.lost.insert(rank, why.to_owned());
        if let Some(queue) = self.outgoing.get_mut(rank) {
            queue.clear();
        }
        self.busy.remove(&rank);
        for connection in self.connections.values_mut() {
            let peer = connection.peer;
            if peer.rank == rank && connection.phase != Phase::Failed {
                connection.fail(SocketError::Unreachable(peer, why.to_owned()));
            }
        }
    }

    /// Takes a packet of a rank.
    fn accept_packet(&mut self, from: usize, header: SocketHeader, content: &[u8]) {
        self.traffic.taken += 1;
        if header.kind == SocketPacketKind::Connect {
            return self.asked(from, header);
        }
        let known = self.connections.get_mut(&header.to);
        // Names of a peer are those that it has told.
        let known = known.filter(|known| {
            let is_new = known.phase == Phase::Asked;
            known.peer.rank == from && (is_new || known.peer_name == header.from)
        });
        let Some(connection) = known else {
            if matches!(
                header.kind,
                SocketPacketKind::Data | SocketPacketKind::Accept
            ) {
                self.send(
                    from,
                    header.answer(SocketPacketKind::Reset, header.to, 0),
                    Vec::new(),
                );
            }
            return;
        };
        let peer = connection.peer;
        match (header.kind, connection.phase) {
            (SocketPacketKind::Accept, Phase::Asked) => {
                connection.opened(header.from, header.credit)
            }
            (SocketPacketKind::Refuse, Phase::Asked) => connection.fail(SocketError::Refused(peer)),
            (SocketPacketKind::Data, Phase::Open) => {
                connection.granted(header.credit);
                if !connection.came(content) {
                    connection.fail(SocketError::Reset(peer));
                    self.send(
                        from,
                        header.answer(SocketPacketKind::Reset, header.to, 0),
                        Vec::new(),
                    );
                } else if connection.deaf && connection.is_in_debt() {
                    let credit = connection.header(SocketPacketKind::Credit, header.to);
                    self.send(from, credit, Vec::new());
                }
            }
            (SocketPacketKind::Credit, Phase::Open) => connection.granted(header.credit),
            (SocketPacketKind::Finish, Phase::Open) => connection.ended(),
            (SocketPacketKind::Reset, Phase::Open) => {
                let error = match connection.peer_finished {
                    true => SocketError::Broken(peer),
                    false => SocketError::Reset(peer),
                };
                connection.fail(error);
            }
            // A connection that has failed, or what no peer says: it was told.
            _ => {}
        }
    }

    /// A connection is asked for.
    fn asked(&mut self, from: usize, header: SocketHeader) {
        let Some(listening) = self.listeners.get_mut(&header.to_port) else {
            self.send(
                from,
                header.answer(SocketPacketKind::Refuse, 0, 0),
                Vec::new(),
            );
            return;
        };
        listening.waiting.push_back((from, header));
        self.admit(header.to_port);
    }

    /// Sets up connections that were asked for, as far as the listener has room.
    pub(super) fn admit(&mut self, port: u16) {
        while let Some(listening) = self.listeners.get_mut(&port)
            && listening.ready.len() < listening.backlog
            && let Some((rank, header)) = listening.waiting.pop_front()
        {
            let name = self.next;
            self.next += 1;
            listening.ready.push_back(name);
            listening.count += 1;
            let window = self.settings.window_bytes;
            let peer = header.sender(rank);
            let mut connection = Connection::new(Phase::Open, peer, port, window);
            connection.opened(header.from, header.credit);
            self.connections.insert(name, connection);
            self.send(
                rank,
                header.answer(SocketPacketKind::Accept, name, window),
                Vec::new(),
            );
        }
    }
}
