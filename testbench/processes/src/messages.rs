//! Messages of a rank, for a process that speaks MPI, and one-sided operations, for others too.

use std::sync::Arc;

use defs::gm::collective;
use host_lib::mpi::{BoardCollective, Transport};
use lanigon_requests::{
    Access, Answer, Class, Envelope, Message, Operation, Poll, Request, ValueReduction,
};

use crate::error::ProcessError;
use crate::hub::Hub;
use crate::memory::Memory;
use crate::network::Network;
use crate::program::STEP_NS;
use crate::rank::{RankState, RankWait};
use crate::service::{Service, queue_answer};
use crate::spawn::Recipient;
use crate::workload::SentTotals;

/// An operation on the process's own memory takes so long, in ns: it does not pass the board. One that took no time would stop the time of a world in
/// which a process tries something again until another one has done its part.
const OWN_NS: u64 = 100;

/// Number of the error of an operation on the memory of a process that has ended, as Linux has it.
const UNREACHABLE: u64 = 113;

/// Messages of a rank.
pub(crate) struct MessageService<T> {
    network: Network<T>,
    hub: Arc<Hub>,
    rank: usize,
    /// Processor time of a call.
    call_ns: u64,
    answers: Vec<Answer>,
    used: SentTotals,
    /// The process's memory, and whether others have changed it since the process has run.
    memory: Memory,
    is_changed: bool,
}

impl<T: Transport> MessageService<T> {
    pub(crate) fn new(transport: T, hub: Arc<Hub>, call_ns: u64) -> Self {
        Self {
            rank: transport.rank(),
            network: Network::new(transport),
            hub,
            call_ns,
            answers: Vec::new(),
            used: SentTotals::default(),
            memory: Memory::default(),
            is_changed: false,
        }
    }

    /// The operation of the boards that a process asks for.
    fn collective(
        &self,
        reduction: Option<ValueReduction>,
    ) -> Result<BoardCollective, ProcessError> {
        let Some(ValueReduction { operation, value }) = reduction else {
            return Ok(BoardCollective::Barrier);
        };
        let known = collective::Operation::ALL.get(usize::from(operation));
        let refused = || {
            let what = format!("asks for operation {operation} of boards, which there is not");
            ProcessError::refused(self.rank, what)
        };
        let operation = *known.ok_or_else(refused)?;
        Ok(BoardCollective::AllReduce { operation, value })
    }

    /// Sends a message of the process.
    async fn send(&mut self, token: u64, message: Message) -> Result<(), ProcessError> {
        let Message {
            rank,
            envelope,
            bytes,
        } = message;
        let is_operation = envelope.class == Class::Operation;
        let to = match self.hub.recipient(rank) {
            Some(Recipient::Place(to)) if to != self.rank || is_operation => to,
            Some(Recipient::Ended) => {
                self.lose(token, rank, envelope);
                return Ok(());
            }
            _ => {
                let what = format!("sends to rank {rank}");
                return Err(ProcessError::refused(self.rank, what));
            }
        };
        if to == self.rank {
            self.network.compute(OWN_NS).await;
            let reply = self.carry_out(rank, envelope, &bytes)?;
            self.queue(Answer::Message(reply));
            return Ok(());
        }
        self.used.messages += 1;
        self.used.bytes += bytes.len() as u64;
        self.hub.take_off(1 + u64::from(token != 0));
        self.network.send(to, envelope, token, bytes);
        while !self.network.flush().await? {
            self.step(STEP_NS).await?;
            self.hub.goes_on()?;
        }
        Ok(())
    }
}

impl<T: Transport> MessageService<T> {
    fn queue(&mut self, answer: Answer) {
        queue_answer(&self.hub, self.rank, &mut self.answers, answer);
    }

    /// A message to a process that has ended.
    fn lose(&mut self, token: u64, rank: u32, envelope: Envelope) {
        if token != 0 {
            self.queue(Answer::Done {
                token,
                failed: true,
                value: 0,
            });
        }
        if envelope.class == Class::Operation {
            let envelope = envelope.reply(Some(UNREACHABLE));
            let bytes = Vec::new();
            self.queue(Answer::Message(Message {
                rank,
                envelope,
                bytes,
            }));
        }
    }

