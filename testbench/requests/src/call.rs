//! Calls of a process on its sockets, and what they come to.

use std::fmt;

use crate::frame::{FIELDS, Frame, RequestError, limited};
use crate::request::LONGEST_NS;

/// Most items of a wait.
const MOST_ITEMS: usize = 1 << 16;
/// Words of an item in a frame.
const ITEM_WORDS: usize = 5;

/// Address of a socket, as processes of a job name it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketAddress {
    /// Rank of the process.
    pub rank: u32,
    /// Port of the socket.
    pub port: u16,
}

/// Events of a socket, as bits of a set.
pub mod ready {
    /// A read or accept would not wait.
    pub const READ: u32 = 1;
    /// A write would not wait.
    pub const WRITE: u32 = 2;
    /// The other side writes nothing any more.
    pub const FINISHED: u32 = 4;
    /// Both sides write nothing any more, or the connection has failed. Is told unasked.
    pub const HUNG_UP: u32 = 8;
    /// An error waits. Is told unasked.
    pub const FAILED: u32 = 16;
    /// There is no such socket. Is told unasked.
    pub const NONE: u32 = 32;
}

/// A socket of a wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Item {
    /// The process's number of the socket; in an answer: the item's place in the question.
    pub socket: u32,
    /// Set of [`ready`]: events that are waited for, or that there are.
    pub events: u32,
    /// Edge-triggered: an event that the caller knows already does not end the wait.
    pub edge: bool,
    /// Number of times that something has come to read.
    pub reads: u32,
    /// Number of times that it became possible to write.
    pub writes: u32,
}

/// Call of a process on its sockets. The process has chosen their numbers itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketCall {
    /// A port for a socket, 0 for any.
    Bind {
        /// Number of the socket.
        socket: u32,
        /// Wanted port.
        port: u16,
    },
    /// A socket listens.
    Listen {
        /// Number of the socket.
        socket: u32,
        /// Connections that wait for an accept at most.
        backlog: u32,
    },
    /// A connection.
    Connect {
        /// Number of the socket.
        socket: u32,
        /// The other side.
        to: SocketAddress,
    },
    /// The next connection of a listener gets a number.
    Accept {
        /// The listener.
        socket: u32,
        /// The new number.
        name: u32,
    },
    /// The next bytes.
    Read {
        /// Number of the socket.
        socket: u32,
        /// Most bytes to read.
        most: u32,
        /// The bytes stay for the next read.
        peek: bool,
    },
    /// Bytes to write: all, if there is no limit of time, else what there is room for.
    Write {
        /// Number of the socket.
        socket: u32,
        /// Bytes to write.
        bytes: Vec<u8>,
    },
    /// The end of directions: reading, writing.
    Shutdown {
        /// Number of the socket.
        socket: u32,
        /// End reading.
        read: bool,
        /// End writing.
        write: bool,
    },
    /// The socket is used no more.
    Close {
        /// Number of the socket.
        socket: u32,
    },
    /// The error that waits.
    TakeError {
        /// Number of the socket.
        socket: u32,
    },
    /// Number of bytes that a read would find.
    Available {
        /// Number of the socket.
        socket: u32,
    },
    /// Waits for events of sockets. Without a socket: a pause.
    Wait {
        /// The sockets.
        items: Vec<Item>,
        /// Something outside the world may end the wait too.
        outside: bool,
    },
    /// A wait is over, for a reason outside.
    Cancel {
        /// Number of its call.
        ticket: u64,
    },
    /// The process has begun another program: it has no sockets.
    CloseAll,
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// A number, or why not.
    pub value: Result<u32, Refusal>,
    /// Own port.
    pub port: u16,
    /// The other side of a connection.
    pub peer: SocketAddress,
    /// Bytes that were read.
    pub bytes: Vec<u8>,
    /// Sockets that are ready.
    pub items: Vec<Item>,
}

