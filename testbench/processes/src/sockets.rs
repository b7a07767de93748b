//! Sockets of a rank, for a process whose calls become requests.
//!
//! The process names its sockets; here is what each of them is. A call that cannot be carried out at once is kept until it can, or until
//! its time has passed: every step of the network tries all that are kept, in the order of their numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_lib::mpi::Transport;
use host_lib::sockets::{
    Address, Listener, Readiness, Settings, Shutdown, SocketError, Sockets, Stream, Traffic,
};
use lanigon_requests::{
    Answer, CallOutcome, Item, Refusal, Request, SocketAddress, SocketCall, ready,
};

use crate::error::ProcessError;
use crate::hub::Hub;
use crate::rank::RankWait;
use crate::service::{Service, now_ns, queue_answer};
use crate::workload::SentTotals;

/// Bytes that a read of a process brings at most.
const LONGEST_READ: u32 = 1 << 24;

/// State of a socket that the process has named.
#[derive(Debug, Clone, Copy)]
enum NamedSocket {
    /// The socket has a port.
    Bound(u16),
    Listening(Listener),
    /// A connection, and whether the process knows that it is set up.
    Streaming(Stream, bool),
}

/// A call that waits.
#[derive(Debug)]
struct WaitingCall {
    call: SocketCall,
    /// Simulated time at which it fails.
    deadline_ns: Option<u64>,
    /// Bytes that it has written.
    written: usize,
}

/// Sockets of a rank.
pub(crate) struct Calls<T> {
    sockets: Sockets<T>,
    hub: Arc<Hub>,
    rank: usize,
    /// Processor time of a call.
    call_ns: u64,
    begins_after_ns: u64,
    named: BTreeMap<u32, NamedSocket>,
    waiting: BTreeMap<u64, WaitingCall>,
    answers: Vec<Answer>,
    /// Traffic that the hub has counted.
    counted: Traffic,
    used: SentTotals,
}

fn refusal(error: &SocketError) -> Refusal {
    match error {
        SocketError::Refused(_) => Refusal::Refused,
        SocketError::Reset(_) => Refusal::Reset,
        SocketError::Broken(_) => Refusal::Broken,
        SocketError::Unreachable(..) | SocketError::TimedOut(_) => Refusal::TimedOut,
        SocketError::PortInUse(_) => Refusal::InUse,
        SocketError::NoPort => Refusal::NoPort,
        SocketError::NoRank(_) | SocketError::Network(_) => Refusal::Unreachable,
        SocketError::NotConnected(_) => Refusal::NotConnected,
        SocketError::NoSocket => Refusal::NoSocket,
        SocketError::Ended { .. } => Refusal::Invalid,
    }
}

/// An address as a process names it.
fn place(address: Address) -> SocketAddress {
    SocketAddress {
        rank: address.rank as u32,
        port: address.port,
    }
}

/// Readiness as a set of [`ready`].
fn set(ready: Readiness) -> u32 {
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    bit(ready.readable, ready::READ)
        | bit(ready.writable, ready::WRITE)
        | bit(ready.finished, ready::FINISHED)
        | bit(ready.hung_up, ready::HUNG_UP)
        | bit(ready.failed, ready::FAILED)
}

/// Result of a try of a call: nothing yet, its outcome, or why the network is no more.
type CallTry = Result<Option<CallOutcome>, SocketError>;

impl<T: Transport> Calls<T> {
    pub(crate) fn new(transport: T, hub: Arc<Hub>, call_ns: u64, begins_after_ns: u64) -> Self {
        let settings = Settings {
            library_ns: 0,
            ..Settings::default()
        };
        Self {
            rank: transport.rank(),
            sockets: Sockets::with(transport, settings),
            hub,
            call_ns,
            begins_after_ns,
            named: BTreeMap::new(),
            waiting: BTreeMap::new(),
            answers: Vec::new(),
            counted: Traffic::default(),
            used: SentTotals::default(),
        }
    }

