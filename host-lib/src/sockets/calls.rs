//! The calls of a program.

use super::connection::{Connection, Phase};
use super::ports::Listening;
use super::wire::SocketPacketKind;
use super::{Address, Listener, Readiness, Shutdown, SocketError, Sockets, Stream};
use crate::mpi::Transport;

impl<T: Transport> Sockets<T> {
    /// Takes a port without listening yet: any for 0.
    ///
    /// # Errors
    /// [`SocketError::PortInUse`], [`SocketError::NoPort`].
    pub fn bind(&mut self, port: u16) -> Result<u16, SocketError> {
        self.ports.take_port(port)
    }

    /// Gives a port back that was taken by [`bind`](Self::bind).
    pub fn unbind(&mut self, port: u16) {
        self.ports.give_back(port);
    }

    /// Listens at a port, which no other socket has, or which was taken by [`bind`](Self::bind). So many connections at most wait for an
    /// accept; others are set up when these were taken.
    ///
    /// # Errors
    /// [`SocketError::PortInUse`].
    pub fn listen(&mut self, port: u16, backlog: usize) -> Result<Listener, SocketError> {
        if self.listeners.contains_key(&port) {
            return Err(SocketError::PortInUse(port));
        }
        let port = match port != 0 && self.ports.is_taken(port) {
            true => port,
            false => self.ports.take_port(port)?,
        };
        self.listeners.insert(port, Listening::new(backlog));
        Ok(Listener(port))
    }

    /// Port of a listener.
    pub const fn listener_port(&self, listener: Listener) -> u16 {
        listener.0
    }