    /// Carries out an operation of a rank on the process's memory. Gives the reply.
    fn carry_out(
        &mut self,
        rank: u32,
        envelope: Envelope,
        bytes: &[u8],
    ) -> Result<Message, ProcessError> {
        let operation = Operation::read(bytes).map_err(|error| ProcessError::Request {
            rank: rank as usize,
            error,
        })?;
        let done = self.memory.carry_out(&operation);
        self.is_changed |= operation.access != Access::Read;
        Ok(Message {
            rank,
            envelope: envelope.reply(done.as_ref().err().copied()),
            bytes: done.unwrap_or_default(),
        })
    }

    /// Carries out an operation that has come, and sends the reply.
    async fn reply(&mut self, message: Message) -> Result<(), ProcessError> {
        let Message {
            rank,
            envelope,
            bytes,
        } = self.carry_out(message.rank, message.envelope, &message.bytes)?;
        self.hub.take_off(1);
        self.network.send(rank as usize, envelope, 0, bytes);
        self.network.flush().await?;
        let place = &mut *self.hub.place(self.rank);
        if let RankState::Held(poll) = place.state
            && self.wakes(&poll)
        {
            place.state = RankState::Running;
        }
        Ok(())
    }
}

impl<T: Transport> Service for MessageService<T> {
    fn eager_bytes(&self) -> usize {
        self.network.eager_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.network.now_ns()
    }

    fn begins_after_ns(&self) -> Option<u64> {
        None
    }

    async fn compute(&mut self, nanoseconds: u64) {
        self.network.compute(nanoseconds).await;
    }

    async fn serve_request(&mut self, request: Request) -> Result<(), ProcessError> {
        match request {
            Request::Send {
                spent_ns,
                token,
                message,
            } => {
                self.network.compute(spent_ns + self.call_ns).await;
                self.send(token, message).await
            }
            Request::Collective {
                spent_ns,
                token,
                reduction,
            } => {
                self.network.compute(spent_ns + self.call_ns).await;
                let collective = self.collective(reduction)?;
                self.hub.enter_collective(self.rank);
                self.network.begin_collective(token, collective).await
            }
            Request::Region {
                spent_ns,
                key,
                region,
            } => {
                self.network.compute(spent_ns + self.call_ns).await;
                let process = self.hub.place(self.rank).process();
                let set = self.memory.set(process, key, region);
                set.map_err(|error| {
                    let what = format!("does not let its memory be accessed: {error}");
                    ProcessError::refused(self.rank, what)
                })
            }
            _ => Err(ProcessError::refused(self.rank, "has no sockets".into())),
        }
    }

    async fn step(&mut self, limit_ns: u64) -> Result<bool, ProcessError> {
        let came = self.network.step(limit_ns).await?;
        self.begin();
        while let Some(answer) = self.network.told() {
            if let Answer::Message(_) = answer {
                self.network.compute(self.call_ns).await;
            }
            match answer {
                Answer::Message(message) if message.envelope.class == Class::Operation => {
                    self.reply(message).await?;
                }
                mut answer => {
                    if let Answer::Message(message) = &mut answer {
                        message.rank = self.hub.number(message.rank as usize);
                    }
                    self.queue(answer);
                }
            }
            self.hub.land(1);
        }
        Ok(came)
    }

    fn answers(&mut self) -> &mut Vec<Answer> {
        &mut self.answers
    }

    /// A process that waits for nothing else may wait for a value in its memory.
    fn wakes(&self, poll: &Poll) -> bool {
        self.is_changed && poll.receives == 0 && poll.sends == 0
    }

    /// No message was under way when the process began.
    fn begin(&mut self) {
        if std::mem::take(&mut self.hub.place(self.rank).is_new) {
            self.answers.clear();
            self.memory = Memory::default();
            self.is_changed = false;
        }
    }

    fn goes_on(&mut self) {
        self.is_changed = false;
    }

    fn deadline_ns(&self) -> Option<u64> {
        None
    }

    fn waits(&self) -> RankWait {
        RankWait::Polls
    }

    fn gone(&mut self) -> bool {
        false
    }

    fn used(&self) -> SentTotals {
        self.used
    }
}
