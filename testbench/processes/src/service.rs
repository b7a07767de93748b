//! The work of a host program for its process.

use host_lib::mpi::Transport;
use lanigon_requests::{Answer, Poll, Request};

use crate::error::ProcessError;
use crate::hub::Hub;
use crate::rank::{RankState, RankWait};
use crate::workload::SentTotals;

/// Work of a host program for its process: messages, or sockets.
pub(crate) trait Service: Send {
    /// Longest message that is complete for its sender at once.
    fn eager_bytes(&self) -> usize;

    /// The time, in ns.
    fn now_ns(&self) -> u64;

    /// So long after the others the process begins, in ns; `None`: all begin together.
    fn begins_after_ns(&self) -> Option<u64>;

    /// Spends processor time.
    fn compute(&mut self, nanoseconds: u64) -> impl Future<Output = ()> + Send;

    /// Carries out a request that is no matter of the program itself.
    fn serve_request(
        &mut self,
        request: Request,
    ) -> impl Future<Output = Result<(), ProcessError>> + Send;

    /// Takes what the network brings within this time; whether it has brought anything.
    fn step(&mut self, limit_ns: u64) -> impl Future<Output = Result<bool, ProcessError>> + Send;

    /// Answers for the process, which the caller takes.
    fn answers(&mut self) -> &mut Vec<Answer>;

    /// Whether the process goes on, though there is no answer.
    fn wakes(&self, _poll: &Poll) -> bool {
        false
    }

    /// The process makes a request; if it is another one than before, what was for that one is forgotten.
    fn begin(&mut self) {}

    /// The process goes on.
    fn goes_on(&mut self) {}

    /// Until when the process waits at most, in ns.
    fn deadline_ns(&self) -> Option<u64>;

    /// Wait of the process.
    fn waits(&self) -> RankWait;

    /// The process has ended. Gives whether its host goes on without it.
    fn gone(&mut self) -> bool;

    /// Messages and bytes that the process has sent.
    fn used(&self) -> SentTotals;
}

/// Notes what the process of a rank has to be told.
pub(crate) fn queue_answer(hub: &Hub, rank: usize, answers: &mut Vec<Answer>, answer: Answer) {
    answers.push(answer);
    let place = &mut *hub.place(rank);
    place.has_answers = true;
    if let RankState::Held(_) = place.state {
        place.state = RankState::Running;
    }
}

/// The time of a transport, in ns.
pub(crate) fn now_ns<T: Transport>(transport: &T) -> u64 {
    transport.now_ps() / 1000
}
