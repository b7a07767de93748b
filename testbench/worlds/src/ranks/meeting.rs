//! Meeting of ranks: rank 0 listens, the others come and are compared with it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use super::{Hello, Identity, MeetingError, RankOf, Tcp, bytes_of, value_of};

/// Begins each message before a run: a process that sends something else is no rank.
const MAGIC: &[u8; 8] = b"LANIGONr";
/// Largest message before a run.
const MOST_BYTES: usize = 1 << 20;
/// Pause between two looks whether something has come.
const PAUSE: Duration = Duration::from_millis(5);
/// For so long a rank looks for rank 0.
const SEARCH: Duration = Duration::from_secs(10);
/// For so long a rank waits for the rest of a message that has begun.
const PATIENCE: Duration = Duration::from_secs(10);

/// Called while a rank waits: an error ends the waiting.
type Check<'a> = &'a mut dyn FnMut() -> Result<(), MeetingError>;

/// The answer of rank 0: where each rank listens, or why the run cannot begin.
type MeetingAnswer = Result<Vec<String>, String>;

fn broken(who: &str, error: io::Error) -> MeetingError {
    MeetingError::Connection {
        who: who.to_owned(),
        error,
    }
}

fn send(stream: &mut TcpStream, who: &str, body: &[u8]) -> Result<(), MeetingError> {
    let mut message = MAGIC.to_vec();
    message.extend((body.len() as u32).to_le_bytes());
    message.extend(body);
    stream
        .write_all(&message)
        .map_err(|error| broken(who, error))
}

/// Reads exactly so many bytes; `until` is the latest time, once the first is there.
fn read(
    stream: &mut TcpStream,
    who: &str,
    (mut bytes, patient): (&mut [u8], bool),
    check: Check<'_>,
) -> Result<(), MeetingError> {
    let mut until = (!patient).then(|| Instant::now() + PATIENCE);
    while !bytes.is_empty() {
        check()?;
        match stream.read(bytes) {
            Ok(0) => return Err(broken(who, ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                bytes = &mut bytes[count..];
                until = Some(Instant::now() + PATIENCE);
            }
            Err(error) if is_silence(&error) => {
                if until.is_some_and(|until| Instant::now() > until) {
                    return Err(broken(who, ErrorKind::TimedOut.into()));
                }
            }
            Err(error) => return Err(broken(who, error)),
        }
    }
    Ok(())
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Receives a message. `patient`: its sender may be busy for long.
fn receive(
    stream: &mut TcpStream,
    who: &str,
    patient: bool,
    check: Check<'_>,
) -> Result<Vec<u8>, MeetingError> {
    let mut head = [0; MAGIC.len() + 4];
    read(stream, who, (&mut head, patient), check)?;
    let (magic, length) = head.split_at(MAGIC.len());
    let length = length.first_chunk().map_or(0, |b| u32::from_le_bytes(*b)) as usize;
    if magic != MAGIC || length > MOST_BYTES {
        return Err(MeetingError::Foreign {
            who: who.to_owned(),
        });
    }
    let mut body = vec![0; length];
    read(stream, who, (&mut body, false), check)?;
    Ok(body)
}

/// Prepares a new connection for reading with pauses in which the waiting can end.
fn prepare(stream: TcpStream, who: &str) -> Result<TcpStream, MeetingError> {
    let prepared = stream.set_nonblocking(false).and_then(|()| {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(20 * PAUSE))
    });
    prepared.map_err(|error| broken(who, error))?;
    Ok(stream)
}

/// Waits for a connection.
fn accept(
    listener: &TcpListener,
    check: Check<'_>,
) -> Result<(TcpStream, SocketAddr), MeetingError> {
    loop {
        check()?;
        match listener.accept() {
            Ok((stream, from)) => return Ok((prepare(stream, &from.to_string())?, from)),
            Err(error) if is_silence(&error) => thread::sleep(PAUSE),
            Err(error) => return Err(broken("another rank", error)),
        }
    }
}

fn listen(at: impl ToSocketAddrs, shown: &str) -> Result<TcpListener, MeetingError> {
    let listener = TcpListener::bind(at).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|error| MeetingError::Listen {
        at: shown.to_owned(),
        error,
    })
}

fn addresses(at: &str) -> Result<Vec<SocketAddr>, MeetingError> {
    let found = at.to_socket_addrs().map(Iterator::collect);
    found.map_err(|error| MeetingError::Address {
        at: at.to_owned(),
        error,
    })
}

/// Rank 0, which listens.
#[derive(Debug)]
pub struct Meeting {
    listener: TcpListener,
    at: SocketAddr,
}

impl Meeting {
    /// Listens at an address; port 0 is any free one.
    ///
    /// # Errors
    /// If the address is wrong or in use.
    pub fn begin(at: &str) -> Result<Self, MeetingError> {
        let listener = listen(&addresses(at)?[..], at)?;
        let found = listener.local_addr();
        let found = found.map_err(|error| MeetingError::Listen {
            at: at.to_owned(),
            error,
        });
        Ok(Self {
            at: found?,
            listener,
        })
    }