    fn named(&self, socket: u32) -> Result<NamedSocket, SocketError> {
        self.named
            .get(&socket)
            .copied()
            .ok_or(SocketError::NoSocket)
    }

    fn stream(&self, socket: u32) -> Result<Stream, SocketError> {
        match self.named.get(&socket) {
            Some(NamedSocket::Streaming(stream, _)) => Ok(*stream),
            _ => Err(SocketError::NotConnected(Address::default())),
        }
    }

    /// Begins or goes on with a call.
    async fn attempt(&mut self, waiting: &mut WaitingCall) -> CallTry {
        match &waiting.call {
            SocketCall::Bind { socket, port } => {
                if self.named.contains_key(socket) {
                    return Ok(Some(CallOutcome::refused(Refusal::Invalid)));
                }
                let port = self.sockets.bind(*port)?;
                self.named.insert(*socket, NamedSocket::Bound(port));
                Ok(Some(CallOutcome::with_value(port.into())))
            }
            SocketCall::Listen { socket, backlog } => self.listen(*socket, *backlog),
            SocketCall::Connect { socket, to } => self.connect(*socket, *to),
            SocketCall::Accept { socket, name } => self.accept(*socket, *name),
            SocketCall::Read { socket, most, peek } => self.read(*socket, *most, *peek).await,
            SocketCall::Write { socket, bytes } => {
                let stream = self.stream(*socket)?;
                let left = &bytes[waiting.written..];
                match self.sockets.try_write(stream, left).await {
                    Ok(count) => waiting.written += count,
                    Err(_) if waiting.written > 0 => {
                        return Ok(Some(CallOutcome::with_value(waiting.written as u32)));
                    }
                    Err(error) => return Err(error),
                }
                let is_done = waiting.written == bytes.len();
                Ok(is_done.then(|| CallOutcome::with_value(waiting.written as u32)))
            }
            SocketCall::Shutdown {
                socket,
                read,
                write,
            } => {
                let how = match (read, write) {
                    (true, false) => Shutdown::Read,
                    (false, true) => Shutdown::Write,
                    _ => Shutdown::Both,
                };
                self.sockets.shutdown(self.stream(*socket)?, how)?;
                Ok(Some(CallOutcome::with_value(0)))
            }
            SocketCall::Close { socket } => {
                self.close(*socket);
                Ok(Some(CallOutcome::with_value(0)))
            }
            SocketCall::TakeError { socket } => {
                let error = match self.stream(*socket) {
                    Ok(stream) => self.sockets.take_error(stream)?,
                    Err(_) => None,
                };
                Ok(Some(match error {
                    None => CallOutcome::with_value(0),
                    Some(error) => CallOutcome::refused(refusal(&error)),
                }))
            }
            SocketCall::Available { socket } => {
                let count = match self.stream(*socket) {
                    Ok(stream) => self.sockets.available(stream)?,
                    Err(_) => 0,
                };
                Ok(Some(CallOutcome::with_value(count as u32)))
            }
            SocketCall::Wait { items, .. } => Ok(self.ready(items)),
            SocketCall::Cancel { .. } | SocketCall::CloseAll => Ok(None),
        }
    }

    fn listen(&mut self, socket: u32, backlog: u32) -> CallTry {
        let port = match self.named.get(&socket) {
            None => 0,
            Some(NamedSocket::Bound(port)) => *port,
            // The backlog stays.
            Some(NamedSocket::Listening(listener)) => {
                let port = self.sockets.listener_port(*listener);
                return Ok(Some(CallOutcome::with_value(port.into())));
            }
            Some(NamedSocket::Streaming(..)) => {
                return Ok(Some(CallOutcome::refused(Refusal::Invalid)));
            }
        };
        let listener = self.sockets.listen(port, backlog as usize)?;
        self.named.insert(socket, NamedSocket::Listening(listener));
        let port = self.sockets.listener_port(listener);
        Ok(Some(CallOutcome::with_value(port.into())))
    }