    /// Takes the next connection of a listener, and its other side; `None` if there is none yet.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn try_accept(
        &mut self,
        listener: Listener,
    ) -> Result<Option<(Stream, Address)>, SocketError> {
        let listening = self.listeners.get_mut(&listener.0);
        let ready = &mut listening.ok_or(SocketError::NoSocket)?.ready;
        let Some(name) = ready.pop_front() else {
            return Ok(None);
        };
        self.admit(listener.0);
        let stream = Stream(name);
        Ok(Some((stream, self.connection(stream)?.peer)))
    }

    /// Waits for the next connection of a listener.
    ///
    /// # Errors
    /// [`SocketError`].
    pub async fn accept(&mut self, listener: Listener) -> Result<(Stream, Address), SocketError> {
        self.charge().await;
        loop {
            match self.try_accept(listener)? {
                Some(accepted) => {
                    self.post().await?;
                    return Ok(accepted);
                }
                None => self.wait().await?,
            }
        }
    }

    /// Stops to listen. Connections that no accept has taken are reset.
    pub fn close_listener(&mut self, listener: Listener) {
        let Some(listening) = self.listeners.remove(&listener.0) else {
            return;
        };
        self.ports.give_back(listener.0);
        for name in listening.ready {
            self.abandon(Stream(name), SocketPacketKind::Reset);
        }
        for (rank, header) in listening.waiting {
            self.send(
                rank,
                header.answer(SocketPacketKind::Refuse, 0, 0),
                Vec::new(),
            );
        }
    }

    /// Asks for a connection, from a port that was taken by [`bind`](Self::bind) or from any.
    ///
    /// # Errors
    /// [`SocketError::NoRank`], [`SocketError::NoPort`], [`SocketError::Unreachable`].
    pub fn begin_connect(&mut self, to: Address, from: Option<u16>) -> Result<Stream, SocketError> {
        if to.rank >= self.size() {
            return Err(SocketError::NoRank(to.rank));
        }
        if let Some(why) = self.lost.get(&to.rank) {
            return Err(SocketError::Unreachable(to, why.clone()));
        }
        let port = match from {
            Some(port) => port,
            None => self.ports.take_port(0)?,
        };
        let name = self.next;
        self.next += 1;
        let window = self.settings.window_bytes;
        let mut connection = Connection::new(Phase::Asked, to, port, window);
        connection.owns_port = true;
        let header = connection.header(SocketPacketKind::Connect, name);
        self.connections.insert(name, connection);
        self.send(to.rank, header, Vec::new());
        Ok(Stream(name))
    }

    /// Connects to a listener.
    ///
    /// # Errors
    /// [`SocketError::Refused`], and others.
    pub async fn connect(&mut self, to: Address) -> Result<Stream, SocketError> {
        self.charge().await;
        let stream = self.begin_connect(to, None)?;
        loop {
            match self.is_connected(stream) {
                Ok(true) => return Ok(stream),
                Ok(false) => {}
                Err(error) => {
                    self.close(stream);
                    return Err(error);
                }
            }
            if let Err(error) = self.wait().await {
                self.close(stream);
                return Err(error);
            }
        }
    }

    /// Whether a connection that was asked for is set up.
    ///
    /// # Errors
    /// Why it is not, once.
    pub fn is_connected(&mut self, stream: Stream) -> Result<bool, SocketError> {
        let connection = self.connection(stream)?;
        match (connection.phase, connection.error.take()) {
            (_, Some(error)) => Err(error),
            (Phase::Failed, None) => Err(SocketError::Broken(connection.peer)),
            (phase, None) => Ok(phase == Phase::Open),
        }
    }

    /// The other side of a connection.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn peer(&mut self, stream: Stream) -> Result<Address, SocketError> {
        Ok(self.connection(stream)?.peer)
    }

    /// The own port of a connection.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn stream_port(&mut self, stream: Stream) -> Result<u16, SocketError> {
        Ok(self.connection(stream)?.port)
    }

    /// The next bytes, so many at most; none at the end of the stream. `None`: nothing has come.
    ///
    /// # Errors
    /// [`SocketError`]: an error is told once, after all bytes.
    pub async fn try_read(
        &mut self,
        stream: Stream,
        most: usize,
    ) -> Result<Option<Vec<u8>>, SocketError> {
        let connection = self.connection(stream)?;
        if connection.phase == Phase::Asked {
            return Err(SocketError::NotConnected(connection.peer));
        }
        if connection.stored() == 0 {
            // After the last byte of the other side a reader has its end, as with Linux; the error is for a writer.
            if !connection.peer_finished
                && let Some(error) = connection.error.take()
            {
                return Err(error);
            }
            return Ok(connection.is_at_end().then(Vec::new));
        }
        let bytes = connection.take_bytes(most);
        let is_open = connection.phase == Phase::Open && !connection.peer_finished;
        if is_open && connection.is_in_debt() {
            let (to, header) = (
                connection.peer,
                connection.header(SocketPacketKind::Credit, stream.0),
            );
            self.send(to.rank, header, Vec::new());
        }
        self.transport.charge_copy(bytes.len()).await;
        self.post().await?;
        Ok(Some(bytes))
    }

    /// The next bytes, which stay; none if none have come.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn peek(&mut self, stream: Stream, most: usize) -> Result<Vec<u8>, SocketError> {
        Ok(self.connection(stream)?.peek(most))
    }

    /// Number of bytes that have come and were not read.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn available(&mut self, stream: Stream) -> Result<usize, SocketError> {
        Ok(self.connection(stream)?.stored())
    }

    /// Waits for the next bytes, so many at most; none at the end of the stream.
    ///
    /// # Errors
    /// [`SocketError`].
    pub async fn read(&mut self, stream: Stream, most: usize) -> Result<Vec<u8>, SocketError> {
        self.charge().await;
        loop {
            match self.try_read(stream, most).await? {
                Some(bytes) => return Ok(bytes),
                None => self.wait().await?,
            }
        }
    }

    /// Waits for so many bytes.
    ///
    /// # Errors
    /// [`SocketError::Ended`], and others.
    pub async fn read_exact(
        &mut self,
        stream: Stream,
        count: usize,
    ) -> Result<Vec<u8>, SocketError> {
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let missing = count - all.len();
            let bytes = self.read(stream, missing).await?;
            if bytes.is_empty() {
                return Err(SocketError::Ended { missing });
            }
            all.extend(bytes);
        }
        Ok(all)
    }

    /// Writes as many of the bytes as there is credit for, which may be none; gives their number. They leave as the board takes them, while
    /// calls wait.
    ///
    /// # Errors
    /// [`SocketError`].
    pub async fn try_write(&mut self, stream: Stream, bytes: &[u8]) -> Result<usize, SocketError> {
        let longest = self.transport.eager_bytes().max(1);
        let connection = self.connection(stream)?;
        let peer = connection.peer;
        if let Some(error) = connection.error.take() {
            return Err(error);
        }
        match connection.phase {
            Phase::Asked => return Err(SocketError::NotConnected(peer)),
            Phase::Failed => return Err(SocketError::Broken(peer)),
            Phase::Open if connection.finished => return Err(SocketError::Broken(peer)),
            Phase::Open => {}
        }
        let count = bytes.len().min(connection.credit as usize);
        connection.credit -= count as u32;
        for part in bytes[..count].chunks(longest) {
            let header = self
                .connection(stream)?
                .header(SocketPacketKind::Data, stream.0);
            self.send(peer.rank, header, part.to_vec());
        }
        self.post().await?;
        Ok(count)
    }

    /// Writes all bytes: returns when the board has them.
    ///
    /// # Errors
    /// [`SocketError`]: some of the bytes may have been written.
    pub async fn write(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), SocketError> {
        self.charge().await;
        let mut left = bytes;
        while !left.is_empty() {
            let count = self.try_write(stream, left).await?;
            left = &left[count..];
            if count == 0 {
                self.wait().await?;
            }
        }
        let rank = self.connection(stream)?.peer.rank;
        while self.is_behind(rank) {
            self.wait().await?;
        }
        Ok(())
    }

    /// Ends a direction of a connection, or both.
    ///
    /// # Errors
    /// [`SocketError::NotConnected`].
    pub fn shutdown(&mut self, stream: Stream, how: Shutdown) -> Result<(), SocketError> {
        let connection = self.connection(stream)?;
        let peer = connection.peer;
        if connection.phase != Phase::Open {
            return Err(SocketError::NotConnected(peer));
        }
        if how != Shutdown::Write {
            connection.deaf = true;
        }
        if how != Shutdown::Read && !connection.finished {
            connection.finished = true;
            let header = connection.header(SocketPacketKind::Finish, stream.0);
            self.send(peer.rank, header, Vec::new());
        }
        Ok(())
    }

    /// Closes a connection. What was written still leaves, while calls wait ([`flush`](Self::flush)). The other side reads to an end; if bytes
    /// were not read here, the connection is reset.
    pub fn close(&mut self, stream: Stream) {
        let unread = match self.connection(stream) {
            Ok(connection) => connection.stored() > 0,
            Err(_) => return,
        };
        self.abandon(
            stream,
            if unread {
                SocketPacketKind::Reset
            } else {
                SocketPacketKind::Finish
            },
        );
    }

    /// Removes a connection, and says goodbye so.
    fn abandon(&mut self, stream: Stream, goodbye: SocketPacketKind) {
        let Some(mut connection) = self.connections.remove(&stream.0) else {
            return;
        };
        if connection.owns_port {
            self.ports.give_back(connection.port);
        }
        let is_said = goodbye == SocketPacketKind::Finish && connection.finished;
        if connection.phase == Phase::Open && !is_said {
            let header = connection.header(goodbye, stream.0);
            self.send(connection.peer.rank, header, Vec::new());
        }
    }

    /// Closes all sockets, as the end of a program does.
    pub fn close_all(&mut self) {
        let listeners: Vec<u16> = self.listeners.keys().copied().collect();
        for port in listeners {
            self.close_listener(Listener(port));
        }
        let streams: Vec<u32> = self.connections.keys().copied().collect();
        streams
            .into_iter()
            .for_each(|name| self.close(Stream(name)));
    }

    /// Readiness of a connection for reads and writes.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn readiness(&mut self, stream: Stream) -> Result<Readiness, SocketError> {
        Ok(self.connection(stream)?.readiness())
    }

    /// Readiness of a listener for accepts.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn listener_readiness(&self, listener: Listener) -> Result<Readiness, SocketError> {
        let listening = self.listeners.get(&listener.0);
        let listening = listening.ok_or(SocketError::NoSocket)?;
        Ok(Readiness {
            readable: !listening.ready.is_empty(),
            reads: listening.count,
            ..Readiness::default()
        })
    }

    /// The error of a connection that waits, which is told once.
    ///
    /// # Errors
    /// [`SocketError::NoSocket`].
    pub fn take_error(&mut self, stream: Stream) -> Result<Option<SocketError>, SocketError> {
        Ok(self.connection(stream)?.error.take())
    }

    pub(super) fn connection(&mut self, stream: Stream) -> Result<&mut Connection, SocketError> {
        let connection = self.connections.get_mut(&stream.0);
        connection.ok_or(SocketError::NoSocket)
    }

    /// Spends the library's own time of a call.
    async fn charge(&mut self) {
        let library_ns = self.settings.library_ns;
        self.transport.compute(library_ns).await;
    }
}
