//! Stream sockets over EMP or GM (docs/sockets.md), for the programs of emulated hosts.
//!
//! [`Sockets`] owns a [`Transport`] and all sockets of a program. A [`Stream`] and a [`Listener`] are names. Data flow:
//!
//! * a connection is set up by messages: the one side asks, the other side's listener accepts or its host refuses (`wire`);
//! * bytes are copied into packets of the transport, which land in buffers that it has posted ahead for any node, and from there into the
//!   connection's store, whether or not the program reads: so no connection holds up another one, and two sides that write at once go on;
//! * a writer has credit for as many bytes as its reader has room for ([`Settings::window_bytes`]); what the reader takes comes back as
//!   credit, with data of the other direction where there is some;
//! * the end of a direction, and of a connection in disorder, are packets behind the data.
//!
//! Whatever waits also takes what arrives; [`Sockets::step`] does it for programs that wait for several things. The calls whose names begin
//! with `try` do not wait.
//!
//! ```
//! use host_lib::mpi::Transport;
//! use host_lib::sockets::{Address, Shutdown, SocketError, Sockets};
//!
//! /// Rank 0 sends back what rank 1 says.
//! async fn echo<T: Transport>(transport: T) -> Result<(), SocketError> {
//!     let mut sockets = Sockets::new(transport);
//!     if sockets.rank() == 0 {
//!         let listener = sockets.listen(7, 5)?;
//!         let (stream, _) = sockets.accept(listener).await?;
//!         loop {
//!             let bytes = sockets.read(stream, 4096).await?;
//!             if bytes.is_empty() {
//!                 break;
//!             }
//!             sockets.write(stream, &bytes).await?;
//!         }
//!         sockets.close(stream);
//!     } else {
//!         let stream = sockets.connect(Address { rank: 0, port: 7 }).await?;
//!         sockets.write(stream, b"hello").await?;
//!         sockets.shutdown(stream, Shutdown::Write)?;
//!         assert_eq!(sockets.read_exact(stream, 5).await?, b"hello");
//!         assert!(sockets.read(stream, 1).await?.is_empty());
//!         sockets.close(stream);
//!     }
//!     sockets.flush().await
//! }
//! ```

mod calls;
mod connection;
mod error;
mod ports;
#[cfg(test)]
mod tests;
mod traffic;
mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use crate::mpi::Transport;

pub use error::SocketError;
pub use wire::HEADER_BYTES;

use connection::Connection;
use ports::{Listening, Ports};
use wire::SocketHeader;

/// Address of a socket: the rank of its process, and a port there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Rank of the process.
    pub rank: usize,
    /// Port of the socket.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}, port {}", self.rank, self.port)
    }
}

/// A connection of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream(u32);

/// A listener of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listener(u16);

/// The directions of a connection that end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Reads end.
    Read,
    /// Writes end: the other side reads to an end.
    Write,
    /// Reads and writes end.
    Both,
}

/// Operations for which a socket is ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Readiness {
    /// A read (of a listener: an accept) would not wait.
    pub readable: bool,
    /// A write would not wait.
    pub writable: bool,
    /// The other side writes nothing any more.
    pub finished: bool,
    /// Neither side writes any more, or the connection has failed.
    pub hung_up: bool,
    /// An error waits.
    pub failed: bool,
    /// Number of times that something has come to read, for observers that want to be told once.
    pub reads: u32,
    /// Number of times that it became possible to write.
    pub writes: u32,
}

/// Settings of all sockets of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Bytes that are on their way to a reader, or wait for it, at most: of each connection and direction.
    pub window_bytes: u32,
    /// Processor time of the library itself for each call that moves bytes or connections, in ns.
    pub library_ns: u64,
    /// A wait fails after so long without any arrival, in ns.
    pub limit_ns: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            window_bytes: 1 << 20,
            library_ns: 0,
            limit_ns: 1_000_000_000,
        }
    }
}

/// Packets so far, of connections too that do not exist any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that this program has made.
    pub sent: u64,
    /// Packets of others that it has taken.
    pub taken: u64,
    /// Bytes of the streams in the packets that it has made.
    pub sent_bytes: u64,
}

/// The sockets of a program.
pub struct Sockets<T> {
    transport: T,
    settings: Settings,
    ports: Ports,
    listeners: BTreeMap<u16, Listening>,
    connections: BTreeMap<u32, Connection>,
    next: u32,
    /// Packets that have not been posted, by rank, and the ranks that have some.
    outgoing: Vec<VecDeque<(SocketHeader, Vec<u8>)>>,
    busy: BTreeSet<usize>,
    /// Packets of this program to itself.
    looped: VecDeque<(SocketHeader, Vec<u8>)>,
    /// Ranks that cannot be reached, and why.
    lost: BTreeMap<usize, String>,
    traffic: Traffic,
}

impl<T> fmt::Debug for Sockets<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets")
            .field("listeners", &self.listeners)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> Sockets<T> {
    /// No sockets yet, with the usual settings.
    #[must_use]
    pub fn new(transport: T) -> Self {
        Self::with(transport, Settings::default())
    }

    /// No sockets yet. All programs have the same settings.
    #[must_use]
    pub fn with(transport: T, settings: Settings) -> Self {
        Self {
            outgoing: (0..transport.size()).map(|_| VecDeque::new()).collect(),
            transport,
            settings,
            ports: Ports::default(),
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            next: 1,
            busy: BTreeSet::new(),
            looped: VecDeque::new(),
            lost: BTreeMap::new(),
            traffic: Traffic::default(),
        }
    }

    /// The own rank.
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.transport.size()
    }

    /// Packets so far.
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// The transport, for what does not concern sockets: processor time, the clock.
    pub const fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The transport.
    pub const fn transport(&self) -> &T {
        &self.transport
    }
}