    fn connect(&mut self, socket: u32, to: SocketAddress) -> CallTry {
        let to = Address {
            rank: to.rank as usize,
            port: to.port,
        };
        let (stream, is_told) = match self.named.get(&socket).copied() {
            Some(NamedSocket::Streaming(stream, is_told)) => (stream, is_told),
            Some(NamedSocket::Listening(_)) => {
                return Ok(Some(CallOutcome::refused(Refusal::IsConnected)));
            }
            known => {
                let from = match known {
                    Some(NamedSocket::Bound(port)) => Some(port),
                    _ => None,
                };
                let stream = self.sockets.begin_connect(to, from)?;
                self.named
                    .insert(socket, NamedSocket::Streaming(stream, false));
                return Ok(None);
            }
        };
        let port = self.sockets.stream_port(stream)?;
        match self.sockets.is_connected(stream) {
            Ok(true) if is_told => Ok(Some(CallOutcome::refused(Refusal::IsConnected))),
            Ok(true) => {
                self.named
                    .insert(socket, NamedSocket::Streaming(stream, true));
                Ok(Some(CallOutcome {
                    port,
                    ..CallOutcome::with_value(0)
                }))
            }
            Ok(false) => Ok(None),
            Err(error) => {
                // The socket may be tried again.
                self.sockets.close(stream);
                self.named.remove(&socket);
                Err(error)
            }
        }
    }

    fn accept(&mut self, socket: u32, name: u32) -> CallTry {
        let NamedSocket::Listening(listener) = self.named(socket)? else {
            return Ok(Some(CallOutcome::refused(Refusal::Invalid)));
        };
        if self.named.contains_key(&name) {
            return Ok(Some(CallOutcome::refused(Refusal::Invalid)));
        }
        let Some((stream, peer)) = self.sockets.try_accept(listener)? else {
            return Ok(None);
        };
        self.named
            .insert(name, NamedSocket::Streaming(stream, true));
        Ok(Some(CallOutcome {
            port: self.sockets.listener_port(listener),
            peer: place(peer),
            ..CallOutcome::with_value(0)
        }))
    }

    async fn read(&mut self, socket: u32, most: u32, peek: bool) -> CallTry {
        let stream = self.stream(socket)?;
        let most = most.min(LONGEST_READ) as usize;
        let there = self.sockets.peek(stream, if peek { most } else { 0 })?;
        let bytes = match there.is_empty() {
            false => there,
            true if most == 0 => Vec::new(),
            true => match self.sockets.try_read(stream, most).await? {
                Some(bytes) => bytes,
                None => return Ok(None),
            },
        };
        Ok(Some(CallOutcome {
            bytes,
            ..CallOutcome::with_value(0)
        }))
    }

    fn close(&mut self, socket: u32) {
        match self.named.remove(&socket) {
            Some(NamedSocket::Bound(port)) => self.sockets.unbind(port),
            Some(NamedSocket::Listening(listener)) => self.sockets.close_listener(listener),
            Some(NamedSocket::Streaming(stream, _)) => self.sockets.close(stream),
            None => {}
        }
    }

    /// Readiness of a socket.
    fn readiness(&mut self, socket: u32) -> Result<Readiness, SocketError> {
        match self.named.get(&socket) {
            Some(NamedSocket::Listening(listener)) => self.sockets.listener_readiness(*listener),
            Some(NamedSocket::Streaming(stream, _)) => self.sockets.readiness(*stream),
            // As Linux has it for a socket that is not connected.
            Some(NamedSocket::Bound(_)) | None => Ok(Readiness {
                writable: true,
                hung_up: true,
                ..Readiness::default()
            }),
        }
    }

