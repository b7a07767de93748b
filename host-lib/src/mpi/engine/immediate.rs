//! Collective operations that return at once: hosts go through their scripts when they look at the network, boards work on their own.

use std::collections::{BTreeMap, VecDeque};

use super::super::bypass::Combine;
use super::super::collective::CollectiveCall;
use super::super::communicator::Communicator;
use super::super::datatype::Operation;
use super::super::envelope::{Envelope, EnvelopeKind, MessageLabel};
use super::super::error::{MpiError, Partner};
use super::super::matching::Pattern;
use super::super::script::{Script, ScriptStep};
use super::super::transport::{BoardCollective, BoardResult, Delivery, Transport};
use super::{Engine, OutgoingPacket, RequestResult, RequestState, SENT, SendTarget};

/// An operation whose messages hosts send.
#[derive(Debug)]
pub(in super::super) struct HostOperation {
    pub(in super::super) world: Communicator,
    pub(in super::super) call: CollectiveCall,
    pub(in super::super) script: Script,
    /// The data, and at the end the result.
    pub(in super::super) bytes: Vec<u8>,
    /// Combines the elements, if the script does that.
    pub(in super::super) combine: Option<(Combine, Operation)>,
}

/// An operation under way on hosts.
#[derive(Debug)]
struct Started {
    request: u32,
    operation: HostOperation,
    /// The receive of the first message of the script.
    receive: Option<u32>,
    /// Long messages on their way.
    sends: Vec<u32>,
}

/// A part of an operation on boards: one value of 64 bits, or all blocks.
#[derive(Debug)]
struct BoardPart {
    /// The request; `None` if no process waits for the end.
    request: Option<u32>,
    collective: BoardCollective,
    /// Place of the value in the result.
    place: usize,
}

/// Result of an operation on boards so far.
#[derive(Debug)]
struct BoardProgress {
    /// Parts that have not ended.
    left: usize,
    bytes: Vec<u8>,
}

/// Collective operations under way that have returned.
#[derive(Debug)]
pub(super) struct Immediate {
    started: Vec<Started>,
    /// Parts for which the board has no room yet.
    waiting: VecDeque<BoardPart>,
    /// Parts on the board, by the transport's name: request and place.
    on_board: BTreeMap<u64, (Option<u32>, usize)>,
    /// Operations on boards, by request.
    results: BTreeMap<u32, BoardProgress>,
}

impl Immediate {
    pub(super) const fn new() -> Self {
        Self {
            started: Vec::new(),
            waiting: VecDeque::new(),
            on_board: BTreeMap::new(),
            results: BTreeMap::new(),
        }
    }
}

/// The end of an operation.
fn done(bytes: Vec<u8>) -> RequestState {
    RequestState::Done(Ok(RequestResult { bytes, ..SENT }))
}

impl<T: Transport> Engine<T> {
    /// Whether an operation is under way, on hosts or on boards.
    pub(in super::super) fn has_immediate(&self) -> bool {
        let Immediate {
            started,
            waiting,
            on_board,
            ..
        } = &self.immediate;
        !started.is_empty() || !waiting.is_empty() || !on_board.is_empty()
    }

    /// Begins an operation on hosts.
    pub(in super::super) async fn start(
        &mut self,
        operation: HostOperation,
    ) -> Result<u32, MpiError> {
        let request = self.request(RequestState::Collective);
        self.immediate.started.push(Started {
            request,
            operation,
            receive: None,
            sends: Vec::new(),
        });
        self.progress().await?;
        Ok(request)
    }