    /// Address at which rank 0 listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.at
    }

    /// Waits for the other ranks. `check` is called while it waits; its error ends the waiting.
    ///
    /// # Errors
    /// If a rank does not fit. All ranks that have come are told.
    pub fn complete(
        self,
        ranks: usize,
        identity: &Identity,
        check: Check<'_>,
    ) -> Result<Tcp, MeetingError> {
        let mut streams: Vec<Option<TcpStream>> = (0..ranks).map(|_| None).collect();
        let mut places = vec![String::new(); ranks];
        let done = self.gather(&mut streams, &mut places, identity, check);
        let answer: MeetingAnswer = match &done {
            Ok(()) => Ok(places),
            Err(error) => Err(error.to_string()),
        };
        let body = bytes_of(&answer);
        for (rank, stream) in streams.iter_mut().enumerate() {
            if let Some(stream) = stream {
                let sent = send(stream, &format!("rank {rank}"), &body);
                if done.is_ok() {
                    sent?;
                }
            }
        }
        done?;
        Tcp::new(0, streams).map_err(|error| broken("another rank", error))
    }

    fn gather(
        &self,
        streams: &mut [Option<TcpStream>],
        places: &mut [String],
        identity: &Identity,
        check: Check<'_>,
    ) -> Result<(), MeetingError> {
        let ranks = streams.len();
        while streams.iter().skip(1).any(Option::is_none) {
            let (mut stream, from) = accept(&self.listener, check)?;
            let who = format!("the process at {from}");
            let foreign = || MeetingError::Foreign { who: who.clone() };
            let hello = receive(&mut stream, &who, false, check)?;
            let hello: Hello = value_of(&hello).map_err(|_| foreign())?;
            let rank = hello.rank;
            let refusal = if hello.ranks != ranks {
                let theirs = hello.ranks;
                Some(format!(
                    "rank {rank} expects {theirs} ranks, and rank 0 expects {ranks}"
                ))
            } else if rank == 0 || rank >= ranks {
                Some(format!("a second process is rank {rank}"))
            } else if streams[rank].is_some() {
                Some(format!("two processes are rank {rank}"))
            } else {
                identity.compare(rank, &hello.identity).err()
            };
            if let Some(reason) = refusal {
                let answer: MeetingAnswer = Err(reason.clone());
                // It may be gone; the reason is the same.
                let _ = send(&mut stream, &who, &bytes_of(&answer));
                return Err(MeetingError::Refused(reason));
            }
            places[rank] = SocketAddr::new(from.ip(), hello.port).to_string();
            streams[rank] = Some(stream);
        }
        Ok(())
    }
}

/// Comes to rank 0, which listens at an address. `check` is called while it waits; its error ends the waiting.
///
/// # Errors
/// If rank 0 does not answer, or refuses this rank or another one.
pub fn join(
    of: RankOf,
    at: &str,
    identity: &Identity,
    check: Check<'_>,
) -> Result<Tcp, MeetingError> {
    let mut first = search(at, check)?;
    let local = first
        .local_addr()
        .map_err(|error| broken("rank 0", error))?;
    // Higher ranks come to the same interface.
    let listener = listen((local.ip(), 0), &local.ip().to_string())?;
    let port = listener.local_addr().map(|at| at.port());
    let hello = Hello {
        rank: of.rank,
        ranks: of.ranks,
        port: port.map_err(|error| broken("rank 0", error))?,
        identity: identity.clone(),
    };
    send(&mut first, "rank 0", &bytes_of(&hello))?;
    let foreign = |who: &str| MeetingError::Foreign {
        who: who.to_owned(),
    };
    let answer = receive(&mut first, "rank 0", true, check)?;
    let answer: MeetingAnswer = value_of(&answer).map_err(|_| foreign("rank 0"))?;
    let places = answer.map_err(MeetingError::Refused)?;
    if places.len() != of.ranks {
        return Err(foreign("rank 0"));
    }
    let host = first.peer_addr().map_err(|error| broken("rank 0", error))?;
    let mut streams: Vec<Option<TcpStream>> = (0..of.ranks).map(|_| None).collect();
    streams[0] = Some(first);
    for rank in 1..of.rank {
        streams[rank] = Some(call(of.rank, rank, &places[rank], host.ip())?);
    }
    for _ in of.rank + 1..of.ranks {
        let (mut stream, from) = accept(&listener, check)?;
        let who = format!("the process at {from}");
        let rank = receive(&mut stream, &who, false, check)?;
        let rank: usize = value_of(&rank).map_err(|_| foreign(&who))?;
        match streams.get_mut(rank) {
            Some(place) if rank > of.rank && place.is_none() => *place = Some(stream),
            _ => return Err(foreign(&who)),
        }
    }
    Tcp::new(of.rank, streams).map_err(|error| broken("another rank", error))
}

/// Connects to rank 0, which may begin a little later.
fn search(at: &str, check: Check<'_>) -> Result<TcpStream, MeetingError> {
    let addresses = addresses(at)?;
    let until = Instant::now() + SEARCH;
    loop {
        check()?;
        match TcpStream::connect(&addresses[..]) {
            Ok(stream) => return prepare(stream, "rank 0"),
            Err(error) if Instant::now() > until => {
                let at = at.to_owned();
                return Err(MeetingError::NoAnswer { at, error });
            }
            Err(_) => thread::sleep(10 * PAUSE),
        }
    }
}

/// Connects to a lower rank, and says which rank this is.
fn call(me: usize, rank: usize, place: &str, host: IpAddr) -> Result<TcpStream, MeetingError> {
    let who = format!("rank {rank}");
    let place: Result<SocketAddr, _> = place.parse();
    let Ok(mut place) = place else {
        return Err(MeetingError::Foreign {
            who: "rank 0".into(),
        });
    };
    // A rank on the machine of rank 0 is known there by an address that is valid on that machine only.
    if place.ip().is_loopback() {
        place.set_ip(host);
    }
    let stream = TcpStream::connect(place).map_err(|error| broken(&who, error))?;
    let mut stream = prepare(stream, &who)?;
    send(&mut stream, &who, &bytes_of(&me))?;
    Ok(stream)
}