    /// The sockets of a wait that are ready; `None` if none is.
    fn ready(&mut self, items: &[Item]) -> Option<CallOutcome> {
        let mut found = Vec::new();
        for (at, item) in (0..).zip(items) {
            let Ok(there) = self.readiness(item.socket) else {
                continue;
            };
            let unasked = ready::HUNG_UP | ready::FAILED;
            let mut events = set(there) & (item.events | unasked);
            if item.edge {
                let is_new = |seen: u32, now: u32| seen != now;
                if !is_new(item.reads, there.reads) {
                    events &= !(ready::READ | ready::FINISHED);
                }
                if !is_new(item.writes, there.writes) {
                    events &= !ready::WRITE;
                }
                if !is_new(item.reads, there.reads) && !is_new(item.writes, there.writes) {
                    events = 0;
                }
            }
            if events != 0 {
                found.push(Item {
                    socket: at,
                    events,
                    edge: item.edge,
                    reads: there.reads,
                    writes: there.writes,
                });
            }
        }
        (!found.is_empty()).then(|| CallOutcome {
            items: found,
            ..CallOutcome::with_value(0)
        })
    }

    /// Outcome of a call whose time has passed.
    fn late(&mut self, waiting: &WaitingCall) -> CallOutcome {
        match &waiting.call {
            SocketCall::Wait { .. } => CallOutcome::with_value(0),
            SocketCall::Write { .. } if waiting.written > 0 => {
                CallOutcome::with_value(waiting.written as u32)
            }
            SocketCall::Connect { socket, .. } => {
                let stream = self.stream(*socket);
                let port = stream.and_then(|stream| self.sockets.stream_port(stream));
                CallOutcome {
                    port: port.unwrap_or(0),
                    ..CallOutcome::refused(Refusal::InProgress)
                }
            }
            _ => CallOutcome::refused(Refusal::WouldBlock),
        }
    }

    /// Tries a call, and tells its outcome if it has one; else gives it back.
    async fn handle(
        &mut self,
        ticket: u64,
        mut waiting: WaitingCall,
    ) -> Result<Option<WaitingCall>, ProcessError> {
        let outcome = match self.attempt(&mut waiting).await {
            Err(SocketError::Network(error)) => {
                return Err(ProcessError::Network {
                    rank: self.rank,
                    reason: error.to_string(),
                });
            }
            Err(error) => Some(CallOutcome::refused(refusal(&error))),
            Ok(outcome) => outcome,
        };
        let is_late = waiting
            .deadline_ns
            .is_some_and(|deadline| deadline <= self.now_ns());
        let outcome = match outcome {
            None if is_late => self.late(&waiting),
            None => return Ok(Some(waiting)),
            Some(outcome) => outcome,
        };
        queue_answer(
            &self.hub,
            self.rank,
            &mut self.answers,
            Answer::Outcome(ticket, outcome),
        );
        Ok(None)
    }

    /// Tells the hub of packets that have left or come.
    fn count(&mut self) {
        let now = self.sockets.traffic();
        let before = std::mem::replace(&mut self.counted, now);
        self.used.messages += now.sent - before.sent;
        self.used.bytes += now.sent_bytes - before.sent_bytes;
        if now != before {
            self.hub.is_active(self.now_ns());
        }
        self.hub.take_off(now.sent - before.sent);
        self.hub.land(now.taken - before.taken);
    }

    /// Description of the process's waits, and whether a server waits so. A thread that sleeps or waits for other threads makes no
    /// difference.
    fn describe(&self) -> (bool, String) {
        let (mut servers, mut others) = (0, 0);
        let mut text = Vec::new();
        for waiting in self.waiting.values() {
            let (is_server, what) = match &waiting.call {
                SocketCall::Accept { .. } => (true, "a connection"),
                SocketCall::Connect { .. } => (false, "an answer to its connect"),
                SocketCall::Read { .. } => (false, "bytes"),
                SocketCall::Write { .. } => (false, "room to write"),
                SocketCall::Wait { items, .. } if items.is_empty() => continue,
                SocketCall::Wait { items, .. } => {
                    let named = |item: &Item| self.named.get(&item.socket);
                    let is_listener = |item| matches!(named(item), Some(NamedSocket::Listening(_)));
                    (items.iter().any(is_listener), "sockets to be ready")
                }
                _ => continue,
            };
            match is_server {
                true => servers += 1,
                false => others += 1,
            }
            text.push(what);
        }
        text.dedup();
        let what = match text.is_empty() {
            true => "nothing of the network".to_owned(),
            false => text.join(" and "),
        };
        (servers > 0 && others == 0, what)
    }
}