    /// Begins an operation on boards, whose values become elements of the result in this order. No process waits for it if there is no
    /// `result`.
    pub(in super::super) async fn start_on_boards(
        &mut self,
        parts: Vec<BoardCollective>,
        result: bool,
    ) -> Result<u32, MpiError> {
        self.transport.compute(self.config.library_ns).await;
        let state = match result && !parts.is_empty() {
            true => RequestState::Collective,
            false => done(Vec::new()),
        };
        let request = self.request(state);
        if result {
            let left = parts.len();
            let bytes = vec![0; left * size_of::<u64>()];
            let results = &mut self.immediate.results;
            results.insert(request, BoardProgress { left, bytes });
        }
        for part in &parts {
            if let BoardCollective::AllGather { block } = part {
                // Into the memory that the board reads.
                self.charge_copy(block.len()).await;
            }
        }
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(place, collective)| BoardPart {
            request: result.then_some(request),
            collective,
            place,
        });
        self.immediate.waiting.extend(parts);
        self.begin_parts().await?;
        Ok(request)
    }

    /// Whether no other process can need something of this one now.
    pub(in super::super) fn is_quiet(&self) -> bool {
        let ended = |state: &RequestState| matches!(state, RequestState::Done(_));
        !self.has_immediate() && self.waiting.is_empty() && self.requests.values().all(ended)
    }

    /// Begins a barrier of these ranks on boards.
    pub(in super::super) async fn start_board_barrier(
        &mut self,
        members: &[usize],
    ) -> Result<u32, MpiError> {
        let name = loop {
            if let Some(name) = self.transport.begin_barrier(members).await? {
                break name;
            }
            self.alive()?;
            if !self.advance().await? {
                return Err(self.timed_out("barrier", Partner::Several, None));
            }
        };
        let request = self.request(RequestState::Collective);
        self.immediate.on_board.insert(name, (Some(request), 0));
        let bytes = vec![0; size_of::<u64>()];
        let results = &mut self.immediate.results;
        results.insert(request, BoardProgress { left: 1, bytes });
        Ok(request)
    }

    /// Gives the board what it has room for.
    async fn begin_parts(&mut self) -> Result<(), MpiError> {
        while let Some(part) = self.immediate.waiting.front() {
            let begun = self.transport.begin_collective(&part.collective).await?;
            let Some(name) = begun else {
                break;
            };
            if let Some(part) = self.immediate.waiting.pop_front() {
                let place = (part.request, part.place);
                self.immediate.on_board.insert(name, place);
            }
        }
        Ok(())
    }

    /// A part of an operation has ended on the board.
    pub(super) async fn board_ended(&mut self, name: u64, result: BoardResult) {
        let Some((Some(request), place)) = self.immediate.on_board.remove(&name) else {
            return;
        };
        if let BoardResult::Blocks(blocks) = &result {
            self.charge_copy(blocks.len()).await;
        }
        let Some(progress) = self.immediate.results.get_mut(&request) else {
            return;
        };
        match result {
            BoardResult::Blocks(blocks) => progress.bytes = blocks,
            BoardResult::Value(value) => {
                let at = place * size_of::<u64>();
                progress.bytes[at..at + size_of::<u64>()].copy_from_slice(&value.to_le_bytes());
            }
        }
        progress.left -= 1;
        if progress.left == 0
            && let Some(progress) = self.immediate.results.remove(&request)
        {
            self.requests.insert(request, done(progress.bytes));
        }
    }

    /// Goes on with all operations as far as is possible now.
    pub(super) async fn progress(&mut self) -> Result<(), MpiError> {
        let mut at = 0;
        while at < self.immediate.started.len() {
            let mut one = self.immediate.started.remove(at);
            let request = one.request;
            let ended = match self.go_on(&mut one).await {
                Ok(false) => {
                    self.immediate.started.insert(at, one);
                    at += 1;
                    continue;
                }
                Ok(true) => done(one.operation.bytes),
                Err(error) => RequestState::Done(Err(error)),
            };
            self.requests.insert(request, ended);
        }
        self.begin_parts().await
    }

    /// Goes on with an operation; whether it has ended.
    async fn go_on(&mut self, one: &mut Started) -> Result<bool, MpiError> {
        while let Some(step) = one.operation.script.front().cloned() {
            match step {
                ScriptStep::Send { to, bytes } => {
                    let content = one.operation.bytes[bytes].to_vec();
                    let send = self.send_part(&one.operation, to, content).await?;
                    one.sends.extend(send);
                }
                ScriptStep::Place { from, bytes } => {
                    let expected = bytes.len();
                    let Some(came) = self.part_of(one, from, expected).await? else {
                        return Ok(false);
                    };
                    one.operation.bytes[bytes].copy_from_slice(&came);
                }
                ScriptStep::Combine { from } => {
                    let expected = one.operation.bytes.len();
                    let Some(came) = self.part_of(one, from, expected).await? else {
                        return Ok(false);
                    };
                    if let Some((combine, operation)) = one.operation.combine {
                        combine(&mut one.operation.bytes, &came, operation)?;
                    }
                }
            }
            one.operation.script.pop_front();
        }
        let mut under_way = Vec::new();
        for send in one.sends.drain(..) {
            if self.ended(send)?.is_none() {
                under_way.push(send);
            }
        }
        one.sends = under_way;
        Ok(one.sends.is_empty())
    }

    /// The message of a rank, once it has come.
    async fn part_of(
        &mut self,
        one: &mut Started,
        from: usize,
        expected: usize,
    ) -> Result<Option<Vec<u8>>, MpiError> {
        let HostOperation { world, call, .. } = &one.operation;
        let request = match one.receive {
            Some(request) => request,
            None => {
                let pattern = Pattern {
                    context: world.collective(),
                    source: Some(from as u32),
                    tag: Some(call.number),
                };
                self.receive(pattern, i32::MAX as usize).await?
            }
        };
        one.receive = Some(request);
        let Some(ended) = self.ended(request)? else {
            return Ok(None);
        };
        one.receive = None;
        let (call, bytes) = (call.name, ended.bytes.len());
        if ended.mark != one.operation.call.kind as u16 {
            return Err(MpiError::Different { call, from });
        }
        match bytes == expected {
            true => Ok(Some(ended.bytes)),
            false => Err(MpiError::Count {
                call,
                from,
                bytes,
                expected,
            }),
        }
    }

    /// Sends a message of an operation now, or when there is room; the request of a long one.
    async fn send_part(
        &mut self,
        operation: &HostOperation,
        member: usize,
        content: Vec<u8>,
    ) -> Result<Option<u32>, MpiError> {
        let HostOperation { world, call, .. } = operation;
        self.transport.compute(self.config.library_ns).await;
        let label = MessageLabel {
            context: world.collective(),
            source: world.rank as u32,
            tag: call.number,
        };
        let length = u32::try_from(content.len()).map_err(|_| MpiError::TooLong(content.len()))?;
        let (mark, to) = (call.kind as u16, world.members[member]);
        let envelope = |kind, send| Envelope {
            kind,
            mark,
            label,
            length,
            send,
            landing: 0,
        };
        if content.len() > self.transport.eager_bytes() {
            let target = SendTarget::new(member, &label);
            let bytes = content;
            let id = self.request(RequestState::Asking { target, bytes });
            let packet = OutgoingPacket {
                to,
                delivery: Delivery::Quiet,
                envelope: envelope(EnvelopeKind::RequestToSend, id),
                content: Vec::new(),
            };
            self.post_later(packet).await?;
            return Ok(Some(id));
        }
        let delivery = match self.bypassing.settings.immediate {
            true => Delivery::Signal,
            false => Delivery::Quiet,
        };
        let envelope = envelope(EnvelopeKind::Eager, 0);
        self.post_later(OutgoingPacket {
            to,
            delivery,
            envelope,
            content,
        })
        .await?;
        Ok(None)
    }
}
