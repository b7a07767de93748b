//! Messages of a rank, for a process that speaks MPI.

use std::sync::Arc;

use host_lib::mpi::Transport;
use lanigon_requests::{Answer, Message, Request};

use crate::error::ProcessError;
use crate::hub::Hub;
use crate::network::Network;
use crate::program::STEP_NS;
use crate::rank::RankWait;
use crate::service::{Service, queue_answer};
use crate::workload::SentTotals;

/// Messages of a rank.
pub(crate) struct MessageService<T> {
    network: Network<T>,
    hub: Arc<Hub>,
    rank: usize,
    /// Processor time of a call.
    call_ns: u64,
    answers: Vec<Answer>,
    used: SentTotals,
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
            let what = format!("sends to rank {to}");
            return Err(ProcessError::refused(self.rank, what));
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
            _ => Err(ProcessError::refused(self.rank, "has no sockets".into())),
        }
    }

    async fn step(&mut self, limit_ns: u64) -> Result<bool, ProcessError> {
        let came = self.network.step(limit_ns).await?;
        while let Some(answer) = self.network.told() {
            if let Answer::Message(_) = answer {
                self.network.compute(self.call_ns).await;
            }
            queue_answer(&self.hub, self.rank, &mut self.answers, answer);
            self.hub.land(1);
        }
        Ok(came)
    }

    fn answers(&mut self) -> &mut Vec<Answer> {
        &mut self.answers
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