impl<T: Transport> Service for Calls<T> {
    fn eager_bytes(&self) -> usize {
        self.sockets.transport().eager_bytes()
    }

    fn now_ns(&self) -> u64 {
        now_ns(self.sockets.transport())
    }

    fn begins_after_ns(&self) -> Option<u64> {
        Some(self.begins_after_ns)
    }

    async fn compute(&mut self, nanoseconds: u64) {
        self.sockets.transport_mut().compute(nanoseconds).await;
    }

    async fn serve_request(&mut self, request: Request) -> Result<(), ProcessError> {
        let Request::Call {
            spent_ns,
            ticket,
            limit_ns,
            call,
        } = request
        else {
            return Err(ProcessError::refused(self.rank, "has no messages".into()));
        };
        self.compute(spent_ns + self.call_ns).await;
        match call {
            SocketCall::Cancel { ticket } => {
                self.waiting.remove(&ticket);
                return Ok(());
            }
            SocketCall::CloseAll => {
                self.waiting.clear();
                self.named.clear();
                self.sockets.close_all();
                return Ok(());
            }
            _ => {}
        }
        // What has come since is known to the call.
        while limit_ns == Some(0)
            && self
                .sockets
                .step(0)
                .await
                .map_err(|error| self.failure(&error))?
        {}
        let waiting = WaitingCall {
            call,
            deadline_ns: limit_ns.map(|limit| self.now_ns().saturating_add(limit)),
            written: 0,
        };
        if let Some(waiting) = self.handle(ticket, waiting).await? {
            self.waiting.insert(ticket, waiting);
        }
        self.count();
        Ok(())
    }

    async fn step(&mut self, limit_ns: u64) -> Result<bool, ProcessError> {
        let came = self
            .sockets
            .step(limit_ns)
            .await
            .map_err(|error| self.failure(&error))?;
        let tickets: Vec<u64> = self.waiting.keys().copied().collect();
        for ticket in tickets {
            if let Some(waiting) = self.waiting.remove(&ticket)
                && let Some(waiting) = self.handle(ticket, waiting).await?
            {
                self.waiting.insert(ticket, waiting);
            }
        }
        self.count();
        Ok(came)
    }

    fn answers(&mut self) -> &mut Vec<Answer> {
        &mut self.answers
    }

    fn deadline_ns(&self) -> Option<u64> {
        let deadlines = self
            .waiting
            .values()
            .filter_map(|waiting| waiting.deadline_ns);
        deadlines.min()
    }

    fn waits(&self) -> RankWait {
        let is_outside =
            |waiting: &WaitingCall| matches!(waiting.call, SocketCall::Wait { outside: true, .. });
        let outside = self.waiting.values().any(is_outside) || self.waiting.is_empty();
        let (serves, what) = self.describe();
        RankWait::Sockets {
            outside,
            serves,
            what,
        }
    }

    fn gone(&mut self) -> bool {
        self.waiting.clear();
        self.named.clear();
        self.answers.clear();
        self.sockets.close_all();
        self.count();
        true
    }

    fn used(&self) -> SentTotals {
        self.used
    }
}

impl<T: Transport> Calls<T> {
    fn failure(&self, error: &SocketError) -> ProcessError {
        ProcessError::Network {
            rank: self.rank,
            reason: error.to_string(),
        }
    }
}
