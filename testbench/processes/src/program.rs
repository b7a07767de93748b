//! The host program of one rank.

use std::sync::Arc;

use host_lib::mpi::Transport;
use lanigon_requests::{Answer, End, Message, Poll, Request, Welcome};

use crate::error::ProcessError;
use crate::hub::{Hub, Next};
use crate::network::Network;
use crate::rank::State;
use crate::workload::Used;

/// A host program that waits looks so often whether all the others wait too, in ns.
const STEP_NS: u64 = 100_000;
/// A process is held so long at most, in ns.
const HOLD_NS: u64 = 1_000_000;

/// The host program of one rank.
pub(crate) struct Program<T> {
    network: Network<T>,
    hub: Arc<Hub>,
    rank: usize,
    /// Processor time of a call.
    call_ns: u64,
    answers: Vec<Answer>,
    used: Used,
}

impl<T: Transport> Program<T> {
    pub(crate) fn new(transport: T, hub: Arc<Hub>, call_ns: u64) -> Self {
        Self {
            rank: transport.rank(),
            network: Network::new(transport),
            hub,
            call_ns,
            answers: Vec::new(),
            used: Used::default(),
        }
    }

    /// Carries out the requests of the process, until it has ended. Gives what it has sent in any case.
    pub(crate) async fn run(mut self) -> (Used, Result<(), ProcessError>) {
        let done = self.serve().await;
        (self.used, done)
    }

    async fn serve(&mut self) -> Result<(), ProcessError> {
        self.hub.gather(Welcome {
            time_ns: self.now_ns(),
            eager_bytes: self.network.eager_bytes() as u32,
        })?;
        loop {
            match self.hub.read(self.rank)? {
                Next::Request(request) => self.carry_out(request).await?,
                Next::Away => self.stay_away().await?,
                Next::Gone if self.hub.place(self.rank).has_left => return Ok(()),
                Next::Gone => return Err(ProcessError::Died { rank: self.rank }),
            }
        }
    }

    fn now_ns(&self) -> u64 {
        self.network.now_ns()
    }

    async fn carry_out(&mut self, request: Request) -> Result<(), ProcessError> {
        self.hub.place(self.rank).has_left = false;
        match request {
            Request::Send {
                spent_ns,
                token,
                message,
            } => {
                self.network.compute(spent_ns + self.call_ns).await;
                self.send(token, message).await
            }
            Request::Poll { spent_ns, poll } => {
                self.network.compute(spent_ns).await;
                self.poll(poll).await
            }
            Request::Time { spent_ns } => {
                self.network.compute(spent_ns).await;
                self.give();
                Ok(())
            }
            Request::Bye => {
                self.hub.place(self.rank).leave();
                self.stay_away().await
            }
            Request::Hello(_) => Err(self.refuse("greets a second time")),
        }
    }

    fn refuse(&self, what: impl Into<String>) -> ProcessError {
        ProcessError::Refused {
            rank: self.rank,
            what: what.into(),
        }
    }

    /// Sends a message of the process.
    async fn send(&mut self, token: u64, message: Message) -> Result<(), ProcessError> {
        let Message {
            rank,
            envelope,
            bytes,
        } = message;
        let to = rank as usize;
        if to == self.rank || to >= self.hub.ranks() {
            return Err(self.refuse(format!("sends to rank {to}")));
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

    /// Takes what the network brings within this time; whether it has brought anything.
    async fn step(&mut self, limit_ns: u64) -> Result<bool, ProcessError> {
        let came = self.network.step(limit_ns).await?;
        while let Some(answer) = self.network.told() {
            if let Answer::Message(_) = answer {
                self.network.compute(self.call_ns).await;
            }
            self.tell(answer);
        }
        Ok(came)
    }

    /// Answers with all that has come.
    fn give(&mut self) {
        let end = End {
            time_ns: self.now_ns(),
            stalled: false,
        };
        self.answers.push(Answer::End(end));
        let place = &mut *self.hub.place(self.rank);
        place.time_ns = end.time_ns;
        place.answer(&self.answers);
        self.answers.clear();
    }

    /// Notes what the process has to be told.
    fn tell(&mut self, answer: Answer) {
        self.answers.push(answer);
        let place = &mut *self.hub.place(self.rank);
        if let State::Held(_) = place.state {
            place.state = State::Running;
        }
        self.hub.land();
    }

    /// The process has nothing to do: answers when something has come, or when its limit has passed.
    async fn poll(&mut self, poll: Poll) -> Result<(), ProcessError> {
        while self.step(0).await? {}
        let begin_ns = self.now_ns();
        self.hub.place(self.rank).hold(poll, begin_ns);
        while self.answers.is_empty() {
            let passed_ns = self.now_ns() - begin_ns;
            let left_ns = poll.limit_ns.unwrap_or(HOLD_NS).saturating_sub(passed_ns);
            if left_ns == 0 {
                break;
            }
            let came = self.step(left_ns.min(STEP_NS)).await?;
            if came {
                continue;
            }
            match self.look_outside()? {
                State::Held(_) | State::Running => {}
                // Its poll was answered while the world was stalled.
                State::Away => return self.stay_away().await,
                _ => return Ok(()),
            }
        }
        self.give();
        Ok(())
    }

    /// The process sleeps outside a poll, or has left the network: what comes for it is kept.
    async fn stay_away(&mut self) -> Result<(), ProcessError> {
        loop {
            let came = self.step(STEP_NS).await?;
            if !came && matches!(self.look_outside()?, State::Ready | State::Gone) {
                return Ok(());
            }
        }
    }

    /// Looks whether the world is stalled, and waits for what happens outside then. Gives what the own process does.
    fn look_outside(&self) -> Result<State, ProcessError> {
        self.hub.goes_on()?;
        if self.hub.is_stalled() {
            self.hub.stall()?;
        }
        Ok(self.hub.place(self.rank).state)
    }
}