macro_rules! refusals {
    ($($(#[$about:meta])* $name:ident),* $(,)?) => {
        /// Reasons for which a call is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Refusal { $($(#[$about])* $name),* }

        const REFUSALS: &[Refusal] = &[$(Refusal::$name),*];
    };
}

refusals! {
    /// The call would have to wait.
    WouldBlock,
    /// The connection is asked for.
    InProgress,
    /// The connection is asked for already.
    Already,
    /// No socket listens.
    Refused,
    /// The other side has reset the connection.
    Reset,
    /// The connection is closed for writing.
    Broken,
    /// The other side does not answer.
    TimedOut,
    /// There is no way to the other side.
    Unreachable,
    /// The port is in use.
    InUse,
    /// No port is free.
    NoPort,
    /// The socket is not connected.
    NotConnected,
    /// The socket is connected.
    IsConnected,
    /// There is no such socket.
    NoSocket,
    /// The socket cannot do that.
    Invalid,
}

/// Kinds of calls on the line.
const BIND: u64 = 1;
const LISTEN: u64 = 2;
const CONNECT: u64 = 3;
const ACCEPT: u64 = 4;
const READ: u64 = 5;
const WRITE: u64 = 6;
const SHUTDOWN: u64 = 7;
const CLOSE: u64 = 8;
const TAKE_ERROR: u64 = 9;
const AVAILABLE: u64 = 10;
const WAIT: u64 = 11;
const CANCEL: u64 = 12;
const CLOSE_ALL: u64 = 13;

fn write_items(items: &[Item], out: &mut Vec<u8>) {
    for item in items {
        let Item {
            socket,
            events,
            edge,
            reads,
            writes,
        } = *item;
        for word in [socket, events, edge.into(), reads, writes] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

fn read_items(bytes: &[u8]) -> Result<Vec<Item>, RequestError> {
    let size = 4 * ITEM_WORDS;
    if !bytes.len().is_multiple_of(size) || bytes.len() / size > MOST_ITEMS {
        let (what, bytes) = ("a list of sockets", bytes.len());
        return Err(RequestError::Bytes { what, bytes });
    }
    let word = |item: &[u8], place: usize| {
        let bytes = item[4 * place..4 * place + 4].try_into();
        bytes.map_or(0, u32::from_le_bytes)
    };
    let items = bytes.chunks_exact(size);
    let item = |item: &[u8]| Item {
        socket: word(item, 0),
        events: word(item, 1),
        edge: word(item, 2) != 0,
        reads: word(item, 3),
        writes: word(item, 4),
    };
    Ok(items.map(item).collect())
}

fn number(value: u64) -> Result<u32, RequestError> {
    Ok(limited("a number of a call", value, u32::MAX.into())? as u32)
}

fn port(value: u64) -> Result<u16, RequestError> {
    Ok(limited("a port", value, u16::MAX.into())? as u16)
}

fn flag(value: u64) -> Result<bool, RequestError> {
    Ok(limited("a flag", value, 1)? == 1)
}

/// A limit as a word.
pub(crate) fn limit_word(limit_ns: Option<u64>) -> u64 {
    limit_ns.map_or(0, |limit| limit.min(LONGEST_NS) + 1)
}

/// The limit of a word.
pub(crate) fn read_limit(word: u64) -> Result<Option<u64>, RequestError> {
    limited("a limit in ns", word, LONGEST_NS + 1)?;
    Ok(word.checked_sub(1))
}

/// The call with its arguments, for traces.
impl fmt::Display for SocketCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { socket, port } => write!(f, "bind of socket {socket} to port {port}"),
            Self::Listen { socket, backlog } => {
                write!(f, "listen of socket {socket}, backlog {backlog}")
            }
            Self::Connect { socket, to } => {
                let SocketAddress { rank, port } = to;
                write!(f, "connect of socket {socket} to rank {rank}, port {port}")
            }
            Self::Accept { socket, name } => {
                write!(f, "accept on socket {socket} as socket {name}")
            }
            Self::Read { socket, most, peek } => {
                let call = if *peek { "peek" } else { "read" };
                write!(f, "{call} of up to {most} bytes from socket {socket}")
            }
            Self::Write { socket, bytes } => {
                write!(f, "write of {} bytes to socket {socket}", bytes.len())
            }
            Self::Shutdown {
                socket,
                read,
                write,
            } => {
                let directions = match (read, write) {
                    (true, true) => "both directions",
                    (true, false) => "reading",
                    (false, true) => "writing",
                    (false, false) => "no direction",
                };
                write!(f, "shutdown of socket {socket}, {directions}")
            }
            Self::Close { socket } => write!(f, "close of socket {socket}"),
            Self::TakeError { socket } => write!(f, "error of socket {socket}"),
            Self::Available { socket } => write!(f, "bytes that wait at socket {socket}"),
            Self::Wait { items, .. } => match items.as_slice() {
                [] => f.write_str("pause"),
                [item] => write!(f, "wait for socket {}", item.socket),
                items => write!(f, "wait for {} sockets", items.len()),
            },
            Self::Cancel { ticket } => write!(f, "end of the wait of call {ticket}"),
            Self::CloseAll => f.write_str("close of all sockets"),
        }
    }
}

impl SocketCall {
    /// Appends it to `out`, in a frame of this kind whose first words are given.
    pub(crate) fn write(&self, kind: u64, [first, second, third]: [u64; 3], out: &mut Vec<u8>) {
        let mut items = Vec::new();
        let (call, words, bytes): (u64, [u64; 3], &[u8]) = match self {
            Self::Bind { socket, port } => (BIND, [u64::from(*socket), u64::from(*port), 0], &[]),
            Self::Listen { socket, backlog } => {
                (LISTEN, [u64::from(*socket), u64::from(*backlog), 0], &[])
            }
            Self::Connect { socket, to } => (
                CONNECT,
                [u64::from(*socket), u64::from(to.rank), u64::from(to.port)],
                &[],
            ),
            Self::Accept { socket, name } => {
                (ACCEPT, [u64::from(*socket), u64::from(*name), 0], &[])
            }
            Self::Read { socket, most, peek } => (
                READ,
                [u64::from(*socket), u64::from(*most), u64::from(*peek)],
                &[],
            ),
            Self::Write { socket, bytes } => (WRITE, [u64::from(*socket), 0, 0], bytes),
            Self::Shutdown {
                socket,
                read,
                write,
            } => (
                SHUTDOWN,
                [u64::from(*socket), (*read).into(), (*write).into()],
                &[],
            ),
            Self::Close { socket } => (CLOSE, [u64::from(*socket), 0, 0], &[]),
            Self::TakeError { socket } => (TAKE_ERROR, [u64::from(*socket), 0, 0], &[]),
            Self::Available { socket } => (AVAILABLE, [u64::from(*socket), 0, 0], &[]),
            Self::Wait {
                items: all,
                outside,
            } => {
                write_items(all, &mut items);
                (WAIT, [u64::from(*outside), 0, 0], &items)
            }
            Self::Cancel { ticket } => (CANCEL, [*ticket, 0, 0], &[]),
            Self::CloseAll => (CLOSE_ALL, [0; 3], &[]),
        };
        let [a, b, c] = words;
        let fields = [first, second, third, call, a, b, c, 0];
        Frame::write_head(kind, fields, bytes.len(), out);
        out.extend_from_slice(bytes);
    }

    /// Reads it from such a frame.
    pub(crate) fn read(frame: Frame) -> Result<Self, RequestError> {
        let [_, _, _, call, a, b, c, _] = frame.fields;
        if !matches!(call, WRITE | WAIT) {
            frame.without_bytes("a call")?;
        }
        let socket = match call {
            CANCEL => 0,
            _ => number(a)?,
        };
        Ok(match call {
            BIND => Self::Bind {
                socket,
                port: port(b)?,
            },
            LISTEN => Self::Listen {
                socket,
                backlog: number(b)?,
            },
            CONNECT => {
                let to = SocketAddress {
                    rank: number(b)?,
                    port: port(c)?,
                };
                Self::Connect { socket, to }
            }
            ACCEPT => Self::Accept {
                socket,
                name: number(b)?,
            },
            READ => Self::Read {
                socket,
                most: number(b)?,
                peek: flag(c)?,
            },
            WRITE => Self::Write {
                socket,
                bytes: frame.bytes,
            },
            SHUTDOWN => Self::Shutdown {
                socket,
                read: flag(b)?,
                write: flag(c)?,
            },
            CLOSE => Self::Close { socket },
            TAKE_ERROR => Self::TakeError { socket },
            AVAILABLE => Self::Available { socket },
            WAIT => {
                let items = read_items(&frame.bytes)?;
                Self::Wait {
                    items,
                    outside: flag(a)?,
                }
            }
            CANCEL => Self::Cancel { ticket: a },
            CLOSE_ALL => Self::CloseAll,
            kind => return Err(RequestError::Kind(kind)),
        })
    }
}

impl Default for CallOutcome {
    fn default() -> Self {
        Self {
            value: Ok(0),
            port: 0,
            peer: SocketAddress::default(),
            bytes: Vec::new(),
            items: Vec::new(),
        }
    }
}

impl CallOutcome {
    /// Success with a number.
    #[must_use]
    pub fn with_value(value: u32) -> Self {
        Self {
            value: Ok(value),
            ..Self::default()
        }
    }

    /// A refusal.
    #[must_use]
    pub fn refused(why: Refusal) -> Self {
        Self {
            value: Err(why),
            ..Self::default()
        }
    }

    /// Appends it to `out`, in a frame of this kind.
    pub(crate) fn write(&self, kind: u64, ticket: u64, out: &mut Vec<u8>) {
        let place = |why: Refusal| REFUSALS.iter().position(|known| *known == why);
        let (refusal, value) = match self.value {
            Ok(value) => (0, value),
            Err(why) => (place(why).map_or(1, |place| place as u64 + 1), 0),
        };
        let mut items = Vec::new();
        write_items(&self.items, &mut items);
        let fields: [u64; FIELDS] = [
            ticket,
            refusal,
            value.into(),
            self.port.into(),
            self.peer.rank.into(),
            self.peer.port.into(),
            items.len() as u64,
            0,
        ];
        Frame::write_head(kind, fields, items.len() + self.bytes.len(), out);
        out.extend_from_slice(&items);
        out.extend_from_slice(&self.bytes);
    }

    /// Reads it from such a frame, with its number.
    pub(crate) fn read(mut frame: Frame) -> Result<(u64, Self), RequestError> {
        let [ticket, refusal, value, own, rank, other, items, _] = frame.fields;
        limited("a refusal", refusal, REFUSALS.len() as u64)?;
        let items = limited("bytes of a list", items, frame.bytes.len() as u64)? as usize;
        let bytes = frame.bytes.split_off(items);
        let refusal = (refusal as usize)
            .checked_sub(1)
            .map(|place| REFUSALS[place]);
        let value = match refusal {
            None => Ok(number(value)?),
            Some(why) => Err(why),
        };
        let outcome = Self {
            value,
            port: port(own)?,
            peer: SocketAddress {
                rank: number(rank)?,
                port: port(other)?,
            },
            bytes,
            items: read_items(&frame.bytes)?,
        };
        Ok((ticket, outcome))
    }
}
